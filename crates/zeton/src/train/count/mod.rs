//! Counting: how often each distinct piece occurs in a corpus. Learning needs nothing else of it.
//!
//! ```text
//! texts --cut at safe places--> parts of 1 MiB --threads--> one CountTables a thread
//!                                                               |  full: write in piece order
//!                                                               v
//!                                                          SpillFiles
//!                                     finish: merge all --> Counts
//! ```
//!
//! For example, `b b b a a c c c` with the pattern of nanochat gives ` c` × 3, ` a` × 2, ` b` × 2
//! and `b` × 1.
//!
//! - Every thread counts into tables of its own, so that threads share no memory while they count.
//! - With a [`MemoryBudget`], tables that may not grow are written to a sorted file and emptied.
//!   Sorted files are merged as streams, so that memory stays bounded.
//! - Counts are exact and do not depend on threads, memory, batches or the order of the texts.
//!
//! Cost: 100 MB of enwik8 take 0.55 CPU seconds, most of it to find 20 million pieces in the tables
//! (`docs/notes/training.md`).

mod counts;
mod spill_file;
mod tables;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{fmt, thread};

pub use counts::Counts;
use foldhash::fast::FixedState;
pub use spill_file::CorpusTotals;
use spill_file::SpillFiles;
use tables::CountTables;

use crate::split::Splitter;
use crate::sys::error::Error;
use crate::sys::interrupt::StopGroup;
use crate::sys::progress::{Progress, StopCheck};
use crate::sys::threads::THREADS_MAX;

/// Texts are cut into parts of about this size, so that threads share long texts and a stop takes
/// effect between two parts. Counting a part takes some 5 ms.
const PART_BYTES: usize = 1 << 20;

/// The largest tables of one thread: 256 MiB. Writing tables sorts them, and a stop waits for the
/// sort. Smaller tables are faster too, because they stay near the CPU's cache. For example, 1 GB
/// of text counts in 7.9 s with 64 MB of tables and in 9.2 s without a bound
/// (`docs/notes/training.md`).
const TABLES_BYTES_MAX: usize = 1 << 28;

/// Texts of up to this size are counted without checks for a stop, because a check after every
/// piece takes a tenth of the time. Only a text without a safe cut is larger.
const UNCHECKED_BYTES_MAX: usize = 2 * PART_BYTES;

/// Makes an empty temporary file for reading and writing, which is deleted once it is closed.
pub type TempFileFactory = Box<dyn Fn() -> io::Result<File> + Send + Sync>;

/// The memory that counting may take, and the files for counts that exceed it.
pub struct MemoryBudget {
    /// Bytes of the tables of all threads together.
    pub memory_max: usize,
    /// Makes a file for counts that exceed `memory_max`.
    pub temp_file: TempFileFactory,
}

/// Counts a corpus that arrives in batches, on several threads.
///
/// For example, [`Counter::add`] with the texts `a a b` and `a` (by nanochat's pattern), then
/// [`Counter::finish`], gives `a` × 2, ` a` × 1 and ` b` × 1.
pub struct Counter {
    splitter: Splitter,
    budget: Option<MemoryBudget>,
    /// The bytes of all texts so far, each as often as it counts.
    bytes: u64,
    /// One worker a thread; a batch that fits one thread uses the first.
    workers: Vec<CountWorker>,
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").field("splitter", &self.splitter).finish_non_exhaustive()
    }
}

impl Counter {
    /// Makes a counter for a number of threads, with bounded memory if there is a budget.
    #[must_use]
    pub fn new(splitter: Splitter, threads: usize, budget: Option<MemoryBudget>) -> Self {
        let threads = threads.clamp(1, THREADS_MAX);
        let share = |budget: &MemoryBudget| (budget.memory_max / threads).min(TABLES_BYTES_MAX);
        let memory_max = budget.as_ref().map_or(usize::MAX, share);
        let workers = (0..threads).map(|_| CountWorker::new(memory_max)).collect();
        Self { splitter, budget, bytes: 0, workers }
    }

    /// Returns the number of pieces in the tables of all threads, and the bytes of these tables.
    ///
    /// A piece in the tables of two threads counts twice.
    #[must_use]
    pub fn buffered(&self) -> (usize, usize) {
        let tables = self.workers.iter().map(|worker| &worker.tables);
        tables
            .fold((0, 0), |(pieces, bytes), tables| (pieces + tables.len(), bytes + tables.bytes()))
    }

    /// Counts the pieces of more texts, each text `weight` times.
    ///
    /// Neither the order of texts nor that of batches influences the counts.
    ///
    /// # Errors
    ///
    /// When the pattern fails on a text, a file cannot be written, counts exceed 64 bits, or a stop
    /// was requested. The counts are incomplete then.
    pub fn add(&mut self, texts: &[&[u8]], weight: u64, progress: &Progress) -> Result<(), Error> {
        let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
        let bytes = bytes.checked_mul(weight).and_then(|bytes| self.bytes.checked_add(bytes));
        self.bytes = bytes.ok_or(Error::CountsTooLarge)?;
        let (splitter, budget) = (&self.splitter, self.budget.as_ref());
        let parts = cut_into_parts(splitter, texts, PART_BYTES, progress)?;
        let next = AtomicUsize::new(0);
        let count = |worker: &mut CountWorker| -> Result<(), Error> {
            while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                worker.add(part, weight, PieceEnds::BySplitter(splitter), budget, progress)?;
                progress.advance(part.len() as u64)?;
            }
            Ok(())
        };
        let (first, more) = self.workers.split_first_mut().expect("there is a worker at least");
        let needed = more.iter_mut().take(parts.len().saturating_sub(1));
        let group = StopGroup::new();
        thread::scope(|scope| {
            // If the system starts no more threads, the started ones count all parts, only slower.
            let start = |worker| {
                let run = || group.run(true, || count(worker));
                thread::Builder::new().spawn_scoped(scope, run).ok()
            };
            let handles: Vec<_> = needed.filter_map(start).collect();
            let first = count(first);
            let join =
                |handle: thread::ScopedJoinHandle<_>| handle.join().expect("no worker panics");
            handles.into_iter().map(join).fold(first, Result::and)
        })
    }

    /// Counts the pieces of a text that the caller has split, `weight` times.
    ///
    /// `ends` are the ends of the pieces in the text, in rising order. For example, `low lower`
    /// with the ends 3 and 9 has the pieces `low` and ` lower`.
    ///
    /// # Errors
    ///
    /// The errors of [`Counter::add`].
    ///
    /// # Panics
    ///
    /// When the last end is not that of the text, or the ends do not rise.
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
        let worker = self.workers.first_mut().expect("there is a worker at least");
        worker.add(text, weight, PieceEnds::ByCaller(splitter, ends), budget, progress)?;
        progress.advance(text.len() as u64)
    }

    /// Combines the counts of all threads and files; `texts` is the number of texts to record.
    ///
    /// With a budget, counts above a quarter of it go to a file, because learning needs memory too.
    ///
    /// # Errors
    ///
    /// When a file cannot be written, or a stop was requested.
    pub fn finish(mut self, texts: u64, progress: &Progress) -> Result<Counts, Error> {
        let pattern = self.splitter.pattern().to_owned();
        let (_, table_bytes) = self.buffered();
        let is_in_memory = self.workers.iter().all(|worker| worker.files.is_empty());
        match self.budget {
            Some(MemoryBudget { memory_max, temp_file })
                if !is_in_memory || table_bytes > memory_max / 4 =>
            {
                let mut files = Vec::new();
                for mut worker in self.workers.drain(..) {
                    worker.files.spill(&mut worker.tables, &pattern, &temp_file, progress)?;
                    files.extend(worker.files.into_files());
                }
                Counts::try_from_files(files, &pattern, Some(texts), &temp_file, progress)
            }
            _ => {
                let mut tables = self.workers.into_iter().map(|worker| worker.tables);
                let mut all = tables.next().expect("there is a worker at least");
                all.remove_bounds();
                for more in tables {
                    all.add_all(&more, || progress.advance(0))?;
                }
                let totals = CorpusTotals { pieces: all.len() as u64, bytes: self.bytes, texts };
                Ok(Counts::from_tables(pattern, totals, all))
            }
        }
    }
}

/// Parts of about 8 KiB are held out as a whole, so that a small corpus has many parts too and the
/// held-out share comes close to the requested one.
const HELD_OUT_PART_BYTES: usize = 1 << 13;

/// Divides texts into parts to count and parts to hold out, `share` of the bytes or nearly so.
///
/// A part's content alone decides, by a fixed hash: neither the order of the texts nor chance has
/// an influence.
///
/// # Errors
///
/// When a stop was requested.
pub fn hold_out<'t>(
    splitter: &Splitter,
    texts: Vec<&'t [u8]>,
    share: f64,
    progress: &Progress,
) -> Result<[Vec<&'t [u8]>; 2], Error> {
    if share <= 0.0 {
        return Ok([texts, Vec::new()]);
    }
    let parts = cut_into_parts(splitter, &texts, HELD_OUT_PART_BYTES, progress)?;
    let (counted, held_out) = parts.into_iter().partition(|part| is_counted(part, share));
    Ok([counted, held_out])
}

/// Cuts texts into parts of about `bytes`, at places where the pieces of both sides stay equal.
fn cut_into_parts<'t>(
    splitter: &Splitter,
    texts: &[&'t [u8]],
    bytes: usize,
    progress: &Progress,
) -> Result<Vec<&'t [u8]>, Error> {
    let mut parts = Vec::with_capacity(texts.len());
    for text in texts {
        parts.extend(splitter.try_parts(text, bytes, || progress.advance(0))?);
    }
    Ok(parts)
}

/// Returns whether a text is counted rather than held out, where `share` of all bytes is held out.
///
/// The text's hash divided by 2^64 is compared with `share`: for example, a hash of 2^63 is counted
/// at a share of 0.1.
#[must_use]
pub fn is_counted(text: &[u8], share: f64) -> bool {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(text);
    share <= 0.0 || hasher.finish() as f64 >= share * u64::MAX as f64
}

/// The source of a text's piece ends: a splitter, or the caller's list of ends.
///
/// Both have a splitter: the second names the pattern for the counts file.
#[derive(Clone, Copy)]
enum PieceEnds<'s> {
    BySplitter(&'s Splitter),
    ByCaller(&'s Splitter, &'s [usize]),
}

/// The counts of one thread: its tables, and the files it has written.
#[derive(Debug)]
struct CountWorker {
    tables: CountTables,
    files: SpillFiles,
}

impl CountWorker {
    /// Makes a worker whose tables take at most `memory_max` bytes.
    fn new(memory_max: usize) -> Self {
        Self { tables: CountTables::new(memory_max), files: SpillFiles::default() }
    }

    /// Counts the pieces of a text, and writes the tables to a file whenever they are full.
    fn add(
        &mut self,
        text: &[u8],
        weight: u64,
        piece_ends: PieceEnds<'_>,
        budget: Option<&MemoryBudget>,
        progress: &Progress,
    ) -> Result<(), Error> {
        let start = text.as_ptr().addr();
        let (PieceEnds::BySplitter(splitter) | PieceEnds::ByCaller(splitter, _)) = piece_ends;
        let pattern = splitter.pattern();
        let (files, mut spilled) = (&mut self.files, Ok(()));
        let mut make_room = |tables: &mut CountTables| {
            if let Some(budget) = budget {
                let written = files.spill(tables, pattern, &budget.temp_file, progress);
                spilled = std::mem::replace(&mut spilled, Ok(())).and(written);
            }
        };
        let mut inserter = self.tables.inserter(text, weight);
        let mut insert = |piece: &[u8]| {
            let at = piece.as_ptr().addr() - start;
            if !inserter.insert(at..at + piece.len()) {
                make_room(inserter.tables());
            }
        };
        if let PieceEnds::ByCaller(_, ends) = piece_ends {
            let mut from = 0;
            for &end in ends {
                insert(&text[from..end]);
                from = end;
            }
        } else if text.len() <= UNCHECKED_BYTES_MAX {
            splitter.split(text, insert)?;
        } else {
            let mut stop_check = StopCheck::new(progress);
            splitter.split(text, |piece| {
                insert(piece);
                stop_check.count_steps(1).is_ok()
            })?;
            // A stopped split ends early without an error, so the stop is reported here.
            progress.advance(0)?;
        }
        if !inserter.finish() {
            make_room(&mut self.tables);
        }
        spilled
    }
}
