//! The corpus in memory: all pieces in one array of cells, sorted by falling count.
//!
//! A piece of n bytes takes n cells, with one `END` cell before and after it. A token is stored in
//! its first and in its last cell. A cell is 16 bits wide while all tokens fit, else 32.
//!
//! For example, this corpus has ` lower` and ` low` twice, `low` and ` lowest` once. Two merges
//! make `lo` = 256 and `low` = 257 (`#` is `END`):
//!
//! ```text
//!  position   0  1   2   3   4   5   6   7  8   9   10  11  12 13  14  15  16 17 ..
//!  pieces     #  ` ` l   o   w   e   r   #  ` ` l   o   w   #  l   o   w   #  ` ` l o w e s t #
//!  256 = lo   #  ` ` 256 256 w   e   r   #  ` ` 256 256 w   #  256 256 w   #
//!  257 = low  #  ` ` 257 256 257 e   r   #  ` ` 257 256 257 #  257 256 257 #
//!  count         2 ------------------------------------->   1 ------------------------------->
//! ```
//!
//! - The next token begins a token's length further on; the token before ends one cell back. So a
//!   merge reads and writes the cells around its position only.
//! - Cells inside a token are stale and never read as tokens: position 3 keeps an old 256.
//! - Pieces are sorted by count, so that a piece needs no count of its own: [`CountRuns`] keeps one
//!   count per run of pieces with equal counts.
//!
//! The array is made in two passes over the pieces: [`LayoutPlan`] sums up the cells that each
//! count needs, then [`CorpusLayout::try_from_plan`] writes each piece to its place. Cost: one cell
//! a byte of the distinct pieces, plus one a piece.

use std::collections::BTreeMap;

use super::new_pairs::{PairReplacement, Side};
use super::tokens::{TokenPair, TrainingTokens};
use super::{LearnOptions, PieceCounts, fill};
use crate::sys::error::Error;
use crate::sys::huge_buffer;
use crate::sys::progress::StopCheck;

/// The cells that the pieces of each count need, from a first pass over all pieces.
pub(super) struct LayoutPlan {
    /// For each count the number of its cells, and after [`LayoutPlan::assign_runs`] the position
    /// of its next piece.
    by_count: CountBuckets,
    /// The cells of all pieces, and the `END` cell in front.
    pub(super) cells: u64,
    /// The sum of bytes × count: about how often all pairs of bytes occur.
    pub(super) occurrences: u64,
    /// The number of distinct pieces that are learned from.
    pub(super) pieces: usize,
    /// The number of pieces that are too rare, and the sum of their counts.
    pub(super) left_out: (usize, u64),
    piece_count_min: u64,
}

impl LayoutPlan {
    /// Visits all pieces and sums up their cells: the first of two passes, which allocates no
    /// cells.
    ///
    /// # Errors
    ///
    /// When the cells exceed [`CELLS_MAX`], the occurrences exceed 64 bits, the pieces cannot be
    /// read, or a stop was requested.
    pub(super) fn try_from_pieces(
        pieces: &impl PieceCounts,
        options: &LearnOptions<'_>,
        tokens: &TrainingTokens<'_>,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<Self, Error> {
        let mut plan = Self {
            by_count: CountBuckets { rare: vec![0; COUNT_RARE_MAX], common: BTreeMap::new() },
            cells: 1,
            occurrences: 0,
            pieces: 0,
            left_out: (0, 0),
            piece_count_min: options.piece_count_min.max(1),
        };
        pieces.for_each_piece(&mut |piece, count| {
            stop_check.count_steps(PIECE_WORK + piece.len())?;
            if count < plan.piece_count_min {
                plan.left_out.0 += 1;
                plan.left_out.1 = plan.left_out.1.saturating_add(count);
                return Ok(());
            }
            plan.pieces += 1;
            if tokens.is_single_token(piece) {
                return Ok(());
            }
            let cells = piece.len() as u64 + 1;
            *plan.by_count.bucket_mut(count) += cells;
            plan.cells += cells;
            plan.occurrences = (piece.len() as u64)
                .checked_mul(count)
                .and_then(|occurrences| plan.occurrences.checked_add(occurrences))
                .ok_or(Error::CountsTooLarge)?;
            Ok(())
        })?;
        match plan.cells <= CELLS_MAX {
            true => Ok(plan),
            false => Err(Error::CorpusTooLarge),
        }
    }

    /// Assigns a run of cells to every count; returns each run's first position and its count, by
    /// falling count.
    fn assign_runs(&mut self) -> Vec<(u32, u64)> {
        let (mut next, mut runs) = (1, Vec::new());
        for (count, bucket) in self.by_count.iter_falling() {
            runs.push((next as u32, count));
            next += std::mem::replace(bucket, next);
        }
        runs
    }

    /// Reserves the cells of a piece in the corpus and returns the index of the first. `None` means
    /// that nothing is learned from the piece: it is too rare or a single token.
    fn reserve(&mut self, piece: &[u8], count: u64, tokens: &TrainingTokens<'_>) -> Option<usize> {
        if count < self.piece_count_min || tokens.is_single_token(piece) {
            return None;
        }
        let next = self.by_count.bucket_mut(count);
        let start = *next;
        *next += piece.len() as u64 + 1;
        Some(start as usize)
    }
}

/// The largest number of cells: positions are 32-bit numbers, and the last 16 values stay free for
/// sentinels such as `u32::MAX` at the end of [`CountRuns`].
const CELLS_MAX: u64 = u32::MAX as u64 - 16;

/// Steps of work that visiting a piece counts for, in addition to its bytes: an estimate.
pub(super) const PIECE_WORK: usize = 16;

/// One number for each count of pieces. Nearly all counts are small, and small counts index an
/// array.
struct CountBuckets {
    /// The numbers of counts below [`COUNT_RARE_MAX`]; 0 for a count without pieces.
    rare: Vec<u64>,
    /// The numbers of all higher counts.
    common: BTreeMap<u64, u64>,
}

/// Counts below this number index the array, which takes 512 KiB. Tests use 3, to reach both parts.
const COUNT_RARE_MAX: usize = if cfg!(test) { 3 } else { 1 << 16 };

impl CountBuckets {
    /// Returns the number that is kept for pieces of this count, for the caller to change; it is 0
    /// at first.
    fn bucket_mut(&mut self, count: u64) -> &mut u64 {
        match count < COUNT_RARE_MAX as u64 {
            true => &mut self.rare[count as usize],
            false => self.common.entry(count).or_default(),
        }
    }

    /// Returns each count whose number is not 0 with that number, by falling count, because
    /// frequent pieces come first in the corpus.
    fn iter_falling(&mut self) -> impl Iterator<Item = (u64, &mut u64)> {
        let common = self.common.iter_mut().rev().map(|(&count, number)| (count, number));
        let rare = self.rare.iter_mut().enumerate().rev();
        let rare = rare.map(|(count, number)| (count as u64, number));
        common.chain(rare).filter(|(_, number)| **number > 0)
    }
}

/// The content of a cell: a token's index in as few bits as the vocabulary needs, or `END`.
pub(super) trait TokenCell: Copy + Eq + Send {
    /// The cell before and after each piece, and a cell that begins no token any more.
    const END: Self;

    fn from_token(token: u32) -> Self;
    fn token(self) -> u32;

    /// Returns an index for arrays with one entry a token: 0 for `END`, else the token plus one.
    fn slot(self) -> usize;
}

macro_rules! token_cell {
    ($bits:ty) => {
        impl TokenCell for $bits {
            const END: Self = Self::MAX;

            #[inline(always)]
            fn from_token(token: u32) -> Self {
                token as Self
            }

            #[inline(always)]
            fn token(self) -> u32 {
                self.into()
            }

            #[inline(always)]
            fn slot(self) -> usize {
                self.wrapping_add(1) as usize
            }
        }
    };
}
token_cell!(u16);
token_cell!(u32);

/// All pieces as cells, and the counts of the pieces.
pub(super) struct CorpusLayout<C> {
    cells: Vec<C>,
    counts: CountRuns,
    /// The left and the right neighbour of each token that the last merge made, in text order.
    lefts: Vec<C>,
    rights: Vec<C>,
}

/// How many positions ahead their cells are prefetched: a list of positions jumps through the
/// corpus, so that each cell is likely a cache miss.
const PREFETCH_DISTANCE: usize = 16;

/// Positions that are filtered before the first of them is merged. The block of 2 KiB stays in the
/// L1 cache between the two loops. Tests use 2, to reach the border between blocks.
const FILTER_BLOCK: usize = if cfg!(test) { 2 } else { 512 };

impl<C: TokenCell> CorpusLayout<C> {
    /// Writes all pieces to the cells that the plan assigns.
    ///
    /// # Errors
    ///
    /// When the pieces cannot be read, or a stop was requested.
    pub(super) fn try_from_plan(
        pieces: &impl PieceCounts,
        mut plan: LayoutPlan,
        tokens: &TrainingTokens<'_>,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<Self, Error> {
        let counts = CountRuns::new(plan.assign_runs(), plan.cells as usize);
        let mut cells = huge_buffer::vec_with_capacity(plan.cells as usize);
        fill(&mut cells, plan.cells as usize, C::END, stop_check)?;
        let mut buffers = Default::default();
        pieces.for_each_piece(&mut |piece, count| {
            stop_check.count_steps(PIECE_WORK + piece.len())?;
            if let Some(start) = plan.reserve(piece, count, tokens) {
                let cells = &mut cells[start..start + piece.len()];
                tokens.for_each_initial_token(piece, &mut buffers, |first, last, token| {
                    (cells[first], cells[last]) = (C::from_token(token), C::from_token(token));
                });
            }
            Ok(())
        })?;
        Ok(Self { cells, counts, lefts: Vec::new(), rights: Vec::new() })
    }

    /// Returns the memory of the cells and of the counts in bytes, which training subtracts from
    /// its limit.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.cells[..]) + self.counts.bytes()
    }

    /// Calls `visit` with every pair of the corpus: its position, the pair, and its piece's count.
    ///
    /// Positions rise. `lengths` are the bytes of each token.
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn for_each_pair(
        &self,
        lengths: &[u32],
        stop_check: &mut StopCheck<'_>,
        mut visit: impl FnMut(u32, TokenPair, u64),
    ) -> Result<(), Error> {
        let (mut position, mut counts) = (1, self.counts.cursor());
        while position < self.cells.len() {
            stop_check.count_steps(1)?;
            let left = self.cells[position].token();
            let next = position + lengths[left as usize] as usize;
            let right = self.cells[next];
            if right == C::END {
                // The next piece begins after its `END`.
                position = next + 1;
            } else {
                let pair = TokenPair::new(left, right.token());
                visit(position as u32, pair, counts.count_at(position as u32));
                position = next;
            }
        }
        Ok(())
    }

    /// Replaces a pair by its new token at all listed positions, from left to right.
    ///
    /// Positions rise, and some are stale: another merge took a part of the pair. Returns the
    /// number of replacements; their positions are moved to the front of `positions`, and their
    /// neighbours are kept for [`CorpusLayout::neighbours`].
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn replace_pair(
        &mut self,
        replacement: PairReplacement,
        lengths: &[u32],
        positions: &mut [u32],
        stop_check: &mut StopCheck<'_>,
    ) -> Result<usize, Error> {
        let parts = [replacement.pair.left(), replacement.pair.right()];
        let [left_length, right_length] = parts.map(|token| lengths[token as usize] as usize);
        let ([left, right], joined) =
            (parts.map(C::from_token), C::from_token(replacement.new_token));
        let Self { cells, lefts, rights, .. } = self;
        let (cells, mut replaced) = (&mut cells[..], 0);
        lefts.clear();
        rights.clear();
        for first in (0..positions.len()).step_by(FILTER_BLOCK) {
            let end = positions.len().min(first + FILTER_BLOCK);
            stop_check.count_steps(end - first)?;
            // About half of the positions are stale, so a branch would mispredict. Valid positions
            // move to the front of the block branch-free.
            let mut present = first;
            for at in first..end {
                if let Some(&later) = positions.get(at + PREFETCH_DISTANCE) {
                    huge_buffer::prefetch(&cells[later as usize]);
                }
                let position = positions[at] as usize;
                let is_present =
                    (cells[position] == left) & (cells[position + left_length] == right);
                positions[present] = position as u32;
                present += usize::from(is_present);
            }
            for at in first..present {
                let position = positions[at] as usize;
                // In `aaa`, the replacement of the first two took this position's left part.
                if cells[position] != left {
                    continue;
                }
                let (middle, after) =
                    (position + left_length, position + left_length + right_length);
                let mut before = cells[position - 1];
                if before == joined {
                    // In `abab`, the first new token saw an old `a` to its right; it is new now.
                    // This pair of new tokens is recorded once, as the first one's right neighbour.
                    *rights.last_mut().expect("the token before was replaced in this merge") =
                        joined;
                    before = C::END;
                }
                // Positions of other lists that begin in the middle are stale from now on.
                cells[middle] = C::END;
                (cells[position], cells[after - 1]) = (joined, joined);
                lefts.push(before);
                rights.push(cells[after]);
                positions[replaced] = position as u32;
                replaced += 1;
            }
        }
        Ok(replaced)
    }

    /// Returns the neighbour of each token that the last merge made, `END` where there is none.
    ///
    /// If two new tokens are neighbours, only the left one has the other as its neighbour, so that
    /// their pair is counted once.
    pub(super) fn neighbours(&self, side: Side) -> &[C] {
        match side {
            Side::Left => &self.lefts,
            Side::Right => &self.rights,
        }
    }

    /// Returns a cursor, borrowed from this layout, that finds the counts of pieces at rising
    /// positions.
    pub(super) fn count_cursor(&self) -> CountCursor<'_> {
        self.counts.cursor()
    }
}

/// Run-length coded counts: the first position of each run of pieces with equal counts.
///
/// The header's example has the runs `(1, 2), (13, 1), (u32::MAX, 0)`.
struct CountRuns {
    /// Each run's first position and its count; the last entry ends the last run.
    runs: Vec<(u32, u64)>,
    /// The run of every [`CELLS_PER_MARK`]th cell: a search starts there.
    marks: Vec<u32>,
}

/// Cells between two marks. A mark of 4 bytes adds at most 1.6 % to the memory of 128 cells. A
/// search visits at most 43 runs, because a piece takes 3 cells or more. Tests use 4, to reach more
/// marks.
const CELLS_PER_MARK: u32 = if cfg!(test) { 4 } else { 128 };

impl CountRuns {
    /// Indexes runs in the order of their positions. `cells` is the number of cells, which decides
    /// the number of marks.
    fn new(mut runs: Vec<(u32, u64)>, cells: usize) -> Self {
        runs.push((u32::MAX, 0));
        let mut run = 0;
        let marks = (0..cells as u32).step_by(CELLS_PER_MARK as usize).map(|position| {
            while runs[run + 1..].first().is_some_and(|next| next.0 <= position) {
                run += 1;
            }
            run as u32
        });
        let marks = marks.collect();
        Self { runs, marks }
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.runs[..]) + size_of_val(&self.marks[..])
    }

    fn cursor(&self) -> CountCursor<'_> {
        CountCursor { counts: self, count: 0, end: 0 }
    }
}

/// Finds the counts of pieces at rising positions; it searches only when a run ends.
pub(super) struct CountCursor<'s> {
    counts: &'s CountRuns,
    /// The count of the current run.
    count: u64,
    /// The first position after the current run.
    end: u32,
}

impl CountCursor<'_> {
    /// Returns the count of the piece at a position, which is not below the one before.
    #[inline(always)]
    pub(super) fn count_at(&mut self, position: u32) -> u64 {
        if position >= self.end {
            self.seek(position);
        }
        self.count
    }

    /// Moves to the run of a position, from the nearest mark before it. `count_at` calls it when
    /// the current run ends.
    #[inline]
    fn seek(&mut self, position: u32) {
        let CountRuns { runs, marks } = self.counts;
        let mut run = marks[(position / CELLS_PER_MARK) as usize] as usize;
        while runs[run + 1].0 <= position {
            run += 1;
        }
        (self.count, self.end) = (runs[run].1, runs[run + 1].0);
    }
}
