//! Patterns of the GPT family as a transducer.

mod char_set;
mod grammar;
mod meaning;
mod rule_name;
mod syntax;
mod transducer;

pub use char_set::CharSet;
pub use grammar::{Case, Contractions, Grammar, Place};
pub use rule_name::RuleName;
pub(crate) use syntax::unknown;
pub use transducer::{Actions, Step, Transducer};
