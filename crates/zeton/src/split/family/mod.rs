//! Splitting by the patterns of the family (GPT-2, cl100k, o200k and their relatives).
//!
//! | file | content |
//! |---|---|
//! | `scalar` | runs the transducer, one character a step: the reference |
//! | `simd` | the loop over blocks of 64 bytes, and the sinks of piece ends |
//! | `classify` | a block → one bit mask per class of characters |
//! | `boundary_masks` | these masks → the mask of cuts |
//! | `contractions` | `'s`, `'ll` and others, within a block |

mod boundary_masks;
mod classify;
mod contractions;
pub(crate) mod scalar;
pub(crate) mod simd;

pub(crate) use boundary_masks::{MaskAlgebra, WordCarry};
pub(crate) use classify::AsciiMasks;
pub(crate) use simd::BoundarySink;
pub(crate) use simd::PieceVisitor;
