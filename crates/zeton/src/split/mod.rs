//! Splitting (pre-tokenization): text → pieces that no merge crosses.
//!
//! The pieces, joined, are the text. For example, with nanochat's pattern `"It's 42!"` splits into
//! `It`, `'s`, a blank, `42` and `!`. A [`Splitter`] chooses one of four engines once, when the
//! pattern is compiled:
//!
//! ```text
//! pattern ──┬─ of the family ───────▶ family/          transducer; 64 bytes at a time by SIMD
//!           ├─ one character ahead ─▶ dfa/             DFA, eight streams interleaved
//!           ├─ anything else ───────▶ backtracking     fancy-regex, with a bound on steps
//!           └─ rules ───────────────▶ layers/          around one of these engines
//! a caller's function ──────────────▶ external         splits nothing; the caller does
//! ```
//!
//! | file | content |
//! |---|---|
//! | `splitter` | [`Splitter`]: compiles a pattern, splits texts |
//! | `safe_cut` | positions where a text may be divided without changing its pieces |
//! | `possible_cuts` | positions in a part of a text where a piece may end |
//! | `engine_choice` | [`EnginePath`]: the engine of a pattern, and the reason |
//! | `piece_rules` | [`RuleNames`]: each piece with the name of its rule |
//! | `regex_input` | text of any bytes as UTF-8 for a regex |
//!
//! The figures are in `docs/notes/splitting.md`, the ideas in `docs/design/split.md`.

mod backtracking;
mod dfa;
mod engine_choice;
mod external;
mod family;
mod layers;
mod piece_rules;
mod polled_text;
mod possible_cuts;
mod regex_input;
mod safe_cut;
mod single_piece;
mod splitter;
#[cfg(test)]
mod tests;
mod visit_control;

pub use engine_choice::{EnginePath, FamilyMismatch};
pub(crate) use family::BoundarySink;
pub use layers::PieceRule;
pub use piece_rules::RuleNames;
pub(crate) use safe_cut::INTERRUPTIBLE_BYTES;
use splitter::SplitEngine;
pub use splitter::Splitter;
pub use visit_control::VisitControl;
