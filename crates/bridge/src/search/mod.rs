//! Search for Python: needles and texts of characters, bytes and ids.

mod finder;

pub(crate) use finder::{Finder, FinderMany};
