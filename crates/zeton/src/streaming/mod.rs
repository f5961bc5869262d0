//! Text and ids as they come: what no more of them can change is handed out, the rest is held back.

mod decoder;
mod encoder;

pub use decoder::{Broken, Decoder, Options};
pub use encoder::Encoder;
