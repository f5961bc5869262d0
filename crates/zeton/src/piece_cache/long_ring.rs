//! A ring buffer of records: long pieces with their ids, and long lists of ids of short pieces.
//!
//! A record lies in words of 32 bits, from an even offset on. For example, " internationalisation"
//! (21 bytes, with cl100k the ids 6625 and 8082) takes 10 words:
//!
//! ```text
//! word      0        1                5         6         7      8       9
//!       +--------+--------+- … -+-----------+-------+------+------+--------+
//!       | 2 | 21 | " int" |     |  "atio"   | "n"   | 6625 | 8082 | unused |
//!       +--------+--------+- … -+-----------+-------+------+------+--------+
//!        ids, bytes       the piece, 21 bytes          its ids     to even
//! ```
//!
//! - A *long record* has the bytes of its piece, and an index finds it by the hash of the piece.
//! - An *ids record* has 0 bytes. It belongs to a short piece, whose entry in the short table
//!   refers to it by a [`RingRef`].
//!
//! When the ring is full, writing continues at offset 0, and a new *generation* begins. New records
//! overwrite the oldest ones, so eviction is first in, first out:
//!
//! ```text
//!   0                            next        next + COPY_WIDTH              end
//!   +-----------------------------+-----------+------------------------------+
//!   | records of this generation  | undefined | records of the generation    |
//!   |                             |           | before, not yet overwritten  |
//!   +-----------------------------+-----------+------------------------------+
//! ```
//!
//! Cost: a long piece loads a bucket of the index and its record, two cache misses in a large ring;
//! the batch prefetches the bucket. An ids record is one load, which the batch prefetches too.

use bytemuck::{Pod, Zeroable};

use super::policy::{
    BUCKET_ENTRIES, GROWTH_FACTOR, PIECE_BYTES_MAX, RING_WORDS_MAX, RING_WORDS_MIN,
    RING_WORDS_PER_BUCKET,
};
use crate::merge::{COPY_WIDTH, PaddedIds};
use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::vocab::Id;
use crate::vocab::short_key::{SEEDS, mix};

/// An entry of the ring's index: where a long record lies, and some bits of its piece's hash.
///
/// ```text
///  31                  21   20   19                                     0
/// +----------------------+-----+-----------------------------------------+
/// | tag: 10 bits, then 1 |  g  | offset of the record / 2                |
/// +----------------------+-----+-----------------------------------------+
/// ```
///
/// - `tag` is the lower bits of the hash with the lowest one set, so that no entry is zero.
/// - `g` is the parity of the record's generation. It suffices, because older generations are
///   removed.
/// - Offsets are even, so 20 bits address 2,097,152 words.
///
/// Zero is an empty entry.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
struct IndexEntry(u32);

/// Bits of half an offset.
const OFFSET_BITS: u32 = RING_WORDS_MAX.ilog2() - 1;

impl IndexEntry {
    fn new(hash: u64, offset: usize, generation: u32) -> Self {
        Self(tag(hash) | (generation & 1) << OFFSET_BITS | (offset / 2) as u32)
    }

    /// Returns whether the tag is that of a hash. About one in 1,024 other hashes has it too, so
    /// that [`LongRing::find`] compares the bytes as well.
    #[inline]
    fn has_tag(self, hash: u64) -> bool {
        (self.0 ^ tag(hash)) >> (OFFSET_BITS + 1) == 0
    }

    /// Returns the parity of the generation in which the entry's record was written: 0 or 1.
    #[inline]
    fn parity(self) -> u32 {
        self.0 >> OFFSET_BITS & 1
    }

    /// Returns the offset of the entry's record from the start of the ring, in words of 32 bits.
    #[inline]
    fn offset(self) -> usize {
        (self.0 as usize & ((1 << OFFSET_BITS) - 1)) * 2
    }
}

/// Returns the bits of a hash that an entry keeps, at their place in the entry; never zero.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash as u32 | 1) << (OFFSET_BITS + 1)
}

/// The entries of one bucket, the newest first: half a cache line.
type IndexBucket = [IndexEntry; BUCKET_ENTRIES];

/// The ring and the index of its long records.
#[derive(Clone, Debug)]
pub(crate) struct LongRing {
    words: HugeBuffer<u32>,
    /// A power of two of buckets.
    index: HugeBuffer<IndexBucket>,
    /// Offset of the next record. Records before it are of this generation; records [`COPY_WIDTH`]
    /// words and more behind it are of the generation before.
    next: usize,
    generation: u32,
}

/// A reference to an ids record: its offset, and the generation that wrote it.
///
/// The generation tells whether the record still exists. For example, a reference of generation 3
/// is dead in generation 5. It is dead in generation 4 as soon as writing has come within
/// [`COPY_WIDTH`] words of its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingRef {
    pub(crate) offset: u32,
    pub(crate) generation: u32,
}

impl Default for LongRing {
    fn default() -> Self {
        Self { words: HugeBuffer::zeros(0), index: HugeBuffer::zeros(1), next: 0, generation: 0 }
    }
}

impl LongRing {
    /// Prefetches the index bucket of a hash, when a long piece is queued as a miss.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.index[self.bucket(hash)]);
    }

    /// Returns the ids of a long piece, borrowed from the ring, or `None` if it is not cached. It
    /// compares all bytes of the piece.
    #[inline]
    pub(crate) fn find(&self, piece: &[u8], hash: u64) -> Option<&[Id]> {
        let bucket = self.index[self.bucket(hash)];
        bucket.into_iter().filter(|entry| entry.has_tag(hash)).find_map(|entry| {
            let offset = entry.offset();
            let is_live = self.is_live(offset, entry.parity() == self.generation & 1);
            let (cached, ids) = is_live.then(|| self.read(offset))?;
            (cached == piece).then_some(ids)
        })
    }

    /// Returns the piece and the ids of a record. The record must be intact, which
    /// [`LongRing::is_live`] decides.
    #[inline]
    fn read(&self, offset: usize) -> (&[u8], &[Id]) {
        let sizes = self.words[offset];
        let (bytes, ids) = (sizes as usize & 0xFFFF, (sizes >> 16) as usize);
        let rest = &self.words[offset + 1..offset + 1 + bytes.div_ceil(4) + ids];
        let (piece, ids) = rest.split_at(bytes.div_ceil(4));
        (&bytemuck::cast_slice(piece)[..bytes], ids)
    }

    /// Returns the offset of an ids record if it still exists, and prefetches the record.
    #[inline]
    pub(crate) fn locate(&self, RingRef { offset, generation }: RingRef) -> Option<usize> {
        let offset = offset as usize;
        let is_current = generation == self.generation;
        let is_live = self.is_live(offset, is_current)
            && (is_current || generation.wrapping_add(1) == self.generation);
        is_live.then(|| {
            prefetch(&self.words[offset]);
            offset
        })
    }

    /// Returns whether a record is intact: one of the current generation, or of the one before it.
    ///
    /// The [`COPY_WIDTH`] words behind `next` do not count, because the last copy of ids may have
    /// overwritten them.
    #[inline]
    fn is_live(&self, offset: usize, is_current: bool) -> bool {
        if is_current { offset < self.next } else { offset >= self.next + COPY_WIDTH }
    }

    /// Returns the ids of an ids record, borrowed from the ring. `offset` is in words, and comes
    /// from [`LongRing::locate`].
    #[inline]
    pub(crate) fn ids_at(&self, offset: usize) -> PaddedIds<'_> {
        // An ids record has no bytes, so its ids begin behind its sizes.
        PaddedIds::new(&self.words[offset + 1..], (self.words[offset] >> 16) as usize)
    }

    /// Appends an ids record with the ids of a short piece, over the oldest records. Returns the
    /// reference that the piece's entry in the short table keeps.
    pub(crate) fn insert_ids(&mut self, ids: PaddedIds) -> RingRef {
        let offset = self.append(&[], ids);
        RingRef { offset: offset as u32, generation: self.generation }
    }

    /// Appends a long record, unless the piece has more than [`PIECE_BYTES_MAX`] bytes.
    ///
    /// A piece that is cached already gets a second record, and the newer one is found.
    pub(crate) fn insert(&mut self, piece: &[u8], hash: u64, ids: PaddedIds) {
        // A piece has no more ids than bytes; the second test bounds the sizes for any caller.
        if piece.len() > PIECE_BYTES_MAX || ids.len() > PIECE_BYTES_MAX {
            return;
        }
        let offset = self.append(piece, ids);
        self.index_record(hash, offset);
    }

    /// Appends a record, and returns its offset. Up to [`COPY_WIDTH`] words behind it are
    /// overwritten.
    #[inline]
    fn append(&mut self, piece: &[u8], ids: PaddedIds) -> usize {
        let words = record_words(piece, ids.ids());
        if self.next + words + COPY_WIDTH > self.words.len() {
            match self.words.len() < RING_WORDS_MAX {
                true => self.grow(),
                false => self.begin_generation(),
            }
        }
        let offset = self.next;
        let record = &mut self.words[offset..offset + words + COPY_WIDTH];
        record[0] = (piece.len() | ids.len() << 16) as u32;
        let (bytes, rest) = record[1..].split_at_mut(piece.len().div_ceil(4));
        bytemuck::cast_slice_mut(bytes)[..piece.len()].copy_from_slice(piece);
        ids.write_to(rest);
        self.next += words;
        offset
    }

    /// Enters a long record at the front of its bucket, and drops the bucket's oldest entry.
    fn index_record(&mut self, hash: u64, offset: usize) {
        let bucket = self.bucket(hash);
        let entries = &mut self.index[bucket];
        entries.copy_within(..BUCKET_ENTRIES - 1, 1);
        entries[0] = IndexEntry::new(hash, offset, self.generation);
    }

    /// Begins the next generation at offset 0, and removes the index entries of the one before
    /// last.
    ///
    /// The removed entries have the parity of the new generation, and would be taken for its
    /// records.
    #[cold]
    fn begin_generation(&mut self) {
        (self.next, self.generation) = (0, self.generation.wrapping_add(1));
        let parity = self.generation & 1;
        for entry in self.index.iter_mut().flatten().filter(|entry| entry.parity() == parity) {
            *entry = IndexEntry::default();
        }
    }

    /// Moves all records to a larger ring and indexes them anew.
    ///
    /// A ring grows in its generation 0 only, so its records lie one after another from offset 0
    /// on.
    #[cold]
    fn grow(&mut self) {
        let count = (self.words.len() * GROWTH_FACTOR).clamp(RING_WORDS_MIN, RING_WORDS_MAX);
        let words = std::mem::replace(&mut self.words, HugeBuffer::zeros(count));
        self.words[..self.next].copy_from_slice(&words[..self.next]);
        self.index = HugeBuffer::zeros(count / RING_WORDS_PER_BUCKET);
        let mut offset = 0;
        while offset < self.next {
            let (piece, ids) = self.read(offset);
            let words = record_words(piece, ids);
            if !piece.is_empty() {
                let hash = hash_long(piece);
                self.index_record(hash, offset);
            }
            offset += words;
        }
    }

    /// Returns the bucket of a hash, by the upper half of its bits. The tag has the lower ones.
    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.index.len() - 1)
    }
}

/// Returns the size of a record in words of 32 bits, an even number: its sizes, the piece and the
/// ids.
fn record_words(piece: &[u8], ids: &[Id]) -> usize {
    (1 + piece.len().div_ceil(4) + ids.len()).next_multiple_of(2)
}

/// Returns the hash of a piece of 16 bytes or more. Each of its bits depends on all bytes.
///
/// It mixes 16 bytes at a time, and then the last 16, which may overlap the bytes before them.
#[inline]
pub(crate) fn hash_long(piece: &[u8]) -> u64 {
    let (all, _) = piece.as_chunks::<16>();
    let last = piece.last_chunk::<16>().copied().unwrap_or_default();
    let mut state = piece.len() as u64;
    for bytes in all.iter().chain([&last]) {
        state = mix(u128::from_le_bytes(*bytes) ^ u128::from(state), SEEDS);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn returns_the_inserted_ids_or_nothing_in_every_generation() {
        let mut ring = LongRing::default();
        let mut random = Random(8);
        let (mut hits, mut generations) = (0, 0);
        for round in 0..400_000_usize {
            // A third of the pieces are drawn from 40,000 numbers; the rest are unique.
            let number = if round % 3 == 0 { random.below(40_000) } else { round };
            let length = 16 + number % 100;
            let piece = number.to_le_bytes().repeat(20)[..length].to_vec();
            let expected: Vec<Id> = (0..(number % 50) as Id).map(|id| id ^ number as Id).collect();
            let hash = hash_long(&piece);
            let generation_before = ring.generation;
            match ring.find(&piece, hash) {
                Some(ids) => {
                    assert_eq!(ids, expected);
                    hits += 1;
                }
                None => ring.insert(&piece, hash, PaddedIds::from(&expected[..])),
            }
            generations += usize::from(ring.generation != generation_before);
            assert_eq!(ring.find(&piece, hash), Some(&expected[..]));
        }
        assert!(hits > 50_000 && generations > 2, "{hits} hits in {generations} generations");
        assert_eq!(size_of_val(&ring.words[..]), 8 << 20);
        assert_eq!(size_of_val(&ring.index[..]), 2 << 20);
    }

    #[test]
    fn records_are_intact_until_they_are_overwritten() {
        let mut ring = LongRing::default();
        let mut random = Random(3);
        let ids_of = |number: usize| -> Vec<Id> {
            (0..4 + number % 9).map(|at| (number * 16 + at) as Id).collect()
        };
        let piece_of = |number: usize| number.to_le_bytes().repeat(5);
        let (mut refs, mut live, mut dead) = (Vec::new(), 0, 0);
        let (mut oldest, mut oldest_piece) = (0, 0);
        for number in 0..700_000 {
            // Padding that differs from every id.
            let padded = [&ids_of(number)[..], &[Id::MAX; COPY_WIDTH]].concat();
            let ids = PaddedIds::new(&padded, padded.len() - COPY_WIDTH);
            refs.push(ring.insert_ids(ids));
            if number % 5 == 0 {
                // Long records lie between the ids records.
                ring.insert(&piece_of(number), hash_long(&piece_of(number)), ids);
            }
            // The oldest live record lies right behind the newest one, so a copy may endanger it.
            while ring.locate(refs[oldest]).is_none() {
                oldest += 1;
            }
            let cached = loop {
                let piece = piece_of(oldest_piece);
                match ring.find(&piece, hash_long(&piece)) {
                    None if oldest_piece + 5 <= number => oldest_piece += 5,
                    cached => break cached,
                }
            };
            assert!(cached.is_none_or(|cached| cached == ids_of(oldest_piece)), "{oldest_piece}");
            for number in [number, oldest, random.below(number + 1)] {
                match ring.locate(refs[number]) {
                    Some(offset) => {
                        assert_eq!(ring.ids_at(offset).ids(), ids_of(number));
                        live += 1;
                    }
                    None => dead += 1,
                }
            }
        }
        assert!(ring.generation > 2 && live > 700_000 && dead > 100_000, "{live}, {dead}");
    }

    #[test]
    fn pieces_above_the_bound_are_not_cached() {
        let mut ring = LongRing::default();
        let piece = vec![b'a'; PIECE_BYTES_MAX + 1];
        ring.insert(&piece, hash_long(&piece), PaddedIds::from(&[1][..]));
        assert_eq!(ring.find(&piece, hash_long(&piece)), None);
        let piece = &piece[1..];
        ring.insert(piece, hash_long(piece), PaddedIds::from(&[1][..]));
        assert_eq!(ring.find(piece, hash_long(piece)), Some(&[1][..]));
    }
}
