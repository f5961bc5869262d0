//! Limits on input that error messages quote.
//!
//! [`super::error::Error`] formats these numbers, so they lie below the layers that enforce them.
//! Each enforcing module re-exports its own limit: for example `vocab` re-exports [`TOKENS_MAX`].

/// The highest id of a token or a special. Ids fit the signed 32-bit integers of tensors.
pub const ID_MAX: u32 = i32::MAX as u32;

/// The most tokens of a vocabulary.
pub const TOKENS_MAX: usize = 1 << 24;

/// The most bytes of all tokens of a vocabulary together.
pub const VOCAB_BYTES_MAX: usize = 1 << 30;

/// The most specials of a tokenizer.
pub const SPECIALS_MAX: usize = 1 << 16;

/// The most bytes of one special's name.
pub const SPECIAL_BYTES_MAX: usize = 1 << 10;

/// The most bytes of all names of specials together. The Aho-Corasick automaton that finds them
/// takes about fifty times their bytes.
pub const SPECIALS_BYTES_MAX: usize = 1 << 20;

/// The most bytes of a pattern.
pub const PATTERN_BYTES_MAX: usize = 1 << 16;

/// The most needles of one search.
pub const NEEDLES_MAX: usize = 1 << 20;

/// The most bytes of all needles of one search together. Their Aho-Corasick automaton takes about
/// fifty times their bytes.
pub const NEEDLES_BYTES_MAX: usize = 1 << 24;

/// The highest version of the `.zeton` format that this crate reads.
pub const FILE_VERSION: u16 = 2;
