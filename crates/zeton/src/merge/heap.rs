//! Merges a long sequence of parts with a priority queue: lowest rank first, then leftmost.
//!
//! Each merge takes O(log n), where the scan takes O(n). The parts form a doubly linked list over
//! their original positions. For example, with `ab` of rank 256 and `abc` of rank 257, the piece
//! `abcab`:
//!
//! ```text
//!  position   0    1    2    3    4        queue (rank, position)
//!  parts      a    b    c    a    b        (256, 0) (256, 3)
//!             ab   -    c    a    b        (256, 3) (257, 0)      after the first merge
//!             ab   -    c    ab   -        (257, 0)
//!             abc  -    -    ab   -        empty
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pair_table::PairTable;
use crate::vocab::Id;

/// One merge: two adjacent parts become one. Positions count the initial parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MergeStep {
    /// The first position of the left part.
    pub start: usize,
    /// The end of the left part and the first position of the right part.
    pub middle: usize,
    /// The end of the right part.
    pub end: usize,
    /// The id of the left part.
    pub left: Id,
    /// The id of the right part.
    pub right: Id,
    /// The id of the merged part, which is also the rank of the merge.
    pub id: Id,
}

/// The scratch buffers of a merge. An entry of the queue whose pair no longer exists is skipped
/// when it is popped, because removing it earlier would need a search.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    /// One entry for each pair: the rank in the high 32 bits, the position of its left part in the
    /// low 32 bits.
    queue: BinaryHeap<Reverse<u64>>,
    /// The rank of each part with its right neighbour; `Id::MAX` if that pair does not merge.
    ranks: Vec<Id>,
    /// The position of each part's left neighbour; `usize::MAX` before the first.
    left: Vec<usize>,
    /// The position of each part's right neighbour; the number of parts after the last.
    right: Vec<usize>,
}

impl Heap {
    /// Merges `parts` in place, for `MergeBuffers::merge` when a scan needs too many passes. There
    /// are fewer than 2³² parts, because no longer text is encoded.
    pub(super) fn merge(&mut self, pairs: &PairTable, parts: &mut Vec<Id>) {
        self.merge_with(pairs, parts, |_| ());
    }

    /// Merges `parts` in place and calls `visit` with each merge, in order. `merge_with_steps`
    /// calls it for explanations.
    #[inline]
    pub(super) fn merge_with(
        &mut self,
        pairs: &PairTable,
        parts: &mut Vec<Id>,
        mut visit: impl FnMut(MergeStep),
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
        self.queue.clear();
        self.queue.extend(ranked.map(|(&rank, at)| Reverse(u64::from(rank) << 32 | at)));

        while let Some(Reverse(pair)) = self.queue.pop() {
            let (rank, at) = ((pair >> 32) as Id, pair as u32 as usize);
            if self.ranks[at] != rank {
                continue;
            }
            let removed = self.right[at];
            let (left, right) = (parts[at], parts[removed]);
            visit(MergeStep {
                start: at,
                middle: removed,
                end: self.right[removed],
                left,
                right,
                id: rank,
            });
            parts[at] = rank;
            parts[removed] = Id::MAX;
            self.ranks[removed] = Id::MAX;
            let right = self.right[removed];
            self.right[at] = right;
            if right < count {
                self.left[right] = at;
            }
            self.push_pair(pairs, parts, at);
            let left = self.left[at];
            if left != usize::MAX {
                self.push_pair(pairs, parts, left);
            }
        }
        parts.retain(|&part| part != Id::MAX);
    }

    /// Computes the rank of the part at `at` with its right neighbour, keeps it in `ranks`, and
    /// queues the pair if it merges.
    fn push_pair(&mut self, pairs: &PairTable, parts: &[Id], at: usize) {
        let rank = match parts.get(self.right[at]) {
            Some(&right) => pairs.rank(parts[at], right),
            None => Id::MAX,
        };
        self.ranks[at] = rank;
        if rank != Id::MAX {
            self.queue.push(Reverse(u64::from(rank) << 32 | at as u64));
        }
    }
}
