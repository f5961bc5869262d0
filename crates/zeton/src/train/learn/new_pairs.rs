//! Incremental update after a merge: the pairs that it creates and the pairs that it breaks.
//!
//! A merge of (l, o) into 256 changes pairs on both sides of each new token. For example, in the
//! four pieces ` lower` × 2, ` low` × 2, `low` × 1 and ` lowest` × 1:
//!
//! ```text
//! side   neighbour  sum  positions  created pair       broken pair
//! left   ` `        5    3          (32, 256) × 5      (32, 108) falls by 5
//! left   END        1    1          none               none
//! right  `w`        6    4          (256, 119) × 6     (111, 119) falls by 6
//! ```
//!
//! [`NewPairs::update_index`] makes two passes over the neighbours of each side. The first sums up
//! counts and positions by neighbour, the second writes the new lists of positions.
//!
//! Invariant: a pair is created by the merge of its newer token and by no other merge. So each list
//! is complete when it is written, and from then on a pair's count only falls.
//! Cost: time in proportion to the number of replacements, and 16 bytes of memory a token.

use std::mem;

use super::corpus_layout::{CorpusLayout, CountCursor, TokenCell};
use super::pair_index::{PairEntry, PairIndex};
use super::tokens::{TokenPair, TrainingTokens};
use crate::sys::error::Error;
use crate::sys::progress::StopCheck;

/// A pair and the new token that replaces it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairReplacement {
    pub(super) pair: TokenPair,
    pub(super) new_token: u32,
}

/// A side of a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Left,
    Right,
}

impl PairReplacement {
    /// Returns the created and the broken pair where a neighbour stands on a side of the new token.
    ///
    /// For example, with (a, b) → X: `c` to the left creates (c, X) and breaks (c, a). In `abab`
    /// the right neighbour of the first X is X itself: this creates (X, X) and breaks (b, a).
    #[inline]
    pub(super) fn changed_pairs(self, side: Side, neighbour: u32) -> (TokenPair, TokenPair) {
        let (left, right, new_token) = (self.pair.left(), self.pair.right(), self.new_token);
        let old_neighbour = if neighbour == new_token { left } else { neighbour };
        match side {
            Side::Left => (TokenPair::new(neighbour, new_token), TokenPair::new(neighbour, left)),
            Side::Right => {
                (TokenPair::new(new_token, neighbour), TokenPair::new(right, old_neighbour))
            }
        }
    }
}

/// Sums over the neighbours of the new tokens of one merge; the buffers are reused.
pub(super) struct NewPairs {
    /// One sum for each neighbour, by [`TokenCell::slot`]: slot 0 is for ends of pieces. All sums
    /// are zero between merges.
    sums: Vec<NeighbourSum>,
    /// The slots with a sum, in the order of their first position.
    touched: Vec<u32>,
}

/// The sum over all places where one token is the neighbour of a new token.
#[derive(Clone, Copy, Default)]
struct NeighbourSum {
    /// How often the neighbour occurs, by the counts of pieces.
    count: u64,
    /// First the number of positions; from [`NewPairs::insert_frequent`] on, how many cells before
    /// the new token the created pair begins. One field keeps a sum at 16 bytes.
    positions_or_offset: u32,
    /// Where the next position of the list is written; [`NO_LIST`] for a pair without a list.
    write_at: u32,
}

/// The value of `write_at` for a pair that is too rare or too long, or for an end of a piece.
const NO_LIST: u32 = u32::MAX;

impl NewPairs {
    /// Allocates one sum for each of the first `tokens` tokens, and one for ends of pieces.
    pub(super) fn new(tokens: usize) -> Self {
        Self { sums: vec![NeighbourSum::default(); tokens + 1], touched: Vec::new() }
    }

    /// Allocates the sum of a token that training has just added, so that sums can be indexed by
    /// token.
    pub(super) fn add_token(&mut self) {
        self.sums.push(NeighbourSum::default());
    }

    /// Inserts the created pairs of a merge into the index, and lowers the counts of broken pairs.
    ///
    /// `merged` is the merged pair's entry. Its list begins with the positions of the replacements,
    /// as [`CorpusLayout::replace_pair`] leaves them.
    ///
    /// # Errors
    ///
    /// When the index has too many positions, or a stop was requested.
    pub(super) fn update_index<C: TokenCell>(
        &mut self,
        (replacement, merged): (PairReplacement, &PairEntry),
        corpus: &CorpusLayout<C>,
        tokens: &TrainingTokens<'_>,
        index: &mut PairIndex,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<(), Error> {
        for side in [Side::Left, Side::Right] {
            let neighbours = corpus.neighbours(side);
            let positions = index.positions_mut(merged);
            self.sum_neighbours(neighbours, positions, corpus.count_cursor(), stop_check)?;
            let end = self.insert_frequent(replacement, side, tokens, index, stop_check)?;
            let (positions, new_lists) = index.extend_positions(end, merged)?;
            self.write_positions(neighbours, positions, new_lists, stop_check)?;
            for slot in self.touched.drain(..) {
                self.sums[slot as usize] = NeighbourSum::default();
            }
        }
        Ok(())
    }

    /// Sums up the count and the number of positions of each neighbour. It writes `sums` and
    /// `touched`, and no part of the index.
    fn sum_neighbours<C: TokenCell>(
        &mut self,
        neighbours: &[C],
        positions: &[u32],
        mut counts: CountCursor<'_>,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<(), Error> {
        for (&cell, &position) in neighbours.iter().zip(positions) {
            stop_check.count_steps(1)?;
            let sum = &mut self.sums[cell.slot()];
            if sum.positions_or_offset == 0 {
                self.touched.push(cell.slot() as u32);
            }
            sum.count += counts.count_at(position);
            sum.positions_or_offset += 1;
        }
        Ok(())
    }

    /// Inserts the created pairs that are frequent enough, and lowers the counts of broken pairs.
    ///
    /// Returns the end of the new lists; their positions are not written yet.
    fn insert_frequent(
        &mut self,
        replacement: PairReplacement,
        side: Side,
        tokens: &TrainingTokens<'_>,
        index: &mut PairIndex,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<usize, Error> {
        let start = index.positions_end();
        let mut end = start;
        for &slot in &self.touched {
            stop_check.count_steps(8)?;
            let sum = &mut self.sums[slot as usize];
            let len = mem::take(&mut sum.positions_or_offset);
            sum.write_at = NO_LIST;
            let Some(token) = slot.checked_sub(1) else { continue };
            if side == Side::Left {
                sum.positions_or_offset = tokens.lengths()[token as usize];
            }
            let (created, broken) = replacement.changed_pairs(side, token);
            index.lower_count(broken, sum.count);
            let entry = PairEntry { pair: created, count: sum.count, start: end as u32, len };
            if tokens.is_short_enough(created) && index.insert(entry) {
                sum.write_at = (end - start) as u32;
                end += len as usize;
            }
        }
        Ok(end)
    }

    /// Writes the positions of all new lists.
    ///
    /// The loop is branch-free: a position of a pair without a list goes to the free slot after the
    /// lists. Positions of a list rise because the replacements' positions do.
    fn write_positions<C: TokenCell>(
        &mut self,
        neighbours: &[C],
        positions: &[u32],
        new_lists: &mut [u32],
        stop_check: &mut StopCheck<'_>,
    ) -> Result<(), Error> {
        let free = new_lists.len() - 1;
        for (&cell, &position) in neighbours.iter().zip(positions) {
            stop_check.count_steps(1)?;
            let sum = &mut self.sums[cell.slot()];
            new_lists[free.min(sum.write_at as usize)] = position - sum.positions_or_offset;
            sum.write_at = sum.write_at.saturating_add(1);
        }
        Ok(())
    }
}
