//! Encoding: text → ids. Allowed specials are cut out, the rest is split, each piece is merged.
//!
//! ```text
//! "Hello, world<|endoftext|>"
//!    │ find specials               AllowedSpecials::find
//!    ├─ "Hello, world"             ordinary text
//!    │     │ split                 Splitter::split_ends
//!    │     ├─ "Hello" "," " world" pieces
//!    │     │ look up, merge        piece_cache::BatchEncoder
//!    │     └─ 9906  11  1917
//!    └─ "<|endoftext|>"            special
//!          └─ 100257
//! ⇒ [9906, 11, 1917, 100257]       (cl100k_base), emitted to an IdSink
//! ```
//!
//! [`Tokenizer`] is the type that callers hold. This file encodes one text on one thread;
//! `parallel` encodes one text on many threads, and [`batch`] many texts. [`segments`] cuts a text
//! into independent ranges, [`offsets`] locates ids in their text, and [`explain`] records each
//! step.
//!
//! Invariant: any bytes can be encoded, valid UTF-8 or not, and decoding the ids gives them back.

pub mod batch;
pub mod explain;
pub mod offsets;
mod parallel;
pub mod segments;

use std::sync::OnceLock;

use crate::decode::{DecodeTable, PaddedTokenTable};
use crate::merge::BpeModel;
use crate::piece_cache::{BatchEncoder, IdSink, ScratchGuard, ScratchPool};
use crate::split::{INTERRUPTIBLE_BYTES, Splitter};
use crate::sys::error::Error;
use crate::sys::interrupt;
use crate::sys::threads::map_in_parallel;
use crate::vocab::specials::{AllowedSpecials, Specials};
use crate::vocab::{Id, Vocab};

/// A vocabulary, a splitter and specials that fit together. It is immutable and can be shared.
///
/// Two tokenizers are equal if pattern, tokens and specials are equal; caches do not count.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tokenizer {
    model: BpeModel,
    splitter: Splitter,
    specials: Specials,
    pool: ScratchPool,
    padded_tokens: PaddedTokenTable,
    token_bytes_max: TokenBytesMax,
}

impl Tokenizer {
    /// Builds a tokenizer. Merge tables are derived from `vocab`; `specials` are ids and names.
    ///
    /// # Errors
    ///
    /// If the specials do not fit the vocabulary, for example if one has the id of a token.
    pub fn try_from_vocab(
        vocab: Vocab,
        splitter: Splitter,
        specials: Vec<(Id, String)>,
    ) -> Result<Self, Error> {
        Self::try_from_model(BpeModel::new(vocab), splitter, specials)
    }

    /// Builds a tokenizer from a model, whose merge tables exist already.
    ///
    /// # Errors
    ///
    /// If the specials do not fit the vocabulary.
    pub fn try_from_model(
        model: BpeModel,
        splitter: Splitter,
        specials: Vec<(Id, String)>,
    ) -> Result<Self, Error> {
        let specials = Specials::try_from_entries(specials, model.vocab())?;
        let (pool, padded_tokens, token_bytes_max) = Default::default();
        Ok(Self { model, splitter, specials, pool, padded_tokens, token_bytes_max })
    }

    /// Returns the vocabulary with its merge tables.
    #[must_use]
    pub fn model(&self) -> &BpeModel {
        &self.model
    }

    /// Returns the vocabulary.
    #[must_use]
    pub fn vocab(&self) -> &Vocab {
        self.model.vocab()
    }

    /// Returns the splitter.
    #[must_use]
    pub fn splitter(&self) -> &Splitter {
        &self.splitter
    }

    /// Returns the specials.
    #[must_use]
    pub fn specials(&self) -> &Specials {
        &self.specials
    }

    /// Borrows scratch memory, with its piece cache, from the pool of this tokenizer. It returns to
    /// the pool when the guard is dropped.
    pub(crate) fn borrow_scratch(&self) -> ScratchGuard<'_> {
        self.pool.acquire()
    }

    /// Returns a view of the vocabulary, the specials and the padded tokens, the parts that
    /// decoding reads.
    #[inline]
    fn decode_table(&self) -> DecodeTable<'_> {
        DecodeTable {
            vocab: self.vocab(),
            specials: &self.specials,
            padded_tokens: &self.padded_tokens,
        }
    }

    /// Returns one more than the highest id: the rows of an embedding matrix.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.decode_table().vocab_size()
    }

    /// Returns the length of the longest token or special in bytes. The first call computes it.
    pub(crate) fn token_bytes_max(&self) -> usize {
        *self.token_bytes_max.0.get_or_init(|| {
            let tokens = self.vocab().iter().map(|(_, token)| token.len());
            let specials = self.specials.entries().iter().map(|(_, name)| name.len());
            tokens.chain(specials).max().unwrap_or(1)
        })
    }

    /// Appends the ids of `text` to `ids`. The text may be any bytes, UTF-8 or not.
    ///
    /// # Errors
    ///
    /// If the text has 4 GiB or more, and the errors of [`Splitter::split`] for patterns that need
    /// backtracking.
    #[inline]
    pub fn encode(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        self.encode_with(text, allowed, &mut self.pool.acquire(), ids)
    }

    /// Counts the ids of a text without storing them.
    ///
    /// # Errors
    ///
    /// The errors of [`Tokenizer::encode`].
    pub fn count(&self, text: &[u8], allowed: &AllowedSpecials) -> Result<usize, Error> {
        let mut count = 0;
        self.encode_with(text, allowed, &mut self.pool.acquire(), &mut count)?;
        Ok(count)
    }

    /// Emits the ids of a text to `sink`, with scratch memory that the caller borrowed. Encoding
    /// and counting call it for each text that one thread encodes; it starts no thread itself.
    #[inline]
    pub(crate) fn encode_with(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        scratch: &mut ScratchGuard<'_>,
        sink: &mut impl IdSink,
    ) -> Result<(), Error> {
        refuse_too_long(text)?;
        let mut start = 0;
        while let Some((place, id)) = allowed.find(text, start) {
            self.encode_ordinary(&text[start..place.start], scratch, sink)?;
            sink.push_id(id);
            start = place.end;
        }
        self.encode_ordinary(&text[start..], scratch, sink)
    }

    /// Emits the ids of ordinary text, in which no special is looked for.
    ///
    /// For lookaheads of the pattern, the end of `text` is the end of the whole text.
    pub(crate) fn encode_ordinary(
        &self,
        text: &[u8],
        scratch: &mut ScratchGuard<'_>,
        sink: &mut impl IdSink,
    ) -> Result<(), Error> {
        if text.len() < BATCH_BYTES_MIN {
            return self.splitter.split(text, |piece| match self.model.vocab().find(piece) {
                Some(id) => sink.push_id(id),
                None => sink.append_with(|ids| {
                    scratch.get().merge_non_token(&self.model, piece, ids);
                }),
            });
        }
        if text.len() > INTERRUPTIBLE_BYTES {
            for part in self.splitter.interruptible_parts(text) {
                interrupt::poll()?;
                self.encode_part(part, scratch, sink)?;
            }
            return Ok(());
        }
        self.encode_part(text, scratch, sink)
    }

    /// Emits the ids of ordinary text that is encoded without a poll for signals, except in the
    /// backtracking engine.
    #[inline]
    fn encode_part(
        &self,
        text: &[u8],
        scratch: &mut ScratchGuard<'_>,
        sink: &mut impl IdSink,
    ) -> Result<(), Error> {
        let mut batches = BatchEncoder::new(&self.model, text, scratch.get(), sink);
        self.splitter.split_ends(text, &mut batches)?;
        batches.finish();
        Ok(())
    }

    /// Appends the ids of pieces to `ids`, for callers that split the text themselves.
    ///
    /// # Errors
    ///
    /// If a piece has 4 GiB or more.
    pub fn encode_pieces<'p>(
        &self,
        pieces: impl IntoIterator<Item = &'p [u8]>,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        let mut scratch = self.pool.acquire();
        for piece in pieces {
            refuse_too_long(piece)?;
            scratch.get().merge(&self.model, piece, ids);
        }
        Ok(())
    }

    /// Returns the bytes of an id, of a token or a special. It reads the vocabulary, not the table
    /// of padded tokens.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownId`].
    #[inline]
    pub fn token(&self, id: Id) -> Result<&[u8], Error> {
        self.decode_table().token(id)
    }

    /// Decodes `ids`. The bytes may end in the middle of a character.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownId`].
    pub fn decode(&self, ids: &[Id]) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        self.decode_into(ids, &mut bytes)?;
        Ok(bytes)
    }

    /// Decodes `ids`, appending to `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownId`]; `bytes` then ends with the bytes of some ids before it.
    pub fn decode_into(&self, ids: &[Id], bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.decode_table().decode_into(ids, bytes)
    }

    /// Decodes many lists of ids on up to `threads` threads; results are in the order of the lists.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownId`].
    pub fn decode_batch(&self, batch: &[Vec<Id>], threads: usize) -> Result<Vec<Vec<u8>>, Error> {
        // A token has about four bytes.
        let size = |ids: &Vec<Id>| ids.len() * 4;
        map_in_parallel(batch, size, threads, || (), |ids, ()| self.decode(ids))
    }
}

/// The length of the longest token, computed lazily. Any two compare equal, as it is a cache.
#[derive(Clone, Debug, Default)]
struct TokenBytesMax(OnceLock<usize>);

impl PartialEq for TokenBytesMax {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TokenBytesMax {}

/// The least bytes for which pieces are looked up in batches. Preparing a batch pays off from here:
/// 32 bytes of English take 346 ns in a batch and 445 piece by piece (`docs/notes/latency.md`).
const BATCH_BYTES_MIN: usize = 24;

/// Refuses a text of 4 GiB or more, because the engine stores positions as 32-bit numbers.
///
/// # Errors
///
/// [`Error::TextTooLong`].
pub(crate) fn refuse_too_long(text: &[u8]) -> Result<(), Error> {
    match u32::try_from(text.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TextTooLong { bytes: text.len() }),
    }
}
