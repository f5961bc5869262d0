//! Tokenizers as bytes: the portable file, and the mapped image of its tables.
//!
//! | | [`tokenizer_file`] | [`mapped_image`] |
//! |---|---|---|
//! | holds | pattern, tokens, specials, notes | tokens and the tables built from them |
//! | numbers | little-endian | native byte order |
//! | readers | every version of zeton | only the engine that wrote it |
//! | loading o200k_base | 71–75 ms on one core, 48–52 on two | 4.5 ms |
//!
//! This layer does no I/O on its own: it reads slices and writes to an [`std::io::Write`]. The
//! Python package chooses paths and checks their owner (`docs/cache.md`).

pub mod mapped_image;
pub mod tokenizer_file;
