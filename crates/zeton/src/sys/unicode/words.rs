//! Word characters and case folding, for search.
//!
//! Both agree with the `regex` crate: [`is_word`] is its `\w`, and [`fold`] is the simple case
//! folding of its `(?i)`. For example, `é` is a word character, and `K` (U+004B), `k` and the
//! Kelvin sign U+212A all fold to `k`.
//!
//! The tables are derived from `regex-syntax` at first use and kept for the life of the process.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::{CHARACTER_BYTES_MAX, CODE_POINTS, read_char};

/// A bit per code point, in blocks of 128 whose equal ones are stored once.
struct CodePointSet {
    index: Vec<u16>,
    blocks: Vec<u128>,
}

/// Returns whether `\w` matches a code point. ASCII is one load; the first other code point builds
/// the table.
#[inline]
pub(crate) fn is_word(point: u32) -> bool {
    if point < 128 {
        return ASCII_WORDS >> point & 1 == 1;
    }
    static WORDS: OnceLock<CodePointSet> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let mut all = vec![0_u128; CODE_POINTS as usize / 128];
        for range in class_of_regex(r"\w").ranges() {
            for point in range.start() as usize..=range.end() as usize {
                all[point / 128] |= 1 << (point % 128);
            }
        }
        let (mut blocks, mut known) = (Vec::new(), HashMap::new());
        let index = all.into_iter().map(|block| {
            *known.entry(block).or_insert_with(|| {
                blocks.push(block);
                (blocks.len() - 1) as u16
            })
        });
        CodePointSet { index: index.collect(), blocks }
    });
    let block = words.index.get((point >> 7) as usize).copied().unwrap_or(0);
    words.blocks[usize::from(block)] >> (point & 127) & 1 == 1
}

/// The word characters of ASCII, a bit each: letters, digits and the underscore.
const ASCII_WORDS: u128 = {
    let (mut bits, mut byte) = (0, 0_u8);
    while byte < 128 {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            bits |= 1 << byte;
        }
        byte += 1;
    }
    bits
};

/// Returns whether a word character ends at byte `place`.
///
/// Scans backwards over at most one character. Broken UTF-8 contains no word characters.
#[inline]
pub(crate) fn is_word_before(text: &[u8], place: usize) -> bool {
    let Some(&last) = text[..place].last() else { return false };
    if last < 128 {
        return ASCII_WORDS >> last & 1 == 1;
    }
    let first = place.saturating_sub(CHARACTER_BYTES_MAX);
    (first..place).any(|start| {
        read_char(&text[start..place])
            .is_some_and(|(point, bytes)| start + bytes == place && is_word(point))
    })
}

/// Returns whether a character of words starts at byte `place` of a text; false at its end.
/// Searches of whole words call it at the end of a match.
#[inline]
pub(crate) fn is_word_after(text: &[u8], place: usize) -> bool {
    match text.get(place) {
        Some(&first) if first < 128 => ASCII_WORDS >> first & 1 == 1,
        Some(_) => read_char(&text[place..]).is_some_and(|(point, _)| is_word(point)),
        None => false,
    }
}

/// Returns the case-folded form of a code point: characters that differ only by case share one.
///
/// The form of a group is its ASCII small letter if it has one, else its lowest code point.
#[inline]
pub(crate) fn fold(point: u32) -> u32 {
    if point < 128 {
        return u32::from((point as u8).to_ascii_lowercase());
    }
    static FOLDED: OnceLock<Vec<Option<Box<[u32; 128]>>>> = OnceLock::new();
    let folded = FOLDED.get_or_init(|| {
        let cased = class_of_regex(r"[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]");
        let mut folded: Vec<Option<Box<[u32; 128]>>> = vec![None; CODE_POINTS as usize / 128];
        for range in cased.ranges() {
            for character in range.start()..=range.end() {
                let mut alike = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
                alike.case_fold_simple();
                let all = || alike.ranges().iter().flat_map(|range| range.start()..=range.end());
                // The search kernels fold ASCII by setting a bit, so ASCII folds to small letters.
                let small = all().find(char::is_ascii_lowercase);
                let form = small.or_else(|| all().next()).unwrap_or(character);
                if form != character {
                    let (block, place) = (character as usize / 128, character as usize % 128);
                    let identity = || Box::new(std::array::from_fn(|at| (block * 128 + at) as u32));
                    folded[block].get_or_insert_with(identity)[place] = form as u32;
                }
            }
        }
        folded
    });
    match folded.get((point >> 7) as usize) {
        Some(Some(block)) => block[(point & 127) as usize],
        _ => point,
    }
}

/// Returns the set of characters of a regex class, such as `\w`. Callers pass constants.
fn class_of_regex(written: &str) -> ClassUnicode {
    let parsed = regex_syntax::parse(written).map(regex_syntax::hir::Hir::into_kind);
    match parsed {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => unreachable!("{written} is a class of characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_characters_agree_with_the_regex_crate() {
        let class = class_of_regex(r"\w");
        let holds =
            |c: char| class.ranges().iter().any(|range| range.start() <= c && c <= range.end());
        for character in '\0'..=char::MAX {
            let point = character as u32;
            assert_eq!(is_word(point), holds(character), "{character:?}");
            let text = format!("a{character}b");
            assert_eq!(is_word_after(text.as_bytes(), 1), is_word(point));
            assert_eq!(is_word_before(text.as_bytes(), text.len() - 1), is_word(point));
        }
        assert!(!is_word(0x11_0000) && !is_word(u32::MAX));
    }

    #[test]
    fn broken_utf8_has_no_word_characters() {
        for text in [&b"\xC3"[..], b"\x80", b"\xE4\xB8", b"\xFF"] {
            assert!(!is_word_before(text, text.len()));
            assert!(!is_word_after(text, 0));
        }
        // Byte 1 lies inside the character.
        assert!(!is_word_after("é".as_bytes(), 1));
        assert!(!is_word_before("é".as_bytes(), 1));
    }

    #[test]
    fn folding_agrees_with_the_regex_crate() {
        for character in '\0'..=char::MAX {
            let mut alike = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
            alike.case_fold_simple();
            let all = alike.ranges().iter().flat_map(|range| range.start()..=range.end());
            let form = fold(character as u32);
            let mut found = false;
            for other in all {
                assert_eq!(fold(other as u32), form, "{character:?} {other:?}");
                assert_eq!(is_word(other as u32), is_word(character as u32));
                found |= other as u32 == form;
            }
            assert!(found, "{character:?}");
        }
    }
}
