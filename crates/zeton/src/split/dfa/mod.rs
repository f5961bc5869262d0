//! Splits text by a [`Dfa`](crate::pattern::Dfa): the patterns outside the GPT family.
//!
//! A scan reads characters until the DFA says that a piece ends. If the DFA fails, the piece ends
//! at the *last accept*, the last position where it could have ended, and the text is rescanned
//! from there. For example, `\s+(?!\S)|\s|\S+` on `"   x"` (the table is in `pattern/dfa/mod.rs`):
//!
//! ```text
//! offset  character  state        transition   last accept   piece
//! 0       ␣          0 start      2
//! 1       ␣          2 one blank  3 accept     1
//! 2       ␣          3 blanks     3 accept     2
//! 3       x          3 blanks     rescan                     0..2 "  ", as `(?!\S)` fails at 3
//! 2       ␣          0 start      2
//! 3       x          2 one blank  1 cut                      2..3 " "
//! 4       end        1 text       0 cut                      3..4 "x"
//! ```
//!
//! Three loops do that, from the fastest to the most careful:
//!
//! 1. `interleaved` reads eight streams of a 4 KiB window in turns, two bytes a look-up, by the
//!    table of `pattern/dfa/stride2.rs`, which seldom rescans. It costs some ten instructions for
//!    two bytes.
//! 2. `scan::split_stepwise` reads one character a look-up, where a window cannot be cut or would
//!    rescan too much. It costs some eight cycles a byte, the latency of the look-up.
//! 3. `scan::split_memoized` takes over once more bytes were rescanned than the text has. It
//!    remembers failed scans, so that every pattern takes linear time.
//!
//! With Kimi's pattern, English is encoded at 371 MB/s (ids, warm). It was 283 MB/s with
//! the stride-2 table alone (`docs/notes/splitting.md`, 2026-11-18).

mod interleaved;
mod scan;

use super::family::BoundarySink;
pub(crate) use scan::split;
