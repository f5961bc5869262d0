//! The piece cache.

mod batch;
mod id_sink;
mod long_ring;
mod scratch;
mod short_table;

pub(crate) use batch::Chunks;
pub(crate) use id_sink::Taker;
pub use scratch::Scratch;
pub(crate) use scratch::{Lent, Pool};
