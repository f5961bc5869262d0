//! Tokens, found by their bytes.

use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::vocab::TOKENS_MAX;
use crate::vocab::short_key::{self, Key, SHORT_MAX, drawn_seeds};

/// An open-addressed table of the indices of tokens, at most half full.
///
/// It is small, four bytes a slot: a token is looked for once by each thread, what is none far more
/// often, and the marks of the slots that are met tell nearly always.
#[derive(Clone, Debug)]
pub(crate) struct TokenIndex {
    /// A mark, some bits of the hash, and below it one more than the index; zero where a slot is
    /// empty.
    slots: HugeBuffer<u32>,
    shift: u32,
    /// Chosen anew for every table, so that no vocabulary can be made whose tokens all collide.
    seeds: [u64; 2],
}

/// Bits of an index plus one.
const INDEX_BITS: u32 = 25;

/// Bytes of a token that are mixed at once; one that is not short has no fewer.
const STEP: usize = 16;

const _: () = assert!(TOKENS_MAX < 1 << INDEX_BITS && SHORT_MAX + 1 == STEP);

impl TokenIndex {
    /// Makes an empty table for so many tokens.
    pub(crate) fn with_capacity(tokens: usize) -> Self {
        let slots = (tokens * 2).next_power_of_two().max(2);
        Self { slots: HugeBuffer::zeros(slots), shift: shift(slots), seeds: drawn_seeds() }
    }

    /// Puts the table into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        self.seeds.iter().for_each(|&seed| image.number(seed));
        image.row(&self.slots);
    }

    /// Takes the table out of an image.
    pub(crate) fn from_image(image: &mut SectionReader) -> Option<Self> {
        let seeds = [image.number()?, image.number()?];
        let slots = image.table().filter(|slots: &HugeBuffer<u32>| slots.len() > 1)?;
        Some(Self { shift: shift(slots.len()), slots, seeds })
    }

    /// Returns the hash of a short token.
    #[inline]
    pub(crate) fn hash_short(&self, key: Key) -> u64 {
        key.mixed_by(self.seeds)
    }

    /// Returns the hash of a token that is not short.
    pub(crate) fn hash_long(&self, token: &[u8]) -> u64 {
        let [mut state, seed] = self.seeds;
        let mut mix = |bytes: &[u8; STEP]| {
            state = short_key::mix(u128::from_le_bytes(*bytes), [state, seed]);
        };
        let (steps, rest) = token.as_chunks();
        steps.iter().for_each(&mut mix);
        if let (false, Some(last)) = (rest.is_empty(), token.last_chunk()) {
            mix(last);
        }
        // Without the length, bytes that repeat would be alike.
        mix(&(token.len() as u128).to_le_bytes());
        state
    }

    /// Asks for the slot where a token is looked for first.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[self.home(hash)]);
    }

    /// Returns the index of what is in that slot, if it has the mark of the hash, else zero.
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> usize {
        let slot = self.slots[self.home(hash)];
        if slot & MARK == mark(hash) { (slot & !MARK).saturating_sub(1) as usize } else { 0 }
    }

    /// Returns the index of a token by its hash; `is_it` tells whether one of that mark is the
    /// token.
    #[inline]
    pub(crate) fn get(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        self.find(hash, is_it).ok()
    }

    /// Adds a token that is not in the table yet; returns the index of an equal one if there is.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        index: usize,
        is_equal: impl Fn(usize) -> bool,
    ) -> Result<(), usize> {
        match self.find(hash, is_equal) {
            Ok(equal) => Err(equal),
            Err(empty) => {
                self.slots[empty] = mark(hash) | (index as u32 + 1);
                Ok(())
            }
        }
    }

    /// Returns the index of a token, or the slot where it would be.
    #[inline]
    fn find(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Result<usize, usize> {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let index = ((slot & !MARK) - 1) as usize;
            if slot & MARK == mark(hash) && is_it(index) {
                return Ok(index);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }
}

/// The bits of a slot that are its mark.
pub(crate) const MARK: u32 = u32::MAX << INDEX_BITS;

#[inline]
pub(crate) fn mark(hash: u64) -> u32 {
    (hash as u32) << INDEX_BITS
}

/// The bits of a hash that do not name a slot; there are at least two slots, a power of two.
fn shift(slots: usize) -> u32 {
    64 - slots.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        let mut random = Random(1);
        let words: std::collections::BTreeSet<Vec<u8>> = (0..3000)
            .map(|_| (0..=random.below(40)).map(|_| random.below(4) as u8).collect())
            .collect();
        let words: Vec<Vec<u8>> = words.into_iter().collect();
        let (put, left): (Vec<usize>, Vec<usize>) =
            (0..words.len()).partition(|number| number % 2 == 0);
        let mut index = TokenIndex::with_capacity(put.len());
        let hash = |index: &TokenIndex, word: &[u8]| match word.len() {
            ..=SHORT_MAX => index.hash_short(Key::of(word, 0, word.len())),
            _ => index.hash_long(word),
        };
        for &number in &put {
            let word = &words[number];
            let hash = hash(&index, word);
            assert_eq!(index.insert(hash, number, |other| words[other] == *word), Ok(()));
            assert_eq!(index.insert(hash, 0, |other| words[other] == *word), Err(number));
        }
        let found = |number: usize| {
            let word = &words[number];
            index.get(hash(&index, word), |other| words[other] == *word)
        };
        assert!(put.into_iter().all(|number| found(number) == Some(number)));
        assert!(left.into_iter().all(|number| found(number).is_none()));
    }
}
