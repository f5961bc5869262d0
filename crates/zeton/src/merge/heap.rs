//! Merging many parts: a heap of pairs, lowest rank first, then leftmost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pair_table::PairTable;
use crate::vocab::Id;

/// Two neighbours become one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Join {
    /// Where the left one begins.
    pub start: usize,
    /// Where it ends and the right one begins.
    pub middle: usize,
    /// Where the right one ends.
    pub end: usize,
    /// The id of the left one.
    pub left: Id,
    /// The id of the right one.
    pub right: Id,
    /// The id of both joined, which is also its rank.
    pub id: Id,
}

/// The buffers of a merge. A pair that is no more stays in the heap and is passed over.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    /// The rank above the position, in one number.
    pairs: BinaryHeap<Reverse<u64>>,
    /// The rank of each part joined with its right neighbour; `Id::MAX` where none.
    ranks: Vec<Id>,
    left: Vec<usize>,
    right: Vec<usize>,
}

impl Heap {
    /// Merges `parts` in place; there are fewer than 2³², as in any text that is encoded.
    pub(super) fn merge(&mut self, pairs: &PairTable, parts: &mut Vec<Id>) {
        self.merge_telling(pairs, parts, |_| ());
    }

    /// The same, and tells of each join in order; places are those of the parts at the beginning.
    #[inline]
    pub(super) fn merge_telling(
        &mut self,
        pairs: &PairTable,
        parts: &mut Vec<Id>,
        mut tell: impl FnMut(Join),
    ) {
        let count = parts.len();
        self.left.clear();
        self.left.extend((0..count).map(|at| at.wrapping_sub(1)));
        self.right.clear();
        self.right.extend(1..=count);
        self.ranks.clear();
        self.ranks.extend(parts.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
        self.ranks.push(Id::MAX);
        let ranked = self.ranks.iter().zip(0..).filter(|(rank, _)| **rank != Id::MAX);
        self.pairs.clear();
        self.pairs.extend(ranked.map(|(&rank, at)| Reverse(u64::from(rank) << 32 | at)));

        while let Some(Reverse(pair)) = self.pairs.pop() {
            let (rank, at) = ((pair >> 32) as Id, pair as u32 as usize);
            if self.ranks[at] != rank {
                continue;
            }
            let gone = self.right[at];
            let (left, right) = (parts[at], parts[gone]);
            tell(Join { start: at, middle: gone, end: self.right[gone], left, right, id: rank });
            parts[at] = rank;
            parts[gone] = Id::MAX;
            self.ranks[gone] = Id::MAX;
            let right = self.right[gone];
            self.right[at] = right;
            if right < count {
                self.left[right] = at;
            }
            self.rank(pairs, parts, at);
            let left = self.left[at];
            if left != usize::MAX {
                self.rank(pairs, parts, left);
            }
        }
        parts.retain(|&part| part != Id::MAX);
    }

    /// Ranks a part with its right neighbour anew.
    fn rank(&mut self, pairs: &PairTable, parts: &[Id], at: usize) {
        let rank = match parts.get(self.right[at]) {
            Some(&right) => pairs.rank(parts[at], right),
            None => Id::MAX,
        };
        self.ranks[at] = rank;
        if rank != Id::MAX {
            self.pairs.push(Reverse(u64::from(rank) << 32 | at as u64));
        }
    }
}
