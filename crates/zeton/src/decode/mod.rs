//! Ids become text: the bytes of each, one after the other.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::sys::error::Error;
use crate::sys::huge_buffer::HugeBuffer;
use crate::vocab::specials::Specials;
use crate::vocab::{Id, Vocab};

/// What an id stands for, if it has at most [`ROW_MAX`] bytes, and last their number; else zeros.
///
/// Nearly all tokens are that short, and a copy of fixed size is quicker than one of the right
/// size: what is too much the next token overwrites.
type TokenSlot = [u8; 16];

/// Bytes that an id has at most to have a row.
const ROW_MAX: usize = size_of::<TokenSlot>() - 1;

/// Ids that are decoded before rows for all are worth their making.
const DECODED_FIRST: usize = 1 << 12;

/// Ids whose bytes are gathered before they go to where they belong.
const GATHERED: usize = 64;

/// More than these are.
const GATHERED_BYTES: usize = 1 << 10;
const _: () = assert!(GATHERED * ROW_MAX < GATHERED_BYTES);

/// The rows of a tokenizer, once some ids have been decoded. Two tokenizers do not differ by them.
#[derive(Debug, Default)]
pub(crate) struct TokenSlots {
    decoded: AtomicUsize,
    rows: OnceLock<HugeBuffer<TokenSlot>>,
}

impl Clone for TokenSlots {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for TokenSlots {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TokenSlots {}

/// The bytes that ids stand for: tokens and specials. It is what decoding reads of a tokenizer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeTable<'t> {
    pub(crate) vocab: &'t Vocab,
    pub(crate) specials: &'t Specials,
    pub(crate) rows: &'t TokenSlots,
}

impl<'t> DecodeTable<'t> {
    /// One more than the highest id.
    pub(crate) fn vocab_size(self) -> usize {
        let special = self.specials.entries().last().map_or(0, |(id, _)| *id);
        self.vocab.id_max().max(special) as usize + 1
    }

    /// The bytes of an id, a token's or a special's.
    #[inline]
    pub(crate) fn token(self, id: Id) -> Result<&'t [u8], Error> {
        let special = || self.specials.name(id).map(str::as_bytes);
        self.vocab
            .token(id)
            .or_else(special)
            .ok_or_else(|| Error::UnknownId { id: id.into(), vocab_size: self.vocab_size() })
    }

    /// Appends the bytes of many ids to `bytes`.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing; `bytes` then holds those of some ids before it.
    pub(crate) fn decode_into(self, ids: &[Id], bytes: &mut Vec<u8>) -> Result<(), Error> {
        let rows = self.rows_for(ids.len());
        let mut gathered = [0; GATHERED_BYTES + size_of::<TokenSlot>()];
        for some in ids.chunks(GATHERED) {
            let mut end = 0;
            for &id in some {
                let row = rows.get(id as usize).unwrap_or(&[0; 16]);
                let length = usize::from(row[ROW_MAX]);
                if length > 0 {
                    // `end` is below that anyway; so the compiler knows, too.
                    let start = end % GATHERED_BYTES;
                    gathered[start..start + row.len()].copy_from_slice(row);
                    end += length;
                } else {
                    bytes.extend_from_slice(&gathered[..end]);
                    bytes.extend_from_slice(self.token(id)?);
                    end = 0;
                }
            }
            bytes.extend_from_slice(&gathered[..end]);
        }
        Ok(())
    }

    /// Returns the rows, by id, or none of them while few ids have been decoded.
    fn rows_for(self, ids: usize) -> &'t [TokenSlot] {
        let TokenSlots { decoded, rows } = self.rows;
        if let Some(rows) = rows.get() {
            return rows;
        }
        if decoded.fetch_add(ids, Relaxed) + ids < DECODED_FIRST {
            return &[];
        }
        rows.get_or_init(|| {
            let specials = self.specials.entries();
            // Ids may have gaps, of any width: what lies far out has no row.
            let count = self.vocab_size().min((self.vocab.iter().len() + specials.len()) * 2);
            let mut rows = HugeBuffer::<TokenSlot>::zeros(count);
            // Two specials may share an id, which is decoded as the first of them.
            let names = specials.iter().rev().map(|(id, name)| (*id, name.as_bytes()));
            for (id, token) in self.vocab.iter().chain(names) {
                if let Some(row) = rows.get_mut(id as usize) {
                    *row = row_of(token);
                }
            }
            rows
        })
    }
}

fn row_of(token: &[u8]) -> TokenSlot {
    let mut row = [0; size_of::<TokenSlot>()];
    if token.len() <= ROW_MAX {
        row[..token.len()].copy_from_slice(token);
        row[ROW_MAX] = token.len() as u8;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;
    use crate::{Splitter, Tokenizer};

    /// A tokenizer with tokens and specials of all lengths, gaps, and ids that lie far out.
    fn odd_tokenizer() -> Tokenizer {
        let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
        let runs = (2..40).map(|length| (300 + length, vec![b'a'; length as usize]));
        let far = [(5000, b"bb".to_vec()), (1 << 30, b"ccc".to_vec())];
        let vocab = Vocab::try_from_tokens(bytes.chain(runs).chain(far).collect()).unwrap();
        let names = ["<s>", "<|a_special_of_many_bytes|>", "<first>", "<second>"];
        let specials = [256, 299, 400, 400].into_iter().zip(names.map(str::to_owned));
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        Tokenizer::new(vocab, splitter, specials.collect()).unwrap()
    }

    #[test]
    fn rows_give_what_each_id_stands_for() {
        let tokenizer = odd_tokenizer();
        let mut known: Vec<Id> = tokenizer.vocab().iter().map(|(id, _)| id).collect();
        known.extend([256, 299, 400]);
        let mut random = Random(1);
        for count in [0, 1, 255, 256, 257, 3000, 9000, 1] {
            let ids: Vec<Id> = (0..count).map(|_| known[random.below(known.len())]).collect();
            let expected: Vec<&[u8]> = ids.iter().map(|&id| tokenizer.token(id).unwrap()).collect();
            assert_eq!(tokenizer.decode(&ids).unwrap(), expected.concat());
        }
        assert_eq!(tokenizer.decode(&[400]).unwrap(), b"<first>");
    }

    #[test]
    fn an_id_that_stands_for_nothing_is_refused_with_and_without_rows() {
        let tokenizer = odd_tokenizer();
        for _ in 0..2 {
            for id in [257, 298, 401, 4999, 1 << 29, Id::MAX] {
                let refusal = tokenizer.decode(&[97, id]).unwrap_err();
                assert_eq!(refusal, Error::UnknownId { id: id.into(), vocab_size: (1 << 30) + 1 });
            }
            tokenizer.decode(&[97; DECODED_FIRST]).unwrap();
        }
    }
}
