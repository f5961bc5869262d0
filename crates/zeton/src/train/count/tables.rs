//! Counts in memory: three tables, by the length of the pieces.
//!
//! A piece of up to 15 bytes is one number or two: its bytes, the first in the highest place, and in
//! the lowest its length. Such numbers are in the order of the bytes. Longer pieces lie in an arena.

use std::ops::Range;

use bytemuck::Pod;

use super::spill_file::{read_number, write_number};
use crate::sys::error::Error;
use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::vocab::short_key::{draw_seeds, mix};

/// Bytes of a piece that is one number, and of one that is two.
const SHORT_MAX: usize = 7;
const MIDDLE_MAX: usize = 15;

/// Slots that are asked for before the first is used when tables are joined.
const JOINED_AT_ONCE: usize = 1 << 6;

/// Distinct pieces and their counts.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    /// Slots of a key and a count.
    short: Table<2>,
    /// Slots of two keys and a count.
    middle: Table<3>,
    /// Slots of a hash, a place in the arena and a count.
    long: Table<3>,
    /// Long pieces, each behind its length.
    arena: Vec<u8>,
    /// Bytes that slots, and the arena, may take.
    slots_max: usize,
    arena_max: usize,
    /// Nobody can make a corpus whose pieces all collide; nor do they when tables are joined, which
    /// hands over pieces in the order of another table.
    seeds: [u64; 2],
}

impl Tables {
    /// Makes empty tables that may take so many bytes.
    pub(crate) fn new(memory_max: usize) -> Self {
        Self {
            short: Table::new(),
            middle: Table::new(),
            long: Table::new(),
            arena: Vec::new(),
            slots_max: memory_max / 4 * 3,
            arena_max: memory_max / 4,
            seeds: draw_seeds(),
        }
    }

    /// Lets the tables grow from now on, whatever they take.
    pub(crate) fn unbind(&mut self) {
        (self.slots_max, self.arena_max) = (usize::MAX, usize::MAX);
    }

    /// Returns the number of distinct pieces.
    pub(crate) fn len(&self) -> usize {
        self.short.used + self.middle.used + self.long.used
    }

    /// Returns how many bytes this takes.
    pub(crate) fn memory(&self) -> usize {
        self.slot_bytes() + self.arena.capacity()
    }

    fn slot_bytes(&self) -> usize {
        self.short.bytes() + self.middle.bytes() + self.long.bytes()
    }

    /// Counts the pieces of a text: [`Adding::add`] each, then [`Adding::finish`].
    #[inline]
    pub(crate) fn adding<'t>(&mut self, text: &'t [u8], weight: u64) -> Adding<'_, 't> {
        Adding {
            tables: self,
            text,
            weight,
            short: Window::new(),
            middle: Window::new(),
            long: Window::new(),
        }
    }

    #[inline]
    fn add_short(&mut self, [key]: [u64; 1], hash: u64, count: u64) -> bool {
        let slot = self.short.slot(hash, |slot| slot[0] == key);
        slot[1] += count;
        if slot[0] != 0 {
            return true;
        }
        slot[0] = key;
        let (seeds, room) = (self.seeds, self.room());
        self.short.has_one_more(room, |slot| mix_one(slot[0], seeds))
    }

    #[inline]
    fn add_middle(&mut self, key: [u64; 2], hash: u64, count: u64) -> bool {
        let slot = self.middle.slot(hash, |slot| slot[..2] == key);
        slot[2] += count;
        if slot[1] != 0 {
            return true;
        }
        slot[..2].copy_from_slice(&key);
        let (seeds, room) = (self.seeds, self.room());
        self.middle.has_one_more(room, |slot| mix_two([slot[0], slot[1]], seeds))
    }

    fn add_long(&mut self, piece: &[u8], hash: u64, count: u64) -> bool {
        let arena = &self.arena;
        let is_it = |slot: &[u64; 3]| slot[0] == hash && piece_at(arena, slot[1]) == piece;
        let slot = self.long.slot(hash, is_it);
        let is_known = slot[2] != 0;
        slot[2] += count;
        if is_known {
            return true;
        }
        slot[..2].copy_from_slice(&[hash, self.arena.len() as u64]);
        write_number(piece.len() as u64, &mut self.arena);
        self.arena.extend_from_slice(piece);
        let room = self.room();
        self.long.has_one_more(room, |slot| slot[0]) && self.arena.len() <= self.arena_max
    }

    /// Returns how many bytes more the slots may take.
    fn room(&self) -> usize {
        self.slots_max.saturating_sub(self.slot_bytes())
    }

    /// Adds all counts of others; these tables have no bound.
    ///
    /// # Errors
    ///
    /// Those of `advance`, which is called now and then.
    pub(crate) fn join(
        &mut self,
        others: &Self,
        mut advance: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let seeds = self.seeds;
        for slots in others.short.slots.chunks(JOINED_AT_ONCE) {
            let pieces = || slots.iter().filter(|slot| slot[1] != 0);
            pieces().for_each(|&[key, _]| self.short.prefetch(mix_one(key, seeds)));
            for &[key, count] in pieces() {
                self.add_short([key], mix_one(key, seeds), count);
            }
            advance()?;
        }
        for slots in others.middle.slots.chunks(JOINED_AT_ONCE) {
            let pieces = || slots.iter().filter(|slot| slot[2] != 0);
            let hash = |&[first, second, _]: &[u64; 3]| mix_two([first, second], seeds);
            pieces().for_each(|slot| self.middle.prefetch(hash(slot)));
            for slot @ &[first, second, count] in pieces() {
                self.add_middle([first, second], hash(slot), count);
            }
            advance()?;
        }
        for (number, &[_, at, count]) in others.long.full().enumerate() {
            let piece = piece_at(&others.arena, at);
            self.add_long(piece, hash_long(piece, seeds), count);
            if number % JOINED_AT_ONCE == 0 {
                advance()?;
            }
        }
        Ok(())
    }

    /// Returns all pieces with their counts, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Piece<'_>, u64)> {
        let short = self.short.full().map(short_of);
        let middle = self.middle.full().map(middle_of);
        short.chain(middle).chain(self.long.full().map(|slot| long_of(&self.arena, slot)))
    }

    /// Returns all pieces with their counts in the order of their bytes.
    ///
    /// The tables are sorted where they are: [`Tables::clear`] makes them tables again.
    pub(crate) fn sort(&mut self) -> impl Iterator<Item = (Piece<'_>, u64)> {
        let arena = &self.arena;
        let short = self.short.sort(|one, other| one[0].cmp(&other[0]));
        let middle = self.middle.sort(|one, other| one[..2].cmp(&other[..2]));
        let long = self.long.sort(|one, other| {
            let [one, other] = [one, other].map(|slot| piece_at(arena, slot[1]));
            one.cmp(other)
        });
        let long = long.iter().map(|slot| long_of(arena, slot));
        in_order(in_order(short.iter().map(short_of), middle.iter().map(middle_of)), long)
    }

    /// Forgets all pieces; the memory stays.
    pub(crate) fn clear(&mut self) {
        self.short.clear();
        self.middle.clear();
        self.long.clear();
        self.arena.clear();
        // One piece may have been longer than all that there is room for.
        if self.arena.capacity() > self.arena_max {
            self.arena = Vec::new();
        }
    }
}

/// The pieces of a text on their way into the tables.
///
/// A slot is rarely in the cache when it is asked for, and always when some more pieces have come.
pub(crate) struct Adding<'a, 't> {
    tables: &'a mut Tables,
    text: &'t [u8],
    weight: u64,
    short: Window<1>,
    middle: Window<2>,
    /// Places in the text: where a piece starts, and its length.
    long: Window<2>,
}

impl Adding<'_, '_> {
    /// Adds the piece at a place. Says whether there is room for more pieces.
    ///
    /// Eight bytes are read at once where the text has so many, and what follows is masked off.
    #[inline]
    pub(crate) fn add(&mut self, place: Range<usize>) -> bool {
        let (text, seeds, length) = (self.text, self.tables.seeds, place.len());
        if length <= SHORT_MAX {
            let key = word_at(text, place.start) & first_bytes(length) | length as u64;
            let hash = mix_one(key, seeds);
            self.tables.short.prefetch(hash);
            let oldest = self.short.swap([key], hash);
            self.add_short(oldest)
        } else if length <= MIDDLE_MAX {
            let second = word_at(text, place.start + 8) & first_bytes(length - 8);
            let key = [word_at(text, place.start), second | length as u64];
            let hash = mix_two(key, seeds);
            self.tables.middle.prefetch(hash);
            let oldest = self.middle.swap(key, hash);
            self.add_middle(oldest)
        } else {
            let hash = hash_long(&text[place.clone()], seeds);
            self.tables.long.prefetch(hash);
            let oldest = self.long.swap([place.start as u64, length as u64], hash);
            self.add_long(oldest)
        }
    }

    /// Adds what is still on its way. Says whether there is room for more pieces.
    pub(crate) fn finish(mut self) -> bool {
        let mut has_room = true;
        for at in 0..AHEAD {
            has_room &= self.add_short(self.short.pieces[at]);
            has_room &= self.add_middle(self.middle.pieces[at]);
            has_room &= self.add_long(self.long.pieces[at]);
        }
        has_room
    }

    /// Returns the tables, without what is on its way.
    pub(crate) fn tables(&mut self) -> &mut Tables {
        self.tables
    }

    #[inline]
    fn add_short(&mut self, (key, hash): ([u64; 1], u64)) -> bool {
        key[0] == 0 || self.tables.add_short(key, hash, self.weight)
    }

    #[inline]
    fn add_middle(&mut self, (key, hash): ([u64; 2], u64)) -> bool {
        key[1] == 0 || self.tables.add_middle(key, hash, self.weight)
    }

    fn add_long(&mut self, ([start, length], hash): ([u64; 2], u64)) -> bool {
        let (start, length) = (start as usize, length as usize);
        let piece = &self.text[start..start + length];
        length == 0 || self.tables.add_long(piece, hash, self.weight)
    }
}

/// How many pieces come between the question for a slot and its use.
const AHEAD: usize = 16;

/// The pieces whose slots were asked for last, with their hashes; zeros where there are none.
struct Window<const N: usize> {
    pieces: [([u64; N], u64); AHEAD],
    oldest: usize,
}

impl<const N: usize> Window<N> {
    fn new() -> Self {
        Self { pieces: [([0; N], 0); AHEAD], oldest: 0 }
    }

    /// Puts a piece in and takes the oldest one out.
    #[inline]
    fn swap(&mut self, key: [u64; N], hash: u64) -> ([u64; N], u64) {
        let oldest = self.oldest;
        self.oldest = (oldest + 1) % AHEAD;
        std::mem::replace(&mut self.pieces[oldest], (key, hash))
    }
}

/// A piece out of a slot.
pub(crate) enum Piece<'a> {
    /// Its bytes, and in the last place their number.
    Packed([u8; MIDDLE_MAX + 1]),
    Lying(&'a [u8]),
}

impl Piece<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Packed(bytes) => &bytes[..usize::from(bytes[MIDDLE_MAX])],
            Self::Lying(bytes) => bytes,
        }
    }
}

fn short_of<'a>(&[key, count]: &[u64; 2]) -> (Piece<'a>, u64) {
    let length = key & 0xFF;
    middle_of(&[key - length, length, count])
}

fn middle_of<'a>(&[first, second, count]: &[u64; 3]) -> (Piece<'a>, u64) {
    let bytes = (u128::from(first) << 64 | u128::from(second)).to_be_bytes();
    (Piece::Packed(bytes), count)
}

fn long_of<'a>(arena: &'a [u8], &[_, at, count]: &[u64; 3]) -> (Piece<'a>, u64) {
    (Piece::Lying(piece_at(arena, at)), count)
}

/// Returns the piece that lies at a place of the arena, behind its length.
fn piece_at(arena: &[u8], at: u64) -> &[u8] {
    let (length, rest) = read_number(&arena[at as usize..]).expect("every piece has its length");
    &rest[..length as usize]
}

/// Makes one sequence in order of two.
fn in_order<'a>(
    one: impl Iterator<Item = (Piece<'a>, u64)>,
    other: impl Iterator<Item = (Piece<'a>, u64)>,
) -> impl Iterator<Item = (Piece<'a>, u64)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((first, _)), Some((second, _))) if first.bytes() > second.bytes() => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

/// An open-addressed table, at most three quarters full. The last number of a slot is a count; where
/// that is zero, the slot is empty.
#[derive(Clone, Debug)]
struct Table<const N: usize>
where
    [u64; N]: Pod,
{
    slots: HugeBuffer<[u64; N]>,
    used: usize,
}

impl<const N: usize> Table<N>
where
    [u64; N]: Pod,
{
    const SLOTS_MIN: usize = 1 << 10;

    fn new() -> Self {
        Self { slots: HugeBuffer::zeros(Self::SLOTS_MIN), used: 0 }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    fn full(&self) -> impl Iterator<Item = &[u64; N]> {
        self.slots.iter().filter(|slot| slot[N - 1] != 0)
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        (hash >> (self.slots.len() as u64 - 1).leading_zeros()) as usize
    }

    /// Asks for the slot of a piece with this hash, which is needed soon.
    #[inline]
    fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[self.home(hash)]);
    }

    /// Returns the slot of a piece with this hash, or the empty one where it is to be put.
    #[inline]
    fn slot(&mut self, hash: u64, is_it: impl Fn(&[u64; N]) -> bool) -> &mut [u64; N] {
        let last = self.slots.len() - 1;
        let mut at = self.home(hash);
        loop {
            let slot = &self.slots[at & last];
            if slot[N - 1] == 0 || is_it(slot) {
                return &mut self.slots[at & last];
            }
            at += 1;
        }
    }

    /// Notes that a slot was filled; grows within `room` bytes, or says that it is full.
    fn has_one_more(&mut self, room: usize, hash_of: impl Fn(&[u64; N]) -> u64) -> bool {
        self.used += 1;
        if self.used <= self.slots.len() / 4 * 3 {
            return true;
        }
        if self.bytes() * 2 > room {
            return false;
        }
        let larger = HugeBuffer::zeros(self.slots.len() * 2);
        let smaller = std::mem::replace(&mut self.slots, larger);
        for slot in smaller.iter().filter(|slot| slot[N - 1] != 0) {
            *self.slot(hash_of(slot), |_| false) = *slot;
        }
        true
    }

    /// Puts what is in the table into order, and returns it. It is no table until it is cleared.
    fn sort(&mut self, order: impl Fn(&[u64; N], &[u64; N]) -> std::cmp::Ordering) -> &[[u64; N]] {
        let mut count = 0;
        for at in 0..self.slots.len() {
            if self.slots[at][N - 1] != 0 {
                self.slots.swap(at, count);
                count += 1;
            }
        }
        let full = &mut self.slots[..count];
        full.sort_unstable_by(order);
        full
    }

    fn clear(&mut self) {
        self.slots.fill([0; N]);
        self.used = 0;
    }
}

/// The eight bytes from a place on, the first in the highest place; zeros where there are none.
#[inline]
fn word_at(text: &[u8], at: usize) -> u64 {
    match text.get(at..at + 8).and_then(|bytes| bytes.first_chunk()) {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => text
            .iter()
            .skip(at)
            .zip((0..8).rev())
            .fold(0, |word, (&byte, place)| word | u64::from(byte) << (8 * place)),
    }
}

/// The bits of so many bytes in the highest places, fewer than eight.
#[inline]
fn first_bytes(count: usize) -> u64 {
    !(u64::MAX >> (8 * count))
}

#[inline]
fn mix_one(key: u64, seeds: [u64; 2]) -> u64 {
    mix(u128::from(key) << 64 | u128::from(key.rotate_left(32)), seeds)
}

#[inline]
fn mix_two([first, second]: [u64; 2], seeds: [u64; 2]) -> u64 {
    mix(u128::from(first) << 64 | u128::from(second), seeds)
}

fn hash_long(piece: &[u8], seeds: [u64; 2]) -> u64 {
    let mut hash = piece.len() as u64;
    for at in (0..piece.len()).step_by(8) {
        hash = mix_two([hash, word_at(piece, at)], seeds);
    }
    hash
}
