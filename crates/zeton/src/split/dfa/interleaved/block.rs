//! The bytes of a block, by the instructions that there are: of which class they are, which have a bit.

use super::BLOCK;

/// The class of each byte of a block by that of each ASCII character, or else one; and which have else.
pub(super) fn classify(ascii: &[u8; 128], other: u8, block: &[u8; BLOCK]) -> ([u8; BLOCK], u64) {
    let class = |byte: u8| ascii.get(usize::from(byte)).copied().unwrap_or(other);
    let high = (0..BLOCK).fold(0, |high, at| high | u64::from(block[at] >> 7) << at);
    (block.map(class), high)
}

/// The bytes of a block that have a bit.
pub(super) fn having(block: &[u8; BLOCK], bit: u8) -> u64 {
    (0..BLOCK).fold(0, |having, at| having | u64::from(block[at] & bit != 0) << at)
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
            // SAFETY: sixty-four bytes are read, and written, where there are as many.
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
        pub(in crate::split::dfa::interleaved) fn having(block: &[u8; BLOCK], bit: u8) -> u64 {
            // SAFETY: as many bytes are read as there are.
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
            // SAFETY: sixteen or thirty-two bytes are read, and written, where there are as many.
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
                        // The low half of a byte of this row, and for all others a number that finds nothing.
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
        pub(in crate::split::dfa::interleaved) fn having(block: &[u8; BLOCK], bit: u8) -> u64 {
            let bit = _mm256_set1_epi8(bit as i8);
            [0, 32].into_iter().fold(0, |having, at| {
                // SAFETY: thirty-two bytes are read where there are as many.
                #[allow(unsafe_code)]
                let bytes = unsafe { _mm256_loadu_si256(block[at..].as_ptr().cast()) };
                let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
                having | u64::from(_mm256_movemask_epi8(is_set) as u32) << at
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
    fn all_simd_levels_find_the_same() {
        let mut random = Random(3);
        let ascii = std::array::from_fn(|_| random.below(200) as u8);
        for _ in 0..1000 {
            let block = std::array::from_fn(|_| random.below(256) as u8);
            let expected = classify(&ascii, 222, &block);
            for level in SimdLevel::detect_all() {
                let (found, having_bit) = match level.kind() {
                    // SAFETY: `SimdLevel::all` names only what the machine has.
                    #[cfg(target_arch = "x86_64")]
                    #[allow(unsafe_code)]
                    SimdKind::Avx512 => unsafe {
                        (avx512::classify(&ascii, 222, &block), avx512::having(&block, 8))
                    },
                    #[cfg(target_arch = "x86_64")]
                    #[allow(unsafe_code)]
                    SimdKind::Avx2 => unsafe {
                        (avx2::classify(&ascii, 222, &block), avx2::having(&block, 8))
                    },
                    SimdKind::Baseline => continue,
                };
                assert_eq!(found, expected, "{level:?}");
                assert_eq!(having_bit, having(&block, 8), "{level:?}");
            }
        }
    }
}
