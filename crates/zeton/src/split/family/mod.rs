//! Splitting by a transducer of the family.

mod boundary_masks;
mod classify;
mod contractions;
pub(crate) mod scalar;
pub(crate) mod simd;

pub(crate) use boundary_masks::{Algebra, Carry};
pub(crate) use classify::Block;
pub(crate) use simd::BoundarySink;
pub(crate) use simd::Pieces;
