//! Sixty-four bytes as bit masks, one a class: bit i stands for byte i.

/// The bytes of one block by what they are. All but `high` are ASCII.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Block {
    pub(super) letters: u64,
    pub(super) capitals: u64,
    pub(super) numbers: u64,
    pub(super) blanks: u64,
    pub(super) newlines: u64,
    /// White space but for the two above.
    pub(super) white: u64,
    pub(super) apostrophes: u64,
    pub(super) slashes: u64,
    /// Bytes of characters beyond ASCII, or of none.
    pub(super) high: u64,
}

impl Block {
    /// The plain way, which every other equals.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(super) fn one_by_one(bytes: &[u8; 64]) -> Self {
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
            high: mask(|byte| !byte.is_ascii()),
        }
    }
}

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
            high: $high,
        }
    }};
}

/// All sixty-four bytes at once.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512,
        _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_sub_epi8,
    };

    use super::Block;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in crate::split) fn classify(bytes: &[u8; 64]) -> Block {
        // SAFETY: sixty-four bytes are read, aligned or not, from where sixty-four are.
        #[allow(unsafe_code)]
        let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        let small = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
        classes!(small, bytes, _mm512_movepi8_mask(bytes))
    }

    /// The bytes from `first` on, so many of them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn within(bytes: __m512i, first: u8, count: u8) -> u64 {
        let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first as i8));
        _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count as i8))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn equal(bytes: __m512i, byte: u8) -> u64 {
        _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8))
    }
}

/// Thirty-two bytes at once, twice.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_sub_epi8,
    };

    use super::Block;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::split) fn classify(bytes: &[u8; 64]) -> Block {
        // SAFETY: twice thirty-two bytes are read, aligned or not, from where sixty-four are.
        #[allow(unsafe_code)]
        let halves = unsafe {
            let start = bytes.as_ptr().cast::<__m256i>();
            [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))]
        };
        let small = halves.map(|half| _mm256_or_si256(half, _mm256_set1_epi8(0x20)));
        classes!(small, halves, mask(halves))
    }

    /// The bytes from `first` on, so many of them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn within(halves: [__m256i; 2], first: u8, count: u8) -> u64 {
        mask(halves.map(|half| {
            let moved = _mm256_sub_epi8(half, _mm256_set1_epi8(first as i8));
            // There is no comparison of unsigned bytes; the lesser of two equals one of them.
            _mm256_cmpeq_epi8(_mm256_min_epu8(moved, _mm256_set1_epi8(count as i8 - 1)), moved)
        }))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal(halves: [__m256i; 2], byte: u8) -> u64 {
        mask(halves.map(|half| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8))))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask([low, high]: [__m256i; 2]) -> u64 {
        let [low, high] = [low, high].map(|half| u64::from(_mm256_movemask_epi8(half) as u32));
        low | high << 32
    }
}

/// Sixteen bytes at once, four times, by instructions that every machine of this kind has.
#[cfg(target_arch = "x86_64")]
pub(super) mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8,
        _mm_or_si128, _mm_set1_epi8,
    };

    use super::Block;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(in crate::split) fn classify(bytes: &[u8; 64]) -> Block {
        // SAFETY: four times sixteen bytes are read, aligned or not, from where sixty-four are.
        #[allow(unsafe_code)]
        let quarters = unsafe {
            let start = bytes.as_ptr().cast::<__m128i>();
            [0, 1, 2, 3].map(|at| _mm_loadu_si128(start.add(at)))
        };
        let small = quarters.map(|quarter| _mm_or_si128(quarter, _mm_set1_epi8(0x20)));
        classes!(small, quarters, mask(quarters))
    }

    /// The bytes from `first` on, so many of them.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn within(quarters: [__m128i; 4], first: u8, count: u8) -> u64 {
        mask(quarters.map(|quarter| {
            // Signed comparison is all there is: the range is moved to the lowest numbers.
            let moved = _mm_add_epi8(quarter, _mm_set1_epi8(0x80_u8.wrapping_sub(first) as i8));
            _mm_cmplt_epi8(moved, _mm_set1_epi8((0x80 + count) as i8))
        }))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn equal(quarters: [__m128i; 4], byte: u8) -> u64 {
        mask(quarters.map(|quarter| _mm_cmpeq_epi8(quarter, _mm_set1_epi8(byte as i8))))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn mask(quarters: [__m128i; 4]) -> u64 {
        let [a, b, c, d] = quarters.map(|quarter| u64::from(_mm_movemask_epi8(quarter) as u16));
        a | b << 16 | c << 32 | d << 48
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn every_byte_has_its_class_at_every_place() {
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                for other in [b'a', b' ', 0xC3] {
                    let mut bytes = [other; 64];
                    bytes[at] = byte;
                    let plain = Block::one_by_one(&bytes);
                    // SAFETY: each is called where the machine has what it asks for.
                    unsafe {
                        assert_eq!(sse2::classify(&bytes), plain, "{byte} at {at}");
                        if is_x86_feature_detected!("avx2") {
                            assert_eq!(avx2::classify(&bytes), plain, "{byte} at {at}");
                        }
                        if is_x86_feature_detected!("avx512bw") {
                            assert_eq!(avx512::classify(&bytes), plain, "{byte} at {at}");
                        }
                    }
                }
            }
        }
    }
}
