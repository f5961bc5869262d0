//! Characters and their classes: what the split looks at.

mod points;
mod rows;
mod scripts;
mod tables;
mod transcode;
mod widen;
mod words;

pub(crate) use points::{POINTS, Points};
pub(crate) use rows::{Row, row};
pub use scripts::script_name;
pub(crate) use scripts::{script, script_of};
pub use transcode::{Unit, transcode, transcode_into};
pub use widen::{Width, measure, widen};
pub(crate) use words::{fold, is_word, is_word_after, is_word_before};

/// Bytes that a character has at most.
pub(crate) const CHARACTER_BYTES_MAX: usize = 4;

/// What a pattern may ask of a character: Unicode 16's general categories, folded.
///
/// The value is the letter that stands for the class in the generated table.
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
    /// Everything else: punctuation, symbols, controls, and code points that are not assigned.
    Other = b'.',
}

impl Class {
    /// All classes.
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

/// Returns the letter of the class of a code point; see [`Class`].
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

/// Reads the character at the start of `bytes`: its code point and its length.
///
/// `None` where no valid UTF-8 sequence starts. The one rule for such a byte: it is a character of
/// its own, of the class of punctuation, and it is never replaced.
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
    fn every_scalar_is_read_back() {
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
    fn three_bytes_are_read_as_the_standard_library_reads_them() {
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
    fn the_classes_have_the_sizes_of_unicode_16() {
        let size = |letters: &[u8]| {
            (0..0x11_0000).filter(|&point| letters.contains(&class_letter(point))).count()
        };
        assert_eq!(size(b"Ulo"), 141_028);
        assert_eq!(size(b"n"), 1_911);
        assert_eq!(size(b"s"), 25);
        assert_eq!(size(b"m"), 2_501);
    }
}
