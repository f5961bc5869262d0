//! Finders compared with a naive search and with regexes.

use std::ops::Range;

use fancy_regex::{Regex, escape};

use super::{Finder, FinderMany, NeedleMatch, SearchOptions};
use crate::testing::{PARTS, Random};

/// Parts of texts and needles: letters with several cases, words, marks, and characters whose
/// folded form has another length.
#[rustfmt::skip]
const LETTERS: [&str; 24] = [
    "a", "A", "b", "B", "k", "K", "\u{212A}", "s", "S", "\u{17F}", "ß", "\u{1E9E}", "é", "É", "e\u{301}",
    " ", " ", "-", "_", "中", "ไ", "σ", "ς", "1",
];

fn some_text(random: &mut Random, parts: &[&str], most: usize) -> String {
    (0..random.below(most)).map(|_| parts[random.below(parts.len())]).collect()
}

fn some_needle(random: &mut Random, parts: &[&str], most: usize) -> String {
    let mut needle = String::new();
    while needle.is_empty() {
        needle = some_text(random, parts, most);
    }
    needle
}

fn regex_of(needle: &str, options: SearchOptions) -> Regex {
    let mut written = escape(needle).into_owned();
    if options.ignore_case {
        written = format!("(?i:{written})");
    }
    if options.whole_word {
        written = format!(r"(?<!\w){written}(?!\w)");
    }
    Regex::new(&written).unwrap()
}

/// Returns all matches, also overlapping ones.
fn all_by_regex(regex: &Regex, text: &str) -> Vec<Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(|| {
        let found = regex.find_from_pos(text, from).unwrap()?.range();
        from = found.start + text[found.start..].chars().next().unwrap().len_utf8();
        Some(found)
    })
    .collect()
}

fn without_overlaps(all: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut end = 0;
    let mut kept = all.to_vec();
    kept.retain(|found| {
        let keep = found.start >= end;
        end = if keep { found.end } else { end };
        keep
    });
    kept
}

fn all_options() -> impl Iterator<Item = SearchOptions> {
    [(false, false), (false, true), (true, false), (true, true)]
        .into_iter()
        .map(|(whole_word, ignore_case)| SearchOptions { whole_word, ignore_case })
}

#[test]
fn one_needle_is_found_where_a_regex_finds_it() {
    let mut random = Random(1);
    for round in 0..400 {
        let parts = if round % 2 == 0 { &LETTERS[..] } else { &PARTS[..] };
        let text = some_text(&mut random, parts, 200);
        let needle = some_needle(&mut random, parts, 4);
        for options in all_options() {
            let finder = Finder::try_from_needle(needle.as_bytes(), options).unwrap();
            let all = all_by_regex(&regex_of(&needle, options), &text);
            let bytes = text.as_bytes();
            let found: Vec<_> = finder.matches(bytes, 0..bytes.len(), true).collect();
            assert_eq!(found, all, "{needle:?} {options:?} in {text:?}");
            let found: Vec<_> = finder.matches(bytes, 0..bytes.len(), false).collect();
            assert_eq!(found, without_overlaps(&all), "{needle:?} {options:?} in {text:?}");
            let mut found: Vec<_> = finder.rmatches(bytes, 0..bytes.len(), true).collect();
            found.reverse();
            assert_eq!(found, all, "{needle:?} {options:?} from the end of {text:?}");
            let from = random.below(bytes.len() + 1);
            let first = all.iter().find(|found| found.start >= from).cloned();
            assert_eq!(finder.find(bytes, from), first);
            let last = all.iter().rev().find(|found| found.end <= from).cloned();
            assert_eq!(finder.rfind(bytes, from), last);
            assert_eq!(finder.count(bytes, true), all.len());
        }
    }
}

#[test]
fn long_texts_are_folded_stretch_by_stretch() {
    let options = SearchOptions { ignore_case: true, whole_word: false };
    for needle in ["éks", "ks", "sss", "\u{212A}\u{212A}k"] {
        let finder = Finder::try_from_needle(needle.as_bytes(), options).unwrap();
        let mut text = String::new();
        let mut random = Random(2);
        while text.len() < 300_000 {
            text += LETTERS[random.below(14)];
        }
        text += &"x".repeat(200_000);
        text += "éks\u{212A}sSsks";
        let all = all_by_regex(&regex_of(needle, options), &text);
        let bytes = text.as_bytes();
        assert!(all.len() > 2);
        let found: Vec<_> = finder.matches(bytes, 0..bytes.len(), true).collect();
        assert!(found == all);
        let found: Vec<_> = finder.matches(bytes, 0..bytes.len(), false).collect();
        assert_eq!(found, without_overlaps(&all));
        let mut found: Vec<_> = finder.rmatches(bytes, 0..bytes.len(), true).collect();
        found.reverse();
        assert!(found == all);
        let mut back: Vec<_> = finder.rmatches(bytes, 0..bytes.len(), false).collect();
        back.reverse();
        assert!(back.windows(2).all(|two| two[0].end <= two[1].start));
        assert_eq!(back.last(), all.last());
        let many = FinderMany::try_from_needles(&[needle], options).unwrap();
        let found: Vec<_> = many.matches(bytes, 0..bytes.len()).map(|found| found.range).collect();
        assert_eq!(found, without_overlaps(&all));
        let mut found = Vec::new();
        many.overlapping(bytes, 0..bytes.len(), &mut found);
        assert_eq!(found.into_iter().map(|found| found.range).collect::<Vec<_>>(), all);
    }
}

#[test]
fn many_needles_are_found_leftmost_longest_first_listed() {
    let mut random = Random(3);
    for round in 0..400 {
        let parts = if round % 2 == 0 { &LETTERS[..] } else { &PARTS[..] };
        let text = some_text(&mut random, parts, 200);
        let count = random.below(8);
        let needles: Vec<String> = (0..count).map(|_| some_needle(&mut random, parts, 4)).collect();
        for options in all_options() {
            let many = FinderMany::try_from_needles(&needles, options).unwrap();
            let mut all = Vec::new();
            for (number, needle) in needles.iter().enumerate() {
                let ranges = all_by_regex(&regex_of(needle, options), &text);
                all.extend(ranges.into_iter().map(|range| NeedleMatch { range, needle: number }));
            }
            all.sort_by_key(|found| {
                (found.range.start, text.len() - found.range.end, found.needle)
            });
            let bytes = text.as_bytes();
            let mut found = Vec::new();
            many.overlapping(bytes, 0..bytes.len(), &mut found);
            assert_eq!(found, all, "{needles:?} {options:?} in {text:?}");
            let mut kept = all.clone();
            let mut end = 0;
            kept.retain(|found| {
                let keep = found.range.start >= end;
                end = if keep { found.range.end } else { end };
                keep
            });
            let found: Vec<_> = many.matches(bytes, 0..bytes.len()).collect();
            assert_eq!(found, kept, "{needles:?} {options:?} in {text:?}");
            let from = random.below(bytes.len() + 1);
            let first = all.iter().find(|found| found.range.start >= from).cloned();
            assert_eq!(many.find(bytes, from), first);
        }
    }
}

#[test]
fn ids_are_found_where_ids_begin() {
    let needles = [vec![0x0101_u32, 0x0201], vec![0x0101], vec![1 << 20]];
    let many = FinderMany::try_from_ids(&needles, 2).unwrap();
    let ids = [0x0101_u16, 0x0102, 0x0101, 0x0201, 0x0101];
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_ne_bytes()).collect();
    let found: Vec<_> = many.matches(&bytes, 0..bytes.len()).collect();
    let expected = [(0..2, 1), (4..8, 0), (8..10, 1)];
    assert_eq!(found, expected.map(|(range, needle)| NeedleMatch { range, needle }));
}

#[test]
fn refuses_needles_that_cannot_be_found() {
    let fold = SearchOptions { ignore_case: true, whole_word: false };
    let plain = SearchOptions::default();
    let long = vec![b'a'; super::NEEDLE_BYTES_MAX + 1];
    let refusal = |needles: &[&[u8]], options| {
        FinderMany::try_from_needles(needles, options).unwrap_err().to_string()
    };
    let empty = "a needle is empty; give at least one character, byte or id";
    assert_eq!(Finder::try_from_needle(b"", plain).unwrap_err().to_string(), empty);
    assert_eq!(refusal(&[b"a", b""], plain), empty);
    let broken = "a needle is not UTF-8, so it has no case; leave out ignore_case";
    assert_eq!(Finder::try_from_needle(b"\xFF", fold).unwrap_err().to_string(), broken);
    assert_eq!(refusal(&[b"\xFF"], fold), broken);
    assert_eq!(
        refusal(&[&long], plain),
        "a needle has a length of 16385; it may have at most 16384"
    );
    assert_eq!(
        refusal(&vec![&long[1..]; 1025], plain),
        "the needles have 16793600 bytes in all; they may have at most 16777216"
    );
    assert_eq!(
        refusal(&vec![&b"a"[..]; (1 << 20) + 1], plain),
        "there are 1048577 needles; at most 1048576 are found together"
    );
}
