//! A hash table from the bytes of a token to its index.
//!
//! It is open-addressed with linear probing and at most half full. A slot has four bytes:
//!
//! ```text
//!  bit 31      25 24                               0
//!      ┌─────────┬──────────────────────────────────┐
//!      │   tag   │            index + 1             │      zero: an empty slot
//!      └─────────┴──────────────────────────────────┘
//!        7 bits                25 bits
//! ```
//!
//! The high bits of a token's hash select its home slot, the lowest seven are its tag. The token
//! itself lies in the vocabulary's arrays: a probe compares the key or the bytes there only if the
//! tag matches. For example, a piece that is no token meets a filled slot with an equal tag once in
//! 128 probes.
//!
//! Slots are small because the piece cache remembers every result: a thread looks up each token
//! once. It looks up pieces that are no token far more often, and the tag alone rejects most of
//! them.
//!
//! Cost: 2 MB for o200k, where slots of 32 bytes with the keys inside took 16.8. With the small
//! slots o200k loads from its image in 4.5 ms instead of 5.8 to 7.2. "hello world" takes 190 ns
//! instead of 184.

use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::vocab::TOKENS_MAX;
use crate::vocab::short_key::{self, Key, SHORT_MAX, draw_seeds};

/// The hash table. It holds indices; the caller compares the tokens.
#[derive(Clone, Debug)]
pub(crate) struct TokenIndex {
    /// The slots, a power of two.
    slots: HugeBuffer<u32>,
    /// The shift that turns a hash into a slot number.
    shift: u32,
    /// Random seeds for each table, so that nobody can craft a vocabulary whose tokens all collide.
    seeds: [u64; 2],
}

/// Bits of a slot that hold an index plus one: enough for [`TOKENS_MAX`].
const INDEX_BITS: u32 = 25;

/// Bytes of a long token that are hashed at once. A token that is not short has at least one block.
const BLOCK: usize = 16;

const _: () = assert!(TOKENS_MAX < 1 << INDEX_BITS && SHORT_MAX + 1 == BLOCK);

impl TokenIndex {
    /// Allocates an empty table that is at most half full with `tokens` tokens, and draws its
    /// seeds.
    pub(crate) fn with_capacity(tokens: usize) -> Self {
        let slots = (tokens * 2).next_power_of_two().max(2);
        Self { slots: HugeBuffer::zeros(slots), shift: shift_for(slots), seeds: draw_seeds() }
    }

    /// Appends the seeds and the slots to the sections of an image, borrowed until the image is
    /// written.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        self.seeds.iter().for_each(|&seed| image.put_number(seed));
        image.put_array(&self.slots);
    }

    /// Reads a table from the sections of an image. Returns `None` if sections are missing or have
    /// impossible sizes; then the image is not used.
    pub(crate) fn try_from_image(image: &mut SectionReader) -> Option<Self> {
        let seeds = [image.next_number()?, image.next_number()?];
        let slots = image.next_table().filter(|slots: &HugeBuffer<u32>| slots.len() > 1)?;
        Some(Self { shift: shift_for(slots.len()), slots, seeds })
    }

    /// Returns the hash of a short token in this table, by its key and the table's seeds.
    #[inline]
    pub(crate) fn hash_short(&self, key: Key) -> u64 {
        key.hash_with(self.seeds)
    }

    /// Returns the hash of a token that is too long for a key. It mixes blocks of 16 bytes, then
    /// the last 16, then the length.
    pub(crate) fn hash_long(&self, token: &[u8]) -> u64 {
        let [mut state, seed] = self.seeds;
        let mut mix = |bytes: &[u8; BLOCK]| {
            state = short_key::mix(u128::from_le_bytes(*bytes), [state, seed]);
        };
        let (blocks, rest) = token.as_chunks();
        blocks.iter().for_each(&mut mix);
        // The last block overlaps the one before it.
        if let (false, Some(last)) = (rest.is_empty(), token.last_chunk()) {
            mix(last);
        }
        // Without the length, repetitions of one block would collide.
        mix(&(token.len() as u128).to_le_bytes());
        state
    }

    /// Prefetches the home slot of a hash, so that [`TokenIndex::get`] finds it in the cache.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[self.home_slot(hash)]);
    }

    /// Returns the index in the home slot if its tag matches, else zero. It serves prefetching,
    /// which may be wrong.
    #[inline]
    pub(crate) fn peek(&self, hash: u64) -> usize {
        let slot = self.slots[self.home_slot(hash)];
        if slot & TAG_MASK == tag(hash) { (slot & !TAG_MASK).saturating_sub(1) as usize } else { 0 }
    }

    /// Returns the index of the token with this hash that `is_token` accepts, or `None` if there is
    /// none. `is_token` compares the token itself.
    #[inline]
    pub(crate) fn get(&self, hash: u64, is_token: impl Fn(usize) -> bool) -> Option<usize> {
        self.find(hash, is_token).ok()
    }

    /// Inserts the index of a token under its hash. If `is_equal` finds an equal token, nothing is
    /// inserted, and the error is that token's index.
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
                self.slots[empty] = tag(hash) | (index as u32 + 1);
                Ok(())
            }
        }
    }

    /// Returns the index of a token, or the empty slot that ends the probe. It reads slots from the
    /// home slot on; one is empty, because the table is at most half full.
    #[inline]
    fn find(&self, hash: u64, is_token: impl Fn(usize) -> bool) -> Result<usize, usize> {
        let mut at = self.home_slot(hash);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let index = ((slot & !TAG_MASK) - 1) as usize;
            if slot & TAG_MASK == tag(hash) && is_token(index) {
                return Ok(index);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns the index of the slot where probing for a hash begins.
    #[inline]
    fn home_slot(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }
}

/// The bits of a slot that hold the tag.
pub(crate) const TAG_MASK: u32 = u32::MAX << INDEX_BITS;

/// Returns the tag of a hash, in its place within a slot: most other hashes are told apart by it,
/// without reading a token.
#[inline]
pub(crate) fn tag(hash: u64) -> u32 {
    (hash as u32) << INDEX_BITS
}

/// Returns the number of bits by which a hash is shifted to the index of a slot. `slots` is a power
/// of two and at least two.
fn shift_for(slots: usize) -> u32 {
    64 - slots.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn finds_inserted_tokens_and_no_others() {
        let mut random = Random(1);
        let words: std::collections::BTreeSet<Vec<u8>> = (0..3000)
            .map(|_| (0..=random.below(40)).map(|_| random.below(4) as u8).collect())
            .collect();
        let words: Vec<Vec<u8>> = words.into_iter().collect();
        let (inserted, absent): (Vec<usize>, Vec<usize>) =
            (0..words.len()).partition(|number| number % 2 == 0);
        let mut index = TokenIndex::with_capacity(inserted.len());
        let hash = |index: &TokenIndex, word: &[u8]| match word.len() {
            ..=SHORT_MAX => index.hash_short(Key::from_short(word, 0, word.len())),
            _ => index.hash_long(word),
        };
        for &number in &inserted {
            let word = &words[number];
            let hash = hash(&index, word);
            assert_eq!(index.insert(hash, number, |other| words[other] == *word), Ok(()));
            assert_eq!(index.insert(hash, 0, |other| words[other] == *word), Err(number));
        }
        let found = |number: usize| {
            let word = &words[number];
            index.get(hash(&index, word), |other| words[other] == *word)
        };
        assert!(inserted.into_iter().all(|number| found(number) == Some(number)));
        assert!(absent.into_iter().all(|number| found(number).is_none()));
    }
}
