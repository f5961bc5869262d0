//! The GPT family of patterns: text of a pattern → [`Grammar`] → [`Transducer`].
//!
//! The patterns of GPT-2, cl100k, o200k, Llama 3, Qwen and nanochat have one form. They differ in
//! twelve choices, which a [`Grammar`] holds. A grammar needs no regex engine: it compiles to a
//! table with two marks, which `split/family/` runs, 64 bytes at a time where the CPU has vectors.
//!
//! ```text
//! r"…|\p{N}{1,3}|…"   the pattern
//!        │ syntax        parse into an Ast; unknown syntax is refused
//!        ▼
//!       Ast
//!        │ grammar       compare with the rules of the family
//!        ▼
//!     Grammar            number_digits_max: Some(3), …
//!        │ meaning       one transition of one state on one character
//!        │ transducer    explore all states, minimise
//!        ▼
//!    Transducer          cl100k: 20 states × 12 classes
//! ```

mod char_set;
mod grammar;
mod meaning;
mod rule_name;
mod syntax;
mod transducer;

pub use char_set::CharSet;
pub use grammar::{ContractionPlace, ContractionRule, Grammar, WordCase};
pub use rule_name::RuleName;
pub(crate) use syntax::find_unsupported;
pub use transducer::{Actions, Transducer, Transition};
