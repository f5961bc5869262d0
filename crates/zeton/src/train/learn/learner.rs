//! The training loop: take the best pair, replace it everywhere, update the index.
//!
//! ```text
//! until enough merges:
//!     measure the held-out corpus, if it is due
//!     best = index.pop_best()          none: build the index anew with a lower least count, or end
//!     add its token to the vocabulary
//!     replace the pair in the corpus   at the positions of its list
//!     update the index                 created pairs get lists, broken pairs fall
//!     reclaim memory of the index
//! ```

use super::corpus_layout::{CorpusLayout, TokenCell};
use super::min_count::MinCount;
use super::new_pairs::{NewPairs, PairReplacement};
use super::pair_index::{self, PairEntry, PairIndex};
use super::tokens::TrainingTokens;
use super::validation::HeldOutCorpus;
use super::{LearnedMerge, LearnedMerges};
use crate::sys::error::Error;
use crate::sys::progress::{Progress, StopCheck};

/// The state of training: corpus, vocabulary and pair index.
pub(super) struct Learner<'l, C> {
    corpus: CorpusLayout<C>,
    tokens: TrainingTokens<'l>,
    index: PairIndex,
    new_pairs: NewPairs,
    min_count: MinCount,
    /// The soft bound of the index in bytes.
    index_bytes_max: usize,
    stop_check: StopCheck<'l>,
    progress: &'l Progress,
}

/// Every 16th merge shows its token in the progress, up to its first 256 bytes. A display redraws
/// far less often than merges are learned, and a token may have megabytes.
const SHOW_EVERY: usize = 16;
const SHOW_BYTES: usize = 256;

impl<'l, C: TokenCell> Learner<'l, C> {
    /// Builds the index of the pairs that are likely to be merged.
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn try_new(
        corpus: CorpusLayout<C>,
        tokens: TrainingTokens<'l>,
        min_count: MinCount,
        index_bytes_max: usize,
        progress: &'l Progress,
    ) -> Result<Self, Error> {
        let mut stop_check = StopCheck::new(progress);
        let index = pair_index::build(
            &corpus,
            &tokens,
            min_count.count(),
            index_bytes_max,
            &mut stop_check,
        )?;
        let new_pairs = NewPairs::new(tokens.len());
        Ok(Self {
            corpus,
            tokens,
            index,
            new_pairs,
            min_count,
            index_bytes_max,
            stop_check,
            progress,
        })
    }

    /// Learns up to `merges_max` merges.
    ///
    /// `validation` is a held-out corpus and the rising numbers of merges after which it is
    /// measured. It is measured at the end in any case.
    ///
    /// # Errors
    ///
    /// When there are too many tokens or positions, or a stop was requested.
    pub(super) fn learn(
        mut self,
        merges_max: usize,
        mut validation: Option<&mut (HeldOutCorpus, &[usize])>,
    ) -> Result<LearnedMerges, Error> {
        let mut learned = LearnedMerges::default();
        while learned.merges.len() < merges_max {
            if let Some((held_out, measure_after)) = &mut validation
                && let Some((due, rest)) = measure_after.split_first()
                && *due <= learned.merges.len()
            {
                self.measure(held_out, learned.merges.len())?;
                *measure_after = rest;
                continue;
            }
            let Some((best, is_tie)) = self.index.pop_best(&self.tokens, &mut self.stop_check)?
            else {
                match self.index.count_min() {
                    1 => break,
                    _ => self.rebuild_index()?,
                }
                continue;
            };
            let new_token = self.add_token(&best, &mut learned)?;
            learned.ties += usize::from(is_tie);
            // After the last merge the corpus is not read any more. The last token may equal `END`,
            // so it must not be written.
            if learned.merges.len() < merges_max {
                self.replace(&best, new_token)?;
                self.reclaim(&learned.merges)?;
            }
        }
        if let Some((held_out, _)) = validation {
            self.measure(held_out, learned.merges.len())?;
        }
        Ok(learned)
    }

    /// Counts the tokens of the held-out corpus and records the result as progress, unless it was
    /// measured after this many merges.
    fn measure(&mut self, held_out: &mut HeldOutCorpus, merges: usize) -> Result<(), Error> {
        if self.progress.validation().last().is_some_and(|&(last, _)| last == merges) {
            return Ok(());
        }
        let tokens = held_out.count_tokens(&self.tokens, &mut self.stop_check)?;
        self.progress.record_validation(merges, tokens);
        Ok(())
    }

    /// Records the merge of the best pair and adds its token to the vocabulary. The corpus is not
    /// touched; it returns the new token's index.
    fn add_token(&mut self, best: &PairEntry, learned: &mut LearnedMerges) -> Result<u32, Error> {
        let [left, right] = [best.pair.left(), best.pair.right()].map(|part| self.tokens.id(part));
        if learned.merges.len().is_multiple_of(SHOW_EVERY) {
            self.progress.set_latest_token(&self.tokens.spell(best.pair, SHOW_BYTES));
        }
        learned.merges.push(LearnedMerge { left, right, count: best.count });
        self.progress.advance(1)?;
        self.tokens.add(best.pair)
    }

    /// Replaces a pair by its new token in the corpus, and updates the index. It is the part of a
    /// merge that takes the time.
    fn replace(&mut self, best: &PairEntry, new_token: u32) -> Result<(), Error> {
        let Self { corpus, tokens, index, new_pairs, stop_check, .. } = self;
        let replacement = PairReplacement { pair: best.pair, new_token };
        corpus.replace_pair(
            replacement,
            tokens.lengths(),
            index.positions_mut(best),
            stop_check,
        )?;
        new_pairs.add_token();
        new_pairs.update_index((replacement, best), corpus, tokens, index, stop_check)
    }

    /// Reclaims memory of the index between two merges: of pairs that turned out too rare, and of
    /// dead lists.
    fn reclaim(&mut self, merges: &[LearnedMerge]) -> Result<(), Error> {
        if self.min_count.raise(merges) {
            self.index.raise_count_min(self.min_count.count(), &mut self.stop_check)?;
        }
        self.index.reclaim(&mut self.stop_check)
    }

    /// Builds the index of pairs anew from the corpus with a lower least count, because no listed
    /// pair is left. An error of the build is returned, for example a stop.
    fn rebuild_index(&mut self) -> Result<(), Error> {
        let Self { corpus, tokens, min_count, index_bytes_max, stop_check, .. } = self;
        min_count.lower(self.index.count_min());
        // The old index is freed first, because there may be no memory for both.
        self.index =
            PairIndex::try_from_entries(Vec::new(), Vec::new(), 1, *index_bytes_max, stop_check)?;
        self.index =
            pair_index::build(corpus, tokens, min_count.count(), *index_bytes_max, stop_check)?;
        Ok(())
    }
}
