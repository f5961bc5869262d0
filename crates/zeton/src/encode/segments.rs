//! Segments: consecutive ranges of a text that can be encoded independently.
//!
//! The ids of a segment alone equal its ids within the whole text. A segment ends at a special, or
//! at a safe cut, a place where the pattern splits in any context. For example, with an
//! allowed special `<|end|>` = 300:
//!
//! ```text
//! "one two three …… <|end|>more"
//!  └ Ordinary(0..1021) ┘ …  Ordinary(…)  Special(…, 300)  Ordinary("more")
//! ```
//!
//! Two kinds of callers need this:
//!
//! - `limits` (count up to 1,000 ids, truncate) reads only as much of a text as it needs;
//! - `limits` on a text that arrives in parts, and token healing, read a *partial* text: they get
//!   the segments that further text cannot change.

use std::ops::Range;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::sys::error::Error;
use crate::sys::unicode::CHARACTER_BYTES_MAX;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// The bytes that are searched for the first segment's end. The window doubles while it contains no
/// safe cut, and after each segment up to [`WINDOW_BYTES_MAX`]: small limits read little, and long
/// texts have few segments. No measurement chose the two numbers.
const WINDOW_BYTES_MIN: usize = 1 << 10;

/// The largest window after a segment.
const WINDOW_BYTES_MAX: usize = 1 << 13;

/// A range of a text that is encoded independently.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// Text without specials.
    Ordinary(Range<usize>),
    /// The name of a special, and its id.
    Special(Range<usize>, Id),
}

impl Segment {
    /// Returns the range of the segment in the text, in bytes.
    #[must_use]
    pub fn place(&self) -> &Range<usize> {
        match self {
            Self::Ordinary(place) | Self::Special(place, _) => place,
        }
    }
}

/// An iterator over the segments of a text, from its beginning.
#[derive(Debug)]
pub struct Segments<'a> {
    tokenizer: &'a Tokenizer,
    allowed: &'a AllowedSpecials,
    text: &'a [u8],
    /// The end of the bytes that more text cannot change: a special may be incomplete after it.
    stable_end: usize,
    /// Whether more text may follow.
    is_partial: bool,
    /// The start of the next segment.
    next_start: usize,
    /// The bytes searched for the end of the next segment.
    window_bytes: usize,
    /// The special that follows the segment returned last.
    special: Option<(Range<usize>, Id)>,
    /// No safe cut lies between `next_start` and this position.
    uncut_end: usize,
}

impl Tokenizer {
    /// Iterates over the segments of a text.
    ///
    /// If the text `is_partial`, the iterator stops before the first byte whose segment more text
    /// could change.
    ///
    /// # Errors
    ///
    /// If the text has 4 GiB or more.
    pub fn segments<'a>(
        &'a self,
        text: &'a [u8],
        allowed: &'a AllowedSpecials,
        is_partial: bool,
    ) -> Result<Segments<'a>, Error> {
        refuse_too_long(text)?;
        let stable_end = if is_partial { allowed.find_incomplete_end(text) } else { text.len() };
        let window_bytes = WINDOW_BYTES_MIN;
        Ok(Segments {
            tokenizer: self,
            allowed,
            text,
            stable_end,
            is_partial,
            next_start: 0,
            window_bytes,
            special: None,
            uncut_end: 0,
        })
    }
}

impl Segments<'_> {
    /// Returns the byte of the text at which the next segment starts.
    #[must_use]
    pub fn next_start(&self) -> usize {
        self.next_start
    }

    /// Returns the range in which no safe cut lies: from the start of the next segment to the end
    /// of the bytes that were searched.
    pub(crate) fn uncut_range(&self) -> Range<usize> {
        self.next_start..self.uncut_end
    }

    /// Sets a range without a safe cut, which an earlier search of the text has found. It begins at
    /// the start of the text.
    pub(crate) fn skip_uncut(&mut self, bytes: usize) {
        self.uncut_end = bytes;
    }

    /// Returns whether the next segment is a special. A cut inside
    /// its name would turn it into ordinary text.
    #[must_use]
    pub fn is_before_special(&self) -> bool {
        self.special.is_some()
    }

    /// Moves behind `segment`, doubles the bytes that are searched next up to a limit, and returns
    /// the segment for the iterator to yield.
    fn advance(&mut self, segment: Segment) -> Option<Segment> {
        self.next_start = segment.place().end;
        self.window_bytes = (self.window_bytes * 2).min(WINDOW_BYTES_MAX);
        Some(segment)
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        if let Some((place, id)) = self.special.take() {
            return self.advance(Segment::Special(place, id));
        }
        let mut window_bytes = self.window_bytes;
        while self.next_start < self.stable_end {
            let end = self.stable_end.min(self.next_start.saturating_add(window_bytes));
            if let Some((place, id)) =
                self.allowed.find_starting_before(self.text, self.next_start, end)
            {
                if place.start == self.next_start {
                    return self.advance(Segment::Special(place, id));
                }
                let ordinary = Segment::Ordinary(self.next_start..place.start);
                self.special = Some((place, id));
                return self.advance(ordinary);
            }
            if end == self.text.len() && !self.is_partial {
                return self.advance(Segment::Ordinary(self.next_start..end));
            }
            // Of the bytes without a cut, only the last character can take part in one.
            let from = self.uncut_end.saturating_sub(2 * CHARACTER_BYTES_MAX).max(self.next_start);
            let cut = match from < end && self.uncut_end < end {
                true => self.tokenizer.splitter().last_safe_cut(&self.text[from..end]),
                false => None,
            };
            self.uncut_end = self.uncut_end.max(end);
            if let Some(cut) = cut {
                return self.advance(Segment::Ordinary(self.next_start..from + cut));
            }
            if end == self.stable_end && self.is_partial {
                return None;
            }
            window_bytes = window_bytes.saturating_mul(2);
        }
        None
    }
}
