//! Counts as a sorted file, so that files merge as streams: of counts that exceed memory, and
//! saved.
//!
//! `docs/format.md` specifies the format. For example, ` low` × 2 and `low` × 1 of one text with
//! the pattern `P` (numbers are LEB128 unless a width is stated):
//!
//! ```text
//! 63 6f 75 6e 74 73 0d 0a   magic `counts\r\n`
//! 01 00                     version, 2 bytes
//! 01 50                     pattern: length, bytes
//! 04 02 20 6c 6f 77         piece: length, count, bytes
//! 03 01 6c 6f 77            the next piece in the order of bytes
//! 00                        end of the pieces
//! 02 00 .. 0b 00 .. 01 00 ..  3 × 8 bytes: pieces 2, bytes 4 × 2 + 3 = 11, texts 1
//! 32 bytes                  SHA-256 of everything before
//! ```
//!
//! - [`SpillWriter`] and [`SpillReader`] stream one file; the reader checks all that it reads.
//! - [`merge`] merges any number of sorted streams.
//! - [`SpillFiles`] are the files of one thread, few at any time.
//!
//! Cost: a merge holds 64 KiB a file, or its longest piece. Sorting takes 0.15 s for 600,000
//! pieces. Partitions by hash would avoid the sort, but not serve as a format of saved counts
//! (`docs/notes/training.md`).

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use sha2::{Digest, Sha256};

use super::TempFileFactory;
use super::tables::CountTables;
use crate::sys::error::Error;
use crate::sys::progress::{Progress, StopCheck};

/// `counts` and a line end: a transfer in text mode changes the line end, which the reader detects.
const MAGIC: &[u8; 8] = b"counts\r\n";
const VERSION: u16 = 1;

/// Bytes that are read or written by one system call: the memory of one file of a merge. No
/// measurement chose 64 KiB.
const BUFFER_BYTES: usize = 1 << 16;

/// The most bytes of a LEB128 number: 64 bits at 7 bits a byte.
const NUMBER_BYTES_MAX: usize = 10;

/// Appends a number in LEB128: seven bits a byte, the lowest first, the top bit in all but the
/// last.
///
/// For example, 300 becomes `ac 02`.
pub(super) fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 0x7F {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a LEB128 number; returns it and the bytes after it.
///
/// Returns `None` if the number does not end within `bytes`, or exceeds 64 bits.
#[inline]
pub(super) fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, &byte) in bytes.iter().enumerate().take(NUMBER_BYTES_MAX) {
        let low = u64::from(byte & 0x7F);
        if at == NUMBER_BYTES_MAX - 1 && byte > 1 {
            return None;
        }
        number |= low << (7 * at);
        if byte <= 0x7F {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// The totals of a counted corpus.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CorpusTotals {
    /// The number of distinct pieces.
    pub pieces: u64,
    /// The bytes of all pieces, each as often as it occurs.
    pub bytes: u64,
    /// The number of texts, as the caller of [`super::Counter::finish`] stated it.
    pub texts: u64,
}

impl CorpusTotals {
    /// Adds a distinct piece with its count. Both writer and reader call it, so that the totals of
    /// a file can be compared.
    fn add(&mut self, piece: &[u8], count: u64) -> Result<(), Error> {
        self.pieces += 1;
        let bytes = (piece.len() as u64).checked_mul(count);
        let bytes = bytes.and_then(|bytes| self.bytes.checked_add(bytes));
        self.bytes = bytes.ok_or(Error::CountsTooLarge)?;
        Ok(())
    }
}

/// Writes a counts file: [`SpillWriter::add`] for each piece in order, then
/// [`SpillWriter::finish`].
pub(super) struct SpillWriter<W: Write> {
    out: W,
    buffer: Vec<u8>,
    sha: Sha256,
    totals: CorpusTotals,
}

impl<W: Write> SpillWriter<W> {
    /// Begins a file of pieces that `pattern` split. The header is only buffered: nothing is
    /// written to `out` yet, so this cannot fail.
    pub(super) fn new(out: W, pattern: &str) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        buffer.extend_from_slice(MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        write_number(pattern.len() as u64, &mut buffer);
        buffer.extend_from_slice(pattern.as_bytes());
        Self { out, buffer, sha: Sha256::new(), totals: CorpusTotals::default() }
    }

    /// Adds a piece with its count to the file's buffer, which is written when it is full. The
    /// piece must be greater than the piece before it in the order of bytes.
    pub(super) fn add(&mut self, piece: &[u8], count: u64) -> Result<(), Error> {
        self.totals.add(piece, count)?;
        write_number(piece.len() as u64, &mut self.buffer);
        write_number(count, &mut self.buffer);
        self.buffer.extend_from_slice(piece);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Adds the buffer to the checksum, writes it to the output and empties it. The error is the
    /// output's, as an [`Error`].
    fn flush(&mut self) -> Result<(), Error> {
        self.sha.update(&self.buffer);
        self.out.write_all(&self.buffer).map_err(|error| io_error("written", &error))?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the end of the file: the totals and the checksum. Returns the output, flushed, and
    /// the totals of pieces, bytes and `texts`.
    pub(super) fn finish(mut self, texts: u64) -> Result<(W, CorpusTotals), Error> {
        self.totals.texts = texts;
        write_number(0, &mut self.buffer);
        let CorpusTotals { pieces, bytes, texts } = self.totals;
        for total in [pieces, bytes, texts] {
            self.buffer.extend_from_slice(&total.to_le_bytes());
        }
        self.flush()?;
        let checksum = self.sha.finalize();
        let written = self.out.write_all(&checksum).and_then(|()| self.out.flush());
        written.map_err(|error| io_error("written", &error))?;
        Ok((self.out, self.totals))
    }
}

/// Reads a counts file piece by piece, and checks order, totals and checksum.
pub(super) struct SpillReader<R: Read> {
    input: R,
    /// Bytes of the file: up to `start` they are consumed but not hashed yet, from there on unread.
    buffer: Vec<u8>,
    start: usize,
    sha: Sha256,
    pattern: String,
    totals: CorpusTotals,
    piece: Vec<u8>,
    /// The piece before, to check the order.
    before: Vec<u8>,
    count: u64,
}

impl<R: Read> SpillReader<R> {
    /// Reads the header of a counts file. No piece is current before the first
    /// [`SpillReader::advance`].
    pub(super) fn try_new(input: R) -> Result<Self, Error> {
        let mut reader = Self {
            input,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            start: 0,
            sha: Sha256::new(),
            pattern: String::new(),
            totals: CorpusTotals::default(),
            piece: Vec::new(),
            before: Vec::new(),
            count: 0,
        };
        if reader.read_bytes(MAGIC.len() as u64).ok() != Some(MAGIC) {
            return Err(Error::NotCounts);
        }
        let version = reader.read_bytes(2)?.try_into().expect("read_bytes(2) returns two bytes");
        match u16::from_le_bytes(version) {
            VERSION => {}
            version => return Err(Error::CountsVersion { version }),
        }
        let length = reader.read_number()?;
        let pattern = String::from_utf8(reader.read_bytes(length)?.to_vec());
        reader.pattern = pattern.map_err(|_| malformed("has a pattern that is not UTF-8"))?;
        Ok(reader)
    }

    /// Returns the pattern that split the pieces.
    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns the totals; they are complete once [`SpillReader::advance`] has returned `false`.
    pub(super) fn totals(&self) -> CorpusTotals {
        self.totals
    }

    /// Returns the bytes of the piece that the last [`SpillReader::advance`] read; the next one
    /// overwrites them.
    pub(super) fn piece(&self) -> &[u8] {
        &self.piece
    }

    /// Returns how often the piece of the last [`SpillReader::advance`] occurs in the corpus.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Reads the next piece; returns `false` at the end, when the whole file has been checked.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        let length = self.read_number()?;
        if length == 0 {
            return self.check_end().map(|()| false);
        }
        self.count = self.read_number()?;
        std::mem::swap(&mut self.before, &mut self.piece);
        let mut piece = std::mem::take(&mut self.piece);
        piece.clear();
        piece.extend_from_slice(self.read_bytes(length)?);
        self.piece = piece;
        if self.count == 0 || self.before >= self.piece {
            return Err(malformed("has pieces that are not in order"));
        }
        self.totals.add(&self.piece, self.count)?;
        Ok(true)
    }

    /// Reads the totals and the checksum behind the last piece, compares both with the file as it
    /// was read, and checks that the file ends there. A difference is an error, because the file is
    /// damaged.
    fn check_end(&mut self) -> Result<(), Error> {
        let mut read_total = || -> Result<u64, Error> {
            let bytes = self.read_bytes(8)?;
            Ok(u64::from_le_bytes(bytes.try_into().expect("read_bytes(8) returns eight bytes")))
        };
        let (pieces, bytes, texts) = (read_total()?, read_total()?, read_total()?);
        if (pieces, bytes) != (self.totals.pieces, self.totals.bytes) {
            return Err(malformed("has other totals than its pieces"));
        }
        self.totals.texts = texts;
        self.hash_consumed();
        let checksum = self.sha.finalize_reset();
        if self.read_bytes(32)? != checksum.as_slice() {
            return Err(malformed("does not have the checksum that it names"));
        }
        match self.fill(1)? {
            0 => Ok(()),
            _ => Err(malformed("goes on after its end")),
        }
    }

    /// Reads a LEB128 number from the buffer, which is refilled from the file first. A file that
    /// ends within the number is an error.
    fn read_number(&mut self) -> Result<u64, Error> {
        self.fill(NUMBER_BYTES_MAX)?;
        let bytes = &self.buffer[self.start..];
        let (number, rest) =
            read_number(bytes).ok_or_else(|| malformed("is cut or has a number without an end"))?;
        self.start = self.buffer.len() - rest.len();
        Ok(number)
    }

    /// Consumes `length` bytes.
    ///
    /// Memory grows with the bytes that are read, not with `length`, so that a damaged length
    /// cannot exhaust it.
    fn read_bytes(&mut self, length: u64) -> Result<&[u8], Error> {
        let length =
            usize::try_from(length).map_err(|_| malformed("has a piece without an end"))?;
        if self.fill(length)? < length {
            return Err(malformed("ends before its end"));
        }
        self.start += length;
        Ok(&self.buffer[self.start - length..self.start])
    }

    /// Reads from the file until `length` unread bytes are buffered or the file ends; returns how
    /// many bytes are.
    fn fill(&mut self, length: usize) -> Result<usize, Error> {
        while self.buffer.len() - self.start < length {
            self.hash_consumed();
            let more = self.buffer.len().max(BUFFER_BYTES) as u64;
            let read = (&mut self.input).take(more).read_to_end(&mut self.buffer);
            if read.map_err(|error| io_error("read", &error))? == 0 {
                break;
            }
        }
        Ok(self.buffer.len() - self.start)
    }

    /// Adds the consumed bytes of the buffer to the checksum and removes them from the buffer.
    fn hash_consumed(&mut self) {
        self.sha.update(&self.buffer[..self.start]);
        self.buffer.drain(..self.start);
        self.start = 0;
    }
}

/// Merges sorted files: calls `visit` with each distinct piece and the sum of its counts, in the
/// order of bytes. Returns the sum of the files' numbers of texts.
///
/// For example, files with ` a` × 1, `b` × 2 and with ` a` × 3 give ` a` × 4, `b` × 2.
pub(super) fn merge<R: Read>(
    mut readers: Vec<SpillReader<R>>,
    progress: &Progress,
    mut visit: impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<u64, Error> {
    // The readers that are not at their end, by falling piece: the last one has the next piece.
    let mut order: Vec<usize> = Vec::new();
    let insert = |order: &mut Vec<usize>, readers: &[SpillReader<R>], reader: usize| {
        let piece = readers[reader].piece();
        let at = order.partition_point(|&other| readers[other].piece() > piece);
        order.insert(at, reader);
    };
    for at in 0..readers.len() {
        if readers[at].advance()? {
            insert(&mut order, &readers, at);
        }
    }
    let (mut piece, mut stop_check) = (Vec::new(), StopCheck::new(progress));
    while let Some(&first) = order.last() {
        piece.clear();
        piece.extend_from_slice(readers[first].piece());
        let mut count = 0_u64;
        while let Some(&equal) = order.last().filter(|&&reader| readers[reader].piece() == piece) {
            order.pop();
            count = count.checked_add(readers[equal].count()).ok_or(Error::CountsTooLarge)?;
            if readers[equal].advance()? {
                insert(&mut order, &readers, equal);
            }
        }
        visit(&piece, count)?;
        stop_check.count_steps(1 + piece.len() / 64)?;
    }
    let texts = readers.iter().map(|reader| reader.totals().texts);
    Ok(texts.fold(0, u64::saturating_add))
}

/// Merges counts files of one pattern into a new temporary file; returns it and its totals.
///
/// `texts` is the number of texts to record; `None` takes the sum of the files' numbers.
pub(super) fn merge_files(
    files: Vec<File>,
    pattern: &str,
    texts: Option<u64>,
    temp_file: &TempFileFactory,
    progress: &Progress,
) -> Result<(File, CorpusTotals), Error> {
    let mut readers = Vec::new();
    for mut file in files {
        file.rewind().map_err(|error| io_error("read", &error))?;
        let reader = SpillReader::try_new(file)?;
        if reader.pattern() != pattern {
            let [one, other] = [pattern, reader.pattern()].map(str::to_owned);
            return Err(Error::CountsPatterns { one, other });
        }
        readers.push(reader);
    }
    let mut writer = SpillWriter::new(create(temp_file)?, pattern);
    let texts_of_files = merge(readers, progress, |piece, count| writer.add(piece, count))?;
    writer.finish(texts.unwrap_or(texts_of_files))
}

/// Writes all pieces of tables in order. The tables are sorted in place, see [`CountTables::sort`].
pub(super) fn write_sorted<W: Write>(
    tables: &mut CountTables,
    mut writer: SpillWriter<W>,
    progress: &Progress,
) -> Result<SpillWriter<W>, Error> {
    let mut stop_check = StopCheck::new(progress);
    for (piece, count) in tables.sort() {
        writer.add(piece.bytes(), count)?;
        stop_check.count_steps(1 + piece.bytes().len() / 64)?;
    }
    Ok(writer)
}

/// [`FILES_MAX`] files of one level are merged into one of the next level.
///
/// So at most 16 files a level are open, and a piece is merged once a level: 1,000 spills make
/// three levels.
pub(super) const FILES_MAX: usize = 16;

/// Sorted files, each with its level: how often its content was merged. Levels fall.
///
/// For example, after 35 spills there are 2 files of level 1 and 3 of level 0.
#[derive(Debug, Default)]
pub(super) struct SpillFiles(pub(super) Vec<(usize, File)>);

impl SpillFiles {
    /// Returns whether there is no file, because nothing was spilled.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the open files, for the caller to merge their pieces.
    pub(super) fn into_files(self) -> Vec<File> {
        self.0.into_iter().map(|(_, file)| file).collect()
    }

    /// Writes the pieces of tables, sorted, to a new temporary file, and adds it to these files.
    /// The tables are empty afterwards, even if writing fails.
    pub(super) fn spill(
        &mut self,
        tables: &mut CountTables,
        pattern: &str,
        temp_file: &TempFileFactory,
        progress: &Progress,
    ) -> Result<(), Error> {
        let written = create(temp_file).and_then(|file| {
            let writer = SpillWriter::new(file, pattern);
            Ok(write_sorted(tables, writer, progress)?.finish(0)?.0)
        });
        tables.clear();
        self.add(written?, pattern, temp_file, progress)
    }

    /// Takes over a file of level 0, and merges the files of one level to a file of the next while
    /// there are [`FILES_MAX`]. The error is of reading, writing or a stop.
    pub(super) fn add(
        &mut self,
        file: File,
        pattern: &str,
        temp_file: &TempFileFactory,
        progress: &Progress,
    ) -> Result<(), Error> {
        self.0.push((0, file));
        while let Some(&(level, _)) = self.0.last()
            && let from = self.0.partition_point(|&(other, _)| other > level)
            && self.0.len() - from == FILES_MAX
        {
            let equal_level = self.0.drain(from..).map(|(_, file)| file).collect();
            let file = merge_files(equal_level, pattern, None, temp_file, progress)?.0;
            self.0.push((level + 1, file));
        }
        Ok(())
    }
}

/// Creates a temporary file through the caller's factory. Its failure becomes the error of a file
/// that cannot be written.
fn create(temp_file: &TempFileFactory) -> Result<File, Error> {
    temp_file().map_err(|error| io_error("written", &error))
}

fn malformed(reason: &str) -> Error {
    Error::CountsMalformed { reason: reason.to_owned() }
}

/// Makes the error of a counts file from an I/O error. `doing` completes the message "cannot be …":
/// "read" or "written".
pub(super) fn io_error(doing: &'static str, error: &io::Error) -> Error {
    Error::CountsUnusable { doing, reason: error.to_string() }
}
