use super::tables::good_suffixes;
use super::*;
use crate::testing::Random;

fn naive<E: Element>(needle: &[E], text: &[E]) -> Vec<usize> {
    let windows = text.windows(needle.len()).enumerate();
    windows.filter(|(_, window)| *window == needle).map(|(at, _)| at).collect()
}

fn all<E: Element, const REVERSE: bool, const FOLD: bool>(
    needle: &[E],
    text: &[E],
    level: SimdLevel,
    credit: usize,
) -> Vec<usize> {
    let needle = Needle::<E, FOLD>::new(needle);
    let mut search = needle.search();
    search.credit = credit;
    let mut all = Vec::new();
    let mut then = [MatchControl::Overlap, MatchControl::StopOverlap].into_iter().cycle();
    for _ in 0..=text.len() {
        needle.visit_matches_at::<REVERSE>(level, text, &mut search, |found| {
            all.push(found);
            then.next().unwrap()
        });
    }
    all
}

fn assert_all<E: Element>(needle: &[E], text: &[E]) {
    let naive = naive(needle, text);
    for level in SimdLevel::detect_all() {
        for credit in [0, 20, INITIAL_CREDIT] {
            let found = all::<E, false, false>(needle, text, level, credit);
            assert_eq!(found, naive, "{level:?} {needle:?} in {text:?}");
            let mut found = all::<E, true, false>(needle, text, level, credit);
            found.reverse();
            assert_eq!(found, naive, "{level:?} {needle:?} from the end of {text:?}");
        }
    }
}

fn assert_random<E: Element>(values: &[E], seed: u64) {
    let mut random = Random(seed);
    for round in 0..3000 {
        let count = 1 + random.below(values.len());
        let some = |random: &mut Random, most: usize| -> Vec<E> {
            let len = 1 + random.below(most);
            let period = 1 + random.below(if round % 2 == 0 { 4 } else { len });
            let root: Vec<E> = (0..period).map(|_| values[random.below(count)]).collect();
            let mut all: Vec<E> = root.iter().cycle().take(len).copied().collect();
            for _ in 0..random.below(3) {
                let at = random.below(len);
                all[at] = values[random.below(count)];
            }
            all
        };
        let mut text = some(&mut random, 400);
        text.extend(some(&mut random, 400));
        let mut needle = some(&mut random, 40);
        if round % 3 == 0 {
            let start = random.below(text.len());
            let len = 1 + random.below(text.len() - start);
            needle = text[start..start + len].to_vec();
        }
        assert_all(&needle, &text);
    }
}

#[test]
fn matches_do_not_overlap_where_they_must_not() {
    let mut random = Random(6);
    for _ in 0..2000 {
        let mut some = |most: usize| -> Vec<u8> {
            (0..1 + random.below(most)).map(|_| b"ab"[random.below(2)]).collect()
        };
        let (text, needle) = (some(300), some(4));
        let (mut expected, mut end) = (naive(&needle, &text), 0);
        expected.retain(|&found| {
            let keep = found >= end;
            end = if keep { found + needle.len() } else { end };
            keep
        });
        for level in SimdLevel::detect_all() {
            let (made, mut found) = (Needle::<u8>::new(&needle), Vec::new());
            made.visit_matches_at::<false>(level, &text, &mut made.search(), |at| {
                found.push(at);
                MatchControl::Skip
            });
            assert_eq!(found, expected, "{level:?} {needle:?} in {text:?}");
        }
    }
}

#[test]
fn every_match_of_bytes_is_found_both_ways() {
    assert_random(b"abAB", 1);
}

#[test]
fn every_match_of_ids_is_found_both_ways() {
    assert_random(&[7_u16, 263, 1031, 0xFFFF], 2);
    assert_random(&[7_u32, 263, 1031, 65543], 3);
}

#[test]
fn capitals_are_read_as_small_letters() {
    let mut random = Random(4);
    for _ in 0..3000 {
        let mut some = |most: usize| -> Vec<u8> {
            (0..1 + random.below(most)).map(|_| b"aAbB@`[{"[random.below(8)]).collect()
        };
        let (text, needle) = (some(300), some(4));
        let expected = naive(&needle.to_ascii_lowercase(), &text.to_ascii_lowercase());
        for level in SimdLevel::detect_all() {
            assert_eq!(all::<u8, false, true>(&needle, &text, level, INITIAL_CREDIT), expected);
            assert_eq!(all::<u8, false, true>(&needle, &text, level, 0), expected);
            let mut back = all::<u8, true, true>(&needle, &text, level, INITIAL_CREDIT);
            back.reverse();
            assert_eq!(back, expected);
        }
    }
}

#[test]
fn the_tables_are_those_of_the_example_of_the_module_header() {
    let tables = ShiftTables::new::<false>(b"abab");
    assert_eq!(tables.good_suffix[..], [2, 2, 2, 4, 1]);
    assert_eq!([b'a', b'b', b'c'].map(|byte| tables.bad_character[usize::from(byte)]), [1, 0, 4]);
    assert_eq!(tables.filter.probes.map(|probe| probe.place), [1, 0, 3, 2]);
    let cat = ShiftTables::new::<false>(b"cat");
    assert_eq!(cat.filter.probes.map(|probe| probe.place), [0, 1, 2, 0]);
}

#[test]
fn the_moves_are_those_of_the_rules() {
    // The definition: the smallest move that agrees with the compared elements.
    let mut random = Random(5);
    for _ in 0..2000 {
        let needle: Vec<u8> = (0..1 + random.below(12)).map(|_| b"ab"[random.below(2)]).collect();
        let len = needle.len();
        let fits = |place: usize, by: usize| {
            let seen = (place..len).all(|at| at < by || needle[at - by] == needle[at]);
            seen && (place == 0 || place - 1 < by || needle[place - 1 - by] != needle[place - 1])
        };
        let expected: Vec<u32> =
            (0..=len).map(|place| (1..=len).find(|&by| fits(place, by)).unwrap() as u32).collect();
        assert_eq!(good_suffixes(&needle), expected, "{needle:?}");
    }
}
