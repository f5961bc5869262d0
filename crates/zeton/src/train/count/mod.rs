//! A corpus becomes counts: how often each distinct piece occurs. Learning needs no more of it.
//!
//! Every thread counts into tables of its own. With a budget, tables that may not grow are written
//! to a file in the order of their pieces and begin anew; in the end the files are merged.

mod spill_file;
mod tables;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Seek, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::{fmt, thread};

use foldhash::fast::FixedState;
pub use spill_file::Totals;
use spill_file::{Reader, Writer, failed, merge};
use tables::Tables;

use crate::merge::BpeModel;
use crate::piece_cache::Scratch;
use crate::split::Splitter;
use crate::sys::error::Error;
use crate::sys::progress::{Pace, Progress};
use crate::sys::threads::THREADS_MAX;
use crate::train::learn::PieceCounts;

/// Long texts are counted in parts of this size, so that threads share them and a stop is heeded.
const PART_BYTES: usize = 1 << 20;

/// Bytes that the tables of a thread take at most: they are sorted when they are written, and whoever
/// asks to stop should not have to wait for that. Larger ones are slower too.
const TABLES_BYTES_MAX: usize = 1 << 28;

/// A text of so many bytes is counted without a question whether to stop, which costs a tenth.
const SOON_BYTES: usize = 2 * PART_BYTES;

/// Files that are merged into one as soon as there are so many.
const FILES_MAX: usize = 16;

/// Bytes of a file that are copied between two looks at whether to stop.
const COPIED_BYTES: usize = 1 << 20;

/// Makes an empty file, to write and to read again, which is gone when nobody holds it any more.
pub type Storage = Box<dyn Fn() -> io::Result<File> + Send + Sync>;

/// The bytes that counts may take in memory, and where the others go.
pub struct Budget {
    /// Bytes, of all threads together.
    pub memory_max: usize,
    /// Makes files for what does not fit.
    pub storage: Storage,
}

/// Counts a corpus that comes in batches, on several threads.
pub struct Counter {
    splitter: Splitter,
    budget: Option<Budget>,
    bytes: u64,
    /// One for each thread, so that none waits for another.
    shares: Vec<Share>,
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").field("splitter", &self.splitter).finish_non_exhaustive()
    }
}

impl Counter {
    /// Makes a counter that uses so many threads and, if given one, a budget.
    #[must_use]
    pub fn new(splitter: Splitter, threads: usize, budget: Option<Budget>) -> Self {
        let threads = threads.clamp(1, THREADS_MAX);
        let share = |budget: &Budget| (budget.memory_max / threads).min(TABLES_BYTES_MAX);
        let memory_max = budget.as_ref().map_or(usize::MAX, share);
        let shares = (0..threads).map(|_| Share::new(memory_max)).collect();
        Self { splitter, budget, bytes: 0, shares }
    }

    /// Returns how many pieces all threads hold, some of them the same, and the bytes these take.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        let tables = self.shares.iter().map(|share| &share.tables);
        tables.fold((0, 0), |(pieces, bytes), tables| {
            (pieces + tables.len(), bytes + tables.memory())
        })
    }

    /// Counts the pieces of more texts, each so many times. Neither the order of texts nor that of
    /// batches matters.
    ///
    /// # Errors
    ///
    /// When the pattern fails on a text, a file cannot be written, counts would not fit 64 bits, or
    /// somebody asked to stop.
    pub fn add(&mut self, texts: &[&[u8]], weight: u64, progress: &Progress) -> Result<(), Error> {
        let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
        let bytes = bytes.checked_mul(weight).and_then(|bytes| self.bytes.checked_add(bytes));
        self.bytes = bytes.ok_or(Error::CountsTooLarge)?;
        let (splitter, budget) = (&self.splitter, self.budget.as_ref());
        let parts = parts_of(splitter, texts, PART_BYTES, progress)?;
        let next = AtomicUsize::new(0);
        let count = |share: &mut Share| -> Result<(), Error> {
            while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                share.add(part, weight, Cuts::By(splitter), budget, progress)?;
                progress.advance(part.len() as u64)?;
            }
            Ok(())
        };
        let (first, others) = self.shares.split_first_mut().expect("there is a thread at least");
        let needed = others.iter_mut().take(parts.len().saturating_sub(1));
        thread::scope(|scope| {
            // A system that gives no more threads makes this slower only.
            let start = |own| thread::Builder::new().spawn_scoped(scope, || count(own)).ok();
            let others: Vec<_> = needed.filter_map(start).collect();
            let first = count(first);
            let join =
                |worker: thread::ScopedJoinHandle<_>| worker.join().expect("no worker panics");
            others.into_iter().map(join).fold(first, Result::and)
        })
    }

    /// Counts the pieces of a text that somebody else has split, so many times; these are where each
    /// ends.
    ///
    /// # Errors
    ///
    /// As [`Counter::add`].
    ///
    /// # Panics
    ///
    /// When the ends do not rise to that of the text.
    pub fn add_pieces(
        &mut self,
        text: &[u8],
        ends: &[usize],
        weight: u64,
        progress: &Progress,
    ) -> Result<(), Error> {
        assert_eq!(ends.last().copied().unwrap_or(0), text.len(), "the pieces are the text");
        let bytes = (text.len() as u64).checked_mul(weight);
        let bytes = bytes.and_then(|bytes| self.bytes.checked_add(bytes));
        self.bytes = bytes.ok_or(Error::CountsTooLarge)?;
        let (splitter, budget) = (&self.splitter, self.budget.as_ref());
        let share = self.shares.first_mut().expect("there is a thread at least");
        share.add(text, weight, Cuts::At(splitter, ends), budget, progress)?;
        progress.advance(text.len() as u64)
    }

    /// Returns all counts, of so many texts.
    ///
    /// With a budget, counts that take more than a part of it are in a file: learning needs memory
    /// as well.
    ///
    /// # Errors
    ///
    /// When a file cannot be written, or somebody asked to stop.
    pub fn finish(mut self, texts: u64, progress: &Progress) -> Result<Counts, Error> {
        let pattern = self.splitter.pattern().to_owned();
        let (_, memory) = self.held();
        let is_whole = self.shares.iter().all(|share| share.files.0.is_empty());
        match self.budget {
            Some(Budget { memory_max, storage }) if !is_whole || memory > memory_max / 4 => {
                let mut files = Vec::new();
                for mut share in self.shares.drain(..) {
                    spill(&mut share.tables, &mut share.files, &pattern, &storage, progress)?;
                    files.extend(share.files.0.into_iter().map(|(_, file)| file));
                }
                Counts::merged(files, &pattern, Some(texts), &storage, progress)
            }
            _ => {
                let mut shares = self.shares.into_iter().map(|share| share.tables);
                let mut tables = shares.next().expect("there is a thread at least");
                tables.unbind();
                for others in shares {
                    tables.join(&others, || progress.advance(0))?;
                }
                let totals = Totals { pieces: tables.len() as u64, bytes: self.bytes, texts };
                let kept = Mutex::new(Kept::Tables(Box::new(tables)));
                Ok(Counts { pattern, totals, kept })
            }
        }
    }
}

/// Bytes, about, that are held out together: small enough for a fair share of any corpus.
const HELD_OUT_BYTES: usize = 1 << 13;

/// Splits texts into what is counted and what is held out, about such a share of their bytes.
///
/// What is held out depends on nothing but the texts: not on their order, nor on chance.
///
/// # Errors
///
/// When somebody asked to stop.
pub fn hold_out<'t>(
    splitter: &Splitter,
    texts: Vec<&'t [u8]>,
    share: f64,
    progress: &Progress,
) -> Result<[Vec<&'t [u8]>; 2], Error> {
    if share <= 0.0 {
        return Ok([texts, Vec::new()]);
    }
    let parts = parts_of(splitter, &texts, HELD_OUT_BYTES, progress)?;
    let (counted, held_out) = parts.into_iter().partition(|part| is_counted(part, share));
    Ok([counted, held_out])
}

/// Cuts texts into parts of about `bytes`.
fn parts_of<'t>(
    splitter: &Splitter,
    texts: &[&'t [u8]],
    bytes: usize,
    progress: &Progress,
) -> Result<Vec<&'t [u8]>, Error> {
    let mut parts = Vec::with_capacity(texts.len());
    for text in texts {
        parts.extend(splitter.parts_asking(text, bytes, || progress.advance(0))?);
    }
    Ok(parts)
}

/// Returns whether a text is counted, where such a share is held out.
#[must_use]
pub fn is_counted(text: &[u8], share: f64) -> bool {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(text);
    share <= 0.0 || hasher.finish() as f64 >= share * u64::MAX as f64
}

/// How a text becomes pieces: by a splitter, or as somebody else has split it, in place of one.
#[derive(Clone, Copy)]
enum Cuts<'s> {
    By(&'s Splitter),
    At(&'s Splitter, &'s [usize]),
}

/// What one thread counts.
#[derive(Debug)]
struct Share {
    tables: Tables,
    files: Files,
}

impl Share {
    fn new(memory_max: usize) -> Self {
        Self { tables: Tables::new(memory_max), files: Files::default() }
    }

    /// Counts the pieces of a text.
    fn add(
        &mut self,
        text: &[u8],
        weight: u64,
        cuts: Cuts<'_>,
        budget: Option<&Budget>,
        progress: &Progress,
    ) -> Result<(), Error> {
        let start = text.as_ptr().addr();
        let (Cuts::By(splitter) | Cuts::At(splitter, _)) = cuts;
        let pattern = splitter.pattern();
        let (files, mut spilled) = (&mut self.files, Ok(()));
        let mut make_room = |tables: &mut Tables| {
            if let Some(budget) = budget {
                let now = spill(tables, files, pattern, &budget.storage, progress);
                spilled = std::mem::replace(&mut spilled, Ok(())).and(now);
            }
        };
        let mut adding = self.tables.adding(text, weight);
        let mut add = |piece: &[u8]| {
            let at = piece.as_ptr().addr() - start;
            if !adding.add(at..at + piece.len()) {
                make_room(adding.tables());
            }
        };
        if let Cuts::At(_, ends) = cuts {
            let mut from = 0;
            for &end in ends {
                add(&text[from..end]);
                from = end;
            }
        } else if text.len() <= SOON_BYTES {
            splitter.split(text, add)?;
        } else {
            let mut pace = Pace::new(progress);
            splitter.split(text, |piece| {
                add(piece);
                pace.work(1).is_ok()
            })?;
            // What was told to stop has not counted all, and must not seem to.
            progress.advance(0)?;
        }
        if !adding.finish() {
            make_room(&mut self.tables);
        }
        spilled
    }
}

/// Writes all counts to a file and forgets them, even if that fails.
fn spill(
    tables: &mut Tables,
    files: &mut Files,
    pattern: &str,
    storage: &Storage,
    progress: &Progress,
) -> Result<(), Error> {
    let written = make(storage).and_then(|file| {
        let writer = Writer::new(file, pattern);
        Ok(write_sorted(tables, writer, progress)?.finish(0)?.0)
    });
    tables.clear();
    files.add(written?, pattern, storage, progress)
}

/// Counts files, each with how often it was merged before.
///
/// As soon as many were merged as often they become one, so that few are open at any time and each
/// piece is merged few times.
#[derive(Debug, Default)]
struct Files(Vec<(usize, File)>);

impl Files {
    fn add(
        &mut self,
        file: File,
        pattern: &str,
        storage: &Storage,
        progress: &Progress,
    ) -> Result<(), Error> {
        self.0.push((0, file));
        while let Some(&(merged, _)) = self.0.last()
            && let from = self.0.partition_point(|&(other, _)| other > merged)
            && self.0.len() - from == FILES_MAX
        {
            let same = self.0.drain(from..).map(|(_, file)| file).collect();
            let file = merge_files(same, pattern, None, storage, progress)?.0;
            self.0.push((merged + 1, file));
        }
        Ok(())
    }
}

/// Writes what tables hold, in order; they are no tables afterwards.
fn write_sorted<W: Write>(
    tables: &mut Tables,
    mut writer: Writer<W>,
    progress: &Progress,
) -> Result<Writer<W>, Error> {
    let mut pace = Pace::new(progress);
    for (piece, count) in tables.sort() {
        writer.add(piece.bytes(), count)?;
        pace.work(1 + piece.bytes().len() / 64)?;
    }
    Ok(writer)
}

/// Merges counts files that one pattern made into one, of so many texts, or of theirs.
fn merge_files(
    files: Vec<File>,
    pattern: &str,
    texts: Option<u64>,
    storage: &Storage,
    progress: &Progress,
) -> Result<(File, Totals), Error> {
    let mut readers = Vec::new();
    for mut file in files {
        file.rewind().map_err(|error| failed("read", &error))?;
        let reader = Reader::new(file)?;
        if reader.pattern() != pattern {
            let [one, other] = [pattern, reader.pattern()].map(str::to_owned);
            return Err(Error::CountsPatterns { one, other });
        }
        readers.push(reader);
    }
    let mut writer = Writer::new(make(storage)?, pattern);
    let found = merge(readers, progress, |piece, count| writer.add(piece, count))?;
    writer.finish(texts.unwrap_or(found))
}

fn make(storage: &Storage) -> Result<File, Error> {
    storage().map_err(|error| failed("written", &error))
}

/// Distinct pieces and how often each occurs in a corpus.
#[derive(Debug)]
pub struct Counts {
    pattern: String,
    totals: Totals,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
enum Kept {
    Tables(Box<Tables>),
    /// In the order of the pieces, and checked.
    File(File),
}

impl Counts {
    /// Reads counts files, which are opened one by one, and merges them; at least one, all of one
    /// pattern. Takes little memory.
    ///
    /// # Errors
    ///
    /// When a file cannot be opened, is not whole or holds no counts, the patterns differ, or
    /// somebody asked to stop.
    pub fn read(
        files: impl IntoIterator<Item = io::Result<File>>,
        storage: &Storage,
        progress: &Progress,
    ) -> Result<Self, Error> {
        let (mut merged, mut pattern) = (Files::default(), None);
        for file in files {
            let file = file.map_err(|error| failed("read", &error))?;
            let pattern = match &pattern {
                Some(pattern) => pattern,
                None => pattern.insert(Reader::new(&file)?.pattern().to_owned()),
            };
            merged.add(file, pattern, storage, progress)?;
        }
        let pattern = pattern.ok_or(Error::NotCounts)?;
        let files = merged.0.into_iter().map(|(_, file)| file).collect();
        Self::merged(files, &pattern, None, storage, progress)
    }

    fn merged(
        files: Vec<File>,
        pattern: &str,
        texts: Option<u64>,
        storage: &Storage,
        progress: &Progress,
    ) -> Result<Self, Error> {
        let (file, totals) = merge_files(files, pattern, texts, storage, progress)?;
        Ok(Self { pattern: pattern.to_owned(), totals, kept: Mutex::new(Kept::File(file)) })
    }

    /// Returns the pattern that made the pieces.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns what is said of all pieces together.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the number of distinct pieces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.totals.pieces as usize
    }

    /// Returns whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals.pieces == 0
    }

    /// Hands over all pieces with their counts, in no order that means anything, the same each time.
    ///
    /// # Errors
    ///
    /// Those of `take`, or when a file cannot be read.
    pub fn for_each(
        &self,
        mut take: impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match &mut *self.kept() {
            Kept::Tables(tables) => {
                tables.iter().try_for_each(|(piece, count)| take(piece.bytes(), count))
            }
            Kept::File(file) => {
                file.rewind().map_err(|error| failed("read", &error))?;
                let mut reader = Reader::new(&*file)?;
                while reader.advance()? {
                    take(reader.piece(), reader.count())?;
                }
                Ok(())
            }
        }
    }

    /// Writes the counts file: equal for equal corpora, whatever the order of their texts.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or somebody asked to stop.
    pub fn write(&self, mut out: impl Write, progress: &Progress) -> Result<(), Error> {
        match &mut *self.kept() {
            Kept::Tables(tables) => {
                // Nobody looks for a piece any more, so the slots may lie in any order.
                let writer = Writer::new(out, &self.pattern);
                let written = write_sorted(tables, writer, progress)?;
                written.finish(self.totals.texts).map(drop)
            }
            Kept::File(file) => {
                file.rewind().map_err(|error| failed("read", &error))?;
                let mut buffer = vec![0; COPIED_BYTES];
                loop {
                    let count = file.read(&mut buffer).map_err(|error| failed("read", &error))?;
                    if count == 0 {
                        return out.flush().map_err(|error| failed("written", &error));
                    }
                    let written = out.write_all(&buffer[..count]);
                    written.map_err(|error| failed("written", &error))?;
                    progress.advance(0)?;
                }
            }
        }
    }

    /// Returns the pieces that occur most often, of equal ones the first in the order of bytes.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop, or a file cannot be read.
    pub fn most_common(
        &self,
        most: usize,
        progress: &Progress,
    ) -> Result<Vec<(Vec<u8>, u64)>, Error> {
        let mut heap: BinaryHeap<(Reverse<u64>, Vec<u8>)> = BinaryHeap::new();
        let mut pace = Pace::new(progress);
        self.for_each(|piece, count| {
            let is_among = heap.len() < most
                || heap.peek().is_some_and(|(least, last)| {
                    (Reverse(count), piece) < (*least, last.as_slice())
                });
            if is_among {
                heap.push((Reverse(count), piece.to_vec()));
                if heap.len() > most {
                    heap.pop();
                }
            }
            pace.work(1)
        })?;
        let sorted = heap.into_sorted_vec();
        Ok(sorted.into_iter().map(|(Reverse(count), piece)| (piece, count)).collect())
    }

    /// Returns how many tokens a vocabulary makes of the whole corpus.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop, or a file cannot be read.
    pub fn tokens(&self, model: &BpeModel, progress: &Progress) -> Result<u64, Error> {
        let (mut scratch, mut ids, mut tokens) = (Scratch::default(), Vec::new(), 0);
        let mut pace = Pace::new(progress);
        self.for_each(|piece, count| {
            ids.clear();
            scratch.merge(model, piece, &mut ids);
            // Never more than the bytes, which fit.
            tokens += ids.len() as u64 * count;
            pace.work(1 + piece.len())
        })?;
        Ok(tokens)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no holder panics")
    }
}

impl PieceCounts for Counts {
    fn for_each_piece(
        &self,
        visit: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.for_each(visit)
    }
}
