//! New pieces are merged sixteen at a time: while one waits for the ranks of its pairs, the others go on.
//!
//! The ranks of a piece's pairs lie in the lanes of vectors, so that the lowest is found at once;
//! parts that are joined leave a gap, and a bit set says which are left.

use super::pair_table::{Asked, Narrow};
use super::{BpeModel, PaddedIds};
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};
use crate::vocab::Id;

/// Pieces that are merged together.
const PIECES: usize = 16;

/// New pieces that wait for others to be merged with, by the number of parts they begin with.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergeQueue {
    few: Group<16>,
    some: Group<32>,
    many: Group<64>,
}

impl MergeQueue {
    /// Takes a piece; returns false if it begins with too many parts, or ids are too wide. There is room
    /// for one after [`MergeQueue::settle_full`].
    #[inline]
    pub(crate) fn put(&mut self, name: usize, model: &BpeModel, piece: &[u8]) -> bool {
        // A part has three bytes at most.
        if piece.len() > 3 * PARTS || model.pairs().narrow().is_none() {
            return false;
        }
        if piece.len() <= Group::<16>::PARTS_MAX {
            return self.few.put(name, model, piece);
        }
        // They are read once, where there is room for all, and go on to where they need no more.
        if !self.many.put(name, model, piece) {
            return false;
        }
        if self.many.last().len() <= Group::<16>::PARTS_MAX {
            self.few.put_parts(name, self.many.last());
            self.many.len -= 1;
        } else if self.many.last().len() <= Group::<32>::PARTS_MAX {
            self.some.put_parts(name, self.many.last());
            self.many.len -= 1;
        }
        true
    }

    /// Merges those that need not wait for others; calls `each` with the name and the ids of each.
    #[inline]
    pub(crate) fn settle_full(&mut self, model: &BpeModel, each: impl FnMut(usize, PaddedIds)) {
        if let Some(pairs) = model.pairs().narrow() {
            if self.few.is_full() {
                self.few.settle(pairs, each);
            } else if self.some.is_full() {
                self.some.settle(pairs, each);
            } else if self.many.is_full() {
                self.many.settle(pairs, each);
            }
        }
    }

    /// Merges those that are left.
    pub(crate) fn settle(&mut self, model: &BpeModel, mut each: impl FnMut(usize, PaddedIds)) {
        if let Some(pairs) = model.pairs().narrow() {
            self.few.settle(pairs, &mut each);
            self.some.settle(pairs, &mut each);
            self.many.settle(pairs, each);
        }
    }
}

/// The parts of sixteen pieces, fewer than `LANES` each. A piece without parts stays without.
#[derive(Clone, Debug)]
pub(crate) struct Group<const LANES: usize> {
    /// The parts begin at 1; before and after is one that merges with nothing.
    parts: [[Id; PARTS]; PIECES],
    counts: [usize; PIECES],
    /// What the caller calls each piece.
    names: [usize; PIECES],
    len: usize,
}

/// Room for the parts of a piece and its edges.
const PARTS: usize = 64;

const EDGE: Id = Narrow::ID_LIMIT;

impl<const LANES: usize> Default for Group<LANES> {
    fn default() -> Self {
        Self { parts: [[EDGE; PARTS]; PIECES], counts: [0; PIECES], names: [0; PIECES], len: 0 }
    }
}

impl<const LANES: usize> Group<LANES> {
    /// Parts that a piece has at most: it has a lane for each, and with its edges a bit of a word.
    const PARTS_MAX: usize = if LANES < PARTS { LANES - 1 } else { PARTS - 2 };

    /// Takes a piece where there is room; returns false if it begins with too many parts.
    #[inline]
    pub(crate) fn put(&mut self, name: usize, model: &BpeModel, piece: &[u8]) -> bool {
        let parts = &mut self.parts[self.len];
        let mut count = 0;
        model.parts(piece, |part| {
            count += 1;
            if count <= Self::PARTS_MAX {
                parts[count] = part;
            }
        });
        if count > Self::PARTS_MAX {
            return false;
        }
        self.end(name, count);
        true
    }

    /// Takes a piece by its parts, where there is room.
    fn put_parts(&mut self, name: usize, parts: &[Id]) {
        self.parts[self.len][1..=parts.len()].copy_from_slice(parts);
        self.end(name, parts.len());
    }

    /// Ends what is next: so many parts.
    #[inline]
    fn end(&mut self, name: usize, count: usize) {
        self.parts[self.len][count + 1] = EDGE;
        (self.counts[self.len], self.names[self.len]) = (count, name);
        self.len += 1;
    }

    /// The parts of the piece that was put last.
    fn last(&self) -> &[Id] {
        &self.parts[self.len - 1][1..=self.counts[self.len - 1]]
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len == PIECES
    }

    /// Merges all pieces, calls `each` with the name and the ids of each, and is empty again.
    pub(crate) fn settle(&mut self, pairs: &Narrow, mut each: impl FnMut(usize, PaddedIds)) {
        if self.len == 0 {
            return;
        }
        self.merge(pairs);
        for piece in 0..self.len {
            each(self.names[piece], PaddedIds::new(&self.parts[piece][1..], self.counts[piece]));
        }
        (self.counts, self.len) = ([0; PIECES], 0);
    }

    fn merge(&mut self, pairs: &Narrow) {
        self.merge_with(SimdLevel::detect(), pairs);
    }

    /// Merges all by instructions that this machine has.
    fn merge_with(&mut self, level: SimdLevel, pairs: &Narrow) {
        match level.kind() {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 => unsafe { self.merge_by_avx512(pairs) },
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx2 => unsafe { self.merge_by_avx2(pairs) },
            SimdKind::Baseline => {
                self.merge_by(pairs, |lanes| lanes.0.into_iter().fold(NONE, u32::min));
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx512,
        fn merge_by_avx512(&mut self, pairs: &Narrow) {
            self.merge_by(pairs, |lanes| avx512::lowest(lanes));
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx2,
        fn merge_by_avx2(&mut self, pairs: &Narrow) {
            self.merge_by(pairs, |lanes| avx2::lowest(lanes));
        }
    }

    #[inline(always)]
    fn merge_by(&mut self, pairs: &Narrow, lowest: impl Fn(&Lanes<LANES>) -> u32) {
        let mut lanes = [Lanes([NONE; LANES]); PIECES];
        let mut left = [0_u64; PIECES];
        for piece in 0..self.len {
            let (parts, count) = (&self.parts[piece], self.counts[piece]);
            let ranks = &mut lanes[piece].0;
            for ((rank, pair), at) in
                ranks[1..].iter_mut().zip(parts[1..=count].windows(2)).zip(1..)
            {
                *rank = lane(pairs.narrow_first(pair[0], pair[1]), at);
            }
            // The edges are left too: every part has a neighbour.
            left[piece] = u64::MAX >> (PARTS - 2 - count);
        }
        // The pieces that go on merging are the first so many of the joins.
        let mut joins: [Join; PIECES] = std::array::from_fn(Join::of);
        let mut busy = self.len;
        while busy > 0 {
            // One join in every piece, and the ranks of its new pairs are asked for; then they are
            // there, or nearly.
            let mut going_on = 0;
            for number in 0..busy {
                let piece = joins[number].piece % PIECES;
                let lowest = lowest(&lanes[piece]);
                if lowest >= lane(Narrow::RANK_LIMIT, 0) {
                    continue;
                }
                let (at, joined) = (lowest % PARTS as u32, lowest >> PLACE_BITS);
                let (left, parts) = (&mut left[piece], &mut self.parts[piece]);
                let gone = (*left & u64::MAX << at << 1).trailing_zeros() % PARTS as u32;
                *left &= !(1 << gone);
                let after = (*left & u64::MAX << gone).trailing_zeros() % PARTS as u32;
                let before = 63 - (*left & ((1 << at) - 1)).leading_zeros() % PARTS as u32;
                parts[at as usize] = joined;
                let with_after = pairs.ask(joined, parts[after as usize]);
                let with_before = pairs.ask(parts[before as usize], joined);
                joins[going_on] = Join { piece, gone, at, before, with_after, with_before };
                going_on += 1;
            }
            busy = going_on;
            for join in &joins[..busy] {
                // In this order: what is at the edge, or gone, has no rank.
                let ranks = &mut lanes[join.piece % PIECES].0;
                let (at, before) = (join.at, join.before);
                ranks[at as usize % LANES] = lane(pairs.narrow_answer(join.with_after), at);
                ranks[before as usize % LANES] =
                    lane(pairs.narrow_answer(join.with_before), before);
                ranks[join.gone as usize % LANES] = NONE;
            }
        }
        for (piece, left) in left.into_iter().enumerate() {
            let (parts, count) = (&mut self.parts[piece], &mut self.counts[piece]);
            let mut rest = left & !1 & !(1 << (*count + 1));
            *count = 0;
            while rest != 0 {
                *count += 1;
                parts[*count] = parts[rest.trailing_zeros() as usize % PARTS];
                rest &= rest - 1;
            }
        }
    }
}

/// A join of two parts, and what is asked about the pairs that it makes.
#[derive(Clone, Copy)]
struct Join {
    piece: usize,
    /// The part that was joined to the one at `at`, and the part before that.
    gone: u32,
    at: u32,
    before: u32,
    with_after: Asked<u64>,
    with_before: Asked<u64>,
}

impl Join {
    /// None yet, in a piece.
    fn of(piece: usize) -> Self {
        let asked = Asked::default();
        Self { piece, gone: 0, at: 0, before: 0, with_after: asked, with_before: asked }
    }
}

/// In a lane, the rank is above the place of the pair; where no pair merges, it is not below the limit.
const PLACE_BITS: u32 = PARTS.ilog2();
const NONE: u32 = u32::MAX;

const _: () =
    assert!(2 * Narrow::RANK_LIMIT <= 1 << (u32::BITS - PLACE_BITS), "both are one number");

#[inline(always)]
fn lane(rank: Id, at: u32) -> u32 {
    rank << PLACE_BITS | at
}

/// The lanes of one piece. They lie in memory: one is set by a store, which is done long before all of
/// them are read again, as the other pieces have their turn in between.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes<const LANES: usize>([u32; LANES]);

/// Sixteen lanes a vector.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_min_epu32, _mm512_reduce_min_epu32, _mm512_set1_epi32,
    };

    use super::Lanes;
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx512,
        #[inline]
        pub(super) fn lowest<const LANES: usize>(Lanes(lanes): &Lanes<LANES>) -> u32 {
            let mut lowest = _mm512_set1_epi32(-1);
            for sixteen in lanes.as_chunks::<16>().0 {
                // SAFETY: sixteen lanes are read from where there are as many.
                #[allow(unsafe_code)]
                let ranks = unsafe { _mm512_loadu_si512(sixteen.as_ptr().cast()) };
                lowest = _mm512_min_epu32(lowest, ranks);
            }
            _mm512_reduce_min_epu32(lowest)
        }
    }
}

/// Eight lanes a vector.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        _mm_cvtsi128_si32, _mm_min_epu32, _mm_shuffle_epi32, _mm256_castsi256_si128,
        _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_min_epu32, _mm256_set1_epi32,
    };

    use super::Lanes;
    use crate::sys::simd_level::simd_fn;

    simd_fn! { avx2,
        #[inline]
        pub(super) fn lowest<const LANES: usize>(Lanes(lanes): &Lanes<LANES>) -> u32 {
            let mut lowest = _mm256_set1_epi32(-1);
            for eight in lanes.as_chunks::<8>().0 {
                // SAFETY: eight lanes are read from where there are as many.
                #[allow(unsafe_code)]
                let ranks = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
                lowest = _mm256_min_epu32(lowest, ranks);
            }
            let (low, high) = (_mm256_castsi256_si128(lowest), _mm256_extracti128_si256::<1>(lowest));
            let lowest = _mm_min_epu32(low, high);
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

    fn merged<const LANES: usize>(
        model: &BpeModel,
        pieces: &[Vec<u8>],
        level: SimdLevel,
    ) -> Vec<Vec<Id>> {
        let pairs = model.pairs().narrow().unwrap();
        let mut group = Group::<LANES>::default();
        for (name, piece) in pieces.iter().enumerate() {
            assert!(group.put(name, model, piece));
        }
        group.merge_with(level, pairs);
        (0..pieces.len()).map(|at| group.parts[at][1..=group.counts[at]].to_vec()).collect()
    }

    #[test]
    fn all_simd_levels_merge_as_the_scan_does() {
        let mut random = Random(9);
        for round in 0..2000 {
            let letters = 2 + random.below(3);
            let mut spell = |least: usize, most: usize| -> Vec<u8> {
                let length = least + random.below(most - least);
                (0..length).map(|_| b"abcd"[random.below(letters)]).collect()
            };
            let tokens: std::collections::BTreeSet<Vec<u8>> =
                (0..30).map(|_| spell(2, 7)).collect();
            let tokens: Vec<String> =
                tokens.into_iter().map(|token| String::from_utf8(token).unwrap()).collect();
            let model = model_of(tokens.iter().map(String::as_str));
            let most = [16, 32, 63][round % 3];
            let pieces: Vec<Vec<u8>> = (0..1 + round % PIECES).map(|_| spell(1, most)).collect();
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
                let found = match most {
                    16 => merged::<16>(&model, &pieces, level),
                    32 => merged::<32>(&model, &pieces, level),
                    _ => merged::<64>(&model, &pieces, level),
                };
                assert_eq!(found, expected, "{level:?}, {pieces:?}");
            }
        }
    }
}
