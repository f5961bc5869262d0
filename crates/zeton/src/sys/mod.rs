//! Machine and library services that every layer uses: errors, progress, memory, SIMD level, Unicode.

pub mod bounds;
pub mod error;
pub mod huge_buffer;
pub mod progress;
pub(crate) mod sections;
pub(crate) mod simd_level;
pub(crate) mod threads;
pub mod unicode;
