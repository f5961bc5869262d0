//! The piece cache: a bounded, evicting map from the bytes of a piece to its ids, one per thread.
//!
//! Text repeats itself. Of 9 MB of unseen English, 2 % of the pieces are new to a thread that has
//! encoded 1 MB of other English. So merging, which takes hundreds of cycles a piece, is mostly
//! replaced by a look-up of 12. The cache never affects results: an evicted piece is merged once
//! more.
//!
//! For example, with cl100k:
//!
//! | piece | bytes | ids | cached in |
//! |---|---|---|---|
//! | "the" | 3 | 1820 | the short table |
//! | " prefetches" | 11 | 91577 288 | the short table |
//! | " čeština" | 10 | 33902 68 85578 2259 | the short table; its 4 ids in the ring |
//! | " internationalisation" | 21 | 6625 8082 | the ring |
//!
//! ```text
//!  short table, 16 MiB           long ring, 8 MiB                      index, 2 MiB
//!  groups of 4 entries           records, the newest over the oldest   buckets of 8 entries
//! +--------+------------+       +-------------------------------+     +-----------------+
//! | key 16 | ids, count | ····▶ | ids of a short piece          |     | tag, generation,|
//! | key 16 | ids, count | ref   | bytes and ids of a long piece | ◀···| offset          |
//! +--------+------------+       +-------------------------------+     +-----------------+
//! ```
//!
//! Pieces are looked up in batches of 256, in three passes: make keys and prefetch; compare with
//! the home slots, branch-free; probe the groups of the misses. The remaining misses are queued
//! until 48 are pending, merged together and cached. Then all pending ids are emitted in text
//! order.
//!
//! | file | content |
//! |---|---|
//! | [`policy`] | every size and threshold, with the measurement that chose it |
//! | [`short_table`] | pieces of up to 15 bytes, in a 4-way set-associative table |
//! | [`long_ring`] | longer pieces, and long lists of ids |
//! | [`batch`] | the three passes, their SIMD kernels, the miss queue |
//! | [`scratch`] | a thread's cache and buffers, and the pool between calls |
//! | [`id_sink`] | the receiver of ids: a list or a count |
//!
//! Cost (English, cl100k, engine alone): cold 288 MB/s with AVX2; cold 321 and warm 599 with
//! AVX-512 (`docs/notes/lookup.md`, 2026-11-17). Look-ups and misses by the cycle are in `batch`
//! and `batch/miss_queue.rs`.

mod batch;
mod id_sink;
mod long_ring;
mod policy;
mod scratch;
mod short_table;

pub(crate) use batch::BatchEncoder;
pub(crate) use id_sink::IdSink;
pub use scratch::Scratch;
pub(crate) use scratch::{ScratchGuard, ScratchPool};

use crate::merge::PaddedIds;
use crate::vocab::Id;
use crate::vocab::short_key::{Key, SHORT_MAX};
use long_ring::LongRing;
use policy::ENTRY_IDS;
use short_table::{ShortEntry, ShortTable};

/// A bounded, evicting cache from the bytes of a piece to its ids. Each thread has its own.
///
/// An evicted piece is merged once more when it returns, so the cache never affects results. A new
/// cache allocates a few hundred bytes.
#[derive(Clone, Debug, Default)]
struct PieceCache {
    /// Pieces of up to [`SHORT_MAX`] bytes, tokens included: nearly all pieces of a text.
    short: ShortTable,
    /// Longer pieces, and the ids of short pieces that have more than [`ENTRY_IDS`].
    long: LongRing,
}

impl PieceCache {
    /// Appends the ids of a piece to `ids` if it is cached, and returns whether it is; if not, the
    /// caller merges it and inserts the result. It serves pieces outside of batches. The piece is
    /// not empty.
    fn append_if_cached(&mut self, piece: &[u8], ids: &mut Vec<Id>) -> bool {
        let hash = hash_piece(piece);
        let cached = if piece.len() > SHORT_MAX {
            self.long.find(piece, hash)
        } else {
            let entry = self.short.find(Key::from_short(piece, 0, piece.len()), hash);
            entry.and_then(|entry| match entry.ring_ref() {
                Some(ring_ref) => Some(self.long.ids_at(self.long.locate(ring_ref)?).ids()),
                None => Some(&entry.inline.ids[..entry.inline.count as usize]),
            })
        };
        ids.extend_from_slice(cached.unwrap_or_default());
        cached.is_some()
    }

    /// Copies the ids of a piece to the cache, perhaps over the ids of older pieces, unless the
    /// piece is too long. `key` and `hash` belong to the piece.
    #[inline]
    fn insert(&mut self, piece: &[u8], key: Key, hash: u64, ids: PaddedIds) {
        if key == Key::TOO_LONG {
            self.long.insert(piece, hash, ids);
        } else if ids.len() <= ENTRY_IDS {
            self.short.insert(ShortEntry::from_ids(key, ids), hash);
        } else {
            let ring_ref = self.long.insert_ids(ids);
            self.short.insert(ShortEntry::from_ring_ref(key, ring_ref), hash);
        }
    }
}

/// Returns the hash under which a piece is cached, by its key up to [`SHORT_MAX`] bytes and by all
/// bytes otherwise. The piece is not empty.
#[inline]
fn hash_piece(piece: &[u8]) -> u64 {
    match piece.len() {
        ..=SHORT_MAX => Key::from_short(piece, 0, piece.len()).hash(),
        _ => long_ring::hash_long(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn returns_the_inserted_ids_or_nothing() {
        let mut cache = PieceCache::default();
        let mut random = Random(5);
        let mut hits = 0;
        for _ in 0..1_000_000 {
            let length = 1 + random.below(60);
            let letters = if length > 9 { 2 } else { 7 };
            let piece: Vec<u8> = (0..length).map(|_| random.below(letters) as u8).collect();
            let count = 1 + length / 4;
            let expected: Vec<Id> = piece[..count].iter().map(|&byte| Id::from(byte)).collect();
            let mut ids = vec![7];
            if cache.append_if_cached(&piece, &mut ids) {
                assert_eq!(ids[1..], expected);
                hits += 1;
            } else {
                assert_eq!(ids, [7]);
                let key = Key::from_piece(&piece, 0, piece.len());
                cache.insert(&piece, key, hash_piece(&piece), PaddedIds::from(&expected[..]));
            }
        }
        assert!(hits > 100_000);
    }

    #[test]
    fn memory_is_bounded() {
        let mut cache = PieceCache::default();
        for number in 0..2_000_000_u32 {
            let piece = number.to_le_bytes();
            let key = Key::from_short(&piece, 0, 4);
            cache.insert(&piece, key, hash_piece(&piece), PaddedIds::from(&[number][..]));
        }
        assert_eq!(cache.short.slots().len(), policy::SHORT_SLOTS_MAX);
        assert_eq!(size_of_val(cache.short.slots()), 16 << 20);
    }
}
