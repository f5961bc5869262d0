//! A text a stretch at a time, from either end: each stretch has the ids that it has within the whole.
//!
//! Who needs the first thousand ids of a text reads that much of it; who is handed a text bit by bit
//! learns what no later text can change. A stretch ends at a special, or where the pattern cuts
//! whatever stands around it.

use std::ops::Range;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::Allowed;

/// Bytes that the first stretch is looked for in; where there is no cut, and for each stretch that
/// follows, twice as many, up to the other number.
const BYTES_MIN: usize = 1 << 10;
const BYTES_MAX: usize = 1 << 13;

/// A part of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Stretch {
    /// Text that is encoded on its own.
    Ordinary(Range<usize>),
    /// The name of a special, which has this id.
    Special(Range<usize>, Id),
}

impl Stretch {
    /// Returns where in the text it is.
    #[must_use]
    pub fn place(&self) -> &Range<usize> {
        match self {
            Self::Ordinary(place) | Self::Special(place, _) => place,
        }
    }
}

/// The stretches of a text from its beginning on.
#[derive(Debug)]
pub struct Stretches<'a> {
    tokenizer: &'a Tokenizer,
    allowed: &'a Allowed,
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
    /// Reads a text stretch by stretch. If it `goes_on`, what more text may change is left out.
    ///
    /// # Errors
    ///
    /// When the text has 4 GiB or more.
    pub fn stretches<'a>(
        &'a self,
        text: &'a [u8],
        allowed: &'a Allowed,
        goes_on: bool,
    ) -> Result<Stretches<'a>, Error> {
        refuse_too_long(text)?;
        let settled = if goes_on { allowed.begun_at(text) } else { text.len() };
        let bytes = BYTES_MIN;
        Ok(Stretches {
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

impl Stretches<'_> {
    /// Returns where the next stretch begins: all before has been handed out.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Tells whether the next stretch is a special; cut inside its name, it would be ordinary text.
    #[must_use]
    pub fn is_before_special(&self) -> bool {
        self.special.is_some()
    }

    fn take(&mut self, stretch: Stretch) -> Option<Stretch> {
        self.at = stretch.place().end;
        self.bytes = (self.bytes * 2).min(BYTES_MAX);
        Some(stretch)
    }
}

impl Iterator for Stretches<'_> {
    type Item = Stretch;

    fn next(&mut self) -> Option<Stretch> {
        if let Some((place, id)) = self.special.take() {
            return self.take(Stretch::Special(place, id));
        }
        let mut bytes = self.bytes;
        while self.at < self.settled {
            let end = self.settled.min(self.at.saturating_add(bytes));
            if let Some((place, id)) = self.allowed.find_before(self.text, self.at, end) {
                if place.start == self.at {
                    return self.take(Stretch::Special(place, id));
                }
                let ordinary = Stretch::Ordinary(self.at..place.start);
                self.special = Some((place, id));
                return self.take(ordinary);
            }
            if end == self.text.len() && !self.goes_on {
                return self.take(Stretch::Ordinary(self.at..end));
            }
            if let Some(cut) = self.tokenizer.splitter().last_safe_cut(&self.text[self.at..end]) {
                return self.take(Stretch::Ordinary(self.at..self.at + cut));
            }
            if end == self.settled && self.goes_on {
                return None;
            }
            bytes = bytes.saturating_mul(2);
        }
        None
    }
}
