//! Token limits: count up to a limit, truncate at either end, cut into chunks.
//!
//! The number of ids does not grow steadily with a text, because one more letter can merge many
//! tokens into one. For example, by cl100k:
//!
//! ```text
//! text                       ids
//! " intern"                  1
//! " internationa"            3     ` intern` `ation` `a`
//! " international"           1
//! " internationalization"    2
//! ```
//!
//! So a limit of 2 ids keeps all of the last text, although a shorter prefix has 3. The longest
//! prefix that fits is found in three steps:
//!
//! 1. count whole [`Segment`]s, whose ids no other text can change, until the limit is exceeded;
//! 2. encode behind the last `CountedCut`, to find the *full* position, where the ids reach the
//!    limit;
//! 3. count at the borders near the full position, from the farthest one inwards.
//!
//! ```text
//! text   |--- segment ---|--- segment ---|-------- uncut range --------|
//!        counted cut     counted cut     last counted cut   ^ full
//!                                        borders tried: | | | | | | | |
//! ```
//!
//! A suffix that fits is found by the mirror image of these steps. `zeton::Tokenizer::truncate`,
//! `chunk` and `fits` of the Python package call this layer through the bridge.
//!
//! Cost: truncating 10 MB to 8,000 ids takes 0.2 ms, because no more text is read than the limit
//! needs (`docs/notes/services.md`).

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
use crate::sys::interrupt;
use crate::vocab::specials::AllowedSpecials;

/// Bytes of a range without any safe cut in which every border is tried: 2 KiB.
///
/// Not measured. Nearly all text has a safe cut within it, so that the limit concerns hostile text.
const FULL_SEARCH_BYTES: usize = 1 << 11;

/// Bytes that the tries in one uncut range split at most: 32 MiB. Not measured.
const SPLIT_BYTES_MAX: usize = 1 << 25;

/// Bytes of a text from which on the length of the longest token is used: 4 KiB.
///
/// Not measured. The first use computes that length by a pass over the vocabulary, which costs more
/// than encoding a short text.
const LONG_TEXT_BYTES: usize = 1 << 12;

/// Estimated bytes of an id in an uncut range, for the first window that is encoded.
///
/// Not measured. A token of English has 4 to 5 bytes, and a window that is too small is enlarged.
const BYTES_PER_ID: usize = 8;

/// A token limit for texts, and the border at which they are cut.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a> {
    /// The tokenizer that counts.
    pub tokenizer: &'a Tokenizer,
    /// The specials that may be found in the text.
    pub allowed: &'a AllowedSpecials,
    /// The number of ids that a text may have at most.
    pub ids_max: usize,
    /// The border between two units, at which a text may be cut.
    pub border: Border,
}

/// A safe cut of a text, and the number of ids on one side of it.
///
/// Cutting a prefix counts the ids before the cut; cutting a suffix counts the ids behind it. The
/// count does not depend on the other side, because the pattern cuts there in any context.
#[derive(Clone, Copy, Debug)]
struct CountedCut {
    at: usize,
    ids: usize,
}

impl Fit<'_> {
    fn count(&self, text: &[u8]) -> Result<usize, Error> {
        self.tokenizer.count(text, self.allowed)
    }

    /// Returns the number of borders to try on either side of the full position of an uncut range,
    /// whose start is `bytes` before that position.
    ///
    /// A range has at least one id for every `token_bytes_max` bytes. So no border far behind the
    /// full position fits, and only borders around it are tried.
    fn tries(&self, bytes: usize) -> usize {
        let enough = self.tokenizer.token_bytes_max().saturating_add(1).saturating_mul(4);
        enough.min(SPLIT_BYTES_MAX / bytes.max(1) + 1)
    }

    /// Returns the distance in bytes of the farthest border to try: a character has four bytes at
    /// most, so this is [`Fit::tries`] characters.
    fn tries_bytes(&self) -> usize {
        self.tokenizer.token_bytes_max().saturating_add(1).saturating_mul(16)
    }

    /// Returns the most bytes of text that the limit can hold besides `ids` ids: as many of the
    /// longest tokens as ids remain.
    fn bytes_max(&self, ids: usize) -> usize {
        self.ids_max.saturating_sub(ids).saturating_mul(self.tokenizer.token_bytes_max())
    }
}

impl Tokenizer {
    /// Counts the ids of a text up to `limit`, and reads no more of the text than that takes.
    ///
    /// If the text `is_partial`, more text may follow. The result is `None` if that text could
    /// change it.
    ///
    /// # Errors
    ///
    /// See [`Tokenizer::encode`].
    pub fn count_until(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
        is_partial: bool,
        limit: usize,
    ) -> Result<Option<usize>, Error> {
        // A text with `limit` times the bytes of the longest token has at least `limit` ids.
        if text.len() > LONG_TEXT_BYTES && text.len() / self.token_bytes_max() >= limit {
            return Ok(Some(limit));
        }
        let (mut scratch, mut ids) = (self.borrow_scratch(), 0);
        if limit > 0 {
            for segment in self.segments(text, allowed, is_partial)? {
                interrupt::poll()?;
                match segment {
                    Segment::Ordinary(range) => {
                        self.encode_ordinary(&text[range], &mut scratch, &mut ids)?;
                    }
                    Segment::Special(..) => ids += 1,
                }
                if ids >= limit {
                    break;
                }
            }
        }
        Ok((ids >= limit || !is_partial).then_some(ids.min(limit)))
    }
}

#[cfg(test)]
mod tests;
