//! Byte pair encoding, exact, in the order the data flows.
//!
//! ```text
//! text   --split-->  pieces  --merge-->  ids  --decode-->  bytes
//! corpus --count-->  counts  --learn-->  Vocab  --file-->  bytes
//! ```
//!
//! A [`Tokenizer`] is a [`Vocab`], a [`Splitter`] and [`Specials`]; each is valid once it exists and
//! never changes. This crate knows nothing of Python and does no I/O that it was not handed;
//! `python/zeton/reference.py` is its specification.
//!
//! ```
//! let splitter = zeton::Splitter::new(zeton::pattern::NANOCHAT)?;
//! let progress = zeton::Progress::default();
//! let mut counter = zeton::Counter::new(splitter.clone(), 1, None);
//! counter.add(&[b"low lower lowest"], 1, &progress)?;
//! let counts = counter.finish(1, &progress)?;
//! let learned = zeton::learn::learn(&counts, &zeton::learn::Goal::merges(4), &progress)?;
//! let vocab = zeton::Vocab::from_merges(&learned.pairs())?;
//! let tokenizer = zeton::Tokenizer::new(vocab, splitter, Vec::new())?;
//!
//! let mut ids = Vec::new();
//! tokenizer.encode(b"slowest", &zeton::Allowed::none(), &mut ids)?;
//! assert_eq!(tokenizer.decode(&ids)?, b"slowest");
//! # Ok::<(), zeton::Error>(())
//! ```

#[cfg(test)]
mod testing;

// What all parts share.
mod error;
pub mod huge;
mod index;
mod progress;
mod short;
mod tier;
pub mod unicode;
pub mod vocab;

// Text becomes ids, ids become text.
mod batch;
mod chunk;
pub mod cut;
pub mod decode;
pub mod encode;
pub mod explain;
pub mod heal;
pub mod merge;
pub mod offsets;
pub mod pattern;
pub mod phrase;
pub mod rules;
pub mod search;
pub mod specials;
pub mod split;
pub mod stream;
pub mod stretch;
pub mod unsettled;

// A corpus becomes a vocabulary, a vocabulary becomes a file, and tables that can be mapped.
pub mod count;
pub mod file;
pub mod image;
pub mod learn;

pub use batch::{Batch, Readable};
pub use count::{Counter, Counts};
pub use encode::Tokenizer;
pub use error::{Error, Kind};
pub use progress::Progress;
pub use specials::{Allowed, Specials};
pub use split::Splitter;
pub use vocab::{Id, Vocab};
