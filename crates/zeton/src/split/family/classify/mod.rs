//! Sixty-four bytes as bit masks, one a class: bit i stands for byte i.

/// The classes by comparisons: `within` a range and `equal`, of whatever lanes are in scope. The
/// first lanes are the bytes with capitals made small.
#[cfg(target_arch = "x86_64")]
macro_rules! classes {
    ($small:expr, $bytes:expr, $high:expr) => {{
        let newlines = equal($bytes, b'\n') | equal($bytes, b'\r');
        Block {
            letters: within($small, b'a', 26),
            capitals: within($bytes, b'A', 26),
            numbers: within($bytes, b'0', 10),
            blanks: equal($bytes, b' '),
            newlines,
            white: within($bytes, b'\t', 5) & !newlines,
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
mod wide;

pub(crate) use wide::{Wide, below, whole};

#[cfg(target_arch = "x86_64")]
use crate::sys::unicode::ClassRow;

/// The bytes of one block by what they are. All but `high` are ASCII; [`Wide`] says what those are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Block {
    pub(crate) letters: u64,
    pub(crate) capitals: u64,
    pub(crate) numbers: u64,
    pub(crate) blanks: u64,
    pub(crate) newlines: u64,
    /// White space but for the two above.
    pub(crate) white: u64,
    pub(crate) apostrophes: u64,
    pub(crate) slashes: u64,
    pub(crate) underscores: u64,
    /// Bytes of characters beyond ASCII, or of none.
    pub(crate) high: u64,
}

impl Block {
    /// The plain way, which every other equals.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) fn one_by_one(bytes: &[u8; 64]) -> Self {
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
                    let plain = Block::one_by_one(&bytes);
                    for level in &levels {
                        let found = match level.kind() {
                            // SAFETY: a `SimdLevel` of this kind exists only where detection found
                            // its features.
                            SimdKind::Avx512 => unsafe { avx512::classify(&bytes) },
                            // SAFETY: a `SimdLevel` of this kind exists only where detection found
                            // its features.
                            SimdKind::Avx2 => unsafe { avx2::classify(&bytes) },
                            // SAFETY: every x86-64 machine has SSE2.
                            SimdKind::Baseline => unsafe { sse2::classify(&bytes) },
                        };
                        assert_eq!(found, plain, "{byte} at {at}, {level:?}");
                    }
                }
            }
        }
    }

    /// Compares what all tiers make of the bytes beyond ASCII.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn assert_wide(bytes: &[u8; 64]) {
        let high = Block::one_by_one(bytes).high;
        let plain = Wide::one_by_one(bytes, high);
        let seen = |wide: &Wide| {
            let limit = wide.end.min(wide.broken);
            let see = |mask: u64| mask & below(limit);
            (wide.classes.0.map(see), see(wide.continuations), limit)
        };
        for level in SimdLevel::detect_all() {
            let found = match level.kind() {
                // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
                SimdKind::Avx512 => unsafe { avx512::widen(bytes, high) },
                // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
                SimdKind::Avx2 => unsafe { avx2::widen(bytes, high) },
                // SAFETY: every x86-64 machine has SSE2.
                SimdKind::Baseline => unsafe { sse2::widen(bytes, high) },
            };
            assert_eq!(seen(&found), seen(&plain), "{bytes:x?}, {level:?}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_scalar_has_its_class() {
        for scalar in '\u{80}'..=char::MAX {
            // At another place each, and cut off at the end by another count each.
            let before = ["", "é ", "中", "a\u{301}x"][scalar as usize % 4];
            let text = format!("{before}{scalar}a{scalar}{}", format!("{scalar}я").repeat(20));
            assert_wide(text.as_bytes()[..64].try_into().unwrap());
        }
    }
}
