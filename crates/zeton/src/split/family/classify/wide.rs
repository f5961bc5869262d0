//! The characters of a block that are beyond ASCII, as bit masks.
//!
//! Every byte of a character has the bits of the character's class, so the byte before a character
//! speaks of the character before it, whatever their lengths.

#[cfg(any(test, not(target_arch = "x86_64")))]
use crate::sys::unicode::read_char;
use crate::sys::unicode::{ClassRow, class_row};

/// The characters beyond ASCII of one block by what they are. Those in no class are signs.
///
/// Only the bits before `end` and before `broken` say something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Wide {
    pub(crate) classes: ClassRow,
    /// Bytes that are not the first of their character.
    pub(crate) continuations: u64,
    /// Where the block ends: before a character that goes on after it, or else 64.
    pub(crate) end: u32,
    /// A byte at which no character begins is here or follows before the next character; or else
    /// 64.
    pub(crate) broken: u32,
}

impl Wide {
    /// What a block of ASCII has.
    pub(crate) const NONE: Self =
        Self { classes: ClassRow([0; 3]), continuations: 0, end: 64, broken: 64 };

    /// The plain way, which every other equals; `high` are the bytes beyond ASCII.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) fn one_by_one(bytes: &[u8; 64], mut high: u64) -> Self {
        let mut wide = Self::NONE;
        while high != 0 {
            let at = high.trailing_zeros();
            let rest = &bytes[at as usize..];
            let Some((point, length)) = read_char(rest) else {
                match length_of(rest[0]) > rest.len() {
                    true => wide.end = at,
                    false => wide.broken = at,
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

    /// The same by comparisons of all bytes at once: those `within` a range of so many, and those
    /// `equal` to one. `look_up` says what a row has for the last six bits of certain bytes.
    ///
    /// Characters that differ in their last byte alone share a row of bits, so a block takes as
    /// many rounds as it has rows: Russian two or three. Han and Hangul, which have hundreds of rows,
    /// kana and emoji are told by ranges.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn by_rows(
        bytes: &[u8; 64],
        high: u64,
        within: impl Fn(u8, u8) -> u64,
        equal: impl Fn(u8) -> u64,
        look_up: impl Fn(&ClassRow, u64) -> ClassRow,
    ) -> Self {
        let leads = within(0xC0, 64);
        let of_three = within(0xE0, 32);
        let of_four = within(0xF0, 16);
        let continuations = high & !leads;
        let cut_off = leads & 1 << 63 | of_three & 3 << 62 | of_four & 7 << 61;
        let end = cut_off.trailing_zeros();
        let mut broken = 64;
        let wrong = (leads << 1 | of_three << 2 | of_four << 3) ^ continuations;
        if wrong != 0 {
            broken = last_before(!continuations, wrong.trailing_zeros());
        }

        let mut rest = leads & below(end) & below(broken);
        let mut letters = 0;
        if of_three & within(0xE4, 10) != 0 {
            let han = within(0xE4, 6) & !(equal(0xE4) & equal(0xB7) >> 1);
            let hangul = within(0xEB, 2)
                | equal(0xEA) & within(0xB0, 16) >> 1
                | equal(0xED) & within(0x80, 0x1E) >> 1;
            letters = rest & (han | hangul);
            rest &= !letters;
        }
        let kana = equal(0xE3) & within(0x81, 3) >> 1 & rest;
        if kana != 0 {
            let other = equal(0x81) & equal(0x80) >> 1
                | equal(0x82) & (within(0x97, 6) | equal(0xA0)) >> 1
                | equal(0x83) & equal(0xBB) >> 1;
            let kana = kana & !(other >> 1);
            letters |= kana;
            rest &= !kana;
        }
        if of_four != 0 {
            rest &= !(equal(0xF0) & equal(0x9F) >> 1 & within(0x8C, 0x1C) >> 2);
        }

        // By their first bytes, so far; those told by ranges are letters without case.
        let mut classes = [letters, 0, letters];
        while rest != 0 {
            let at = rest.trailing_zeros();
            let [first, second, third] = three_from(bytes, at);
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
            let Some(row) = row_of(number, length) else {
                broken = at;
                break;
            };
            let alike = alike & rest;
            rest &= !alike;
            let ClassRow(found) = look_up(row, alike << (length - 1));
            for (mask, found) in classes.iter_mut().zip(found) {
                *mask |= found >> (length - 1);
            }
        }
        let classes = ClassRow(classes.map(|firsts| whole(firsts, continuations)));
        Self { classes, continuations, end, broken }
    }
}

/// What a row has for the last six bits of certain bytes, one by one.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn look_up(row: &ClassRow, bytes: &[u8; 64], mut asked: u64) -> ClassRow {
    let mut found = ClassRow([0; 3]);
    while asked != 0 {
        let at = asked.trailing_zeros();
        let bit = bytes[at as usize] & 63;
        for (mask, row) in found.0.iter_mut().zip(row.0) {
            *mask |= (row >> bit & 1) << at;
        }
        asked &= asked - 1;
    }
    found
}

/// All bytes of the characters with these first bytes.
#[inline(always)]
pub(crate) fn whole(firsts: u64, continuations: u64) -> u64 {
    // A carry runs through the continuations after each.
    firsts | continuations & !continuations.wrapping_add(firsts << 1 & continuations)
}

/// The bits below a place.
#[inline(always)]
pub(crate) fn below(place: u32) -> u64 {
    1_u64.checked_shl(place).map_or(u64::MAX, |bit| bit - 1)
}

/// The bytes of a character that begins with this one, if any does.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn length_of(first: u8) -> usize {
    match first {
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF5 => 4,
        _ => 1,
    }
}

/// The last of these bits before a place, or else 0.
#[cfg(target_arch = "x86_64")]
#[cold]
fn last_before(bits: u64, place: u32) -> u32 {
    (bits & below(place)).checked_ilog2().unwrap_or(0)
}

/// Three bytes from a place on; those after the block are as good as any.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn three_from(bytes: &[u8; 64], at: u32) -> [u8; 3] {
    let from = |at: u32| bytes[(at % 64) as usize];
    [from(at), from(at + 1), from(at + 2)]
}

/// The row of a number that is spelled in so many bytes; `None` if it may not be.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn row_of(number: u32, length: u32) -> Option<&'static ClassRow> {
    let spelled = match length {
        2 => number >= 0x80 >> 6,
        3 => number >= 0x800 >> 6 && !(0xD800 >> 6..0xE000 >> 6).contains(&number),
        _ => number >= 0x1_0000 >> 6,
    };
    if spelled { class_row(number) } else { None }
}
