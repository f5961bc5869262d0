//! BoundarySink of pieces and the two passes that all pieces go through, with AVX2: the ends within eight bytes at
//! once, and a piece's bytes are one register.

use std::arch::x86_64::{
    __m128i, _MM_HINT_T0, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_extract_epi64, _mm_load_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
    _mm_prefetch, _mm_store_si128, _mm_storeu_si128, _mm256_add_epi32, _mm256_castsi256_ps,
    _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_loadu_si256, _mm256_max_epu32,
    _mm256_movemask_ps, _mm256_set1_epi32, _mm256_storeu_si256, _mm256_sub_epi32,
};

use super::{IDS, ShortEntry, home};
use super::{LookupBatch, Miss, ROOM, WAITING};
use crate::merge::COPY_WIDTH;
use crate::sys::simd_level::simd_fn;
use crate::vocab::short_key::{KEY_FORMS, Key, SHORT_MAX, mix_halves};

/// The numbers of the bits of a byte that are set, one a byte from the lowest on; then zeros.
static PLACES: [u64; 256] = {
    let mut places = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                places[byte] |= (bit as u64) << (8 * count);
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    places
};

simd_fn! { avx2,
    /// Writes where the pieces of a block end, after those that there are: how many end within eight bytes
    /// cannot be foretold, so that eight are written in any case.
    #[inline]
    pub(super) fn put_ends(chunk: &mut LookupBatch, first: usize, cuts: u64) {
        let to = &mut chunk.starts[chunk.count + 1..][..64];
        let mut count = 0;
        for (number, byte) in (0..8).zip(cuts.to_le_bytes()) {
            let places = _mm_cvtsi64_si128(PLACES[usize::from(byte)] as i64);
            let first = _mm256_set1_epi32((first + 8 * number) as i32);
            let ends = _mm256_add_epi32(_mm256_cvtepu8_epi32(places), first);
            // SAFETY: each of the seven bytes before has eight bits at most, so that 56 ends are counted at most
            // where eight are written, and there is room for 64.
            #[allow(unsafe_code)]
            unsafe {
                _mm256_storeu_si256(to.as_mut_ptr().add(count).cast(), ends);
            }
            count += byte.count_ones() as usize;
        }
    }
}

simd_fn! { avx2,
    /// Returns whether any of the pieces whose ends were put last has more bytes than are short.
    #[inline]
    pub(super) fn any_is_long(chunk: &LookupBatch, cuts: u64) -> bool {
        let count = cuts.count_ones() as usize;
        let starts = &chunk.starts[chunk.count..][..65];
        (0..count.div_ceil(8)).any(|number| {
            // SAFETY: there are at most eight eights; the last load begins at 57 and ends with the
            // sixty-fifth number, which there is.
            #[allow(unsafe_code)]
            let (starts, ends) = unsafe {
                let from = starts.as_ptr().add(8 * number);
                (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(1).cast()))
            };
            let lengths = _mm256_sub_epi32(ends, starts);
            let long = _mm256_max_epu32(lengths, _mm256_set1_epi32(SHORT_MAX as i32 + 1));
            let long = _mm256_cmpeq_epi32(long, lengths);
            let long = _mm256_movemask_ps(_mm256_castsi256_ps(long)) as u32;
            long & ((1 << (count - 8 * number).min(8)) - 1) != 0
        })
    }
}

simd_fn! { avx2,
    /// Makes the keys of the first pieces, asks for their slots, and returns how many those are: the bytes of
    /// the others are too near the end of the text to be read sixteen at once.
    pub(super) fn make_keys(chunk: &mut LookupBatch, text: &[u8], slots: &[ShortEntry]) -> usize {
        let mut count = chunk.count.min(ROOM - 1);
        while count > 0 && chunk.starts[count - 1] as usize + 16 > text.len() {
            count -= 1;
        }
        for piece in 0..count {
            let (start, end) = (chunk.starts[piece], chunk.starts[piece + 1]);
            let form = &KEY_FORMS[(end - start).min(16) as usize];
            // SAFETY: starts rise, and from the last of these on the text has sixteen bytes. A form's
            // numbers and a key have sixteen bytes, aligned as such. A prefetch touches nothing.
            #[allow(unsafe_code)]
            unsafe {
                let bytes = _mm_loadu_si128(text.as_ptr().add(start as usize).cast());
                let mask = _mm_load_si128((&raw const form.mask).cast());
                let length = _mm_load_si128((&raw const form.length).cast());
                let key = _mm_or_si128(_mm_and_si128(bytes, mask), length);
                _mm_store_si128((&raw mut chunk.keys[piece]).cast(), key);
                let low = _mm_cvtsi128_si64(key) as u64;
                let home = home(mix_halves(low, _mm_extract_epi64::<1>(key) as u64), slots.len());
                chunk.homes[piece] = home as u32;
                _mm_prefetch::<_MM_HINT_T0>(slots.as_ptr().add(home).cast());
            }
        }
        count
    }
}

simd_fn! { avx2,
    /// The ids of the pieces that are known, and which are not.
    pub(super) fn find(chunk: &mut LookupBatch, slots: &[ShortEntry]) {
        const {
            assert!(
                size_of::<ShortEntry>() == 32 && size_of::<Key>() == 16 && IDS == 3 && COPY_WIDTH >= 4
            );
        }
        let count = chunk.count.min(ROOM);
        let waiting = &mut chunk.waiting;
        assert!(waiting.found_count + count * IDS <= WAITING * IDS, "there is room for all ids");
        assert!(waiting.missed_count + count <= WAITING, "there is room for all pieces");
        let (found_start, missed_start) = (waiting.found.as_mut_ptr(), waiting.missed.as_mut_ptr());
        let (mut found, mut missed) = (waiting.found_count, waiting.missed_count);
        for piece in 0..count {
            let slot = &slots[chunk.homes[piece] as usize & (slots.len() - 1)];
            // SAFETY: a slot is a key and sixteen bytes more, its ids and their number, which is at most
            // three where the key is not marked. So there are at most three ids found for each of these
            // pieces, for which there is room, and for `COPY_WIDTH` more; and each is missed once at most.
            #[allow(unsafe_code)]
            let is_same = unsafe {
                let key = _mm_load_si128((&raw const chunk.keys[piece]).cast());
                let (kept, ids) = {
                    let slot: *const __m128i = (&raw const *slot).cast();
                    (_mm_load_si128(slot), _mm_load_si128(slot.add(1)))
                };
                _mm_storeu_si128(found_start.add(found).cast(), ids);
                *missed_start.add(missed) = Miss { piece: piece as u32, place: found as u32 };
                _mm_movemask_epi8(_mm_cmpeq_epi8(key, kept)) == 0xFFFF
            };
            found += if is_same { slot.count as usize } else { 0 };
            missed += usize::from(!is_same);
        }
        (waiting.found_count, waiting.missed_count) = (found, missed);
    }
}
