//! Long pieces that a thread has met, and the ids of short ones that have many: records in a ring, the
//! newest over the oldest.
//!
//! A record is its sizes, the bytes of the piece and its ids, one after the other in words. An index
//! finds it by the hash of the piece. The record of a short piece has its ids alone, and is found by who
//! remembers where it is. When the ring is full, writing begins anew at its start, a new generation: what it
//! overwrites is forgotten.

use bytemuck::{Pod, Zeroable};

use crate::merge::{COPY_WIDTH, PaddedIds};
use crate::sys::huge_buffer::{HugeBuffer, prefetch};
use crate::vocab::Id;
use crate::vocab::short_key::{SEEDS, mix};

/// Words of the ring: at first, and at most, 8 MiB.
const WORDS_MIN: usize = 1 << 12;
const WORDS_MAX: usize = 1 << 21;

/// Words of the ring for each bucket of the index. LongRing have six and more.
const WORDS_EACH: usize = 32;

/// Bytes of a piece at most.
const BYTES_MAX: usize = 1 << 10;

/// Some bits of a hash, the parity of a generation, and where a record begins in the ring, by twos. Zero is none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
struct Entry(u32);

/// Bits of a place.
const PLACE_BITS: u32 = WORDS_MAX.ilog2() - 1;

impl Entry {
    fn new(hash: u64, at: usize, generation: u32) -> Self {
        Self(tag(hash) | (generation & 1) << PLACE_BITS | (at / 2) as u32)
    }

    #[inline]
    fn has_tag(self, hash: u64) -> bool {
        (self.0 ^ tag(hash)) >> (PLACE_BITS + 1) == 0
    }

    /// The last bit of its generation: those of a generation before the last are gone.
    #[inline]
    fn generation(self) -> u32 {
        self.0 >> PLACE_BITS & 1
    }

    #[inline]
    fn place(self) -> usize {
        (self.0 as usize & ((1 << PLACE_BITS) - 1)) * 2
    }
}

/// Never zero.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash as u32 | 1) << (PLACE_BITS + 1)
}

/// The entries of a bucket, the newest first: half a line of the cache.
type Bucket = [Entry; 8];

/// The ring and its index.
#[derive(Clone, Debug)]
pub(crate) struct LongRing {
    words: HugeBuffer<u32>,
    index: HugeBuffer<Bucket>,
    /// Where the next record goes. What is before it is of this generation, what is [`COPY_WIDTH`] words and more behind it,
    /// of the last.
    next: usize,
    generation: u32,
}

/// Where the ids of a short piece are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingRef {
    pub(crate) at: u32,
    pub(crate) generation: u32,
}

impl Default for LongRing {
    fn default() -> Self {
        Self { words: HugeBuffer::zeros(0), index: HugeBuffer::zeros(1), next: 0, generation: 0 }
    }
}

impl LongRing {
    /// Asks for the bucket of a hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(&self.index[self.bucket(hash)]);
    }

    /// Returns the ids of a piece, if it is known.
    #[inline]
    pub(crate) fn find(&self, piece: &[u8], hash: u64) -> Option<&[Id]> {
        let bucket = self.index[self.bucket(hash)];
        bucket.into_iter().filter(|entry| entry.has_tag(hash)).find_map(|entry| {
            let at = entry.place();
            let is_there = self.is_there(at, entry.generation() == self.generation & 1);
            let (kept, ids) = is_there.then(|| self.read(at))?;
            (kept == piece).then_some(ids)
        })
    }

    /// The piece and the ids of a record.
    #[inline]
    fn read(&self, at: usize) -> (&[u8], &[Id]) {
        let sizes = self.words[at];
        let (bytes, ids) = (sizes as usize & 0xFFFF, (sizes >> 16) as usize);
        let rest = &self.words[at + 1..at + 1 + bytes.div_ceil(4) + ids];
        let (piece, ids) = rest.split_at(bytes.div_ceil(4));
        (&bytemuck::cast_slice(piece)[..bytes], ids)
    }

    /// Returns where a row is, if it has not been overwritten, and asks for it.
    #[inline]
    pub(crate) fn place_of(&self, RingRef { at, generation }: RingRef) -> Option<usize> {
        let at = at as usize;
        let is_last = generation == self.generation;
        let is_there = self.is_there(at, is_last)
            && (is_last || generation.wrapping_add(1) == self.generation);
        is_there.then(|| {
            prefetch(&self.words[at]);
            at
        })
    }

    /// Returns whether a record of the generation that goes on, or of the one before, has not been overwritten, nor
    /// may have been.
    #[inline]
    fn is_there(&self, at: usize, is_last: bool) -> bool {
        if is_last { at < self.next } else { at >= self.next + COPY_WIDTH }
    }

    /// Returns the ids of a row that is there.
    #[inline]
    pub(crate) fn row(&self, at: usize) -> PaddedIds<'_> {
        // A row is a record without bytes.
        PaddedIds::new(&self.words[at + 1..], (self.words[at] >> 16) as usize)
    }

    /// Keeps the ids of a short piece, of which there are a few.
    pub(crate) fn put_row(&mut self, ids: PaddedIds) -> RingRef {
        let at = self.append(&[], ids);
        RingRef { at: at as u32, generation: self.generation }
    }

    /// Keeps the ids of a piece, if it is not too long; one that is known takes room twice.
    pub(crate) fn put(&mut self, piece: &[u8], hash: u64, ids: PaddedIds) {
        // A piece has no more ids than bytes.
        if piece.len() > BYTES_MAX || ids.len() > BYTES_MAX {
            return;
        }
        let at = self.append(piece, ids);
        self.enter(hash, at);
    }

    /// Writes a record, and returns where it is. Up to [`COPY_WIDTH`] words behind it are overwritten too.
    #[inline]
    fn append(&mut self, piece: &[u8], ids: PaddedIds) -> usize {
        let words = words_of(piece, ids.ids());
        if self.next + words + COPY_WIDTH > self.words.len() {
            match self.words.len() < WORDS_MAX {
                true => self.grow(),
                false => self.begin_generation(),
            }
        }
        let at = self.next;
        let record = &mut self.words[at..at + words + COPY_WIDTH];
        record[0] = (piece.len() | ids.len() << 16) as u32;
        let (bytes, rest) = record[1..].split_at_mut(piece.len().div_ceil(4));
        bytemuck::cast_slice_mut(bytes)[..piece.len()].copy_from_slice(piece);
        ids.write_to(rest);
        self.next += words;
        at
    }

    fn enter(&mut self, hash: u64, at: usize) {
        let bucket = self.bucket(hash);
        let entries = &mut self.index[bucket];
        entries.copy_within(..7, 1);
        entries[0] = Entry::new(hash, at, self.generation);
    }

    /// Begins at the start duplicate_misses. What is left of the generation before the last is forgotten.
    #[cold]
    fn begin_generation(&mut self) {
        (self.next, self.generation) = (0, self.generation.wrapping_add(1));
        let generation = self.generation & 1;
        for entry in
            self.index.iter_mut().flatten().filter(|entry| entry.generation() == generation)
        {
            *entry = Entry::default();
        }
    }

    /// Takes a larger ring; none has begun anew yet, so that all records are in it from its start on.
    #[cold]
    fn grow(&mut self) {
        let count = (self.words.len() * 4).clamp(WORDS_MIN, WORDS_MAX);
        let words = std::mem::replace(&mut self.words, HugeBuffer::zeros(count));
        self.words[..self.next].copy_from_slice(&words[..self.next]);
        self.index = HugeBuffer::zeros(count / WORDS_EACH);
        let mut at = 0;
        while at < self.next {
            let (piece, ids) = self.read(at);
            let words = words_of(piece, ids);
            if !piece.is_empty() {
                let hash = hash(piece);
                self.enter(hash, at);
            }
            at += words;
        }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        // Other bits than those of the tag.
        (hash >> 32) as usize & (self.index.len() - 1)
    }
}

/// Words of a record: an even number.
fn words_of(piece: &[u8], ids: &[Id]) -> usize {
    (1 + piece.len().div_ceil(4) + ids.len()).next_multiple_of(2)
}

/// Returns a number whose bits all depend on all bytes of a piece of sixteen or more.
#[inline]
pub(crate) fn hash(piece: &[u8]) -> u64 {
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
    fn gives_back_what_was_kept_or_nothing_lap_after_lap() {
        let mut records = LongRing::default();
        let mut random = Random(8);
        let (mut found, mut generation) = (0, 0);
        for round in 0..400_000_usize {
            // Some come duplicate_misses soon, some late, some never.
            let number = if round % 3 == 0 { random.below(40_000) } else { round };
            let length = 16 + number % 100;
            let piece = number.to_le_bytes().repeat(20)[..length].to_vec();
            let expected: Vec<Id> = (0..(number % 50) as Id).map(|id| id ^ number as Id).collect();
            let hash = hash(&piece);
            let before = records.generation;
            match records.find(&piece, hash) {
                Some(ids) => {
                    assert_eq!(ids, expected);
                    found += 1;
                }
                None => records.put(&piece, hash, PaddedIds::from(&expected[..])),
            }
            generation += usize::from(records.generation != before);
            assert_eq!(records.find(&piece, hash), Some(&expected[..]));
        }
        assert!(found > 50_000 && generation > 2, "{found} found in {generation} generation");
        assert_eq!(size_of_val(&records.words[..]), 8 << 20);
        assert_eq!(size_of_val(&records.index[..]), 2 << 20);
    }

    #[test]
    fn rows_are_there_until_they_are_overwritten() {
        let mut records = LongRing::default();
        let mut random = Random(3);
        let ids_of = |number: usize| -> Vec<Id> {
            (0..4 + number % 9).map(|at| (number * 16 + at) as Id).collect()
        };
        let piece_of = |number: usize| number.to_le_bytes().repeat(5);
        let (mut rows, mut found, mut gone) = (Vec::new(), 0, 0);
        let (mut oldest, mut oldest_piece) = (0, 0);
        for number in 0..700_000 {
            // Something lies behind them.
            let ids = [&ids_of(number)[..], &[Id::MAX; COPY_WIDTH]].concat();
            let row = PaddedIds::new(&ids, ids.len() - COPY_WIDTH);
            rows.push(records.put_row(row));
            if number % 5 == 0 {
                // LongRing of long pieces are in the same ring.
                records.put(&piece_of(number), hash(&piece_of(number)), row);
            }
            // The oldest that is there lies right behind what was written last.
            while records.place_of(rows[oldest]).is_none() {
                oldest += 1;
            }
            let kept = loop {
                let piece = piece_of(oldest_piece);
                match records.find(&piece, hash(&piece)) {
                    None if oldest_piece + 5 <= number => oldest_piece += 5,
                    kept => break kept,
                }
            };
            assert!(kept.is_none_or(|kept| kept == ids_of(oldest_piece)), "{oldest_piece}");
            for number in [number, oldest, random.below(number + 1)] {
                match records.place_of(rows[number]) {
                    Some(at) => {
                        assert_eq!(records.row(at).ids(), ids_of(number));
                        found += 1;
                    }
                    None => gone += 1,
                }
            }
        }
        assert!(records.generation > 2 && found > 700_000 && gone > 100_000, "{found}, {gone}");
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut records = LongRing::default();
        let piece = vec![b'a'; BYTES_MAX + 1];
        records.put(&piece, hash(&piece), PaddedIds::from(&[1][..]));
        assert_eq!(records.find(&piece, hash(&piece)), None);
        let piece = &piece[1..];
        records.put(piece, hash(piece), PaddedIds::from(&[1][..]));
        assert_eq!(records.find(piece, hash(piece)), Some(&[1][..]));
    }
}
