//! A pattern becomes a grammar, and a grammar becomes a transducer.
//!
//! `syntax` reads the pattern's text, `grammar` says what it means, `states` how it reads a text, and
//! `transducer` turns that into the table which the splitter interprets. A pattern that is not of the family stops at
//! `grammar`, and the splitter falls back to a regex engine.

mod grammar;
mod set;
mod states;
mod syntax;
mod transducer;

pub use grammar::{Case, Contractions, Grammar, Place};
pub use set::Set;
pub use transducer::{Actions, Step, Transducer};

/// The longest pattern that is accepted, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1 << 16;

/// nanochat's pattern, the default: words, numbers of at most two digits, punctuation, white space.
pub const NANOCHAT: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
