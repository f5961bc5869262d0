//! Machine and library services for every layer: errors, progress, memory, SIMD level, Unicode.
//!
//! This is the lowest layer: it imports from none. `docs/design/sys.md` describes it.
//!
//! | module | content |
//! |---|---|
//! | [`bounds`] | limits on input that error messages quote |
//! | [`error`] | [`error::Error`], the one error type of the crate |
//! | [`huge_buffer`] | arrays in huge pages or in a mapped file, and `prefetch` |
//! | [`interrupt`] | signals that end long work |
//! | [`progress`] | progress of long work, and cancellation |
//! | `sections` | tables as arrays of plain values, for the mapped image |
//! | `simd_level` | run-time detection of vector instructions |
//! | `threads` | scoped worker threads |
//! | [`unicode`] | character classes, scripts, case folding, UTF-8 conversion |

pub mod bounds;
pub mod error;
mod error_message;
pub mod huge_buffer;
pub mod interrupt;
pub mod progress;
pub(crate) mod sections;
pub(crate) mod simd_level;
pub(crate) mod threads;
pub mod unicode;
