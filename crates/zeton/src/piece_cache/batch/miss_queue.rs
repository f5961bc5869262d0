//! The queue of pending ids: hits in text order, and misses that are merged together.
//!
//! A batch leaves its hits in one list and a hole for each miss. The ids of a miss are found later,
//! in any order, and lie in a second list. For example, "the čeština cache internationalisation
//! prefetches", by cl100k in a warm thread:
//!
//! ```text
//! piece         the    čeština               cache   internationalisation   prefetches
//! hit_ids       1820 |                       6636  |                        91577 288
//! misses               piece 1                       piece 3
//!                      hit_ids_before 1              hit_ids_before 2
//! miss_spans           0..4                          4..6
//! miss_ids             33902 68 85578 2259           6625 8082
//!
//! emitted       1820   33902 68 85578 2259   6636    6625 8082              91577 288
//! ```
//!
//! A miss takes one of three ways to its ids:
//!
//! 1. [`LookupBatch::probe_group`](super::LookupBatch) finds it outside its home slot, or by a
//!    reference to the ring.
//! 2. It repeats a pending miss, and gets the span of that one.
//! 3. It is a [`UniqueMiss`]. From [`MIN_MISSES`](crate::piece_cache::policy::MIN_MISSES) on, all
//!    of them are looked up in the ring and the vocabulary; the rest is merged in lockstep, and
//!    cached.
//!
//! Invariant: between batches, every miss has its span, or is a unique miss, or repeats a unique
//! miss. After [`LookupBatch::merge_misses`] every miss has its span, and [`PendingIds::emit`] may
//! run.
//!
//! Cost: the vocabulary takes 60 cycles to refuse a unique miss and 400 to find one, whose id is a
//! load from memory. Merging takes 440 to 760 cycles, insertion 105 to 180
//! (`docs/notes/profile.md`).

use std::cell::Cell;

use super::LookupBatch;
use crate::merge::{BpeModel, COPY_WIDTH, PaddedIds, merge_non_token};
use crate::piece_cache::PieceCache;
use crate::piece_cache::id_sink::IdSink;
use crate::piece_cache::policy::{ENTRY_IDS, PENDING_PIECES_MAX, RECENT_MISSES};
use crate::piece_cache::scratch::Scratch;
use crate::piece_cache::short_table::ShortEntry;
use crate::vocab::Id;
use crate::vocab::short_key::Key;

/// The ids of looked-up batches that are not emitted yet, because misses may still lack theirs.
#[derive(Clone, Debug)]
pub(super) struct PendingIds {
    /// Number of pending pieces, hits and misses.
    pub(super) pieces: usize,
    /// Ids of the hits in the home slot, in text order. The copy of an entry writes past the last
    /// one.
    pub(super) hit_ids: [Id; PENDING_PIECES_MAX * ENTRY_IDS + COPY_WIDTH],
    pub(super) hit_id_count: usize,
    /// The pieces without a hit, in text order. Fields below name a miss by its index in this
    /// array.
    pub(super) misses: [Miss; PENDING_PIECES_MAX],
    pub(super) miss_count: usize,
    /// For each miss the range of its ids in `miss_ids`.
    pub(super) miss_spans: [IdSpan; PENDING_PIECES_MAX],
    /// Ids of the misses, in the order in which they were found.
    pub(super) miss_ids: Vec<Id>,
    /// Misses of the current batch whose ids lie in the ring: the miss, and the offset of the
    /// record.
    pub(super) ring_hits: Vec<(u32, u32)>,
    /// Misses that the short table does not have, each piece once.
    pub(super) unique_misses: Vec<UniqueMiss>,
    /// For each value of the upper bits of a hash the latest unique miss. It may be out of date or
    /// wrong, so that hash and bytes are compared.
    pub(super) recent_misses: [u16; RECENT_MISSES],
    /// Misses that repeat a unique miss: the miss, and the index of the unique one.
    pub(super) duplicate_misses: Vec<(u32, u32)>,
    /// Unique misses that the ring does not have either, within a call of `merge_misses`.
    uncached: Vec<u32>,
}

impl Default for PendingIds {
    fn default() -> Self {
        Self {
            pieces: 0,
            hit_ids: [0; PENDING_PIECES_MAX * ENTRY_IDS + COPY_WIDTH],
            hit_id_count: 0,
            misses: [Miss::default(); PENDING_PIECES_MAX],
            miss_count: 0,
            miss_spans: [IdSpan::default(); PENDING_PIECES_MAX],
            miss_ids: Vec::new(),
            ring_hits: Vec::new(),
            unique_misses: Vec::new(),
            recent_misses: [0; RECENT_MISSES],
            duplicate_misses: Vec::new(),
            uncached: Vec::new(),
        }
    }
}

/// A piece that does not lie in its home slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Miss {
    /// Index of the piece in its batch.
    pub(super) piece: u32,
    /// Number of hit ids that precede it in the text: its place at emission.
    pub(super) hit_ids_before: u32,
}

/// A range of `miss_ids`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IdSpan {
    first: u32,
    count: u32,
}

/// A missed piece that the short table does not have; pending pieces with the same bytes share one.
#[derive(Clone, Copy, Debug)]
pub(super) struct UniqueMiss {
    pub(super) key: Key,
    pub(super) hash: u64,
    /// Range of the piece in the text.
    pub(super) start: u32,
    pub(super) end: u32,
    /// Index of its first occurrence in `misses`.
    pub(super) miss: u32,
}

impl UniqueMiss {
    /// Returns the bytes of the missed piece, borrowed from `text`, the text that is being encoded.
    #[inline]
    pub(super) fn piece<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.start as usize..self.end as usize]
    }
}

impl LookupBatch {
    /// Finds the ids of all unique misses and of their duplicates, and caches them. `BatchEncoder`
    /// calls it before it emits the pending ids.
    ///
    /// It looks in the ring, then in the vocabulary, and merges the rest, sixteen pieces in
    /// lockstep. Each step runs for all misses before the next one, so that their cache misses
    /// overlap.
    #[inline(never)]
    pub(super) fn merge_misses(&mut self, model: &BpeModel, text: &[u8], scratch: &mut Scratch) {
        let Self { merge_queue, merge_output, pending, .. } = self;
        let PendingIds { miss_spans, miss_ids, unique_misses, duplicate_misses, uncached, .. } =
            pending;
        let spans = Cell::from_mut(&mut miss_spans[..]).as_slice_of_cells();
        let keep = |number: usize, ids: PaddedIds, miss_ids: &mut _| {
            spans[unique_misses[number].miss as usize].set(append(miss_ids, ids));
        };
        let keep_and_cache =
            |number: usize, ids: PaddedIds, miss_ids: &mut _, cache: &mut PieceCache| {
                keep(number, ids, miss_ids);
                let miss = &unique_misses[number];
                cache.insert(miss.piece(text), miss.key, miss.hash, ids);
            };
        for (number, miss) in unique_misses.iter().enumerate() {
            if miss.key != Key::TOO_LONG {
                model.vocab().prefetch_key(miss.key);
            } else if let Some(ids) = scratch.cache.long.find(miss.piece(text), miss.hash) {
                keep(number, PaddedIds::from(ids), miss_ids);
                continue;
            }
            uncached.push(number as u32);
        }
        for number in uncached.drain(..).map(|number| number as usize) {
            let piece = unique_misses[number].piece(text);
            let token = match unique_misses[number].key {
                Key::TOO_LONG => model.vocab().find_long(piece),
                key => model.vocab().find_short(key),
            };
            if let Some(id) = token {
                let ids = [id; COPY_WIDTH];
                let ids = PaddedIds::new(&ids, 1);
                keep_and_cache(number, ids, miss_ids, &mut scratch.cache);
            } else if merge_queue.push(number, model, piece) {
                let cache = &mut scratch.cache;
                merge_queue.merge_full(model, |number, ids| {
                    keep_and_cache(number, ids, miss_ids, cache);
                });
            } else {
                merge_non_token(model, piece, &mut scratch.buffers, merge_output);
                let ids = PaddedIds::from(&merge_output[..]);
                keep_and_cache(number, ids, miss_ids, &mut scratch.cache);
                merge_output.clear();
            }
        }
        let cache = &mut scratch.cache;
        merge_queue.merge_all(model, |number, ids| keep_and_cache(number, ids, miss_ids, cache));
        for (miss, number) in duplicate_misses.drain(..) {
            let first = unique_misses[number as usize].miss as usize;
            spans[miss as usize].set(spans[first].get());
        }
        unique_misses.clear();
    }
}

impl PendingIds {
    /// Emits all ids to a sink in text order, and empties the queue. Every miss has its span.
    #[inline]
    pub(super) fn emit<T: IdSink>(&mut self, sink: &mut T) {
        let mut from = 0;
        // Padding behind the ids of the last miss.
        self.miss_ids.extend_from_slice(&[0; COPY_WIDTH]);
        for (miss, span) in self.misses[..self.miss_count].iter().zip(&self.miss_spans) {
            let to = miss.hit_ids_before as usize;
            sink.push_ids(PaddedIds::new(&self.hit_ids[from..], to - from));
            let ids = &self.miss_ids[span.first as usize..];
            sink.push_ids(PaddedIds::new(ids, span.count as usize));
            from = to;
        }
        sink.push_ids(PaddedIds::new(&self.hit_ids[from..], self.hit_id_count - from));
        (self.pieces, self.hit_id_count, self.miss_count) = (0, 0, 0);
        self.miss_ids.clear();
    }
}

/// Appends the ids of a direct entry, and returns their range.
///
/// All [`ENTRY_IDS`] ids are copied and the surplus is cut off, which needs no loop.
#[inline]
pub(super) fn append_entry(miss_ids: &mut Vec<Id>, entry: &ShortEntry) -> IdSpan {
    let span = IdSpan { first: miss_ids.len() as u32, count: entry.inline.count };
    miss_ids.extend_from_slice(&entry.inline.ids);
    miss_ids.truncate((span.first + span.count) as usize);
    span
}

/// Copies the ids of a missed piece to the end of `miss_ids`, and returns their place in it, until
/// the batch is emitted.
#[inline]
pub(super) fn append(miss_ids: &mut Vec<Id>, ids: PaddedIds) -> IdSpan {
    let span = IdSpan { first: miss_ids.len() as u32, count: ids.len() as u32 };
    ids.append_to(miss_ids);
    span
}
