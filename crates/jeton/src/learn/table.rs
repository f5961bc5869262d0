//! Pairs, and a table that finds what is known of each.

use std::mem;

use crate::error::Error;
use crate::huge;
use crate::progress::Pace;

/// Two neighbours, left and right; of two pairs, that of the smaller tokens is the smaller.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Pair(u64);

impl Pair {
    #[inline]
    pub(super) fn of(left: u32, right: u32) -> Self {
        Self(u64::from(left) << 32 | u64::from(right))
    }

    pub(super) fn left(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(super) fn right(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn hash(self) -> u64 {
        let product = u128::from(self.0 ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15;
        product as u64 ^ (product >> 64) as u64
    }
}

/// A share of all pairs: those whose hashes end in the same bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    bits: u32,
    end: u64,
}

impl Share {
    /// The table takes the first bits of a hash for places, so the last ones are free.
    #[inline]
    pub(super) fn holds(self, pair: Pair) -> bool {
        self.bits == 0 || (pair.hash() ^ self.end) & ((1 << self.bits) - 1) == 0
    }

    /// Gives away a half, and returns it; nothing if the share is as small as they get.
    pub(super) fn halve(&mut self) -> Option<Self> {
        if self.bits == SHARE_BITS_MAX {
            return None;
        }
        let end = self.end | 1 << self.bits;
        self.bits += 1;
        Some(Self { end, ..*self })
    }
}

const SHARE_BITS_MAX: u32 = 16;

/// Values by pair. A value that is the default is none: its place is given to others.
pub(super) struct Table<V> {
    /// A pair and its value, where the pair's hash says or in the next free place.
    slots: Vec<(Option<Key>, V)>,
    /// How far a hash is shifted to say where.
    shift: u32,
    used: usize,
}

/// A pair and one, so that no key is zero.
type Key = std::num::NonZeroU64;

const SLOTS_MIN: usize = 1 << 10;

impl<V: Copy + Default + PartialEq> Table<V> {
    /// Makes a table for so many pairs.
    pub(super) fn with_capacity(pairs: usize) -> Self {
        let slots = (pairs * 2).next_power_of_two().max(SLOTS_MIN);
        let mut empty = huge::vec(slots);
        empty.resize(slots, (None, V::default()));
        Self { slots: empty, shift: 64 - slots.trailing_zeros(), used: 0 }
    }

    /// Returns how many pairs are in the table.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Returns how many pairs a table can have that takes so many bytes, at the time it is made anew.
    pub(super) fn pairs_within(bytes: usize) -> usize {
        let slots = (bytes / 2 / size_of::<(Option<Key>, V)>()).max(SLOTS_MIN);
        (1 << slots.ilog2()) / 8 * 5
    }

    /// Returns the place of a pair, or the free one where it would be.
    #[inline]
    fn place(&self, pair: Pair) -> usize {
        let (key, mask) = (key(pair), self.slots.len() - 1);
        let mut place = (pair.hash() >> self.shift) as usize;
        while self.slots[place].0.is_some_and(|found| found != key) {
            place = (place + 1) & mask;
        }
        place
    }

    /// Asks for the memory of a pair's place.
    #[inline]
    pub(super) fn prefetch(&self, pair: Pair) {
        huge::prefetch(&self.slots[(pair.hash() >> self.shift) as usize]);
    }

    /// Returns the value of a pair, if it has one.
    #[inline]
    pub(super) fn get_mut(&mut self, pair: Pair) -> Option<&mut V> {
        let place = self.place(pair);
        let (found, value) = &mut self.slots[place];
        found.is_some().then_some(value)
    }

    /// Returns the value of a pair: the default, if it had none.
    #[inline]
    pub(super) fn entry(&mut self, pair: Pair, pace: &mut Pace) -> Result<&mut V, Error> {
        let mut place = self.place(pair);
        if self.slots[place].0.is_none() {
            if self.used * 8 >= self.slots.len() * 5 {
                self.keep(|_| true, pace)?;
                place = self.place(pair);
            }
            self.slots[place].0 = Some(key(pair));
            self.used += 1;
        }
        Ok(&mut self.slots[place].1)
    }

    /// Keeps the pairs of these that have a value, in as much space as they need.
    pub(super) fn keep(
        &mut self,
        is_kept: impl Fn(Pair) -> bool,
        pace: &mut Pace,
    ) -> Result<(), Error> {
        let is_kept = |&(pair, value): &(Pair, V)| value != V::default() && is_kept(pair);
        let kept = self.iter().filter(is_kept).count();
        let old = mem::replace(self, Self::with_capacity(kept * 3 / 2));
        for (pair, value) in old.iter().filter(is_kept) {
            let place = self.place(pair);
            self.slots[place] = (Some(key(pair)), value);
            pace.work(1)?;
        }
        self.used = kept;
        Ok(())
    }

    /// Returns all pairs and their values, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Pair, V)> {
        self.slots.iter().filter_map(|&(key, value)| Some((Pair(key?.get() - 1), value)))
    }
}

#[inline]
fn key(pair: Pair) -> Key {
    Key::new(pair.0 + 1).expect("no token is the highest number, so no pair is")
}
