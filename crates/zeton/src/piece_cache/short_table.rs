//! The cache's table of short pieces: a bounded, 4-way set-associative hash table.
//!
//! It maps a piece of up to 15 bytes, tokens included, to its ids or to a record of the ring that
//! has them. For example, with cl100k and the smallest table of 1,024 slots:
//!
//! ```text
//! piece                    home   entry
//! "the"                     999   direct:   key, ids 1820, count 1
//! " prefetches"             111   direct:   key, ids 91577 288, count 2
//! " čeština"                271   indirect: key with flag, a RingRef to 33902 68 85578 2259
//! " internationalisation"     –   none, because 21 bytes are too long
//! ```
//!
//! The upper bits of a key's hash are the number of its home slot. The group of a home is the four
//! aligned slots around it, two cache lines:
//!
//! ```text
//!   slot    108          109          110          111 = home
//!        +------------+------------+------------+------------+
//!        |   entry    |   entry    |   entry    |   entry    |
//!        +------------+------------+------------+------------+
//!        |------ cache line -------|------ cache line -------|
//! ```
//!
//! A piece may lie in any slot of its group. A probe that finds it elsewhere swaps it to its home,
//! so that the next look-up needs one load. An insertion into a full group overwrites one of the
//! four.
//!
//! Cost: a hit in the home slot takes 5 cycles within a batch, a probe of the group 50 to 105.

use bytemuck::{Pod, Zeroable};

use super::long_ring::RingRef;
use super::policy::{
    ENTRY_IDS, FULL_SLOTS_PER_ENTRY, GROUP_SLOTS, GROWTH_FACTOR, LINE_SLOTS, SHORT_SLOTS_MAX,
    SHORT_SLOTS_MIN, SPARSE_SLOTS_PER_ENTRY,
};
use crate::merge::PaddedIds;
use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::vocab::Id;
use crate::vocab::short_key::Key;

/// An entry of the short table: a piece of up to [`SHORT_MAX`](crate::vocab::short_key::SHORT_MAX)
/// bytes and its ids, half a cache line.
///
/// ```text
/// byte   0                   15  16     19  20     23  24     27  28     31
///       +-----------------------+----------+----------+----------+----------+
/// direct| key                   | id       | id or ?  | id or ?  | 1 to 3   |
///       +-----------------------+----------+----------+----------+----------+
/// indir.| key, its flag set     | offset   |generation| 0        | 1        |
///       +-----------------------+----------+----------+----------+----------+
///       |  `key`                |  `inline.ids`                  |  .count  |
/// ```
///
/// - An empty entry is all zeros. No piece has the key 0, and an entry in use has a count.
/// - An indirect entry belongs to a piece with more than [`ENTRY_IDS`] ids. It refers to the ring,
///   and the flag in its key makes a plain comparison of keys fail.
///
/// A SIMD kernel loads `key` and `inline` as one register each: both have 16 bytes, aligned to 16.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(32))]
pub(crate) struct ShortEntry {
    pub(crate) key: Key,
    pub(crate) inline: InlineIds,
}

/// The second half of a [`ShortEntry`]: up to [`ENTRY_IDS`] ids and their count, or a [`RingRef`].
///
/// The ids come first, so that all 16 bytes can be copied to a list of ids. The copied count and
/// unused ids behind the valid ones are overwritten by the next copy.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
pub(crate) struct InlineIds {
    pub(crate) ids: [Id; ENTRY_IDS],
    pub(crate) count: u32,
}

/// Ids that a copy of [`InlineIds`] writes: its ids, and the count as one more.
pub(crate) const INLINE_WORDS: usize = size_of::<InlineIds>() / size_of::<Id>();

// The layout that the SIMD kernels load, and that the diagram of `ShortEntry` shows.
const _: () = {
    assert!(size_of::<ShortEntry>() == 32 && size_of::<Key>() == 16);
    assert!(size_of::<InlineIds>() == 16 && align_of::<InlineIds>() == 16);
    assert!(std::mem::offset_of!(ShortEntry, key) == 0);
    assert!(std::mem::offset_of!(ShortEntry, inline) == 16);
    assert!(std::mem::offset_of!(InlineIds, ids) == 0);
    assert!(std::mem::offset_of!(InlineIds, count) == 12);
};

impl ShortEntry {
    /// Makes a direct entry, which holds a copy of the ids. There are at most [`ENTRY_IDS`] ids, so
    /// the count of a direct entry never exceeds it.
    pub(super) fn from_ids(key: Key, ids: PaddedIds) -> Self {
        assert!(ids.len() <= ENTRY_IDS, "more ids lie in the ring");
        Self { key, inline: InlineIds { ids: ids.first_padded(), count: ids.len() as u32 } }
    }

    /// Returns an indirect entry. Its count is 1, because an entry without a count is empty.
    pub(super) fn from_ring_ref(key: Key, RingRef { offset, generation }: RingRef) -> Self {
        let inline = InlineIds { ids: [offset, generation, 0], count: 1 };
        Self { key: key.with_indirect_flag(), inline }
    }

    /// Returns the reference to the ring of an indirect entry, `None` for a direct one.
    #[inline]
    pub(crate) fn ring_ref(&self) -> Option<RingRef> {
        let ids = &self.inline.ids;
        self.key.is_indirect().then_some(RingRef { offset: ids[0], generation: ids[1] })
    }
}

impl InlineIds {
    /// Returns all words in the order of memory, the ids, valid or not, and the count, because a
    /// batch copies them by one move.
    #[inline(always)]
    pub(crate) fn words(self) -> [Id; INLINE_WORDS] {
        bytemuck::cast(self)
    }
}

/// The short pieces, each in one of the [`GROUP_SLOTS`] slots of its home's group.
#[derive(Clone, Debug)]
pub(crate) struct ShortTable {
    /// A power of two of slots.
    slots: HugeBuffer<ShortEntry>,
    /// Slots that are not empty.
    used: usize,
}

impl Default for ShortTable {
    fn default() -> Self {
        Self { slots: HugeBuffer::zeros(GROUP_SLOTS), used: 0 }
    }
}

impl ShortTable {
    /// Returns all slots of the table, for the kernels of a batch to prefetch and compare. Their
    /// number is a power of two.
    #[inline]
    pub(crate) fn slots(&self) -> &[ShortEntry] {
        &self.slots
    }

    /// Prefetches the other cache line of the group of the slot `home`, because the entry was not
    /// in its home slot and the batch probes the whole group next.
    #[inline]
    pub(crate) fn prefetch_other_line(&self, home: usize) {
        prefetch(&self.slots[(home ^ LINE_SLOTS) & (self.slots.len() - 1)]);
    }

    /// Returns the entry of a piece if it is cached, direct or indirect.
    ///
    /// A direct entry is swapped to its home slot. An indirect one stays, because a look-up at home
    /// never matches it.
    #[inline]
    pub(crate) fn find(&mut self, key: Key, hash: u64) -> Option<&ShortEntry> {
        let home = home_slot(hash, self.slots.len());
        let at = self.position_in_group(home, |entry| entry.key.without_indirect_flag() == key)?;
        let to = if self.slots[at].key.is_indirect() { at } else { home };
        self.slots.swap(to, at);
        Some(&self.slots[to])
    }

    /// Inserts the entry of a piece with this hash. A table that is no longer sparse grows first;
    /// an entry may be evicted from a full group.
    pub(super) fn insert(&mut self, entry: ShortEntry, hash: u64) {
        let slots_per_entry = if self.slots.len() * 2 < SHORT_SLOTS_MAX {
            SPARSE_SLOTS_PER_ENTRY
        } else {
            FULL_SLOTS_PER_ENTRY
        };
        if self.used * slots_per_entry >= self.slots.len() && self.slots.len() < SHORT_SLOTS_MAX {
            self.grow();
        }
        self.insert_into_group(entry, hash);
    }

    /// Writes an entry to the first slot of its group that is empty or has the piece already, else
    /// over some entry of the group.
    ///
    /// An empty slot may precede the piece's old entry. Then the piece lies in two slots until one
    /// is evicted. Either may be found, because both lead to equal ids.
    fn insert_into_group(&mut self, entry: ShortEntry, hash: u64) {
        let home = home_slot(hash, self.slots.len());
        let free = self.position_in_group(home, |old| {
            (old.inline.count == 0)
                | (old.key.without_indirect_flag() == entry.key.without_indirect_flag())
        });
        // The evicted slot is chosen by two bits of the hash, which lie below the 19 bits of the
        // home. An order of eviction would pay little: an evicted piece that is in use soon
        // returns.
        let at = free.unwrap_or(home ^ ((hash >> 43) as usize % GROUP_SLOTS));
        self.used += usize::from(self.slots[at].inline.count == 0);
        self.slots[at] = entry;
    }

    /// Returns the first slot of a group that satisfies `predicate`, in the order `home`, `home ^
    /// 1`, `home ^ 2`, `home ^ 3`.
    ///
    /// It tests all four slots without a branch, because the matching one is unpredictable.
    #[inline]
    fn position_in_group(
        &self,
        home: usize,
        predicate: impl Fn(&ShortEntry) -> bool,
    ) -> Option<usize> {
        let matches = (0..GROUP_SLOTS).fold(0, |matches, step| {
            let entry = &self.slots[(home ^ step) & (self.slots.len() - 1)];
            matches | u32::from(predicate(entry)) << step
        });
        (matches != 0).then(|| home ^ matches.trailing_zeros() as usize)
    }

    /// Moves all entries to a new, larger table and frees the old one. It takes the time of the
    /// first writes to its memory.
    #[cold]
    fn grow(&mut self) {
        let count = (self.slots.len() * GROWTH_FACTOR).clamp(SHORT_SLOTS_MIN, SHORT_SLOTS_MAX);
        let old = std::mem::replace(&mut self.slots, HugeBuffer::zeros(count));
        self.used = 0;
        for entry in old.iter().filter(|entry| entry.inline.count != 0) {
            self.insert_into_group(*entry, entry.key.without_indirect_flag().hash());
        }
    }
}

/// Returns the home slot of a hash in a table of `slots` slots: the upper bits of the hash.
#[inline(always)]
pub(crate) fn home_slot(hash: u64, slots: usize) -> usize {
    (hash >> home_shift(slots)) as usize
}

/// Returns the shift that leaves the home slot of a hash. For example, 1,024 slots leave 10 of 64
/// bits, a shift of 54. `slots` is a power of two above 1.
#[inline(always)]
pub(crate) fn home_shift(slots: usize) -> u32 {
    debug_assert!(slots.is_power_of_two() && slots > 1);
    slots.leading_zeros() + 1
}
