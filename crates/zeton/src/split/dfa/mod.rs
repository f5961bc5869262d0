//! Splitting by a DFA.

mod interleaved;
mod scan;

use super::family::BoundarySink;
pub(crate) use scan::split;
