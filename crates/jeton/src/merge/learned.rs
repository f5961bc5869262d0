//! The pieces that a thread has met, with their ids: two tables that forget rather than fill memory.
//!
//! A piece has a group of four slots. Two of them are its home, looked at first: in the table of
//! short pieces they are one line of the cache, so that a piece is found by one load. A piece that is
//! found in the other two changes places with one at home. Where all four are taken, one is given up,
//! and where that happens often, the table grows up to its bound.

use bytemuck::{Pod, Zeroable};

use crate::huge::{Huge, prefetch};
use crate::short::{Key, LONG_MAX, LongKey, SHORT_MAX};
use crate::vocab::Id;

/// Slots of the tables at most: 16 MiB for each of the two.
const SHORT_SLOTS_MAX: usize = 1 << 19;
const LONG_SLOTS_MAX: usize = 1 << 17;

/// What one thread has met. At first it takes no memory to speak of.
#[derive(Clone, Debug)]
pub(crate) struct Learned {
    /// Pieces of few bytes and few ids, tokens among them: nearly all of a text.
    pub(crate) short: Table<ShortSlot>,
    /// Longer ones, and short ones with more ids.
    pub(crate) long: Table<LongSlot>,
}

impl Default for Learned {
    fn default() -> Self {
        Self { short: Table::new(SHORT_SLOTS_MAX), long: Table::new(LONG_SLOTS_MAX) }
    }
}

impl Learned {
    /// Appends the ids of a piece and returns true, if it is known.
    pub(crate) fn get(&mut self, piece: &[u8], ids: &mut Vec<Id>) -> bool {
        if (1..=SHORT_MAX).contains(&piece.len())
            && let Some(found) = self.short.find(Key::of(piece, 0, piece.len()))
        {
            ids.extend_from_slice(found.ids());
            return true;
        }
        if (1..=LONG_MAX).contains(&piece.len())
            && let Some(found) = self.long.find(LongKey::of(piece, 0, piece.len()))
        {
            ids.extend_from_slice(found.ids());
            return true;
        }
        false
    }

    /// Keeps the ids of a piece, if they have room in a slot.
    pub(crate) fn put(&mut self, piece: &[u8], ids: &[Id]) {
        if piece.len() <= SHORT_MAX && ids.len() <= ShortSlot::IDS {
            self.short.put(Key::of(piece, 0, piece.len()), ids);
        } else if piece.len() <= LONG_MAX && ids.len() <= LongSlot::IDS {
            self.long.put(LongKey::of(piece, 0, piece.len()), ids);
        }
    }
}

/// A piece and its ids. All zeros, it is empty.
pub(crate) trait Slot: Pod {
    type Key: Copy + Eq;
    /// Ids that it has room for.
    const IDS: usize;
    fn new(key: Self::Key, ids: &[Id]) -> Self;
    fn key(&self) -> Self::Key;
    fn ids(&self) -> &[Id];
    fn hash(key: Self::Key) -> u64;
}

/// A key, so many ids and their number, aligned to its size.
macro_rules! slot {
    ($(#[$doc:meta])* $name:ident, $key:ident, $ids:literal, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Pod, Zeroable)]
        #[repr(C, align($bytes))]
        pub(crate) struct $name {
            pub(crate) key: $key,
            pub(crate) ids: [Id; $ids],
            pub(crate) count: u32,
        }

        impl Slot for $name {
            type Key = $key;
            const IDS: usize = $ids;

            fn new(key: $key, given: &[Id]) -> Self {
                let mut ids = [0; $ids];
                ids[..given.len()].copy_from_slice(given);
                Self { key, ids, count: given.len() as u32 }
            }

            #[inline]
            fn key(&self) -> $key {
                self.key
            }

            #[inline]
            fn ids(&self) -> &[Id] {
                &self.ids[..self.count as usize]
            }

            #[inline]
            fn hash(key: $key) -> u64 {
                key.mixed()
            }
        }
    };
}

slot!(
    /// A piece of up to [`SHORT_MAX`] bytes: half a line of the cache.
    ShortSlot, Key, 3, 32
);
slot!(
    /// A piece of up to [`LONG_MAX`] bytes: two lines of the cache.
    LongSlot, LongKey, 19, 128
);

/// Slots in groups of four.
#[derive(Clone, Debug)]
pub(crate) struct Table<S: Pod> {
    slots: Huge<S>,
    /// For each slot of a group some bits of its hash, 0 if it is empty: a piece that is not known
    /// is not looked for in slots.
    tags: Vec<[u16; 4]>,
    slots_max: usize,
    /// Slots that were given up since the table grew.
    given_up: usize,
}

impl<S: Slot> Table<S> {
    fn new(slots_max: usize) -> Self {
        Self { slots: Huge::zeros(4), tags: vec![[0; 4]], slots_max, given_up: 0 }
    }

    /// Returns all slots: two make a home, their number is a power of two.
    #[inline]
    pub(crate) fn homes(&self) -> &[[S; 2]] {
        bytemuck::cast_slice(&self.slots)
    }

    /// Returns where the slots of a hash begin.
    #[inline]
    fn home(&self, hash: u64) -> usize {
        home(hash, self.slots.len() / 2) * 2
    }

    /// Asks for what is looked at first by [`Table::find`].
    #[inline]
    pub(crate) fn prefetch(&self, key: S::Key) {
        prefetch(&self.tags[self.home(S::hash(key)) / 4]);
    }

    /// Returns the slot of a piece, if it is known.
    #[inline]
    pub(crate) fn find(&mut self, key: S::Key) -> Option<&S> {
        let hash = S::hash(key);
        let (home, tag) = (self.home(hash), tag(hash));
        let tags = self.tags[home / 4];
        let at = (0..4).map(|step| home ^ step).find(|at| {
            let at = *at;
            tags[at % 4] == tag && self.slots[at].key() == key
        })?;
        if at / 2 == home / 2 {
            return Some(&self.slots[at]);
        }
        self.slots.swap(home + 1, at);
        self.tags[home / 4].swap((home + 1) % 4, at % 4);
        Some(&self.slots[home + 1])
    }

    /// Keeps a piece; one that is known is not kept twice.
    pub(crate) fn put(&mut self, key: S::Key, ids: &[Id]) {
        if self.find(key).is_some() {
            return;
        }
        if self.given_up * 16 >= self.slots.len() && self.slots.len() < self.slots_max {
            self.grow();
        }
        self.put_slot(S::new(key, ids));
    }

    fn put_slot(&mut self, slot: S) {
        let hash = S::hash(slot.key());
        let home = self.home(hash);
        let tags = &mut self.tags[home / 4];
        let free = (0..4).map(|step| home ^ step).find(|at| tags[at % 4] == 0);
        self.given_up += usize::from(free.is_none());
        // Which one is given up does not matter much: what is in use comes back.
        let at = free.unwrap_or(home ^ (hash >> 62) as usize);
        tags[at % 4] = tag(hash);
        self.slots[at] = slot;
    }

    #[cold]
    fn grow(&mut self) {
        let count = (self.slots.len() * 2).max(1 << 10);
        let slots = std::mem::replace(&mut self.slots, Huge::zeros(count));
        self.tags = vec![[0; 4]; count / 4];
        for slot in slots.iter().filter(|slot| !slot.ids().is_empty()) {
            self.put_slot(*slot);
        }
        self.given_up = 0;
    }
}

/// Some bits of a hash, others than those of its home, and never 0.
#[inline]
fn tag(hash: u64) -> u16 {
    (hash as u16).max(1)
}

/// Which of so many homes, a power of two, a hash has.
#[inline]
pub(crate) fn home(hash: u64, homes: usize) -> usize {
    (hash >> 20) as usize & (homes - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn gives_back_what_was_kept_or_nothing() {
        let mut learned = Learned::default();
        let mut random = Random(5);
        let mut found = 0;
        for _ in 0..1_000_000 {
            let length = 1 + random.below(LONG_MAX + 5);
            let letters = if length > 9 { 2 } else { 7 };
            let piece: Vec<u8> = (0..length).map(|_| random.below(letters) as u8).collect();
            let count = 1 + length / 4;
            let expected: Vec<Id> = piece[..count].iter().map(|&byte| Id::from(byte)).collect();
            let mut ids = vec![7];
            if learned.get(&piece, &mut ids) {
                assert_eq!(ids[1..], expected);
                found += 1;
            } else {
                assert_eq!(ids, [7]);
                learned.put(&piece, &expected);
            }
        }
        assert!(found > 100_000);
    }

    #[test]
    fn memory_is_bounded() {
        let mut learned = Learned::default();
        for number in 0..2_000_000_u32 {
            let long = [number.to_le_bytes(); 5].concat();
            learned.put(&number.to_le_bytes(), &[number]);
            learned.put(&long, &[number]);
        }
        assert_eq!(learned.short.slots.len(), SHORT_SLOTS_MAX);
        assert_eq!(learned.long.slots.len(), LONG_SLOTS_MAX);
        assert_eq!(size_of_val(&learned.short.slots[..]), 16 << 20);
        assert_eq!(size_of_val(&learned.long.slots[..]), 16 << 20);
    }
}
