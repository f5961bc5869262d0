//! Ids become text: the bytes of each, one after the other.

use crate::encode::{Tokenizer, in_parallel};
use crate::error::Error;
use crate::vocab::{Id, PADDED as COPIED};

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
        let mut length = 0;
        for &id in ids {
            length += self.token(id)?.len();
        }
        // Most tokens are short: a copy of fixed size is quicker than one of the right size, and
        // what is too much the next token overwrites.
        let mut bytes = vec![0; length + COPIED];
        let mut at = 0;
        for &id in ids {
            at += match self.vocab().padded(id) {
                Some((padded, length)) if length <= COPIED => {
                    bytes[at..at + COPIED].copy_from_slice(padded);
                    length
                }
                _ => {
                    let token = self.token(id)?;
                    bytes[at..at + token.len()].copy_from_slice(token);
                    token.len()
                }
            };
        }
        bytes.truncate(length);
        Ok(bytes)
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
