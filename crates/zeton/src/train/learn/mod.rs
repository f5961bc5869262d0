//! Incremental BPE training: a priority queue of pairs with exact counts, refreshed lazily.
//!
//! Each step takes the most frequent pair of neighbouring tokens and replaces it by a new token
//! everywhere. Of equally frequent pairs, the pair of the smaller ids goes first.
//!
//! # Example
//!
//! The corpus `low lower lowest, low lower low` has five distinct pieces: ` lower` × 2, ` low` × 2,
//! `low` × 1, ` lowest` × 1 and `,` × 1. Seven merges exhaust it:
//!
//! ```text
//! id   left         right      token      count
//! 256  108 `l`      111 `o`    `lo`       6      a tie with (111, 119) `ow`, the greater pair
//! 257  256 `lo`     119 `w`    `low`      6
//! 258   32 ` `      257 `low`  ` low`     5
//! 259  258 ` low`   101 `e`    ` lowe`    3
//! 260  259 ` lowe`  114 `r`    ` lower`   2
//! 261  115 `s`      116 `t`    `st`       1      a tie with (259, 115) ` lowes`, the greater pair
//! 262  259 ` lowe`  261 `st`   ` lowest`  1
//! ```
//!
//! Merge 256 visits the four positions of `lo`, one in each piece but the last, and no other part
//! of the corpus. It lists the new pairs (32, 256) × 5 and (256, 119) × 6. It lowers the counts of
//! the broken pairs (32, 108) by 5 and (111, 119) by 6.
//!
//! # Data flow
//!
//! ```text
//! once:        PieceCounts --plan--> CorpusLayout --count all pairs--> PairIndex
//!
//! each merge:  PairIndex --best pair--> CorpusLayout --neighbours--> NewPairs --new lists--+
//!                  ^                                                                       |
//!                  +-----------------------------------------------------------------------+
//! ```
//!
//! - `corpus_layout`: all pieces in one array of cells, sorted by falling count.
//! - `pair_index`: an inverted index from pair to positions, with a heap of counts.
//! - `new_pairs`: the pairs that one merge creates and breaks.
//! - `min_count`: the count from which on a pair gets a list of positions.
//! - `tokens`: the vocabulary as it grows, and which new tokens are allowed.
//! - `validation`: the number of tokens of a held-out corpus as the vocabulary grows.
//!
//! # Exactness
//!
//! Merges equal rustbpe's, and the merges of `reference.learn`, which recounts all pairs each time.
//! Neither memory bounds, nor the order of the pieces, nor hash seeds influence them: the heap
//! orders pairs by count and ids alone (`PairEntry` in `pair_index`).
//!
//! # Cost
//!
//! A merge costs time in proportion to its list of positions, not to the corpus. enwik8 (100 MB,
//! 624,975 distinct pieces) learns 32,512 merges in 0.28 to 0.34 CPU seconds with 75 bytes a piece;
//! the learner before took 2.6 s. One random `ACGT` word of 5 MB learns 7,936 merges in 1.0 s; it
//! took 17.2 s when each merge scanned the whole word. (The figures are from the git log.) Building
//! the index takes two passes over the corpus, or more within a tight `memory_max`.

mod corpus_layout;
mod learner;
mod min_count;
mod new_pairs;
mod pair_index;
#[cfg(test)]
mod tests;
mod tokens;
mod validation;

use std::fmt::Debug;

use corpus_layout::{CorpusLayout, LayoutPlan, TokenCell};
use learner::Learner;
use min_count::MinCount;
use tokens::TrainingTokens;
use validation::HeldOutCorpus;

use crate::merge::BpeModel;
use crate::sys::error::Error;
use crate::sys::progress::{Progress, StopCheck};
use crate::vocab::Id;

/// Distinct pieces and how often each occurs.
///
/// [`learn`] visits all pieces twice. Both visits must yield equal pieces and counts, in any order:
/// the order does not influence the merges.
pub trait PieceCounts: Debug {
    /// Calls `visit` with every distinct piece and its count.
    ///
    /// # Errors
    ///
    /// When `visit` fails, or the pieces cannot be read.
    #[allow(clippy::type_complexity, reason = "an alias would hide the arguments")]
    fn for_each_piece(
        &self,
        visit: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// The number of merges to learn, and the bounds of learning.
#[derive(Clone, Copy, Debug)]
pub struct LearnOptions<'v> {
    /// The number of merges to learn at most.
    pub merges_max: usize,
    /// Pieces with a lower count are left out (1 leaves out none).
    pub piece_count_min: u64,
    /// Pairs that would make a longer token are never merged.
    pub token_bytes_max: usize,
    /// A soft bound of the learner's memory in bytes; `None` for no bound.
    ///
    /// The cells of the corpus are allocated in any case; the pair index gets the remainder.
    pub memory_max: Option<usize>,
    /// A vocabulary to extend, and the id of the first new token, which is above all of its ids.
    ///
    /// Pieces start as its tokens, and no merge makes a token that it holds already.
    pub initial: Option<(&'v BpeModel, Id)>,
    /// A corpus to measure as the vocabulary grows. [`Progress::validation`] returns the results.
    pub validation: Option<ValidationSet<'v>>,
}

/// Held-out pieces: their tokens are counted, but no merge is learned from them.
#[derive(Clone, Copy, Debug)]
pub struct ValidationSet<'p> {
    /// The held-out pieces.
    pub pieces: &'p (dyn PieceCounts + Sync),
    /// Rising numbers of merges after which the tokens are counted. The end is measured in any
    /// case.
    pub measure_after: &'p [usize],
}

impl LearnOptions<'_> {
    /// Bounds the number of merges and nothing else.
    #[must_use]
    pub fn new(merges_max: usize) -> Self {
        Self {
            merges_max,
            piece_count_min: 1,
            token_bytes_max: usize::MAX,
            memory_max: None,
            initial: None,
            validation: None,
        }
    }
}

/// A learned merge: two ids that become one new id.
///
/// The new id is the merge's place in [`LearnedMerges::merges`], counted from the first new id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LearnedMerge {
    /// The id to the left.
    pub left: Id,
    /// The id to the right.
    pub right: Id,
    /// How often the two ids were neighbours at the moment of the merge.
    pub count: u64,
}

/// The result of [`learn`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LearnedMerges {
    /// The merges in the order they were learned: the first makes the first new id.
    pub merges: Vec<LearnedMerge>,
    /// The number of merges that were chosen among several pairs of one count, by the tie rule.
    pub ties: usize,
    /// The number of distinct pieces that were learned from.
    pub pieces: usize,
    /// The number of distinct pieces below `piece_count_min`, and the sum of their counts.
    pub left_out: (usize, u64),
}

impl LearnedMerges {
    /// Returns the pairs of ids alone, as [`crate::Vocab::try_from_merges`] accepts them.
    #[must_use]
    pub fn pairs(&self) -> Vec<(Id, Id)> {
        self.merges.iter().map(|merge| (merge.left, merge.right)).collect()
    }
}

/// Learns merges from counted pieces; the first makes id 256, or the first new id of `initial`.
///
/// Each merge takes the pair with the highest count; of equal counts, the smallest pair of ids. The
/// result has fewer than `merges_max` merges when no pair is left.
///
/// # Errors
///
/// When there are too many pieces or tokens, the sum of counts exceeds 64 bits, or a stop was
/// requested.
pub fn learn(
    pieces: &impl PieceCounts,
    options: &LearnOptions<'_>,
    progress: &Progress,
) -> Result<LearnedMerges, Error> {
    progress.advance(0)?;
    let tokens = TrainingTokens::try_from_options(options)?;
    let plan =
        LayoutPlan::try_from_pieces(pieces, options, &tokens, &mut StopCheck::new(progress))?;
    // Each merge removes at least one token of the corpus, so the cells bound the merges.
    let merges_max = options.merges_max.min(plan.cells as usize);
    let min_count = MinCount::new(plan.occurrences, tokens.len(), merges_max);
    match tokens.len() + merges_max <= usize::from(u16::MAX) + 1 {
        true => learn_in::<u16>(pieces, plan, tokens, min_count, options, progress),
        false => learn_in::<u32>(pieces, plan, tokens, min_count, options, progress),
    }
}

/// Learns in cells of type `C`, which holds every token but perhaps the last.
///
/// The last token may equal `C::END`; it is never written to a cell.
fn learn_in<C: TokenCell>(
    pieces: &impl PieceCounts,
    plan: LayoutPlan,
    tokens: TrainingTokens<'_>,
    min_count: MinCount,
    options: &LearnOptions<'_>,
    progress: &Progress,
) -> Result<LearnedMerges, Error> {
    let (piece_count, left_out) = (plan.pieces, plan.left_out);
    let corpus: CorpusLayout<C> =
        CorpusLayout::try_from_plan(pieces, plan, &tokens, &mut StopCheck::new(progress))?;
    let mut validation = match &options.validation {
        None => None,
        Some(set) => {
            let held_out =
                HeldOutCorpus::try_from_pieces(set.pieces, &tokens, &mut StopCheck::new(progress))?;
            Some((held_out, set.measure_after))
        }
    };
    let held_out_bytes = validation.as_ref().map_or(0, |(held_out, _)| held_out.bytes());
    let tokens_bytes = (tokens.len() + min_count.merges_max()) * TOKEN_BYTES;
    let fixed_bytes = corpus.bytes() + held_out_bytes + OTHER_BYTES + tokens_bytes;
    let index_bytes_min = INDEX_BYTES_MIN.max(corpus.bytes() / INDEX_CORPUS_SHARE);
    let index_bytes = options
        .memory_max
        .map_or(INDEX_BYTES_MAX, |memory| memory.saturating_sub(fixed_bytes).max(index_bytes_min));
    let learner =
        Learner::try_new(corpus, tokens, min_count, index_bytes.min(INDEX_BYTES_MAX), progress)?;
    let learned = learner.learn(min_count.merges_max(), validation.as_mut())?;
    Ok(LearnedMerges { pieces: piece_count, left_out, ..learned })
}

/// The largest pair index in bytes: 2³¹ positions, because 32 bits number them and a merge appends
/// its new lists before the dead ones are reclaimed.
const INDEX_BYTES_MAX: usize = (u32::MAX / 2) as usize * size_of::<u32>();

/// The least bytes of the pair index, even if `memory_max` is exceeded: 4 MiB, or an eighth of the
/// corpus' cells.
///
/// With less, learning would recount all pairs too often. The index of a 1 GB corpus within 128 MB
/// instead of 192 MB took 49 s instead of 15 s in an early version (`docs/notes/training.md`).
const INDEX_BYTES_MIN: usize = 1 << 22;
const INDEX_CORPUS_SHARE: usize = 8;

/// An estimate of all memory that is neither corpus, index nor tokens: buffers and small tables.
const OTHER_BYTES: usize = 1 << 20;

/// An estimate of the memory of one token: 4 bytes of length, 8 of its pair, 16 of its
/// sum in `new_pairs` and 16 of its [`LearnedMerge`] are 44.
const TOKEN_BYTES: usize = 48;

/// Extends a vector to `len` values, checking for a stop now and then.
fn fill<T: Clone>(
    values: &mut Vec<T>,
    len: usize,
    value: T,
    stop_check: &mut StopCheck<'_>,
) -> Result<(), Error> {
    while values.len() < len {
        values.resize(len.min(values.len() + FILL_STEP), value.clone());
        stop_check.count_steps(FILL_STEP)?;
    }
    Ok(())
}

/// Values that [`fill`] writes between two checks for a stop: 4 MiB of `u32`, so that a stop does
/// not wait for the page faults of a whole allocation.
const FILL_STEP: usize = 1 << 20;
