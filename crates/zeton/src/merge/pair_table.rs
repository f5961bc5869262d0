//! A hash table of merges: a pair of ids (left, right) → the id of their concatenation.
//!
//! For example, cl100k merges `ab` (370) and `c` (66) into `abc` (13997), so that
//! `get(370, 66) == Some(13997)`. An id is also a rank, and the lowest one merges first.
//!
//! The table is a cuckoo hash table with two halves and buckets of two entries. A pair lies in its
//! bucket of the first half or of the second. So a lookup loads two cache lines, both at once, and
//! compares four entries without a branch:
//!
//! ```text
//!             hash of (left, right)
//!           low 32 bits │ high 32 bits
//!         ┌─────────────┴──────────────┐
//!         ▼                            ▼
//!  half 0 [a, b] [ , ] [ , ]    half 1 [ , ] [c, d] [ , ]     [a, b] is a bucket of two entries
//! ```
//!
//! An entry packs the pair and its merged id into one integer. Ids of nearly all vocabularies fit
//! 21 bits, and then an entry is a `u64`:
//!
//! ```text
//!  bit 63             42 41                  21 20                   0
//!      ┌────────────────┬──────────────────────┬──────────────────────┐
//!      │  left id + 1   │       right id       │      merged id       │
//!      └────────────────┴──────────────────────┴──────────────────────┘
//!           22 bits             21 bits                21 bits
//! ```
//!
//! Ids up to 2³¹ − 1 take a `u128`, of which the highest 32 bits are zero:
//!
//! ```text
//!  bit 127    96 95           64 63           32 31            0
//!      ┌────────┬───────────────┬───────────────┬───────────────┐
//!      │   0    │  left id + 1  │   right id    │   merged id   │
//!      └────────┴───────────────┴───────────────┴───────────────┘
//! ```
//!
//! An empty slot is zero, which no entry equals, because of the `+ 1`.
//!
//! Measurements (`docs/notes/merging.md`): buckets of two, up to five sixths full, halve the memory
//! of single slots at half full, at equal speed. One cache line of eight entries, compared by AVX2,
//! was slower: 234 → 217 MB/s of English and 163 → 143 of code.

use std::hash::{BuildHasher, Hasher};
use std::ops::BitXor;

use bytemuck::Pod;
use foldhash::fast::RandomState;

use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::vocab::Id;

/// All pairs that merge, with the id that each becomes.
#[derive(Clone, Debug)]
pub struct PairTable(PackedPairs);

/// The table by the integer that holds one entry.
#[derive(Clone, Debug)]
enum PackedPairs {
    /// Every id is below [`U64PairTable::ID_LIMIT`].
    U64(CuckooTable<u64>),
    /// Some id is not below that limit.
    U128(CuckooTable<u128>),
}

impl Default for PairTable {
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

impl PairTable {
    /// Returns an empty table with room for `pairs` pairs, whose ids are at most `id_max`. The
    /// highest id chooses the width of an entry, once and for all.
    pub(crate) fn with_capacity(pairs: usize, id_max: Id) -> Self {
        Self(match id_max < U64PairTable::ID_LIMIT {
            true => PackedPairs::U64(CuckooTable::with_capacity(pairs)),
            false => PackedPairs::U128(CuckooTable::with_capacity(pairs)),
        })
    }

    /// Appends the table to the sections of an image, borrowed until the image is written: the
    /// width of its entries, then its buckets.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        match &self.0 {
            PackedPairs::U64(table) => {
                image.put_number(0);
                table.write_image(image);
            }
            PackedPairs::U128(table) => {
                image.put_number(1);
                table.write_image(image);
            }
        }
    }

    /// Reads a table from the sections of an image. Returns `None` if sections are missing or have
    /// impossible sizes; then the image is not used.
    pub(crate) fn try_from_image(image: &mut SectionReader) -> Option<Self> {
        Some(Self(match image.next_number()? {
            0 => PackedPairs::U64(CuckooTable::try_from_image(image)?),
            _ => PackedPairs::U128(CuckooTable::try_from_image(image)?),
        }))
    }

    /// Prefetches the two buckets where a pair may lie, because it is looked up or inserted soon.
    #[inline]
    pub(crate) fn prefetch_pair(&self, left: Id, right: Id) {
        match &self.0 {
            PackedPairs::U64(table) => drop(table.prefetch_pair(left, right)),
            PackedPairs::U128(table) => drop(table.prefetch_pair(left, right)),
        }
    }

    /// Inserts a pair that is not in the table yet. If its buckets are full, entries move to their
    /// other bucket; if that takes too long, the table is built anew.
    pub(crate) fn insert(&mut self, left: Id, right: Id, merged_id: Id) {
        match &mut self.0 {
            PackedPairs::U64(table) => table.insert(left, right, merged_id),
            PackedPairs::U128(table) => table.insert(left, right, merged_id),
        }
    }

    /// Returns the id that a pair merges into, or `None` if it does not merge.
    #[must_use]
    #[inline]
    pub fn get(&self, left: Id, right: Id) -> Option<Id> {
        match self.rank(left, right) {
            Id::MAX => None,
            merged_id => Some(merged_id),
        }
    }

    /// Returns the id that a pair merges into. It is `Id::MAX`, the worst rank, for a pair that
    /// does not merge, so that ranks compare without an `Option`.
    #[inline]
    pub(crate) fn rank(&self, left: Id, right: Id) -> Id {
        match &self.0 {
            PackedPairs::U64(table) => table.rank(left, right),
            PackedPairs::U128(table) => table.rank(left, right),
        }
    }

    /// Returns the table of `u64` entries, or `None` if some id needs a wider entry.
    #[inline]
    pub(crate) fn u64_pairs(&self) -> Option<&U64PairTable> {
        match &self.0 {
            PackedPairs::U64(table) => Some(table),
            PackedPairs::U128(_) => None,
        }
    }

    /// Returns whether the predicate holds for every pair and its merged id. `BpeModel::new` tests
    /// by it whether ranks rise.
    pub(crate) fn all(&self, mut predicate: impl FnMut((Id, Id), Id) -> bool) -> bool {
        match &self.0 {
            PackedPairs::U64(table) => {
                table.iter().all(|(pair, merged_id)| predicate(pair, merged_id))
            }
            PackedPairs::U128(table) => {
                table.iter().all(|(pair, merged_id)| predicate(pair, merged_id))
            }
        }
    }

    /// Collects all pairs and their merged ids, sorted by rank. The bridge makes Python's `merges`
    /// of them.
    #[must_use]
    pub fn collect_by_rank(&self) -> Vec<((Id, Id), Id)> {
        let mut entries: Vec<_> = match &self.0 {
            PackedPairs::U64(table) => table.iter().collect(),
            PackedPairs::U128(table) => table.iter().collect(),
        };
        entries.sort_by_key(|(_, merged_id)| *merged_id);
        entries
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            PackedPairs::U64(table) => table.len,
            PackedPairs::U128(table) => table.len,
        }
    }

    /// Returns whether no pair merges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A pair table with entries of 64 bits. The SIMD batches of `lockstep` need one.
pub(crate) type U64PairTable = CuckooTable<u64>;

impl U64PairTable {
    /// Every id of the table is below. The limit itself is no token's id: `lockstep` uses it as a
    /// sentinel that merges with nothing.
    pub(crate) const ID_LIMIT: Id = Self::RANK_LIMIT - 1;

    /// Every rank is below, because the merged id has 21 bits of an entry. A number from here on
    /// stands for a pair that does not merge.
    pub(crate) const RANK_LIMIT: Id = 1 << 21;

    /// Returns the rank of a pair whose buckets are prefetched.
    ///
    /// A pair that does not merge has a number from `RANK_LIMIT` up to twice that limit, excluded.
    #[inline(always)]
    pub(crate) fn rank_or_limit(&self, PairQuery { hash, pair }: PairQuery<u64>) -> Id {
        let difference = PackedPair::min_difference(self.buckets(hash).map(|bucket| *bucket), pair);
        // Arithmetic instead of `min` with a constant, because compilers turn `min` into a branch.
        // Whether a pair merges is unpredictable, so that branch costs up to 3 % of encoding.
        let is_absent = Id::from(difference >= Self::RANK_LIMIT.into());
        (difference as Id % Self::RANK_LIMIT) + is_absent * Self::RANK_LIMIT
    }

    /// Returns [`Self::rank_or_limit`] of a pair that merging begins with, for the first ranks of a
    /// piece in `lockstep`.
    ///
    /// Two ids below 256 are looked up in the flat array `byte_pairs`, without a hash.
    #[inline(always)]
    pub(crate) fn initial_rank_or_limit(&self, left: Id, right: Id) -> Id {
        match left | right {
            0..256 => {
                // The array has 2¹⁶ entries. The mask proves to the compiler that the index is in
                // bounds.
                let merged_id =
                    self.byte_pairs[(left << 8 | right) as usize & (self.byte_pairs.len() - 1)];
                // `Id::MAX` becomes a number from `RANK_LIMIT` on.
                merged_id % (2 * Self::RANK_LIMIT)
            }
            _ => self.rank_or_limit(self.query(left, right)),
        }
    }
}

/// An integer that holds a pair and its merged id, laid out as the module's header draws it. Zero
/// is an empty slot.
pub(crate) trait PackedPair: Pod + Ord + BitXor<Output = Self> {
    /// Packs a pair and its merged id into one integer, an entry of the table.
    fn pack(left: Id, right: Id, merged_id: Id) -> Self;
    /// Returns the pair and the merged id of an entry.
    fn unpack(self) -> ((Id, Id), Id);
    /// Returns the bits that `CuckooTable::query` hashes, of an integer packed with a merged id of
    /// zero: left and right id, in entries of both widths.
    fn hash_key(self) -> u64;
    /// Returns the merged id of the entry that has this pair, or `Id::MAX` if none has. `pair` is
    /// packed with a merged id of zero.
    fn find_merged_id(buckets: [PairBucket<Self>; 2], pair: Self) -> Id;

    /// Returns the least of the four entries, each XORed with `pair`.
    ///
    /// The entry of this pair leaves its merged id alone, in the low bits. Every other entry
    /// differs in a higher bit, so that it leaves a larger number.
    #[inline(always)]
    fn min_difference([[a, b], [c, d]]: [PairBucket<Self>; 2], pair: Self) -> Self {
        (a ^ pair).min(b ^ pair).min((c ^ pair).min(d ^ pair))
    }
}

impl PackedPair for u64 {
    #[inline]
    fn pack(left: Id, right: Id, merged_id: Id) -> Self {
        (Self::from(left) + 1) << 42 | Self::from(right) << 21 | Self::from(merged_id)
    }

    fn unpack(self) -> ((Id, Id), Id) {
        let mask = (1 << 21) - 1;
        (((self >> 42) as Id - 1, (self >> 21 & mask) as Id), (self & mask) as Id)
    }

    #[inline]
    fn hash_key(self) -> u64 {
        self
    }

    #[inline]
    fn find_merged_id(buckets: [PairBucket<Self>; 2], pair: Self) -> Id {
        let merged_id = Self::min_difference(buckets, pair);
        if merged_id < U64PairTable::RANK_LIMIT.into() { merged_id as Id } else { Id::MAX }
    }
}

impl PackedPair for u128 {
    #[inline]
    fn pack(left: Id, right: Id, merged_id: Id) -> Self {
        (Self::from(left) + 1) << 64 | Self::from(right) << 32 | Self::from(merged_id)
    }

    fn unpack(self) -> ((Id, Id), Id) {
        (((self >> 64) as Id - 1, (self >> 32) as Id), self as Id)
    }

    #[inline]
    fn hash_key(self) -> u64 {
        (self >> 32) as u64
    }

    #[inline]
    fn find_merged_id(buckets: [PairBucket<Self>; 2], pair: Self) -> Id {
        Self::min_difference(buckets, pair).min(Id::MAX.into()) as Id
    }
}

/// Two entries side by side, 16 or 32 bytes. Large tables start at a page and mapped ones at a
/// multiple of 64 bytes, so that a bucket lies in one cache line.
type PairBucket<E> = [E; 2];

/// A cuckoo hash table: each pair lies in its bucket of the first half or of the second half.
#[derive(Clone, Debug)]
pub(crate) struct CuckooTable<E: Pod> {
    /// The first half, then the second half. Each has a power of two of buckets.
    buckets: HugeBuffer<PairBucket<E>>,
    /// The merged id of each pair of ids below 256, at `left << 8 | right`; `Id::MAX` if there is
    /// none.
    ///
    /// In most vocabularies these are the ids of bytes, and the first lookups of every piece are
    /// pairs of bytes.
    byte_pairs: HugeBuffer<Id>,
    /// A random seed for each table, so that nobody can craft a vocabulary whose pairs all collide.
    seed: u64,
    /// The number of pairs.
    len: usize,
}

/// A pair to look up, with its hash. The low half of the hash names the bucket in the first half of
/// the table, the high half the bucket in the second.
#[derive(Clone, Copy, Default)]
pub(crate) struct PairQuery<E> {
    hash: u64,
    pair: E,
}

/// Entries that one insertion may displace before the table doubles. At five sixths full an
/// insertion displaces far fewer, as the test of the capacity shows. Only an endless cycle reaches
/// the limit, and no measurement chose 500.
const MOVES_MAX: usize = 500;

impl<E: PackedPair> CuckooTable<E> {
    /// Returns an empty table that is at most five sixths full after `pairs` insertions.
    fn with_capacity(pairs: usize) -> Self {
        let half = (pairs + pairs / 5).div_ceil(4).next_power_of_two().max(2);
        let seed = RandomState::default().build_hasher().finish();
        let mut byte_pairs = HugeBuffer::zeros(1 << 16);
        byte_pairs.fill(Id::MAX);
        Self { buckets: HugeBuffer::zeros(half * 2), byte_pairs, seed, len: 0 }
    }

    /// Appends the seed, the number of pairs and the arrays to the sections of an image, borrowed
    /// until the image is written.
    fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        image.put_number(self.seed);
        image.put_number(self.len as u64);
        image.put_array(&self.buckets);
        image.put_array(&self.byte_pairs);
    }

    /// Reads the seed, the number of pairs and the arrays from the sections of an image. Returns
    /// `None` if sections are missing or have impossible sizes; then the image is not used.
    fn try_from_image(image: &mut SectionReader) -> Option<Self> {
        let (seed, len) = (image.next_number()?, usize::try_from(image.next_number()?).ok()?);
        let (buckets, byte_pairs) = (image.next_table()?, image.next_table()?);
        let is_valid = buckets.len() >= 4 && byte_pairs.len() == 1 << 16;
        is_valid.then_some(Self { buckets, byte_pairs, seed, len })
    }

    /// Inserts a pair that is not in the table yet, and displaces other entries as needed.
    fn insert(&mut self, left: Id, right: Id, merged_id: Id) {
        self.len += 1;
        if left | right < 256 {
            self.byte_pairs[(left << 8 | right) as usize] = merged_id;
        }
        let (mut entry, mut half) = (E::pack(left, right, merged_id), 0);
        for moves in 0..MOVES_MAX {
            let ((left, right), _) = entry.unpack();
            let (hash, len) = (self.query(left, right).hash, self.buckets.len() / 2);
            let bucket =
                &mut self.buckets[half * len + ((hash >> (32 * half)) as usize & (len - 1))];
            if let Some(empty) = bucket.iter_mut().find(|slot| **slot == E::zeroed()) {
                *empty = entry;
                return;
            }
            // Alternates between the two slots of a bucket, on each return to a half.
            std::mem::swap(&mut bucket[moves / 2 % 2], &mut entry);
            half = 1 - half;
        }
        let entries: Vec<_> = self.iter().chain([entry.unpack()]).collect();
        *self = Self::with_capacity(self.buckets.len() * 2);
        for ((left, right), merged_id) in entries {
            self.insert(left, right, merged_id);
        }
    }

    /// Returns the id that a pair merges into, `Id::MAX` if it does not merge.
    #[inline(always)]
    pub(crate) fn rank(&self, left: Id, right: Id) -> Id {
        let PairQuery { hash, pair } = self.query(left, right);
        E::find_merged_id(self.buckets(hash).map(|bucket| *bucket), pair)
    }

    /// Prefetches the two buckets of a pair. [`U64PairTable::rank_or_limit`] takes the query after
    /// other work, when the buckets have arrived in the cache.
    #[inline(always)]
    pub(crate) fn prefetch_pair(&self, left: Id, right: Id) -> PairQuery<E> {
        let query = self.query(left, right);
        self.buckets(query.hash).into_iter().for_each(prefetch);
        query
    }

    /// Returns the two buckets where a pair with this hash may lie, one in each half of the table.
    #[inline(always)]
    fn buckets(&self, hash: u64) -> [&PairBucket<E>; 2] {
        let (low, high) = self.buckets.split_at(self.buckets.len() / 2);
        // A half has a power of two of buckets, so a mask keeps the index in bounds.
        [&low[hash as usize & (low.len() - 1)], &high[(hash >> 32) as usize & (high.len() - 1)]]
    }

    /// Packs and hashes a pair once, for a prefetch and the look-up after it.
    #[inline(always)]
    fn query(&self, left: Id, right: Id) -> PairQuery<E> {
        let pair = E::pack(left, right, 0);
        let product = u128::from(pair.hash_key() ^ self.seed) * 0x9E37_79B9_7F4A_7C15_u128;
        PairQuery { hash: product as u64 ^ (product >> 64) as u64, pair }
    }

    /// Returns all pairs with their merged ids, in the order of the slots.
    fn iter(&self) -> impl Iterator<Item = ((Id, Id), Id)> {
        let entries = self.buckets.iter().flatten();
        entries.filter(|&&entry| entry != E::zeroed()).map(|entry| entry.unpack())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn does_not_grow_up_to_five_sixths_full() {
        let mut random = Random(8);
        for count in [1000, 13_653, 27_306] {
            let mut table = U64PairTable::with_capacity(count);
            let buckets = table.buckets.len();
            let mut inserted = std::collections::BTreeSet::new();
            while table.len < count {
                let pair = (random.below(50_000) as Id, random.below(50_000) as Id);
                if inserted.insert(pair) {
                    table.insert(pair.0, pair.1, 7);
                }
            }
            assert_eq!(table.buckets.len(), buckets, "{count} pairs");
        }
    }

    #[test]
    fn finds_inserted_pairs_and_no_others() {
        for id_max in [0, Id::MAX] {
            let mut random = Random(7);
            // The capacity is too small, so that the table has to grow.
            let mut pairs = PairTable::with_capacity(100, id_max);
            assert_eq!(pairs.u64_pairs().is_some(), id_max == 0);
            let mut inserted = std::collections::BTreeMap::new();
            for merged_id in 0..3000 {
                let pair = (random.below(100) as Id, random.below(100) as Id);
                if inserted.insert(pair, merged_id).is_none() {
                    pairs.insert(pair.0, pair.1, merged_id);
                } else {
                    inserted.insert(pair, pairs.rank(pair.0, pair.1));
                }
            }
            assert_eq!(pairs.len(), inserted.len());
            for left in 0..100 {
                for right in 0..100 {
                    assert_eq!(pairs.get(left, right), inserted.get(&(left, right)).copied());
                }
            }
            if let Some(table) = pairs.u64_pairs() {
                for (left, right) in
                    (0..300).flat_map(|left| (0..300).map(move |right| (left, right)))
                {
                    let rank = table.rank(left, right);
                    for found in [
                        table.initial_rank_or_limit(left, right),
                        table.rank_or_limit(table.prefetch_pair(left, right)),
                    ] {
                        assert_eq!(
                            Some(found).filter(|&found| found < U64PairTable::RANK_LIMIT),
                            pairs.get(left, right)
                        );
                        assert!(rank == Id::MAX || rank == found);
                    }
                }
            }
            let by_rank: Vec<Id> =
                pairs.collect_by_rank().into_iter().map(|(_, merged_id)| merged_id).collect();
            assert!(by_rank.is_sorted() && by_rank.len() == inserted.len());
        }
    }
}
