//! The table of pairs: (left, right) becomes the id of the two joined.

use std::hash::{BuildHasher, Hasher};
use std::ops::BitXor;

use bytemuck::Pod;
use foldhash::fast::RandomState;

use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::vocab::Id;

/// The pairs that merge, each in one of two buckets: a look-up takes two lines of the cache and no branch.
#[derive(Clone, Debug)]
pub struct PairTable(Width);

/// Ids of nearly all vocabularies have so few bits that a pair and what it becomes is one word.
#[derive(Clone, Debug)]
enum Width {
    Narrow(Table<u64>),
    Wide(Table<u128>),
}

impl Default for PairTable {
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

impl PairTable {
    /// Makes an empty table for so many pairs of ids up to `id_max`.
    pub(crate) fn with_capacity(pairs: usize, id_max: Id) -> Self {
        Self(match id_max < Narrow::ID_LIMIT {
            true => Width::Narrow(Table::with_capacity(pairs)),
            false => Width::Wide(Table::with_capacity(pairs)),
        })
    }

    /// Puts the table into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        match &self.0 {
            Width::Narrow(table) => {
                image.number(0);
                table.write_image(image);
            }
            Width::Wide(table) => {
                image.number(1);
                table.write_image(image);
            }
        }
    }

    /// Takes the table out of an image.
    pub(crate) fn from_image(image: &mut SectionReader) -> Option<Self> {
        Some(Self(match image.number()? {
            0 => Width::Narrow(Table::from_image(image)?),
            _ => Width::Wide(Table::from_image(image)?),
        }))
    }

    /// Asks for the buckets of a pair.
    #[inline]
    pub(crate) fn prefetch(&self, left: Id, right: Id) {
        match &self.0 {
            Width::Narrow(table) => drop(table.ask(left, right)),
            Width::Wide(table) => drop(table.ask(left, right)),
        }
    }

    /// Adds a pair that is not in the table yet.
    pub(crate) fn insert(&mut self, left: Id, right: Id, joined: Id) {
        match &mut self.0 {
            Width::Narrow(table) => table.insert(left, right, joined),
            Width::Wide(table) => table.insert(left, right, joined),
        }
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
        match &self.0 {
            Width::Narrow(table) => table.rank(left, right),
            Width::Wide(table) => table.rank(left, right),
        }
    }

    /// Returns the table itself, if all ids are narrow.
    #[inline]
    pub(crate) fn narrow(&self) -> Option<&Narrow> {
        match &self.0 {
            Width::Narrow(table) => Some(table),
            Width::Wide(_) => None,
        }
    }

    /// Returns whether something is true of all pairs and what they become.
    pub(crate) fn all(&self, mut is: impl FnMut((Id, Id), Id) -> bool) -> bool {
        match &self.0 {
            Width::Narrow(table) => table.iter().all(|(pair, joined)| is(pair, joined)),
            Width::Wide(table) => table.iter().all(|(pair, joined)| is(pair, joined)),
        }
    }

    /// Returns all pairs and what they become, by rising rank.
    #[must_use]
    pub fn by_rank(&self) -> Vec<((Id, Id), Id)> {
        let mut all: Vec<_> = match &self.0 {
            Width::Narrow(table) => table.iter().collect(),
            Width::Wide(table) => table.iter().collect(),
        };
        all.sort_by_key(|(_, joined)| *joined);
        all
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Width::Narrow(table) => table.len,
            Width::Wide(table) => table.len,
        }
    }

    /// Returns whether no pair merges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The table of narrow ids.
pub(crate) type Narrow = Table<u64>;

impl Narrow {
    /// Ids of such a table are below; this one stands for nothing and merges with nothing.
    pub(crate) const ID_LIMIT: Id = Self::RANK_LIMIT - 1;

    /// A rank that is not below stands for a pair that does not merge.
    pub(crate) const RANK_LIMIT: Id = 1 << 21;

    /// Returns what was asked for; for a pair that does not merge, something from `RANK_LIMIT` on, but less
    /// than twice that.
    #[inline(always)]
    pub(crate) fn narrow_answer(&self, Asked { hash, pair }: Asked<u64>) -> Id {
        let lowest = Entry::lowest(self.buckets(hash).map(|bucket| *bucket), pair);
        // Whether a pair merges cannot be foretold, and the lower of two numbers would become a branch.
        let beyond = Id::from(lowest >= Self::RANK_LIMIT.into());
        (lowest as Id % Self::RANK_LIMIT) + beyond * Self::RANK_LIMIT
    }

    /// The same for a pair that merging begins with, quicker for bytes.
    #[inline(always)]
    pub(crate) fn narrow_first(&self, left: Id, right: Id) -> Id {
        match left | right {
            // There are as many as two bytes tell; the mask keeps within bounds.
            0..256 => {
                let joined = self.bytes[(left << 8 | right) as usize & (self.bytes.len() - 1)];
                // `Id::MAX` becomes one that is not below the limit either.
                joined % (2 * Self::RANK_LIMIT)
            }
            _ => self.narrow_answer(self.asked(left, right)),
        }
    }
}

/// A pair and what it becomes in one number: the left id plus one, the right id, the joined id.
/// Zero is no pair.
pub(crate) trait Entry: Pod + Ord + BitXor<Output = Self> {
    fn pack(left: Id, right: Id, joined: Id) -> Self;
    fn unpack(self) -> ((Id, Id), Id);
    /// The pair alone, if it is packed with a joined id of zero: what is hashed.
    fn key(self) -> u64;
    /// What a pair becomes if one of the entries has it, and `Id::MAX` if none has; `pair` is packed with
    /// a joined id of zero.
    fn joined(buckets: [Bucket<Self>; 2], pair: Self) -> Id;

    /// Of an entry with this pair, nothing is left but the joined id; of all others, more than that.
    #[inline(always)]
    fn lowest([[a, b], [c, d]]: [Bucket<Self>; 2], pair: Self) -> Self {
        (a ^ pair).min(b ^ pair).min((c ^ pair).min(d ^ pair))
    }
}

impl Entry for u64 {
    #[inline]
    fn pack(left: Id, right: Id, joined: Id) -> Self {
        (Self::from(left) + 1) << 42 | Self::from(right) << 21 | Self::from(joined)
    }

    fn unpack(self) -> ((Id, Id), Id) {
        let bits = (1 << 21) - 1;
        (((self >> 42) as Id - 1, (self >> 21 & bits) as Id), (self & bits) as Id)
    }

    #[inline]
    fn key(self) -> u64 {
        self
    }

    #[inline]
    fn joined(buckets: [Bucket<Self>; 2], pair: Self) -> Id {
        let joined = Self::lowest(buckets, pair);
        if joined < Narrow::RANK_LIMIT.into() { joined as Id } else { Id::MAX }
    }
}

impl Entry for u128 {
    #[inline]
    fn pack(left: Id, right: Id, joined: Id) -> Self {
        (Self::from(left) + 1) << 64 | Self::from(right) << 32 | Self::from(joined)
    }

    fn unpack(self) -> ((Id, Id), Id) {
        (((self >> 64) as Id - 1, (self >> 32) as Id), self as Id)
    }

    #[inline]
    fn key(self) -> u64 {
        (self >> 32) as u64
    }

    #[inline]
    fn joined(buckets: [Bucket<Self>; 2], pair: Self) -> Id {
        Self::lowest(buckets, pair).min(Id::MAX.into()) as Id
    }
}

/// Entries that lie beside each other.
type Bucket<E> = [E; 2];

/// Two halves; a pair lies in its bucket of the one or of the other (cuckoo hashing). With buckets of two, a
/// table that is five sixths full is as good as one of single places that is half full, and what is in
/// use lies closer together.
#[derive(Clone, Debug)]
pub(crate) struct Table<E: Pod> {
    buckets: HugeBuffer<Bucket<E>>,
    /// What the pairs of ids below 256, bytes nearly always, become: every piece begins with them.
    bytes: HugeBuffer<Id>,
    /// Chosen anew for every table, so that no vocabulary can be made whose pairs all collide.
    seed: u64,
    len: usize,
}

/// A pair that is looked up, and its hash: each half has its bucket by other bits of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asked<E> {
    hash: u64,
    pair: E,
}

/// PairTable that are moved for one before all are put into a larger table.
const MOVES_MAX: usize = 500;

impl<E: Entry> Table<E> {
    fn with_capacity(pairs: usize) -> Self {
        let half = (pairs + pairs / 5).div_ceil(4).next_power_of_two().max(2);
        let seed = RandomState::default().build_hasher().finish();
        let mut bytes = HugeBuffer::zeros(1 << 16);
        bytes.fill(Id::MAX);
        Self { buckets: HugeBuffer::zeros(half * 2), bytes, seed, len: 0 }
    }

    fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        image.number(self.seed);
        image.number(self.len as u64);
        image.row(&self.buckets);
        image.row(&self.bytes);
    }

    fn from_image(image: &mut SectionReader) -> Option<Self> {
        let (seed, len) = (image.number()?, usize::try_from(image.number()?).ok()?);
        let (buckets, bytes) = (image.table()?, image.table()?);
        let whole = buckets.len() >= 4 && bytes.len() == 1 << 16;
        whole.then_some(Self { buckets, bytes, seed, len })
    }

    fn insert(&mut self, left: Id, right: Id, joined: Id) {
        self.len += 1;
        if left | right < 256 {
            self.bytes[(left << 8 | right) as usize] = joined;
        }
        let (mut entry, mut half) = (E::pack(left, right, joined), 0);
        for moves in 0..MOVES_MAX {
            let ((left, right), _) = entry.unpack();
            let (hash, len) = (self.asked(left, right).hash, self.buckets.len() / 2);
            let bucket =
                &mut self.buckets[half * len + ((hash >> (32 * half)) as usize & (len - 1))];
            if let Some(free) = bucket.iter_mut().find(|kept| **kept == E::zeroed()) {
                *free = entry;
                return;
            }
            // Each half gives up its first and its second in turn.
            std::mem::swap(&mut bucket[moves / 2 % 2], &mut entry);
            half = 1 - half;
        }
        let all: Vec<_> = self.iter().chain([entry.unpack()]).collect();
        *self = Self::with_capacity(self.buckets.len() * 2);
        for ((left, right), joined) in all {
            self.insert(left, right, joined);
        }
    }

    /// Returns what a pair becomes, `Id::MAX` if it does not merge.
    #[inline(always)]
    pub(crate) fn rank(&self, left: Id, right: Id) -> Id {
        let Asked { hash, pair } = self.asked(left, right);
        E::joined(self.buckets(hash).map(|bucket| *bucket), pair)
    }

    /// Asks for what a pair becomes: [`Narrow::narrow_answer`] has it after a while.
    #[inline(always)]
    pub(crate) fn ask(&self, left: Id, right: Id) -> Asked<E> {
        let asked = self.asked(left, right);
        self.buckets(asked.hash).into_iter().for_each(prefetch);
        asked
    }

    /// The bucket of either half.
    #[inline(always)]
    fn buckets(&self, hash: u64) -> [&Bucket<E>; 2] {
        let (low, high) = self.buckets.split_at(self.buckets.len() / 2);
        // Halves have a power of two of them: a mask keeps within bounds.
        [&low[hash as usize & (low.len() - 1)], &high[(hash >> 32) as usize & (high.len() - 1)]]
    }

    #[inline(always)]
    fn asked(&self, left: Id, right: Id) -> Asked<E> {
        let pair = E::pack(left, right, 0);
        let product = u128::from(pair.key() ^ self.seed) * 0x9E37_79B9_7F4A_7C15_u128;
        Asked { hash: product as u64 ^ (product >> 64) as u64, pair }
    }

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
    fn a_table_that_is_five_sixths_full_keeps_its_size() {
        let mut random = Random(8);
        for count in [1000, 13_653, 27_306] {
            let mut table = Narrow::with_capacity(count);
            let buckets = table.buckets.len();
            let mut put = std::collections::BTreeSet::new();
            while table.len < count {
                let pair = (random.below(50_000) as Id, random.below(50_000) as Id);
                if put.insert(pair) {
                    table.insert(pair.0, pair.1, 7);
                }
            }
            assert_eq!(table.buckets.len(), buckets, "{count} pairs");
        }
    }

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        for id_max in [0, Id::MAX] {
            let mut random = Random(7);
            // Made for fewer than it gets: it grows.
            let mut pairs = PairTable::with_capacity(100, id_max);
            assert_eq!(pairs.narrow().is_some(), id_max == 0);
            let mut put = std::collections::BTreeMap::new();
            for joined in 0..3000 {
                let pair = (random.below(100) as Id, random.below(100) as Id);
                if put.insert(pair, joined).is_none() {
                    pairs.insert(pair.0, pair.1, joined);
                } else {
                    put.insert(pair, pairs.rank(pair.0, pair.1));
                }
            }
            assert_eq!(pairs.len(), put.len());
            for left in 0..100 {
                for right in 0..100 {
                    assert_eq!(pairs.get(left, right), put.get(&(left, right)).copied());
                }
            }
            if let Some(narrow) = pairs.narrow() {
                for (left, right) in
                    (0..300).flat_map(|left| (0..300).map(move |right| (left, right)))
                {
                    let rank = narrow.rank(left, right);
                    for found in [
                        narrow.narrow_first(left, right),
                        narrow.narrow_answer(narrow.ask(left, right)),
                    ] {
                        assert_eq!(
                            Some(found).filter(|&found| found < Narrow::RANK_LIMIT),
                            pairs.get(left, right)
                        );
                        assert!(rank == Id::MAX || rank == found);
                    }
                }
            }
            let by_rank: Vec<Id> = pairs.by_rank().into_iter().map(|(_, joined)| joined).collect();
            assert!(by_rank.is_sorted() && by_rank.len() == put.len());
        }
    }
}
