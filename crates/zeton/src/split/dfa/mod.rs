//! Splitting by a DFA.

mod interleaved;
mod scan;

use super::family::Ends;
pub(crate) use scan::split;
