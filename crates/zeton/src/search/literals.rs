//! Literals that the engine itself looks for: one by [`Finder`], more by [`FinderMany`].

use std::ops::Range;

use super::{Finder, FinderMany, Found, Options};
use crate::sys::error::Error;

/// One literal or more, ready to be found as they are spelled.
#[derive(Clone, Debug)]
pub(crate) enum Literals {
    /// With its bytes.
    One(Finder, usize),
    Many(FinderMany),
}

impl Literals {
    /// # Errors
    ///
    /// When one is empty or too long, or there are too many.
    pub(crate) fn new<L: AsRef<[u8]>>(literals: &[L], whole_word: bool) -> Result<Self, Error> {
        let options = Options { whole_word, ..Options::default() };
        match literals {
            [literal] => {
                let literal = literal.as_ref();
                Finder::new(literal, options).map(|one| Self::One(one, literal.len()))
            }
            _ => FinderMany::new(literals, options).map(Self::Many),
        }
    }

    /// Returns the first match of those that begin in `starts`: the longest, then the first listed.
    pub(crate) fn find_within(&self, text: &[u8], starts: Range<usize>) -> Option<Found> {
        match self {
            Self::One(one, bytes) => {
                let read = starts.end.saturating_add(bytes - 1);
                let range = one.matches(text, starts.start..read, true).next()?;
                Some(Found { range, needle: 0 })
            }
            Self::Many(many) => many.find_within(text, starts),
        }
    }

    /// Looks through a text from its beginning to its end.
    pub(crate) fn through<'l, 't>(&'l self, text: &'t [u8]) -> Through<'l, 't> {
        Through { literals: self, text, found: Vec::new(), next: 0, read: 0, step: STEP_MIN }
    }
}

/// Bytes that are looked through together, at first and at most.
const STEP_MIN: usize = 1 << 8;
const STEP_MAX: usize = 1 << 14;

/// The matches of literals in one text, many found together where they are dense.
#[derive(Debug)]
pub(crate) struct Through<'l, 't> {
    literals: &'l Literals,
    text: &'t [u8],
    /// The longest match at every place up to `read` where one begins.
    found: Vec<Range<usize>>,
    next: usize,
    read: usize,
    step: usize,
}

impl Through<'_, '_> {
    /// Returns the first match that begins at `from` or later. Places never fall.
    #[inline]
    pub(crate) fn find(&mut self, from: usize) -> Option<Range<usize>> {
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
