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
//! let learned = zeton::learn::learn(&counts, &zeton::learn::LearnOptions::new(4), &progress)?;
//! let vocab = zeton::Vocab::try_from_merges(&learned.pairs())?;
//! let tokenizer = zeton::Tokenizer::new(vocab, splitter, Vec::new())?;
//!
//! let mut ids = Vec::new();
//! tokenizer.encode(b"slowest", &zeton::AllowedSpecials::none(), &mut ids)?;
//! assert_eq!(tokenizer.decode(&ids)?, b"slowest");
//! # Ok::<(), zeton::Error>(())
//! ```

// The tests of this crate and those of `tests/` share one file; it names the crate from outside.
#[cfg(test)]
extern crate self as zeton;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod testing;

// Each layer imports only from layers above it in this list: `layers.txt` is the whole table.
pub mod continuation;
pub mod decode;
pub mod encode;
pub mod limits;
pub mod merge;
pub mod pattern;
pub mod phrases;
mod piece_cache;
pub mod search;
pub mod split;
pub mod storage;
pub mod streaming;
pub mod sys;
pub mod train;
pub mod vocab;

pub use encode::Tokenizer;
pub use encode::batch::{Batch, TextSource};
pub use split::Splitter;
pub use sys::error::{Error, Kind};
pub use sys::progress::Progress;
pub use train::count::{Counter, Counts};
pub use train::learn;
pub use vocab::specials::{AllowedSpecials, Specials};
pub use vocab::{Id, Vocab};
