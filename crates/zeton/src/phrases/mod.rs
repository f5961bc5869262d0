//! Phrase search: texts found in arrays of ids, without decoding the arrays.
//!
//! Wherever a phrase occurs, some token contains its byte number k. Few tokens can: tokens that
//! spell the bytes around k, and tokens that cross an end of the phrase. For each phrase, the
//! anchor k is the byte whose tokens are the rarest in a sample of ids. For example, the phrase `w
//! low` in `slow lower`, with the tokens `ow`, `low`, `er`, ` l`, `we` and ` low`:
//!
//! ```text
//! phrase            w  ␣  l  o  w
//! byte              0  1  2  3  4
//! tokens over 0     `w`, `ow`, `low`, ` low`
//! tokens over 1     ` `, ` l`, ` low`               the rarest: the anchor is byte 1
//!
//! ids of the text   s   low   ␣low   er
//! bit set                      x                    look at this id
//! verify                  w    ␣low                 the neighbour ends in `w`
//! Occurrence        first: 1, offset: 2, end: 3     two bytes of `low` stand before the phrase
//! ```
//!
//! So the search has three parts:
//!
//! 1. [`Tokenizer::compile_phrases`] lists the tokens over each anchor: [`Phrases`];
//! 2. [`Tokenizer::find_phrases`] tests one bit an id, 16 ids at a time;
//! 3. a marked id is verified by the bytes of its neighbours.
//!
//! A phrase is found in any ids whose bytes spell it, also in ids that no encoding gives.
//! [`Spellings`] are the sequences that an encoding gives.
//!
//! Cost: 2.7 to 3.1 GB/s of 4-byte ids for one phrase in enwik8 by cl100k, against 0.39 GB/s by
//! decoding everything (`docs/find.md`, `bench/find.py`).

mod spellings;

pub use spellings::{SEQUENCES_MAX, Spellings};

use std::collections::HashMap;
use std::ops::Range;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::vocab::{Id, Vocab};

/// Bytes in the middle of a phrase among which its anchor is chosen. Not measured; it bounds the
/// work for a long phrase.
const ANCHOR_CANDIDATES_MAX: usize = 64;

/// Entries of all phrases together, at most: 512 MiB at 8 bytes each. Not measured.
const ENTRIES_MAX: usize = 1 << 26;

/// The bits of an id that index the bit table. Ids that differ only above them share a bit, so the
/// table takes 2 MiB at most.
const LOW_BITS: Id = (1 << 24) - 1;

/// Ids whose bits are tested together. Not measured.
const BLOCK_IDS: usize = 16;

/// A number of an array of ids.
pub trait IdNumber: Copy {
    /// Returns the number as an id. A negative number becomes an id that no token has, so it
    /// matches no phrase.
    fn id(self) -> Id;
}

impl IdNumber for u16 {
    #[inline]
    fn id(self) -> Id {
        Id::from(self)
    }
}

impl IdNumber for u32 {
    #[inline]
    fn id(self) -> Id {
        self
    }
}

impl IdNumber for i32 {
    #[inline]
    fn id(self) -> Id {
        self as Id
    }
}

/// A phrase found in an array of ids.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Occurrence {
    /// The position of the first id whose token has a byte of the phrase.
    pub first: usize,
    /// The bytes of that token before the phrase.
    pub offset: usize,
    /// The position after the last id whose token has a byte of the phrase.
    pub end: usize,
    /// The number of the phrase.
    pub phrase: usize,
}

/// A phrase in which a token can contain the anchor.
#[derive(Clone, Copy, Debug)]
struct PhraseEntry {
    phrase: u32,
    /// The start of the phrase relative to the start of the token: 2 for `w` in `low`, -1 for ` l`
    /// in `w l`.
    start: i32,
}

/// Phrases compiled for the ids of one tokenizer.
///
/// ```text
/// bits           one bit an id, modulo 2²⁴
/// entry_starts   0    0    2    3          by the index of a token
///                |    |    |
/// entries             [e0 e1] [e2]         the entries of token i: entry_starts[i]..[i + 1]
/// ```
#[derive(Clone, Debug)]
pub struct Phrases {
    phrases: Vec<Vec<u8>>,
    /// The bit of each id with entries.
    bits: Vec<u64>,
    /// All entries, sorted by the index of their token.
    entries: Vec<PhraseEntry>,
    /// The first entry of each token.
    entry_starts: Vec<u32>,
}

impl Phrases {
    /// Returns the number of phrases.
    #[must_use]
    pub fn count(&self) -> usize {
        self.phrases.len()
    }

    /// Returns the phrases in which the token with this index can contain the anchor, borrowed.
    fn entries_of(&self, index: usize) -> &[PhraseEntry] {
        &self.entries[self.entry_starts[index] as usize..self.entry_starts[index + 1] as usize]
    }
}

impl Tokenizer {
    /// Compiles phrases for [`Tokenizer::find_phrases`].
    ///
    /// A `sample` of the ids to search makes the search faster, because anchors are chosen by it.
    /// It does not change the occurrences.
    ///
    /// # Errors
    ///
    /// When a phrase is empty or has 2 GiB or more, or the phrases have too many entries together.
    pub fn compile_phrases(&self, phrases: Vec<Vec<u8>>, sample: &[Id]) -> Result<Phrases, Error> {
        let vocab = self.vocab();
        let ids = vocab.id_max().min(LOW_BITS) as usize + 1;
        let mut bits = vec![0; ids.div_ceil(u64::BITS as usize)];
        let mut all: Vec<(usize, PhraseEntry)> = Vec::new();
        let weights = TokenWeights::new(vocab, sample);
        let longest = weights.longest;
        let mut add = |phrase: usize, id: Id, start: i32| {
            let index = vocab.index_of(id).expect("all ids are the vocabulary's");
            bits[(id & LOW_BITS) as usize / 64] |= 1 << (id % 64);
            all.push((index, PhraseEntry { phrase: phrase as u32, start }));
            if all.len() > ENTRIES_MAX { Err(Error::PhrasesTooMany) } else { Ok(()) }
        };
        for (number, phrase) in phrases.iter().enumerate() {
            if phrase.is_empty() {
                return Err(Error::EmptyNeedle);
            }
            if phrase.len() > i32::MAX as usize {
                return Err(Error::TextTooLong { bytes: phrase.len() });
            }
            let anchor = weights.find_rarest_byte(phrase);
            let mut added = Ok(());
            for_each_covering(vocab, phrase, anchor, longest, |id, start| {
                added = added.clone().and_then(|()| add(number, id, start));
            });
            added?;
        }
        for_each_enclosing(vocab, &phrases, longest, add)?;
        all.sort_by_key(|(index, _)| *index);
        let (mut entry_starts, mut start) = (Vec::with_capacity(vocab.iter().len() + 1), 0);
        for index in 0..=vocab.iter().len() {
            start += all[start..].iter().take_while(|(other, _)| *other < index).count();
            entry_starts.push(start as u32);
        }
        let entries = all.into_iter().map(|(_, entry)| entry).collect();
        Ok(Phrases { phrases, bits, entries, entry_starts })
    }

    /// Calls `visit` with every occurrence whose anchor lies in an id of `range`. Ranges that cover
    /// the array together thus find each occurrence once.
    ///
    /// Occurrences of one phrase come from left to right, and may overlap. Specials and unknown ids
    /// match nothing.
    pub fn find_phrases<N: IdNumber>(
        &self,
        phrases: &Phrases,
        ids: &[N],
        range: Range<usize>,
        mut visit: impl FnMut(Occurrence),
    ) {
        let test_bit = |id: Id| {
            let word = phrases.bits.get((id & LOW_BITS) as usize / 64).copied().unwrap_or(0);
            word >> (id % 64) & 1
        };
        let mut start = range.start;
        for block in ids[range].chunks(BLOCK_IDS) {
            let mut marked = 0_u64;
            for (number, id) in block.iter().enumerate() {
                marked |= test_bit(id.id()) << number;
            }
            while marked != 0 {
                let at = start + marked.trailing_zeros() as usize;
                marked &= marked - 1;
                let Some(index) = self.vocab().index_of(ids[at].id()) else { continue };
                for entry in phrases.entries_of(index) {
                    let found =
                        self.verify(&phrases.phrases[entry.phrase as usize], ids, at, entry);
                    found.into_iter().for_each(&mut visit);
                }
            }
            start += block.len();
        }
    }

    /// Returns the occurrence of a phrase at the token `ids[at]`, if its neighbours spell the rest
    /// of the phrase. `entry` says where the phrase starts relative to that token.
    fn verify<N: IdNumber>(
        &self,
        phrase: &[u8],
        ids: &[N],
        at: usize,
        entry: &PhraseEntry,
    ) -> Option<Occurrence> {
        let token = |number: usize| self.vocab().token(ids.get(number)?.id());
        let (mut first, mut offset) = (at, entry.start.max(0) as usize);
        let mut before = &phrase[..(-entry.start).max(0) as usize];
        while !before.is_empty() {
            first = first.checked_sub(1)?;
            let left = token(first)?;
            let shared = left.len().min(before.len());
            before = before.strip_suffix(&left[left.len() - shared..])?;
            offset = left.len() - shared;
        }
        let own = i64::from(entry.start) + phrase.len() as i64 - token(at)?.len() as i64;
        let mut after = &phrase[phrase.len() - own.max(0) as usize..];
        let mut end = at + 1;
        while !after.is_empty() {
            let right = token(end)?;
            after = after.strip_prefix(&right[..right.len().min(after.len())])?;
            end += 1;
        }
        Some(Occurrence { first, offset, end, phrase: entry.phrase as usize })
    }
}

/// Estimated frequencies of tokens, by a sample of ids.
struct TokenWeights<'v> {
    vocab: &'v Vocab,
    longest: usize,
    /// The weight of each token, by index.
    weights: Vec<f64>,
    /// Prefix sums of the weights, in the order of the tokens' bytes.
    by_start: Vec<f64>,
    /// Prefix sums of the weights, in the order of the tokens' reversed bytes.
    by_end: Vec<f64>,
}

impl<'v> TokenWeights<'v> {
    fn new(vocab: &'v Vocab, sample: &[Id]) -> Self {
        // Each token starts with less weight than one occurrence. Low ids are more frequent, about
        // as the inverse of their number (Zipf's law); the 300 is not measured.
        let longest = vocab.iter().map(|(_, token)| token.len()).max().unwrap_or(0);
        let mut weights: Vec<f64> =
            (0..vocab.iter().len()).map(|index| 1.0 / (index + 300) as f64).collect();
        for index in sample.iter().filter_map(|&id| vocab.index_of(id)) {
            weights[index] += 1.0;
        }
        let sums = |order: &[u32]| {
            let sum = |sum: &mut f64, &index: &u32| {
                *sum += weights[index as usize];
                Some(*sum)
            };
            [0.0].into_iter().chain(order.iter().scan(0.0, sum)).collect()
        };
        let (by_start, by_end) =
            (sums(vocab.indices_by_bytes()), sums(vocab.indices_by_reversed_bytes()));
        Self { vocab, longest, weights, by_start, by_end }
    }

    /// Returns the index of the byte of a phrase over which the tokens have the least weight
    /// together. It becomes the phrase's anchor.
    fn find_rarest_byte(&self, phrase: &[u8]) -> usize {
        let Self { vocab, longest, .. } = *self;
        let first = phrase.len().saturating_sub(ANCHOR_CANDIDATES_MAX) / 2;
        let last = phrase.len().min(first + ANCHOR_CANDIDATES_MAX);
        // The sum over byte i is the total of the steps up to i: a token adds its weight at its
        // first byte and removes it behind its last.
        let mut steps = vec![0.0; phrase.len() + 1];
        for at in first.saturating_sub(longest)..last {
            vocab.for_each_prefix(&phrase[at..], |id, length| {
                let weight = vocab.index_of(id).map_or(0.0, |index| self.weights[index]);
                steps[at] += weight;
                steps[at + length] -= weight;
            });
            if phrase.len() - at < longest {
                let across = vocab.range_starting_with(&phrase[at..]);
                steps[at] += self.by_start[across.end] - self.by_start[across.start];
            }
            if at + 1 < longest {
                let across = vocab.range_ending_with(&phrase[..=at]);
                let weight = self.by_end[across.end] - self.by_end[across.start];
                steps[0] += weight;
                steps[at + 1] -= weight;
            }
        }
        let (mut sum, mut best) = (0.0, (f64::INFINITY, first));
        for (at, step) in steps.iter().enumerate().take(last) {
            sum += step;
            if at >= first && sum < best.0 {
                best = (sum, at);
            }
        }
        best.1
    }
}

/// Calls `visit` with each token that can contain byte `k` of a phrase, and with the start of the
/// phrase relative to the token. Tokens that enclose the whole phrase are left out.
fn for_each_covering(
    vocab: &Vocab,
    phrase: &[u8],
    k: usize,
    longest: usize,
    mut visit: impl FnMut(Id, i32),
) {
    for at in (k + 1).saturating_sub(longest)..=k {
        vocab.for_each_prefix(&phrase[at..], |id, length| {
            if at + length > k {
                visit(id, -(at as i32));
            }
        });
        let rest = &phrase[at..];
        if rest.len() < longest {
            let across = vocab.starting_with(rest).filter(|(_, token)| token.len() > rest.len());
            across.for_each(|(id, _)| visit(id, -(at as i32)));
        }
    }
    for at in k + 1..=phrase.len().min(longest) {
        let across = vocab.ending_with(&phrase[..at]).filter(|(_, token)| token.len() > at);
        across.for_each(|(id, token)| visit(id, (token.len() - at) as i32));
    }
}

/// Calls `visit` with the number of a phrase, each token that is longer than it at both ends, and
/// the start of the phrase in the token.
fn for_each_enclosing(
    vocab: &Vocab,
    phrases: &[Vec<u8>],
    longest: usize,
    mut visit: impl FnMut(usize, Id, i32) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut numbers: HashMap<&[u8], Vec<usize>> = HashMap::new();
    // For each length of a phrase, a bit for each first byte.
    let mut first_bytes: Vec<[u64; 4]> = vec![[0; 4]; longest];
    for (number, phrase) in phrases.iter().enumerate().filter(|(_, p)| p.len() + 2 <= longest) {
        numbers.entry(phrase).or_default().push(number);
        first_bytes[phrase.len()][usize::from(phrase[0]) / 64] |= 1 << (phrase[0] % 64);
    }
    let lengths: Vec<usize> =
        (0..longest).filter(|&length| first_bytes[length] != [0; 4]).collect();
    for (id, token) in vocab.iter() {
        for &length in lengths.iter().take_while(|&&length| length + 2 <= token.len()) {
            for start in 1..token.len() - length {
                let byte = token[start];
                if first_bytes[length][usize::from(byte) / 64] >> (byte % 64) & 1 == 0 {
                    continue;
                }
                for &number in numbers.get(&token[start..start + length]).into_iter().flatten() {
                    visit(number, id, start as i32)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
