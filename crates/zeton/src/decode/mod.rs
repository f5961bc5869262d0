//! Decoding: ids → bytes, by concatenating the bytes of each token.
//!
//! For example:
//!
//! ```text
//! [9906, 11, 1917]  →  b"Hello" b"," b" world"  →  b"Hello, world"      (cl100k_base)
//! ```
//!
//! Nearly all tokens have at most 15 bytes. Each of them has a 16-byte row in a table indexed by
//! id. Decoding one is a load and a fixed-size copy, and the next token overwrites the padding. A
//! copy of the exact length would branch on that length, which is unpredictable.
//!
//! ```text
//! byte     0  1  2  3  4  5 … 14   15
//!          H  e  l  l  o  0 …  0    5      id 9906: token and length
//!          0  0  0  0  0  0 …  0    0      no row: no such id, or a longer token
//! ```
//!
//! Ids without a row go the slow way, `DecodeTable::token`, which also reports unknown ids.
//!
//! Cost: 2.3 to 2.6 ns per id, reading the array of ids included (`docs/notes/python-boundary.md`).
//! The table takes 16 bytes per id, 3.2 MB for o200k_base, so it is built only after 4,096 ids.
//!
//! `Tokenizer` owns the table and exposes `decode`; streaming decoding builds on it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::sys::error::Error;
use crate::sys::huge_buffer::HugeBuffer;
use crate::vocab::specials::Specials;
use crate::vocab::{Id, Vocab};

/// The bytes of an id with at most [`PADDED_BYTES_MAX`] bytes, zero padding, and their number in
/// the last byte. All zeros if there is no such id or its token is longer.
type PaddedToken = [u8; 16];

/// The most bytes of a token in a row: the last byte of the row holds the length.
const PADDED_BYTES_MAX: usize = size_of::<PaddedToken>() - 1;

/// Ids that a tokenizer decodes before it builds the table, because for fewer ids building costs
/// more than it saves. No measurement chose 4,096.
const IDS_BEFORE_TABLE: usize = 1 << 12;

/// Ids per round of decoding: their bytes go to a buffer on the stack, then to the result. Not
/// measured alone; the bytes of a round stay in the L1 cache.
const ROUND_IDS: usize = 64;

/// The bytes of the buffer of a round. A power of two, so that a remainder proves each index valid.
const BUFFER_BYTES: usize = 1 << 10;
const _: () = assert!(ROUND_IDS * PADDED_BYTES_MAX < BUFFER_BYTES);

/// The table of padded tokens of one tokenizer, built lazily.
///
/// It is a cache: a clone starts empty, and any two compare equal.
#[derive(Debug, Default)]
pub(crate) struct PaddedTokenTable {
    ids_decoded: AtomicUsize,
    rows: OnceLock<HugeBuffer<PaddedToken>>,
}

impl Clone for PaddedTokenTable {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for PaddedTokenTable {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PaddedTokenTable {}

/// The parts of a tokenizer that decoding reads: tokens, specials and the padded tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeTable<'t> {
    pub(crate) vocab: &'t Vocab,
    pub(crate) specials: &'t Specials,
    pub(crate) padded_tokens: &'t PaddedTokenTable,
}

impl<'t> DecodeTable<'t> {
    /// Returns one more than the highest id of a token or special.
    pub(crate) fn vocab_size(self) -> usize {
        let special = self.specials.entries().last().map_or(0, |(id, _)| *id);
        self.vocab.id_max().max(special) as usize + 1
    }

    /// Returns the bytes of an id, of a token or a special.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownId`] or [`Error::GapId`].
    #[inline]
    pub(crate) fn token(self, id: Id) -> Result<&'t [u8], Error> {
        let special = || self.specials.name(id).map(str::as_bytes);
        self.vocab.token(id).or_else(special).ok_or_else(|| self.refuse_id(id))
    }

    /// Makes the error for an id that neither a token nor a special has: an id beyond the last one,
    /// or an id in a gap. Errors are rare, so all ids may be read.
    #[cold]
    fn refuse_id(self, id: Id) -> Error {
        let vocab_size = self.vocab_size();
        if id as usize >= vocab_size {
            return Error::UnknownId { id: id.into(), vocab_size };
        }
        let tokens = self.vocab.iter().map(|(id, _)| id);
        let specials = self.specials.entries().iter().map(|(id, _)| *id);
        let (mut before, mut after) = (None, Id::MAX);
        for known in tokens.chain(specials) {
            match known < id {
                true => before = before.max(Some(known)),
                false => after = after.min(known),
            }
        }
        Error::GapId { id, before, after }
    }

    /// Appends the bytes of `ids` to `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownId`]; `bytes` then ends with the bytes of some ids before it.
    pub(crate) fn decode_into(self, ids: &[Id], bytes: &mut Vec<u8>) -> Result<(), Error> {
        let rows = self.rows_after(ids.len());
        let mut buffer = [0; BUFFER_BYTES + size_of::<PaddedToken>()];
        for round in ids.chunks(ROUND_IDS) {
            let mut end = 0;
            for &id in round {
                let row = rows.get(id as usize).unwrap_or(&[0; 16]);
                let length = usize::from(row[PADDED_BYTES_MAX]);
                if length > 0 {
                    // `end` is always below BUFFER_BYTES; the remainder proves it to the compiler.
                    let start = end % BUFFER_BYTES;
                    buffer[start..start + row.len()].copy_from_slice(row);
                    end += length;
                } else {
                    bytes.extend_from_slice(&buffer[..end]);
                    bytes.extend_from_slice(self.token(id)?);
                    end = 0;
                }
            }
            bytes.extend_from_slice(&buffer[..end]);
        }
        Ok(())
    }

    /// Returns the table of padded tokens, one row an id, for a call that decodes `ids` ids. It is
    /// empty until [`IDS_BEFORE_TABLE`] ids have been decoded together; the call that reaches them
    /// builds it.
    fn rows_after(self, ids: usize) -> &'t [PaddedToken] {
        let PaddedTokenTable { ids_decoded, rows } = self.padded_tokens;
        if let Some(rows) = rows.get() {
            return rows;
        }
        if ids_decoded.fetch_add(ids, Relaxed) + ids < IDS_BEFORE_TABLE {
            return &[];
        }
        rows.get_or_init(|| {
            let specials = self.specials.entries();
            // Ids may have gaps of any width, so the table is bounded by twice the number of ids;
            // ids beyond it have no row.
            let count = self.vocab_size().min((self.vocab.iter().len() + specials.len()) * 2);
            let mut rows = HugeBuffer::<PaddedToken>::zeros(count);
            // Two specials may share an id; the first name wins, so it is written last.
            let names = specials.iter().rev().map(|(id, name)| (*id, name.as_bytes()));
            for (id, token) in self.vocab.iter().chain(names) {
                if let Some(row) = rows.get_mut(id as usize) {
                    *row = pad_token(token);
                }
            }
            rows
        })
    }
}

/// Returns the row of a token in the table of padded tokens: its bytes and its length. A token of
/// more than [`PADDED_BYTES_MAX`] bytes gets a row of zeros, and is looked up instead.
fn pad_token(token: &[u8]) -> PaddedToken {
    let mut row = [0; size_of::<PaddedToken>()];
    if token.len() <= PADDED_BYTES_MAX {
        row[..token.len()].copy_from_slice(token);
        row[PADDED_BYTES_MAX] = token.len() as u8;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;
    use crate::{Splitter, Tokenizer};

    /// Makes a tokenizer with tokens and specials of all lengths, and with gaps between its ids.
    fn sparse_tokenizer() -> Tokenizer {
        let bytes = (0..=u8::MAX).map(|byte| (Id::from(byte), vec![byte]));
        let runs = (2..40).map(|length| (300 + length, vec![b'a'; length as usize]));
        let far = [(5000, b"bb".to_vec()), (1 << 30, b"ccc".to_vec())];
        let vocab = Vocab::try_from_tokens(bytes.chain(runs).chain(far).collect()).unwrap();
        let names = ["<s>", "<|a_special_of_many_bytes|>", "<first>", "<second>"];
        let specials = [256, 299, 400, 400].into_iter().zip(names.map(str::to_owned));
        let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
        Tokenizer::try_from_vocab(vocab, splitter, specials.collect()).unwrap()
    }

    #[test]
    fn decodes_each_id_with_and_without_a_row() {
        let tokenizer = sparse_tokenizer();
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
    fn refuses_an_unknown_id_with_and_without_rows() {
        let tokenizer = sparse_tokenizer();
        for _ in 0..2 {
            let refusal = |id| tokenizer.decode(&[97, id]).unwrap_err();
            for (id, before, after) in [(257, 256, 299), (298, 256, 299), (401, 400, 5000)] {
                assert_eq!(refusal(id), Error::GapId { id, before: Some(before), after });
            }
            for id in [(1 << 30) + 1, Id::MAX] {
                let vocab_size = (1 << 30) + 1;
                assert_eq!(refusal(id), Error::UnknownId { id: id.into(), vocab_size });
            }
            tokenizer.decode(&[97; IDS_BEFORE_TABLE]).unwrap();
        }
    }
}
