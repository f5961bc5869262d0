//! Text becomes ids: specials are cut out, the rest is split and each piece is merged.

pub mod batch;
pub mod explain;
pub mod offsets;
mod parallel;
pub mod segments;

use std::sync::OnceLock;

use crate::decode::{DecodeTable, TokenSlots};
use crate::merge::BpeModel;
use crate::piece_cache::{BatchEncoder, IdSink, ScratchGuard, ScratchPool};
use crate::split::Splitter;
use crate::sys::error::Error;
use crate::sys::threads::in_parallel;
use crate::vocab::specials::{AllowedSpecials, Specials};
use crate::vocab::{Id, Vocab};

/// A vocabulary, a splitter and specials that fit each other. It never changes.
///
/// Two are equal when they encode and decode alike: the same pattern, tokens and specials.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tokenizer {
    model: BpeModel,
    splitter: Splitter,
    specials: Specials,
    pool: ScratchPool,
    rows: TokenSlots,
    longest: Longest,
}

impl Tokenizer {
    /// Puts the parts together; specials are ids and names.
    ///
    /// # Errors
    ///
    /// When the specials do not fit the vocabulary.
    pub fn new(
        vocab: Vocab,
        splitter: Splitter,
        specials: Vec<(Id, String)>,
    ) -> Result<Self, Error> {
        Self::from_model(BpeModel::new(vocab), splitter, specials)
    }

    /// Puts the parts together, with a model that exists already.
    ///
    /// # Errors
    ///
    /// When the specials do not fit the vocabulary.
    pub fn from_model(
        model: BpeModel,
        splitter: Splitter,
        specials: Vec<(Id, String)>,
    ) -> Result<Self, Error> {
        let specials = Specials::try_from_entries(specials, model.vocab())?;
        let (pool, rows, longest) = Default::default();
        Ok(Self { model, splitter, specials, pool, rows, longest })
    }

    /// Returns the tokens with the tables of merging.
    #[must_use]
    pub fn model(&self) -> &BpeModel {
        &self.model
    }

    /// Returns the tokens.
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

    /// Lends what encoding reuses from call to call.
    pub(crate) fn lend(&self) -> ScratchGuard<'_> {
        self.pool.lend()
    }

    /// Returns the table that decoding reads.
    #[inline]
    fn decode_table(&self) -> DecodeTable<'_> {
        DecodeTable { vocab: self.vocab(), specials: &self.specials, rows: &self.rows }
    }

    /// Returns one more than the highest id: the rows that an embedding needs.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.decode_table().vocab_size()
    }

    /// Returns the most bytes that an id stands for, a token's or a special's.
    pub(crate) fn token_bytes_max(&self) -> usize {
        *self.longest.0.get_or_init(|| {
            let tokens = self.vocab().iter().map(|(_, token)| token.len());
            let specials = self.specials.entries().iter().map(|(_, name)| name.len());
            tokens.chain(specials).max().unwrap_or(1)
        })
    }

    /// Appends the ids of a text to `ids`. Any bytes may be given, UTF-8 or not.
    ///
    /// # Errors
    ///
    /// When the text has 4 GiB or more, or as [`Splitter::split`] for a pattern outside the family.
    #[inline]
    pub fn encode(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        self.encode_with(text, allowed, &mut self.pool.lend(), ids)
    }

    /// Returns how many ids a text has.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn count(&self, text: &[u8], allowed: &AllowedSpecials) -> Result<usize, Error> {
        let mut count = 0;
        self.encode_with(text, allowed, &mut self.pool.lend(), &mut count)?;
        Ok(count)
    }

    #[inline]
    pub(crate) fn encode_with(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        scratch: &mut ScratchGuard<'_>,
        taker: &mut impl IdSink,
    ) -> Result<(), Error> {
        refuse_too_long(text)?;
        let mut start = 0;
        while let Some((place, id)) = allowed.find(text, start) {
            self.encode_ordinary(&text[start..place.start], scratch, taker)?;
            taker.take_one(id);
            start = place.end;
        }
        self.encode_ordinary(&text[start..], scratch, taker)
    }

    /// A segment without specials: the end of the segment is the end of the text for the pattern.
    pub(crate) fn encode_ordinary(
        &self,
        text: &[u8],
        scratch: &mut ScratchGuard<'_>,
        taker: &mut impl IdSink,
    ) -> Result<(), Error> {
        if text.len() < CHUNKED_BYTES {
            return self.splitter.split(text, |piece| match self.model.vocab().find(piece) {
                Some(id) => taker.take_one(id),
                None => taker.take_new(|ids| {
                    scratch.get().merge_non_token(&self.model, piece, ids);
                }),
            });
        }
        let mut chunks = BatchEncoder::new(&self.model, text, scratch.get(), taker);
        self.splitter.split_ends(text, &mut chunks)?;
        chunks.finish();
        Ok(())
    }

    /// Appends the ids of pieces that somebody else has split, to `ids`.
    ///
    /// # Errors
    ///
    /// When a piece has 4 GiB or more.
    pub fn encode_pieces<'p>(
        &self,
        pieces: impl IntoIterator<Item = &'p [u8]>,
        ids: &mut Vec<Id>,
    ) -> Result<(), Error> {
        let mut scratch = self.pool.lend();
        for piece in pieces {
            refuse_too_long(piece)?;
            scratch.get().merge(&self.model, piece, ids);
        }
        Ok(())
    }

    /// Returns the bytes of an id, a token's or a special's.
    ///
    /// # Errors
    ///
    /// When the id stands for nothing.
    #[inline]
    pub fn token(&self, id: Id) -> Result<&[u8], Error> {
        self.decode_table().token(id)
    }

    /// Returns the bytes of many ids. They may end in the middle of a character.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing.
    pub fn decode(&self, ids: &[Id]) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        self.decode_into(ids, &mut bytes)?;
        Ok(bytes)
    }

    /// Appends the bytes of many ids to `bytes`.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing; `bytes` then holds those of some ids before it.
    pub fn decode_into(&self, ids: &[Id], bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.decode_table().decode_into(ids, bytes)
    }

    /// Decodes many lists of ids on so many threads; the bytes of each are in its place.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing.
    pub fn decode_batch(&self, batch: &[Vec<Id>], threads: usize) -> Result<Vec<Vec<u8>>, Error> {
        let size = |ids: &Vec<Id>| ids.len() * 4;
        in_parallel(batch, size, threads, || (), |ids, ()| self.decode(ids))
    }
}

/// The most bytes of a token, once somebody has asked. Two tokenizers do not differ by it.
#[derive(Clone, Debug, Default)]
struct Longest(OnceLock<usize>);

impl PartialEq for Longest {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Longest {}

/// Texts from this size on are looked up by chunks; for shorter ones, making a chunk costs more.
const CHUNKED_BYTES: usize = 24;

/// Places in a text are 32-bit numbers.
pub(crate) fn refuse_too_long(text: &[u8]) -> Result<(), Error> {
    match u32::try_from(text.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TextTooLong { bytes: text.len() }),
    }
}
