//! Builds the pair index from the corpus: one pass counts all pairs, one writes the positions.
//!
//! ```text
//! corpus --count_pairs--> tallies --count >= count_min--> entries --second pass--> positions
//!              ^                                             |
//!              +---- the next partition of the pairs <-------+
//! ```
//!
//! The tallies of byte pairs are an array of 65,536; for example, (108, 111) has entry 27,759. With
//! an initial vocabulary, or when the index is rebuilt after merges, pairs are many and the tallies
//! a hash table. A table that exceeds its memory keeps half of the pairs, by a bit of their hash,
//! and the other half is counted in another pass. The partition decides the pass that counts a
//! pair, nothing else.
//!
//! Cost: two passes over the corpus while all tallies fit into half of `bytes_max`; each halving
//! adds a pass.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::super::corpus_layout::{CorpusLayout, TokenCell};
use super::super::fill;
use super::super::tokens::{TokenPair, TrainingTokens};
use super::{PairEntry, PairIndex, least_count_that_fits};
use crate::sys::error::Error;
use crate::sys::progress::StopCheck;

/// Builds the index of all allowed pairs with a count of at least `count_min`.
///
/// If they do not fit into `bytes_max`, a higher least count applies, and the index names it.
///
/// # Errors
///
/// When a stop was requested.
pub(in crate::train::learn) fn build<C: TokenCell>(
    corpus: &CorpusLayout<C>,
    tokens: &TrainingTokens<'_>,
    count_min: u64,
    bytes_max: usize,
    stop_check: &mut StopCheck<'_>,
) -> Result<PairIndex, Error> {
    match tokens.len() {
        256 => build_with::<C, BytePairTallies>(corpus, tokens, count_min, bytes_max, stop_check),
        _ => build_with::<C, HashedPairTallies>(corpus, tokens, count_min, bytes_max, stop_check),
    }
}

/// Builds the index with one kind of tallies: an array for pairs of bytes, a hash table otherwise.
/// It reads the corpus to count the pairs, then again to write their lists.
fn build_with<C: TokenCell, T: PairTallies>(
    corpus: &CorpusLayout<C>,
    tokens: &TrainingTokens<'_>,
    count_min: u64,
    bytes_max: usize,
    stop_check: &mut StopCheck<'_>,
) -> Result<PairIndex, Error> {
    let (mut entries, count_min) =
        find_frequent_pairs::<C, T>(corpus, tokens, count_min, bytes_max, stop_check)?;
    let (mut end, mut cursors) = (0, T::default());
    for entry in &mut entries {
        entry.start = end as u32;
        end += entry.len as usize;
        // In this pass `positions` of a tally is the place of the list's next position.
        *cursors.entry(entry.pair) = PairTally { count: entry.count, positions: entry.start };
        stop_check.count_steps(1)?;
    }
    let mut positions = Vec::new();
    positions.reserve_exact(end + 1);
    fill(&mut positions, end, 0, stop_check)?;
    corpus.for_each_pair(tokens.lengths(), stop_check, |position, pair, _| {
        if let Some(cursor) = cursors.find(pair) {
            positions[cursor.positions as usize] = position;
            cursor.positions += 1;
        }
    })?;
    drop(cursors);
    PairIndex::try_from_entries(entries, positions, count_min, bytes_max, stop_check)
}

/// Finds all allowed pairs with a count of at least `count_min`, or of a higher least count if they
/// do not fit; returns them and the least count. Their `start` is not set.
fn find_frequent_pairs<C: TokenCell, T: PairTallies>(
    corpus: &CorpusLayout<C>,
    tokens: &TrainingTokens<'_>,
    count_min: u64,
    bytes_max: usize,
    stop_check: &mut StopCheck<'_>,
) -> Result<(Vec<PairEntry>, u64), Error> {
    let (mut entries, mut count_min) = (Vec::new(), count_min);
    let mut partitions = vec![PairPartition::default()];
    while let Some(partition) = partitions.pop() {
        let tallies: T =
            count_pairs(corpus, tokens, partition, &mut partitions, bytes_max / 2, stop_check)?;
        for (pair, tally) in tallies.iter() {
            if tally.count >= count_min && tokens.is_allowed(pair) {
                let len = tally.positions;
                entries.push(PairEntry { pair, count: tally.count, start: 0, len });
            }
            stop_check.count_steps(1)?;
        }
        drop(tallies);
        if entries.iter().map(PairEntry::bytes).sum::<usize>() > bytes_max {
            count_min = least_count_that_fits(&entries, count_min, bytes_max / 2, stop_check)?;
            entries.retain(|entry| entry.count >= count_min);
        }
    }
    Ok((entries, count_min))
}

/// Counts the pairs of a partition in one pass over the corpus.
///
/// When the tallies exceed `bytes_max`, the partition is halved; the other half is pushed to
/// `partitions`, for a pass of its own.
fn count_pairs<C: TokenCell, T: PairTallies>(
    corpus: &CorpusLayout<C>,
    tokens: &TrainingTokens<'_>,
    mut partition: PairPartition,
    partitions: &mut Vec<PairPartition>,
    bytes_max: usize,
    stop_check: &mut StopCheck<'_>,
) -> Result<T, Error> {
    let (mut tallies, pairs_max) = (T::default(), pairs_that_fit(bytes_max));
    corpus.for_each_pair(tokens.lengths(), stop_check, |_, pair, count| {
        if partition.contains(pair) {
            let tally = tallies.entry(pair);
            tally.count += count;
            tally.positions += 1;
            if tallies.len() >= pairs_max
                && let Some(half) = partition.halve()
            {
                partitions.push(half);
                tallies.retain(|pair| partition.contains(pair));
            }
        }
    })?;
    Ok(tallies)
}

/// Returns how many pairs a hash table within `bytes_max` holds.
///
/// The table has 2^n slots, at most 7/8 full, and needs 1.5 times its memory while it grows. It has
/// at most 2^20 slots, because rehashing a larger table would delay a stop.
fn pairs_that_fit(bytes_max: usize) -> usize {
    let slots = bytes_max / 3 * 2 / (size_of::<(TokenPair, PairTally)>() + 1);
    (1 << slots.clamp(SLOTS_MIN, 1 << 20).ilog2()) / 8 * 7
}

/// The smallest table, even if it exceeds `bytes_max`: 100 KB. Tests use 8 slots, to halve
/// partitions.
const SLOTS_MIN: usize = if cfg!(test) { 1 << 3 } else { 1 << 12 };

/// A part of all pairs, by the first bits of their hash: for when the tallies of all do not fit.
///
/// For example, 2 bits with the value 1 contain the pairs whose hash begins with the bits 01.
#[derive(Clone, Copy, Debug, Default)]
struct PairPartition {
    /// The number of bits.
    bits: u32,
    /// Their value.
    prefix: u64,
}

/// The smallest partition has a 65,536th of all pairs, which bounds the number of passes. Its table
/// may exceed the memory bound.
const PARTITION_BITS_MAX: u32 = 16;

impl PairPartition {
    /// Returns whether a pair belongs to this partition, and is counted in its pass over the
    /// corpus.
    ///
    /// The hash is a multiplication by 2^64 divided by the golden ratio (Fibonacci hashing). It is
    /// fixed, and does not influence the merges.
    #[inline]
    fn contains(self, pair: TokenPair) -> bool {
        let hash = pair.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.bits == 0 || hash >> (64 - self.bits) == self.prefix
    }

    /// Halves this partition of the pairs and returns the other half, because the tallies of all
    /// its pairs do not fit. Returns `None` at [`PARTITION_BITS_MAX`] bits; then nothing changes.
    fn halve(&mut self) -> Option<Self> {
        if self.bits == PARTITION_BITS_MAX {
            return None;
        }
        *self = Self { bits: self.bits + 1, prefix: self.prefix * 2 };
        Some(Self { prefix: self.prefix + 1, ..*self })
    }
}

/// How often a pair occurs, and at how many positions.
#[derive(Clone, Copy, Default)]
struct PairTally {
    /// The sum of the counts of its pieces.
    count: u64,
    /// The number of positions; while positions are written, the place of the next one.
    positions: u32,
}

/// A table of tallies by pair.
trait PairTallies: Default {
    /// Returns the tally of a pair, for the caller to count an occurrence. A missing one is
    /// inserted as zero.
    fn entry(&mut self, pair: TokenPair) -> &mut PairTally;

    /// Returns the tally of a pair, if it has one. The second pass looks up pairs without a list
    /// too.
    fn find(&mut self, pair: TokenPair) -> Option<&mut PairTally>;

    /// Returns each pair with its tally, in an unspecified order.
    fn iter(&self) -> impl Iterator<Item = (TokenPair, PairTally)>;

    /// Returns the number of pairs in a hash table of tallies, which grows; 0 for an array, whose
    /// size is fixed.
    fn len(&self) -> usize;

    /// Removes the tallies of all pairs but the ones that `is_kept` accepts.
    fn retain(&mut self, is_kept: impl Fn(TokenPair) -> bool);
}

/// Tallies of pairs of bytes: an array of 256 × 256, which takes 1 MiB.
struct BytePairTallies(Vec<PairTally>);

impl Default for BytePairTallies {
    fn default() -> Self {
        Self(vec![PairTally::default(); 1 << 16])
    }
}

impl PairTallies for BytePairTallies {
    #[inline]
    fn entry(&mut self, pair: TokenPair) -> &mut PairTally {
        &mut self.0[(pair.left() << 8 | pair.right()) as usize]
    }

    #[inline]
    fn find(&mut self, pair: TokenPair) -> Option<&mut PairTally> {
        Some(self.entry(pair)).filter(|tally| tally.count > 0)
    }

    fn iter(&self) -> impl Iterator<Item = (TokenPair, PairTally)> {
        let pairs = (0..1 << 16).map(|pair| TokenPair::new(pair >> 8, pair & 0xFF));
        pairs.zip(self.0.iter().copied()).filter(|(_, tally)| tally.count > 0)
    }

    fn len(&self) -> usize {
        0
    }

    fn retain(&mut self, _: impl Fn(TokenPair) -> bool) {}
}

/// Tallies of pairs of any tokens, in a hash table.
#[derive(Default)]
struct HashedPairTallies(HashMap<TokenPair, PairTally, RandomState>);

impl PairTallies for HashedPairTallies {
    #[inline]
    fn entry(&mut self, pair: TokenPair) -> &mut PairTally {
        self.0.entry(pair).or_default()
    }

    #[inline]
    fn find(&mut self, pair: TokenPair) -> Option<&mut PairTally> {
        self.0.get_mut(&pair)
    }

    fn iter(&self) -> impl Iterator<Item = (TokenPair, PairTally)> {
        self.0.iter().map(|(&pair, &tally)| (pair, tally))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn retain(&mut self, is_kept: impl Fn(TokenPair) -> bool) {
        self.0.retain(|&pair, _| is_kept(pair));
    }
}
