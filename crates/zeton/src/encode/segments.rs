//! A text a segment at a time, from either end: each segment has the ids that it has within the whole.
//!
//! Who needs the first thousand ids of a text reads that much of it; who is handed a text bit by bit
//! learns what no later text can change. A segment ends at a special, or where the pattern cuts
//! whatever stands around it.

use std::ops::Range;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// Bytes that the first segment is looked for in; where there is no cut, and for each segment that
/// follows, twice as many, up to the other number.
const BYTES_MIN: usize = 1 << 10;
const BYTES_MAX: usize = 1 << 13;

/// A part of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Segment {
    /// Text that is encoded on its own.
    Ordinary(Range<usize>),
    /// The name of a special, which has this id.
    Special(Range<usize>, Id),
}

impl Segment {
    /// Returns where in the text it is.
    #[must_use]
    pub fn place(&self) -> &Range<usize> {
        match self {
            Self::Ordinary(place) | Self::Special(place, _) => place,
        }
    }
}

/// The segments of a text from its beginning on.
#[derive(Debug)]
pub struct Segments<'a> {
    tokenizer: &'a Tokenizer,
    allowed: &'a AllowedSpecials,
    text: &'a [u8],
    /// Where no special can begin that is not there yet.
    settled: usize,
    /// Whether more text may follow.
    goes_on: bool,
    at: usize,
    bytes: usize,
    special: Option<(Range<usize>, Id)>,
}

impl Tokenizer {
    /// Reads a text segment by segment. If it `goes_on`, what more text may change is left out.
    ///
    /// # Errors
    ///
    /// When the text has 4 GiB or more.
    pub fn segments<'a>(
        &'a self,
        text: &'a [u8],
        allowed: &'a AllowedSpecials,
        goes_on: bool,
    ) -> Result<Segments<'a>, Error> {
        refuse_too_long(text)?;
        let settled = if goes_on { allowed.find_incomplete_end(text) } else { text.len() };
        let bytes = BYTES_MIN;
        Ok(Segments {
            tokenizer: self,
            allowed,
            text,
            settled,
            goes_on,
            at: 0,
            bytes,
            special: None,
        })
    }
}

impl Segments<'_> {
    /// Returns where the next segment begins: all before has been handed out.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Tells whether the next segment is a special; cut inside its name, it would be ordinary text.
    #[must_use]
    pub fn is_before_special(&self) -> bool {
        self.special.is_some()
    }

    fn take(&mut self, segment: Segment) -> Option<Segment> {
        self.at = segment.place().end;
        self.bytes = (self.bytes * 2).min(BYTES_MAX);
        Some(segment)
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        if let Some((place, id)) = self.special.take() {
            return self.take(Segment::Special(place, id));
        }
        let mut bytes = self.bytes;
        while self.at < self.settled {
            let end = self.settled.min(self.at.saturating_add(bytes));
            if let Some((place, id)) = self.allowed.find_starting_before(self.text, self.at, end) {
                if place.start == self.at {
                    return self.take(Segment::Special(place, id));
                }
                let ordinary = Segment::Ordinary(self.at..place.start);
                self.special = Some((place, id));
                return self.take(ordinary);
            }
            if end == self.text.len() && !self.goes_on {
                return self.take(Segment::Ordinary(self.at..end));
            }
            if let Some(cut) = self.tokenizer.splitter().last_safe_cut(&self.text[self.at..end]) {
                return self.take(Segment::Ordinary(self.at..self.at + cut));
            }
            if end == self.settled && self.goes_on {
                return None;
            }
            bytes = bytes.saturating_mul(2);
        }
        None
    }
}
