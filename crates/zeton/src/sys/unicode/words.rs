//! Characters of words, and characters that differ by their case alone.
//!
//! Both are as the `regex` crate has them: `\w`, and the simple folding of `(?i)`.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::{CHARACTER_BYTES_MAX, read_char};

/// One more than the last code point.
const POINTS: usize = 0x11_0000;

/// A bit for each code point, in blocks of 128 that are kept once.
struct Bits {
    index: Vec<u16>,
    blocks: Vec<u128>,
}

/// Returns whether `\w` matches a character.
#[inline]
pub(crate) fn is_word(point: u32) -> bool {
    if point < 128 {
        return ASCII >> point & 1 == 1;
    }
    static WORDS: OnceLock<Bits> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let mut all = vec![0_u128; POINTS / 128];
        for range in class_of(r"\w").ranges() {
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
        Bits { index: index.collect(), blocks }
    });
    let block = words.index.get((point >> 7) as usize).copied().unwrap_or(0);
    words.blocks[usize::from(block)] >> (point & 127) & 1 == 1
}

/// The letters, digits and underscore of ASCII.
const ASCII: u128 = {
    let (mut bits, mut byte) = (0, 0_u8);
    while byte < 128 {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            bits |= 1 << byte;
        }
        byte += 1;
    }
    bits
};

/// Returns whether a character of a word ends right before a place.
#[inline]
pub(crate) fn is_word_before(text: &[u8], place: usize) -> bool {
    let Some(&last) = text[..place].last() else { return false };
    if last < 128 {
        return ASCII >> last & 1 == 1;
    }
    let first = place.saturating_sub(CHARACTER_BYTES_MAX);
    (first..place).any(|start| {
        read_char(&text[start..place])
            .is_some_and(|(point, bytes)| start + bytes == place && is_word(point))
    })
}

/// Returns whether a character of a word begins right at a place.
#[inline]
pub(crate) fn is_word_after(text: &[u8], place: usize) -> bool {
    match text.get(place) {
        Some(&first) if first < 128 => ASCII >> first & 1 == 1,
        Some(_) => read_char(&text[place..]).is_some_and(|(point, _)| is_word(point)),
        None => false,
    }
}

/// Returns the character that stands for all that differ from this one by case alone.
#[inline]
pub(crate) fn fold(point: u32) -> u32 {
    if point < 128 {
        return u32::from((point as u8).to_ascii_lowercase());
    }
    static FOLDED: OnceLock<Vec<Option<Box<[u32; 128]>>>> = OnceLock::new();
    let folded = FOLDED.get_or_init(|| {
        let cased = class_of(r"[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]");
        let mut folded: Vec<Option<Box<[u32; 128]>>> = vec![None; POINTS / 128];
        for range in cased.ranges() {
            for character in range.start()..=range.end() {
                let mut alike = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
                alike.case_fold_simple();
                let all = || alike.ranges().iter().flat_map(|range| range.start()..=range.end());
                // Small letters stay what they are where they can: those of ASCII must.
                let small = all().find(char::is_ascii_lowercase);
                let stands = small.or_else(|| all().next()).unwrap_or(character);
                if stands != character {
                    let (block, place) = (character as usize / 128, character as usize % 128);
                    let same = || Box::new(std::array::from_fn(|at| (block * 128 + at) as u32));
                    folded[block].get_or_insert_with(same)[place] = stands as u32;
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

/// Returns the characters of a class that is written so.
fn class_of(written: &str) -> ClassUnicode {
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
    fn words_are_those_of_the_regex_crate() {
        let class = class_of(r"\w");
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
    fn broken_bytes_are_of_no_word() {
        for text in [&b"\xC3"[..], b"\x80", b"\xE4\xB8", b"\xFF"] {
            assert!(!is_word_before(text, text.len()));
            assert!(!is_word_after(text, 0));
        }
        // The end of a character is none.
        assert!(!is_word_after("é".as_bytes(), 1));
        assert!(!is_word_before("é".as_bytes(), 1));
    }

    #[test]
    fn characters_are_alike_as_in_the_regex_crate() {
        for character in '\0'..=char::MAX {
            let mut alike = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
            alike.case_fold_simple();
            let all = alike.ranges().iter().flat_map(|range| range.start()..=range.end());
            let stands = fold(character as u32);
            let mut found = false;
            for other in all {
                assert_eq!(fold(other as u32), stands, "{character:?} {other:?}");
                assert_eq!(is_word(other as u32), is_word(character as u32));
                found |= other as u32 == stands;
            }
            assert!(found, "{character:?}");
        }
    }
}
