//! The classes of 64 bytes as bit masks, one mask a class: bit i stands for byte i.
//!
//! ASCII is classified by comparisons of whole vectors. A range takes one comparison, after a
//! subtraction; letters take one for both cases, because bit 0x20 makes a capital small:
//!
//! | mask | bytes | comparisons |
//! |---|---|---|
//! | `letters` | `A`–`Z`, `a`–`z` | byte \| 0x20 in `a`–`z` |
//! | `capitals` | `A`–`Z` | 1 |
//! | `numbers` | `0`–`9` | 1 |
//! | `blanks` | 0x20 | 1 |
//! | `newlines` | `\n`, `\r` | 2 |
//! | `white` | `\t`, 0x0B, 0x0C | in `\t`–`\r`, without newlines |
//! | `apostrophes`, `slashes`, `underscores` | `'`, `/`, `_` | 1 each |
//! | `high` | 0x80–0xFF | the sign bits |
//!
//! For example, the masks of `It's 42!`, bit 0 at the left; all other bytes are signs:
//!
//! ```text
//! text          I t ' s   4 2 !
//! letters       1 1 . 1 . . . .
//! capitals      1 . . . . . . .
//! numbers       . . . . . 1 1 .
//! blanks        . . . . 1 . . .
//! apostrophes   . . 1 . . . . .
//! ```
//!
//! If `high` is not zero, `unicode_masks` adds the characters beyond ASCII. The kernels `avx512`,
//! `avx2` and `sse2` provide `in_range`, `equal` and the look-up of a row, and share everything
//! else. The scalar functions are their reference in the tests.

/// The masks of a block, by the functions `in_range` and `equal` of the kernel. `$small` are the
/// bytes with bit 0x20 set.
#[cfg(target_arch = "x86_64")]
macro_rules! ascii_masks {
    ($small:expr, $bytes:expr, $high:expr) => {{
        let newlines = equal($bytes, b'\n') | equal($bytes, b'\r');
        AsciiMasks {
            letters: in_range($small, b'a', 26),
            capitals: in_range($bytes, b'A', 26),
            numbers: in_range($bytes, b'0', 10),
            blanks: equal($bytes, b' '),
            newlines,
            white: in_range($bytes, b'\t', 5) & !newlines,
            apostrophes: equal($bytes, b'\''),
            slashes: equal($bytes, b'/'),
            underscores: equal($bytes, b'_'),
            high: $high,
        }
    }};
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sse2;
mod unicode_masks;

pub(crate) use unicode_masks::{UnicodeMasks, bits_below, extend_to_characters};

#[cfg(target_arch = "x86_64")]
use crate::sys::unicode::ClassRow;

/// The bytes of a block by class. Bytes beyond ASCII have bits in `high` only; [`UnicodeMasks`] has
/// their classes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct AsciiMasks {
    pub(crate) letters: u64,
    pub(crate) capitals: u64,
    pub(crate) numbers: u64,
    pub(crate) blanks: u64,
    pub(crate) newlines: u64,
    /// White space other than blanks and newlines.
    pub(crate) white: u64,
    pub(crate) apostrophes: u64,
    pub(crate) slashes: u64,
    pub(crate) underscores: u64,
    /// Bytes of characters beyond ASCII, and invalid bytes.
    pub(crate) high: u64,
}

impl AsciiMasks {
    /// Classifies byte by byte: the reference of all kernels. Machines other than x86-64 run it.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) fn from_bytes(bytes: &[u8; 64]) -> Self {
        let mask = |is: fn(&u8) -> bool| {
            bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u64::from(is(byte)) << at)
        };
        Self {
            letters: mask(u8::is_ascii_alphabetic),
            capitals: mask(u8::is_ascii_uppercase),
            numbers: mask(u8::is_ascii_digit),
            blanks: mask(|&byte| byte == b' '),
            newlines: mask(|&byte| byte == b'\n' || byte == b'\r'),
            white: mask(|&byte| matches!(byte, b'\t' | 0x0B | 0x0C)),
            apostrophes: mask(|&byte| byte == b'\''),
            slashes: mask(|&byte| byte == b'/'),
            underscores: mask(|&byte| byte == b'_'),
            high: mask(|byte| !byte.is_ascii()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "x86_64")]
    use crate::sys::simd_level::{SimdKind, SimdLevel};

    #[test]
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn every_byte_has_its_class_at_every_place() {
        let levels = SimdLevel::detect_all();
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                for other in [b'a', b' ', 0xC3] {
                    let mut bytes = [other; 64];
                    bytes[at] = byte;
                    let plain = AsciiMasks::from_bytes(&bytes);
                    for level in &levels {
                        let found = match level.kind() {
                            // SAFETY: a `SimdLevel` of this kind exists only where detection found
                            // its features.
                            SimdKind::Avx512 => unsafe { avx512::classify_ascii(&bytes) },
                            // SAFETY: a `SimdLevel` of this kind exists only where detection found
                            // its features.
                            SimdKind::Avx2 => unsafe { avx2::classify_ascii(&bytes) },
                            // SAFETY: every x86-64 machine has SSE2.
                            SimdKind::Baseline => unsafe { sse2::classify_ascii(&bytes) },
                        };
                        assert_eq!(found, plain, "{byte} at {at}, {level:?}");
                    }
                }
            }
        }
    }

    /// Compares all SIMD levels on the bytes beyond ASCII.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn assert_wide(bytes: &[u8; 64]) {
        let high = AsciiMasks::from_bytes(bytes).high;
        let plain = UnicodeMasks::from_bytes(bytes, high);
        let seen = |wide: &UnicodeMasks| {
            let limit = wide.end.min(wide.invalid);
            let see = |mask: u64| mask & bits_below(limit);
            (wide.classes.0.map(see), see(wide.continuations), limit)
        };
        for level in SimdLevel::detect_all() {
            let found = match level.kind() {
                // SAFETY: a `SimdLevel` of this kind exists only where detection found its
                // features.
                SimdKind::Avx512 => unsafe { avx512::classify_unicode(bytes, high) },
                // SAFETY: a `SimdLevel` of this kind exists only where detection found its
                // features.
                SimdKind::Avx2 => unsafe { avx2::classify_unicode(bytes, high) },
                // SAFETY: every x86-64 machine has SSE2.
                SimdKind::Baseline => unsafe { sse2::classify_unicode(bytes, high) },
            };
            assert_eq!(seen(&found), seen(&plain), "{bytes:x?}, {level:?}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_scalar_has_its_class() {
        for scalar in '\u{80}'..=char::MAX {
            // Each scalar stands at another offset, and the end of the block cuts it at another
            // byte.
            let before = ["", "é ", "中", "a\u{301}x"][scalar as usize % 4];
            let text = format!("{before}{scalar}a{scalar}{}", format!("{scalar}я").repeat(20));
            assert_wide(text.as_bytes()[..64].try_into().unwrap());
        }
    }
}
