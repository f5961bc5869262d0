//! SSE2 kernels: 64 bytes as four vectors of 16. Every x86-64 machine has SSE2.

use std::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8,
};

use super::{AsciiMasks, UnicodeMasks, unicode_masks};
use crate::sys::simd_level::simd_fn;

simd_fn! { sse2,
    #[inline]
    pub(crate) fn classify_ascii(bytes: &[u8; 64]) -> AsciiMasks {
        let quarters = load(bytes);
        let small = quarters.map(|quarter| _mm_or_si128(quarter, _mm_set1_epi8(0x20)));
        ascii_masks!(small, quarters, mask(quarters))
    }
}

simd_fn! { sse2,
    /// Classifies the characters beyond ASCII. The loop over blocks calls it for blocks with `high`
    /// bytes only.
    #[inline]
    pub(crate) fn classify_unicode(bytes: &[u8; 64], high: u64) -> UnicodeMasks {
        let quarters = load(bytes);
        UnicodeMasks::from_rows(
            bytes,
            high,
            |first, count| in_range(quarters, first, count),
            |byte| equal(quarters, byte),
            // SSE2 has no byte shuffle, so the row is looked up byte by byte.
            |row, selected| unicode_masks::look_up(row, bytes, selected),
        )
    }
}

simd_fn! { sse2,
    #[inline]
    fn load(bytes: &[u8; 64]) -> [__m128i; 4] {
        // SAFETY: four unaligned loads of 16 bytes read exactly the 64 bytes of the array.
        #[allow(unsafe_code)]
        unsafe {
            let start = bytes.as_ptr().cast::<__m128i>();
            [0, 1, 2, 3].map(|at| _mm_loadu_si128(start.add(at)))
        }
    }
}

simd_fn! { sse2,
    /// Returns a mask of the bytes of a block from `first` to `first + count - 1`, one bit a byte.
    #[inline]
    fn in_range(quarters: [__m128i; 4], first: u8, count: u8) -> u64 {
        mask(quarters.map(|quarter| {
            // SSE2 compares signed bytes only, so the range is moved to the lowest numbers.
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
