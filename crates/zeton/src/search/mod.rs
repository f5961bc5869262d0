//! Exact search: one needle, many needles, whole words, and phrases in ids.
//!
//! | file | content |
//! |---|---|
//! | `finder` | one needle in bytes; one sequence of ids |
//! | `needle` | Boyer-Moore with a SIMD filter: linear time for any text |
//! | `many` | many needles in one pass |
//! | `word_table` | many whole words, looked up by the first word of each |
//! | `folded_text` | case-folded text, and positions in it |
//! | `literals` | special tokens, and the literals of rules |
//! | `block_ops` | comparisons of 64 elements, for each SIMD level |
//! | `element` | bytes and ids as elements, with their frequencies |
//!
//! A **whole word** is a match without a word character directly before or behind it. Word
//! characters are the matches of `\w` of the crate `regex`. For example, `C++` is a whole word in
//! `C++,` and in `C+++`, and not in `C++11`. **Case-insensitive** means equal by simple case
//! folding, as `(?i)` of the crate `regex`. An invalid byte is no word character and equals only
//! itself.
//!
//! The ideas and figures are in `docs/design/search.md`.

mod block_ops;
mod element;
mod finder;
mod folded_text;
mod literals;
mod many;
mod needle;
#[cfg(test)]
mod tests;
mod word_table;

pub use element::Element;
pub use finder::{Finder, Matches, Positions, Sequence};
pub(crate) use literals::{LiteralScan, Literals};
pub use many::{FinderMany, NeedleMatch};

/// Maximum number of elements of one needle, so that positions in it fit 32 bits.
pub const NEEDLE_MAX: usize = 1 << 30;

pub use crate::sys::bounds::{NEEDLES_BYTES_MAX, NEEDLES_MAX};

/// Maximum length of one of many needles. The longest match at a position is known only after that
/// many bytes behind it.
pub const NEEDLE_BYTES_MAX: usize = 1 << 14;

/// Options of a search.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct SearchOptions {
    /// A match has no word characters directly before and behind it.
    pub whole_word: bool,
    /// Characters that differ by case alone are equal.
    pub ignore_case: bool,
}
