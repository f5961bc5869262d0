//! Thirty-two bytes at once, twice.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi64x,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_sub_epi8,
};

use super::{Block, ClassRow, Wide};
use crate::sys::simd_level::simd_fn;

simd_fn! { avx2,
    #[inline]
    pub(crate) fn classify(bytes: &[u8; 64]) -> Block {
        let halves = load(bytes);
        let small = halves.map(|half| _mm256_or_si256(half, _mm256_set1_epi8(0x20)));
        classes!(small, halves, mask(halves))
    }
}

simd_fn! { avx2,
    /// What the bytes beyond ASCII are.
    #[inline]
    pub(crate) fn widen(bytes: &[u8; 64], high: u64) -> Wide {
        let halves = load(bytes);
        let seven = _mm256_set1_epi8(7);
        // Where the last six bits of each byte are in a row of bits: in which byte, and its bit.
        let byte_of = halves.map(|half| _mm256_and_si256(_mm256_srli_epi16::<3>(half), seven));
        let bits = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let bit_of = halves.map(|half| _mm256_shuffle_epi8(bits, _mm256_and_si256(half, seven)));
        Wide::by_rows(
            bytes,
            high,
            |first, count| within(halves, first, count),
            |byte| equal(halves, byte),
            |row, asked| {
                let set = |bits: u64| {
                    let bits = _mm256_set1_epi64x(bits as i64);
                    let set = |half: usize| {
                        let eight = _mm256_shuffle_epi8(bits, byte_of[half]);
                        _mm256_cmpeq_epi8(_mm256_and_si256(eight, bit_of[half]), bit_of[half])
                    };
                    mask([set(0), set(1)])
                };
                ClassRow(row.0.map(|bits| set(bits) & asked))
            },
        )
    }
}

simd_fn! { avx2,
    #[inline]
    fn load(bytes: &[u8; 64]) -> [__m256i; 2] {
        // SAFETY: twice thirty-two bytes are read, aligned or not, from where sixty-four are.
        #[allow(unsafe_code)]
        unsafe {
            let start = bytes.as_ptr().cast::<__m256i>();
            [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))]
        }
    }
}

simd_fn! { avx2,
    /// The bytes from `first` on, so many of them.
    #[inline]
    fn within(halves: [__m256i; 2], first: u8, count: u8) -> u64 {
        mask(halves.map(|half| {
            let moved = _mm256_sub_epi8(half, _mm256_set1_epi8(first as i8));
            // There is no comparison of unsigned bytes; the lesser of two equals one of them.
            _mm256_cmpeq_epi8(_mm256_min_epu8(moved, _mm256_set1_epi8(count as i8 - 1)), moved)
        }))
    }
}

simd_fn! { avx2,
    #[inline]
    fn equal(halves: [__m256i; 2], byte: u8) -> u64 {
        mask(halves.map(|half| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8))))
    }
}

simd_fn! { avx2,
    #[inline]
    fn mask([low, high]: [__m256i; 2]) -> u64 {
        let [low, high] = [low, high].map(|half| u64::from(_mm256_movemask_epi8(half) as u32));
        low | high << 32
    }
}
