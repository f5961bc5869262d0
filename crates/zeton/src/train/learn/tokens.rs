//! The vocabulary while it grows: the initial tokens, then one token a merge.
//!
//! Inside the learner a token is an index without gaps: 0 to 255 are the bytes, or the tokens of
//! the initial vocabulary in the order of their ids. New tokens follow. For example, after the
//! merges `lo` and `low` the pairs are `[(108, 111), (256, 119)]` and the lengths
//! `[1, 1, .., 1, 2, 3]`. [`TrainingTokens::id`] maps an index back to an id.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::LearnOptions;
use crate::merge::BpeModel;
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::vocab::{ID_MAX, Id, TOKENS_MAX, VOCAB_BYTES_MAX};

/// Two neighbouring tokens by their indices.
///
/// ```text
/// bit  63 ....... 32 31 ........ 0
///      |   left    |    right    |
/// ```
///
/// Pairs are ordered by the left token, then by the right one. The tie rule uses this order.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct TokenPair(u64);

impl TokenPair {
    #[inline]
    pub(super) fn new(left: u32, right: u32) -> Self {
        Self(u64::from(left) << 32 | u64::from(right))
    }

    #[inline]
    pub(super) fn left(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn right(self) -> u32 {
        self.0 as u32
    }

    /// Returns both tokens in one number, as they are hashed: the left one in the upper 32 bits.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

/// All tokens by index: their lengths, and the pairs that became the new ones.
pub(super) struct TrainingTokens<'v> {
    initial: Option<InitialVocab<'v>>,
    /// The number of bytes of each token.
    lengths: Vec<u32>,
    /// The pair of each new token, in the order of merges.
    merged_pairs: Vec<TokenPair>,
    token_bytes_max: usize,
}

/// A vocabulary that training extends.
struct InitialVocab<'v> {
    model: &'v BpeModel,
    /// The id of the first new token.
    first_new: Id,
    /// The bytes of all new tokens, so that no token is made twice.
    new_tokens: HashSet<Box<[u8]>, RandomState>,
    new_token_bytes: usize,
}

impl<'v> TrainingTokens<'v> {
    /// Makes the tokens with which training starts: the 256 bytes, or the tokens of the vocabulary
    /// in [`LearnOptions::initial`], which is borrowed. That option also names the id of the first
    /// new token. The learner calls it once, before the first merge.
    ///
    /// # Errors
    ///
    /// When the first new id is not above all ids of the initial vocabulary.
    pub(super) fn try_from_options(options: &LearnOptions<'v>) -> Result<Self, Error> {
        let (mut lengths, mut initial) = (vec![1; 256], None);
        if let Some((model, first_new)) = options.initial {
            let vocab = model.vocab();
            if vocab.id_max() >= first_new {
                return Err(Error::FirstIdTaken { first: first_new, taken: vocab.id_max() });
            }
            lengths = vocab.iter().map(|(_, token)| token.len() as u32).collect();
            let new_tokens = HashSet::default();
            initial = Some(InitialVocab { model, first_new, new_tokens, new_token_bytes: 0 });
        }
        let token_bytes_max = options.token_bytes_max;
        Ok(Self { initial, lengths, merged_pairs: Vec::new(), token_bytes_max })
    }

    /// Returns the number of tokens, initial and new ones.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the pairs that became the new tokens, in the order of merges. The validation corpus
    /// is merged by them.
    pub(super) fn merged_pairs(&self) -> &[TokenPair] {
        &self.merged_pairs
    }

    /// Returns the length of each token in bytes, by the token's index.
    #[inline]
    pub(super) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Returns the id of the token with an index. Only the result of training has ids; the learner
    /// works with indices.
    pub(super) fn id(&self, token: u32) -> Id {
        let first_new = self.len() - self.merged_pairs.len();
        match &self.initial {
            None => token,
            Some(initial) if (token as usize) < first_new => {
                initial.model.vocab().id_at(token as usize)
            }
            Some(initial) => initial.first_new + (token - first_new as u32),
        }
    }

    /// Calls `visit` with the first byte, the last byte and the index of each token of a piece.
    ///
    /// The tokens are the piece's bytes, or the tokens that the initial vocabulary merges it to.
    #[inline]
    pub(super) fn for_each_initial_token(
        &self,
        piece: &[u8],
        buffers: &mut (Scratch, Vec<Id>),
        mut visit: impl FnMut(usize, usize, u32),
    ) {
        let Some(InitialVocab { model, .. }) = &self.initial else {
            piece.iter().enumerate().for_each(|(at, &byte)| visit(at, at, byte.into()));
            return;
        };
        let (scratch, ids) = buffers;
        ids.clear();
        scratch.merge(model, piece, ids);
        let mut at = 0;
        for &id in &*ids {
            let token = model.vocab().index_of(id).expect("merging gives ids of the vocabulary");
            let next = at + self.lengths[token] as usize;
            visit(at, next - 1, token as u32);
            at = next;
        }
    }

    /// Returns whether a piece starts as one token or none, so that it has no pair and takes no
    /// cells of the corpus.
    pub(super) fn is_single_token(&self, piece: &[u8]) -> bool {
        piece.len() < 2
            || self
                .initial
                .as_ref()
                .is_some_and(|initial| initial.model.vocab().find(piece).is_some())
    }

    /// Returns whether the token that a pair would become has at most `token_bytes_max` bytes. A
    /// longer one is never learned, so its pair gets no list.
    #[inline]
    pub(super) fn is_short_enough(&self, pair: TokenPair) -> bool {
        let [left, right] = [pair.left(), pair.right()].map(|token| self.lengths[token as usize]);
        left as usize + right as usize <= self.token_bytes_max
    }

    /// Returns whether a pair may be merged: its token is short enough and, with an initial
    /// vocabulary, does not exist yet.
    ///
    /// Without an initial vocabulary two tokens may have equal bytes, because rustbpe allows it:
    /// for example (`a`, `bc`) after (`ab`, `c`).
    pub(super) fn is_allowed(&self, pair: TokenPair) -> bool {
        self.is_short_enough(pair)
            && self.initial.as_ref().is_none_or(|initial| {
                let token = self.spell(pair, usize::MAX);
                initial.model.vocab().find(&token).is_none()
                    && !initial.new_tokens.contains(&token[..])
            })
    }

    /// Adds the token of a pair and returns its index.
    ///
    /// # Errors
    ///
    /// When the vocabulary would exceed its bounds on tokens, bytes or ids.
    pub(super) fn add(&mut self, pair: TokenPair) -> Result<u32, Error> {
        let index = self.len();
        if index == TOKENS_MAX {
            return Err(Error::TooManyTokens { tokens: index + 1 });
        }
        let token = self.initial.is_some().then(|| self.spell(pair, usize::MAX));
        if let (Some(token), Some(initial)) = (token, &mut self.initial) {
            initial.new_token_bytes += token.len();
            initial.new_tokens.insert(token.into());
            let id = i128::from(initial.first_new) + self.merged_pairs.len() as i128;
            if initial.new_token_bytes > VOCAB_BYTES_MAX {
                return Err(Error::VocabTooLarge);
            }
            if id > i128::from(ID_MAX) {
                return Err(Error::IdOutOfRange { id });
            }
        }
        let [left, right] = [pair.left(), pair.right()].map(|token| self.lengths[token as usize]);
        self.lengths.push(left + right);
        self.merged_pairs.push(pair);
        Ok(index as u32)
    }

    /// Returns the bytes of the token that a pair becomes, in a new vector; of a longer one, the
    /// first `bytes_min` or a few more.
    pub(super) fn spell(&self, pair: TokenPair, bytes_min: usize) -> Vec<u8> {
        let first_new = self.len() - self.merged_pairs.len();
        let (mut bytes, mut stack) = (Vec::new(), vec![pair.right(), pair.left()]);
        while let Some(token) = stack.pop().filter(|_| bytes.len() < bytes_min) {
            match ((token as usize).checked_sub(first_new), &self.initial) {
                (Some(new), _) => {
                    let pair = self.merged_pairs[new];
                    stack.extend([pair.right(), pair.left()]);
                }
                (None, None) => bytes.push(token as u8),
                (None, Some(initial)) => {
                    bytes.extend_from_slice(initial.model.vocab().token_at(token as usize));
                }
            }
        }
        bytes
    }
}
