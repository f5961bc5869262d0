use super::*;
use crate::testing::{OUTSIDE, PARTS, Random, patterns, vocab_of};
use crate::vocab::specials::AllowedSpecials;
use crate::{Counter, Progress, Splitter, learn};

/// Short texts that repeat themselves and end inside characters.
pub(crate) trait OddText {
    fn odd_text(&mut self, most: usize) -> Vec<u8>;
}

impl OddText for Random {
    fn odd_text(&mut self, most: usize) -> Vec<u8> {
        let count = 1 + self.below(most);
        let mut text: Vec<u8> = (0..count)
            .flat_map(|_| match self.below(3) {
                0 => ["a", "ab", "b", "aa", " a", "'s", "é", "中"][self.below(8)].as_bytes(),
                _ => PARTS[self.below(PARTS.len())].as_bytes(),
            })
            .copied()
            .collect();
        if self.below(6) == 0 && text.len() > 1 {
            text.pop();
        }
        if self.below(6) == 0 && text.len() > 1 {
            text.remove(0);
        }
        text
    }
}

/// Trained ones and such as no training makes, by patterns of every kind.
pub(crate) fn tokenizers(random: &mut Random) -> Vec<Tokenizer> {
    let published = patterns();
    let all = published.values().map(String::as_str).chain(OUTSIDE);
    let all = all.chain([r"(\w)\1*|\W", r"(?s).+", r"(?s:.)"]);
    all.map(|pattern| {
        let splitter = Splitter::parse(pattern).unwrap();
        let text: Vec<u8> = (0..300).flat_map(|_| random.odd_text(3)).collect();
        let vocab = if random.below(4) == 0 {
            let tokens: std::collections::BTreeSet<String> = (0..60)
                .map(|_| String::from_utf8_lossy(&random.odd_text(3)).into_owned())
                .filter(|token| token.len() > 1)
                .collect();
            vocab_of(tokens.iter().map(String::as_str))
        } else {
            let progress = Progress::default();
            let mut counter = Counter::new(splitter.clone(), 1, None);
            counter.add(&[&text], 1, &progress).unwrap();
            let counts = counter.finish(1, &progress).unwrap();
            let options = learn::LearnOptions::new(20 + random.below(150));
            let learned = learn::learn(&counts, &options, &progress).unwrap();
            Vocab::try_from_merges(&learned.pairs()).unwrap()
        };
        Tokenizer::try_from_vocab(vocab, splitter, vec![(9000, "<|end|>".to_owned())]).unwrap()
    })
    .collect()
}

/// All occurrences, by decoding.
fn by_decoding(tokenizer: &Tokenizer, phrases: &[Vec<u8>], ids: &[Id]) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for from in 0..ids.len() {
        let texts = ids[from..].iter().map_while(|&id| tokenizer.vocab().token(id));
        let texts: Vec<&[u8]> = texts.collect();
        let text = texts.concat();
        for (phrase, bytes) in phrases.iter().enumerate() {
            for offset in 0..texts.first().map_or(0, |token| token.len()) {
                if !text[offset..].starts_with(bytes) {
                    continue;
                }
                let (mut end, mut length) = (from, 0);
                while length < offset + bytes.len() {
                    length += texts[end - from].len();
                    end += 1;
                }
                found.push(Occurrence { first: from, offset, end, phrase });
            }
        }
    }
    found.sort();
    found
}

#[test]
fn phrases_are_found_where_the_decoded_text_has_them() {
    let mut random = Random(43);
    for tokenizer in tokenizers(&mut random) {
        for round in 0..40 {
            let text: Vec<u8> = (0..20).flat_map(|_| random.odd_text(4)).collect();
            let mut phrases: Vec<Vec<u8>> =
                (0..1 + random.below(6)).map(|_| random.odd_text(3)).collect();
            let at = random.below(text.len() - 8);
            phrases.push(text[at..at + 1 + random.below(8)].to_vec());
            let mut ids = Vec::new();
            tokenizer.encode(&text, &tokenizer.specials().allow_all(), &mut ids).unwrap();
            if round % 4 == 0 {
                // Ids that no encoding gives, and numbers that are no ids.
                let odd = |id: &mut Id| *id = [u32::MAX, 0, 97, 8000][*id as usize % 4];
                let at = random.below(ids.len());
                odd(&mut ids[at]);
                ids.swap(0, at);
                tokenizer.encode(&random.odd_text(3), &AllowedSpecials::none(), &mut ids).unwrap();
            }
            let compiled =
                tokenizer.compile_phrases(phrases.clone(), &ids[..round.min(ids.len())]).unwrap();
            let middle = random.below(ids.len());
            let mut found = Vec::new();
            for range in [0..middle, middle..ids.len()] {
                tokenizer.find_phrases(&compiled, &ids, range, |hit| found.push(hit));
            }
            found.sort();
            let expected = by_decoding(&tokenizer, &phrases, &ids);
            assert_eq!(found, expected, "{:?} {text:x?}", tokenizer.splitter().pattern());
            if let Ok(narrow) =
                ids.iter().map(|&id| u16::try_from(id)).collect::<Result<Vec<_>, _>>()
            {
                let mut again = Vec::new();
                let all = 0..narrow.len();
                tokenizer.find_phrases(&compiled, &narrow, all, |hit| again.push(hit));
                again.sort();
                assert_eq!(again, found);
            }
        }
    }
}

#[test]
fn ids_may_be_far_apart() {
    let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
    let far = (1 << 30) + Id::from(b'x');
    let vocab = Vocab::try_from_tokens(bytes.chain([(far, b"ab".to_vec())]).collect()).unwrap();
    let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
    let tokenizer = Tokenizer::try_from_vocab(vocab, splitter, Vec::new()).unwrap();
    let compiled = tokenizer.compile_phrases(vec![b"b".to_vec()], &[]).unwrap();
    let mut found = Vec::new();
    let ids = [far, Id::from(b'x'), (1 << 29) + Id::from(b'x')];
    tokenizer.find_phrases(&compiled, &ids, 0..3, |hit| found.push((hit.first, hit.offset)));
    assert_eq!(found, [(0, 1)]);
}

#[test]
fn an_empty_phrase_is_refused() {
    let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
    let tokenizer = Tokenizer::try_from_vocab(vocab_of([]), splitter, Vec::new()).unwrap();
    assert_eq!(tokenizer.compile_phrases(vec![Vec::new()], &[]).unwrap_err(), Error::EmptyNeedle);
}
