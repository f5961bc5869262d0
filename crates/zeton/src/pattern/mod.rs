//! Patterns: a regular expression, or rules, compiled to a table that splits text.
//!
//! A *pattern* cuts a text into pieces (pre-tokenization), and no merge crosses a cut. A pattern is
//! compiled once, when a tokenizer is built, in the first of three ways that can express it
//! exactly:
//!
//! ```text
//!            ┌─ family/  the GPT patterns ────────▶ Grammar ─▶ Transducer
//! pattern ───┼─ dfa/     lookahead ≤ 1 character ─▶ Nfa ─▶ Dfa ─▶ Stride2Table
//!            └─ neither  `split/backtracking.rs`, on the crate `fancy_regex`
//!
//! rules ──────▶ rules/   a pattern, and layers around it (`split/layers/`)
//! ```
//!
//! For example, [`NANOCHAT`] becomes a transducer and `\w+|\W` a DFA. `(\w)\1|(?s:.)` refers back
//! to a group, so that only a backtracking engine can run it. `split/` interprets the tables. The
//! page `docs/design/pattern.md` walks one pattern through each way.

pub mod dfa;
pub mod family;
pub mod rules;

pub use dfa::Dfa;
pub(crate) use dfa::{DfaAction, DfaBuildError, DfaTransition, Stride2Entry, Stride2Table};
pub(crate) use family::find_unsupported;
pub use family::{
    Actions, CharSet, ContractionPlace, ContractionRule, Grammar, RuleName, Transducer, Transition,
    WordCase,
};

pub use crate::sys::bounds::PATTERN_BYTES_MAX;

/// nanochat's pattern, the default: words, numbers of at most two digits, punctuation, white space.
pub const NANOCHAT: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
