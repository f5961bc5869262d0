//! Chunks: a text cut into ranges of at most `ids_max` ids, with an optional overlap.
//!
//! Each chunk is as long as fits. If one unit of the border is longer than a chunk, that chunk is
//! cut at the next finer border. For example, four ids a chunk, by cl100k:
//!
//! ```text
//! overlap 0   [one two three four][ five six]
//! overlap 2   [one two three four]
//!                     [ three four five six]
//! ```
//!
//! `Tokenizer.chunk` of the Python package calls [`Fit::find_chunks`] through the bridge. Every
//! chunk starts and ends behind the start and the end of the chunk before it, so the loop ends.

use std::ops::Range;

use super::Fit;
use crate::sys::error::Error;
use crate::sys::interrupt;
use crate::sys::unicode::read_char;

/// A range of a text, and its number of ids when it is encoded alone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chunk {
    /// The bytes of the text.
    pub range: Range<usize>,
    /// The number of ids.
    pub ids: usize,
}

impl Fit<'_> {
    /// Cuts a text into chunks that fit, each as long as possible.
    ///
    /// A chunk begins with whole units of at most `overlap` ids from the end of the chunk before
    /// it. An overlap that would leave no room for new text is dropped.
    ///
    /// # Errors
    ///
    /// When one character has more than `ids_max` ids; see [`crate::Tokenizer::encode`] for others.
    pub fn find_chunks(&self, text: &[u8], overlap: usize) -> Result<Vec<Chunk>, Error> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let (mut start, mut chunked_end) = (0, 0);
        // A range of the text without a safe cut.
        let mut uncut = 0..0;
        while chunked_end < text.len() {
            interrupt::poll()?;
            let end = start + self.find_chunk_end(text, start, &mut uncut)?;
            if end <= chunked_end {
                // The overlap leaves no room for new text.
                start = chunked_end;
                continue;
            }
            chunks.push(Chunk { range: start..end, ids: self.count(&text[start..end])? });
            let overlap_fit = Fit { ids_max: overlap, ..*self };
            let overlap_start = overlap_fit.find_overlap_start(&text[start..end])?;
            (start, chunked_end) = (start + overlap_start, end);
        }
        Ok(chunks)
    }

    /// Returns the length of the chunk at `start`, cut at finer borders if one unit is too long.
    /// `uncut` is a range of the whole text without a safe cut, and is set to the range that this
    /// search has found.
    fn find_chunk_end(
        &self,
        whole: &[u8],
        start: usize,
        uncut: &mut Range<usize>,
    ) -> Result<usize, Error> {
        let (text, mut fit) = (&whole[start..], *self);
        loop {
            let mut known = match uncut.start <= start && start < uncut.end {
                true => 0..uncut.end - start,
                false => 0..0,
            };
            let end = fit.find_end_within(text, false, &mut known)?;
            let end = end.expect("a whole text has an answer");
            *uncut = start + known.start..start + known.end;
            if end > 0 {
                return Ok(end);
            }
            let Some(border) = fit.border.next_finer() else {
                let character = read_char(text).map_or(1, |(_, length)| length);
                let ids = self.count(&text[..character])?;
                return Err(Error::CharacterTooLong { ids, ids_max: self.ids_max });
            };
            fit.border = border;
        }
    }

    /// Returns the byte at which the suffix of a chunk starts that the next chunk repeats; the
    /// chunk's length means no overlap. It counts ids, whose errors it returns.
    fn find_overlap_start(&self, chunk: &[u8]) -> Result<usize, Error> {
        let mut fit = *self;
        loop {
            let start = match self.ids_max {
                0 => chunk.len(),
                _ => fit.find_start(b"", chunk, false)?.expect("a whole text has an answer"),
            };
            // A chunk that began at this chunk's start would equal this chunk.
            let start = if start == 0 { chunk.len() } else { start };
            match fit.border.next_finer() {
                Some(border) if start == chunk.len() && self.ids_max > 0 => fit.border = border,
                _ => return Ok(start),
            }
        }
    }
}
