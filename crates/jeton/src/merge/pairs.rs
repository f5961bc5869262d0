//! The table of pairs: (left, right) becomes the id of the two joined.

use std::hash::{BuildHasher, Hasher};

use bytemuck::{Pod, Zeroable};
use foldhash::fast::RandomState;

use crate::huge::{Huge, prefetch};
use crate::image::{Reader, Writer};
use crate::vocab::Id;

/// An open-addressed table, at most half full; it never shrinks and holds no pair twice.
#[derive(Clone, Debug)]
pub struct Pairs {
    slots: Huge<Slot>,
    shift: u32,
    /// Eight bits a slot, one of them set for each pair. Most pairs that are asked for do not merge,
    /// and most of those end here: these bits stay in the cache where the slots do not.
    filter: Huge<u64>,
    /// Chosen anew for every table, so that no vocabulary can be made whose pairs all collide.
    seed: u64,
    len: usize,
}

/// A pair, and one more than what it becomes: zero where the slot is empty.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Slot {
    pair: [Id; 2],
    joined_after: Id,
}

impl Default for Pairs {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Pairs {
    /// Makes an empty table for so many pairs.
    pub(crate) fn with_capacity(pairs: usize) -> Self {
        let slots = (pairs * 2).next_power_of_two().max(2);
        let seed = RandomState::default().build_hasher().finish();
        let filter = Huge::zeros((slots / 8).max(1));
        Self { slots: Huge::zeros(slots), shift: 64 - slots.trailing_zeros(), filter, seed, len: 0 }
    }

    /// Puts the table into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut Writer<'v>) {
        image.number(self.seed);
        image.number(self.len as u64);
        image.row(&self.slots);
        image.row(&self.filter);
    }

    /// Takes the table out of an image.
    pub(crate) fn from_image(image: &mut Reader) -> Option<Self> {
        let (seed, len) = (image.number()?, usize::try_from(image.number()?).ok()?);
        let (slots, filter) = (image.table()?, image.table()?);
        let shift = 64 - slots.len().trailing_zeros();
        Some(Self { slots, shift, filter, seed, len })
    }

    /// Adds a pair that is not in the table yet.
    pub(crate) fn insert(&mut self, left: Id, right: Id, joined: Id) {
        assert!(self.len * 2 < self.slots.len(), "the table was made for fewer pairs");
        let mixed = self.mix(left, right);
        let (word, bit) = self.filter_place(mixed);
        self.filter[word] |= bit;
        let mut at = (mixed >> self.shift) as usize;
        while self.slots[at].joined_after != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = Slot { pair: [left, right], joined_after: joined + 1 };
        self.len += 1;
    }

    /// Returns what a pair becomes, if it merges.
    #[must_use]
    #[inline]
    pub fn get(&self, left: Id, right: Id) -> Option<Id> {
        match self.rank(left, right) {
            Id::MAX => None,
            joined => Some(joined),
        }
    }

    /// The same with `Id::MAX`, the lowest rank of all, for a pair that does not merge.
    #[inline]
    pub(crate) fn rank(&self, left: Id, right: Id) -> Id {
        let mixed = self.mix(left, right);
        let (word, bit) = self.filter_place(mixed);
        if self.filter[word] & bit == 0 {
            return Id::MAX;
        }
        let mut at = (mixed >> self.shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot.pair == [left, right] || slot.joined_after == 0 {
                return slot.joined_after.wrapping_sub(1);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Asks for the slot where a pair is looked for first.
    #[inline]
    pub(crate) fn prefetch(&self, left: Id, right: Id) {
        prefetch(&self.slots[(self.mix(left, right) >> self.shift) as usize]);
    }

    /// Returns all pairs and what they become, by rising rank.
    #[must_use]
    pub fn by_rank(&self) -> Vec<((Id, Id), Id)> {
        let filled = self.slots.iter().filter(|slot| slot.joined_after != 0);
        let mut all: Vec<_> =
            filled.map(|slot| (slot.pair.into(), slot.joined_after - 1)).collect();
        all.sort_by_key(|(_, joined)| *joined);
        all
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no pair merges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn mix(&self, left: Id, right: Id) -> u64 {
        let key = (u64::from(left) << 32 | u64::from(right)) ^ self.seed;
        let product = u128::from(key) * 0x9E37_79B9_7F4A_7C15_u128;
        product as u64 ^ (product >> 64) as u64
    }

    /// The bit of a pair in the filter: other bits of the mix than those that choose its slot.
    #[inline]
    fn filter_place(&self, mixed: u64) -> (usize, u64) {
        ((mixed >> 6) as usize & (self.filter.len() - 1), 1 << (mixed & 63))
    }
}
