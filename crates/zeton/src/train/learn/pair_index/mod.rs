//! An inverted index of the corpus: each frequent pair with its count and its list of positions.
//!
//! For example, ` lower` × 2, ` low` × 2, `low` × 1 and ` lowest` × 1 before the first merge, with
//! a least count of 5 and the positions of `corpus_layout`:
//!
//! ```text
//! heap: best first            counts         positions, one array for all lists
//! (l, o) 6   start 3, len 4   (l, o) -> 6    1 8 17 | 2 9 13 18 | 3 10 14 19 | free
//! (o, w) 6   start 7, len 4   (o, w) -> 6    (_, l)   (l, o)      (o, w)
//! (_, l) 5   start 0, len 3   (_, l) -> 5    `_` is a blank
//! ```
//!
//! - A list is written once and complete, because a pair is created by one merge only. Afterwards a
//!   count only falls, and positions of a list only become stale.
//! - So the heap is exact although its entries may be outdated: an outdated entry stands too high,
//!   never too low. [`PairIndex::pop_best`] corrects the head until it is up to date.
//! - Pairs below `count_min` have no entry. When no entry is left, `build` makes the index anew
//!   with a lower `count_min`.
//! - The order of the hash table reaches no result: the heap orders entries by [`PairEntry::cmp`],
//!   in which no two pairs are equal.
//!
//! Cost: about 80 bytes a pair and 4 bytes a position. `bytes_max` bounds their sum, softly: above
//! it the index reclaims dead lists, then raises `count_min`.

mod build;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::mem;
use std::ops::Range;

pub(super) use build::build;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::tokens::{TokenPair, TrainingTokens};
use crate::sys::error::Error;
use crate::sys::progress::StopCheck;

/// A pair in the heap, with its list of positions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PairEntry {
    pub(super) pair: TokenPair,
    /// The pair's count, now or at an earlier time; the current one is never higher.
    pub(super) count: u64,
    /// The first place of the list in the array of positions.
    pub(super) start: u32,
    /// The number of positions.
    pub(super) len: u32,
}

impl Ord for PairEntry {
    /// Orders by count, then by the pair, reversed: the greatest entry is merged first.
    ///
    /// This is the tie rule of rustbpe: of equal counts, the smallest pair of ids goes first. For
    /// example, (108, 111) × 6 is greater than (111, 119) × 6. Indices rise as ids do, so that the
    /// order of [`TokenPair`]s is that of ids.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (self.count, Reverse(self.pair)).cmp(&(other.count, Reverse(other.pair)))
    }
}

impl PartialOrd for PairEntry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PairEntry {
    /// Returns the range of the pair's list in [`PairIndex::positions`].
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }

    /// Returns the memory of the pair in the index in bytes, its list of positions included.
    fn bytes(&self) -> usize {
        PAIR_BYTES + self.len as usize * size_of::<u32>()
    }
}

/// An estimate of a pair's memory without its list: 24 bytes in the heap and 17 in the hash table,
/// both up to twice as large because they grow by doubling.
const PAIR_BYTES: usize = 80;

/// Dead positions below this number are not worth a compaction: 128 KiB. Tests use 8.
const DEAD_MIN: usize = if cfg!(test) { 8 } else { 1 << 15 };

/// All pairs with a count of at least `count_min`.
pub(super) struct PairIndex {
    /// The pairs by count; a count may be outdated, and is too high then.
    heap: BinaryHeap<PairEntry>,
    /// The current count of each pair in the heap.
    counts: HashMap<TokenPair, u64, RandomState>,
    /// The lists, each in rising order, and one free place at the end for
    /// `NewPairs::write_positions`.
    positions: Vec<u32>,
    /// How many positions belong to the list of a pair in the heap.
    live: usize,
    /// Pairs with a lower count have no list.
    count_min: u64,
    /// The soft bound of the index in bytes.
    bytes_max: usize,
}

impl PairIndex {
    /// Makes the index of all pairs with a count of at least `count_min`, from their lists, which
    /// `build` has written to `positions`.
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn try_from_entries(
        entries: Vec<PairEntry>,
        mut positions: Vec<u32>,
        count_min: u64,
        bytes_max: usize,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<Self, Error> {
        let mut counts = HashMap::with_capacity_and_hasher(entries.len(), RandomState::default());
        for entry in &entries {
            counts.insert(entry.pair, entry.count);
            stop_check.count_steps(1)?;
        }
        let live = positions.len();
        positions.push(0);
        Ok(Self { heap: entries.into(), counts, positions, live, count_min, bytes_max })
    }

    /// Returns the least count from which on each pair that may merge has a list of positions.
    pub(super) fn count_min(&self) -> u64 {
        self.count_min
    }

    /// Removes and returns the pair to merge next, and whether another pair has an equal count.
    ///
    /// Returns `None` if no pair with a list is left. The list stays readable until the next
    /// [`PairIndex::reclaim`].
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn pop_best(
        &mut self,
        tokens: &TrainingTokens<'_>,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<Option<(PairEntry, bool)>, Error> {
        if !self.refresh_head(self.count_min, tokens, stop_check)? {
            return Ok(None);
        }
        let best = self.heap.pop().expect("a refreshed head exists");
        self.release(&best);
        Ok(Some((best, self.refresh_head(best.count, tokens, stop_check)?)))
    }

    /// Corrects the head of the heap until it is up to date and allowed; returns whether its count
    /// is at least `count_min`.
    fn refresh_head(
        &mut self,
        count_min: u64,
        tokens: &TrainingTokens<'_>,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<bool, Error> {
        while let Some(mut head) = self.heap.peek().copied().filter(|head| head.count >= count_min)
        {
            stop_check.count_steps(8)?;
            let count = self.count_of(head.pair);
            if count == head.count && tokens.is_allowed(head.pair) {
                return Ok(true);
            }
            self.heap.pop();
            if count < head.count && count >= self.count_min {
                head.count = count;
                self.heap.push(head);
            } else {
                self.release(&head);
            }
        }
        Ok(false)
    }

    /// Returns the current count of a pair in the heap, because its entry there may be outdated. A
    /// pair without a list has 0.
    fn count_of(&self, pair: TokenPair) -> u64 {
        self.counts.get(&pair).copied().unwrap_or(0)
    }

    /// Removes the count of a pair that left the heap, and counts its positions as dead.
    fn release(&mut self, entry: &PairEntry) {
        self.live -= entry.len as usize;
        self.counts.remove(&entry.pair);
    }

    /// Returns the list of positions of a pair that was just popped. The learner replaces the pair
    /// there, and overwrites the list.
    pub(super) fn positions_mut(&mut self, entry: &PairEntry) -> &mut [u32] {
        &mut self.positions[entry.range()]
    }

    /// Subtracts `by` from the count of a pair that a merge has broken, if the pair has a list. Its
    /// entry in the heap becomes outdated, and is corrected when it is popped.
    #[inline]
    pub(super) fn lower_count(&mut self, pair: TokenPair, by: u64) {
        if let Some(count) = self.counts.get_mut(&pair) {
            *count -= by;
        }
    }

    /// Returns the index in [`PairIndex::positions`] where the next list will begin.
    pub(super) fn positions_end(&self) -> usize {
        self.positions.len() - 1
    }

    /// Inserts a new pair if its count is at least `count_min`; returns whether it was inserted.
    ///
    /// Its positions are written afterwards, see [`PairIndex::extend_positions`].
    #[inline]
    pub(super) fn insert(&mut self, entry: PairEntry) -> bool {
        let is_frequent = entry.count >= self.count_min;
        if is_frequent {
            self.counts.insert(entry.pair, entry.count);
            self.heap.push(entry);
        }
        is_frequent
    }

    /// Allocates the positions up to `end` for new lists, which `NewPairs` writes next.
    ///
    /// Returns the list of the merged pair, and the new positions with one free place after them.
    ///
    /// # Errors
    ///
    /// When `end` exceeds 32 bits.
    pub(super) fn extend_positions(
        &mut self,
        end: usize,
        merged: &PairEntry,
    ) -> Result<(&[u32], &mut [u32]), Error> {
        if u32::try_from(end).is_err() {
            return Err(Error::CorpusTooLarge);
        }
        let start = self.positions_end();
        if end >= self.positions.capacity() {
            // An eighth more instead of doubling, because positions are most of the memory.
            self.positions.reserve_exact((end - start).max(start / 8));
        }
        self.live += end - start;
        self.positions.resize(end + 1, 0);
        let (old, new) = self.positions.split_at_mut(start);
        Ok((&old[merged.range()], new))
    }

    /// Raises `count_min` and drops the lists of rarer pairs.
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn raise_count_min(
        &mut self,
        count_min: u64,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<(), Error> {
        self.count_min = self.count_min.max(count_min);
        self.compact(stop_check)
    }

    /// Compacts the lists if many are dead, and drops rare pairs if the index exceeds its bound.
    ///
    /// A third of dead positions is tolerated. An index that stays above three quarters of the
    /// bound is cut to half of it, so that the next merges do not fill it at once.
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn reclaim(&mut self, stop_check: &mut StopCheck<'_>) -> Result<(), Error> {
        let dead = self.positions_end() - self.live;
        let bytes =
            |index: &Self| index.heap.len() * PAIR_BYTES + index.positions.len() * size_of::<u32>();
        let is_full = bytes(self) > self.bytes_max;
        if is_full || dead > DEAD_MIN.max(self.live / 2) {
            self.compact(stop_check)?;
        }
        if is_full && bytes(self) > self.bytes_max / 4 * 3 {
            let entries = self.heap.as_slice();
            let count_min =
                least_count_that_fits(entries, self.count_min, self.bytes_max / 2, stop_check)?;
            self.raise_count_min(count_min, stop_check)?;
        }
        Ok(())
    }

    /// Moves the live lists together, and drops the lists of pairs below `count_min`. It writes the
    /// current count to each entry of the heap, so that none is outdated.
    fn compact(&mut self, stop_check: &mut StopCheck<'_>) -> Result<(), Error> {
        let mut entries = mem::take(&mut self.heap).into_vec();
        for entry in &mut entries {
            stop_check.count_steps(8)?;
            entry.count = self.count_of(entry.pair);
            if entry.count < self.count_min {
                self.release(entry);
            }
        }
        entries.retain(|entry| entry.count >= self.count_min);
        let mut end = 0;
        for_each_by_start(&mut entries, stop_check, |entry| {
            let from = entry.range();
            entry.start = end as u32;
            end += from.len();
            self.positions.copy_within(from, entry.start as usize);
        })?;
        self.positions.truncate(end + 1);
        self.heap = entries.into();
        Ok(())
    }
}

/// Entries that are sorted between two checks for a stop: a few milliseconds of work. Tests use 4,
/// to merge several runs.
const SORT_RUN: usize = if cfg!(test) { 4 } else { 1 << 16 };

/// Calls `visit` with all entries in the order of their lists.
///
/// Runs of entries are sorted one by one and merged by a heap, because sorting millions of entries
/// at once would delay a stop.
///
/// # Errors
///
/// When a stop was requested.
fn for_each_by_start(
    entries: &mut [PairEntry],
    stop_check: &mut StopCheck<'_>,
    mut visit: impl FnMut(&mut PairEntry),
) -> Result<(), Error> {
    for run in entries.chunks_mut(SORT_RUN) {
        run.sort_unstable_by_key(|entry| entry.start);
        stop_check.count_steps(run.len())?;
    }
    let head = |entries: &[PairEntry], at: usize| Reverse((entries[at].start, at));
    let runs = (0..entries.len()).step_by(SORT_RUN);
    let mut heads: BinaryHeap<_> = runs.map(|at| head(entries, at)).collect();
    while let Some(Reverse((_, at))) = heads.pop() {
        stop_check.count_steps(1 + entries[at].len as usize / 16)?;
        visit(&mut entries[at]);
        if !(at + 1).is_multiple_of(SORT_RUN) && at + 1 < entries.len() {
            heads.push(head(entries, at + 1));
        }
    }
    Ok(())
}

/// Returns the least count from `count_min` on whose pairs fit into `bytes_max`.
///
/// If no count does, returns the highest count, so that the most frequent pairs are kept always.
/// For example, pairs of 100 bytes each with the counts 9, 7, 7 and 2 fit into 300 bytes from 3 on.
///
/// # Errors
///
/// When a stop was requested.
fn least_count_that_fits(
    entries: &[PairEntry],
    count_min: u64,
    bytes_max: usize,
    stop_check: &mut StopCheck<'_>,
) -> Result<u64, Error> {
    let count_max = entries.iter().map(|entry| entry.count).max();
    let (mut low, mut high) = (count_min, count_max.unwrap_or(count_min).max(count_min));
    while low < high {
        stop_check.count_steps(entries.len())?;
        let middle = low + (high - low) / 2;
        let kept = entries.iter().filter(|entry| entry.count >= middle);
        match kept.map(PairEntry::bytes).sum::<usize>() <= bytes_max {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Ok(high)
}
