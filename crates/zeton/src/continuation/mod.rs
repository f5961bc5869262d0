//! Ids that may follow a text.

pub mod token_healing;
pub mod unstable;
