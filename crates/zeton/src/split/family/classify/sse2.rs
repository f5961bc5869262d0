//! Sixteen bytes at once, four times, by instructions that every machine of this kind has.

use std::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8,
};

use super::{Block, Wide, wide};
use crate::sys::simd_level::simd_fn;

simd_fn! { sse2,
    #[inline]
    pub(crate) fn classify(bytes: &[u8; 64]) -> Block {
        let quarters = load(bytes);
        let small = quarters.map(|quarter| _mm_or_si128(quarter, _mm_set1_epi8(0x20)));
        classes!(small, quarters, mask(quarters))
    }
}

simd_fn! { sse2,
    /// What the bytes beyond ASCII are.
    #[inline]
    pub(crate) fn widen(bytes: &[u8; 64], high: u64) -> Wide {
        let quarters = load(bytes);
        Wide::by_rows(
            bytes,
            high,
            |first, count| within(quarters, first, count),
            |byte| equal(quarters, byte),
            // There is nothing to look bytes up by.
            |row, asked| wide::look_up(row, bytes, asked),
        )
    }
}

simd_fn! { sse2,
    #[inline]
    fn load(bytes: &[u8; 64]) -> [__m128i; 4] {
        // SAFETY: four times sixteen bytes are read, aligned or not, from where sixty-four are.
        #[allow(unsafe_code)]
        unsafe {
            let start = bytes.as_ptr().cast::<__m128i>();
            [0, 1, 2, 3].map(|at| _mm_loadu_si128(start.add(at)))
        }
    }
}

simd_fn! { sse2,
    /// The bytes from `first` on, so many of them.
    #[inline]
    fn within(quarters: [__m128i; 4], first: u8, count: u8) -> u64 {
        mask(quarters.map(|quarter| {
            // Signed comparison is all there is: the range is moved to the lowest numbers.
            let moved = _mm_add_epi8(quarter, _mm_set1_epi8(0x80_u8.wrapping_sub(first) as i8));
            _mm_cmplt_epi8(moved, _mm_set1_epi8((0x80 + count) as i8))
        }))
    }
}

simd_fn! { sse2,
    #[inline]
    fn equal(quarters: [__m128i; 4], byte: u8) -> u64 {
        mask(quarters.map(|quarter| _mm_cmpeq_epi8(quarter, _mm_set1_epi8(byte as i8))))
    }
}

simd_fn! { sse2,
    #[inline]
    fn mask(quarters: [__m128i; 4]) -> u64 {
        let [a, b, c, d] = quarters.map(|quarter| u64::from(_mm_movemask_epi8(quarter) as u16));
        a | b << 16 | c << 32 | d << 48
    }
}
