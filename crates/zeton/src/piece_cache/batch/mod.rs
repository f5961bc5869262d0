//! Batched look-up in the piece cache: 256 pieces at a time, so that their cache misses overlap.
//!
//! A look-up of one piece at a time would wait for memory at each piece. A batch has three passes:
//!
//! 1. [`LookupBatch::make_keys`]: make the key of every piece, hash it, and prefetch its home slot.
//! 2. [`LookupBatch::look_up_home`]: compare every key to that of its home slot, without a branch.
//!    Ids of hits are appended; misses are listed.
//! 3. [`LookupBatch::probe_group`]: look for the misses in all slots of their groups. The rest is
//!    queued, each piece once.
//!
//! Once [`MIN_MISSES`] distinct pieces are queued, they are looked up in the ring and the
//! vocabulary, merged in lockstep and cached. Then all pending ids are emitted in text order
//! ([`miss_queue`]).
//!
//! ```text
//! splitter ─▶ ends ─▶ keys, homes ─▶ home slots ──── hits ────▶ hit_ids ─┐
//!                     (prefetch)          │                              ├─▶ emit ─▶ IdSink
//!                                       misses ─▶ groups, ring ─▶ miss_ids ┘
//!                                                    │              ▲
//!                                                    └─ miss queue ─┘ 48 distinct misses:
//!                                                                     ring, vocabulary, merge
//! ```
//!
//! For example, the 5 pieces of "the čeština cache internationalisation prefetches", by cl100k:
//!
//! | start | piece | key | in a warm thread |
//! |---|---|---|---|
//! | 0 | "the" | `74 68 65`, 12 zeros, `03` | hit: 1820 |
//! | 3 | " čeština" | `20 c4 8d 65 c5 a1 74 69 6e 61`, 5 zeros, `0a` | probe: 4 ids in the ring |
//! | 13 | " cache" | `20 63 61 63 68 65`, 9 zeros, `06` | hit: 6636 |
//! | 19 | " internationalisation" | too long: all ones | queue: found in the ring |
//! | 40 | " prefetches" | `20 70 72 … 65 73`, 4 zeros, `0b` | hit: 91577 288 |
//!
//! Cost (cl100k, cycles of an EPYC): 12 a piece for passes 1 and 2, 50 to 105 for each miss in pass
//! 3, 45 to 60 for its emission. Of 9 MB of cold English, 3 % of the pieces miss.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod miss_queue;
#[cfg(test)]
mod tests;

use miss_queue::{Miss, PendingIds, UniqueMiss, append, append_entry};

use super::id_sink::IdSink;
use super::policy::{
    BATCH_PIECES, BATCH_PIECES_MAX, BATCH_ROOM, MIN_MISSES, PENDING_PIECES_MAX, RECENT_MISSES,
};
use super::scratch::Scratch;
use super::short_table::{INLINE_WORDS, ShortEntry, home_slot};
use super::{PieceCache, hash_piece};
use crate::merge::{BpeModel, MergeQueue};
use crate::split::BoundarySink;
use crate::sys::huge_buffer::prefetch;
use crate::sys::simd_level::{SimdKind, SimdLevel};
use crate::vocab::Id;
use crate::vocab::short_key::{Key, SHORT_MAX};

/// The pieces of one batch, and the pending ids of the batches before it.
///
/// For each array `starts`, `keys` and `homes` the first `count` values are in use.
#[derive(Clone, Debug)]
pub(crate) struct LookupBatch {
    /// Start of each piece in the text, and behind the last one its end.
    starts: [u32; BATCH_ROOM],
    /// Number of pieces.
    count: usize,
    keys: [Key; BATCH_ROOM],
    /// Home slot of each piece.
    homes: [u32; BATCH_ROOM],
    pending: PendingIds,
    /// Ids of a piece that is too long for lockstep merging.
    merge_output: Vec<Id>,
    merge_queue: MergeQueue,
}

impl Default for LookupBatch {
    fn default() -> Self {
        Self {
            starts: [0; BATCH_ROOM],
            count: 0,
            keys: [Key::NONE; BATCH_ROOM],
            homes: [0; BATCH_ROOM],
            pending: PendingIds::default(),
            merge_output: Vec::new(),
            merge_queue: MergeQueue::default(),
        }
    }
}

/// Encodes one text: receives the ends of its pieces from the splitter, and sends ids to a sink.
pub(crate) struct BatchEncoder<'a, T> {
    model: &'a BpeModel,
    text: &'a [u8],
    batch: Box<LookupBatch>,
    scratch: &'a mut Scratch,
    sink: &'a mut T,
    level: SimdLevel,
}

impl<T: IdSink> BoundarySink for BatchEncoder<'_, T> {
    /// Adds the pieces that end in a block of 64 bytes.
    ///
    /// A long piece with characters of three bytes is cut into parts, because scripts like Han and
    /// Thai write without spaces. The block says whether it has characters beyond ASCII; its first
    /// piece may have begun before it.
    #[inline(always)]
    fn push_cuts(&mut self, first: usize, cuts: u64, _: u64, wide: bool) {
        if cuts == 0 {
            return;
        }
        let batch = &mut *self.batch;
        let start = batch.starts[batch.count % BATCH_ROOM] as usize;
        batch.append_ends(self.level, first, cuts);
        let end = first + cuts.trailing_zeros() as usize;
        let may_have_parts = if wide {
            batch.has_long_piece(self.level, cuts)
        } else {
            // The length first: it is nearly always short, whereas the second test is a coin toss.
            end - start > SHORT_MAX && ends_with_three_bytes(self.text, end)
        };
        if may_have_parts {
            return self.push_block(first, cuts);
        }
        batch.count += cuts.count_ones() as usize;
        if batch.count >= BATCH_PIECES {
            self.look_up();
        }
    }

    /// Adds one piece, cut into parts where that may help.
    #[inline]
    fn push_end(&mut self, end: usize) {
        let start = self.batch.starts[self.batch.count % BATCH_ROOM] as usize;
        if end - start > SHORT_MAX && ends_with_three_bytes(self.text, end) {
            self.push_parts(start, end);
        }
        self.push(end);
    }
}

impl<'a, T: IdSink> BatchEncoder<'a, T> {
    /// Returns an encoder for one text, with the buffers of the scratch.
    pub(crate) fn new(
        model: &'a BpeModel,
        text: &'a [u8],
        scratch: &'a mut Scratch,
        sink: &'a mut T,
    ) -> Self {
        let mut batch = scratch.batch.take().unwrap_or_default();
        (batch.starts[0], batch.count) = (0, 0);
        Self { model, text, batch, scratch, sink, level: SimdLevel::detect() }
    }

    /// Adds a piece, or a part of one, by its end.
    #[inline]
    fn push(&mut self, end: usize) {
        self.push_if(true, end);
    }

    /// Adds a piece if `is_end`. The end is written in any case and overwritten by the next one,
    /// because `is_end` is unpredictable.
    #[inline]
    fn push_if(&mut self, is_end: bool, end: usize) {
        self.batch.starts[(self.batch.count + 1) % BATCH_ROOM] = end as u32;
        self.batch.count += usize::from(is_end);
        if self.batch.count >= BATCH_PIECES {
            self.look_up();
        }
    }

    /// Adds the pieces of a block one by one, because some may be long.
    #[inline(never)]
    fn push_block(&mut self, first: usize, mut cuts: u64) {
        while cuts != 0 {
            self.push_end(first + cuts.trailing_zeros() as usize);
            cuts &= cuts - 1;
        }
    }

    /// Adds all parts of a piece but the last. No token bridges the characters between two parts.
    #[inline(never)]
    fn push_parts(&mut self, start: usize, end: usize) {
        let (model, text) = (self.model, self.text);
        let bridges = model.bridges();
        bridges.for_each_border(&text[start..end], |at, can_cut| {
            self.push_if(can_cut, start + at);
        });
    }

    /// Emits the ids of all remaining pieces, and returns the buffers to the scratch.
    pub(crate) fn finish(mut self) {
        self.look_up();
        self.emit_pending();
        self.scratch.batch = Some(self.batch);
    }

    /// Looks up the batch in three passes, and empties it. Its ids are pending then.
    #[inline(never)]
    fn look_up(&mut self) {
        let Self { model, text, batch, scratch, level, .. } = self;
        let slots = scratch.cache.short.slots();
        batch.make_keys(*level, text, slots);
        let first_miss = batch.pending.miss_count;
        batch.look_up_home(*level, slots);
        batch.probe_group(first_miss, model, text, &mut scratch.cache);
        batch.starts[0] = batch.starts[batch.count % BATCH_ROOM];
        batch.pending.pieces += batch.count;
        batch.count = 0;
        let is_full = batch.pending.pieces + BATCH_PIECES_MAX > PENDING_PIECES_MAX;
        if batch.pending.unique_misses.len() >= MIN_MISSES || is_full {
            self.emit_pending();
        }
    }

    /// Merges the queued misses, and emits all pending ids.
    #[inline(never)]
    fn emit_pending(&mut self) {
        self.batch.merge_misses(self.model, self.text, self.scratch);
        self.batch.pending.emit(self.sink);
    }
}

impl LookupBatch {
    /// Frees each buffer of ids that has room for more than `ids_max`.
    pub(crate) fn trim(&mut self, ids_max: usize) {
        for ids in [&mut self.pending.miss_ids, &mut self.merge_output] {
            if ids.capacity() > ids_max {
                *ids = Vec::new();
            }
        }
    }

    /// Writes the ends of a block's pieces behind the ends of the batch, without counting them.
    ///
    /// A piece ends before each byte with a bit in `cuts`. For example, `first` 128 and bits 0 and
    /// 5 are the ends 128 and 133.
    #[inline(always)]
    fn append_ends(&mut self, level: SimdLevel, first: usize, mut cuts: u64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[allow(unsafe_code)]
        match level.kind() {
            SimdKind::Avx512 => return unsafe { avx512::append_ends(self, first, cuts) },
            SimdKind::Avx2 => return unsafe { avx2::append_ends(self, first, cuts) },
            SimdKind::Baseline => (),
        }
        let mut count = self.count;
        while cuts != 0 {
            count += 1;
            self.starts[count % BATCH_ROOM] = (first + cuts.trailing_zeros() as usize) as u32;
            cuts &= cuts - 1;
        }
    }

    /// Returns whether any piece of the appended block has more than [`SHORT_MAX`] bytes.
    #[inline(always)]
    fn has_long_piece(&self, level: SimdLevel, cuts: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[allow(unsafe_code)]
        match level.kind() {
            SimdKind::Avx512 => return unsafe { avx512::has_long_piece(self, cuts) },
            SimdKind::Avx2 => return unsafe { avx2::has_long_piece(self, cuts) },
            SimdKind::Baseline => (),
        }
        let starts = &self.starts[self.count..=self.count + cuts.count_ones() as usize];
        starts.windows(2).any(|pair| pair[1] - pair[0] > SHORT_MAX as u32)
    }

    /// Pass 1: makes the key of every piece, hashes it, and prefetches its home slot.
    #[inline(never)]
    fn make_keys(&mut self, level: SimdLevel, text: &[u8], slots: &[ShortEntry]) {
        let count = match level.kind() {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 => unsafe { avx512::make_keys(self, text, slots) },
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx2 => unsafe { avx2::make_keys(self, text, slots) },
            SimdKind::Baseline => 0,
        };
        self.make_keys_from(count, text, slots);
    }

    /// Makes the keys from a piece on, without SIMD.
    fn make_keys_from(&mut self, first: usize, text: &[u8], slots: &[ShortEntry]) {
        for piece in first..self.count.min(BATCH_ROOM - 1) {
            let start = self.starts[piece];
            let key =
                Key::from_piece(text, start as usize, (self.starts[piece + 1] - start) as usize);
            let home = home_slot(key.hash(), slots.len());
            (self.keys[piece], self.homes[piece]) = (key, home as u32);
            prefetch(&slots[home]);
        }
    }

    /// Pass 2: appends the ids of the pieces that lie in their home slot, and lists the misses.
    #[inline(never)]
    fn look_up_home(&mut self, level: SimdLevel, slots: &[ShortEntry]) {
        match level.kind() {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features,
            // and a level with AVX-512 includes AVX2.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 | SimdKind::Avx2 => unsafe { avx2::look_up_home(self, slots) },
            SimdKind::Baseline => self.look_up_home_scalar(slots),
        }
    }

    /// Pass 2 without SIMD.
    fn look_up_home_scalar(&mut self, slots: &[ShortEntry]) {
        let PendingIds { hit_ids, hit_id_count, misses, miss_count, .. } = &mut self.pending;
        for piece in 0..self.count.min(BATCH_ROOM) {
            let entry = &slots[self.homes[piece] as usize & (slots.len() - 1)];
            // Ids and count are copied together; the next copy overwrites the surplus.
            let to = &mut hit_ids[*hit_id_count..*hit_id_count + INLINE_WORDS];
            to.copy_from_slice(&entry.inline.words());
            misses[*miss_count] =
                Miss { piece: piece as u32, hit_ids_before: *hit_id_count as u32 };
            let is_hit = entry.key == self.keys[piece];
            *hit_id_count += if is_hit { entry.inline.count as usize } else { 0 };
            *miss_count += usize::from(!is_hit);
        }
    }

    /// Pass 3: looks for the misses of this batch in their groups, and queues the rest.
    ///
    /// Misses before `first_miss` belong to earlier batches. For a queued piece it prefetches the
    /// memory that `merge_misses` reads first: a bucket of the ring's index or of the vocabulary's.
    fn probe_group(
        &mut self,
        first_miss: usize,
        model: &BpeModel,
        text: &[u8],
        cache: &mut PieceCache,
    ) {
        let PendingIds {
            misses,
            miss_count,
            miss_spans,
            miss_ids,
            ring_hits,
            unique_misses,
            recent_misses,
            duplicate_misses,
            ..
        } = &mut self.pending;
        for Miss { piece, .. } in &misses[first_miss..*miss_count] {
            cache.short.prefetch_other_line(self.homes[*piece as usize] as usize);
        }
        for number in first_miss..*miss_count {
            let piece = misses[number].piece as usize;
            let (start, end) = (self.starts[piece], self.starts[piece + 1]);
            let key = self.keys[piece];
            let hash = if key == Key::TOO_LONG {
                hash_piece(&text[start as usize..end as usize])
            } else {
                let hash = key.hash();
                if let Some(entry) = cache.short.find(key, hash) {
                    let Some(ring_ref) = entry.ring_ref() else {
                        miss_spans[number] = append_entry(miss_ids, entry);
                        continue;
                    };
                    if let Some(offset) = cache.long.locate(ring_ref) {
                        ring_hits.push((number as u32, offset as u32));
                        continue;
                    }
                }
                hash
            };
            let miss = UniqueMiss { key, hash, start, end, miss: number as u32 };
            let recent = &mut recent_misses[(hash >> 56) as usize % RECENT_MISSES];
            match unique_misses.get(usize::from(*recent)) {
                Some(first) if first.hash == hash && first.piece(text) == miss.piece(text) => {
                    duplicate_misses.push((number as u32, u32::from(*recent)));
                }
                _ => {
                    match key {
                        Key::TOO_LONG => cache.long.prefetch(hash),
                        key => model.vocab().prefetch_index(key),
                    }
                    *recent = unique_misses.len() as u16;
                    unique_misses.push(miss);
                }
            }
        }
        // Now that `locate` has prefetched their records.
        for (number, offset) in ring_hits.drain(..) {
            miss_spans[number as usize] = append(miss_ids, cache.long.ids_at(offset as usize));
        }
    }
}

/// Returns whether the last character of a piece has three bytes, by its lead byte, 0xE0 or above.
///
/// For example, a long piece of Han or Thai most likely has no space to end it. The
/// piece has more than [`SHORT_MAX`] bytes, so that `end - 3` lies within it.
#[inline]
fn ends_with_three_bytes(text: &[u8], end: usize) -> bool {
    text[end - 3] >= 0xE0
}
