//! Exact search: one needle by Boyer and Moore, many by an automaton or by their first words; whole
//! words, and letters whatever their case.
//!
//! A **whole word** is a match with no character of a word right before it and none right after it; a character of a
//! word is what the `regex` crate's `\w` matches. **Whatever the case** means that characters are the
//! same which the `regex` crate's `(?i)` takes for the same. A byte that is not UTF-8 is of no word.

mod finder;
mod folded;
mod lanes;
mod literals;
mod many;
mod needle;
#[cfg(test)]
mod tests;
mod words;

pub use finder::{Finder, Matches, Places, Sequence};
pub use lanes::Element;
pub(crate) use literals::{Literals, Through};
pub use many::{FinderMany, Found};

/// Elements that one needle has at most.
pub const NEEDLE_MAX: usize = 1 << 30;

pub use crate::sys::bounds::{NEEDLES_BYTES_MAX, NEEDLES_MAX};

/// Bytes that one of many needles has at most: a match is certain only so far after its start.
pub const NEEDLE_BYTES_MAX: usize = 1 << 14;

/// How a needle is to be found.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Options {
    /// Only where the characters beside a match are no characters of words.
    pub whole_word: bool,
    /// Characters that differ by case alone are the same.
    pub ignore_case: bool,
}
