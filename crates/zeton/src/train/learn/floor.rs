//! How often a pair must occur at least to get a list.

use super::Merge;

/// A guess of how often the last pair that is joined occurs.
///
/// Any floor gives the same merges. With a low one, lists are kept of many pairs that are never
/// joined; with a high one, all pairs are counted anew when no list is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor {
    count: u64,
    merges_max: usize,
    /// After so many merges, the guess gets better.
    next: usize,
}

/// The first guess, as a share of what pairs occur on average if there are as many as tokens.
const SHARE: u64 = 64;

/// The least number of merges that tell something about those to come.
const MERGES_MIN: usize = if cfg!(test) { 4 } else { 64 };

impl Floor {
    /// Guesses, from how often all pairs occur, how many tokens there are, and merges to come.
    pub(super) fn new(occurrences: u64, tokens: usize, merges_max: usize) -> Self {
        Self::at(occurrences / SHARE / (tokens + merges_max) as u64, merges_max)
    }

    /// Begins with a given count.
    pub(super) fn at(count: u64, merges_max: usize) -> Self {
        Self { count: count.max(1), merges_max, next: (merges_max / 64).max(MERGES_MIN) }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn merges_max(&self) -> usize {
        self.merges_max
    }

    /// Goes down, as no pair that occurs so often at least is left.
    pub(super) fn lower(&mut self, least: u64) {
        if least <= self.count {
            self.count = (self.count / 4).max(1);
        }
    }

    /// Goes up if the merges so far promise more frequent ones to the end, and tells whether it did.
    ///
    /// Counts fall about as a power of the number of merges, and somewhat faster later. Half of what
    /// that makes of the last one is safe.
    pub(super) fn raise(&mut self, merges: &[Merge]) -> bool {
        if merges.len() != self.next {
            return false;
        }
        self.next *= 2;
        let [half, now] = [merges.len() / 2, merges.len() - 1].map(|at| merges[at].count as f64);
        let slope = (half / now).log2().max(0.5) * 1.2;
        let last = now * (merges.len() as f64 / self.merges_max as f64).powf(slope);
        let is_higher = (last / 2.0) as u64 > self.count;
        if is_higher {
            self.count = (last / 2.0) as u64;
        }
        is_higher
    }
}
