//! Unicode: character classes, scripts, case folding, and conversion between UTF-8 and code points.
//!
//! All data is that of Unicode 16. A pattern tests characters by [`Class`]; for example `é` is
//! [`Class::Lower`], `中` is [`Class::Letter`] and `7` is [`Class::Number`]. The class of a code
//! point lies in a two-level table: its high bits choose a block, its low seven bits a place in it.
//!
//! ```text
//! é = U+00E9 = 1·1101001    INDEX[1] = 1    BLOCKS[1][0x69] = 'l'  (Lower)
//! ```
//!
//! | file | content |
//! |---|---|
//! | `tables` | the class of every code point, generated |
//! | `class_rows` | these classes as bit masks of 64 code points, for SIMD |
//! | `code_point_map` | a small number per code point: script, column of a DFA |
//! | `scripts` | the script of every code point |
//! | `words` | `\w` and case folding |
//! | `transcode` | code points of 1, 2 or 4 bytes → UTF-8 |
//! | `widen` | UTF-8 → code points of 1, 2 or 4 bytes |
//!
//! Text need not be valid UTF-8. A byte at which no character starts counts as one character of
//! class [`Class::Other`], and it is never replaced.

mod class_rows;
mod code_point_map;
mod scripts;
mod tables;
mod transcode;
mod widen;
mod words;

pub(crate) use class_rows::{ClassRow, class_row};
pub(crate) use code_point_map::{CODE_POINTS, CodePointMap};
pub use scripts::script_name;
pub(crate) use scripts::{script_number, script_set};
pub use transcode::{CodeUnit, transcode, transcode_into};
pub use widen::{CharWidth, measure, widen};
pub(crate) use words::{fold, is_word, is_word_after, is_word_before};

/// The most bytes of one character in UTF-8.
pub(crate) const CHARACTER_BYTES_MAX: usize = 4;

/// The class of a character: the general categories of Unicode 16, grouped as patterns need them.
///
/// The value of a variant is the letter of the class in the generated table.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
pub enum Class {
    /// `\p{Lu}` and `\p{Lt}`.
    Upper = b'U',
    /// `\p{Ll}`.
    Lower = b'l',
    /// `\p{Lm}` and `\p{Lo}`: letters without case.
    Letter = b'o',
    /// `\p{M}`.
    Mark = b'm',
    /// `\p{N}`.
    Number = b'n',
    /// `\s`.
    White = b's',
    /// All other code points: punctuation, symbols, controls, unassigned ones.
    Other = b'.',
}

impl Class {
    /// All classes, in the order of the variants.
    pub const ALL: [Self; 7] = [
        Self::Upper,
        Self::Lower,
        Self::Letter,
        Self::Mark,
        Self::Number,
        Self::White,
        Self::Other,
    ];
}

/// Returns the class of a code point as the letter of its [`Class`].
///
/// A number above U+10FFFF is [`Class::Other`].
///
/// ```
/// use zeton::sys::unicode::{Class, class_letter};
/// assert_eq!(class_letter('é' as u32), Class::Lower as u8);
/// ```
#[must_use]
#[inline]
pub fn class_letter(point: u32) -> u8 {
    match tables::INDEX.get((point >> 7) as usize) {
        Some(&block) => tables::BLOCKS[block as usize][(point & 127) as usize],
        None => Class::Other as u8,
    }
}

/// Decodes the character at the start of `bytes`; returns its code point and its length.
///
/// Returns `None` where no valid UTF-8 sequence starts. Callers then treat the first byte as one
/// character of class [`Class::Other`].
///
/// ```
/// use zeton::sys::unicode::read_char;
/// assert_eq!(read_char("éa".as_bytes()), Some((0xE9, 2)));
/// assert_eq!(read_char(b"\xC3"), None);
/// ```
#[must_use]
#[inline]
pub fn read_char(bytes: &[u8]) -> Option<(u32, usize)> {
    let low = |i: usize| -> Option<u32> {
        let byte = *bytes.get(i)?;
        (byte & 0xC0 == 0x80).then_some(u32::from(byte & 0x3F))
    };
    let first = u32::from(*bytes.first()?);
    match first {
        0..0x80 => Some((first, 1)),
        0xC2..0xE0 => Some(((first & 0x1F) << 6 | low(1)?, 2)),
        0xE0..0xF0 => {
            let point = (first & 0xF) << 12 | low(1)? << 6 | low(2)?;
            (point >= 0x800 && !(0xD800..0xE000).contains(&point)).then_some((point, 3))
        }
        0xF0..0xF5 => {
            let point = (first & 7) << 18 | low(1)? << 12 | low(2)? << 6 | low(3)?;
            (0x1_0000..0x11_0000).contains(&point).then_some((point, 4))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_every_scalar_and_no_prefix_of_one() {
        for scalar in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let bytes = scalar.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(read_char(bytes), Some((scalar as u32, bytes.len())));
            for cut in 1..bytes.len() {
                assert_eq!(read_char(&bytes[..cut]), None, "{scalar:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn agrees_with_the_standard_library_on_three_bytes() {
        for first in 0x80..=0xFF_u8 {
            for second in 0..=0xFF_u8 {
                for third in [0, 0x7F, 0x80, 0xBF, 0xC0, 0xFF] {
                    let bytes = [first, second, third, 0x80];
                    let valid = (1..=4).find_map(|n| std::str::from_utf8(&bytes[..n]).ok());
                    let expected = valid.map(|s| (s.chars().next().unwrap() as u32, s.len()));
                    assert_eq!(read_char(&bytes), expected, "{bytes:x?}");
                }
            }
        }
    }

    #[test]
    fn classes_have_the_sizes_of_unicode_16() {
        let size = |letters: &[u8]| {
            (0..0x11_0000).filter(|&point| letters.contains(&class_letter(point))).count()
        };
        assert_eq!(size(b"Ulo"), 141_028);
        assert_eq!(size(b"n"), 1_911);
        assert_eq!(size(b"s"), 25);
        assert_eq!(size(b"m"), 2_501);
    }
}
