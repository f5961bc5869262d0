//! BoundarySink and keys of pieces with AVX-512: all ends of a block at once, and four keys a register.

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_min_epu32, _mm_prefetch,
    _mm_set1_epi32, _mm_storeu_si128, _mm_sub_epi32, _mm512_add_epi32, _mm512_castsi128_si512,
    _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cmpgt_epu32_mask,
    _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32, _mm512_inserti32x4,
    _mm512_loadu_si512, _mm512_mask_mov_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_mov_epi8,
    _mm512_mullo_epi64, _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_setr_epi64, _mm512_shuffle_epi32, _mm512_srl_epi64, _mm512_storeu_si512,
    _mm512_sub_epi32, _mm512_xor_si512,
};

use super::{LookupBatch, ROOM};
use super::{ShortEntry, shift_to_home};
use crate::sys::simd_level::simd_fn;
use crate::vocab::short_key::{Key, SEEDS, SHORT_MAX};

/// The number of each byte of a register.
static NUMBERS: [u8; 64] = lanes(64, 1, 1);

/// The number of each byte within its quarter.
static NUMBERS_IN_QUARTER: [u8; 64] = lanes(16, 1, 1);

/// For each byte the quarter's number, four bytes each.
static QUARTERS: [u8; 64] = lanes(64, 16, 4);

/// The bytes of the first number of each quarter, four bytes each; then whatever.
static FIRSTS: [u8; 64] = {
    let mut lanes = [0; 64];
    let mut at = 0;
    while at < 16 {
        lanes[at] = (at / 4 * 16 + at % 4) as u8;
        at += 1;
    }
    lanes
};

/// Each byte's own number, cut, divided and multiplied: 16, 1, 1 is 0 to 15 four times over.
const fn lanes(modulus: usize, divisor: usize, factor: usize) -> [u8; 64] {
    let mut lanes = [0; 64];
    let mut at = 0;
    while at < 64 {
        lanes[at] = (at % modulus / divisor * factor) as u8;
        at += 1;
    }
    lanes
}

simd_fn! { avx512,
    /// Writes where the pieces of a block end, after those that there are.
    #[inline]
    pub(super) fn put_ends(chunk: &mut LookupBatch, first: usize, cuts: u64) {
        let to = &mut chunk.starts[chunk.count + 1..][..64];
        // SAFETY: sixty-four numbers of a byte are read, and as many of four bytes written at the most, from
        // and to where there are so many.
        #[allow(unsafe_code)]
        unsafe {
            let places = _mm512_maskz_compress_epi8(cuts, load(&NUMBERS));
            let first = _mm512_set1_epi32(first as i32);
            let mut put = |number: usize, places| {
                let ends = _mm512_add_epi32(_mm512_cvtepu8_epi32(places), first);
                _mm512_storeu_si512(to.as_mut_ptr().add(16 * number).cast(), ends);
            };
            put(0, _mm512_castsi512_si128(places));
            put(1, _mm512_extracti32x4_epi32::<1>(places));
            if cuts.count_ones() > 32 {
                put(2, _mm512_extracti32x4_epi32::<2>(places));
                put(3, _mm512_extracti32x4_epi32::<3>(places));
            }
        }
    }
}

simd_fn! { avx512,
    /// Returns whether any of the pieces whose ends were put last has more bytes than are short.
    #[inline]
    pub(super) fn any_is_long(chunk: &LookupBatch, cuts: u64) -> bool {
        let count = cuts.count_ones() as usize;
        let starts = &chunk.starts[chunk.count..][..65];
        (0..count.div_ceil(16)).any(|number| {
            // SAFETY: there are at most four sixteens; the last load begins at 49 and ends with the
            // sixty-fifth number, which there is.
            #[allow(unsafe_code)]
            let (starts, ends) = unsafe {
                let from = starts.as_ptr().add(16 * number);
                (_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(1).cast()))
            };
            let lengths = _mm512_sub_epi32(ends, starts);
            let long = _mm512_cmpgt_epu32_mask(lengths, _mm512_set1_epi32(SHORT_MAX as i32));
            u32::from(long) & ((1_u64 << (count - 16 * number).min(16)) - 1) as u32 != 0
        })
    }
}

simd_fn! { avx512,
    /// Makes the keys of the first pieces, asks for their slots, and returns how many those are: the bytes of
    /// the others are too near the end of the text to be read sixteen at once, or they are fewer than four.
    pub(super) fn make_keys(chunk: &mut LookupBatch, text: &[u8], slots: &[ShortEntry]) -> usize {
        const { assert!(size_of::<Key>() == 16) }
        let mut count = chunk.count.min(ROOM - 1);
        while count > 0 && chunk.starts[count - 1] as usize + 16 > text.len() {
            count -= 1;
        }
        count -= count % 4;
        let (numbers_in_quarter, quarters) = (load(&NUMBERS_IN_QUARTER), load(&QUARTERS));
        let firsts = load(&FIRSTS);
        let [low, high] = SEEDS.map(|seed| seed as i64);
        let seeds = _mm512_setr_epi64(low, high, low, high, low, high, low, high);
        let shift = _mm_cvtsi32_si128(shift_to_home(slots.len()) as i32);
        for piece in (0..count).step_by(4) {
            // SAFETY: starts rise, as pieces come from left to right, and from the last of these on the text
            // has sixteen bytes. There is one more start than pieces, and a key and a home for each. A home
            // has as many bits as tell all slots apart, and a prefetch touches nothing.
            #[allow(unsafe_code)]
            unsafe {
                let starts = chunk.starts.as_ptr().add(piece);
                let lengths = _mm_sub_epi32(
                    _mm_loadu_si128(starts.add(1).cast()),
                    _mm_loadu_si128(starts.cast()),
                );
                let lengths = _mm_min_epu32(lengths, _mm_set1_epi32(16));
                let lengths = _mm512_permutexvar_epi8(quarters, _mm512_castsi128_si512(lengths));
                let at = |number: usize| {
                    _mm_loadu_si128(text.as_ptr().add(*starts.add(number) as usize).cast())
                };
                let bytes = _mm512_castsi128_si512(at(0));
                let bytes = _mm512_inserti32x4::<1>(bytes, at(1));
                let bytes = _mm512_inserti32x4::<2>(bytes, at(2));
                let bytes = _mm512_inserti32x4::<3>(bytes, at(3));
                // A piece's bytes, and their number at the end; all ones where there are too many.
                let own = _mm512_cmplt_epu8_mask(numbers_in_quarter, lengths);
                let keys = _mm512_maskz_mov_epi8(own, bytes);
                let keys = _mm512_mask_mov_epi8(keys, 0x8000_8000_8000_8000, lengths);
                let long = _mm512_cmpeq_epi8_mask(lengths, _mm512_set1_epi8(16));
                let keys = _mm512_mask_mov_epi8(keys, long, _mm512_set1_epi8(-1));
                _mm512_storeu_si512(chunk.keys.as_mut_ptr().add(piece).cast(), keys);
                // As `mix_halves` does: the product of each half, and both in both places.
                let products = _mm512_mullo_epi64(keys, seeds);
                let mixed = _mm512_xor_si512(products, _mm512_shuffle_epi32::<0b01_00_11_10>(products));
                let homes = _mm512_srl_epi64(mixed, shift);
                let homes = _mm512_castsi512_si128(_mm512_permutexvar_epi8(firsts, homes));
                _mm_storeu_si128(chunk.homes.as_mut_ptr().add(piece).cast(), homes);
                for home in &chunk.homes[piece..piece + 4] {
                    _mm_prefetch::<_MM_HINT_T0>(slots.as_ptr().add(*home as usize).cast());
                }
            }
        }
        count
    }
}

simd_fn! { avx512,
    #[inline]
    fn load(lanes: &[u8; 64]) -> __m512i {
        // SAFETY: sixty-four bytes are read from where there are as many.
        #[allow(unsafe_code)]
        unsafe {
            _mm512_loadu_si512(lanes.as_ptr().cast())
        }
    }
}
