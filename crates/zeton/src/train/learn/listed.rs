//! A pair with a list, and what is done with many of them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use super::pair::Pair;
use crate::sys::error::Error;
use crate::sys::progress::Pace;

/// A pair and its list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Listed {
    pub(super) pair: Pair,
    /// How often the pair occurs, or did at some time.
    pub(super) count: u64,
    /// Where the list starts, and how many places it has.
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Ord for Listed {
    /// The one to be joined first is the greatest.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (self.count, Reverse(self.pair)).cmp(&(other.count, Reverse(other.pair)))
    }
}

impl PartialOrd for Listed {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Listed {
    /// Returns where its list is.
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }

    /// Returns the bytes that it takes: in the heap and in the table, as they grow, and its places.
    pub(super) fn bytes(&self) -> usize {
        PAIR_BYTES + self.len as usize * size_of::<u32>()
    }
}

pub(super) const PAIR_BYTES: usize = 80;

/// Pairs that are sorted without a question whether to stop.
const SORTED_AT_ONCE: usize = if cfg!(test) { 4 } else { 1 << 16 };

/// Calls `take` with all pairs in the order of their lists.
///
/// # Errors
///
/// When somebody asked to stop.
pub(super) fn each_by_start(
    listed: &mut [Listed],
    pace: &mut Pace<'_>,
    mut take: impl FnMut(&mut Listed),
) -> Result<(), Error> {
    for run in listed.chunks_mut(SORTED_AT_ONCE) {
        run.sort_unstable_by_key(|one| one.start);
        pace.work(run.len())?;
    }
    let head = |listed: &[Listed], at: usize| Reverse((listed[at].start, at));
    let runs = (0..listed.len()).step_by(SORTED_AT_ONCE);
    let mut heads: BinaryHeap<_> = runs.map(|at| head(listed, at)).collect();
    while let Some(Reverse((_, at))) = heads.pop() {
        pace.work(1 + listed[at].len as usize / 16)?;
        take(&mut listed[at]);
        if !(at + 1).is_multiple_of(SORTED_AT_ONCE) && at + 1 < listed.len() {
            heads.push(head(listed, at + 1));
        }
    }
    Ok(())
}

/// Returns the least count, from `least` on, of which all pairs fit into so many bytes: that of the
/// most frequent at any rate.
///
/// # Errors
///
/// When somebody asked to stop.
pub(super) fn least_that_fits(
    listed: &[Listed],
    least: u64,
    room: usize,
    pace: &mut Pace<'_>,
) -> Result<u64, Error> {
    let most = listed.iter().map(|one| one.count).max();
    let (mut low, mut high) = (least, most.unwrap_or(least).max(least));
    while low < high {
        pace.work(listed.len())?;
        let middle = low + (high - low) / 2;
        let kept = listed.iter().filter(|one| one.count >= middle);
        match kept.map(Listed::bytes).sum::<usize>() <= room {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Ok(high)
}
