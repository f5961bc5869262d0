//! A pattern becomes a grammar and then a transducer, or else a program and then an automaton.
//!
//! `syntax` reads the pattern's text, `grammar` says what it means, `states` how it reads a text, and
//! `transducer` turns that into the table which the splitter interprets. A pattern that is not of the family stops at
//! `grammar`. Then `program` writes what it does with the classes of characters that `points` finds, and `automaton`
//! turns that into a table; `chains` need not read again what was read in vain, and `leaps` takes two steps at once. What
//! stops there too is left to a backtracking engine.

mod automaton;
mod chains;
mod grammar;
mod leaps;
mod points;
mod program;
mod rule;
mod set;
mod states;
mod syntax;
mod transducer;

pub use automaton::Automaton;
pub(crate) use automaton::{Refusal, Step as AutomatonStep};
pub(crate) use chains::Does;
pub use grammar::{Case, Contractions, Grammar, Place};
pub(crate) use leaps::{Leap, Leaps};
pub use rule::Rule;
pub use set::Set;
pub(crate) use syntax::unknown;
pub use transducer::{Actions, Step, Transducer};

/// The longest pattern that is accepted, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1 << 16;

/// nanochat's pattern, the default: words, numbers of at most two digits, punctuation, white space.
pub const NANOCHAT: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
