//! Ids become text: the bytes of each, one after the other.

use crate::encode::{Tokenizer, in_parallel};
use crate::error::Error;
use crate::vocab::Id;

impl Tokenizer {
    /// Returns the bytes of an id, a token's or a special's.
    ///
    /// # Errors
    ///
    /// When the id stands for nothing.
    #[inline]
    pub fn token(&self, id: Id) -> Result<&[u8], Error> {
        let special = || self.specials().name(id).map(str::as_bytes);
        self.vocab()
            .token(id)
            .or_else(special)
            .ok_or_else(|| Error::UnknownId { id: id.into(), vocab_size: self.vocab_size() })
    }

    /// Returns the bytes of many ids. They may end in the middle of a character.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing.
    pub fn decode(&self, ids: &[Id]) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for &id in ids {
            bytes.extend_from_slice(self.token(id)?);
        }
        Ok(bytes)
    }

    /// Decodes many lists of ids on so many threads; the bytes of each are in its place.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing.
    pub fn decode_batch(&self, batch: &[Vec<Id>], threads: usize) -> Result<Vec<Vec<u8>>, Error> {
        let size = |ids: &Vec<Id>| ids.len() * 4;
        in_parallel(batch, size, threads, |ids, (): &mut ()| self.decode(ids))
    }
}
