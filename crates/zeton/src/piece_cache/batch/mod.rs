//! The pieces of a text, many at a time: what waits for memory in one waits beside the others.
//!
//! A chunk goes through three passes: the keys of all pieces and where they are looked for; the pieces
//! that the thread has met, without a branch; short ones that it has met but which lie elsewhere. What is
//! left is new, or long. It waits for that of the next chunks, each piece once, until there is enough: then
//! all of it is looked for among the longer pieces and the tokens, the rest is merged together and
//! learned, and all ids are handed over in order.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use super::id_sink::IdSink;
use super::scratch::Scratch;
#[cfg(target_arch = "x86_64")]
use super::short_table::shift_to_home;
use super::short_table::{IDS, PieceCache, ShortEntry, hash, home};
use crate::merge::{BpeModel, COPY_WIDTH, MergeQueue, PaddedIds, merge_non_token};
use crate::split::BoundarySink;
use crate::sys::huge_buffer::prefetch;
use crate::sys::simd_level::{SimdKind, SimdLevel};
use crate::vocab::Id;
use crate::vocab::short_key::{Key, SHORT_MAX};

/// Pieces from which on a chunk is full.
const BATCH_PIECES: usize = 256;

/// Pieces that it has at most: those of one more block of the text.
const PIECES: usize = BATCH_PIECES + 64;

/// Room for them: a power of two, so that a mask keeps a place within.
const ROOM: usize = PIECES.next_power_of_two();

/// New pieces for which chunks wait before they are merged together, and room for the pieces of all these
/// chunks.
const MIN_MISSES: usize = 48;
const WAITING: usize = 2048;

/// The buffers of a chunk, and what the chunks before it have left to wait.
#[derive(Clone, Debug)]
pub(crate) struct LookupBatch {
    /// Where each piece begins, and after the last where it ends.
    starts: [u32; ROOM],
    count: usize,
    keys: [Key; ROOM],
    /// Where each is looked for.
    homes: [u32; ROOM],
    waiting: PendingIds,
    /// The ids of a piece that is long.
    merged: Vec<Id>,
    news: MergeQueue,
}

/// The ids of chunks that wait to be handed over, as some of their pieces are new.
#[derive(Clone, Debug)]
struct PendingIds {
    /// How many pieces there are.
    pieces: usize,
    /// The ids of those that are known where they are looked for, in a row, with something behind the last.
    found: [Id; WAITING * IDS + COPY_WIDTH],
    found_count: usize,
    /// The others.
    missed: [Miss; WAITING],
    missed_count: usize,
    /// Where the ids of each of those are.
    spans: [Span; WAITING],
    others: Vec<Id>,
    /// Those of them whose ids are a row of the records, and where that is.
    rows: Vec<(u32, u32)>,
    /// Those of them that are not among the short ones that are known, each once.
    unknown: Vec<UniqueMiss>,
    /// Which of the unknown had some bits of a hash last: what is new comes duplicate_misses soon.
    seen: [u16; SEEN],
    /// The missed that are one of the unknown duplicate_misses, and which.
    duplicate_misses: Vec<(u32, u32)>,
    /// The unknown that are not among the longer ones that are known either.
    new: Vec<u32>,
}

/// As many as there are bits for.
const SEEN: usize = 256;

const _: () = assert!(MIN_MISSES + PIECES <= u16::MAX as usize, "each of the unknown has a number");

/// A piece that is not where it is looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Miss {
    /// Which of its chunk.
    piece: u32,
    /// How many of the ids found come before it.
    place: u32,
}

/// A stretch of ids.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    first: u32,
    count: u32,
}

/// A missed piece that is not among the short ones that are known.
#[derive(Clone, Copy, Debug)]
struct UniqueMiss {
    key: Key,
    hash: u64,
    start: u32,
    end: u32,
    /// Which of the missed.
    missed: u32,
}

impl Default for LookupBatch {
    fn default() -> Self {
        Self {
            starts: [0; ROOM],
            count: 0,
            keys: [Key::NONE; ROOM],
            homes: [0; ROOM],
            waiting: PendingIds::default(),
            merged: Vec::new(),
            news: MergeQueue::default(),
        }
    }
}

impl Default for PendingIds {
    fn default() -> Self {
        Self {
            pieces: 0,
            found: [0; WAITING * IDS + COPY_WIDTH],
            found_count: 0,
            missed: [Miss::default(); WAITING],
            missed_count: 0,
            spans: [Span::default(); WAITING],
            others: Vec::new(),
            rows: Vec::new(),
            unknown: Vec::new(),
            seen: [0; SEEN],
            duplicate_misses: Vec::new(),
            new: Vec::new(),
        }
    }
}

/// The chunks of one text, one after the other.
pub(crate) struct BatchEncoder<'a, T> {
    model: &'a BpeModel,
    text: &'a [u8],
    chunk: Box<LookupBatch>,
    scratch: &'a mut Scratch,
    taker: &'a mut T,
    level: SimdLevel,
}

impl<T: IdSink> BoundarySink for BatchEncoder<'_, T> {
    #[inline(always)]
    fn block(&mut self, first: usize, cuts: u64, _: u64, wide: bool) {
        if cuts == 0 {
            return;
        }
        let chunk = &mut *self.chunk;
        let start = chunk.starts[chunk.count % ROOM] as usize;
        chunk.put_ends(self.level, first, cuts);
        // What ends first may have begun before the block, and with it characters beyond ASCII.
        let end = first + cuts.trailing_zeros() as usize;
        let may_have_parts = if wide {
            chunk.any_is_long(self.level, cuts)
        } else {
            end - start > SHORT_MAX && ends_with_three_bytes(self.text, end)
        };
        if may_have_parts {
            return self.push_block(first, cuts);
        }
        chunk.count += cuts.count_ones() as usize;
        if chunk.count >= BATCH_PIECES {
            self.flush();
        }
    }

    #[inline]
    fn end(&mut self, end: usize) {
        let start = self.chunk.starts[self.chunk.count % ROOM] as usize;
        if end - start > SHORT_MAX && ends_with_three_bytes(self.text, end) {
            self.push_parts(start, end);
        }
        self.push(end);
    }
}

impl<'a, T: IdSink> BatchEncoder<'a, T> {
    pub(crate) fn new(
        model: &'a BpeModel,
        text: &'a [u8],
        scratch: &'a mut Scratch,
        taker: &'a mut T,
    ) -> Self {
        let mut chunk = scratch.chunk.take().unwrap_or_default();
        (chunk.starts[0], chunk.count) = (0, 0);
        Self { model, text, chunk, scratch, taker, level: SimdLevel::detect() }
    }

    /// Takes a piece, or a part of one, by where it ends.
    #[inline]
    fn push(&mut self, end: usize) {
        self.push_if(true, end);
    }

    /// The same if it does end there; else the place is overwritten by the next.
    #[inline]
    fn push_if(&mut self, is_end: bool, end: usize) {
        self.chunk.starts[(self.chunk.count + 1) % ROOM] = end as u32;
        self.chunk.count += usize::from(is_end);
        if self.chunk.count >= BATCH_PIECES {
            self.flush();
        }
    }

    /// Takes the pieces of a block, each of which may be long.
    #[inline(never)]
    fn push_block(&mut self, first: usize, mut cuts: u64) {
        while cuts != 0 {
            self.end(first + cuts.trailing_zeros() as usize);
            cuts &= cuts - 1;
        }
    }

    /// Takes all parts of a piece but the last.
    #[inline(never)]
    fn push_parts(&mut self, start: usize, end: usize) {
        let (model, text) = (self.model, self.text);
        let bridges = model.bridges();
        bridges.for_each_border(&text[start..end], |at, may_be_cut| {
            self.push_if(may_be_cut, start + at);
        });
    }

    /// Hands over the ids of what is left.
    pub(crate) fn finish(mut self) {
        self.flush();
        self.settle();
        self.scratch.chunk = Some(self.chunk);
    }

    /// Looks up the pieces of a chunk.
    #[inline(never)]
    fn flush(&mut self) {
        let Self { model, text, chunk, scratch, level, .. } = self;
        let slots = scratch.learned.short.slots();
        chunk.make_keys(*level, text, slots);
        let first = chunk.waiting.missed_count;
        chunk.find(*level, slots);
        chunk.probe_group(first, model, text, &mut scratch.learned);
        chunk.starts[0] = chunk.starts[chunk.count % ROOM];
        chunk.waiting.pieces += chunk.count;
        chunk.count = 0;
        if chunk.waiting.unknown.len() >= MIN_MISSES || chunk.waiting.pieces + PIECES > WAITING {
            self.settle();
        }
    }

    /// Merges what is new, and hands over all ids that wait.
    #[inline(never)]
    fn settle(&mut self) {
        self.chunk.merge_misses(self.model, self.text, self.scratch);
        self.chunk.waiting.emit(self.taker);
    }
}

impl LookupBatch {
    /// Keeps room for so many ids at most.
    pub(crate) fn trim(&mut self, ids_max: usize) {
        for ids in [&mut self.waiting.others, &mut self.merged] {
            if ids.capacity() > ids_max {
                *ids = Vec::new();
            }
        }
    }

    /// Writes where the pieces of a block end, after those that there are; they are not counted yet.
    #[inline(always)]
    fn put_ends(&mut self, level: SimdLevel, first: usize, mut cuts: u64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[allow(unsafe_code)]
        match level.kind() {
            SimdKind::Avx512 => return unsafe { avx512::put_ends(self, first, cuts) },
            SimdKind::Avx2 => return unsafe { avx2::put_ends(self, first, cuts) },
            SimdKind::Baseline => (),
        }
        let mut count = self.count;
        while cuts != 0 {
            count += 1;
            self.starts[count % ROOM] = (first + cuts.trailing_zeros() as usize) as u32;
            cuts &= cuts - 1;
        }
    }

    /// Returns whether any of the pieces whose ends were put last has more bytes than are short.
    #[inline(always)]
    fn any_is_long(&self, level: SimdLevel, cuts: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[allow(unsafe_code)]
        match level.kind() {
            SimdKind::Avx512 => return unsafe { avx512::any_is_long(self, cuts) },
            SimdKind::Avx2 => return unsafe { avx2::any_is_long(self, cuts) },
            SimdKind::Baseline => (),
        }
        let starts = &self.starts[self.count..=self.count + cuts.count_ones() as usize];
        starts.windows(2).any(|pair| pair[1] - pair[0] > SHORT_MAX as u32)
    }

    /// The keys of all pieces; asks for the slots where they are looked for.
    #[inline(never)]
    fn make_keys(&mut self, level: SimdLevel, text: &[u8], slots: &[ShortEntry]) {
        let made = match level.kind() {
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
        self.make_keys_from(made, text, slots);
    }

    /// The plain way, from a piece on.
    fn make_keys_from(&mut self, first: usize, text: &[u8], slots: &[ShortEntry]) {
        for piece in first..self.count.min(ROOM - 1) {
            let start = self.starts[piece];
            let key =
                Key::from_piece(text, start as usize, (self.starts[piece + 1] - start) as usize);
            let home = home(key.hash(), slots.len());
            (self.keys[piece], self.homes[piece]) = (key, home as u32);
            prefetch(&slots[home]);
        }
    }

    /// The ids of the pieces that are known, and which are not.
    #[inline(never)]
    fn find(&mut self, level: SimdLevel, slots: &[ShortEntry]) {
        match level.kind() {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 | SimdKind::Avx2 => unsafe { avx2::find(self, slots) },
            SimdKind::Baseline => self.find_plainly(slots),
        }
    }

    /// The plain way.
    fn find_plainly(&mut self, slots: &[ShortEntry]) {
        let PendingIds { found, found_count, missed, missed_count, .. } = &mut self.waiting;
        for piece in 0..self.count.min(ROOM) {
            let slot = &slots[self.homes[piece] as usize & (slots.len() - 1)];
            // All that a slot has are copied; those that are too many, the next overwrite.
            let [first, second, third] = slot.ids;
            let four = &mut found[*found_count..*found_count + 4];
            four.copy_from_slice(&[first, second, third, slot.count]);
            missed[*missed_count] = Miss { piece: piece as u32, place: *found_count as u32 };
            let is_same = slot.key == self.keys[piece];
            *found_count += if is_same { slot.count as usize } else { 0 };
            *missed_count += usize::from(!is_same);
        }
    }

    /// The ids of short pieces that are known, but not where they are looked for first; asks for what
    /// will be looked at for the others. Those that were missed before come from other chunks.
    fn probe_group(
        &mut self,
        first: usize,
        model: &BpeModel,
        text: &[u8],
        learned: &mut PieceCache,
    ) {
        let PendingIds {
            missed,
            missed_count,
            spans,
            others,
            rows,
            unknown,
            seen,
            duplicate_misses,
            ..
        } = &mut self.waiting;
        for Miss { piece, .. } in &missed[first..*missed_count] {
            learned.short.prefetch_others(self.homes[*piece as usize] as usize);
        }
        for number in first..*missed_count {
            let piece = missed[number].piece as usize;
            let (start, end) = (self.starts[piece], self.starts[piece + 1]);
            let key = self.keys[piece];
            let hash = if key == Key::TOO_LONG {
                hash(&text[start as usize..end as usize])
            } else {
                let hash = key.hash();
                if let Some(slot) = learned.short.find(key, hash) {
                    let Some(row) = slot.row() else {
                        spans[number] = append_few(others, slot);
                        continue;
                    };
                    if let Some(at) = learned.records.place_of(row) {
                        rows.push((number as u32, at as u32));
                        continue;
                    }
                }
                hash
            };
            let it = UniqueMiss { key, hash, start, end, missed: number as u32 };
            let last = &mut seen[(hash >> 56) as usize % SEEN];
            match unknown.get(usize::from(*last)) {
                Some(same) if same.hash == hash && same.piece(text) == it.piece(text) => {
                    duplicate_misses.push((number as u32, u32::from(*last)));
                }
                _ => {
                    match key {
                        Key::TOO_LONG => learned.records.prefetch(hash),
                        key => model.vocab().prefetch_index(key),
                    }
                    *last = unknown.len() as u16;
                    unknown.push(it);
                }
            }
        }
        for (number, at) in rows.drain(..) {
            spans[number as usize] = append(others, learned.records.row(at as usize));
        }
    }

    /// The ids of the pieces that were not known.
    #[inline(never)]
    fn merge_misses(&mut self, model: &BpeModel, text: &[u8], scratch: &mut Scratch) {
        let Self { news, merged, waiting, .. } = self;
        let PendingIds { spans, others, unknown, duplicate_misses, new, .. } = waiting;
        let spans = Cell::from_mut(&mut spans[..]).as_slice_of_cells();
        let keep = |number: usize, ids: PaddedIds, others: &mut _| {
            spans[unknown[number].missed as usize].set(append(others, ids));
        };
        let learn = |number: usize, ids: PaddedIds, others: &mut _, learned: &mut PieceCache| {
            keep(number, ids, others);
            let it = &unknown[number];
            learned.put(it.piece(text), it.key, it.hash, ids);
        };
        for (number, it) in unknown.iter().enumerate() {
            if it.key != Key::TOO_LONG {
                model.vocab().prefetch_key(it.key);
            } else if let Some(ids) = scratch.learned.records.find(it.piece(text), it.hash) {
                keep(number, PaddedIds::from(ids), others);
                continue;
            }
            new.push(number as u32);
        }
        for number in new.drain(..).map(|number| number as usize) {
            let piece = unknown[number].piece(text);
            let token = match unknown[number].key {
                Key::TOO_LONG => model.vocab().find_long(piece),
                key => model.vocab().find_short(key),
            };
            if let Some(id) = token {
                learn(number, PaddedIds::new(&[id; COPY_WIDTH], 1), others, &mut scratch.learned);
            } else if news.push(number, model, piece) {
                let learned = &mut scratch.learned;
                news.merge_full(model, |number, ids| learn(number, ids, others, learned));
            } else {
                merge_non_token(model, piece, &mut scratch.buffers, merged);
                learn(number, PaddedIds::from(&merged[..]), others, &mut scratch.learned);
                merged.clear();
            }
        }
        let learned = &mut scratch.learned;
        news.merge_all(model, |number, ids| learn(number, ids, others, learned));
        for (missed, number) in duplicate_misses.drain(..) {
            let same = unknown[number as usize].missed as usize;
            spans[missed as usize].set(spans[same].get());
        }
        unknown.clear();
    }
}

impl PendingIds {
    /// Hands over all ids in order; then none wait.
    fn emit<T: IdSink>(&mut self, taker: &mut T) {
        let mut from = 0;
        // So that there is something behind the last as well.
        self.others.extend_from_slice(&[0; COPY_WIDTH]);
        for (missed, span) in self.missed[..self.missed_count].iter().zip(&self.spans) {
            let place = missed.place as usize;
            taker.take(PaddedIds::new(&self.found[from..], place - from));
            taker.take(PaddedIds::new(&self.others[span.first as usize..], span.count as usize));
            from = place;
        }
        taker.take(PaddedIds::new(&self.found[from..], self.found_count - from));
        (self.pieces, self.found_count, self.missed_count) = (0, 0, 0);
        self.others.clear();
    }
}

impl UniqueMiss {
    #[inline]
    fn piece<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        &text[self.start as usize..self.end as usize]
    }
}

/// Returns whether a character of three bytes ends here: a long piece in such a script most likely has no
/// space to end it.
#[inline]
fn ends_with_three_bytes(text: &[u8], end: usize) -> bool {
    text[end - 3] >= 0xE0
}

/// Appends the ids of a slot, and returns where they are: all that it has room for are copied, which
/// takes no loop.
#[inline]
fn append_few(others: &mut Vec<Id>, slot: &ShortEntry) -> Span {
    let span = Span { first: others.len() as u32, count: slot.count };
    others.extend_from_slice(&slot.ids);
    others.truncate((span.first + span.count) as usize);
    span
}

/// Appends some ids, and returns where they are.
#[inline]
fn append(others: &mut Vec<Id>, ids: PaddedIds) -> Span {
    let span = Span { first: others.len() as u32, count: ids.len() as u32 };
    ids.append_to(others);
    span
}
