//! Pieces that were merged before, with their ids: text repeats itself.
//!
//! Memory is bounded. There are two generations: when the young one is full, it becomes the old one
//! and what was the old one is forgotten; a piece that is found in the old one moves to the young.
//! So what is used stays, and nothing is ever counted.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use crate::vocab::Id;

/// Bytes of the longest piece that is kept: longer ones, runs of Han mostly, hardly come again.
pub(super) const PIECE_MAX: usize = 48;

/// Slots of a generation: with its records, it takes 1.5 MiB at most.
const SLOTS: usize = 1 << 16;

/// Words of all records of a generation.
const WORDS_MAX: usize = 1 << 18;

/// Slots that are looked at for one piece.
const TRIED: usize = 4;

/// The pieces that one thread has merged. Empty, it takes no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    young: Generation,
    old: Generation,
    hasher: RandomState,
}

impl Learned {
    /// Appends the ids of a piece and returns true, if it is known.
    #[inline]
    pub(super) fn get(&mut self, piece: &[u8], ids: &mut Vec<Id>) -> bool {
        let hash = self.hash(piece);
        if let Some(found) = self.young.get(hash, piece) {
            ids.extend_from_slice(found);
            return true;
        }
        let Some(found) = self.old.get(hash, piece) else { return false };
        ids.extend_from_slice(found);
        let first = ids.len() - found.len();
        self.put_hashed(hash, piece, &ids[first..]);
        true
    }

    /// Keeps the ids of a piece that is not known.
    pub(super) fn put(&mut self, piece: &[u8], ids: &[Id]) {
        self.put_hashed(self.hash(piece), piece, ids);
    }

    fn put_hashed(&mut self, hash: u64, piece: &[u8], ids: &[Id]) {
        if !self.young.put(hash, piece, ids) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.young.put(hash, piece, ids);
        }
    }

    #[inline]
    fn hash(&self, piece: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(piece);
        hasher.finish()
    }
}

/// Records in one row of words, and slots that say where they are.
#[derive(Clone, Debug, Default)]
struct Generation {
    /// The high half of a piece's hash, and where its record begins, plus one.
    slots: Vec<(u32, u32)>,
    /// A record: the number of bytes, of ids, the bytes in words, the ids.
    words: Vec<u32>,
}

impl Generation {
    #[inline]
    fn get(&self, hash: u64, piece: &[u8]) -> Option<&[Id]> {
        if self.slots.is_empty() {
            return None;
        }
        let places = (0..TRIED).map(|step| self.slots[place(hash, step)]);
        for (tag, after) in places {
            if after == 0 {
                return None;
            }
            if tag == (hash >> 32) as u32 {
                let record = &self.words[after as usize - 1..];
                let (bytes, ids) = (record[0] as usize, record[1] as usize);
                let (spelled, rest) = record[2..].split_at(bytes.div_ceil(4));
                if bytes == piece.len() && spelled.iter().copied().eq(words_of(piece)) {
                    return Some(&rest[..ids]);
                }
            }
        }
        None
    }

    /// Keeps a piece; returns false where it is time for a new generation. A piece whose slots are
    /// all taken is not kept until then: what is there may be in use.
    fn put(&mut self, hash: u64, piece: &[u8], ids: &[Id]) -> bool {
        if self.slots.is_empty() {
            self.slots = vec![(0, 0); SLOTS];
        }
        if self.words.len() + 2 + piece.len().div_ceil(4) + ids.len() > WORDS_MAX {
            return false;
        }
        let mut places = (0..TRIED).map(|step| place(hash, step));
        let Some(at) = places.find(|&at| self.slots[at].1 == 0) else {
            return self.words.len() < WORDS_MAX / 8 * 7;
        };
        self.slots[at] = ((hash >> 32) as u32, self.words.len() as u32 + 1);
        self.words.extend([piece.len() as u32, ids.len() as u32]);
        self.words.extend(words_of(piece));
        self.words.extend_from_slice(ids);
        true
    }

    fn clear(&mut self) {
        self.slots.fill((0, 0));
        self.words.clear();
    }
}

#[inline]
fn place(hash: u64, step: usize) -> usize {
    (hash as usize + step) & (SLOTS - 1)
}

/// The bytes of a piece by fours; the last are filled up with zeros.
#[inline]
fn words_of(piece: &[u8]) -> impl Iterator<Item = u32> {
    piece.chunks(4).map(|bytes| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn gives_back_what_was_kept_or_nothing() {
        let mut learned = Learned::default();
        let mut random = Random(5);
        for _ in 0..400_000 {
            let length = 1 + random.below(PIECE_MAX.min(9));
            let piece: Vec<u8> = (0..length).map(|_| random.below(7) as u8).collect();
            let expected: Vec<Id> = piece.iter().map(|&byte| Id::from(byte) + 1000).collect();
            let mut ids = vec![7];
            if learned.get(&piece, &mut ids) {
                assert_eq!(ids[1..], expected);
            } else {
                assert_eq!(ids, [7]);
                learned.put(&piece, &expected);
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut learned = Learned::default();
        for number in 0..2_000_000_u32 {
            learned.put(&number.to_le_bytes(), &[number]);
        }
        assert!(learned.young.words.len() <= WORDS_MAX && learned.old.words.len() <= WORDS_MAX);
        assert!(learned.young.words.capacity() <= 2 * WORDS_MAX);
    }

    #[test]
    fn what_is_used_stays() {
        let mut learned = Learned::default();
        learned.put(b"always", &[1, 2]);
        for number in 0..500_000_u32 {
            learned.put(&number.to_le_bytes(), &[number]);
            let mut ids = Vec::new();
            assert!(learned.get(b"always", &mut ids) && ids == [1, 2], "{number}");
        }
    }
}
