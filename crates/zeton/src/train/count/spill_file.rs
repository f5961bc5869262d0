//! Counts as a file: the pieces in the order of their bytes, so that files merge as they stream.
//!
//! `docs/format.md` specifies it. What does not fit into memory while counting is such a file too.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use crate::sys::error::Error;
use crate::sys::progress::{Pace, Progress};

/// `counts`, then a line end that shows damage by transfers which take the file for text.
const MAGIC: &[u8; 8] = b"counts\r\n";
const VERSION: u16 = 1;

/// Bytes that are read or written at once.
const BUFFER_BYTES: usize = 1 << 16;

/// Bytes that a number takes at most.
const NUMBER_BYTES_MAX: usize = 10;

/// Appends a number, seven bits a byte, the lowest first; all bytes but the last have the top bit.
pub(super) fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 0x7F {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads such a number; returns it and what follows, unless it does not end or is too large.
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

/// What is said of all pieces together.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// Distinct pieces.
    pub pieces: u64,
    /// Bytes of all pieces, as often as they occur.
    pub bytes: u64,
    /// Texts, as whoever counted them says.
    pub texts: u64,
}

impl Totals {
    fn add(&mut self, piece: &[u8], count: u64) -> Result<(), Error> {
        self.pieces += 1;
        let bytes = (piece.len() as u64).checked_mul(count);
        let bytes = bytes.and_then(|bytes| self.bytes.checked_add(bytes));
        self.bytes = bytes.ok_or(Error::CountsTooLarge)?;
        Ok(())
    }
}

/// Writes counts to a file.
pub(super) struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    sha: Sha256,
    totals: Totals,
}

impl<W: Write> Writer<W> {
    /// Begins a file of pieces that this pattern made.
    pub(super) fn new(out: W, pattern: &str) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        buffer.extend_from_slice(MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        write_number(pattern.len() as u64, &mut buffer);
        buffer.extend_from_slice(pattern.as_bytes());
        Self { out, buffer, sha: Sha256::new(), totals: Totals::default() }
    }

    /// Adds a piece, which comes after all before it in the order of their bytes.
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

    fn flush(&mut self) -> Result<(), Error> {
        self.sha.update(&self.buffer);
        self.out.write_all(&self.buffer).map_err(|error| failed("written", &error))?;
        self.buffer.clear();
        Ok(())
    }

    /// BoundarySink the file; returns what was written to, and what is said of all pieces together.
    pub(super) fn finish(mut self, texts: u64) -> Result<(W, Totals), Error> {
        self.totals.texts = texts;
        write_number(0, &mut self.buffer);
        let Totals { pieces, bytes, texts } = self.totals;
        for total in [pieces, bytes, texts] {
            self.buffer.extend_from_slice(&total.to_le_bytes());
        }
        self.flush()?;
        let checksum = self.sha.finalize();
        let written = self.out.write_all(&checksum).and_then(|()| self.out.flush());
        written.map_err(|error| failed("written", &error))?;
        Ok((self.out, self.totals))
    }
}

/// Reads counts from a file, checking all that it says.
pub(super) struct Reader<R: Read> {
    input: R,
    /// What was read: up to `start` it was used and is not yet hashed, from there on it is to come.
    buffer: Vec<u8>,
    start: usize,
    sha: Sha256,
    pattern: String,
    totals: Totals,
    piece: Vec<u8>,
    before: Vec<u8>,
    count: u64,
}

impl<R: Read> Reader<R> {
    /// Begins to read a file.
    pub(super) fn new(input: R) -> Result<Self, Error> {
        let mut reader = Self {
            input,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            start: 0,
            sha: Sha256::new(),
            pattern: String::new(),
            totals: Totals::default(),
            piece: Vec::new(),
            before: Vec::new(),
            count: 0,
        };
        if reader.bytes(MAGIC.len() as u64).ok() != Some(MAGIC) {
            return Err(Error::NotCounts);
        }
        let version = reader.bytes(2)?.try_into().expect("that many were asked for");
        match u16::from_le_bytes(version) {
            VERSION => {}
            version => return Err(Error::CountsVersion { version }),
        }
        let length = reader.number()?;
        let pattern = String::from_utf8(reader.bytes(length)?.to_vec());
        reader.pattern = pattern.map_err(|_| malformed("has a pattern that is not UTF-8"))?;
        Ok(reader)
    }

    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns what is said of all pieces together, once the last has been read.
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    pub(super) fn piece(&self) -> &[u8] {
        &self.piece
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Goes to the next piece; says whether there is one. If not, the whole file has been checked.
    pub(super) fn advance(&mut self) -> Result<bool, Error> {
        let length = self.number()?;
        if length == 0 {
            return self.end().map(|()| false);
        }
        self.count = self.number()?;
        std::mem::swap(&mut self.before, &mut self.piece);
        let mut piece = std::mem::take(&mut self.piece);
        piece.clear();
        piece.extend_from_slice(self.bytes(length)?);
        self.piece = piece;
        if self.count == 0 || self.before >= self.piece {
            return Err(malformed("has pieces that are not in order"));
        }
        self.totals.add(&self.piece, self.count)?;
        Ok(true)
    }

    /// Checks what follows the last piece.
    fn end(&mut self) -> Result<(), Error> {
        let mut total = || -> Result<u64, Error> {
            let bytes = self.bytes(8)?.try_into().expect("that many were asked for");
            Ok(u64::from_le_bytes(bytes))
        };
        let (pieces, bytes, texts) = (total()?, total()?, total()?);
        if (pieces, bytes) != (self.totals.pieces, self.totals.bytes) {
            return Err(malformed("has other totals than its pieces"));
        }
        self.totals.texts = texts;
        self.hash();
        let checksum = self.sha.finalize_reset();
        if self.bytes(32)? != checksum.as_slice() {
            return Err(malformed("does not have the checksum that it names"));
        }
        match self.fill(1)? {
            0 => Ok(()),
            _ => Err(malformed("goes on after its end")),
        }
    }

    fn number(&mut self) -> Result<u64, Error> {
        self.fill(NUMBER_BYTES_MAX)?;
        let bytes = &self.buffer[self.start..];
        let (number, rest) =
            read_number(bytes).ok_or_else(|| malformed("is cut or has a number without an end"))?;
        self.start = self.buffer.len() - rest.len();
        Ok(number)
    }

    /// Uses so many bytes. A file that announces more than it has takes no memory for them.
    fn bytes(&mut self, length: u64) -> Result<&[u8], Error> {
        let length =
            usize::try_from(length).map_err(|_| malformed("has a piece without an end"))?;
        if self.fill(length)? < length {
            return Err(malformed("ends before its end"));
        }
        self.start += length;
        Ok(&self.buffer[self.start - length..self.start])
    }

    /// Reads on until there are so many bytes to come, if the file has them; returns how many.
    fn fill(&mut self, length: usize) -> Result<usize, Error> {
        while self.buffer.len() - self.start < length {
            self.hash();
            let more = self.buffer.len().max(BUFFER_BYTES) as u64;
            let read = (&mut self.input).take(more).read_to_end(&mut self.buffer);
            if read.map_err(|error| failed("read", &error))? == 0 {
                break;
            }
        }
        Ok(self.buffer.len() - self.start)
    }

    /// Adds to the checksum what was used, and forgets it.
    fn hash(&mut self) {
        self.sha.update(&self.buffer[..self.start]);
        self.buffer.drain(..self.start);
        self.start = 0;
    }
}

/// Hands over the pieces of several files in the order of their bytes, each once; returns how many
/// texts they are of.
pub(super) fn merge<R: Read>(
    mut readers: Vec<Reader<R>>,
    progress: &Progress,
    mut take: impl FnMut(&[u8], u64) -> Result<(), Error>,
) -> Result<u64, Error> {
    // Those with a piece left, that with the first one last.
    let mut order: Vec<usize> = Vec::new();
    let put = |order: &mut Vec<usize>, readers: &[Reader<R>], reader: usize| {
        let piece = readers[reader].piece();
        let at = order.partition_point(|&other| readers[other].piece() > piece);
        order.insert(at, reader);
    };
    for at in 0..readers.len() {
        if readers[at].advance()? {
            put(&mut order, &readers, at);
        }
    }
    let (mut piece, mut pace) = (Vec::new(), Pace::new(progress));
    while let Some(&first) = order.last() {
        piece.clear();
        piece.extend_from_slice(readers[first].piece());
        let mut count = 0_u64;
        while let Some(&same) = order.last().filter(|&&reader| readers[reader].piece() == piece) {
            order.pop();
            count = count.checked_add(readers[same].count()).ok_or(Error::CountsTooLarge)?;
            if readers[same].advance()? {
                put(&mut order, &readers, same);
            }
        }
        take(&piece, count)?;
        pace.work(1 + piece.len() / 64)?;
    }
    let texts = readers.iter().map(|reader| reader.totals().texts);
    Ok(texts.fold(0, u64::saturating_add))
}

fn malformed(what: &str) -> Error {
    Error::CountsMalformed { what: what.to_owned() }
}

pub(super) fn failed(doing: &'static str, error: &io::Error) -> Error {
    Error::CountsUnusable { doing, reason: error.to_string() }
}
