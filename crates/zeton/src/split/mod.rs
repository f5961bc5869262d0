//! Text becomes pieces that no merge crosses. Joined, the pieces are the text.

mod backtracking;
mod dfa;
mod engine_choice;
mod external;
mod family;
mod layers;
mod piece_rules;
mod possible_cuts;
mod safe_cut;
mod splitter;
#[cfg(test)]
mod tests;

pub use engine_choice::{EnginePath, Outside};
pub(crate) use family::BoundarySink;
pub use layers::PieceRule;
pub use piece_rules::Names;
use splitter::Engine;
pub use splitter::{Says, Splitter};
