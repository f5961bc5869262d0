//! What a vocabulary is, and what it refuses.

pub(crate) mod short_key;
pub mod specials;
pub(crate) mod token_index;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::sys::error::Error;
use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::vocab::short_key::{Key, SHORT_MAX};
use crate::vocab::token_index::TokenIndex;

/// Names a token, and is also its rank: the lower, the earlier its merge.
pub type Id = u32;

pub use crate::sys::bounds::{ID_MAX, TOKENS_MAX, VOCAB_BYTES_MAX};

/// Bytes that may be read from the start of every token, whatever its length: a key is read whole.
const PADDED: usize = 16;

/// How far ahead the slots of tokens are asked for, as they are put into the table.
const PREFETCHED: usize = 16;

/// Tokens from which on a second thread is worth its start.
pub(crate) const SHARED_TOKENS: usize = 1 << 14;

/// The tokens of a tokenizer: bytes to id, id to bytes, and the pairs that merge.
///
/// A `Vocab` that exists is valid: all 256 bytes are tokens, every id has bytes of its own, and the
/// merges follow from the tokens. Everything downstream relies on that; nothing checks it again.
#[derive(Clone, Debug)]
pub struct Vocab {
    tokens: Tokens,
    /// Where they are by their bytes.
    index: TokenIndex,
    byte_ids: [Id; 256],
    /// Indices by the bytes they stand for, once they are asked for.
    sorted: OnceLock<Arc<[u32]>>,
    /// The same from their ends on.
    sorted_by_end: OnceLock<Arc<[u32]>>,
}

/// Tokens and their ids, in the order of their ids.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// All tokens, one after the other, and [`PADDED`] bytes more.
    bytes: HugeBuffer<u8>,
    /// Where each ends in `bytes`.
    ends: HugeBuffer<u32>,
    /// The key of each, so that one that was found is told by one look.
    keys: HugeBuffer<Key>,
    /// The id of each, rising. Without gaps, the id is the index.
    ids: HugeBuffer<Id>,
}

impl Tokens {
    /// Takes over ids, which do not fall, and the lengths and bytes of their tokens.
    ///
    /// # Errors
    ///
    /// When a token is empty, two ids are equal, or all has too many bytes.
    pub(crate) fn new(
        ids: Vec<Id>,
        lengths: impl Iterator<Item = usize>,
        mut bytes: Vec<u8>,
    ) -> Result<Self, Error> {
        if bytes.len() > VOCAB_BYTES_MAX {
            return Err(Error::VocabTooLarge);
        }
        let (mut ends, mut end) = (Vec::with_capacity(ids.len()), 0);
        for (&id, length) in ids.iter().zip(lengths) {
            if length == 0 {
                return Err(Error::EmptyToken { id });
            }
            end += length as u32;
            ends.push(end);
        }
        assert!(
            (ends.len(), end as usize) == (ids.len(), bytes.len()),
            "there are lengths for all ids, and bytes for all lengths"
        );
        bytes.resize(bytes.len() + PADDED, 0);
        let mut keys = HugeBuffer::zeros(ends.len());
        let mut start = 0;
        for (key, &end) in keys.iter_mut().zip(&ends) {
            *key = Key::within(&bytes, start, end as usize - start);
            start = end as usize;
        }
        let mut tokens = Self { bytes: bytes.into(), ends: ends.into(), keys, ids: ids.into() };
        tokens.bytes.share();
        tokens.ends.share();
        tokens.keys.share();
        tokens.ids.share();
        if let Some(&id) = tokens.ids.last().filter(|id| **id > ID_MAX) {
            return Err(Error::IdOutOfRange { id: id.into() });
        }
        if let Some(at) = tokens.ids.windows(2).position(|ids| ids[0] == ids[1]) {
            let [first, second] = [at, at + 1].map(|index| tokens.at(index).to_vec());
            return Err(Error::SharedId { id: tokens.ids[at], first, second });
        }
        Ok(tokens)
    }

    #[inline]
    fn at(&self, index: usize) -> &[u8] {
        &self.bytes[self.place(index)]
    }

    /// Where a token is in `bytes`.
    #[inline]
    fn place(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start as usize..self.ends[index] as usize
    }
}

impl Vocab {
    /// Builds a vocabulary from ids and their tokens, in any order.
    ///
    /// # Errors
    ///
    /// When a byte is missing, a token is empty, two ids or two tokens are equal, or all is too large.
    pub fn new(mut tokens: Vec<(Id, Vec<u8>)>) -> Result<Self, Error> {
        if tokens.len() > TOKENS_MAX {
            return Err(Error::TooManyTokens { tokens: tokens.len() });
        }
        tokens.sort_by_key(|(id, _)| *id);
        let length: usize = tokens.iter().map(|(_, token)| token.len()).sum();
        if length > VOCAB_BYTES_MAX {
            return Err(Error::VocabTooLarge);
        }
        let mut bytes = Vec::with_capacity(length + PADDED);
        tokens.iter().for_each(|(_, token)| bytes.extend_from_slice(token));
        let ids = tokens.iter().map(|(id, _)| *id).collect();
        let lengths = tokens.iter().map(|(_, token)| token.len());
        Self::of(Tokens::new(ids, lengths, bytes)?)
    }

    /// Builds a vocabulary of tokens that lie in a row.
    ///
    /// # Errors
    ///
    /// When a byte is missing, or two tokens are equal.
    pub(crate) fn of(tokens: Tokens) -> Result<Self, Error> {
        let count = tokens.ids.len();
        let mut vocab = Self {
            tokens,
            index: TokenIndex::with_capacity(count),
            byte_ids: [Id::MAX; 256],
            sorted: OnceLock::new(),
            sorted_by_end: OnceLock::new(),
        };
        vocab.fill()?;
        for byte in 0..=u8::MAX {
            let id = vocab.find(&[byte]).ok_or(Error::MissingByte { byte })?;
            vocab.byte_ids[usize::from(byte)] = id;
        }
        Ok(vocab)
    }

    /// Builds the vocabulary that merges make: the 256 bytes, then one token a merge.
    ///
    /// # Errors
    ///
    /// When a merge joins an id that does not come before it, or spells a token anew.
    pub fn from_merges(merges: &[(Id, Id)]) -> Result<Self, Error> {
        // Lengths first: a few merges can spell more than any memory holds.
        let (mut lengths, mut bytes) = (vec![1; 256], 256);
        for (id, &(left, right)) in (256..).zip(merges) {
            let length = |part: Id| {
                lengths.get(part as usize).copied().ok_or(Error::UnknownPart { id, part })
            };
            let joined = length(left)? + length(right)?;
            lengths.push(joined);
            bytes += joined;
            if bytes > VOCAB_BYTES_MAX {
                return Err(Error::VocabTooLarge);
            }
        }
        let mut tokens: Vec<(Id, Vec<u8>)> = (0..=u8::MAX).map(|b| (b.into(), vec![b])).collect();
        for (id, &(left, right)) in (256..).zip(merges) {
            let [left, right] = [left, right].map(|part| tokens[part as usize].1.as_slice());
            let joined = [left, right].concat();
            tokens.push((id, joined));
        }
        Self::new(tokens)
    }

    /// Returns the bytes of all tokens together.
    pub(crate) fn length(&self) -> usize {
        self.tokens.bytes.len() - PADDED
    }

    /// Puts the tokens and all that was made of them into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        image.row(&self.tokens.bytes);
        image.row(&self.tokens.ends);
        image.row(&self.tokens.keys);
        image.row(&self.tokens.ids);
        self.index.write_image(image);
    }

    /// Takes a vocabulary out of an image; nothing if its parts do not fit each other.
    pub(crate) fn from_image(image: &mut SectionReader) -> Option<Self> {
        let (bytes, ends) = (image.row()?, image.row()?);
        let tokens = Tokens { bytes, ends, keys: image.row()?, ids: image.row()? };
        let length = tokens.bytes.len().checked_sub(PADDED)?;
        let lengths = [tokens.ends.len(), tokens.keys.len()];
        if lengths != [tokens.ids.len(); 2] || *tokens.ends.last()? as usize != length {
            return None;
        }
        let mut vocab = Self {
            tokens,
            index: TokenIndex::from_image(image)?,
            byte_ids: [Id::MAX; 256],
            sorted: OnceLock::new(),
            sorted_by_end: OnceLock::new(),
        };
        for byte in 0..=u8::MAX {
            vocab.byte_ids[usize::from(byte)] = vocab.find(&[byte])?;
        }
        Some(vocab)
    }

    /// Puts all tokens into the table where they are found by their bytes.
    fn fill(&mut self) -> Result<(), Error> {
        let Self { tokens, index, .. } = self;
        let hash = |index: &TokenIndex, number: usize| match tokens.keys[number] {
            Key::TOO_LONG => index.hash_long(tokens.at(number)),
            key => index.hash_short(key),
        };
        let count = tokens.ids.len();
        for number in 0..count {
            if number + PREFETCHED < count {
                index.prefetch(hash(index, number + PREFETCHED));
            }
            let token = tokens.at(number);
            let is_equal = |other: usize| tokens.at(other) == token;
            if let Err(first) = index.insert(hash(index, number), number, is_equal) {
                let [first, second] = [first, number].map(|number| tokens.ids[number]);
                return Err(Error::SharedBytes { token: token.to_vec(), first, second });
            }
        }
        Ok(())
    }

    /// Returns the token of an index.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> &[u8] {
        self.tokens.at(index)
    }

    /// Returns the id of an index.
    #[inline]
    pub(crate) fn id_at(&self, index: usize) -> Id {
        self.tokens.ids[index]
    }

    /// Returns the id of these exact bytes, if they are a token.
    #[must_use]
    #[inline]
    pub fn find(&self, token: &[u8]) -> Option<Id> {
        self.find_within(token, 0..token.len())
    }

    /// Returns the id of a stretch of a text, if it is a token; with more text after it, quicker.
    #[inline]
    pub(crate) fn find_within(&self, text: &[u8], place: Range<usize>) -> Option<Id> {
        match place.len() {
            0 => None,
            length @ 1..=SHORT_MAX => self.find_short(Key::of(text, place.start, length)),
            _ => self.find_long(&text[place]),
        }
    }

    /// Returns the id of a short token, by its key.
    #[inline]
    pub(crate) fn find_short(&self, key: Key) -> Option<Id> {
        let is_it = |index: usize| self.tokens.keys[index] == key;
        let index = self.index.get(self.index.hash_short(key), is_it)?;
        Some(self.tokens.ids[index])
    }

    /// Asks for where a short token is looked for.
    #[inline]
    pub(crate) fn prefetch_index(&self, key: Key) {
        self.index.prefetch(self.index.hash_short(key));
    }

    /// Asks for the key and the id of what is there, a while after that.
    #[inline]
    pub(crate) fn prefetch_key(&self, key: Key) {
        let index = self.index.first(self.index.hash_short(key));
        prefetch(&self.tokens.keys[index]);
        prefetch(&self.tokens.ids[index]);
    }

    /// Returns the id of a token that is not short.
    pub(crate) fn find_long(&self, token: &[u8]) -> Option<Id> {
        let is_it = |index: usize| self.at(index) == token;
        let index = self.index.get(self.index.hash_long(token), is_it)?;
        Some(self.tokens.ids[index])
    }

    /// Returns the bytes of an id, if it has a token.
    #[must_use]
    #[inline]
    pub fn token(&self, id: Id) -> Option<&[u8]> {
        Some(self.at(self.index_of(id)?))
    }

    #[inline]
    pub(crate) fn index_of(&self, id: Id) -> Option<usize> {
        match self.tokens.ids.get(id as usize) {
            Some(&dense) if dense == id => Some(id as usize),
            _ => self.tokens.ids.binary_search(&id).ok(),
        }
    }

    /// Returns how many bytes the token of an id has, 0 if there is none.
    #[inline]
    pub(crate) fn token_len(&self, id: Id) -> usize {
        self.index_of(id).map_or(0, |index| self.tokens.place(index).len())
    }

    /// Returns the id of a byte.
    #[must_use]
    #[inline]
    pub fn byte(&self, byte: u8) -> Id {
        self.byte_ids[usize::from(byte)]
    }

    /// Returns the ids of all bytes.
    #[inline]
    pub(crate) fn byte_ids(&self) -> &[Id; 256] {
        &self.byte_ids
    }

    /// Returns all ids and their tokens, by rising id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Id, &[u8])> + Clone {
        self.tokens.ids.iter().enumerate().map(|(index, &id)| (id, self.at(index)))
    }

    /// The indices of all tokens, in the order of their bytes.
    pub(crate) fn sorted(&self) -> &[u32] {
        self.sorted.get_or_init(|| {
            let mut indices: Vec<u32> = (0..self.tokens.ids.len() as u32).collect();
            indices.sort_unstable_by_key(|&index| self.at(index as usize));
            indices.into()
        })
    }

    /// The indices of all tokens, in the order of their bytes read from the end.
    pub(crate) fn sorted_by_end(&self) -> &[u32] {
        self.sorted_by_end.get_or_init(|| {
            let last = |token: &[u8]| {
                let mut bytes = [0; 8];
                bytes.iter_mut().zip(token.iter().rev()).for_each(|(to, byte)| *to = *byte);
                u64::from_be_bytes(bytes)
            };
            let key = |index: u32| (last(self.at(index as usize)), index);
            let mut keyed: Vec<_> = (0..self.tokens.ids.len() as u32).map(key).collect();
            let reversed = |index: u32| self.at(index as usize).iter().rev();
            keyed.sort_unstable_by(|one, other| {
                let equal = || reversed(one.1).cmp(reversed(other.1));
                one.0.cmp(&other.0).then_with(equal)
            });
            keyed.into_iter().map(|(_, index)| index).collect()
        })
    }

    /// Calls `each` with the tokens that a text begins with, and how long they are, the shortest first.
    pub(crate) fn each_at(&self, text: &[u8], mut each: impl FnMut(Id, usize)) {
        let mut sorted = self.sorted();
        for (at, &byte) in text.iter().enumerate() {
            // Of those that go on so far, a shorter one comes first.
            let next = |&index: &u32| self.at(index as usize).get(at).copied();
            let first = sorted.partition_point(|index| next(index) < Some(byte));
            let count = sorted[first..].partition_point(|index| next(index) == Some(byte));
            sorted = &sorted[first..first + count];
            let Some(&index) = sorted.first() else { return };
            if self.at(index as usize).len() == at + 1 {
                each(self.tokens.ids[index as usize], at + 1);
            }
        }
    }

    /// Returns the tokens that start with these bytes, in the order of their bytes.
    pub fn starting_with(&self, prefix: &[u8]) -> impl ExactSizeIterator<Item = (Id, &[u8])> {
        let token = |&index: &u32| (self.tokens.ids[index as usize], self.at(index as usize));
        self.sorted()[self.places_starting_with(prefix)].iter().map(token)
    }

    /// Returns where they are among all tokens in the order of their bytes.
    pub(crate) fn places_starting_with(&self, prefix: &[u8]) -> Range<usize> {
        let sorted = self.sorted();
        let first = sorted.partition_point(|&index| self.at(index as usize) < prefix);
        let starts = |&index: &u32| self.at(index as usize).starts_with(prefix);
        first..first + sorted[first..].partition_point(starts)
    }

    /// Returns the tokens that end with these bytes, in the order of their bytes read from the end.
    pub fn ending_with(&self, suffix: &[u8]) -> impl ExactSizeIterator<Item = (Id, &[u8])> {
        let token = |&index: &u32| (self.tokens.ids[index as usize], self.at(index as usize));
        self.sorted_by_end()[self.places_ending_with(suffix)].iter().map(token)
    }

    /// Returns where they are among all tokens in the order of their bytes read from the end.
    pub(crate) fn places_ending_with(&self, suffix: &[u8]) -> Range<usize> {
        let sorted = self.sorted_by_end();
        let is_before = |&index: &u32| self.at(index as usize).iter().rev().lt(suffix.iter().rev());
        let first = sorted.partition_point(is_before);
        let ends = |&index: &u32| self.at(index as usize).ends_with(suffix);
        first..first + sorted[first..].partition_point(ends)
    }

    /// Returns the highest id.
    #[must_use]
    pub fn id_max(&self) -> Id {
        *self.tokens.ids.last().expect("a vocabulary holds 256 bytes at least")
    }
}

impl PartialEq for Vocab {
    fn eq(&self, other: &Self) -> bool {
        let [one, other] = [&self.tokens, &other.tokens];
        one.ids[..] == other.ids[..]
            && one.ends[..] == other.ends[..]
            && one.bytes[..] == other.bytes[..]
    }
}

impl Eq for Vocab {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vocab_of;

    fn bytes() -> Vec<(Id, Vec<u8>)> {
        (0..=u8::MAX).map(|byte| (byte.into(), vec![byte])).collect()
    }

    fn refusal(extra: &[(Id, &[u8])]) -> String {
        let extra = extra.iter().map(|(id, token)| (*id, token.to_vec()));
        Vocab::new(bytes().into_iter().chain(extra).collect()).unwrap_err().to_string()
    }

    #[test]
    fn refuses_a_missing_byte() {
        let error = Vocab::new(bytes().split_off(1)).unwrap_err();
        assert_eq!(error, Error::MissingByte { byte: 0 });
    }

    #[test]
    fn refuses_what_is_doubled_or_out_of_bounds() {
        assert_eq!(
            refusal(&[(256, b"ab"), (257, b"ab")]),
            "ids 256 and 257 are both b\"ab\"; every id must stand for its own bytes"
        );
        assert_eq!(
            refusal(&[(97, b"ab")]),
            "id 97 is both b\"a\" and b\"ab\"; every token must have an id of its own"
        );
        assert_eq!(
            refusal(&[(256, b"")]),
            "id 256 is an empty token; a token has at least one byte"
        );
        assert_eq!(
            refusal(&[(1 << 31, b"ab")]),
            "id 2147483648 is out of range; ids go from 0 to 2147483647"
        );
    }

    #[test]
    fn merges_that_would_fill_the_memory_are_refused() {
        let doubling: Vec<(Id, Id)> =
            [(97, 97)].into_iter().chain((256..300).map(|id| (id, id))).collect();
        assert_eq!(Vocab::from_merges(&doubling).unwrap_err(), Error::VocabTooLarge);
        assert!(Vocab::from_merges(&doubling[..17]).is_ok());
    }

    #[test]
    fn ids_may_have_gaps() {
        let tokens =
            bytes().into_iter().chain([(300, b"ab".to_vec()), (1_000_000, b"abc".to_vec())]);
        let vocab = Vocab::new(tokens.collect()).unwrap();
        assert_eq!(vocab.find(b"abc"), Some(1_000_000));
        assert_eq!(vocab.token(300), Some(b"ab".as_slice()));
        assert_eq!(vocab.token(256), None);
    }

    #[test]
    fn finds_the_tokens_that_start_alike() {
        let vocab = vocab_of(["abc", "ab", "abd"]);
        let found: Vec<_> = vocab.starting_with(b"ab").collect();
        assert_eq!(found, [(257, b"ab".as_slice()), (256, b"abc"), (258, b"abd")]);
        assert_eq!(vocab.starting_with(b"").len(), 259);
        assert_eq!(vocab.starting_with(b"abcd").len(), 0);
        assert_eq!(vocab.starting_with(b"\xFF").len(), 1);
    }

    #[test]
    fn finds_the_tokens_that_end_alike() {
        let long = "a".repeat(12);
        let vocab = vocab_of(["cab", "ab", "dab", "ba", &long, "b\0\0"]);
        let found: Vec<_> = vocab.ending_with(b"ab").collect();
        assert_eq!(found, [(257, b"ab".as_slice()), (256, b"cab"), (258, b"dab")]);
        assert_eq!(vocab.ending_with(b"").len(), 262);
        assert_eq!(vocab.ending_with(&long.as_bytes()[1..]).len(), 1);
        assert_eq!(vocab.ending_with(b"\0").len(), 2);
        assert_eq!(vocab.ending_with(b"dcab").len(), 0);
    }
}
