//! Exact byte pair encoding (BPE), fast.
//!
//! ```text
//! text   --split-->  pieces  --merge-->  ids  --decode-->  bytes
//! corpus --count-->  counts  --learn-->  Vocab  --write-->  .zeton file
//! ```
//!
//! For example, with cl100k_base `"Hello, world"` splits (pre-tokenizes) into `"Hello"`, `","` and
//! `" world"`, and merges to the ids 9906, 11 and 1917.
//!
//! A [`Tokenizer`] consists of a [`Vocab`], a [`Splitter`] and [`Specials`]. Each of them is
//! validated by its constructor and immutable afterwards. The crate knows nothing of Python, and
//! reads and writes only through the slices and writers that it is passed.
//! `python/zeton/reference.py` is the specification: the tests compare every fast path with it.
//!
//! # Layers
//!
//! A module imports only from the layers below its own. `layers.txt` has the allowed imports as
//! data, and a test checks them:
//!
//! ```text
//! limits  continuation  streaming  phrases  storage  train
//! encode                           specials, batches, threads, offsets
//! decode  piece_cache              ids → bytes; a thread's cache from piece to ids
//! split  merge                     text → pieces; piece → ids
//! vocab  pattern                   tokens and specials; pattern → transducer or DFA
//! search                           needles in bytes
//! sys                              errors, memory, SIMD level, threads, Unicode
//! ```
//!
//! # Example
//!
//! Train a tokenizer of four merges, encode a word that was not in the corpus, and decode it:
//!
//! ```
//! let splitter = zeton::Splitter::parse(zeton::pattern::NANOCHAT)?;
//! let progress = zeton::Progress::default();
//! let mut counter = zeton::Counter::new(splitter.clone(), 1, None);
//! counter.add(&[b"low lower lowest"], 1, &progress)?;
//! let counts = counter.finish(1, &progress)?;
//! let learned = zeton::learn::learn(&counts, &zeton::learn::LearnOptions::new(4), &progress)?;
//! let vocab = zeton::Vocab::try_from_merges(&learned.pairs())?;
//! let tokenizer = zeton::Tokenizer::try_from_vocab(vocab, splitter, Vec::new())?;
//!
//! let mut ids = Vec::new();
//! tokenizer.encode(b"slowest", &zeton::AllowedSpecials::none(), &mut ids)?;
//! assert_eq!(tokenizer.decode(&ids)?, b"slowest");
//! # Ok::<(), zeton::Error>(())
//! ```

// Unit tests and the tests in `tests/` share `tests/support`, which names the crate as `zeton`.
#[cfg(test)]
extern crate self as zeton;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod testing;

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
pub use encode::batch::{EncodedBatch, TextSource};
pub use split::Splitter;
pub use sys::error::{Error, ErrorKind};
pub use sys::progress::Progress;
pub use train::count::{Counter, Counts};
pub use train::learn;
pub use vocab::specials::{AllowedSpecials, Specials};
pub use vocab::{Id, Vocab};
