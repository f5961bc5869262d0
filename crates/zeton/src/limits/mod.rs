//! As much of a text as has so many ids: counted, cut at either end, or cut into chunks.
//!
//! How many ids a beginning of a text has does not simply grow with it: one more letter may make one
//! token of three. The longest that fits is found by counting near the end of what fits: before a
//! place where the pattern cuts in any case, ids stay what they are.

mod borders;
mod chunks;
mod run_counter;
mod truncate_end;
mod truncate_start;

pub use borders::Border;
pub use chunks::Chunk;

use crate::encode::Tokenizer;
use crate::encode::segments::Segment;
use crate::sys::error::Error;
use crate::vocab::specials::AllowedSpecials;

/// Bytes of a run without any place to cut, all beginnings or ends of which are tried.
const TRIED_ALL: usize = 1 << 11;

/// Bytes that are split at most to try those of a longer run.
const TRIED_BYTES_MAX: usize = 1 << 25;

/// Bytes of a text that is long enough to ask how long tokens are.
const ASKED_BYTES: usize = 1 << 12;

/// Bytes that an id most likely has, at most.
const BYTES_PER_ID: usize = 8;

/// What is to fit.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a> {
    /// Who encodes it.
    pub tokenizer: &'a Tokenizer,
    /// The specials that may be found in it.
    pub allowed: &'a AllowedSpecials,
    /// How many ids it may have.
    pub ids_max: usize,
    /// What it is cut between.
    pub border: Border,
}

/// A place in a text that splits it, whatever else stands in it, and the ids up to there, or from
/// there on.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: usize,
    ids: usize,
}

impl Fit<'_> {
    fn count(&self, text: &[u8]) -> Result<usize, Error> {
        self.tokenizer.count(text, self.allowed)
    }

    /// Returns how many places are tried on either side of the one where a long run is full, so many
    /// bytes from where it begins.
    ///
    /// From a place on, a run has an id more in every so many bytes as the longest token has.
    fn tries(&self, bytes: usize) -> usize {
        let enough = self.tokenizer.token_bytes_max().saturating_add(1).saturating_mul(4);
        enough.min(TRIED_BYTES_MAX / bytes.max(1) + 1)
    }

    /// Returns how far from there such places are at most: a character has four bytes.
    fn tries_bytes(&self) -> usize {
        self.tokenizer.token_bytes_max().saturating_add(1).saturating_mul(16)
    }

    /// Returns the most bytes that may fit besides so many ids: no token is longer than the longest.
    fn bytes_max(&self, ids: usize) -> usize {
        self.ids_max.saturating_sub(ids).saturating_mul(self.tokenizer.token_bytes_max())
    }
}

impl Tokenizer {
    /// Counts ids until there are `limit`; no more of the text is read than that takes.
    ///
    /// None if the text `goes_on` and what there is of it does not tell.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn count_until(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        goes_on: bool,
        limit: usize,
    ) -> Result<Option<usize>, Error> {
        // No token is longer than the longest; a short text is not worth the question.
        if text.len() > ASKED_BYTES && text.len() / self.token_bytes_max() >= limit {
            return Ok(Some(limit));
        }
        let (mut scratch, mut ids) = (self.borrow_scratch(), 0);
        if limit > 0 {
            for segment in self.segments(text, allowed, goes_on)? {
                match segment {
                    Segment::Ordinary(place) => {
                        self.encode_ordinary(&text[place], &mut scratch, &mut ids)?;
                    }
                    Segment::Special(..) => ids += 1,
                }
                if ids >= limit {
                    break;
                }
            }
        }
        Ok((ids >= limit || !goes_on).then_some(ids.min(limit)))
    }
}

#[cfg(test)]
mod tests;
