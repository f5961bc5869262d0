//! A tokenizer and its tables as bytes.

pub mod mapped_image;
pub mod tokenizer_file;
