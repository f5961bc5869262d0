//! As much of a text as has so many ids: counted, cut at either end, or cut into chunks.
//!
//! How many ids a beginning of a text has does not simply grow with it: one more letter may make one
//! token of three. The longest that fits is found by counting near the end of what fits: before a
//! place where the pattern cuts in any case, ids stay what they are.

mod border;
mod chunks;
mod end;
mod start;

pub use border::Border;
pub use chunks::Chunk;

use crate::encode::Tokenizer;
use crate::error::Error;
use crate::specials::Allowed;
use crate::stretch::Stretch;

/// Bytes that are encoded at most to try beginnings, or ends, of a run without any place to cut.
///
/// Shorter runs, a few thousand characters, are tried at every place.
const TRIED_BYTES_MAX: usize = 1 << 26;

/// Bytes of a text that is long enough to ask how long tokens are.
const ASKED_BYTES: usize = 1 << 12;

/// What is to fit.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a> {
    /// Who encodes it.
    pub tokenizer: &'a Tokenizer,
    /// The specials that may be found in it.
    pub allowed: &'a Allowed,
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
        allowed: &Allowed,
        goes_on: bool,
        limit: usize,
    ) -> Result<Option<usize>, Error> {
        // No token is longer than the longest; a short text is not worth the question.
        if text.len() > ASKED_BYTES && text.len() / self.token_bytes_max() >= limit {
            return Ok(Some(limit));
        }
        let (mut scratch, mut ids) = (self.lend(), 0);
        if limit > 0 {
            for stretch in self.stretches(text, allowed, goes_on)? {
                match stretch {
                    Stretch::Ordinary(place) => {
                        self.encode_ordinary(&text[place], &mut scratch, &mut ids)?;
                    }
                    Stretch::Special(..) => ids += 1,
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
