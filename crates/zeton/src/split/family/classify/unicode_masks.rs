//! The characters beyond ASCII of a block, as bit masks.
//!
//! Every byte of a character has the bits of the character's class, so the byte before a character
//! has the class of the character before it, of any length.
//!
//! Characters that share all bytes but the last share a [`ClassRow`]: three masks of 64 bits, one
//! bit for each last byte. A block is classified row by row, all characters of a row at once. For
//! example, `Яя é` has three rows:
//!
//! ```text
//! text            Я     я     ␣   é
//! bytes           D0 AF D1 8F 20  C3 A9
//! leads           1  .  1  .  .   1  .
//! continuations   .  1  .  1  .   .  1
//! row             D0    D1        C3        three rounds, 5 ns each
//! index in row    2F    0F        29        the last byte, its low six bits
//! class           Upper Lower     Lower     both bytes get the class's bits
//! ```
//!
//! Han and Hangul would take hundreds of rows, so they, kana and emoji are recognised by ranges of
//! their bytes. Russian takes two or three rounds a block.

#[cfg(any(test, not(target_arch = "x86_64")))]
use crate::sys::unicode::read_char;
use crate::sys::unicode::{ClassRow, class_row};

/// The classes of the characters beyond ASCII of a block. Characters without a class are signs.
///
/// Only the bits below `end` and below `invalid` are valid.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct UnicodeMasks {
    pub(crate) classes: ClassRow,
    /// Bytes that are not the first of their character.
    pub(crate) continuations: u64,
    /// The end of the block: the offset of a character that continues behind it, or 64.
    pub(crate) end: u32,
    /// An offset at or before the first invalid byte, with no character between the two; 64 if all
    /// bytes are valid.
    pub(crate) invalid: u32,
}

impl UnicodeMasks {
    /// The masks of a block of ASCII.
    pub(crate) const NONE: Self =
        Self { classes: ClassRow([0; 3]), continuations: 0, end: 64, invalid: 64 };

    /// Classifies character by character: the reference of all kernels. `high` are the bytes beyond
    /// ASCII. Machines other than x86-64 run it.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) fn from_bytes(bytes: &[u8; 64], mut high: u64) -> Self {
        let mut wide = Self::NONE;
        while high != 0 {
            let at = high.trailing_zeros();
            let rest = &bytes[at as usize..];
            let Some((point, length)) = read_char(rest) else {
                match character_length(rest[0]) > rest.len() {
                    true => wide.end = at,
                    false => wide.invalid = at,
                }
                break;
            };
            let character = ((1 << length) - 1) << at;
            let row = class_row(point >> 6).expect("a row for every code point").0;
            for (mask, row) in wide.classes.0.iter_mut().zip(row) {
                *mask |= character * (row >> (point & 63) & 1);
            }
            wide.continuations |= character & (character << 1);
            high &= !character;
        }
        wide
    }

    /// Classifies all characters of a row at once.
    ///
    /// `in_range(first, count)` returns the bytes from `first` to `first + count - 1`, and
    /// `equal(byte)` the bytes that equal `byte`. `look_up(row, selected)` returns the bits of a
    /// row for the low six bits of the selected bytes.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn from_rows(
        bytes: &[u8; 64],
        high: u64,
        in_range: impl Fn(u8, u8) -> u64,
        equal: impl Fn(u8) -> u64,
        look_up: impl Fn(&ClassRow, u64) -> ClassRow,
    ) -> Self {
        let leads = in_range(0xC0, 64);
        let of_three = in_range(0xE0, 32);
        let of_four = in_range(0xF0, 16);
        let continuations = high & !leads;
        let cut_off = leads & 1 << 63 | of_three & 3 << 62 | of_four & 7 << 61;
        let end = cut_off.trailing_zeros();
        let mut invalid = 64;
        let wrong = (leads << 1 | of_three << 2 | of_four << 3) ^ continuations;
        if wrong != 0 {
            invalid = find_last_before(!continuations, wrong.trailing_zeros());
        }

        let mut rest = leads & bits_below(end) & bits_below(invalid);
        let mut letters = 0;
        if of_three & in_range(0xE4, 10) != 0 {
            let han = in_range(0xE4, 6) & !(equal(0xE4) & equal(0xB7) >> 1);
            let hangul = in_range(0xEB, 2)
                | equal(0xEA) & in_range(0xB0, 16) >> 1
                | equal(0xED) & in_range(0x80, 0x1E) >> 1;
            letters = rest & (han | hangul);
            rest &= !letters;
        }
        let kana = equal(0xE3) & in_range(0x81, 3) >> 1 & rest;
        if kana != 0 {
            let other = equal(0x81) & equal(0x80) >> 1
                | equal(0x82) & (in_range(0x97, 6) | equal(0xA0)) >> 1
                | equal(0x83) & equal(0xBB) >> 1;
            let kana = kana & !(other >> 1);
            letters |= kana;
            rest &= !kana;
        }
        if of_four != 0 {
            rest &= !(equal(0xF0) & equal(0x9F) >> 1 & in_range(0x8C, 0x1C) >> 2);
        }

        // The classes, so far at first bytes only. The characters recognised by ranges are caseless
        // letters.
        let mut classes = [letters, 0, letters];
        while rest != 0 {
            let at = rest.trailing_zeros();
            let [first, second, third] = load_three(bytes, at);
            let low = |byte: u8| u32::from(byte & 0x3F);
            let (number, alike, length) = if first < 0xE0 {
                (low(first) & 0x1F, equal(first), 2)
            } else if first < 0xF0 {
                ((low(first) & 0xF) << 6 | low(second), equal(first) & equal(second) >> 1, 3)
            } else {
                (
                    (low(first) & 0xF) << 12 | low(second) << 6 | low(third),
                    equal(first) & equal(second) >> 1 & equal(third) >> 2,
                    4,
                )
            };
            let Some(row) = find_row(number, length) else {
                invalid = at;
                break;
            };
            let alike = alike & rest;
            rest &= !alike;
            let ClassRow(found) = look_up(row, alike << (length - 1));
            for (mask, found) in classes.iter_mut().zip(found) {
                *mask |= found >> (length - 1);
            }
        }
        let classes = ClassRow(classes.map(|firsts| extend_to_characters(firsts, continuations)));
        Self { classes, continuations, end, invalid }
    }
}

/// Returns the bits of a row for the low six bits of the selected bytes, byte by byte. The SSE2
/// kernel calls it, because SSE2 has no byte shuffle.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn look_up(row: &ClassRow, bytes: &[u8; 64], mut selected: u64) -> ClassRow {
    let mut found = ClassRow([0; 3]);
    while selected != 0 {
        let at = selected.trailing_zeros();
        let bit = bytes[at as usize] & 63;
        for (mask, row) in found.0.iter_mut().zip(row.0) {
            *mask |= (row >> bit & 1) << at;
        }
        selected &= selected - 1;
    }
    found
}

/// Extends a mask of the first bytes of characters to all bytes of these characters.
/// `continuations` is the mask of the block's continuation bytes.
#[inline(always)]
pub(crate) fn extend_to_characters(firsts: u64, continuations: u64) -> u64 {
    // A carry ripples through the continuations behind each first byte.
    firsts | continuations & !continuations.wrapping_add(firsts << 1 & continuations)
}

/// Returns the mask of the bits below a position. For example, `bits_below(3)` is `0b111`, and from
/// 64 on all bits are set.
#[inline(always)]
pub(crate) fn bits_below(place: u32) -> u64 {
    1_u64.checked_shl(place).map_or(u64::MAX, |bit| bit - 1)
}

/// Returns the number of bytes of a character with this first byte; 1 for an invalid byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn character_length(first: u8) -> usize {
    match first {
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF5 => 4,
        _ => 1,
    }
}

/// Returns the position of the last bit below `place`, or 0. It finds the character to which the
/// first wrong byte belongs.
#[cfg(target_arch = "x86_64")]
#[cold]
fn find_last_before(bits: u64, place: u32) -> u32 {
    (bits & bits_below(place)).checked_ilog2().unwrap_or(0)
}

/// Returns three bytes from a position on. Positions behind the block wrap around, and their values
/// do not matter, because a character that needs them is cut off at `end`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn load_three(bytes: &[u8; 64], at: u32) -> [u8; 3] {
    let from = |at: u32| bytes[(at % 64) as usize];
    [from(at), from(at + 1), from(at + 2)]
}

/// Returns the row with a number that `length` bytes encode; `None` if the encoding is overlong, a
/// surrogate or above U+10FFFF. An invalid character ends the valid part of the block.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn find_row(number: u32, length: u32) -> Option<&'static ClassRow> {
    let spelled = match length {
        2 => number >= 0x80 >> 6,
        3 => number >= 0x800 >> 6 && !(0xD800 >> 6..0xE000 >> 6).contains(&number),
        _ => number >= 0x1_0000 >> 6,
    };
    if spelled { class_row(number) } else { None }
}
