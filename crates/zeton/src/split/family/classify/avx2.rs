//! AVX2 kernels: 64 bytes as two vectors of 32.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi64x,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_sub_epi8,
};

use super::{AsciiMasks, ClassRow, UnicodeMasks};
use crate::sys::simd_level::simd_fn;

simd_fn! { avx2,
    #[inline]
    pub(crate) fn classify_ascii(bytes: &[u8; 64]) -> AsciiMasks {
        let halves = load(bytes);
        let small = halves.map(|half| _mm256_or_si256(half, _mm256_set1_epi8(0x20)));
        ascii_masks!(small, halves, mask(halves))
    }
}

simd_fn! { avx2,
    /// Classifies the characters beyond ASCII. The loop over blocks calls it for blocks with `high`
    /// bytes only.
    #[inline]
    pub(crate) fn classify_unicode(bytes: &[u8; 64], high: u64) -> UnicodeMasks {
        let halves = load(bytes);
        let seven = _mm256_set1_epi8(7);
        // The last six bits of a byte are its index in a row of 64 bits: three bits choose the byte
        // of the row, three bits its bit.
        let byte_of = halves.map(|half| _mm256_and_si256(_mm256_srli_epi16::<3>(half), seven));
        let bits = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let bit_of = halves.map(|half| _mm256_shuffle_epi8(bits, _mm256_and_si256(half, seven)));
        UnicodeMasks::from_rows(
            bytes,
            high,
            |first, count| in_range(halves, first, count),
            |byte| equal(halves, byte),
            |row, selected| {
                let set = |bits: u64| {
                    let bits = _mm256_set1_epi64x(bits as i64);
                    let set = |half: usize| {
                        let eight = _mm256_shuffle_epi8(bits, byte_of[half]);
                        _mm256_cmpeq_epi8(_mm256_and_si256(eight, bit_of[half]), bit_of[half])
                    };
                    mask([set(0), set(1)])
                };
                ClassRow(row.0.map(|bits| set(bits) & selected))
            },
        )
    }
}

simd_fn! { avx2,
    #[inline]
    fn load(bytes: &[u8; 64]) -> [__m256i; 2] {
        // SAFETY: two unaligned loads of 32 bytes read exactly the 64 bytes of the array.
        #[allow(unsafe_code)]
        unsafe {
            let start = bytes.as_ptr().cast::<__m256i>();
            [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))]
        }
    }
}

simd_fn! { avx2,
    /// Returns a mask of the bytes of a block from `first` to `first + count - 1`, one bit a byte.
    #[inline]
    fn in_range(halves: [__m256i; 2], first: u8, count: u8) -> u64 {
        mask(halves.map(|half| {
            let moved = _mm256_sub_epi8(half, _mm256_set1_epi8(first as i8));
            // AVX2 has no unsigned comparison. The smaller of two values equals the first if that
            // is not larger.
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
