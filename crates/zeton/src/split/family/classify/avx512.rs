//! All sixty-four bytes at once.

use std::arch::x86_64::{
    __m512i, _mm512_bitshuffle_epi64_mask, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_loadu_si512, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi64,
    _mm512_sub_epi8,
};

use super::{Block, ClassRow, Wide};
use crate::sys::simd_level::simd_fn;

simd_fn! { avx512,
    #[inline]
    pub(crate) fn classify(bytes: &[u8; 64]) -> Block {
        let bytes = load(bytes);
        let small = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
        classes!(small, bytes, _mm512_movepi8_mask(bytes))
    }
}

simd_fn! { avx512,
    /// What the bytes beyond ASCII are.
    #[inline]
    pub(crate) fn widen(bytes: &[u8; 64], high: u64) -> Wide {
        let lanes = load(bytes);
        Wide::by_rows(
            bytes,
            high,
            |first, count| within(lanes, first, count),
            |byte| equal(lanes, byte),
            |row, asked| {
                let set =
                    |mask: u64| _mm512_bitshuffle_epi64_mask(_mm512_set1_epi64(mask as i64), lanes);
                ClassRow(row.0.map(|mask| set(mask) & asked))
            },
        )
    }
}

simd_fn! { avx512,
    #[inline]
    fn load(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: sixty-four bytes are read, aligned or not, from where sixty-four are.
        #[allow(unsafe_code)]
        unsafe {
            _mm512_loadu_si512(bytes.as_ptr().cast())
        }
    }
}

simd_fn! { avx512,
    /// The bytes from `first` on, so many of them.
    #[inline]
    fn within(bytes: __m512i, first: u8, count: u8) -> u64 {
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
