//! The number of tokens of a held-out corpus, measured while the vocabulary grows.
//!
//! The held-out pieces are merged along with training. For example, ` lower` × 3 has 18 tokens at
//! first, 15 after the merge `lo`, 12 after `low`, and 3 once ` lower` is a token.
//!
//! A measurement goes on from the tokens of the one before. This is exact: a merge that involves a
//! token was learned after that token, so no earlier merge applies to the current tokens. Cost:
//! time in proportion to the remaining tokens, a measurement. 13 sizes on enwik8 take 0.008 s of
//! 0.46 s of learning, where a tokenizer for each of 17 sizes took 0.45 s
//! (`docs/notes/training.md`).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use foldhash::fast::RandomState;

use super::PieceCounts;
use super::corpus_layout::PIECE_WORK;
use super::tokens::{TokenPair, TrainingTokens};
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::sys::progress::StopCheck;

/// Held-out pieces as the tokens that all merges so far make of them.
#[derive(Debug, Default)]
pub(super) struct HeldOutCorpus {
    /// The count and the number of tokens of each piece that has two tokens or more.
    pieces: Vec<(u64, usize)>,
    /// The tokens of these pieces, one piece after the other.
    tokens: Vec<u32>,
    /// The sum of the counts of pieces with one token: no merge applies to them any more.
    single_token_count: u64,
    /// The number of merges that were applied.
    merges: usize,
}

/// The new token of each pair that was merged since the last measurement.
type NewTokens = HashMap<TokenPair, u32, RandomState>;

/// Pieces of at most 32 tokens are searched anew for each merge, because a scan of few tokens is
/// faster than a heap. Tests use 4, to reach both ways.
const SCAN_TOKENS_MAX: usize = if cfg!(test) { 4 } else { 32 };

impl HeldOutCorpus {
    /// Reads all pieces as their initial tokens.
    ///
    /// # Errors
    ///
    /// When the pieces cannot be read, or a stop was requested.
    pub(super) fn try_from_pieces(
        pieces: &dyn PieceCounts,
        tokens: &TrainingTokens<'_>,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<Self, Error> {
        let (mut corpus, mut buffers) = (Self::default(), (Scratch::default(), Vec::new()));
        pieces.for_each_piece(&mut |piece, count| {
            let start = corpus.tokens.len();
            tokens.for_each_initial_token(piece, &mut buffers, |_, _, token| {
                corpus.tokens.push(token);
            });
            match corpus.tokens.len() - start {
                0 => {}
                1 => {
                    corpus.tokens.truncate(start);
                    corpus.single_token_count += count;
                }
                length => corpus.pieces.push((count, length)),
            }
            stop_check.count_steps(PIECE_WORK + piece.len())
        })?;
        Ok(corpus)
    }

    /// Returns the memory of the held-out corpus in bytes, which training subtracts from its limit.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<(u64, usize)>() + self.tokens.capacity() * 4
    }

    /// Applies all merges since the last measurement to the held-out corpus, in place; returns the
    /// number of tokens of the corpus.
    ///
    /// # Errors
    ///
    /// When a stop was requested.
    pub(super) fn count_tokens(
        &mut self,
        tokens: &TrainingTokens<'_>,
        stop_check: &mut StopCheck<'_>,
    ) -> Result<u64, Error> {
        let merged_pairs = tokens.merged_pairs();
        let first_new = (tokens.len() - merged_pairs.len()) as u32;
        let mut new_tokens = NewTokens::default();
        for (number, &pair) in merged_pairs.iter().enumerate().skip(self.merges) {
            new_tokens.entry(pair).or_insert(first_new + number as u32);
        }
        self.merges = merged_pairs.len();

        let (mut read, mut kept, mut kept_pieces) = (0, 0, 0);
        let mut sum = self.single_token_count;
        for number in 0..self.pieces.len() {
            let (count, length) = self.pieces[number];
            let piece = &mut self.tokens[read..read + length];
            let remaining = merge_piece(piece, &new_tokens, stop_check)?;
            // The sum does not overflow: it is at most the bytes of the corpus, which fit 64 bits.
            sum += count * remaining as u64;
            if remaining == 1 {
                self.single_token_count += count;
            } else {
                self.tokens.copy_within(read..read + remaining, kept);
                self.pieces[kept_pieces] = (count, remaining);
                (kept, kept_pieces) = (kept + remaining, kept_pieces + 1);
            }
            read += length;
        }
        self.tokens.truncate(kept);
        self.pieces.truncate(kept_pieces);
        Ok(sum)
    }
}

/// Merges the tokens of a piece; returns the number of remaining tokens, which move to the front.
///
/// The pair that was learned first is merged first; of its places, the leftmost.
fn merge_piece(
    piece: &mut [u32],
    new_tokens: &NewTokens,
    stop_check: &mut StopCheck<'_>,
) -> Result<usize, Error> {
    if piece.len() > SCAN_TOKENS_MAX {
        return merge_long_piece(piece, new_tokens, stop_check);
    }
    let mut length = piece.len();
    loop {
        stop_check.count_steps(PIECE_WORK + length)?;
        let merge_at = |at: usize| {
            let pair = TokenPair::new(piece[at], piece[at + 1]);
            Some((*new_tokens.get(&pair)?, at))
        };
        let Some((new_token, at)) = (0..length - 1).filter_map(merge_at).min() else {
            return Ok(length);
        };
        piece[at] = new_token;
        piece.copy_within(at + 2..length, at + 1);
        length -= 1;
    }
}

/// Merges the tokens of a long piece by a heap of pairs: n tokens take n log n steps.
///
/// The result equals that of the scan in [`merge_piece`].
fn merge_long_piece(
    piece: &mut [u32],
    new_tokens: &NewTokens,
    stop_check: &mut StopCheck<'_>,
) -> Result<usize, Error> {
    let mut queue = BinaryHeap::new();
    for at in 0..piece.len() - 1 {
        stop_check.count_steps(1)?;
        if let Some(&new_token) = new_tokens.get(&TokenPair::new(piece[at], piece[at + 1])) {
            queue.push(Reverse((new_token, at)));
        }
    }
    if queue.is_empty() {
        return Ok(piece.len());
    }
    // A doubly linked list: the place of the token before and after each. An absorbed token has
    // `ABSORBED` after it.
    let mut before: Vec<Option<usize>> = (0..piece.len()).map(|at| at.checked_sub(1)).collect();
    let mut after: Vec<usize> = (1..=piece.len()).collect();
    while let Some(Reverse((new_token, at))) = queue.pop() {
        stop_check.count_steps(PIECE_WORK)?;
        let next = after[at];
        if next == ABSORBED || next == piece.len() {
            continue;
        }
        if new_tokens.get(&TokenPair::new(piece[at], piece[next])) != Some(&new_token) {
            continue;
        }
        piece[at] = new_token;
        (after[at], after[next]) = (after[next], ABSORBED);
        if let Some(before) = before.get_mut(after[at]) {
            *before = Some(at);
        }
        let neighbours = [before[at], Some(at).filter(|_| after[at] < piece.len())];
        for left in neighbours.into_iter().flatten() {
            let pair = TokenPair::new(piece[left], piece[after[left]]);
            if let Some(&new_token) = new_tokens.get(&pair) {
                queue.push(Reverse((new_token, left)));
            }
        }
    }
    let (mut at, mut length) = (0, 0);
    while at < piece.len() {
        piece[length] = piece[at];
        (at, length) = (after[at], length + 1);
    }
    Ok(length)
}

/// The place after a token that the token before it absorbed.
const ABSORBED: usize = usize::MAX;
