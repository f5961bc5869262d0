//! AVX-512 kernels: 64 bytes as one vector, and comparisons that return masks.

use std::arch::x86_64::{
    __m512i, _mm512_bitshuffle_epi64_mask, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_loadu_si512, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi64,
    _mm512_sub_epi8,
};

use super::{AsciiMasks, ClassRow, UnicodeMasks};
use crate::sys::simd_level::simd_fn;

simd_fn! { avx512,
    #[inline]
    pub(crate) fn classify_ascii(bytes: &[u8; 64]) -> AsciiMasks {
        let bytes = load(bytes);
        let small = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
        ascii_masks!(small, bytes, _mm512_movepi8_mask(bytes))
    }
}

simd_fn! { avx512,
    /// Classifies the characters beyond ASCII. `vpshufbitqmb` looks up all 64 bytes in a row at
    /// once. The loop over blocks calls it for blocks with `high` bytes only.
    #[inline]
    pub(crate) fn classify_unicode(bytes: &[u8; 64], high: u64) -> UnicodeMasks {
        let lanes = load(bytes);
        UnicodeMasks::from_rows(
            bytes,
            high,
            |first, count| in_range(lanes, first, count),
            |byte| equal(lanes, byte),
            |row, selected| {
                let set =
                    |mask: u64| _mm512_bitshuffle_epi64_mask(_mm512_set1_epi64(mask as i64), lanes);
                ClassRow(row.0.map(|mask| set(mask) & selected))
            },
        )
    }
}

simd_fn! { avx512,
    #[inline]
    fn load(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: one unaligned load of 64 bytes reads exactly the bytes of the array.
        #[allow(unsafe_code)]
        unsafe {
            _mm512_loadu_si512(bytes.as_ptr().cast())
        }
    }
}

simd_fn! { avx512,
    /// Returns a mask of the bytes of a block from `first` to `first + count - 1`, one bit a byte.
    #[inline]
    fn in_range(bytes: __m512i, first: u8, count: u8) -> u64 {
        let moved = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first as i8));
        _mm512_cmplt_epu8_mask(moved, _mm512_set1_epi8(count as i8))
    }
}

simd_fn! { avx512,
    #[inline]
    fn equal(bytes: __m512i, byte: u8) -> u64 {
        _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8))
    }
}
