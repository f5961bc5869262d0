//! Short tokens, found by their bytes: up to 15 bytes and their number are one key of 16.
//!
//! Nearly all pieces are short, and nearly all that are tokens are found at the first slot: one load
//! from memory, one comparison. Keys and slots of many pieces are computed before the first is
//! compared, so that the loads overlap.

use std::hash::{BuildHasher, Hasher};

use bytemuck::{Pod, Zeroable};
use foldhash::fast::RandomState;

use crate::huge::{Huge, prefetch};
use crate::image::{Reader, Writer};
use crate::vocab::Id;

/// Bytes that a short piece has at most.
pub(crate) const SHORT_MAX: usize = 15;

/// A short piece as one number, never zero: its bytes, and their number in the highest byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Key(u128);

impl Key {
    const NONE: Self = Self(0);

    /// The key of `text[start..start + length]`, which has from 1 to [`SHORT_MAX`] bytes.
    #[inline]
    pub(crate) fn of(text: &[u8], start: usize, length: usize) -> Self {
        // Sixteen bytes are read at once where there are so many, and what follows is masked off.
        let bytes = match text.get(start..start + 16).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => {
                let mut padded = [0; 16];
                padded[..length].copy_from_slice(&text[start..start + length]);
                u128::from_le_bytes(padded)
            }
        };
        Self(bytes & MASKS[length] | (length as u128) << 120)
    }
}

/// The bits of so many bytes.
const MASKS: [u128; SHORT_MAX + 1] = {
    let mut masks = [0; SHORT_MAX + 1];
    let mut length = 1;
    while length <= SHORT_MAX {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

/// A slot of the table, half a cache line, so that none lies across two.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(32))]
struct Slot {
    key: Key,
    id: Id,
    rest: [u32; 3],
}

const EMPTY: Slot = Slot { key: Key::NONE, id: 0, rest: [0; 3] };

/// A key and the slot where it is looked for first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    key: Key,
    at: usize,
    slot: Slot,
}

impl Look {
    pub(crate) const NONE: Self = Self { key: Key::NONE, at: 0, slot: EMPTY };
}

/// An open-addressed table of short tokens, at most half full.
#[derive(Clone, Debug)]
pub(crate) struct ShortTokens {
    slots: Huge<Slot>,
    shift: u32,
    /// Chosen anew for every table, so that no vocabulary can be made whose tokens all collide.
    seeds: [u64; 2],
}

impl ShortTokens {
    /// Makes an empty table for so many tokens.
    pub(crate) fn with_capacity(tokens: usize) -> Self {
        let slots = (tokens * 2).next_power_of_two().max(2);
        let seeds = [1, 2].map(|number| {
            let mut hasher = RandomState::default().build_hasher();
            hasher.write_u64(number);
            hasher.finish()
        });
        Self { slots: Huge::zeros(slots), shift: 64 - slots.trailing_zeros(), seeds }
    }

    /// Puts the table into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut Writer<'v>) {
        self.seeds.iter().for_each(|&seed| image.number(seed));
        image.row(&self.slots);
    }

    /// Takes the table out of an image.
    pub(crate) fn from_image(image: &mut Reader) -> Option<Self> {
        let seeds = [image.number()?, image.number()?];
        let slots = image.table()?;
        Some(Self { shift: 64 - slots.len().trailing_zeros(), slots, seeds })
    }

    /// Adds a token that is not in the table yet.
    pub(crate) fn insert(&mut self, key: Key, id: Id) {
        let mut at = self.home(key);
        while self.slots[at].key != Key::NONE {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = Slot { key, id, rest: [0; 3] };
    }

    /// Returns the id of a key, if it is a token's.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<Id> {
        self.find(&self.look(key))
    }

    /// Asks for the slot where a key is looked for first.
    #[inline]
    pub(crate) fn prefetch(&self, key: Key) {
        prefetch(&self.slots[self.home(key)]);
    }

    /// Loads where a key is looked for first: many at once, then [`ShortTokens::find`] for each.
    #[inline]
    pub(crate) fn look(&self, key: Key) -> Look {
        let at = self.home(key);
        Look { key, at, slot: self.slots[at] }
    }

    /// Goes on from a look, and returns the id of its key, if it is a token's.
    #[inline]
    pub(crate) fn find(&self, look: &Look) -> Option<Id> {
        let Look { key, mut at, mut slot } = *look;
        while slot.key != key {
            if slot.key == Key::NONE {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
            slot = self.slots[at];
        }
        Some(slot.id)
    }

    #[inline]
    fn home(&self, key: Key) -> usize {
        let [low, high] = [key.0 as u64, (key.0 >> 64) as u64];
        let product = u128::from(low ^ self.seeds[0]) * u128::from(high ^ self.seeds[1]);
        let mixed = product as u64 ^ (product >> 64) as u64;
        (mixed >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn a_key_is_its_bytes_wherever_they_stand() {
        let text = b"the quick brown fox jumps over the lazy dog";
        for start in 0..text.len() {
            for length in 1..=SHORT_MAX.min(text.len() - start) {
                let alone = &text[start..start + length];
                assert_eq!(Key::of(text, start, length), Key::of(alone, 0, length));
                assert_ne!(Key::of(text, start, length), Key::NONE);
            }
        }
        assert_ne!(Key::of(b"\0", 0, 1), Key::of(b"\0\0", 0, 2));
    }

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        let mut random = Random(1);
        let words: std::collections::BTreeSet<Vec<u8>> = (0..1000)
            .map(|_| (0..=random.below(SHORT_MAX)).map(|_| random.below(4) as u8).collect())
            .collect();
        let (put, left): (Vec<_>, Vec<_>) =
            words.iter().enumerate().partition(|(number, _)| number % 2 == 0);
        let mut table = ShortTokens::with_capacity(put.len());
        for (number, word) in &put {
            table.insert(Key::of(word, 0, word.len()), *number as Id);
        }
        for (number, word) in put {
            assert_eq!(table.get(Key::of(word, 0, word.len())), Some(number as Id));
        }
        for (_, word) in left {
            assert_eq!(table.get(Key::of(word, 0, word.len())), None);
        }
    }
}
