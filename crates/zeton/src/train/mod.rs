//! A corpus becomes a vocabulary: `count` counts its pieces, `learn` learns merges from the counts.

pub mod count;
pub mod learn;
