//! The passes of a batch that see every piece, with AVX2: appending ends, making keys, comparing
//! keys.
//!
//! A piece is one register of 16 bytes. Each kernel has a plain twin of the same meaning in the
//! parent module, and the tests compare the two.
//!
//! ```text
//! text       … t h e   c a c h e   …       16 bytes from the piece's start
//! & mask     F F F 0 0 0 0 0 0 0 … 0       3 bytes are the piece's own
//! | length   0 0 0 0 0 0 0 0 0 0 … 3       the last byte is their number
//! = key      t h e 0 0 0 0 0 0 0 … 3       compared to the key of the home slot
//! ```

use std::arch::x86_64::{
    _MM_HINT_T0, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_extract_epi64, _mm_load_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
    _mm_prefetch, _mm_store_si128, _mm_storeu_si128, _mm256_add_epi32, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_loadu_si256, _mm256_max_epu32,
    _mm256_movemask_ps, _mm256_set1_epi32, _mm256_storeu_si256, _mm256_sub_epi32,
};

use super::{LookupBatch, Miss};
use crate::merge::COPY_WIDTH;
use crate::piece_cache::policy::{BATCH_ROOM, ENTRY_IDS, PENDING_PIECES_MAX};
use crate::piece_cache::short_table::{INLINE_WORDS, InlineIds, ShortEntry, home_slot};
use crate::sys::simd_level::simd_fn;
use crate::vocab::short_key::{KEY_FORMS, Key, SHORT_MAX, mix_halves};

/// For each byte the positions of its set bits, one a byte from the lowest on; the rest is zeros.
///
/// For example, `0b0010_0101` has the positions 0, 2 and 5: `0x0000_0000_0005_0200`.
static BIT_POSITIONS: [u64; 256] = {
    let mut positions = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                positions[byte] |= (bit as u64) << (8 * count);
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    positions
};

simd_fn! { avx2,
    /// Writes the ends of a block's pieces behind the ends of the batch, without counting them.
    ///
    /// Eight bytes of text may end zero to eight pieces, and their number is unpredictable. So
    /// eight ends are written in any case, and the next eight bytes overwrite the surplus.
    #[inline]
    pub(super) fn append_ends(batch: &mut LookupBatch, first: usize, cuts: u64) {
        let to = &mut batch.starts[batch.count + 1..][..64];
        let mut count = 0;
        for (number, byte) in (0..8).zip(cuts.to_le_bytes()) {
            let positions = _mm_cvtsi64_si128(BIT_POSITIONS[usize::from(byte)] as i64);
            let first = _mm256_set1_epi32((first + 8 * number) as i32);
            let ends = _mm256_add_epi32(_mm256_cvtepu8_epi32(positions), first);
            // SAFETY: `count` is the number of set bits in the bytes before this one: at most 7 × 8
            // = 56. The store writes ends `count..count + 8`, and `to` has 64.
            #[allow(unsafe_code)]
            unsafe {
                _mm256_storeu_si256(to.as_mut_ptr().add(count).cast(), ends);
            }
            count += byte.count_ones() as usize;
        }
    }
}

simd_fn! { avx2,
    /// Returns whether any piece of the appended block has more than [`SHORT_MAX`] bytes. It reads
    /// the starts that `append_ends` has written.
    #[inline]
    pub(super) fn has_long_piece(batch: &LookupBatch, cuts: u64) -> bool {
        let count = cuts.count_ones() as usize;
        let starts = &batch.starts[batch.count..][..65];
        (0..count.div_ceil(8)).any(|number| {
            // SAFETY: `count` is at most 64, so `number` is at most 7. The second load reads the
            // values `8 * number + 1..8 * number + 9`, up to index 64 of the 65 in `starts`.
            #[allow(unsafe_code)]
            let (starts, ends) = unsafe {
                let from = starts.as_ptr().add(8 * number);
                (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(1).cast()))
            };
            let lengths = _mm256_sub_epi32(ends, starts);
            // AVX2 has no unsigned comparison: a length is long if it is its maximum with 16.
            let long = _mm256_max_epu32(lengths, _mm256_set1_epi32(SHORT_MAX as i32 + 1));
            let long = _mm256_cmpeq_epi32(long, lengths);
            let long = _mm256_movemask_ps(_mm256_castsi256_ps(long)) as u32;
            long & ((1 << (count - 8 * number).min(8)) - 1) != 0
        })
    }
}

simd_fn! { avx2,
    /// Pass 1 with AVX2: writes the keys and home slots of the first pieces to the batch,
    /// prefetches the slots, and returns the number of pieces.
    ///
    /// The rest lies within the last 16 bytes of the text, which one load cannot read.
    pub(super) fn make_keys(batch: &mut LookupBatch, text: &[u8], slots: &[ShortEntry]) -> usize {
        const { assert!(size_of::<Key>() == 16 && align_of::<Key>() == 16) }
        let mut count = batch.count.min(BATCH_ROOM - 1);
        while count > 0 && batch.starts[count - 1] as usize + 16 > text.len() {
            count -= 1;
        }
        for piece in 0..count {
            let (start, end) = (batch.starts[piece], batch.starts[piece + 1]);
            let form = &KEY_FORMS[(end - start).min(16) as usize];
            // SAFETY: starts ascend, because pieces are appended from left to right. The loop above
            // ends where 16 bytes of text follow the start of piece `count - 1`, so they follow
            // every start before it. A form's mask and length are 16 bytes each in an array of
            // alignment 32, and a key has 16 bytes aligned to 16. A prefetch may have any address,
            // because it accesses no memory.
            #[allow(unsafe_code)]
            unsafe {
                let bytes = _mm_loadu_si128(text.as_ptr().add(start as usize).cast());
                let mask = _mm_load_si128((&raw const form.mask).cast());
                let length = _mm_load_si128((&raw const form.length).cast());
                let key = _mm_or_si128(_mm_and_si128(bytes, mask), length);
                _mm_store_si128((&raw mut batch.keys[piece]).cast(), key);
                let low = _mm_cvtsi128_si64(key) as u64;
                let hash = mix_halves(low, _mm_extract_epi64::<1>(key) as u64);
                let home = home_slot(hash, slots.len());
                batch.homes[piece] = home as u32;
                _mm_prefetch::<_MM_HINT_T0>(slots.as_ptr().add(home).cast());
            }
        }
        count
    }
}

simd_fn! { avx2,
    /// Appends the ids of the pieces that lie in their home slot, and queues the misses.
    ///
    /// Both are written for each piece, and the counts advance by the outcome: there is no branch,
    /// because hit or miss is unpredictable.
    pub(super) fn look_up_home(batch: &mut LookupBatch, slots: &[ShortEntry]) {
        const {
            assert!(size_of::<InlineIds>() == 16 && align_of::<InlineIds>() == 16);
            assert!(size_of::<Key>() == 16 && align_of::<Key>() == 16);
            assert!(COPY_WIDTH >= INLINE_WORDS);
        }
        let count = batch.count.min(BATCH_ROOM);
        let pending = &mut batch.pending;
        assert!(
            pending.hit_id_count + count * ENTRY_IDS <= PENDING_PIECES_MAX * ENTRY_IDS,
            "there is room for all ids"
        );
        assert!(pending.miss_count + count <= PENDING_PIECES_MAX, "there is room for all misses");
        let hit_ids = pending.hit_ids.as_mut_ptr();
        let misses = pending.misses.as_mut_ptr();
        let (mut hit_id_count, mut miss_count) = (pending.hit_id_count, pending.miss_count);
        for piece in 0..count {
            let entry = &slots[batch.homes[piece] as usize & (slots.len() - 1)];
            // SAFETY: the loads read a `Key` or an `InlineIds`, each 16 bytes aligned to 16, as
            // asserted at compile time. The stores stay in bounds, as asserted before the loop:
            // - A hit is direct or empty: keys made from text have no flag, and an indirect entry
            //   has one. `TOO_LONG` hits nothing, because `PieceCache::insert` sends long pieces
            //   to the ring. A direct entry has at most `ENTRY_IDS` ids (`ShortEntry::from_ids`).
            //   So `hit_id_count` grows by at most `ENTRY_IDS` a piece. The four words of the last
            //   store fit, because the array has `COPY_WIDTH` values behind the room for ids.
            // - `miss_count` grows by at most 1 a piece, and a store precedes each growth.
            #[allow(unsafe_code)]
            let is_hit = unsafe {
                let key = _mm_load_si128((&raw const batch.keys[piece]).cast());
                let entry_key = _mm_load_si128((&raw const entry.key).cast());
                let ids_and_count = _mm_load_si128((&raw const entry.inline).cast());
                _mm_storeu_si128(hit_ids.add(hit_id_count).cast(), ids_and_count);
                *misses.add(miss_count) =
                    Miss { piece: piece as u32, hit_ids_before: hit_id_count as u32 };
                _mm_movemask_epi8(_mm_cmpeq_epi8(key, entry_key)) == 0xFFFF
            };
            hit_id_count += if is_hit { entry.inline.count as usize } else { 0 };
            miss_count += usize::from(!is_hit);
        }
        (pending.hit_id_count, pending.miss_count) = (hit_id_count, miss_count);
    }
}
