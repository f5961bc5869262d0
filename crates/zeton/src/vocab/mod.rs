//! The vocabulary: the tokens of a tokenizer, found by bytes or by id.
//!
//! Every constructor refuses tokens that do not form a vocabulary, so that a [`Vocab`] that exists
//! is valid. The tokens lie in flat arrays, sorted by id. The *index* of a token is its place in
//! that order; without gaps between ids it equals the id. For example, the 256 bytes and `ab` =
//! 256, `abc` = 300:
//!
//! ```text
//!  index       0    1    …   255    256      257
//!  ids         0    1    …   255    256      300
//!  ends        1    2    …   256    258      261      end of the token in `bytes`
//!  bytes      00 │ 01 │ … │ FF │ a b │ a b c │ 16 bytes of padding
//!  keys        ■    ■    …    ■     ■        ■        `Key` of each token, see `short_key`
//! ```
//!
//! | lookup | by | cost |
//! |---|---|---|
//! | [`Vocab::find`] | bytes | a hash, a probe of `TokenIndex`, a comparison of keys or bytes |
//! | [`Vocab::token`] | id | two loads; a binary search if ids have gaps |
//! | [`Vocab::starting_with`], `ending_with` | prefix, suffix | a binary search, after one sort |
//!
//! A `BpeModel` of `merge` adds the tables that merging needs: which pairs merge, and where pieces
//! may be cut.

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

/// The number of a token. It is also the token's rank: the lowest rank merges first.
pub type Id = u32;

pub use crate::sys::bounds::{ID_MAX, TOKENS_MAX, VOCAB_BYTES_MAX};

/// Bytes that are readable behind the last token, so that a [`Key`] is one load of 16 bytes for
/// every token.
const PADDING: usize = 16;

/// How many tokens ahead of the current one a slot is prefetched while the index is filled. No
/// measurement chose 16; the distance has to cover the latency of main memory.
const PREFETCH_DISTANCE: usize = 16;

/// The fewest tokens for which a second thread repays its start. Every bundled vocabulary has more:
/// with two threads o200k loads in 48 to 52 ms instead of 74 to 76.
pub(crate) const PARALLEL_TOKENS_MIN: usize = 1 << 14;

/// The tokens of a tokenizer: bytes to id, and id to bytes.
///
/// A `Vocab` that exists is valid: all 256 bytes are tokens, and every id has distinct bytes. Code
/// that has one checks nothing again.
#[derive(Clone, Debug)]
pub struct Vocab {
    /// The tokens, sorted by id.
    tokens: TokenArrays,
    /// The hash table from bytes to index.
    index: TokenIndex,
    /// The id of each byte.
    byte_ids: [Id; 256],
    /// The indices sorted by the tokens' bytes, computed on first use.
    indices_by_bytes: OnceLock<Arc<[u32]>>,
    /// The indices sorted by the tokens' bytes read backwards, computed on first use.
    indices_by_reversed_bytes: OnceLock<Arc<[u32]>>,
}

/// Tokens and their ids as flat arrays, sorted by id.
#[derive(Clone, Debug)]
pub(crate) struct TokenArrays {
    /// All tokens, one after the other, and [`PADDING`] zeros.
    bytes: HugeBuffer<u8>,
    /// The end of each token in `bytes`.
    ends: HugeBuffer<u32>,
    /// The key of each token, so that a lookup compares one number instead of bytes.
    keys: HugeBuffer<Key>,
    /// The id of each token, strictly rising.
    ids: HugeBuffer<Id>,
}

impl TokenArrays {
    /// Builds the arrays from ids in rising order, and the lengths and the bytes of their tokens.
    ///
    /// # Errors
    ///
    /// If a token is empty, two ids are equal, an id is too high, or there are too many bytes.
    pub(crate) fn try_from_parts(
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
        bytes.resize(bytes.len() + PADDING, 0);
        let mut keys = HugeBuffer::zeros(ends.len());
        let mut start = 0;
        for (key, &end) in keys.iter_mut().zip(&ends) {
            *key = Key::from_piece(&bytes, start, end as usize - start);
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
            let [first, second] = [at, at + 1].map(|index| tokens.token_at(index).to_vec());
            return Err(Error::SharedId { id: tokens.ids[at], first, second });
        }
        Ok(tokens)
    }

    /// Returns the bytes of the token at an index, borrowed.
    #[inline]
    fn token_at(&self, index: usize) -> &[u8] {
        &self.bytes[self.range(index)]
    }

    /// Returns the range in `bytes` of the token at an index.
    #[inline]
    fn range(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start as usize..self.ends[index] as usize
    }
}

impl Vocab {
    /// Builds a vocabulary from ids and their tokens, in any order.
    ///
    /// # Errors
    ///
    /// If a byte is missing, a token is empty, two ids or two tokens are equal, or a limit is
    /// exceeded.
    pub fn try_from_tokens(mut tokens: Vec<(Id, Vec<u8>)>) -> Result<Self, Error> {
        if tokens.len() > TOKENS_MAX {
            return Err(Error::TooManyTokens { tokens: tokens.len() });
        }
        tokens.sort_by_key(|(id, _)| *id);
        let length: usize = tokens.iter().map(|(_, token)| token.len()).sum();
        if length > VOCAB_BYTES_MAX {
            return Err(Error::VocabTooLarge);
        }
        let mut bytes = Vec::with_capacity(length + PADDING);
        tokens.iter().for_each(|(_, token)| bytes.extend_from_slice(token));
        let ids = tokens.iter().map(|(id, _)| *id).collect();
        let lengths = tokens.iter().map(|(_, token)| token.len());
        Self::try_from_arrays(TokenArrays::try_from_parts(ids, lengths, bytes)?)
    }

    /// Builds a vocabulary from tokens in flat arrays.
    ///
    /// # Errors
    ///
    /// If a byte is missing, or two tokens are equal.
    pub(crate) fn try_from_arrays(tokens: TokenArrays) -> Result<Self, Error> {
        let count = tokens.ids.len();
        let mut vocab = Self {
            tokens,
            index: TokenIndex::with_capacity(count),
            byte_ids: [Id::MAX; 256],
            indices_by_bytes: OnceLock::new(),
            indices_by_reversed_bytes: OnceLock::new(),
        };
        vocab.fill_index()?;
        for byte in 0..=u8::MAX {
            let id = vocab.find(&[byte]).ok_or(Error::MissingByte { byte })?;
            vocab.byte_ids[usize::from(byte)] = id;
        }
        Ok(vocab)
    }

    /// Builds the vocabulary of a list of merges: the 256 bytes, then one token per merge. For
    /// example, the merges `(97, 98)` and `(256, 99)` make the tokens `ab` = 256 and `abc` = 257.
    ///
    /// # Errors
    ///
    /// If a merge refers to an id that does not precede it, or spells an existing token.
    pub fn try_from_merges(merges: &[(Id, Id)]) -> Result<Self, Error> {
        // Lengths come first, because a few merges can spell more bytes than memory holds.
        let (mut lengths, mut bytes) = (vec![1; 256], 256);
        for (id, &(left, right)) in (256..).zip(merges) {
            let length = |part: Id| {
                lengths.get(part as usize).copied().ok_or(Error::UnknownPart { id, part })
            };
            let length = length(left)? + length(right)?;
            lengths.push(length);
            bytes += length;
            if bytes > VOCAB_BYTES_MAX {
                return Err(Error::VocabTooLarge);
            }
        }
        let mut tokens: Vec<(Id, Vec<u8>)> = (0..=u8::MAX).map(|b| (b.into(), vec![b])).collect();
        for (id, &(left, right)) in (256..).zip(merges) {
            let [left, right] = [left, right].map(|part| tokens[part as usize].1.as_slice());
            let token = [left, right].concat();
            tokens.push((id, token));
        }
        Self::try_from_tokens(tokens)
    }

    /// Returns the number of bytes of all tokens together. A reader that has an image skips as many
    /// bytes of the tokenizer file.
    pub(crate) fn bytes_total(&self) -> usize {
        self.tokens.bytes.len() - PADDING
    }

    /// Appends the tokens and their index to the sections of an image, borrowed until the image is
    /// written.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        image.put_array(&self.tokens.bytes);
        image.put_array(&self.tokens.ends);
        image.put_array(&self.tokens.keys);
        image.put_array(&self.tokens.ids);
        self.index.write_image(image);
    }

    /// Reads a vocabulary from the sections of an image, whose memory it shares. Returns `None` if
    /// the sections do not fit each other; then the image is not used.
    pub(crate) fn try_from_image(image: &mut SectionReader) -> Option<Self> {
        let (bytes, ends) = (image.next_array()?, image.next_array()?);
        let tokens =
            TokenArrays { bytes, ends, keys: image.next_array()?, ids: image.next_array()? };
        let length = tokens.bytes.len().checked_sub(PADDING)?;
        let lengths = [tokens.ends.len(), tokens.keys.len()];
        if lengths != [tokens.ids.len(); 2] || *tokens.ends.last()? as usize != length {
            return None;
        }
        let mut vocab = Self {
            tokens,
            index: TokenIndex::try_from_image(image)?,
            byte_ids: [Id::MAX; 256],
            indices_by_bytes: OnceLock::new(),
            indices_by_reversed_bytes: OnceLock::new(),
        };
        for byte in 0..=u8::MAX {
            vocab.byte_ids[usize::from(byte)] = vocab.find(&[byte])?;
        }
        Some(vocab)
    }

    /// Inserts all tokens into the index; called once, by `try_from_arrays`.
    ///
    /// # Errors
    ///
    /// [`Error::SharedBytes`] if two tokens are equal.
    fn fill_index(&mut self) -> Result<(), Error> {
        let Self { tokens, index, .. } = self;
        let hash = |index: &TokenIndex, number: usize| match tokens.keys[number] {
            Key::TOO_LONG => index.hash_long(tokens.token_at(number)),
            key => index.hash_short(key),
        };
        let count = tokens.ids.len();
        for number in 0..count {
            if number + PREFETCH_DISTANCE < count {
                index.prefetch(hash(index, number + PREFETCH_DISTANCE));
            }
            let token = tokens.token_at(number);
            let is_equal = |other: usize| tokens.token_at(other) == token;
            if let Err(first) = index.insert(hash(index, number), number, is_equal) {
                let [first, second] = [first, number].map(|number| tokens.ids[number]);
                return Err(Error::SharedBytes { token: token.to_vec(), first, second });
            }
        }
        Ok(())
    }

    /// Returns the bytes of the token at an index, borrowed. The index is below the number of
    /// tokens.
    #[inline]
    pub(crate) fn token_at(&self, index: usize) -> &[u8] {
        self.tokens.token_at(index)
    }

    /// Returns the id of an index, which is below the number of tokens. `pair_origin` and `learn`
    /// count in indices and convert them at the end.
    #[inline]
    pub(crate) fn id_at(&self, index: usize) -> Id {
        self.tokens.ids[index]
    }

    /// Returns the id of the token with exactly these bytes, or `None` if they are no token.
    #[must_use]
    #[inline]
    pub fn find(&self, token: &[u8]) -> Option<Id> {
        self.find_within(token, 0..token.len())
    }

    /// Returns the id of a range of a text, if that range is a token. Text behind the range makes
    /// this faster, because the key is then one load.
    #[inline]
    pub(crate) fn find_within(&self, text: &[u8], range: Range<usize>) -> Option<Id> {
        match range.len() {
            0 => None,
            length @ 1..=SHORT_MAX => self.find_short(Key::from_short(text, range.start, length)),
            _ => self.find_long(&text[range]),
        }
    }

    /// Returns the id of the token with this key, of at most [`SHORT_MAX`] bytes, or `None` if
    /// there is none.
    #[inline]
    pub(crate) fn find_short(&self, key: Key) -> Option<Id> {
        let is_token = |index: usize| self.tokens.keys[index] == key;
        let index = self.index.get(self.index.hash_short(key), is_token)?;
        Some(self.tokens.ids[index])
    }

    /// Prefetches the index slot of a short token. The piece cache calls it when it queues a miss.
    #[inline]
    pub(crate) fn prefetch_index(&self, key: Key) {
        self.index.prefetch(self.index.hash_short(key));
    }

    /// Prefetches the key and the id of the token in that slot. [`Vocab::prefetch_index`] has to
    /// precede it by enough other work.
    #[inline]
    pub(crate) fn prefetch_key(&self, key: Key) {
        let index = self.index.peek(self.index.hash_short(key));
        prefetch(&self.tokens.keys[index]);
        prefetch(&self.tokens.ids[index]);
    }

    /// Returns the id of the token with these bytes, which are too many for a key, or `None` if
    /// there is none.
    pub(crate) fn find_long(&self, token: &[u8]) -> Option<Id> {
        let is_token = |index: usize| self.token_at(index) == token;
        let index = self.index.get(self.index.hash_long(token), is_token)?;
        Some(self.tokens.ids[index])
    }

    /// Returns the bytes of an id's token, borrowed. An id without a token, such as a special's,
    /// gives `None`.
    #[must_use]
    #[inline]
    pub fn token(&self, id: Id) -> Option<&[u8]> {
        Some(self.token_at(self.index_of(id)?))
    }

    /// Returns the index of an id's token in the arrays, or `None` if the id has no token. Ids
    /// without gaps take one load, others a binary search.
    #[inline]
    pub(crate) fn index_of(&self, id: Id) -> Option<usize> {
        match self.tokens.ids.get(id as usize) {
            Some(&dense) if dense == id => Some(id as usize),
            _ => self.tokens.ids.binary_search(&id).ok(),
        }
    }

    /// Returns the length in bytes of an id's token, 0 if there is none.
    #[inline]
    pub(crate) fn token_len(&self, id: Id) -> usize {
        self.index_of(id).map_or(0, |index| self.tokens.range(index).len())
    }

    /// Returns the id of the token of a single byte, which each vocabulary has.
    #[must_use]
    #[inline]
    pub fn byte(&self, byte: u8) -> Id {
        self.byte_ids[usize::from(byte)]
    }

    /// Returns the ids of the 256 tokens of single bytes, by the value of the byte.
    #[inline]
    pub(crate) fn byte_ids(&self) -> &[Id; 256] {
        &self.byte_ids
    }

    /// Returns all ids and their tokens, sorted by id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Id, &[u8])> + Clone {
        self.tokens.ids.iter().enumerate().map(|(index, &id)| (id, self.token_at(index)))
    }

    /// Returns the indices of all tokens, sorted by bytes. The first call sorts them; clones made
    /// later share the result.
    pub(crate) fn indices_by_bytes(&self) -> &[u32] {
        self.indices_by_bytes.get_or_init(|| {
            let mut indices: Vec<u32> = (0..self.tokens.ids.len() as u32).collect();
            indices.sort_unstable_by_key(|&index| self.token_at(index as usize));
            indices.into()
        })
    }

    /// Returns the indices of all tokens, sorted by their bytes read backwards. The first call
    /// sorts them; clones made later share the result.
    pub(crate) fn indices_by_reversed_bytes(&self) -> &[u32] {
        self.indices_by_reversed_bytes.get_or_init(|| {
            let last_bytes = |token: &[u8]| {
                let mut bytes = [0; 8];
                bytes.iter_mut().zip(token.iter().rev()).for_each(|(to, byte)| *to = *byte);
                u64::from_be_bytes(bytes)
            };
            let key = |index: u32| (last_bytes(self.token_at(index as usize)), index);
            let mut keyed: Vec<_> = (0..self.tokens.ids.len() as u32).map(key).collect();
            let reversed = |index: u32| self.token_at(index as usize).iter().rev();
            keyed.sort_unstable_by(|one, other| {
                let equal = || reversed(one.1).cmp(reversed(other.1));
                one.0.cmp(&other.0).then_with(equal)
            });
            keyed.into_iter().map(|(_, index)| index).collect()
        })
    }

    /// Calls `visit` with the id and the length of each token that is a prefix of `text`, shortest
    /// first. For example, cl100k has the tokens `a`, `ab` and `abc` for the text `abc?`.
    pub(crate) fn for_each_prefix(&self, text: &[u8], mut visit: impl FnMut(Id, usize)) {
        let mut sorted = self.indices_by_bytes();
        for (at, &byte) in text.iter().enumerate() {
            // Among the tokens that share the first `at` bytes, the one that ends there sorts
            // first.
            let next = |&index: &u32| self.token_at(index as usize).get(at).copied();
            let first = sorted.partition_point(|index| next(index) < Some(byte));
            let count = sorted[first..].partition_point(|index| next(index) == Some(byte));
            sorted = &sorted[first..first + count];
            let Some(&index) = sorted.first() else { return };
            if self.token_at(index as usize).len() == at + 1 {
                visit(self.tokens.ids[index as usize], at + 1);
            }
        }
    }

    /// Returns the tokens with this prefix, sorted by bytes, each with its id. The first call sorts
    /// all tokens.
    pub fn starting_with(&self, prefix: &[u8]) -> impl ExactSizeIterator<Item = (Id, &[u8])> {
        let token = |&index: &u32| (self.tokens.ids[index as usize], self.token_at(index as usize));
        self.indices_by_bytes()[self.range_starting_with(prefix)].iter().map(token)
    }

    /// Returns the range of the tokens with this prefix within [`Vocab::indices_by_bytes`], by two
    /// binary searches.
    pub(crate) fn range_starting_with(&self, prefix: &[u8]) -> Range<usize> {
        let sorted = self.indices_by_bytes();
        let first = sorted.partition_point(|&index| self.token_at(index as usize) < prefix);
        let has_prefix = |&index: &u32| self.token_at(index as usize).starts_with(prefix);
        first..first + sorted[first..].partition_point(has_prefix)
    }

    /// Returns the tokens with this suffix, sorted by their bytes read backwards, each with its id.
    /// The first call sorts all tokens.
    pub fn ending_with(&self, suffix: &[u8]) -> impl ExactSizeIterator<Item = (Id, &[u8])> {
        let token = |&index: &u32| (self.tokens.ids[index as usize], self.token_at(index as usize));
        self.indices_by_reversed_bytes()[self.range_ending_with(suffix)].iter().map(token)
    }

    /// Returns the range of the tokens with this suffix within
    /// [`Vocab::indices_by_reversed_bytes`], by two binary searches.
    pub(crate) fn range_ending_with(&self, suffix: &[u8]) -> Range<usize> {
        let sorted = self.indices_by_reversed_bytes();
        let is_before =
            |&index: &u32| self.token_at(index as usize).iter().rev().lt(suffix.iter().rev());
        let first = sorted.partition_point(is_before);
        let has_suffix = |&index: &u32| self.token_at(index as usize).ends_with(suffix);
        first..first + sorted[first..].partition_point(has_suffix)
    }

    /// Returns the highest id of a token. Specials are not tokens and do not count.
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
        Vocab::try_from_tokens(bytes().into_iter().chain(extra).collect()).unwrap_err().to_string()
    }

    #[test]
    fn refuses_a_missing_byte() {
        let error = Vocab::try_from_tokens(bytes().split_off(1)).unwrap_err();
        assert_eq!(error, Error::MissingByte { byte: 0 });
    }

    #[test]
    fn refuses_duplicates_and_ids_out_of_range() {
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
    fn refuses_merges_that_spell_more_bytes_than_memory_holds() {
        let doubling: Vec<(Id, Id)> =
            [(97, 97)].into_iter().chain((256..300).map(|id| (id, id))).collect();
        assert_eq!(Vocab::try_from_merges(&doubling).unwrap_err(), Error::VocabTooLarge);
        assert!(Vocab::try_from_merges(&doubling[..17]).is_ok());
    }

    #[test]
    fn accepts_ids_with_gaps() {
        let tokens =
            bytes().into_iter().chain([(300, b"ab".to_vec()), (1_000_000, b"abc".to_vec())]);
        let vocab = Vocab::try_from_tokens(tokens.collect()).unwrap();
        assert_eq!(vocab.find(b"abc"), Some(1_000_000));
        assert_eq!(vocab.token(300), Some(b"ab".as_slice()));
        assert_eq!(vocab.token(256), None);
    }

    #[test]
    fn finds_the_tokens_with_a_common_prefix() {
        let vocab = vocab_of(["abc", "ab", "abd"]);
        let found: Vec<_> = vocab.starting_with(b"ab").collect();
        assert_eq!(found, [(257, b"ab".as_slice()), (256, b"abc"), (258, b"abd")]);
        assert_eq!(vocab.starting_with(b"").len(), 259);
        assert_eq!(vocab.starting_with(b"abcd").len(), 0);
        assert_eq!(vocab.starting_with(b"\xFF").len(), 1);
    }

    #[test]
    fn finds_the_tokens_with_a_common_suffix() {
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
