//! Counts in memory: three hash tables, by the length of the pieces.
//!
//! A piece of up to 15 bytes is packed into one or two integers: its bytes first, padded with
//! zeros, and its length in the lowest byte. For example, ` low` and ` training` (lengths 4 and 9):
//!
//! ```text
//! bits     63 ............... 0   63 ............... 0
//! ` low`   20 6c 6f 77 00 00 00 04                              CountTable<2>: key, count
//! ` tra..` 20 74 72 61 69 6e 69 6e 67 00 00 00 00 00 00 09      CountTable<3>: key, key, count
//! longer   hash                    offset in the arena          CountTable<3>: hash, offset, count
//! arena    .. 10 69 6e 63 6f 6d 70 72 65 68 65 6e 73 69 62 6c 65 ..    length (LEB128), bytes
//! ```
//!
//! - The bytes are the high bits, so integers compare as the pieces do; `a` and `a\0` differ by
//!   length.
//! - No key is zero but the empty piece's, and the text has no empty piece.
//! - Slots are prefetched 16 pieces before they are used ([`PieceInserter`]).
//! - Each set of tables draws its own hash seeds. So a crafted corpus cannot make all pieces
//!   collide, and inserting the pieces of one set in slot order into another does not cluster them.
//!
//! Cost: 16 bytes a slot for pieces of up to 7 bytes, 24 for longer ones, plus the arena; tables
//! are at most 3/4 full.

use std::ops::Range;

use bytemuck::Pod;

use super::spill_file::{read_number, write_number};
use crate::sys::error::Error;
use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::vocab::short_key::{draw_seeds, mix};

/// The longest pieces that are packed into one integer and into two: all bytes but the length's.
const SHORT_BYTES_MAX: usize = 7;
const MIDDLE_BYTES_MAX: usize = 15;

/// Slots of another table whose pieces are prefetched, then added.
///
/// With this prefetch the tables of two threads on 100 MB are combined in 0.03 s instead of 0.13 s
/// (git log).
const ADD_BATCH: usize = 1 << 6;

/// Distinct pieces and their counts.
#[derive(Clone, Debug)]
pub(crate) struct CountTables {
    /// Pieces of up to 7 bytes: slots of a key and a count.
    short: CountTable<2>,
    /// Pieces of 8 to 15 bytes: slots of a key in two integers, and a count.
    middle: CountTable<3>,
    /// Longer pieces: slots of a hash, an offset in the arena, and a count.
    long: CountTable<3>,
    /// The long pieces, each after its length.
    arena: Vec<u8>,
    /// The most bytes of all slots, and of the arena.
    slots_bytes_max: usize,
    arena_bytes_max: usize,
    /// The seeds of the hash, drawn for these tables.
    seeds: [u64; 2],
}

impl CountTables {
    /// Makes empty tables that take at most `memory_max` bytes: 3/4 for slots, 1/4 for the arena.
    pub(crate) fn new(memory_max: usize) -> Self {
        Self {
            short: CountTable::new(),
            middle: CountTable::new(),
            long: CountTable::new(),
            arena: Vec::new(),
            slots_bytes_max: memory_max / 4 * 3,
            arena_bytes_max: memory_max / 4,
            seeds: draw_seeds(),
        }
    }

    /// Removes the bounds on memory, so that no insertion reports full tables. The counter calls it
    /// before it adds the tables of all threads together.
    pub(crate) fn remove_bounds(&mut self) {
        (self.slots_bytes_max, self.arena_bytes_max) = (usize::MAX, usize::MAX);
    }

    /// Returns the number of distinct pieces.
    pub(crate) fn len(&self) -> usize {
        self.short.used + self.middle.used + self.long.used
    }

    /// Returns the allocated memory of slots and arena in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.slot_bytes() + self.arena.capacity()
    }

    fn slot_bytes(&self) -> usize {
        self.short.bytes() + self.middle.bytes() + self.long.bytes()
    }

    /// Returns an inserter for the pieces of one text, each of which counts `weight` times.
    #[inline]
    pub(crate) fn inserter<'t>(&mut self, text: &'t [u8], weight: u64) -> PieceInserter<'_, 't> {
        PieceInserter {
            tables: self,
            text,
            weight,
            short: PrefetchQueue::new(),
            middle: PrefetchQueue::new(),
            long: PrefetchQueue::new(),
        }
    }

    /// Adds `count` to the count of a piece of up to 7 bytes. Returns false if the table has
    /// reached its bound; the piece is counted in either case.
    #[inline]
    fn add_short(&mut self, [key]: [u64; 1], hash: u64, count: u64) -> bool {
        let slot = self.short.find(hash, |slot| slot[0] == key);
        slot[1] += count;
        if slot[0] != 0 {
            return true;
        }
        slot[0] = key;
        let (seeds, bytes_left) = (self.seeds, self.slot_bytes_left());
        self.short.note_insertion(bytes_left, |slot| hash_one(slot[0], seeds))
    }

    /// Adds `count` to the count of a piece of 8 to 15 bytes. Returns false if the table has
    /// reached its bound; the piece is counted in either case.
    #[inline]
    fn add_middle(&mut self, key: [u64; 2], hash: u64, count: u64) -> bool {
        let slot = self.middle.find(hash, |slot| slot[..2] == key);
        slot[2] += count;
        if slot[1] != 0 {
            return true;
        }
        slot[..2].copy_from_slice(&key);
        let (seeds, bytes_left) = (self.seeds, self.slot_bytes_left());
        self.middle.note_insertion(bytes_left, |slot| hash_two([slot[0], slot[1]], seeds))
    }

    /// Adds `count` to the count of a piece of 16 bytes or more. A new piece is copied to the
    /// arena. Returns false if the tables have reached their bound; the piece is counted in either
    /// case.
    fn add_long(&mut self, piece: &[u8], hash: u64, count: u64) -> bool {
        let arena = &self.arena;
        let has_piece = |slot: &[u64; 3]| slot[0] == hash && read_piece(arena, slot[1]) == piece;
        let slot = self.long.find(hash, has_piece);
        let is_known = slot[2] != 0;
        slot[2] += count;
        if is_known {
            return true;
        }
        slot[..2].copy_from_slice(&[hash, self.arena.len() as u64]);
        write_number(piece.len() as u64, &mut self.arena);
        self.arena.extend_from_slice(piece);
        let bytes_left = self.slot_bytes_left();
        self.long.note_insertion(bytes_left, |slot| slot[0])
            && self.arena.len() <= self.arena_bytes_max
    }

    /// Returns how many bytes the slots of all three tables may grow by before they reach their
    /// bound.
    fn slot_bytes_left(&self) -> usize {
        self.slots_bytes_max.saturating_sub(self.slot_bytes())
    }

    /// Adds all counts of other tables to these tables, whose bounds must have been removed.
    ///
    /// # Errors
    ///
    /// The errors of `check_stop`, which is called after each batch of pieces.
    pub(crate) fn add_all(
        &mut self,
        other: &Self,
        mut check_stop: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let seeds = self.seeds;
        for slots in other.short.slots.chunks(ADD_BATCH) {
            let pieces = || slots.iter().filter(|slot| slot[1] != 0);
            pieces().for_each(|&[key, _]| self.short.prefetch(hash_one(key, seeds)));
            for &[key, count] in pieces() {
                self.add_short([key], hash_one(key, seeds), count);
            }
            check_stop()?;
        }
        for slots in other.middle.slots.chunks(ADD_BATCH) {
            let pieces = || slots.iter().filter(|slot| slot[2] != 0);
            let hash = |&[first, second, _]: &[u64; 3]| hash_two([first, second], seeds);
            pieces().for_each(|slot| self.middle.prefetch(hash(slot)));
            for slot @ &[first, second, count] in pieces() {
                self.add_middle([first, second], hash(slot), count);
            }
            check_stop()?;
        }
        for (number, &[_, offset, count]) in other.long.occupied_slots().enumerate() {
            let piece = read_piece(&other.arena, offset);
            self.add_long(piece, hash_long(piece, seeds), count);
            if number % ADD_BATCH == 0 {
                check_stop()?;
            }
        }
        Ok(())
    }

    /// Returns all pieces with their counts, in the order of the slots, which is unspecified.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PieceBytes<'_>, u64)> {
        let short = self.short.occupied_slots().map(unpack_short);
        let middle = self.middle.occupied_slots().map(unpack_middle);
        short
            .chain(middle)
            .chain(self.long.occupied_slots().map(|slot| unpack_long(&self.arena, slot)))
    }

    /// Returns all pieces with their counts in the order of their bytes.
    ///
    /// The slots are sorted in place, so pieces cannot be found any more until
    /// [`CountTables::clear`].
    pub(crate) fn sort(&mut self) -> impl Iterator<Item = (PieceBytes<'_>, u64)> {
        let arena = &self.arena;
        let short = self.short.sort(|one, other| one[0].cmp(&other[0]));
        let middle = self.middle.sort(|one, other| one[..2].cmp(&other[..2]));
        let long = self.long.sort(|one, other| {
            let [one, other] = [one, other].map(|slot| read_piece(arena, slot[1]));
            one.cmp(other)
        });
        let long = long.iter().map(|slot| unpack_long(arena, slot));
        let short_and_middle =
            merge_sorted(short.iter().map(unpack_short), middle.iter().map(unpack_middle));
        merge_sorted(short_and_middle, long)
    }

    /// Removes all pieces; the memory of the slots stays allocated. A spill calls it after the
    /// pieces are written.
    pub(crate) fn clear(&mut self) {
        self.short.clear();
        self.middle.clear();
        self.long.clear();
        self.arena.clear();
        // One piece may be longer than the whole bound: its memory is freed.
        if self.arena.capacity() > self.arena_bytes_max {
            self.arena = Vec::new();
        }
    }
}

/// Inserts the pieces of a text: [`PieceInserter::insert`] for each, then
/// [`PieceInserter::finish`].
///
/// A slot is rarely in the CPU's cache when its piece arrives, and 60 % of counting was cache
/// misses. So a piece's slot is prefetched and the piece queued; it is counted when 16 more pieces
/// of its table have arrived. Counting takes two thirds of the time thereby
/// (`docs/notes/training.md`).
pub(crate) struct PieceInserter<'a, 't> {
    tables: &'a mut CountTables,
    text: &'t [u8],
    weight: u64,
    short: PrefetchQueue<1>,
    middle: PrefetchQueue<2>,
    /// The start and the length of each long piece, instead of a key.
    long: PrefetchQueue<2>,
}

impl PieceInserter<'_, '_> {
    /// Queues the piece at a range of the text, and counts the oldest one in the queue.
    ///
    /// Returns whether more pieces fit. If not, the caller empties [`PieceInserter::tables`].
    #[inline]
    pub(crate) fn insert(&mut self, range: Range<usize>) -> bool {
        let (text, seeds, length) = (self.text, self.tables.seeds, range.len());
        if length <= SHORT_BYTES_MAX {
            let key = read_word(text, range.start) & leading_bytes_mask(length) | length as u64;
            let hash = hash_one(key, seeds);
            self.tables.short.prefetch(hash);
            let oldest = self.short.replace_oldest([key], hash);
            self.add_short(oldest)
        } else if length <= MIDDLE_BYTES_MAX {
            let second = read_word(text, range.start + 8) & leading_bytes_mask(length - 8);
            let key = [read_word(text, range.start), second | length as u64];
            let hash = hash_two(key, seeds);
            self.tables.middle.prefetch(hash);
            let oldest = self.middle.replace_oldest(key, hash);
            self.add_middle(oldest)
        } else {
            let hash = hash_long(&text[range.clone()], seeds);
            self.tables.long.prefetch(hash);
            let oldest = self.long.replace_oldest([range.start as u64, length as u64], hash);
            self.add_long(oldest)
        }
    }

    /// Counts all queued pieces at the end of the text. Returns false if the tables have reached
    /// their bound; then the caller spills and empties them.
    pub(crate) fn finish(mut self) -> bool {
        let mut has_room = true;
        for at in 0..PREFETCH_DISTANCE {
            has_room &= self.add_short(self.short.pieces[at]);
            has_room &= self.add_middle(self.middle.pieces[at]);
            has_room &= self.add_long(self.long.pieces[at]);
        }
        has_room
    }

    /// Returns the tables while the inserter exists, for the caller to spill and empty them when
    /// they are full. The queued pieces are not in them yet.
    pub(crate) fn tables(&mut self) -> &mut CountTables {
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

/// The number of pieces of a table between the prefetch of a slot and its use. Prefetching took
/// counting to two thirds of its time; no measurement compares 16 with other distances.
const PREFETCH_DISTANCE: usize = 16;

/// A ring buffer of pieces whose slots have been prefetched, with their hashes.
///
/// An empty place is zero, which is no piece's key: its lowest byte is the length.
struct PrefetchQueue<const N: usize> {
    pieces: [([u64; N], u64); PREFETCH_DISTANCE],
    oldest: usize,
}

impl<const N: usize> PrefetchQueue<N> {
    fn new() -> Self {
        Self { pieces: [([0; N], 0); PREFETCH_DISTANCE], oldest: 0 }
    }

    /// Puts a piece with its hash in the place of the oldest one in the queue, and returns the
    /// oldest one, whose slot is in the CPU's cache by now.
    #[inline]
    fn replace_oldest(&mut self, key: [u64; N], hash: u64) -> ([u64; N], u64) {
        let oldest = self.oldest;
        self.oldest = (oldest + 1) % PREFETCH_DISTANCE;
        std::mem::replace(&mut self.pieces[oldest], (key, hash))
    }
}

/// The bytes of a piece in the tables.
pub(crate) enum PieceBytes<'a> {
    /// Up to 15 bytes, and in the last place their number.
    Packed([u8; MIDDLE_BYTES_MAX + 1]),
    /// A long piece in the arena.
    Borrowed(&'a [u8]),
}

impl PieceBytes<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Packed(bytes) => &bytes[..usize::from(bytes[MIDDLE_BYTES_MAX])],
            Self::Borrowed(bytes) => bytes,
        }
    }
}

/// Returns the piece and the count of a slot of [`CountTables::short`], whose key holds the bytes
/// and their number.
fn unpack_short<'a>(&[key, count]: &[u64; 2]) -> (PieceBytes<'a>, u64) {
    let length = key & 0xFF;
    unpack_middle(&[key - length, length, count])
}

/// Returns the piece and the count of a slot of [`CountTables::middle`], whose two integers hold
/// the bytes and their number.
fn unpack_middle<'a>(&[first, second, count]: &[u64; 3]) -> (PieceBytes<'a>, u64) {
    let bytes = (u128::from(first) << 64 | u128::from(second)).to_be_bytes();
    (PieceBytes::Packed(bytes), count)
}

/// Returns the piece and the count of a slot of [`CountTables::long`]. The piece is borrowed from
/// the arena.
fn unpack_long<'a>(arena: &'a [u8], &[_, offset, count]: &[u64; 3]) -> (PieceBytes<'a>, u64) {
    (PieceBytes::Borrowed(read_piece(arena, offset)), count)
}

/// Returns the piece that begins at byte `offset` of the arena with its length in LEB128. The bytes
/// are borrowed. The offset comes from a slot, so a number without an end would be a bug and
/// panics.
fn read_piece(arena: &[u8], offset: u64) -> &[u8] {
    let (length, rest) =
        read_number(&arena[offset as usize..]).expect("every piece follows its length");
    &rest[..length as usize]
}

/// Merges two sequences in the order of pieces into one. No piece is in both, because its length
/// chooses the table.
fn merge_sorted<'a>(
    one: impl Iterator<Item = (PieceBytes<'a>, u64)>,
    other: impl Iterator<Item = (PieceBytes<'a>, u64)>,
) -> impl Iterator<Item = (PieceBytes<'a>, u64)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((first, _)), Some((second, _))) if first.bytes() > second.bytes() => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

/// A hash table with open addressing and linear probing, at most 3/4 full.
///
/// A slot is N integers, the last of which is a count; a count of zero marks an empty slot. The
/// number of slots is a power of two, and the highest bits of the hash are the first slot to probe.
#[derive(Clone, Debug)]
struct CountTable<const N: usize>
where
    [u64; N]: Pod,
{
    slots: HugeBuffer<[u64; N]>,
    /// The number of occupied slots.
    used: usize,
}

impl<const N: usize> CountTable<N>
where
    [u64; N]: Pod,
{
    /// The slots of a new table: 16 or 24 KiB, which an L1 cache holds.
    const SLOTS_MIN: usize = 1 << 10;

    fn new() -> Self {
        Self { slots: HugeBuffer::zeros(Self::SLOTS_MIN), used: 0 }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// Returns the slots that hold a piece: all with a count, in the order of the table.
    fn occupied_slots(&self) -> impl Iterator<Item = &[u64; N]> {
        self.slots.iter().filter(|slot| slot[N - 1] != 0)
    }

    /// Returns the index of the slot where probing for a hash begins: the highest bits of the hash.
    #[inline]
    fn first_slot(&self, hash: u64) -> usize {
        (hash >> (self.slots.len() as u64 - 1).leading_zeros()) as usize
    }

    /// Prefetches the slot where probing for a hash begins, because a piece with this hash is
    /// counted soon.
    #[inline]
    fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[self.first_slot(hash)]);
    }

    /// Returns the slot with this hash that `is_match` accepts, or the empty slot where its piece
    /// belongs, for the caller to fill.
    #[inline]
    fn find(&mut self, hash: u64, is_match: impl Fn(&[u64; N]) -> bool) -> &mut [u64; N] {
        let last = self.slots.len() - 1;
        let mut at = self.first_slot(hash);
        loop {
            let slot = &self.slots[at & last];
            if slot[N - 1] == 0 || is_match(slot) {
                return &mut self.slots[at & last];
            }
            at += 1;
        }
    }

    /// Notes that an empty slot was filled, and doubles a table that is 3/4 full.
    ///
    /// Returns `false` if the table is full but the doubled one exceeds `bytes_left`.
    fn note_insertion(&mut self, bytes_left: usize, hash_of: impl Fn(&[u64; N]) -> u64) -> bool {
        self.used += 1;
        if self.used <= self.slots.len() / 4 * 3 {
            return true;
        }
        if self.bytes() * 2 > bytes_left {
            return false;
        }
        let larger = HugeBuffer::zeros(self.slots.len() * 2);
        let smaller = std::mem::replace(&mut self.slots, larger);
        for slot in smaller.iter().filter(|slot| slot[N - 1] != 0) {
            *self.find(hash_of(slot), |_| false) = *slot;
        }
        true
    }

    /// Moves the occupied slots to the front, sorts them and returns them.
    ///
    /// [`CountTable::find`] must not be called any more until [`CountTable::clear`].
    fn sort(&mut self, order: impl Fn(&[u64; N], &[u64; N]) -> std::cmp::Ordering) -> &[[u64; N]] {
        let mut count = 0;
        for at in 0..self.slots.len() {
            if self.slots[at][N - 1] != 0 {
                self.slots.swap(at, count);
                count += 1;
            }
        }
        let occupied = &mut self.slots[..count];
        occupied.sort_unstable_by(order);
        occupied
    }

    fn clear(&mut self) {
        self.slots.fill([0; N]);
        self.used = 0;
    }
}

/// Reads eight bytes of a text from byte `at` on as a big-endian integer, so that integers compare
/// as the bytes do. Bytes after the end of the text are zero. For example, `low` at offset 0 is
/// 0x6c6f_7700_0000_0000.
///
/// Each counted piece is read by it, to make its key or its hash. For a key, the caller masks the
/// bytes of the text behind the piece.
#[inline]
fn read_word(text: &[u8], at: usize) -> u64 {
    match text.get(at..at + 8).and_then(|bytes| bytes.first_chunk()) {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => text
            .iter()
            .skip(at)
            .zip((0..8).rev())
            .fold(0, |word, (&byte, place)| word | u64::from(byte) << (8 * place)),
    }
}

/// Returns a mask of the `count` highest bytes of an integer; `count` is less than eight.
#[inline]
fn leading_bytes_mask(count: usize) -> u64 {
    !(u64::MAX >> (8 * count))
}

/// Hashes the key of a short piece with the seeds of its tables.
#[inline]
fn hash_one(key: u64, seeds: [u64; 2]) -> u64 {
    mix(u128::from(key) << 64 | u128::from(key.rotate_left(32)), seeds)
}

/// Hashes two integers, such as the key of a middle piece, with the seeds of its tables.
#[inline]
fn hash_two([first, second]: [u64; 2], seeds: [u64; 2]) -> u64 {
    mix(u128::from(first) << 64 | u128::from(second), seeds)
}

/// Hashes a piece of any length with the seeds of its tables, eight bytes at a time. The length is
/// part of the hash, because the last bytes are padded with zeros.
fn hash_long(piece: &[u8], seeds: [u64; 2]) -> u64 {
    let mut hash = piece.len() as u64;
    for at in (0..piece.len()).step_by(8) {
        hash = hash_two([hash, read_word(piece, at)], seeds);
    }
    hash
}
