//! The tokens that there are while learning: those of the start, then one a merge.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::Goal;
use super::pair::Pair;
use crate::merge::BpeModel;
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::vocab::{ID_MAX, Id, TOKENS_MAX, VOCAB_BYTES_MAX};

/// Tokens by their index. Indices rise as ids do, and have no gaps.
pub(super) struct Tokens<'v> {
    initial: Option<Initial<'v>>,
    /// The bytes of each.
    lengths: Vec<u32>,
    /// What each of those that were learned joins.
    parts: Vec<Pair>,
    length_max: usize,
}

/// A vocabulary to go on from.
struct Initial<'v> {
    model: &'v BpeModel,
    first_new: Id,
    /// What was learned since, for no token is made twice.
    learned: HashSet<Box<[u8]>, RandomState>,
    learned_bytes: usize,
}

impl<'v> Tokens<'v> {
    /// Makes the tokens to begin with.
    ///
    /// # Errors
    ///
    /// When the ids of new tokens would run into those of the vocabulary.
    pub(super) fn new(goal: &Goal<'v>) -> Result<Self, Error> {
        let (mut lengths, mut initial) = (vec![1; 256], None);
        if let Some((model, first_new)) = goal.initial {
            let vocab = model.vocab();
            if vocab.id_max() >= first_new {
                return Err(Error::FirstIdTaken { first: first_new, taken: vocab.id_max() });
            }
            lengths = vocab.iter().map(|(_, token)| token.len() as u32).collect();
            let learned = HashSet::default();
            initial = Some(Initial { model, first_new, learned, learned_bytes: 0 });
        }
        Ok(Self { initial, lengths, parts: Vec::new(), length_max: goal.token_bytes_max })
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Returns what was learned: the pairs that became the last tokens.
    pub(super) fn learned(&self) -> &[Pair] {
        &self.parts
    }

    /// Returns the bytes of each.
    #[inline]
    pub(super) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Returns the id of an index.
    pub(super) fn id(&self, token: u32) -> Id {
        let first = self.len() - self.parts.len();
        match &self.initial {
            None => token,
            Some(initial) if (token as usize) < first => {
                initial.model.vocab().id_at(token as usize)
            }
            Some(initial) => initial.first_new + (token - first as u32),
        }
    }

    /// Calls `put` with the tokens that a piece begins as: where each has its first and last byte.
    #[inline]
    pub(super) fn parts_of(
        &self,
        piece: &[u8],
        buffers: &mut (Scratch, Vec<Id>),
        mut put: impl FnMut(usize, usize, u32),
    ) {
        let Some(Initial { model, .. }) = &self.initial else {
            piece.iter().enumerate().for_each(|(at, &byte)| put(at, at, byte.into()));
            return;
        };
        let (scratch, ids) = buffers;
        ids.clear();
        scratch.merge(model, piece, ids);
        let mut at = 0;
        for &id in &*ids {
            let token = model.vocab().index_of(id).expect("merging gives ids of the vocabulary");
            let next = at + self.lengths[token] as usize;
            put(at, next - 1, token as u32);
            at = next;
        }
    }

    /// Returns whether a piece is one token to begin with, so that there is nothing to learn from it.
    pub(super) fn holds(&self, piece: &[u8]) -> bool {
        piece.len() < 2
            || self
                .initial
                .as_ref()
                .is_some_and(|initial| initial.model.vocab().find(piece).is_some())
    }

    /// Returns whether a pair would make a token that is not too long.
    #[inline]
    pub(super) fn fit(&self, pair: Pair) -> bool {
        let [left, right] = [pair.left(), pair.right()].map(|token| self.lengths[token as usize]);
        left as usize + right as usize <= self.length_max
    }

    /// Returns whether a pair would make a token that may be made.
    ///
    /// Without a vocabulary to go on from, one that is there already may: so rustbpe learns.
    pub(super) fn allow(&self, pair: Pair) -> bool {
        self.fit(pair)
            && self.initial.as_ref().is_none_or(|initial| {
                let token = self.spell(pair, usize::MAX);
                initial.model.vocab().find(&token).is_none()
                    && !initial.learned.contains(&token[..])
            })
    }

    /// Makes a token of a pair.
    ///
    /// # Errors
    ///
    /// When there are more tokens than a vocabulary can have.
    pub(super) fn join(&mut self, pair: Pair) -> Result<u32, Error> {
        let joined = self.len();
        if joined == TOKENS_MAX {
            return Err(Error::TooManyTokens { tokens: joined + 1 });
        }
        let token = self.initial.is_some().then(|| self.spell(pair, usize::MAX));
        if let (Some(token), Some(initial)) = (token, &mut self.initial) {
            initial.learned_bytes += token.len();
            initial.learned.insert(token.into());
            let id = i128::from(initial.first_new) + self.parts.len() as i128;
            if initial.learned_bytes > VOCAB_BYTES_MAX {
                return Err(Error::VocabTooLarge);
            }
            if id > i128::from(ID_MAX) {
                return Err(Error::IdOutOfRange { id });
            }
        }
        let [left, right] = [pair.left(), pair.right()].map(|token| self.lengths[token as usize]);
        self.lengths.push(left + right);
        self.parts.push(pair);
        Ok(joined as u32)
    }

    /// Returns the bytes of a pair, at least so many if it has more.
    pub(super) fn spell(&self, pair: Pair, most: usize) -> Vec<u8> {
        let first = self.len() - self.parts.len();
        let (mut bytes, mut ahead) = (Vec::new(), vec![pair.right(), pair.left()]);
        while let Some(token) = ahead.pop().filter(|_| bytes.len() < most) {
            match ((token as usize).checked_sub(first), &self.initial) {
                (Some(learned), _) => {
                    let pair = self.parts[learned];
                    ahead.extend([pair.right(), pair.left()]);
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
