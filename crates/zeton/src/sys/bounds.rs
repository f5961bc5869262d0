//! The bounds on input whose refusals name them. The module that enforces a bound re-exports it.

/// The highest id, of a token or a special: ids fit the 32-bit signed integers of tensors.
pub const ID_MAX: u32 = i32::MAX as u32;

/// Tokens that a vocabulary has at most.
pub const TOKENS_MAX: usize = 1 << 24;

/// Bytes that all tokens together have at most.
pub const VOCAB_BYTES_MAX: usize = 1 << 30;

/// Specials that a tokenizer has at most.
pub const SPECIALS_MAX: usize = 1 << 16;

/// Bytes that the name of a special has at most.
pub const SPECIAL_BYTES_MAX: usize = 1 << 10;

/// Bytes that all names of specials together have at most: the automaton that finds them takes some
/// fifty times as many.
pub const SPECIALS_BYTES_MAX: usize = 1 << 20;

/// The longest pattern that is accepted, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1 << 16;

/// Needles that one search looks for together at most.
pub const NEEDLES_MAX: usize = 1 << 20;

/// Bytes that the needles of one search have together at most: their automaton takes some fifty
/// times as many.
pub const NEEDLES_BYTES_MAX: usize = 1 << 24;

/// The highest version of the `.zeton` format that is read.
pub const FILE_VERSION: u16 = 2;
