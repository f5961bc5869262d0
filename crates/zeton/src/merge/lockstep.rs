//! Merges short pieces in batches of 16, one merge per piece and round, with the ranks in SIMD
//! vectors.
//!
//! A merge looks up the two new pairs it creates in the pair table, and each lookup is likely a
//! cache miss. A round performs one merge in every piece and only prefetches the new pairs. When it
//! then reads their ranks, the cache lines have arrived while the other pieces were merging.
//!
//! Each part of a piece has a *position*, from 1 on. Positions 0 and n + 1 hold a sentinel that
//! merges with nothing. A merge writes its result over the left part and clears the bit of the
//! right part in `live`, so that no other part moves. The rank of each pair lies in the lane of its
//! left part:
//!
//! ```text
//!  bit 31                          6 5          0
//!      ┌────────────────────────────┬────────────┐
//!      │            rank            │  position  │       a lane; u32::MAX where no pair starts
//!      └────────────────────────────┴────────────┘
//!                 26 bits               6 bits
//! ```
//!
//! The minimum of all lanes is thus the lowest rank, leftmost first, together with its position.
//! For example, the piece ` zeton` with cl100k (its bytes are the ids 220 89 68 83 78 77):
//!
//! ```text
//!  position       0     1     2     3     4     5     6     7
//!  parts          ─   220    89    68    83    78    77     ─
//!  ranks             1167  3059   295   998   263     ─           minimum: 263 at 5, merges `on`
//!  parts          ─   220    89    68    83   263     ·     ─
//!  ranks             1167  3059   295   783     ─     ─           minimum: 295 at 3, merges `et`
//!  parts          ─   220    89   295     ·   263     ·     ─
//!  ranks             1167 61828 35794     ─     ─     ─           minimum: 1167 at 1, merges ` z`
//!  parts          ─  1167     ·   295     ·   263     ·     ─
//!  ranks                ─     ─ 35794     ─     ─     ─           minimum: 35794 at 3
//!  parts          ─  1167     · 35794     ·     ·     ·     ─     no pair merges: ids 1167 35794
//! ```
//!
//! [`MergeQueue`] collects the pieces of the piece cache's misses, by number of parts, in three
//! batches of 16, 32 and 64 lanes. Windows of long pieces fill a batch of their own.
//!
//! Cost: 250 to 325 cycles for a piece of 4 to 6 merges, in full batches of eight whose execution
//! overlaps; 410 to 480 where each batch waits for the one before it. Batches of 16 instead of
//! eight make cold English and other languages 6 % faster, code no faster. Ranks in vector
//! registers gained nothing. A transposed layout, with one position of all pieces in a vector,
//! gained 0 to 3 % for 300 lines. `docs/notes/merging.md` has all experiments.

use super::pair_table::{PairQuery, U64PairTable};
use super::{BpeModel, PaddedIds};
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};
use crate::vocab::Id;

/// Pieces in a batch. Sixteen instead of eight: English 291 → 308 MB/s, code 203 → 201, other
/// languages 67 → 71 (cold text, cl100k, AVX-512).
const BATCH_PIECES: usize = 16;

/// Pieces queued for merging, in batches by the number of parts they begin with.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergeQueue {
    /// Pieces of up to 15 parts.
    lanes_16: LockstepBatch<16>,
    /// Pieces of 16 to 31 parts.
    lanes_32: LockstepBatch<32>,
    /// Pieces of 32 to 62 parts.
    lanes_64: LockstepBatch<64>,
}

impl MergeQueue {
    /// Queues a piece under a number of the caller's choice. Returns `false` if the piece has more
    /// than 62 parts, or if the vocabulary's ids need wide pairs. The queue has room for one more
    /// piece after [`MergeQueue::merge_full`].
    #[inline]
    pub(crate) fn push(&mut self, number: usize, model: &BpeModel, piece: &[u8]) -> bool {
        // No part has more than three bytes.
        if piece.len() > 3 * PART_SLOTS || model.pairs().u64_pairs().is_none() {
            return false;
        }
        if piece.len() <= LockstepBatch::<16>::PIECE_PARTS_MAX {
            return self.lanes_16.push(number, model, piece);
        }
        // The parts of a long piece are computed once, in the widest batch. If there are few of
        // them, they move to a narrower one.
        if !self.lanes_64.push(number, model, piece) {
            return false;
        }
        if self.lanes_64.last_parts().len() <= LockstepBatch::<16>::PIECE_PARTS_MAX {
            self.lanes_16.push_parts(number, self.lanes_64.last_parts());
            self.lanes_64.len -= 1;
        } else if self.lanes_64.last_parts().len() <= LockstepBatch::<32>::PIECE_PARTS_MAX {
            self.lanes_32.push_parts(number, self.lanes_64.last_parts());
            self.lanes_64.len -= 1;
        }
        true
    }

    /// Merges a batch that has no room left, and calls `visit` with the number and the ids of each
    /// piece.
    #[inline]
    pub(crate) fn merge_full(&mut self, model: &BpeModel, visit: impl FnMut(usize, PaddedIds)) {
        if let Some(pairs) = model.pairs().u64_pairs() {
            if self.lanes_16.is_full() {
                self.lanes_16.merge_all(pairs, visit);
            } else if self.lanes_32.is_full() {
                self.lanes_32.merge_all(pairs, visit);
            } else if self.lanes_64.is_full() {
                self.lanes_64.merge_all(pairs, visit);
            }
        }
    }

    /// Merges every queued piece, and calls `visit` with the number and the ids of each.
    pub(crate) fn merge_all(&mut self, model: &BpeModel, mut visit: impl FnMut(usize, PaddedIds)) {
        if let Some(pairs) = model.pairs().u64_pairs() {
            self.lanes_16.merge_all(pairs, &mut visit);
            self.lanes_32.merge_all(pairs, &mut visit);
            self.lanes_64.merge_all(pairs, visit);
        }
    }
}

/// Up to 16 pieces, each of fewer parts than `LANES`.
#[derive(Clone, Debug)]
pub(crate) struct LockstepBatch<const LANES: usize> {
    /// The parts of each piece begin at position 1, between two sentinels.
    parts: [[Id; PART_SLOTS]; BATCH_PIECES],
    /// The number of parts of each piece, and after merging the number of its ids.
    counts: [usize; BATCH_PIECES],
    /// The caller's number of each piece.
    numbers: [usize; BATCH_PIECES],
    /// The number of pieces.
    len: usize,
}

/// Positions of a piece, the sentinels included: `live` has a bit for each.
const PART_SLOTS: usize = 64;

/// An id that no token has and no pair contains.
const SENTINEL: Id = U64PairTable::ID_LIMIT;

impl<const LANES: usize> Default for LockstepBatch<LANES> {
    fn default() -> Self {
        Self {
            parts: [[SENTINEL; PART_SLOTS]; BATCH_PIECES],
            counts: [0; BATCH_PIECES],
            numbers: [0; BATCH_PIECES],
            len: 0,
        }
    }
}

impl<const LANES: usize> LockstepBatch<LANES> {
    /// The most parts of a piece. Each part needs a lane, of which the first belongs to a sentinel,
    /// and each part and sentinel needs a bit of `live`.
    const PIECE_PARTS_MAX: usize = if LANES < PART_SLOTS { LANES - 1 } else { PART_SLOTS - 2 };

    /// Adds a piece to a batch that is not full. Returns `false` if it begins with too many parts.
    #[inline]
    pub(crate) fn push(&mut self, number: usize, model: &BpeModel, piece: &[u8]) -> bool {
        let parts = &mut self.parts[self.len];
        let mut count = 0;
        model.for_each_part(piece, |part| {
            count += 1;
            if count <= Self::PIECE_PARTS_MAX {
                parts[count] = part;
            }
        });
        if count > Self::PIECE_PARTS_MAX {
            return false;
        }
        self.finish_push(number, count);
        true
    }

    /// Copies the parts of a piece from a wider batch to this one, which is not full. `number` is
    /// returned with the piece's ids.
    fn push_parts(&mut self, number: usize, parts: &[Id]) {
        self.parts[self.len][1..=parts.len()].copy_from_slice(parts);
        self.finish_push(number, parts.len());
    }

    /// Completes a piece whose `count` parts the caller has written: sets the sentinel behind them,
    /// and counts the piece as queued.
    #[inline]
    fn finish_push(&mut self, number: usize, count: usize) {
        self.parts[self.len][count + 1] = SENTINEL;
        (self.counts[self.len], self.numbers[self.len]) = (count, number);
        self.len += 1;
    }

    /// Returns the parts of the piece that was added last, for [`MergeQueue::push`] to move them to
    /// a narrower batch. The batch is not empty.
    fn last_parts(&self) -> &[Id] {
        &self.parts[self.len - 1][1..=self.counts[self.len - 1]]
    }

    /// Returns whether the batch has no room for another piece, so that it has to be merged first.
    #[inline]
    fn is_full(&self) -> bool {
        self.len == BATCH_PIECES
    }

    /// Merges all pieces, calls `visit` with the number and the ids of each, and empties the batch.
    /// The ids are readable beyond their end, so that [`PaddedIds`] copies them at a fixed size.
    pub(crate) fn merge_all(
        &mut self,
        pairs: &U64PairTable,
        mut visit: impl FnMut(usize, PaddedIds),
    ) {
        if self.len == 0 {
            return;
        }
        self.merge(pairs);
        for piece in 0..self.len {
            visit(self.numbers[piece], PaddedIds::new(&self.parts[piece][1..], self.counts[piece]));
        }
        (self.counts, self.len) = ([0; BATCH_PIECES], 0);
    }

    /// Merges all pieces of the batch in place, with the best instructions of this machine.
    fn merge(&mut self, pairs: &U64PairTable) {
        self.merge_with(SimdLevel::detect(), pairs);
    }

    /// Merges all pieces with the instructions of `level`. Tests call it with every level of the
    /// machine.
    fn merge_with(&mut self, level: SimdLevel, pairs: &U64PairTable) {
        match level.kind() {
            // SAFETY: the AVX-512 features of `simd_fn!` are present, because a `SimdLevel` of this
            // kind is constructed only by run-time detection of them.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 => unsafe { self.merge_by_avx512(pairs) },
            // SAFETY: the AVX2 features of `simd_fn!` are present, because a `SimdLevel` of this
            // kind is constructed only by run-time detection of them.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx2 => unsafe { self.merge_by_avx2(pairs) },
            SimdKind::Baseline => {
                self.merge_by(pairs, |lanes| lanes.0.into_iter().fold(NO_PAIR, u32::min));
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx512,
        /// Merges all pieces of the batch in place, with AVX-512.
        fn merge_by_avx512(&mut self, pairs: &U64PairTable) {
            self.merge_by(pairs, |lanes| avx512::find_lowest(lanes));
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx2,
        /// Merges all pieces of the batch in place, with AVX2.
        fn merge_by_avx2(&mut self, pairs: &U64PairTable) {
            self.merge_by(pairs, |lanes| avx2::find_lowest(lanes));
        }
    }

    /// Merges all pieces; `find_lowest` returns the minimum of all lanes of a piece. It turns the
    /// parts of each piece into its ids, in place, and `counts` into their numbers.
    #[inline(always)]
    fn merge_by(&mut self, pairs: &U64PairTable, find_lowest: impl Fn(&RankLanes<LANES>) -> u32) {
        let mut lanes = [RankLanes([NO_PAIR; LANES]); BATCH_PIECES];
        let mut live = [0_u64; BATCH_PIECES];
        for piece in 0..self.len {
            let (parts, count) = (&self.parts[piece], self.counts[piece]);
            let ranks = &mut lanes[piece].0;
            for ((rank, pair), at) in
                ranks[1..].iter_mut().zip(parts[1..=count].windows(2)).zip(1..)
            {
                *rank = pack_lane(pairs.initial_rank_or_limit(pair[0], pair[1]), at);
            }
            // The sentinels are live as well, so that every part has two neighbours.
            live[piece] = u64::MAX >> (PART_SLOTS - 2 - count);
        }
        // The pieces that still merge are the first `active` entries.
        let mut merges: [LaneMerge; BATCH_PIECES] = std::array::from_fn(LaneMerge::new);
        let mut active = self.len;
        while active > 0 {
            // First half of a round: one merge in every piece. The ranks of the new pairs are only
            // prefetched.
            let mut active_next = 0;
            for number in 0..active {
                let piece = merges[number].piece % BATCH_PIECES;
                let lowest = find_lowest(&lanes[piece]);
                if lowest >= pack_lane(U64PairTable::RANK_LIMIT, 0) {
                    continue;
                }
                let (at, merged_id) = (lowest % PART_SLOTS as u32, lowest >> POSITION_BITS);
                let (live, parts) = (&mut live[piece], &mut self.parts[piece]);
                let removed = (*live & u64::MAX << at << 1).trailing_zeros() % PART_SLOTS as u32;
                *live &= !(1 << removed);
                let after = (*live & u64::MAX << removed).trailing_zeros() % PART_SLOTS as u32;
                let before = 63 - (*live & ((1 << at) - 1)).leading_zeros() % PART_SLOTS as u32;
                parts[at as usize] = merged_id;
                let with_after = pairs.prefetch_pair(merged_id, parts[after as usize]);
                let with_before = pairs.prefetch_pair(parts[before as usize], merged_id);
                merges[active_next] =
                    LaneMerge { piece, removed, at, before, with_after, with_before };
                active_next += 1;
            }
            active = active_next;
            // Second half of a round: the ranks have arrived in the cache, or nearly so. A pair
            // with a sentinel is in no table, so that its lane holds no rank.
            for merge in &merges[..active] {
                let ranks = &mut lanes[merge.piece % BATCH_PIECES].0;
                let (at, before) = (merge.at, merge.before);
                ranks[at as usize % LANES] = pack_lane(pairs.rank_or_limit(merge.with_after), at);
                ranks[before as usize % LANES] =
                    pack_lane(pairs.rank_or_limit(merge.with_before), before);
                ranks[merge.removed as usize % LANES] = NO_PAIR;
            }
        }
        // The live parts, without the sentinels, are the ids.
        for (piece, live) in live.into_iter().enumerate() {
            let (parts, count) = (&mut self.parts[piece], &mut self.counts[piece]);
            let mut rest = live & !1 & !(1 << (*count + 1));
            *count = 0;
            while rest != 0 {
                *count += 1;
                parts[*count] = parts[rest.trailing_zeros() as usize % PART_SLOTS];
                rest &= rest - 1;
            }
        }
    }
}

/// A merge whose new pairs are being prefetched.
#[derive(Clone, Copy)]
struct LaneMerge {
    piece: usize,
    /// The position of the right part, which is no longer live.
    removed: u32,
    /// The position of the left part, which now holds the merged id.
    at: u32,
    /// The position of the part before it.
    before: u32,
    /// The pair of the merged part and the part after it.
    with_after: PairQuery<u64>,
    /// The pair of the part before it and the merged part.
    with_before: PairQuery<u64>,
}

impl LaneMerge {
    /// Returns a placeholder of a piece that has merged nothing yet. Only its `piece` is read, by
    /// the first round of `merge_by`.
    fn new(piece: usize) -> Self {
        let query = PairQuery::default();
        Self { piece, removed: 0, at: 0, before: 0, with_after: query, with_before: query }
    }
}

/// Bits of a lane that hold the position. The rank lies above them; where no pair merges, it is not
/// below [`U64PairTable::RANK_LIMIT`].
const POSITION_BITS: u32 = PART_SLOTS.ilog2();
/// The lane of a position where no pair starts.
const NO_PAIR: u32 = u32::MAX;

const _: () = assert!(
    2 * U64PairTable::RANK_LIMIT <= 1 << (u32::BITS - POSITION_BITS),
    "a rank and a position fit a lane"
);

/// Packs the rank of a pair and its position in the piece into a lane, so that the lowest lane is
/// the first pair of the lowest rank.
#[inline(always)]
fn pack_lane(rank: Id, at: u32) -> u32 {
    rank << POSITION_BITS | at
}

/// The lanes of one piece. They lie in memory, not in a register. The store of a lane is complete
/// long before the next load of the whole vector, because the other pieces take their turn in
/// between.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct RankLanes<const LANES: usize>([u32; LANES]);

/// The minimum of all lanes, 16 of them in a vector.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_min_epu32, _mm512_reduce_min_epu32, _mm512_set1_epi32,
    };

    use super::RankLanes;
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx512,
        #[inline]
        pub(super) fn find_lowest<const LANES: usize>(RankLanes(lanes): &RankLanes<LANES>) -> u32 {
            let mut lowest = _mm512_set1_epi32(-1);
            for chunk in lanes.as_chunks::<16>().0 {
                // SAFETY: `chunk` is a reference to 16 lanes of 4 bytes, so that 64 bytes are
                // readable; the load needs no alignment.
                #[allow(unsafe_code)]
                let ranks = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
                lowest = _mm512_min_epu32(lowest, ranks);
            }
            _mm512_reduce_min_epu32(lowest)
        }
    }
}

/// The minimum of all lanes, eight of them in a vector.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        _mm_cvtsi128_si32, _mm_min_epu32, _mm_shuffle_epi32, _mm256_castsi256_si128,
        _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_min_epu32, _mm256_set1_epi32,
    };

    use super::RankLanes;
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx2,
        #[inline]
        pub(super) fn find_lowest<const LANES: usize>(RankLanes(lanes): &RankLanes<LANES>) -> u32 {
            let mut lowest = _mm256_set1_epi32(-1);
            for chunk in lanes.as_chunks::<8>().0 {
                // SAFETY: `chunk` is a reference to eight lanes of 4 bytes, so that 32 bytes are
                // readable; the load needs no alignment.
                #[allow(unsafe_code)]
                let ranks = unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) };
                lowest = _mm256_min_epu32(lowest, ranks);
            }
            let high = _mm256_extracti128_si256::<1>(lowest);
            let lowest = _mm_min_epu32(_mm256_castsi256_si128(lowest), high);
            let lowest = _mm_min_epu32(lowest, _mm_shuffle_epi32::<0b01_00_11_10>(lowest));
            let lowest = _mm_min_epu32(lowest, _mm_shuffle_epi32::<0b10_11_00_01>(lowest));
            _mm_cvtsi128_si32(lowest) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, model_of};

    fn merge_pieces<const LANES: usize>(
        model: &BpeModel,
        pieces: &[Vec<u8>],
        level: SimdLevel,
    ) -> Vec<Vec<Id>> {
        let pairs = model.pairs().u64_pairs().unwrap();
        let mut batch = LockstepBatch::<LANES>::default();
        for (number, piece) in pieces.iter().enumerate() {
            assert!(batch.push(number, model, piece));
        }
        batch.merge_with(level, pairs);
        (0..pieces.len()).map(|at| batch.parts[at][1..=batch.counts[at]].to_vec()).collect()
    }

    #[test]
    fn every_simd_level_merges_as_the_scan_does() {
        let mut random = Random(9);
        for round in 0..2000 {
            let letters = 2 + random.below(3);
            let mut random_bytes = |min: usize, max: usize| -> Vec<u8> {
                let length = min + random.below(max - min);
                (0..length).map(|_| b"abcd"[random.below(letters)]).collect()
            };
            let tokens: std::collections::BTreeSet<Vec<u8>> =
                (0..30).map(|_| random_bytes(2, 7)).collect();
            let tokens: Vec<String> =
                tokens.into_iter().map(|token| String::from_utf8(token).unwrap()).collect();
            let model = model_of(tokens.iter().map(String::as_str));
            let length_max = [16, 32, 63][round % 3];
            let pieces: Vec<Vec<u8>> =
                (0..1 + round % BATCH_PIECES).map(|_| random_bytes(1, length_max)).collect();
            let expected: Vec<Vec<Id>> = pieces
                .iter()
                .map(|piece| {
                    let mut parts: Vec<Id> =
                        piece.iter().map(|&byte| model.vocab().byte(byte)).collect();
                    super::super::scan::merge(model.pairs(), &mut parts, &mut Vec::new(), 1000);
                    parts
                })
                .collect();
            for level in SimdLevel::detect_all() {
                let found = match length_max {
                    16 => merge_pieces::<16>(&model, &pieces, level),
                    32 => merge_pieces::<32>(&model, &pieces, level),
                    _ => merge_pieces::<64>(&model, &pieces, level),
                };
                assert_eq!(found, expected, "{level:?}, {pieces:?}");
            }
        }
    }
}
