use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::Vocab;
use crate::piece_cache::Scratch;
use crate::testing::{Random, model_of};

/// Pieces as a test gives them.
#[derive(Debug)]
struct Given(Vec<(Vec<u8>, u64)>);

impl Pieces for Given {
    fn each(&self, take: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>) -> Result<(), Error> {
        self.0.iter().try_for_each(|(piece, count)| take(piece, *count))
    }
}

fn given(pieces: &[(&str, u64)]) -> Given {
    Given(pieces.iter().map(|(piece, count)| (piece.as_bytes().to_vec(), *count)).collect())
}

/// The specification: count all pairs anew for every merge.
fn learn_by_recount(pieces: &Given, goal: &Goal<'_>) -> Learned {
    let (is_rare, no_rare) = (|count: &u64| *count < goal.piece_count_min.max(1), (0, 0));
    let add = |(pieces, sum): (usize, u64), count: &u64| (pieces + 1, sum + count);
    let counts = pieces.0.iter().map(|(_, count)| count);
    let left_out = counts.filter(|count| is_rare(count)).fold(no_rare, add);

    let mut tokens: BTreeMap<Id, Vec<u8>> = (0..=u8::MAX).map(|b| (b.into(), vec![b])).collect();
    let mut first_new = 256;
    if let Some((model, first)) = goal.initial {
        tokens = model.vocab().iter().map(|(id, token)| (id, token.to_vec())).collect();
        first_new = first;
    }
    let parts = |piece: &[u8]| match goal.initial {
        None => piece.iter().map(|&byte| Id::from(byte)).collect(),
        Some((model, _)) => {
            let mut ids = Vec::new();
            Scratch::default().merge(model, piece, &mut ids);
            ids
        }
    };
    let learned_from = pieces.0.iter().filter(|(_, count)| !is_rare(count));
    let mut words: Vec<(Vec<Id>, u64)> =
        learned_from.map(|(piece, count)| (parts(piece), *count)).collect();

    let (mut merges, mut ties, pieces) = (Vec::new(), 0, words.len());
    while merges.len() < goal.merges_max {
        let mut pairs: BTreeMap<(Id, Id), u64> = BTreeMap::new();
        for (parts, count) in &words {
            for two in parts.windows(2) {
                *pairs.entry((two[0], two[1])).or_default() += count;
            }
        }
        pairs.retain(|(left, right), _| {
            let token = [&tokens[left][..], &tokens[right]].concat();
            let is_new = goal.initial.is_none() || tokens.values().all(|known| *known != token);
            token.len() <= goal.token_bytes_max && is_new
        });
        let Some(&count) = pairs.values().max() else { break };
        let mut best = pairs.iter().filter(|pair| *pair.1 == count).map(|(&pair, _)| pair);
        let pair = best.next().unwrap();
        ties += usize::from(best.next().is_some());
        let joined = first_new + merges.len() as Id;
        tokens.insert(joined, [&tokens[&pair.0][..], &tokens[&pair.1]].concat());
        merges.push(Merge { left: pair.0, right: pair.1, count });
        for (parts, _) in &mut words {
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
    Learned { merges, ties, pieces, left_out }
}

/// Distinct pieces over few letters, many that overlap themselves, with counts that are often equal.
fn random_pieces(random: &mut Random) -> Given {
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
    Given(pieces.into_iter().collect())
}

fn random_goal<'v>(random: &mut Random, initial: &'v BpeModel) -> Goal<'v> {
    let mut goal = Goal::merges(1 + random.below(80));
    if random.below(3) == 0 {
        goal.piece_count_min = random.below(4) as u64;
    }
    if random.below(3) == 0 {
        goal.token_bytes_max = random.below(8);
    }
    if random.below(3) == 0 {
        goal.initial = Some((initial, initial.vocab().id_max() + 1 + random.below(50) as Id));
    }
    goal
}

/// Tokens that learning could have made, and others, with gaps between their ids.
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

/// Learns with a first floor and room for lists that are as bad as they get.
fn learn_cramped<C: Cell>(pieces: &Given, goal: &Goal<'_>, floor: u64, room: usize) -> Learned {
    let (progress, tokens) = (Progress::default(), Tokens::new(goal).unwrap());
    let mut pace = Pace::new(&progress);
    let layout = Layout::of(pieces, goal, &tokens, &mut pace).unwrap();
    let (found, left_out) = (layout.pieces, layout.left_out);
    let cells: Cells<C> = Cells::of(pieces, layout, &tokens, &mut pace).unwrap();
    let floor = Floor::at(floor, goal.merges_max);
    let learner = Learner::new(cells, tokens, floor, room, &progress).unwrap();
    Learned { pieces: found, left_out, ..learner.learn(goal.merges_max, None).unwrap() }
}

#[test]
fn learns_what_counting_anew_would() {
    let mut random = Random(17);
    for round in 0..4000 {
        let (pieces, model) = (random_pieces(&mut random), random_model(&mut random));
        let goal = random_goal(&mut random, &model);
        let expected = learn_by_recount(&pieces, &goal);
        let found = learn(&pieces, &goal, &Progress::default()).unwrap();
        assert_eq!(found, expected, "{round}: {:?} {goal:?}", pieces.0);
    }
}

#[test]
fn neither_width_nor_floor_nor_room_matters() {
    let mut random = Random(18);
    for round in 0..4000 {
        let (pieces, model) = (random_pieces(&mut random), random_model(&mut random));
        let goal = random_goal(&mut random, &model);
        let expected = learn_by_recount(&pieces, &goal);
        let floor = [1, 2, 3, 10, 1000, 1 << 50][random.below(6)];
        let room = [0, 100, 300, 1000, 3000, usize::MAX][random.below(6)];
        let found = match random.below(2) {
            0 => learn_cramped::<u16>(&pieces, &goal, floor, room),
            _ => learn_cramped::<u32>(&pieces, &goal, floor, room),
        };
        assert_eq!(found, expected, "{round}: {floor} {room} {:?} {goal:?}", pieces.0);
    }
}

#[test]
fn overlapping_pairs_count_in_every_place_and_join_from_the_left() {
    let learned = learn(&given(&[("aaa", 5), ("bc", 9)]), &Goal::merges(9), &Progress::default());
    let [a, b, c] = [b'a', b'b', b'c'].map(Id::from);
    let merges = vec![
        Merge { left: a, right: a, count: 10 },
        Merge { left: b, right: c, count: 9 },
        Merge { left: 256, right: a, count: 5 },
    ];
    assert_eq!(learned, Ok(Learned { merges, ties: 0, pieces: 2, left_out: (0, 0) }));
}

#[test]
fn the_last_of_65_536_tokens_fits_16_bits() {
    // As many distinct pairs of letters as merges are asked for, each in a piece of its own.
    let pieces = (0..1u32 << 16).map(|n| ((n as u16).to_be_bytes().to_vec(), 1)).collect();
    let pieces = Given(pieces);
    for merges_max in [65_280, 65_281, 65_279] {
        let goal = Goal::merges(merges_max);
        let learned = learn(&pieces, &goal, &Progress::default()).unwrap();
        assert_eq!(learned.merges.len(), merges_max);
        assert!(learned.pairs().is_sorted(), "all are ties");
        assert_eq!(learned.ties, merges_max);
    }
}

#[test]
fn counts_beyond_32_bits_are_exact() {
    let high = 1 << 61;
    let pieces = given(&[("ab", high + 1), ("cd", high), ("xcd", 2)]);
    let learned = learn(&pieces, &Goal::merges(2), &Progress::default()).unwrap();
    let counts: Vec<u64> = learned.merges.iter().map(|merge| merge.count).collect();
    assert_eq!(counts, [high + 2, high + 1]);
}

#[test]
fn refuses_counts_that_64_bits_do_not_hold() {
    for pieces in [given(&[("ab", 1 << 63)]), given(&[("ab", 1 << 62), ("cd", 1 << 62)])] {
        let refused = learn(&pieces, &Goal::merges(9), &Progress::default());
        assert_eq!(refused, Err(Error::CountsTooLarge));
    }
}

#[test]
fn refuses_ids_that_are_taken() {
    let model = model_of(["ab"]);
    let goal = Goal { initial: Some((&model, 256)), ..Goal::merges(9) };
    let refused = learn(&given(&[("ab", 1)]), &goal, &Progress::default());
    assert_eq!(refused, Err(Error::FirstIdTaken { first: 256, taken: 256 }));
}

#[test]
fn goes_on_from_a_vocabulary() {
    let model = model_of(["ab", "abc"]);
    let goal = Goal { initial: Some((&model, 300)), ..Goal::merges(9) };
    let pieces = given(&[("abc", 50), ("abab", 3), ("ababab", 2)]);
    let learned = learn(&pieces, &goal, &Progress::default()).unwrap();
    // A piece that is a token has no pairs; "abab" is (ab, ab), and so on.
    assert_eq!(learned.pairs(), [(256, 256), (300, 256)]);
    assert_eq!(learned.merges[0].count, 3 + 2 * 2);
}

#[test]
fn never_makes_a_token_of_the_vocabulary_again() {
    // No merge reaches "abcd": its parts stay, and would spell it anew.
    let model = model_of(["abcd"]);
    let goal = Goal { initial: Some((&model, 257)), ..Goal::merges(9) };
    let learned = learn(&given(&[("abcde", 1)]), &goal, &Progress::default()).unwrap();
    let mut tokens: Vec<(Id, Vec<u8>)> =
        model.vocab().iter().map(|(id, token)| (id, token.to_vec())).collect();
    for (id, merge) in (257..).zip(&learned.merges) {
        let token = |id: Id| tokens.iter().find(|known| known.0 == id).unwrap().1.clone();
        tokens.push((id, [token(merge.left), token(merge.right)].concat()));
    }
    assert!(Vocab::try_from_tokens(tokens).is_ok(), "{:?}", learned.merges);
}

#[test]
fn no_merges_come_of_nothing() {
    for pieces in [given(&[]), given(&[("a", 9), ("", 3)]), given(&[("ab", 0)])] {
        let learned = learn(&pieces, &Goal::merges(9), &Progress::default()).unwrap();
        assert_eq!(learned.merges, []);
    }
    let learned = learn(&given(&[("ab", 1)]), &Goal::merges(0), &Progress::default()).unwrap();
    assert_eq!(learned.merges, []);
    let learned = learn(&given(&[("ab", 1)]), &Goal::merges(usize::MAX), &Progress::default());
    assert_eq!(learned.unwrap().merges.len(), 1);
}

#[test]
fn the_vocabulary_finds_the_learned_pairs_again() {
    let text = "it was the best of times, it was the worst of times, it was the age of wisdom";
    let pieces: Vec<(&str, u64)> = text.split_inclusive(' ').map(|piece| (piece, 1)).collect();
    let learned = learn(&given(&pieces), &Goal::merges(200), &Progress::default()).unwrap();
    let pairs =
        BpeModel::new(Vocab::try_from_merges(&learned.pairs()).unwrap()).pairs().collect_by_rank();
    assert_eq!(pairs.into_iter().map(|(pair, _)| pair).collect::<Vec<_>>(), learned.pairs());
}

#[test]
fn shows_how_far_it_is() {
    let progress = Progress::default();
    assert_eq!(progress.latest(), b"");
    learn(&given(&[("abc", 3), ("ab", 1)]), &Goal::merges(9), &progress).unwrap();
    assert_eq!((progress.done(), progress.latest()), (2, b"ab".to_vec()));
}

#[test]
fn stops_when_asked() {
    let progress = Progress::default();
    progress.stop();
    let stopped = learn(&given(&[("abc", 1)]), &Goal::merges(10), &progress);
    assert_eq!(stopped, Err(Error::Stopped));
}

#[test]
fn what_is_held_out_is_measured_as_the_vocabulary_grows() {
    let mut random = Random(23);
    for round in 0..400 {
        let (pieces, held_out) = (random_pieces(&mut random), random_pieces(&mut random));
        let after = [0, 1, 2, 5, 6, 11, 1000];
        let initial = model_of(["ab"]);
        let goal = Goal {
            held_out: Some(HeldOut { pieces: &held_out, merges: &after }),
            initial: (round % 4 == 0).then_some((&initial, 300)),
            ..Goal::merges(12)
        };
        let progress = Progress::default();
        let learned = learn(&pieces, &goal, &progress).unwrap();
        assert_eq!(learned, learn_by_recount(&pieces, &goal));
        let measured = progress.measured();
        let mut wanted = after.to_vec();
        wanted.retain(|&merges| merges < learned.merges.len());
        wanted.push(learned.merges.len());
        assert_eq!(measured.iter().map(|&(merges, _)| merges).collect::<Vec<_>>(), wanted);
        for (merges, tokens) in measured {
            let made = &learned.merges[..merges];
            let expected = held_out.0.iter().map(|(piece, count)| {
                count * tokens_by_merging_in_order(piece, goal.initial, made) as u64
            });
            assert_eq!(tokens, expected.sum::<u64>(), "{held_out:?} after {made:?}");
        }
    }
}

/// The specification: make each merge, in the order they were learned, wherever it applies.
fn tokens_by_merging_in_order(
    piece: &[u8],
    initial: Option<(&BpeModel, Id)>,
    merges: &[Merge],
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
