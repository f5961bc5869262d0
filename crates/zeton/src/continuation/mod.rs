//! Continuation: the ids of a text that may go on.
//!
//! More text may change the last ids of a text. [`token_healing`] removes these ids and returns the
//! ids that may stand there instead; [`unstable`] lists every encoding of the last piece, in
//! tiktoken's way. For example, `http:` and `http://` share only their first id by cl100k: 1277 25
//! and 1277 1129.

pub mod token_healing;
pub mod unstable;
