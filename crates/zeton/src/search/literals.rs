//! A set of literals that the engine itself searches for: special tokens, and the literals of
//! rules.
//!
//! One literal is found by [`Finder`], more by [`FinderMany`]. For example, the specials of a
//! tokenizer are one `Literals`, and each text is scanned for them before it is split.

use std::ops::Range;

use super::{Finder, FinderMany, NeedleMatch, SearchOptions};
use crate::sys::error::Error;

/// One or more literals, found exactly.
#[derive(Clone, Debug)]
pub(crate) enum Literals {
    /// The literal, and its length in bytes.
    One(Finder, usize),
    Many(FinderMany),
}

impl Literals {
    /// Builds the tables of literals.
    ///
    /// # Errors
    ///
    /// If a literal is empty or too long, or there are too many.
    pub(crate) fn try_from_literals<L: AsRef<[u8]>>(
        literals: &[L],
        whole_word: bool,
    ) -> Result<Self, Error> {
        let options = SearchOptions { whole_word, ..SearchOptions::default() };
        match literals {
            [literal] => {
                let literal = literal.as_ref();
                Finder::try_from_needle(literal, options).map(|one| Self::One(one, literal.len()))
            }
            _ => FinderMany::try_from_needles(literals, options).map(Self::Many),
        }
    }

    /// Returns the first match that starts within `starts`: the longest there, then the first
    /// listed. Special tokens are found by it.
    pub(crate) fn find_within(&self, text: &[u8], starts: Range<usize>) -> Option<NeedleMatch> {
        match self {
            Self::One(one, bytes) => {
                let read = starts.end.saturating_add(bytes - 1);
                let range = one.matches(text, starts.start..read, true).next()?;
                Some(NeedleMatch { range, needle: 0 })
            }
            Self::Many(many) => many.find_within(text, starts),
        }
    }

    /// Starts a scan through a text. The layers of rules call it once a text.
    pub(crate) fn scan<'l, 't>(&'l self, text: &'t [u8]) -> LiteralScan<'l, 't> {
        LiteralScan { literals: self, text, found: Vec::new(), next: 0, read: 0, step: STEP_MIN }
    }
}

/// Bytes of text that are searched together: at first, and at most. The number doubles, because a
/// text with few matches probably continues so. Not measured.
const STEP_MIN: usize = 1 << 8;
const STEP_MAX: usize = 1 << 14;

/// A scan for literals through one text. Dense matches of many literals are found together.
#[derive(Debug)]
pub(crate) struct LiteralScan<'l, 't> {
    literals: &'l Literals,
    text: &'t [u8],
    /// The longest match at each position below `read` where one starts.
    found: Vec<Range<usize>>,
    next: usize,
    read: usize,
    step: usize,
}

impl LiteralScan<'_, '_> {
    /// Returns the first match that starts at `from` or later. `from` never decreases from call to
    /// call.
    #[inline]
    pub(crate) fn find_next(&mut self, from: usize) -> Option<Range<usize>> {
        loop {
            while let Some(found) = self.found.get(self.next) {
                if found.start >= from {
                    return Some(found.clone());
                }
                self.next += 1;
            }
            let start = self.read.max(from);
            if start >= self.text.len() {
                return None;
            }
            let end = self.text.len().min(start + self.step);
            self.found.clear();
            (self.next, self.read) = (0, end);
            self.step = STEP_MAX.min(self.step * 2);
            let together = match self.literals {
                Literals::One(..) => false,
                Literals::Many(many) => many.longest_within(self.text, start..end, &mut self.found),
            };
            if !together {
                let first = self.literals.find_within(self.text, start..self.text.len())?;
                self.read = first.range.start + 1;
                self.found.push(first.range);
            }
        }
    }
}
