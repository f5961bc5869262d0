//! New pieces are merged four at a time: while one waits for the ranks of its pairs, the others go on.
//!
//! The ranks of a piece's pairs lie in sixteen lanes of a vector, so that the lowest is found at once;
//! parts that are joined leave a gap, and a bit set says which are left.

use super::pairs::Narrow;
use crate::vocab::{Id, Vocab};

/// Pieces that are merged together.
pub(crate) const PIECES: usize = 4;

/// Parts that a piece has at most.
const PARTS_MAX: usize = 15;

/// The parts of four pieces. A piece without parts stays without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// The parts begin at 1; before and after is one that merges with nothing.
    parts: [[Id; PARTS_MAX + 2]; PIECES],
    counts: [usize; PIECES],
}

const EDGE: Id = Narrow::ID_LIMIT;

/// A lane: the rank above the place of the pair. All bits are set where no pair merges.
type Lanes = [u32; PARTS_MAX + 1];
const NONE: u32 = u32::MAX;

impl Group {
    pub(crate) const EMPTY: Self =
        Self { parts: [[EDGE; PARTS_MAX + 2]; PIECES], counts: [0; PIECES] };

    /// Puts what merging a piece begins with in one of the places; returns false if it is too much.
    pub(crate) fn put(&mut self, place: usize, vocab: &Vocab, piece: &[u8]) -> bool {
        let parts = &mut self.parts[place];
        let mut count = 0;
        vocab.parts(piece, |part| {
            count += 1;
            if count <= PARTS_MAX {
                parts[count] = part;
            }
        });
        if count > PARTS_MAX {
            return false;
        }
        parts[count + 1] = EDGE;
        self.counts[place] = count;
        true
    }

    /// Returns the parts of a piece.
    pub(crate) fn parts(&self, place: usize) -> &[Id] {
        &self.parts[place][1..=self.counts[place]]
    }

    /// Merges all.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn merge(&mut self, pairs: &Narrow) {
        // SAFETY: each is called where the machine has what it asks for.
        #[allow(unsafe_code)]
        if is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("lzcnt") {
            unsafe { self.merge_by_avx512(pairs) }
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("lzcnt") {
            unsafe { self.merge_by_avx2(pairs) }
        } else {
            self.merge_by(pairs);
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn merge(&mut self, pairs: &Narrow) {
        self.merge_by(pairs);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,bmi1,bmi2,lzcnt")]
    fn merge_by_avx512(&mut self, pairs: &Narrow) {
        self.merge_by(pairs);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    fn merge_by_avx2(&mut self, pairs: &Narrow) {
        self.merge_by(pairs);
    }

    #[inline(always)]
    fn merge_by(&mut self, pairs: &Narrow) {
        let mut lanes = [[NONE; PARTS_MAX + 1]; PIECES];
        let mut left = [0_u32; PIECES];
        for piece in 0..PIECES {
            let (parts, count) = (&self.parts[piece], self.counts[piece]);
            for at in 1..count {
                lanes[piece][at] = lane(pairs.rank(parts[at], parts[at + 1]), at as u32);
            }
            // The edges are left too: every part has a neighbour.
            left[piece] = (1 << (count + 2)) - 1;
        }
        let mut busy = (1_u32 << PIECES) - 1;
        while busy != 0 {
            for piece in 0..PIECES {
                let lowest = lowest(&lanes[piece]);
                if lowest == NONE {
                    busy &= !(1 << piece);
                    continue;
                }
                let (at, joined) = (lowest & 15, lowest >> 4);
                let (left, parts) = (&mut left[piece], &mut self.parts[piece]);
                let gone = (*left & u32::MAX << (at + 1)).trailing_zeros();
                *left &= !(1 << gone);
                let after = (*left & u32::MAX << gone).trailing_zeros();
                let before = 31 - (*left & ((1 << at) - 1)).leading_zeros();
                parts[at as usize & 15] = joined;
                let with_after = pairs.rank(joined, parts[after as usize % (PARTS_MAX + 2)]);
                let with_before = pairs.rank(parts[before as usize & 15], joined);
                let lanes = &mut lanes[piece];
                set(lanes, gone, NONE);
                set(lanes, at, lane(with_after, at));
                set(lanes, before, lane(with_before, before));
            }
        }
        for (piece, left) in left.into_iter().enumerate() {
            let (parts, count) = (&mut self.parts[piece], &mut self.counts[piece]);
            let mut rest = left & !1 & !(1 << (*count + 1));
            *count = 0;
            while rest != 0 {
                *count += 1;
                parts[*count] = parts[rest.trailing_zeros() as usize % (PARTS_MAX + 2)];
                rest &= rest - 1;
            }
        }
    }
}

#[inline(always)]
fn lane(rank: Id, at: u32) -> u32 {
    if rank == Id::MAX { NONE } else { rank << 4 | at }
}

#[inline(always)]
fn lowest(lanes: &Lanes) -> u32 {
    lanes.iter().fold(NONE, |lowest, &lane| lowest.min(lane))
}

/// Sets one of the lanes, none if it has no such place. All are written: a vector is not stored and
/// read back in parts.
#[inline(always)]
fn set(lanes: &mut Lanes, at: u32, value: u32) {
    for (number, lane) in (0..).zip(lanes) {
        *lane = if number == at { value } else { *lane };
    }
}
