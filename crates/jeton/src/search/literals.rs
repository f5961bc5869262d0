//! Literals that the engine itself looks for: one by [`Finder`], more by [`FinderMany`].

use std::ops::Range;

use super::{Finder, FinderMany, Found, Options};
use crate::error::Error;

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
}
