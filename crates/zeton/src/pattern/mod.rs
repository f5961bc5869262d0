//! A pattern becomes a grammar and then a transducer, or else a program and then an automaton.
//!
//! `syntax` reads the pattern's text, `grammar` says what it means, `states` how it reads a text, and
//! `transducer` turns that into the table which the splitter interprets. A pattern that is not of the family stops at
//! `grammar`. Then `program` writes what it does with the classes of characters that `points` finds, and `automaton`
//! turns that into a table; `chains` need not read again what was read in vain, and `leaps` takes two steps at once. What
//! stops there too is left to a backtracking engine.

pub mod dfa;
pub mod family;
pub mod rules;

pub use dfa::Dfa;
pub(crate) use dfa::{Does, Leap, Leaps, Refusal, Step as AutomatonStep};
pub(crate) use family::unknown;
pub use family::{
    Actions, Case, CharSet, Contractions, Grammar, Place, RuleName, Step, Transducer,
};

pub use crate::sys::bounds::PATTERN_BYTES_MAX;

/// nanochat's pattern, the default: words, numbers of at most two digits, punctuation, white space.
pub const NANOCHAT: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
