//! The least count for which a pair gets a list of positions.
//!
//! Most pairs are rare and never merged, so that their lists would be a waste of memory. The
//! learner guesses the count of the last merge and lists no rarer pairs. Any guess gives equal
//! merges: a low one costs memory, a high one a recount of all pairs once no listed pair is left.
//! For example, 10,000,000 occurrences, 256 tokens and 1,000 merges start at 10,000,000 / 64 /
//! 1,256 = 124.

use super::LearnedMerge;

/// A guess of the last merge's count, refined as merges are learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinCount {
    count: u64,
    merges_max: usize,
    /// The number of merges at which the next refinement is due.
    refine_at: usize,
}

/// The first guess is this fraction of the mean count of pairs, if there were as many pairs as
/// tokens. It is low on purpose: raising it later is cheap, lowering it recounts all pairs.
const MEAN_COUNT_FRACTION: u64 = 64;

/// Merges before the first refinement, because a slope over fewer merges says little. Tests use 4.
const MERGES_MIN: usize = if cfg!(test) { 4 } else { 64 };

impl MinCount {
    /// Guesses from the occurrences of all pairs, the number of tokens, and the merges to learn.
    pub(super) fn new(occurrences: u64, tokens: usize, merges_max: usize) -> Self {
        let mean_count = occurrences / MEAN_COUNT_FRACTION / (tokens + merges_max) as u64;
        Self::from_count(mean_count, merges_max)
    }

    /// Makes a guess of `count`, or of 1 if it is 0, for training that learns at most `merges_max`
    /// merges.
    pub(super) fn from_count(count: u64, merges_max: usize) -> Self {
        let refine_at = (merges_max / 64).max(MERGES_MIN);
        Self { count: count.max(1), merges_max, refine_at }
    }

    /// Returns the least count of a pair for which the index of pairs keeps a list of positions.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of merges to learn at most.
    pub(super) fn merges_max(&self) -> usize {
        self.merges_max
    }

    /// Lowers the guess to a quarter, because no pair with a count of `index_min` or more is left.
    ///
    /// The index may have dropped pairs above the guess for want of memory; then the guess stays.
    pub(super) fn lower(&mut self, index_min: u64) {
        if index_min <= self.count {
            self.count = (self.count / 4).max(1);
        }
    }

    /// Raises the guess if the merges so far predict a higher last count; returns whether it rose.
    ///
    /// The estimate assumes a power law: counts fall as a power of the number of merges. The slope
    /// is that of the last half of the merges, at least 0.5, and 1.2 times as steep, because counts
    /// fall faster later on. Half of the estimate is taken, as a margin.
    ///
    /// For example, 64 of 1,024 merges are learned; the 33rd had count 2,000 and the 64th has
    /// 1,000. The slope is 1.2 and the estimate 1,000 × (64/1,024)^1.2 = 35.9. A guess below 17
    /// rises to 17.
    pub(super) fn raise(&mut self, merges: &[LearnedMerge]) -> bool {
        if merges.len() != self.refine_at {
            return false;
        }
        self.refine_at *= 2;
        let [half, last] = [merges.len() / 2, merges.len() - 1].map(|at| merges[at].count as f64);
        let slope = (half / last).log2().max(0.5) * 1.2;
        let estimate = last * (merges.len() as f64 / self.merges_max as f64).powf(slope);
        let is_higher = (estimate / 2.0) as u64 > self.count;
        if is_higher {
            self.count = (estimate / 2.0) as u64;
        }
        is_higher
    }
}
