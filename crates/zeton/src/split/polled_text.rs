//! A text for the backtracking engine that polls for signals while it is matched.
//!
//! The regex engine has no hook for a cancellation, but it asks the text for its bytes before each
//! step that may take long. There the text polls, and a signal leaves the engine by unwinding:
//!
//! ```text
//! catch_interrupt ── Matches::next ── … ── PolledText::as_bytes ── poll: a signal
//!        ▲                                                              │
//!        └──────────────── unwinds with `Interrupted` ◀─────────────────┘
//! ```
//!
//! The unwinding is no panic that anybody sees: `resume_unwind` prints nothing. It needs
//! `panic = "unwind"`, Rust's default, which `Cargo.toml` keeps. The search ends with it, and the
//! regex takes a new cache for the next search.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fancy_regex::Input;

use crate::sys::error::Error;
use crate::sys::interrupt::PollPace;

/// A text of UTF-8 that polls for signals.
pub(super) struct PolledText<'t> {
    text: &'t str,
    pace: PollPace,
}

/// The payload of the unwinding.
struct Interrupted(Error);

impl<'t> PolledText<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, pace: PollPace::new() }
    }

    /// Runs a search of the engine in this text, and returns its result.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] if a signal has ended the search. Any other panic continues.
    pub(super) fn catch_interrupt<R>(&self, search: impl FnOnce() -> R) -> Result<R, Error> {
        catch_unwind(AssertUnwindSafe(search)).map_err(|payload| {
            match payload.downcast::<Interrupted>() {
                Ok(interrupted) => interrupted.0,
                Err(payload) => resume_unwind(payload),
            }
        })
    }
}

impl Input for PolledText<'_> {
    type Match<'m>
        = Range<usize>
    where
        Self: 'm;

    fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        if let Err(error) = self.pace.step() {
            resume_unwind(Box::new(Interrupted(error)));
        }
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, at: usize) -> bool {
        self.text.is_char_boundary(at)
    }

    fn is_ascii(&self) -> bool {
        self.text.is_ascii()
    }

    fn prev_codepoint_ix(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        (0..at).rev().find(|&at| bytes[at] & 0xC0 != 0x80).unwrap_or(0)
    }

    fn make_match(&self, start: usize, end: usize) -> Range<usize> {
        start..end
    }

    fn advance_position(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }
}
