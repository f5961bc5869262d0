use super::*;
use crate::pattern::NANOCHAT;
use crate::testing::{OUTSIDE, PARTS, Random};
use crate::{Id, Splitter, Vocab};

fn random_text(random: &mut Random, parts_max: usize) -> Vec<u8> {
    let parts = (0..random.below(parts_max)).map(|_| PARTS[random.below(PARTS.len())]);
    parts.collect::<String>().into_bytes()
}

fn random_tokenizer(random: &mut Random) -> Tokenizer {
    let tokens = (0..random.below(120)).map(|_| random_text(random, 3));
    let tokens: std::collections::BTreeSet<_> = tokens.filter(|token| token.len() > 1).collect();
    let all = (0..=u8::MAX).map(|byte| vec![byte]).chain(tokens);
    let vocab =
        Vocab::try_from_tokens(all.zip(0..).map(|(token, id)| (id, token)).collect()).unwrap();
    let pattern = match random.below(3) {
        0 => OUTSIDE[random.below(OUTSIDE.len())],
        _ => NANOCHAT,
    };
    let specials = [(5000, "<|a"), (5001, "<|a|>"), (5002, "ab")];
    let specials = specials.map(|(id, name): (Id, &str)| (id, name.to_owned()));
    Tokenizer::try_from_vocab(vocab, Splitter::parse(pattern).unwrap(), specials.to_vec()).unwrap()
}

const BORDERS: [Border; 7] = [
    Border::Character,
    Border::Grapheme,
    Border::Piece,
    Border::Word,
    Border::Sentence,
    Border::Line,
    Border::Paragraph,
];

/// The naive search counts at every border.
#[test]
fn the_longest_that_fits_is_found() {
    let mut random = Random(5);
    for round in 0..3000 {
        let tokenizer = random_tokenizer(&mut random);
        let allowed = match random.below(3) {
            0 => tokenizer.specials().allow_all(),
            _ => AllowedSpecials::none(),
        };
        let size = if round % 10 == 0 { 2000 } else { 20 };
        let mut text = random_text(&mut random, size);
        if random.below(3) == 0 {
            text.extend_from_slice(b" <|a|>x");
            text.extend(random_text(&mut random, 8));
        }
        let ids_max = random.below(if round % 10 == 0 { 100 } else { 12 });
        let border = BORDERS[random.below(7)];
        let fit = Fit { tokenizer: &tokenizer, allowed: &allowed, ids_max, border };
        let borders = border.find_in(tokenizer.splitter(), &text, 0..text.len() + 1).unwrap();
        let fits = |part: &[u8]| tokenizer.count(part, &allowed).unwrap() <= ids_max;
        let state = (round, ids_max, border, String::from_utf8_lossy(&text).into_owned());

        let end = borders.iter().rev().copied().find(|&at| fits(&text[..at]));
        assert_eq!(fit.find_end(&text, false).unwrap(), end, "{state:?}");
        let start = borders.iter().copied().find(|&at| fits(&text[at..]));
        assert_eq!(fit.find_start(b"", &text, false).unwrap(), start, "{state:?}");
        let before = random_text(&mut random, 4);
        if fits(&before) {
            let joined = |at: usize| fits(&[&before[..], &text[at..]].concat());
            let start = borders.iter().copied().find(|&at| joined(at));
            assert_eq!(
                fit.find_start(&before, &text, false).unwrap(),
                start,
                "{before:?} {state:?}"
            );
        }
        // A partial text has the result of the whole text, or none.
        let shown = random.below(text.len() + 1);
        if border == Border::Character {
            if let Some(found) = fit.find_end(&text[..shown], true).unwrap() {
                assert_eq!(Some(found), end, "{shown} {state:?}");
            }
            if let Some(found) = fit.find_start(b"", &text[shown..], true).unwrap() {
                assert_eq!(Some(found + shown), start, "{shown} {state:?}");
            }
        }
        let count = tokenizer.count(&text, &allowed).unwrap();
        let counted = tokenizer.count_until(&text, &allowed, false, ids_max).unwrap();
        assert_eq!(counted, Some(count.min(ids_max)), "{state:?}");
        if let Some(counted) =
            tokenizer.count_until(&text[..shown], &allowed, true, ids_max).unwrap()
        {
            assert_eq!(counted, count.min(ids_max), "{shown} {state:?}");
        }
    }
}

#[test]
fn each_unit_has_borders_of_its_own() {
    let splitter = Splitter::parse(NANOCHAT).unwrap();
    let found = |border: Border| border.find_in(&splitter, b"a-b c.\n\nd", 0..10).unwrap();
    assert_eq!(found(Border::Word), (0..10).collect::<Vec<_>>());
    assert_eq!(found(Border::Sentence), [0, 7, 8, 9]);
    assert_eq!(found(Border::Line), [0, 7, 8, 9]);
    assert_eq!(found(Border::Paragraph), [0, 8, 9]);
}

#[test]
fn chunks_fit_and_joined_are_the_text() {
    let mut random = Random(6);
    for round in 0..1500 {
        let tokenizer = random_tokenizer(&mut random);
        let allowed = AllowedSpecials::none();
        let text = random_text(&mut random, 60);
        let (ids_max, border) = (8 + random.below(20), BORDERS[random.below(7)]);
        let fit = Fit { tokenizer: &tokenizer, allowed: &allowed, ids_max, border };
        let overlap = random.below(8);
        let chunks = fit.find_chunks(&text, overlap).unwrap();
        let mut done = 0;
        for chunk in &chunks {
            assert!(chunk.range.start <= done && chunk.range.end > done, "{round} {chunks:?}");
            let part = &text[chunk.range.clone()];
            assert_eq!(chunk.ids, tokenizer.count(part, &allowed).unwrap());
            assert!(chunk.ids <= ids_max, "{round} {chunk:?}");
            let repeated = &text[chunk.range.start..done];
            assert!(tokenizer.count(repeated, &allowed).unwrap() <= overlap, "{round} {chunk:?}");
            done = chunk.range.end;
        }
        assert_eq!(done, text.len());
        let twice: Vec<_> = chunks.iter().map(|chunk| chunk.range.start).collect();
        assert!(twice.is_sorted_by(|one, other| one < other), "{chunks:?}");
    }
}

#[test]
fn a_long_run_takes_bounded_work() {
    let tokens = ["aa", "aaaa", "aaaaaaaa", "\n\n"];
    let vocab = crate::testing::vocab_of(tokens);
    let tokenizer =
        Tokenizer::try_from_vocab(vocab, Splitter::parse(NANOCHAT).unwrap(), Vec::new()).unwrap();
    let allowed = AllowedSpecials::none();
    let border = Border::Character;
    for ids_max in [8, 1000, 100_000] {
        let fit = Fit { tokenizer: &tokenizer, allowed: &allowed, ids_max, border };
        let text = vec![b'a'; 1 << 21];
        assert_eq!(fit.find_end(&text, false).unwrap(), Some(ids_max * 8));
        assert_eq!(fit.find_start(b"", &text, false).unwrap(), Some(text.len() - ids_max * 8));
        assert_eq!(fit.find_chunks(&text, 0).unwrap().len(), text.len().div_ceil(ids_max * 8));
        let counted = tokenizer.count_until(&text, &allowed, false, ids_max);
        assert_eq!(counted.unwrap(), Some(ids_max));
    }
}

#[test]
fn a_character_of_too_many_ids_is_refused() {
    let vocab = crate::testing::vocab_of([]);
    let tokenizer =
        Tokenizer::try_from_vocab(vocab, Splitter::parse(NANOCHAT).unwrap(), Vec::new()).unwrap();
    let allowed = AllowedSpecials::none();
    let fit =
        Fit { tokenizer: &tokenizer, allowed: &allowed, ids_max: 2, border: Border::Sentence };
    let refused = fit.find_chunks("中a".as_bytes(), 0).unwrap_err();
    assert_eq!(refused, Error::CharacterTooLong { ids: 3, ids_max: 2 });
}
