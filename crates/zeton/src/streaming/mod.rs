//! Streaming: text and ids that arrive in parts.
//!
//! [`Encoder`] turns parts of a text into ids, [`Decoder`] turns parts of an id list into text.
//! Both emit only output that later input cannot change, and buffer the rest. The concatenated
//! output equals the output for the whole input. For example, by cl100k:
//!
//! ```text
//! push             ids emitted        text pending
//! "Hello wor"      9906               " wor"
//! "ld, 語"         1917 11            " 語"
//! finish           9085 103 252
//! ```

mod decoder;
mod encoder;

pub use decoder::{Decoder, DecoderOptions, Utf8Errors};
pub use encoder::Encoder;
