//! Ends and keys of pieces with AVX-512: all ends of a block by one compression, four keys a
//! register.
//!
//! The plain twins in the parent module have the same meaning, and the tests compare both. Keys are
//! compared by AVX2 on these machines too, because an entry's key is a register of 16 bytes.
//!
//! A register of keys has four pieces, a quarter each:
//!
//! ```text
//! byte      0 … 14       15 | 16 … 30      31 | 32 … 46      47 | 48 … 62      63
//!         +-------------+----+-------------+----+-------------+----+-------------+----+
//!         | bytes, zeros| n0 | bytes, zeros| n1 | bytes, zeros| n2 | bytes, zeros| n3 |
//!         +-------------+----+-------------+----+-------------+----+-------------+----+
//! ```
//!
//! Cost: about 9 instructions a piece for the keys, where AVX2 takes 26.

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

use super::LookupBatch;
use crate::piece_cache::policy::BATCH_ROOM;
use crate::piece_cache::short_table::{ShortEntry, home_shift};
use crate::sys::simd_level::simd_fn;
use crate::vocab::short_key::{Key, SEEDS, SHORT_MAX};

/// The index of each byte of a register: 0, 1, 2 to 63.
static BYTE_INDEX: [u8; 64] = byte_indices(64, 1, 1);

/// The index of each byte within its quarter: 0 to 15, four times.
static INDEX_IN_QUARTER: [u8; 64] = byte_indices(16, 1, 1);

/// For each byte of a quarter the first byte of that quarter's 32-bit length: 16 times 0, then 4,
/// 8, 12.
static LENGTH_OF_QUARTER: [u8; 64] = byte_indices(64, 16, 4);

/// The first four bytes of each quarter: 0 to 3, 16 to 19, 32 to 35, 48 to 51. The rest is not
/// used.
static FIRST_OF_QUARTERS: [u8; 64] = {
    let mut indices = [0; 64];
    let mut at = 0;
    while at < 16 {
        indices[at] = (at / 4 * 16 + at % 4) as u8;
        at += 1;
    }
    indices
};

/// Returns `at % modulus / divisor * factor` for each byte `at`. For example, (16, 1, 1) is 0 to
/// 15, four times.
const fn byte_indices(modulus: usize, divisor: usize, factor: usize) -> [u8; 64] {
    let mut indices = [0; 64];
    let mut at = 0;
    while at < 64 {
        indices[at] = (at % modulus / divisor * factor) as u8;
        at += 1;
    }
    indices
}

simd_fn! { avx512,
    /// Writes the ends of a block's pieces behind the ends of the batch, without counting them.
    ///
    /// A compression leaves the index of each set bit of `cuts`. 32 ends are written in any case,
    /// because their number is unpredictable; more than 32 pieces in 64 bytes are rare.
    #[inline]
    pub(super) fn append_ends(batch: &mut LookupBatch, first: usize, cuts: u64) {
        let to = &mut batch.starts[batch.count + 1..][..64];
        // SAFETY: each store writes 16 ends from index 16 × number on, where `number` is at most 3,
        // and `to` has 64 ends.
        #[allow(unsafe_code)]
        unsafe {
            let positions = _mm512_maskz_compress_epi8(cuts, load(&BYTE_INDEX));
            let first = _mm512_set1_epi32(first as i32);
            let mut store = |number: usize, positions| {
                let ends = _mm512_add_epi32(_mm512_cvtepu8_epi32(positions), first);
                _mm512_storeu_si512(to.as_mut_ptr().add(16 * number).cast(), ends);
            };
            store(0, _mm512_castsi512_si128(positions));
            store(1, _mm512_extracti32x4_epi32::<1>(positions));
            if cuts.count_ones() > 32 {
                store(2, _mm512_extracti32x4_epi32::<2>(positions));
                store(3, _mm512_extracti32x4_epi32::<3>(positions));
            }
        }
    }
}

simd_fn! { avx512,
    /// Returns whether any piece of the appended block has more than [`SHORT_MAX`] bytes. It reads
    /// the starts that `append_ends` has written.
    #[inline]
    pub(super) fn has_long_piece(batch: &LookupBatch, cuts: u64) -> bool {
        let count = cuts.count_ones() as usize;
        let starts = &batch.starts[batch.count..][..65];
        (0..count.div_ceil(16)).any(|number| {
            // SAFETY: `count` is at most 64, so `number` is at most 3. The second load reads the
            // values `16 * number + 1..16 * number + 17`, up to index 64 of the 65 in `starts`.
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
    /// Pass 1 with AVX-512: writes the keys and home slots of the first pieces to the batch,
    /// prefetches the slots, and returns the number of pieces.
    ///
    /// The rest lies within the last 16 bytes of the text, which one load cannot read, or is a
    /// remainder of fewer than four pieces.
    pub(super) fn make_keys(batch: &mut LookupBatch, text: &[u8], slots: &[ShortEntry]) -> usize {
        const { assert!(size_of::<Key>() == 16) }
        let mut count = batch.count.min(BATCH_ROOM - 1);
        while count > 0 && batch.starts[count - 1] as usize + 16 > text.len() {
            count -= 1;
        }
        count -= count % 4;
        let index_in_quarter = load(&INDEX_IN_QUARTER);
        let (length_of_quarter, first_of_quarters) =
            (load(&LENGTH_OF_QUARTER), load(&FIRST_OF_QUARTERS));
        let [low, high] = SEEDS.map(|seed| seed as i64);
        let seeds = _mm512_setr_epi64(low, high, low, high, low, high, low, high);
        let shift = _mm_cvtsi32_si128(home_shift(slots.len()) as i32);
        for piece in (0..count).step_by(4) {
            // SAFETY: starts ascend, because pieces are appended from left to right. The loop above
            // ends where 16 bytes of text follow the start of a piece, so they follow every start
            // before it. `count` is a multiple of 4 below `BATCH_ROOM`, the length of `starts`,
            // `keys` and `homes`: four keys and homes from `piece` on, and five starts, are within
            // bounds. A prefetch accesses no memory, and `home_shift` leaves a slot below
            // `slots.len()`.
            #[allow(unsafe_code)]
            unsafe {
                let starts = batch.starts.as_ptr().add(piece);
                let lengths = _mm_sub_epi32(
                    _mm_loadu_si128(starts.add(1).cast()),
                    _mm_loadu_si128(starts.cast()),
                );
                let lengths = _mm_min_epu32(lengths, _mm_set1_epi32(16));
                let lengths =
                    _mm512_permutexvar_epi8(length_of_quarter, _mm512_castsi128_si512(lengths));
                let bytes_of = |number: usize| {
                    _mm_loadu_si128(text.as_ptr().add(*starts.add(number) as usize).cast())
                };
                let bytes = _mm512_castsi128_si512(bytes_of(0));
                let bytes = _mm512_inserti32x4::<1>(bytes, bytes_of(1));
                let bytes = _mm512_inserti32x4::<2>(bytes, bytes_of(2));
                let bytes = _mm512_inserti32x4::<3>(bytes, bytes_of(3));
                // The bytes of each piece, then zeros, and in byte 15 the length; all ones for a
                // long piece.
                let own = _mm512_cmplt_epu8_mask(index_in_quarter, lengths);
                let keys = _mm512_maskz_mov_epi8(own, bytes);
                let keys = _mm512_mask_mov_epi8(keys, 0x8000_8000_8000_8000, lengths);
                let long = _mm512_cmpeq_epi8_mask(lengths, _mm512_set1_epi8(16));
                let keys = _mm512_mask_mov_epi8(keys, long, _mm512_set1_epi8(-1));
                _mm512_storeu_si512(batch.keys.as_mut_ptr().add(piece).cast(), keys);
                // The hash of `mix_halves`: the products of both halves, combined by swapping them.
                let products = _mm512_mullo_epi64(keys, seeds);
                let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(products);
                let hashes = _mm512_xor_si512(products, swapped);
                let homes = _mm512_srl_epi64(hashes, shift);
                let homes = _mm512_permutexvar_epi8(first_of_quarters, homes);
                let homes = _mm512_castsi512_si128(homes);
                _mm_storeu_si128(batch.homes.as_mut_ptr().add(piece).cast(), homes);
                for home in &batch.homes[piece..piece + 4] {
                    _mm_prefetch::<_MM_HINT_T0>(slots.as_ptr().add(*home as usize).cast());
                }
            }
        }
        count
    }
}

simd_fn! { avx512,
    /// Loads 64 bytes into a vector; they need no alignment.
    #[inline]
    fn load(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: the reference is to 64 bytes, and the load needs no alignment.
        #[allow(unsafe_code)]
        unsafe {
            _mm512_loadu_si512(bytes.as_ptr().cast())
        }
    }
}
