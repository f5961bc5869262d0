//! The pieces that a thread has met, with their ids: tables that forget rather than fill memory.

use bytemuck::{Pod, Zeroable};

use super::long_ring::{LongRing, RingRef};
use crate::merge::PaddedIds;
use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::vocab::Id;
use crate::vocab::short_key::{Key, SHORT_MAX};

/// What one thread has met. At first it takes no memory to speak of.
#[derive(Clone, Debug, Default)]
pub(crate) struct PieceCache {
    /// Pieces of few bytes, tokens among them: nearly all of a text.
    pub(crate) short: ShortTable,
    /// Longer ones, and the ids of short ones that have many.
    pub(crate) records: LongRing,
}

impl PieceCache {
    /// Appends the ids of a piece, not an empty one, and returns true, if it is known.
    pub(crate) fn get(&mut self, piece: &[u8], ids: &mut Vec<Id>) -> bool {
        let hash = hash(piece);
        let found = if piece.len() > SHORT_MAX {
            self.records.find(piece, hash)
        } else {
            let slot = self.short.find(Key::from_short(piece, 0, piece.len()), hash);
            slot.and_then(|slot| match slot.row() {
                Some(row) => Some(self.records.row(self.records.place_of(row)?).ids()),
                None => Some(&slot.ids[..slot.count as usize]),
            })
        };
        ids.extend_from_slice(found.unwrap_or_default());
        found.is_some()
    }

    /// Keeps the ids of a piece with this key, if it is not too long.
    #[inline]
    pub(crate) fn put(&mut self, piece: &[u8], key: Key, hash: u64, ids: PaddedIds) {
        if key == Key::TOO_LONG {
            self.records.put(piece, hash, ids);
        } else if ids.len() <= IDS {
            self.short.put(ShortEntry::new(key, ids), hash);
        } else {
            self.short.put(ShortEntry::of_row(key, self.records.put_row(ids)), hash);
        }
    }
}

/// Returns the hash by which a piece, not an empty one, is looked for.
#[inline]
pub(crate) fn hash(piece: &[u8]) -> u64 {
    match piece.len() {
        ..=SHORT_MAX => Key::from_short(piece, 0, piece.len()).hash(),
        _ => super::long_ring::hash(piece),
    }
}

/// Ids of a slot.
pub(crate) const IDS: usize = 3;

/// A piece of up to [`SHORT_MAX`] bytes and its ids: half a line of the cache. All zeros, it is empty. Where
/// there are more ids than it has room for, its key is marked, and it says where they are.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(32))]
pub(crate) struct ShortEntry {
    pub(crate) key: Key,
    pub(crate) ids: [Id; IDS],
    pub(crate) count: u32,
}

impl ShortEntry {
    fn new(key: Key, given: PaddedIds) -> Self {
        assert!(given.len() <= IDS, "more ids have a row");
        Self { key, ids: given.first(), count: given.len() as u32 }
    }

    /// A slot whose ids are a row of the records. It has a count, as it is not empty.
    fn of_row(key: Key, RingRef { at, generation }: RingRef) -> Self {
        Self { key: key.with_indirect_flag(), ids: [at, generation, 0], count: 1 }
    }

    /// The row that has its ids, if they are not in the slot.
    #[inline]
    pub(crate) fn row(&self) -> Option<RingRef> {
        self.key.is_indirect().then_some(RingRef { at: self.ids[0], generation: self.ids[1] })
    }
}

/// Slots of the table at most: 16 MiB.
const SLOTS_MAX: usize = 1 << 19;

/// Slots at first.
const SLOTS_MIN: usize = 1 << 10;

/// ShortTable pieces, each in the group of four slots that its home is in.
///
/// A piece is looked for at home first, by one load. One that is found elsewhere changes places with
/// what is at home. The table is sparse, so that few have to, until it has its bound; then,
/// where all four slots are taken, one is given up.
#[derive(Clone, Debug)]
pub(crate) struct ShortTable {
    slots: HugeBuffer<ShortEntry>,
    used: usize,
}

impl Default for ShortTable {
    fn default() -> Self {
        Self { slots: HugeBuffer::zeros(4), used: 0 }
    }
}

impl ShortTable {
    /// Returns all slots; their number is a power of two.
    #[inline]
    pub(crate) fn slots(&self) -> &[ShortEntry] {
        &self.slots
    }

    /// Asks for the slots of a group that are not in the line of this one.
    #[inline]
    pub(crate) fn prefetch_others(&self, home: usize) {
        prefetch(&self.slots[(home ^ 2) & (self.slots.len() - 1)]);
    }

    /// Returns the slot of a piece, if it is known; its key may be marked.
    #[inline]
    pub(crate) fn find(&mut self, key: Key, hash: u64) -> Option<&ShortEntry> {
        let home = home(hash, self.slots.len());
        let at = self.first(home, |slot| slot.key.without_indirect_flag() == key)?;
        // One whose ids are elsewhere is not found by one load at home either.
        let to = if self.slots[at].key.is_indirect() { at } else { home };
        self.slots.swap(to, at);
        Some(&self.slots[to])
    }

    /// Keeps a piece. One that is known may be kept twice, until one of the two is given up.
    fn put(&mut self, slot: ShortEntry, hash: u64) {
        // New memory costs as much as what a sparse table saves, so the last step is taken late.
        let share = if self.slots.len() * 2 < SLOTS_MAX { 4 } else { 2 };
        if self.used * share >= self.slots.len() && self.slots.len() < SLOTS_MAX {
            self.grow();
        }
        self.put_slot(slot, hash);
    }

    fn put_slot(&mut self, slot: ShortEntry, hash: u64) {
        let home = home(hash, self.slots.len());
        let free = self.first(home, |kept| {
            (kept.count == 0)
                | (kept.key.without_indirect_flag() == slot.key.without_indirect_flag())
        });
        // Which one is given up does not matter much: what is in use comes back.
        let at = free.unwrap_or(home ^ ((hash >> 43) as usize % 4));
        self.used += usize::from(self.slots[at].count == 0);
        self.slots[at] = slot;
    }

    /// Returns the first slot of a group, from this one on, of which something is true. Which one that is
    /// cannot be foretold, so all four are asked.
    #[inline]
    fn first(&self, home: usize, is: impl Fn(&ShortEntry) -> bool) -> Option<usize> {
        let all = (0..4).fold(0, |all, step| {
            all | u32::from(is(&self.slots[(home ^ step) & (self.slots.len() - 1)])) << step
        });
        (all != 0).then(|| home ^ all.trailing_zeros() as usize)
    }

    #[cold]
    fn grow(&mut self) {
        let count = (self.slots.len() * 4).clamp(SLOTS_MIN, SLOTS_MAX);
        let slots = std::mem::replace(&mut self.slots, HugeBuffer::zeros(count));
        self.used = 0;
        for slot in slots.iter().filter(|slot| slot.count != 0) {
            self.put_slot(*slot, slot.key.without_indirect_flag().hash());
        }
    }
}

/// Which of so many slots is the home of a hash.
#[inline(always)]
pub(crate) fn home(hash: u64, slots: usize) -> usize {
    (hash >> shift_to_home(slots)) as usize
}

/// What shifts a hash to one of so many slots, a power of two of 2 and more.
#[inline(always)]
pub(crate) fn shift_to_home(slots: usize) -> u32 {
    debug_assert!(slots.is_power_of_two() && slots > 1);
    slots.leading_zeros() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn gives_back_what_was_kept_or_nothing() {
        let mut learned = PieceCache::default();
        let mut random = Random(5);
        let mut found = 0;
        for _ in 0..1_000_000 {
            let length = 1 + random.below(60);
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
                let key = Key::from_piece(&piece, 0, piece.len());
                learned.put(&piece, key, hash(&piece), PaddedIds::from(&expected[..]));
            }
        }
        assert!(found > 100_000);
    }

    #[test]
    fn memory_is_bounded() {
        let mut learned = PieceCache::default();
        for number in 0..2_000_000_u32 {
            let piece = number.to_le_bytes();
            learned.put(
                &piece,
                Key::from_short(&piece, 0, 4),
                hash(&piece),
                PaddedIds::from(&[number][..]),
            );
        }
        assert_eq!(learned.short.slots.len(), SLOTS_MAX);
        assert_eq!(size_of_val(&learned.short.slots[..]), 16 << 20);
    }
}
