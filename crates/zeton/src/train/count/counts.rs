//! The result of counting: distinct pieces with their counts, in memory or in a sorted file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::{Mutex, MutexGuard};

use super::TempFileFactory;
use super::spill_file::{
    CorpusTotals, SpillFiles, SpillReader, SpillWriter, io_error, merge_files, write_sorted,
};
use super::tables::CountTables;
use crate::merge::BpeModel;
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::sys::progress::{Progress, StopCheck};
use crate::train::learn::PieceCounts;

/// Distinct pieces and how often each occurs in a corpus.
///
/// For example, the counts of `b b b` (by nanochat's pattern) are `b` × 1 and ` b` × 2. They are
/// written to a counts file ([`Counts::write`]), read from several and merged ([`Counts::read`]),
/// and learned from ([`crate::train::learn::learn`]).
#[derive(Debug)]
pub struct Counts {
    pattern: String,
    totals: CorpusTotals,
    /// Locked, because reading moves the position in the file, and writing sorts the tables.
    store: Mutex<CountStore>,
}

/// The place of the counts.
#[derive(Debug)]
enum CountStore {
    Tables(Box<CountTables>),
    /// A counts file that was read and checked once.
    File(File),
}

impl Counts {
    /// Reads one or more counts files of one pattern and merges them into a temporary file.
    ///
    /// Files are opened one by one as the iterator yields them. A file takes a buffer of 64 KiB, or
    /// of its longest piece.
    ///
    /// # Errors
    ///
    /// When there is no file, a file cannot be opened, is damaged or is no counts file, the
    /// patterns differ, or a stop was requested.
    pub fn read(
        files: impl IntoIterator<Item = io::Result<File>>,
        temp_file: &TempFileFactory,
        progress: &Progress,
    ) -> Result<Self, Error> {
        let (mut merged, mut pattern) = (SpillFiles::default(), None);
        for file in files {
            let file = file.map_err(|error| io_error("read", &error))?;
            let pattern = match &pattern {
                Some(pattern) => pattern,
                None => pattern.insert(SpillReader::try_new(&file)?.pattern().to_owned()),
            };
            merged.add(file, pattern, temp_file, progress)?;
        }
        let pattern = pattern.ok_or(Error::NotCounts)?;
        Self::try_from_files(merged.into_files(), &pattern, None, temp_file, progress)
    }

    /// Merges sorted files into one and makes counts of it.
    ///
    /// `texts` is the number of texts to record; `None` takes the sum of the files' numbers.
    pub(super) fn try_from_files(
        files: Vec<File>,
        pattern: &str,
        texts: Option<u64>,
        temp_file: &TempFileFactory,
        progress: &Progress,
    ) -> Result<Self, Error> {
        let (file, totals) = merge_files(files, pattern, texts, temp_file, progress)?;
        let store = Mutex::new(CountStore::File(file));
        Ok(Self { pattern: pattern.to_owned(), totals, store })
    }

    /// Makes the counts of a corpus whose pieces all stayed in memory, and takes the tables over.
    /// The counter calls it at its end; no file is written.
    pub(super) fn from_tables(pattern: String, totals: CorpusTotals, tables: CountTables) -> Self {
        Self { pattern, totals, store: Mutex::new(CountStore::Tables(Box::new(tables))) }
    }

    /// Returns the pattern that split the corpus into pieces.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns the totals of the corpus: distinct pieces, bytes and texts.
    #[must_use]
    pub fn totals(&self) -> CorpusTotals {
        self.totals
    }

    /// Returns the number of distinct pieces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.totals.pieces as usize
    }

    /// Returns whether the corpus has no piece.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals.pieces == 0
    }

    /// Calls `visit` with every distinct piece and its count.
    ///
    /// The order is unspecified, and equal for every call until [`Counts::write`] sorts the tables.
    ///
    /// # Errors
    ///
    /// The errors of `visit`, or when a file cannot be read.
    pub fn for_each(
        &self,
        mut visit: impl FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match &mut *self.lock_store() {
            CountStore::Tables(tables) => {
                tables.iter().try_for_each(|(piece, count)| visit(piece.bytes(), count))
            }
            CountStore::File(file) => {
                file.rewind().map_err(|error| io_error("read", &error))?;
                let mut reader = SpillReader::try_new(&*file)?;
                while reader.advance()? {
                    visit(reader.piece(), reader.count())?;
                }
                Ok(())
            }
        }
    }

    /// Writes the counts file. Equal corpora give equal bytes, in any order of their texts.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or a stop was requested.
    pub fn write(&self, mut out: impl Write, progress: &Progress) -> Result<(), Error> {
        match &mut *self.lock_store() {
            CountStore::Tables(tables) => {
                // Sorting destroys the hash tables. Finished counts are only iterated, never
                // searched, so the order of slots is free.
                let writer = SpillWriter::new(out, &self.pattern);
                let written = write_sorted(tables, writer, progress)?;
                written.finish(self.totals.texts).map(drop)
            }
            CountStore::File(file) => {
                file.rewind().map_err(|error| io_error("read", &error))?;
                let mut buffer = vec![0; COPY_BYTES];
                loop {
                    let count = file.read(&mut buffer).map_err(|error| io_error("read", &error))?;
                    if count == 0 {
                        return out.flush().map_err(|error| io_error("written", &error));
                    }
                    let written = out.write_all(&buffer[..count]);
                    written.map_err(|error| io_error("written", &error))?;
                    progress.advance(0)?;
                }
            }
        }
    }

    /// Returns the `pieces_max` most frequent pieces with their counts, by falling count.
    ///
    /// Of equal counts, the piece that is first in the order of bytes goes first. For example, ` c`
    /// × 3, ` a` × 2 and ` b` × 2 come in this order.
    ///
    /// # Errors
    ///
    /// When a stop was requested, or a file cannot be read.
    pub fn most_common(
        &self,
        pieces_max: usize,
        progress: &Progress,
    ) -> Result<Vec<(Vec<u8>, u64)>, Error> {
        let mut heap: BinaryHeap<(Reverse<u64>, Vec<u8>)> = BinaryHeap::new();
        let mut stop_check = StopCheck::new(progress);
        self.for_each(|piece, count| {
            let is_among = heap.len() < pieces_max
                || heap.peek().is_some_and(|(least, last)| {
                    (Reverse(count), piece) < (*least, last.as_slice())
                });
            if is_among {
                heap.push((Reverse(count), piece.to_vec()));
                if heap.len() > pieces_max {
                    heap.pop();
                }
            }
            stop_check.count_steps(1)
        })?;
        let sorted = heap.into_sorted_vec();
        Ok(sorted.into_iter().map(|(Reverse(count), piece)| (piece, count)).collect())
    }

    /// Returns the number of tokens that a model makes of the whole corpus.
    ///
    /// # Errors
    ///
    /// When a stop was requested, or a file cannot be read.
    pub fn tokens(&self, model: &BpeModel, progress: &Progress) -> Result<u64, Error> {
        let (mut scratch, mut ids, mut tokens) = (Scratch::default(), Vec::new(), 0);
        let mut stop_check = StopCheck::new(progress);
        self.for_each(|piece, count| {
            ids.clear();
            scratch.merge(model, piece, &mut ids);
            // The sum does not overflow: it is at most the bytes of the corpus, which fit 64 bits.
            tokens += ids.len() as u64 * count;
            stop_check.count_steps(1 + piece.len())
        })?;
        Ok(tokens)
    }

    fn lock_store(&self) -> MutexGuard<'_, CountStore> {
        self.store.lock().expect("no lock holder panics")
    }
}

/// Bytes that are copied from file to file between two checks for a stop.
const COPY_BYTES: usize = 1 << 20;

impl PieceCounts for Counts {
    fn for_each_piece(
        &self,
        visit: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.for_each(visit)
    }
}
