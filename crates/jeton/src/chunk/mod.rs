//! The pieces of a text, many at a time: what waits for memory in one waits beside the others.
//!
//! A chunk goes through four passes: the keys of all pieces and where they are looked for; the pieces
//! that the thread has met, without a branch; the others, which are tokens met for the first time or
//! are merged, and are learned; all ids in order.

use crate::huge::prefetch;
use crate::merge::{Learned, News, Scratch, Slot, home, merge_new};
use crate::short::{Key, LONG_MAX, LongKey, SHORT_MAX};
use crate::vocab::{Id, Vocab};

/// Who takes the ids of a text: they are kept, or only counted.
pub(crate) trait Taker {
    /// Whether it asks what the ids are, and not only how many.
    const KEEPS: bool;
    fn take(&mut self, ids: &[Id]);
    fn take_one(&mut self, id: Id);
    /// Takes what `append` appends.
    fn take_new(&mut self, append: impl FnOnce(&mut Vec<Id>));
    /// Makes room for what a text of so many bytes most likely has.
    fn with_room(bytes: usize) -> Self;
}

impl Taker for Vec<Id> {
    const KEEPS: bool = true;

    #[inline(always)]
    fn take(&mut self, ids: &[Id]) {
        self.extend_from_slice(ids);
    }

    #[inline(always)]
    fn take_one(&mut self, id: Id) {
        self.push(id);
    }

    #[inline(always)]
    fn take_new(&mut self, append: impl FnOnce(&mut Vec<Id>)) {
        append(self);
    }

    fn with_room(bytes: usize) -> Self {
        Self::with_capacity(bytes / 3)
    }
}

impl Taker for usize {
    const KEEPS: bool = false;

    #[inline(always)]
    fn take(&mut self, ids: &[Id]) {
        *self += ids.len();
    }

    #[inline(always)]
    fn take_one(&mut self, _: Id) {
        *self += 1;
    }

    fn take_new(&mut self, append: impl FnOnce(&mut Vec<Id>)) {
        let mut ids = Vec::new();
        append(&mut ids);
        *self += ids.len();
    }

    fn with_room(_: usize) -> Self {
        0
    }
}

/// Pieces of a chunk.
const PIECES: usize = 256;

/// The buffers of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    /// Where each piece begins, and after the last where it ends.
    starts: [u32; PIECES + 1],
    count: usize,
    keys: [Key; PIECES],
    hashes: [u64; PIECES],
    /// The ids of the pieces that are known, in a row.
    found: [Id; PIECES * 3 + 1],
    missed: [Missed; PIECES],
    /// The ids of those that are not.
    others: Vec<Id>,
    news: News,
}

/// A piece that is not among those known.
#[derive(Clone, Copy, Debug, Default)]
struct Missed {
    piece: u32,
    /// How many of the ids found come before it.
    place: u32,
    /// Where its ids are among the others.
    first: u32,
    count: u32,
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            starts: [0; PIECES + 1],
            count: 0,
            keys: [Key::NONE; PIECES],
            hashes: [0; PIECES],
            found: [0; PIECES * 3 + 1],
            missed: [Missed::default(); PIECES],
            others: Vec::new(),
            news: News::default(),
        }
    }
}

/// The chunks of one text, one after the other.
pub(crate) struct Chunks<'a, T> {
    vocab: &'a Vocab,
    text: &'a [u8],
    chunk: Box<Chunk>,
    scratch: &'a mut Scratch,
    taker: &'a mut T,
}

impl<'a, T: Taker> Chunks<'a, T> {
    pub(crate) fn new(
        vocab: &'a Vocab,
        text: &'a [u8],
        scratch: &'a mut Scratch,
        taker: &'a mut T,
    ) -> Self {
        let mut chunk = scratch.chunk.take().unwrap_or_default();
        (chunk.starts[0], chunk.count) = (0, 0);
        Self { vocab, text, chunk, scratch, taker }
    }

    /// Takes the next piece, by where it ends.
    #[inline]
    pub(crate) fn push(&mut self, end: usize) {
        let start = self.chunk.starts[self.chunk.count] as usize;
        // A long piece in a script of three bytes a character most likely has no space to end it.
        if end - start > SHORT_MAX && self.text[end - 3] >= 0xE0 {
            self.push_parts(start, end);
        }
        self.push_part(end);
    }

    #[inline]
    fn push_part(&mut self, end: usize) {
        self.chunk.count += 1;
        self.chunk.starts[self.chunk.count] = end as u32;
        if self.chunk.count == PIECES {
            self.flush();
        }
    }

    /// Takes all parts of a piece but the last.
    #[inline(never)]
    fn push_parts(&mut self, start: usize, end: usize) {
        let (vocab, text) = (self.vocab, self.text);
        vocab.bridges().cuts(&text[start..end], |at| self.push_part(start + at));
    }

    /// Hands over the ids of what is left.
    pub(crate) fn finish(mut self) {
        self.flush();
        self.scratch.chunk = Some(self.chunk);
    }

    #[inline(never)]
    fn flush(&mut self) {
        let Self { vocab, text, chunk, scratch, taker } = self;
        chunk.make_keys(text, &scratch.learned);
        let (found, missed) = chunk.find::<T>(&scratch.learned);
        chunk.resolve(missed, vocab, text, scratch);
        chunk.hand_over(found, missed, *taker);
        chunk.starts[0] = chunk.starts[chunk.count];
        chunk.count = 0;
    }
}

impl Chunk {
    /// Keeps room for so many ids at most.
    pub(crate) fn trim(&mut self, ids_max: usize) {
        if self.others.capacity() > ids_max {
            self.others = Vec::new();
        }
    }

    /// The keys of all pieces; asks for the slots where they are looked for.
    #[inline(never)]
    fn make_keys(&mut self, text: &[u8], learned: &Learned) {
        let homes = learned.short.homes();
        for piece in 0..self.count.min(PIECES) {
            let start = self.starts[piece] as usize;
            let length = self.starts[piece + 1] as usize - start;
            let key = if length <= SHORT_MAX { Key::of(text, start, length) } else { Key::LONG };
            let hash = key.mixed();
            (self.keys[piece], self.hashes[piece]) = (key, hash);
            prefetch(&homes[home(hash, homes.len())]);
        }
    }

    /// The ids of the pieces that are known, and which are not; returns how many of both.
    #[inline(never)]
    fn find<T: Taker>(&mut self, learned: &Learned) -> (usize, usize) {
        let homes = learned.short.homes();
        let (mut found, mut missed) = (0, 0);
        for piece in 0..self.count.min(PIECES) {
            let key = self.keys[piece];
            let slots = &homes[home(self.hashes[piece], homes.len())];
            let is_first = slots[0].key == key;
            let is_second = slots[1].key == key;
            let slot = &slots[usize::from(is_second)];
            if T::KEEPS {
                self.found[found..found + 3].copy_from_slice(&slot.ids);
                self.missed[missed].place = found as u32;
            }
            self.missed[missed].piece = piece as u32;
            let hit = usize::from(is_first | is_second);
            found += slot.count as usize * hit;
            missed += 1 - hit;
        }
        (found, missed)
    }

    /// The ids of the pieces that were not known.
    #[inline(never)]
    fn resolve(&mut self, missed: usize, vocab: &Vocab, text: &[u8], scratch: &mut Scratch) {
        for missed in &self.missed[..missed] {
            let piece = missed.piece as usize;
            let (start, end) = (self.starts[piece] as usize, self.starts[piece + 1] as usize);
            if end - start <= SHORT_MAX {
                vocab.short().prefetch(self.keys[missed.piece as usize]);
            }
            if end - start <= LONG_MAX {
                scratch.learned.long.prefetch(LongKey::of(text, start, end - start));
            }
        }
        let Self { news, missed: all, starts, others, .. } = self;
        others.clear();
        let place = |missed: &Missed| {
            let piece = missed.piece as usize;
            (starts[piece] as usize, starts[piece + 1] as usize)
        };
        let learn =
            |missed: &mut Missed, ids: &[Id], others: &mut Vec<Id>, learned: &mut Learned| {
                let (start, end) = place(missed);
                (missed.first, missed.count) = (others.len() as u32, ids.len() as u32);
                others.extend_from_slice(ids);
                learned.put(&text[start..end], ids);
            };
        for number in 0..missed {
            let (start, end) = place(&all[number]);
            let (piece, first) = (&text[start..end], others.len());
            if !find(vocab, text, start, end, &mut scratch.learned, others) {
                let learned = &mut scratch.learned;
                if news.put(number, vocab, piece, |name, ids| {
                    learn(&mut all[name], ids, others, learned);
                }) {
                    continue;
                }
                merge_new(vocab, piece, scratch, others);
                scratch.learned.put(piece, &others[first..]);
            }
            all[number].first = first as u32;
            all[number].count = (others.len() - first) as u32;
        }
        let learned = &mut scratch.learned;
        news.settle(vocab, |name, ids| learn(&mut all[name], ids, others, learned));
    }

    /// Hands over all ids in order.
    #[inline(never)]
    fn hand_over<T: Taker>(&self, found: usize, missed: usize, taker: &mut T) {
        if !T::KEEPS {
            // In any order.
            taker.take(&self.found[..found]);
            taker.take(&self.others);
            return;
        }
        let mut from = 0;
        for missed in &self.missed[..missed] {
            taker.take(&self.found[from..missed.place as usize]);
            let others = &self.others[missed.first as usize..];
            taker.take(&others[..missed.count as usize]);
            from = missed.place as usize;
        }
        taker.take(&self.found[from..found]);
    }
}

/// Appends the ids of a piece that is not where it would be looked for first, and returns true, if it
/// is known or a token.
fn find(
    vocab: &Vocab,
    text: &[u8],
    start: usize,
    end: usize,
    learned: &mut Learned,
    ids: &mut Vec<Id>,
) -> bool {
    let length = end - start;
    if length <= SHORT_MAX {
        let key = Key::of(text, start, length);
        if let Some(slot) = learned.short.find(key) {
            ids.extend_from_slice(slot.ids());
            return true;
        }
        if let Some(id) = vocab.short().get(key) {
            learned.short.put(key, &[id]);
            ids.push(id);
            return true;
        }
    }
    if length <= LONG_MAX {
        let key = LongKey::of(text, start, length);
        if let Some(slot) = learned.long.find(key) {
            ids.extend_from_slice(slot.ids());
            return true;
        }
    }
    if length > SHORT_MAX
        && let Some(id) = vocab.find_long(&text[start..end])
    {
        ids.push(id);
        learned.put(&text[start..end], &[id]);
        return true;
    }
    false
}
