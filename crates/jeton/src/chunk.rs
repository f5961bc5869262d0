//! The pieces of a text, many at a time: what waits for memory in one waits beside the others.
//!
//! A chunk goes through four passes: the keys of all pieces and where they are looked for; the pieces
//! that the thread has met, without a branch; the others, which are tokens met for the first time or
//! are merged, and are learned; all ids in order.

use crate::huge::prefetch;
use crate::merge::{GROUPED, Group, Learned, Scratch, Slot, home, merge_new};
use crate::short::{Key, LONG_MAX, LongKey, SHORT_MAX};
use crate::vocab::{Id, Vocab};

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
        }
    }
}

/// The chunks of one text, one after the other.
pub(crate) struct Chunks<'a> {
    vocab: &'a Vocab,
    text: &'a [u8],
    chunk: Box<Chunk>,
    scratch: &'a mut Scratch,
    ids: &'a mut Vec<Id>,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(
        vocab: &'a Vocab,
        text: &'a [u8],
        scratch: &'a mut Scratch,
        ids: &'a mut Vec<Id>,
    ) -> Self {
        let mut chunk = scratch.chunk.take().unwrap_or_default();
        (chunk.starts[0], chunk.count) = (0, 0);
        Self { vocab, text, chunk, scratch, ids }
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

    /// Appends the ids of what is left.
    pub(crate) fn finish(mut self) {
        self.flush();
        self.scratch.chunk = Some(self.chunk);
    }

    #[inline(never)]
    fn flush(&mut self) {
        let Self { vocab, text, chunk, scratch, ids } = self;
        chunk.make_keys(text, &scratch.learned);
        let (found, missed) = chunk.find(&scratch.learned);
        chunk.resolve(missed, vocab, text, scratch);
        chunk.append(found, missed, ids);
        chunk.starts[0] = chunk.starts[chunk.count];
        chunk.count = 0;
    }
}

impl Chunk {
    /// The keys of all pieces; asks for the slots where they are looked for.
    #[inline(never)]
    fn make_keys(&mut self, text: &[u8], learned: &Learned) {
        let homes = learned.short.homes();
        let pieces = self.keys.iter_mut().zip(&mut self.hashes).zip(self.starts.windows(2));
        for ((key, hash), place) in pieces.take(self.count) {
            let (start, length) = (place[0] as usize, (place[1] - place[0]) as usize);
            *key = if length <= SHORT_MAX { Key::of(text, start, length) } else { Key::LONG };
            *hash = key.mixed();
            prefetch(&homes[home(*hash, homes.len())]);
        }
    }

    /// The ids of the pieces that are known, and which are not; returns how many of both.
    #[inline(never)]
    fn find(&mut self, learned: &Learned) -> (usize, usize) {
        let homes = learned.short.homes();
        let (mut found, mut missed) = (0, 0);
        for (piece, (key, hash)) in self.keys.iter().zip(&self.hashes).take(self.count).enumerate()
        {
            let [first, second] = &homes[home(*hash, homes.len())];
            let is_second = second.key == *key;
            let slot = if is_second { second } else { first };
            let hit = is_second | (first.key == *key);
            self.found[found..found + 3].copy_from_slice(&slot.ids);
            self.missed[missed] =
                Missed { piece: piece as u32, place: found as u32, ..Missed::default() };
            found += if hit { slot.count as usize } else { 0 };
            missed += usize::from(!hit);
        }
        (found, missed)
    }

    /// The ids of the pieces that were not known.
    #[inline(never)]
    fn resolve(&mut self, missed: usize, vocab: &Vocab, text: &[u8], scratch: &mut Scratch) {
        for missed in &self.missed[..missed] {
            vocab.short().prefetch(self.keys[missed.piece as usize]);
        }
        self.others.clear();
        let mut news = News { group: Group::EMPTY, missed: [0; GROUPED], count: 0 };
        for number in 0..missed {
            let Missed { piece, .. } = self.missed[number];
            let (start, end) = self.place(piece);
            let first = self.others.len();
            if !find(vocab, text, start, end, &mut scratch.learned, &mut self.others) {
                let piece = &text[start..end];
                if vocab.pairs().narrow().is_some() && news.group.put(news.count, vocab, piece) {
                    news.missed[news.count] = number;
                    news.count += 1;
                    if news.count == GROUPED {
                        self.merge(&mut news, vocab, text, &mut scratch.learned);
                    }
                    continue;
                }
                merge_new(vocab, piece, scratch, &mut self.others);
                scratch.learned.put(piece, &self.others[first..]);
            }
            self.missed[number].first = first as u32;
            self.missed[number].count = (self.others.len() - first) as u32;
        }
        if news.count > 0 {
            self.merge(&mut news, vocab, text, &mut scratch.learned);
        }
    }

    /// Merges and learns new pieces.
    fn merge(&mut self, news: &mut News, vocab: &Vocab, text: &[u8], learned: &mut Learned) {
        let pairs = vocab.pairs().narrow().expect("asked before a piece was put in the group");
        news.group.merge(pairs);
        for (place, &number) in news.missed[..news.count].iter().enumerate() {
            let ids = news.group.parts(place);
            let missed = &mut self.missed[number];
            (missed.first, missed.count) = (self.others.len() as u32, ids.len() as u32);
            self.others.extend_from_slice(ids);
            let (start, end) = self.place(self.missed[number].piece);
            learned.put(&text[start..end], ids);
        }
        (news.group, news.count) = (Group::EMPTY, 0);
    }

    fn place(&self, piece: u32) -> (usize, usize) {
        let piece = piece as usize;
        (self.starts[piece] as usize, self.starts[piece + 1] as usize)
    }

    /// Appends all ids in order.
    #[inline(never)]
    fn append(&self, found: usize, missed: usize, ids: &mut Vec<Id>) {
        let mut from = 0;
        for missed in &self.missed[..missed] {
            ids.extend_from_slice(&self.found[from..missed.place as usize]);
            let others = &self.others[missed.first as usize..];
            ids.extend_from_slice(&others[..missed.count as usize]);
            from = missed.place as usize;
        }
        ids.extend_from_slice(&self.found[from..found]);
    }
}

/// New pieces that are merged together, and which of those missed they are.
struct News {
    group: Group,
    missed: [usize; GROUPED],
    count: usize,
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
