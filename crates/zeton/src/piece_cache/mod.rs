//! The piece cache.

mod batch;
mod id_sink;
mod long_ring;
mod scratch;
mod short_table;

pub(crate) use batch::BatchEncoder;
pub(crate) use id_sink::IdSink;
pub use scratch::Scratch;
pub(crate) use scratch::{ScratchGuard, ScratchPool};
