//! Kernels over a block of 64 bytes: [`classify`] and [`find_bit`], each plain, with AVX2 and
//! AVX-512.
//!
//! For example, for `\w+|\W` (class 0: other, 1: word, 2: padding) `classify` on `a é` yields
//!
//! ```text
//! byte    61  20  C3  A9
//! class    1   0   2   2     the caller overwrites the class of `é` at its first byte
//! high     0   0   1   1     the mask of bytes beyond ASCII
//! ```
//!
//! The plain functions define the result, and the tests compare the SIMD functions with them.

use super::BLOCK;

/// Returns the class of each byte, and the mask of bytes beyond ASCII.
///
/// An ASCII byte has its class in `ascii`; any other byte has the class `other`.
pub(super) fn classify(ascii: &[u8; 128], other: u8, block: &[u8; BLOCK]) -> ([u8; BLOCK], u64) {
    let class = |byte: u8| ascii.get(usize::from(byte)).copied().unwrap_or(other);
    let high = (0..BLOCK).fold(0, |high, at| high | u64::from(block[at] >> 7) << at);
    (block.map(class), high)
}

/// Returns the mask of the bytes that have a bit set. `collect_cuts_by` calls it on 64 actions,
/// once for each bit of an action that it needs.
pub(super) fn find_bit(block: &[u8; BLOCK], bit: u8) -> u64 {
    (0..BLOCK).fold(0, |mask, at| mask | u64::from(block[at] & bit != 0) << at)
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_mask_mov_epi8, _mm512_movepi8_mask, _mm512_permutex2var_epi8,
        _mm512_set1_epi8, _mm512_storeu_si512, _mm512_test_epi8_mask,
    };

    use super::BLOCK;
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx512,
        #[inline]
        pub(in crate::split::dfa::interleaved) fn classify(
            ascii: &[u8; 128],
            other: u8,
            block: &[u8; BLOCK],
        ) -> ([u8; BLOCK], u64) {
            let mut classes = [0; BLOCK];
            // SAFETY: `ascii` has 128 bytes, of which 64 are read at 0 and 64 at 64. `block` and
            // `classes` have the 64 bytes that are read and written.
            #[allow(unsafe_code)]
            unsafe {
                let [low, high] = [0, 64].map(|at| _mm512_loadu_si512(ascii[at..].as_ptr().cast()));
                let bytes = _mm512_loadu_si512(block.as_ptr().cast());
                let is_high = _mm512_movepi8_mask(bytes);
                let found = _mm512_permutex2var_epi8(low, bytes, high);
                let found = _mm512_mask_mov_epi8(found, is_high, _mm512_set1_epi8(other as i8));
                _mm512_storeu_si512(classes.as_mut_ptr().cast(), found);
                (classes, is_high)
            }
        }
    }

    simd_fn! { avx512,
        #[inline]
        pub(in crate::split::dfa::interleaved) fn find_bit(block: &[u8; BLOCK], bit: u8) -> u64 {
            // SAFETY: `block` has the 64 bytes that are read.
            #[allow(unsafe_code)]
            let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(bit as i8))
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_adds_epu8, _mm256_and_si256, _mm256_blendv_epi8,
        _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_storeu_si256, _mm256_xor_si256,
    };

    use super::BLOCK;
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx2,
        #[inline]
        pub(in crate::split::dfa::interleaved) fn classify(
            ascii: &[u8; 128],
            other: u8,
            block: &[u8; BLOCK],
        ) -> ([u8; BLOCK], u64) {
            let (mut classes, mut is_high) = ([0; BLOCK], 0);
            // SAFETY: `ascii` has 128 bytes, of which 16 are read at each multiple of 16. `block`
            // and `classes` have 64 bytes, of which 32 are read and written at 0 and at 32.
            #[allow(unsafe_code)]
            unsafe {
                let rows: [__m256i; 8] = std::array::from_fn(|row| {
                    let row = _mm_loadu_si128(ascii[16 * row..].as_ptr().cast());
                    _mm256_broadcastsi128_si256(row)
                });
                for at in [0, 32] {
                    let bytes = _mm256_loadu_si256(block[at..].as_ptr().cast());
                    let mut found = _mm256_setzero_si256();
                    for (number, row) in rows.into_iter().enumerate() {
                        // For a byte of this row, the XOR leaves 0 to 15, and the sum is 0x70 to
                        // 0x7F, of which the shuffle uses the low half. For any other byte the sum
                        // is 0x80 or more (it saturates), for which the shuffle yields 0.
                        let within = _mm256_xor_si256(bytes, _mm256_set1_epi8((number << 4) as i8));
                        let within = _mm256_adds_epu8(within, _mm256_set1_epi8(0x70));
                        found = _mm256_or_si256(found, _mm256_shuffle_epi8(row, within));
                    }
                    found = _mm256_blendv_epi8(found, _mm256_set1_epi8(other as i8), bytes);
                    _mm256_storeu_si256(classes[at..].as_mut_ptr().cast(), found);
                    is_high |= u64::from(_mm256_movemask_epi8(bytes) as u32) << at;
                }
            }
            (classes, is_high)
        }
    }

    simd_fn! { avx2,
        #[inline]
        pub(in crate::split::dfa::interleaved) fn find_bit(block: &[u8; BLOCK], bit: u8) -> u64 {
            let bit = _mm256_set1_epi8(bit as i8);
            [0, 32].into_iter().fold(0, |mask, at| {
                // SAFETY: `block` has 64 bytes, of which 32 are read at 0 and at 32.
                #[allow(unsafe_code)]
                let bytes = unsafe { _mm256_loadu_si256(block[at..].as_ptr().cast()) };
                let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
                mask | u64::from(_mm256_movemask_epi8(is_set) as u32) << at
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::simd_level::{SimdKind, SimdLevel};
    use crate::testing::Random;

    #[test]
    fn all_simd_levels_agree_with_the_plain_functions() {
        let mut random = Random(3);
        let ascii = std::array::from_fn(|_| random.below(200) as u8);
        for _ in 0..1000 {
            let block = std::array::from_fn(|_| random.below(256) as u8);
            let expected = classify(&ascii, 222, &block);
            for level in SimdLevel::detect_all() {
                let (found, mask) = match level.kind() {
                    // SAFETY: a `SimdLevel` of this kind exists only where detection found its
                    // features.
                    #[cfg(target_arch = "x86_64")]
                    #[allow(unsafe_code)]
                    SimdKind::Avx512 => unsafe {
                        (avx512::classify(&ascii, 222, &block), avx512::find_bit(&block, 8))
                    },
                    #[cfg(target_arch = "x86_64")]
                    #[allow(unsafe_code)]
                    SimdKind::Avx2 => unsafe {
                        (avx2::classify(&ascii, 222, &block), avx2::find_bit(&block, 8))
                    },
                    SimdKind::Baseline => continue,
                };
                assert_eq!(found, expected, "{level:?}");
                assert_eq!(mask, find_bit(&block, 8), "{level:?}");
            }
        }
    }
}
