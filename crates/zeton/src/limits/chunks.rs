//! A text in chunks, none of which has more ids than allowed.

use std::ops::Range;

use super::Fit;
use crate::sys::error::Error;
use crate::sys::unicode::read_char;

/// A segment of a text, and how many ids it has on its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chunk {
    /// Where it is.
    pub place: Range<usize>,
    /// Its ids.
    pub ids: usize,
}

impl Fit<'_> {
    /// Cuts a text into chunks that fit, each as long as may be; where a unit is longer than a chunk,
    /// it is cut between finer ones. A chunk begins with what has up to `overlap` ids at the end of the
    /// one before, as long as it goes on from there.
    ///
    /// # Errors
    ///
    /// When a character has more ids than a chunk may have; and as [`crate::Tokenizer::encode`].
    pub fn chunks(&self, text: &[u8], overlap: usize) -> Result<Vec<Chunk>, Error> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let (mut start, mut done) = (0, 0);
        while done < text.len() {
            let end = start + self.end_of_chunk(&text[start..])?;
            if end <= done {
                // What is repeated leaves no room for more.
                start = done;
                continue;
            }
            chunks.push(Chunk { place: start..end, ids: self.count(&text[start..end])? });
            let repeated = Fit { ids_max: overlap, ..*self };
            (start, done) = (start + repeated.repeated(&text[start..end])?, end);
        }
        Ok(chunks)
    }

    fn end_of_chunk(&self, text: &[u8]) -> Result<usize, Error> {
        let mut fit = *self;
        loop {
            let end = fit.end(text, false)?.expect("the text is whole");
            if end > 0 {
                return Ok(end);
            }
            let Some(border) = fit.border.finer() else {
                let character = read_char(text).map_or(1, |(_, length)| length);
                let ids = self.count(&text[..character])?;
                return Err(Error::CharacterTooLong { ids, ids_max: self.ids_max });
            };
            fit.border = border;
        }
    }

    /// Returns where the end of a chunk begins that the next one repeats.
    fn repeated(&self, chunk: &[u8]) -> Result<usize, Error> {
        let mut fit = *self;
        loop {
            let start = match self.ids_max {
                0 => chunk.len(),
                _ => fit.start(b"", chunk, false)?.expect("the text is whole"),
            };
            // A chunk that would begin where this one does would be this one.
            let start = if start == 0 { chunk.len() } else { start };
            match fit.border.finer() {
                Some(border) if start == chunk.len() && self.ids_max > 0 => fit.border = border,
                _ => return Ok(start),
            }
        }
    }
}
