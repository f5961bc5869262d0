use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::Vocab;
use crate::piece_cache::Scratch;
use crate::testing::{Random, model_of};

/// Pieces in a list, in place of counts.
#[derive(Debug)]
struct ListedPieces(Vec<(Vec<u8>, u64)>);

impl PieceCounts for ListedPieces {
    fn for_each_piece(
        &self,
        visit: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.0.iter().try_for_each(|(piece, count)| visit(piece, *count))
    }
}

fn pieces_of(pieces: &[(&str, u64)]) -> ListedPieces {
    ListedPieces(pieces.iter().map(|(piece, count)| (piece.as_bytes().to_vec(), *count)).collect())
}

/// The specification: recounts all pairs for every merge.
fn learn_by_recount(pieces: &ListedPieces, options: &LearnOptions<'_>) -> LearnedMerges {
    let (is_rare, no_rare) = (|count: &u64| *count < options.piece_count_min.max(1), (0, 0));
    let add = |(pieces, sum): (usize, u64), count: &u64| (pieces + 1, sum + count);
    let counts = pieces.0.iter().map(|(_, count)| count);
    let left_out = counts.filter(|count| is_rare(count)).fold(no_rare, add);

    let mut tokens: BTreeMap<Id, Vec<u8>> = (0..=u8::MAX).map(|b| (b.into(), vec![b])).collect();
    let mut first_new = 256;
    if let Some((model, first)) = options.initial {
        tokens = model.vocab().iter().map(|(id, token)| (id, token.to_vec())).collect();
        first_new = first;
    }
    let parts = |piece: &[u8]| match options.initial {
        None => piece.iter().map(|&byte| Id::from(byte)).collect(),
        Some((model, _)) => {
            let mut ids = Vec::new();
            Scratch::default().merge(model, piece, &mut ids);
            ids
        }
    };
    let learned_from = pieces.0.iter().filter(|(_, count)| !is_rare(count));
    let mut token_lists: Vec<(Vec<Id>, u64)> =
        learned_from.map(|(piece, count)| (parts(piece), *count)).collect();

    let (mut merges, mut ties, pieces) = (Vec::new(), 0, token_lists.len());
    while merges.len() < options.merges_max {
        let mut pairs: BTreeMap<(Id, Id), u64> = BTreeMap::new();
        for (parts, count) in &token_lists {
            for two in parts.windows(2) {
                *pairs.entry((two[0], two[1])).or_default() += count;
            }
        }
        pairs.retain(|(left, right), _| {
            let token = [&tokens[left][..], &tokens[right]].concat();
            let is_new = options.initial.is_none() || tokens.values().all(|known| *known != token);
            token.len() <= options.token_bytes_max && is_new
        });
        let Some(&count) = pairs.values().max() else { break };
        let mut best = pairs.iter().filter(|pair| *pair.1 == count).map(|(&pair, _)| pair);
        let pair = best.next().unwrap();
        ties += usize::from(best.next().is_some());
        let joined = first_new + merges.len() as Id;
        tokens.insert(joined, [&tokens[&pair.0][..], &tokens[&pair.1]].concat());
        merges.push(LearnedMerge { left: pair.0, right: pair.1, count });
        for (parts, _) in &mut token_lists {
            let mut at = 0;
            while at + 1 < parts.len() {
                if (parts[at], parts[at + 1]) == pair {
                    parts[at] = joined;
                    parts.remove(at + 1);
                }
                at += 1;
            }
        }
    }
    LearnedMerges { merges, ties, pieces, left_out }
}

/// Returns distinct pieces over few letters: many pairs overlap themselves, many counts are equal.
fn random_pieces(random: &mut Random) -> ListedPieces {
    let (letters, length_max) = (1 + random.below(4), 1 + random.below(30));
    let count_max = [1, 2, 5, 1000, 1 << 40][random.below(5)];
    let mut pieces = BTreeMap::new();
    for _ in 0..random.below(25) {
        let mut piece: Vec<u8> =
            (0..1 + random.below(length_max)).map(|_| b"abcd"[random.below(letters)]).collect();
        if random.below(4) == 0 {
            piece = piece.repeat(1 + random.below(4));
        }
        pieces.insert(piece, 1 + random.below(count_max) as u64);
    }
    ListedPieces(pieces.into_iter().collect())
}

/// Returns random bounds, with an initial vocabulary in a third of the rounds.
fn random_options<'v>(random: &mut Random, initial: &'v BpeModel) -> LearnOptions<'v> {
    let mut options = LearnOptions::new(1 + random.below(80));
    if random.below(3) == 0 {
        options.piece_count_min = random.below(4) as u64;
    }
    if random.below(3) == 0 {
        options.token_bytes_max = random.below(8);
    }
    if random.below(3) == 0 {
        options.initial = Some((initial, initial.vocab().id_max() + 1 + random.below(50) as Id));
    }
    options
}

/// Returns a vocabulary of bytes and random tokens, with gaps between the ids.
fn random_model(random: &mut Random) -> BpeModel {
    let mut tokens = BTreeSet::new();
    for _ in 0..random.below(12) {
        let length = 2 + random.below(4);
        tokens.insert((0..length).map(|_| b"abcd"[random.below(3)]).collect::<Vec<u8>>());
    }
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let gap = 1 + random.below(3) as Id;
    let numbered = bytes.chain(tokens).zip(0..).map(|(token, at): (_, Id)| (at * gap, token));
    BpeModel::new(Vocab::try_from_tokens(numbered.collect()).unwrap())
}

/// Learns with any first least count, and a bound of the index that may be far too small.
fn learn_within<C: TokenCell>(
    pieces: &ListedPieces,
    options: &LearnOptions<'_>,
    count_min: u64,
    bytes_max: usize,
) -> LearnedMerges {
    let (progress, tokens) =
        (Progress::default(), TrainingTokens::try_from_options(options).unwrap());
    let mut stop_check = StopCheck::new(&progress);
    let plan = LayoutPlan::try_from_pieces(pieces, options, &tokens, &mut stop_check).unwrap();
    let (piece_count, left_out) = (plan.pieces, plan.left_out);
    let corpus: CorpusLayout<C> =
        CorpusLayout::try_from_plan(pieces, plan, &tokens, &mut stop_check).unwrap();
    let min_count = MinCount::from_count(count_min, options.merges_max);
    let learner = Learner::try_new(corpus, tokens, min_count, bytes_max, &progress).unwrap();
    let learned = learner.learn(options.merges_max, None).unwrap();
    LearnedMerges { pieces: piece_count, left_out, ..learned }
}

#[test]
fn learns_the_example_of_the_module_header() {
    let pieces = pieces_of(&[(" lower", 2), (" low", 2), ("low", 1), (" lowest", 1), (",", 1)]);
    let learned = learn(&pieces, &LearnOptions::new(9), &Progress::default()).unwrap();
    let expected = [
        (108, 111, 6),
        (256, 119, 6),
        (32, 257, 5),
        (258, 101, 3),
        (259, 114, 2),
        (115, 116, 1),
        (259, 261, 1),
    ];
    let expected = expected.map(|(left, right, count)| LearnedMerge { left, right, count });
    assert_eq!((&learned.merges[..], learned.ties), (&expected[..], 2));
}

#[test]
fn learns_the_merges_of_the_specification() {
    let mut random = Random(17);
    for round in 0..4000 {
        let (pieces, model) = (random_pieces(&mut random), random_model(&mut random));
        let options = random_options(&mut random, &model);
        let expected = learn_by_recount(&pieces, &options);
        let found = learn(&pieces, &options, &Progress::default()).unwrap();
        assert_eq!(found, expected, "{round}: {:?} {options:?}", pieces.0);
    }
}

#[test]
fn cell_width_least_count_and_memory_bound_do_not_change_merges() {
    let mut random = Random(18);
    for round in 0..4000 {
        let (pieces, model) = (random_pieces(&mut random), random_model(&mut random));
        let options = random_options(&mut random, &model);
        let expected = learn_by_recount(&pieces, &options);
        let count_min = [1, 2, 3, 10, 1000, 1 << 50][random.below(6)];
        let bytes_max = [0, 100, 300, 1000, 3000, usize::MAX][random.below(6)];
        let found = match random.below(2) {
            0 => learn_within::<u16>(&pieces, &options, count_min, bytes_max),
            _ => learn_within::<u32>(&pieces, &options, count_min, bytes_max),
        };
        assert_eq!(found, expected, "{round}: {count_min} {bytes_max} {:?} {options:?}", pieces.0);
    }
}

#[test]
fn overlapping_pairs_count_at_every_position_and_merge_from_the_left() {
    let learned =
        learn(&pieces_of(&[("aaa", 5), ("bc", 9)]), &LearnOptions::new(9), &Progress::default());
    let [a, b, c] = [b'a', b'b', b'c'].map(Id::from);
    let merges = vec![
        LearnedMerge { left: a, right: a, count: 10 },
        LearnedMerge { left: b, right: c, count: 9 },
        LearnedMerge { left: 256, right: a, count: 5 },
    ];
    assert_eq!(learned, Ok(LearnedMerges { merges, ties: 0, pieces: 2, left_out: (0, 0) }));
}

#[test]
fn the_last_of_65_536_tokens_fits_16_bits() {
    // Every pair of bytes is a piece of its own, which is enough for all merges.
    let pieces = (0..1u32 << 16).map(|n| ((n as u16).to_be_bytes().to_vec(), 1)).collect();
    let pieces = ListedPieces(pieces);
    for merges_max in [65_280, 65_281, 65_279] {
        let options = LearnOptions::new(merges_max);
        let learned = learn(&pieces, &options, &Progress::default()).unwrap();
        assert_eq!(learned.merges.len(), merges_max);
        assert!(learned.pairs().is_sorted(), "all merges are ties");
        assert_eq!(learned.ties, merges_max);
    }
}

#[test]
fn counts_beyond_32_bits_are_exact() {
    let high = 1 << 61;
    let pieces = pieces_of(&[("ab", high + 1), ("cd", high), ("xcd", 2)]);
    let learned = learn(&pieces, &LearnOptions::new(2), &Progress::default()).unwrap();
    let counts: Vec<u64> = learned.merges.iter().map(|merge| merge.count).collect();
    assert_eq!(counts, [high + 2, high + 1]);
}

#[test]
fn refuses_a_sum_of_counts_above_64_bits() {
    for pieces in [pieces_of(&[("ab", 1 << 63)]), pieces_of(&[("ab", 1 << 62), ("cd", 1 << 62)])] {
        let refused = learn(&pieces, &LearnOptions::new(9), &Progress::default());
        assert_eq!(refused, Err(Error::CountsTooLarge));
    }
}

#[test]
fn refuses_a_first_new_id_of_the_initial_vocabulary() {
    let model = model_of(["ab"]);
    let options = LearnOptions { initial: Some((&model, 256)), ..LearnOptions::new(9) };
    let refused = learn(&pieces_of(&[("ab", 1)]), &options, &Progress::default());
    assert_eq!(refused, Err(Error::FirstIdTaken { first: 256, taken: 256 }));
}

#[test]
fn extends_an_initial_vocabulary() {
    let model = model_of(["ab", "abc"]);
    let options = LearnOptions { initial: Some((&model, 300)), ..LearnOptions::new(9) };
    let pieces = pieces_of(&[("abc", 50), ("abab", 3), ("ababab", 2)]);
    let learned = learn(&pieces, &options, &Progress::default()).unwrap();
    // "abc" is a token and has no pairs; "abab" starts as (ab, ab).
    assert_eq!(learned.pairs(), [(256, 256), (300, 256)]);
    assert_eq!(learned.merges[0].count, 3 + 2 * 2);
}

#[test]
fn makes_no_token_that_the_initial_vocabulary_holds() {
    // No pair of tokens makes "abcd", so the letters stay apart, and their merges could spell it.
    let model = model_of(["abcd"]);
    let options = LearnOptions { initial: Some((&model, 257)), ..LearnOptions::new(9) };
    let learned = learn(&pieces_of(&[("abcde", 1)]), &options, &Progress::default()).unwrap();
    let mut tokens: Vec<(Id, Vec<u8>)> =
        model.vocab().iter().map(|(id, token)| (id, token.to_vec())).collect();
    for (id, merge) in (257..).zip(&learned.merges) {
        let token = |id: Id| tokens.iter().find(|known| known.0 == id).unwrap().1.clone();
        tokens.push((id, [token(merge.left), token(merge.right)].concat()));
    }
    assert!(Vocab::try_from_tokens(tokens).is_ok(), "{:?}", learned.merges);
}

#[test]
fn a_corpus_without_pairs_gives_no_merges() {
    for pieces in [pieces_of(&[]), pieces_of(&[("a", 9), ("", 3)]), pieces_of(&[("ab", 0)])] {
        let learned = learn(&pieces, &LearnOptions::new(9), &Progress::default()).unwrap();
        assert_eq!(learned.merges, []);
    }
    let learned =
        learn(&pieces_of(&[("ab", 1)]), &LearnOptions::new(0), &Progress::default()).unwrap();
    assert_eq!(learned.merges, []);
    let learned =
        learn(&pieces_of(&[("ab", 1)]), &LearnOptions::new(usize::MAX), &Progress::default());
    assert_eq!(learned.unwrap().merges.len(), 1);
}

#[test]
fn the_vocabulary_recovers_the_learned_pairs() {
    let text = "it was the best of times, it was the worst of times, it was the age of wisdom";
    let pieces: Vec<(&str, u64)> = text.split_inclusive(' ').map(|piece| (piece, 1)).collect();
    let learned =
        learn(&pieces_of(&pieces), &LearnOptions::new(200), &Progress::default()).unwrap();
    let pairs =
        BpeModel::new(Vocab::try_from_merges(&learned.pairs()).unwrap()).pairs().collect_by_rank();
    assert_eq!(pairs.into_iter().map(|(pair, _)| pair).collect::<Vec<_>>(), learned.pairs());
}

#[test]
fn progress_counts_merges_and_shows_a_token() {
    let progress = Progress::default();
    assert_eq!(progress.latest_token(), b"");
    learn(&pieces_of(&[("abc", 3), ("ab", 1)]), &LearnOptions::new(9), &progress).unwrap();
    assert_eq!((progress.done(), progress.latest_token()), (2, b"ab".to_vec()));
}

#[test]
fn stops_on_request() {
    let progress = Progress::default();
    progress.stop();
    let stopped = learn(&pieces_of(&[("abc", 1)]), &LearnOptions::new(10), &progress);
    assert_eq!(stopped, Err(Error::Stopped));
}

#[test]
fn the_held_out_corpus_is_measured_while_the_vocabulary_grows() {
    let mut random = Random(23);
    for round in 0..400 {
        let (pieces, held_out) = (random_pieces(&mut random), random_pieces(&mut random));
        let measure_after = [0, 1, 2, 5, 6, 11, 1000];
        let initial = model_of(["ab"]);
        let options = LearnOptions {
            validation: Some(ValidationSet { pieces: &held_out, measure_after: &measure_after }),
            initial: (round % 4 == 0).then_some((&initial, 300)),
            ..LearnOptions::new(12)
        };
        let progress = Progress::default();
        let learned = learn(&pieces, &options, &progress).unwrap();
        assert_eq!(learned, learn_by_recount(&pieces, &options));
        let measured = progress.validation();
        let mut expected_merges = measure_after.to_vec();
        expected_merges.retain(|&merges| merges < learned.merges.len());
        expected_merges.push(learned.merges.len());
        assert_eq!(measured.iter().map(|&(merges, _)| merges).collect::<Vec<_>>(), expected_merges);
        for (merges, tokens) in measured {
            let applied = &learned.merges[..merges];
            let expected = held_out.0.iter().map(|(piece, count)| {
                count * tokens_by_merging_in_order(piece, options.initial, applied) as u64
            });
            assert_eq!(tokens, expected.sum::<u64>(), "{held_out:?} after {applied:?}");
        }
    }
}

/// The specification: applies each merge everywhere, in the order they were learned.
fn tokens_by_merging_in_order(
    piece: &[u8],
    initial: Option<(&BpeModel, Id)>,
    merges: &[LearnedMerge],
) -> usize {
    let mut ids: Vec<Id> = piece.iter().map(|&byte| byte.into()).collect();
    if let Some((model, _)) = initial {
        ids.clear();
        Scratch::default().merge(model, piece, &mut ids);
    }
    let first = initial.map_or(256, |(_, first)| first);
    for (number, merge) in merges.iter().enumerate() {
        let mut at = 0;
        while at + 1 < ids.len() {
            if ids[at..at + 2] == [merge.left, merge.right] {
                ids[at] = first + number as Id;
                ids.remove(at + 1);
            }
            at += 1;
        }
    }
    ids.len()
}
