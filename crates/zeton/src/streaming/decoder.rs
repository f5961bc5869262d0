//! The streaming decoder: ids arrive in parts, and text leaves in whole characters.
//!
//! A token may end inside a character, so its last bytes wait for the next token. A stop string
//! ends the text before it. The end of the text that may become a stop waits, too. For example, by
//! cl100k with the stop `ool`:
//!
//! ```text
//! id      token        partial_char   pending   text emitted
//! 37227   `too`                       oo        t
//! 7155    ` cool`                               oo c            found_stop: `ool`
//! 297     ` o`                                                  no text after a stop
//!
//! 45918   `\xE8\xAA`   E8 AA
//! 252     `\x9E`                                語
//! ```
//!
//! `rewind` takes back the last ids: a snapshot of the stream's state is kept before each of the
//! last `rewind_max` ids.
//!
//! Cost: 160 to 290 ns for an id that is pushed alone, and 14 to 20 million ids a second in lists
//! of 1,000 (`docs/notes/services.md`).

use std::collections::VecDeque;
use std::mem::take;
use std::str;

use unicode_segmentation::UnicodeSegmentation;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::vocab::Id;

/// Pending bytes from which on grapheme clusters may be cut: 1 KiB. Not measured; readable text has
/// no cluster of this length.
const CLUSTER_BYTES_MAX: usize = 1 << 10;

/// The handling of bytes that are not UTF-8, as in Python's `bytes.decode`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Utf8Errors {
    /// Invalid bytes are an error.
    Strict,
    /// Each longest incomplete character becomes U+FFFD.
    #[default]
    Replace,
    /// Invalid bytes are left out.
    Ignore,
}

/// The options of a [`Decoder`].
#[derive(Clone, Debug, Default)]
pub struct DecoderOptions {
    /// The handling of bytes that are not UTF-8.
    pub utf8_errors: Utf8Errors,
    /// Whether grapheme clusters are kept together, up to a kilobyte each.
    pub keep_graphemes: bool,
    /// Strings that end the text. The stop that is complete first wins, and then the longest.
    pub stops: Vec<String>,
    /// The number of ids that [`Decoder::rewind`] can take back.
    pub rewind_max: usize,
}

/// A decoder for ids that arrive in parts. Its texts, joined, are the text of all ids.
#[derive(Clone, Debug)]
pub struct Decoder {
    options: DecoderOptions,
    state: StreamState,
    /// The states before each of the last ids, the oldest first.
    snapshots: VecDeque<StreamState>,
}

/// The state of a stream between two ids.
#[derive(Clone, Debug, Default)]
struct StreamState {
    /// The first bytes of an incomplete character.
    partial_char: Vec<u8>,
    /// Whole characters that are not emitted yet.
    pending: String,
    /// The number of characters emitted so far.
    emitted_chars: usize,
    /// The number of the stop that has ended the text.
    found_stop: Option<usize>,
}

impl Decoder {
    /// Makes a decoder at the start of a text, with nothing decoded yet.
    #[must_use]
    pub fn new(options: DecoderOptions) -> Self {
        Self { options, state: StreamState::default(), snapshots: VecDeque::new() }
    }

    /// Takes more ids and appends the characters that they complete. After a stop there are none.
    ///
    /// # Errors
    ///
    /// When an id is unknown, or bytes are not UTF-8 and that is an error. The decoder is then as
    /// it was before the call.
    pub fn push(
        &mut self,
        tokenizer: &Tokenizer,
        ids: &[Id],
        text: &mut String,
    ) -> Result<(), Error> {
        for &id in ids {
            tokenizer.token(id)?;
        }
        if self.options.utf8_errors == Utf8Errors::Strict {
            // A trial run on a copy finds an error before the state changes.
            let (mut state, mut dropped) = (self.state.clone(), String::new());
            for &id in ids {
                state.push_token(tokenizer.token(id)?, &self.options, &mut dropped)?;
            }
        }
        let first_kept = ids.len().saturating_sub(self.options.rewind_max);
        for (number, &id) in ids.iter().enumerate() {
            if number >= first_kept {
                self.save_snapshot();
            }
            self.state.push_token(tokenizer.token(id)?, &self.options, text)?;
        }
        Ok(())
    }

    /// Copies the current state, for a later rewind, and drops the oldest copy if there are
    /// `rewind_max`.
    fn save_snapshot(&mut self) {
        if self.snapshots.len() == self.options.rewind_max {
            self.snapshots.pop_front();
        }
        self.snapshots.push_back(self.state.clone());
    }

    /// Appends the pending text and begins another text.
    ///
    /// # Errors
    ///
    /// When the text ends inside a character and that is an error.
    pub fn finish(&mut self, text: &mut String) -> Result<(), Error> {
        let utf8_errors = self.options.utf8_errors;
        if !self.state.partial_char.is_empty() && utf8_errors == Utf8Errors::Strict {
            return Err(Error::NotUtf8 { bytes: self.state.partial_char.clone() });
        }
        let StreamState { partial_char, mut pending, .. } = take(&mut self.state);
        self.snapshots.clear();
        let before = pending.len();
        if !partial_char.is_empty() && utf8_errors == Utf8Errors::Replace {
            pending.push(char::REPLACEMENT_CHARACTER);
        }
        let stop = find_first_stop(&pending, before, &self.options.stops);
        text.push_str(&pending[..stop.map_or(pending.len(), |(start, _)| start)]);
        Ok(())
    }

    /// Takes back the last `count` ids. Returns the number of emitted characters that the caller
    /// has to take back with them.
    ///
    /// # Errors
    ///
    /// When fewer than `count` snapshots are kept.
    pub fn rewind(&mut self, count: usize) -> Result<usize, Error> {
        let remembered = self.snapshots.len();
        let Some(left) = remembered.checked_sub(count) else {
            return Err(Error::RewindTooFar { ids: count, remembered });
        };
        let emitted_chars = self.state.emitted_chars;
        if let Some(state) = self.snapshots.drain(left..).next() {
            self.state = state;
        }
        Ok(emitted_chars - self.state.emitted_chars)
    }

    /// Returns the stop string that has ended the text, or `None` while the text goes on.
    #[must_use]
    pub fn found_stop(&self) -> Option<&str> {
        self.state.found_stop.map(|stop| self.options.stops[stop].as_str())
    }
}

impl StreamState {
    /// Takes the bytes of one token, and appends the characters that are now final to `text`. After
    /// a stop it does nothing. Bytes that are not UTF-8 are an error under [`Utf8Errors::Strict`].
    fn push_token(
        &mut self,
        token: &[u8],
        options: &DecoderOptions,
        text: &mut String,
    ) -> Result<(), Error> {
        if self.found_stop.is_some() {
            return Ok(());
        }
        let is_plain =
            self.partial_char.is_empty() && options.stops.is_empty() && !options.keep_graphemes;
        if is_plain && let Ok(token) = str::from_utf8(token) {
            text.push_str(token);
            self.emitted_chars += token.chars().count();
            return Ok(());
        }
        let length = self.pending.len();
        self.push_bytes(token, options.utf8_errors)?;
        let end = self.find_final_end(length, options);
        text.push_str(&self.pending[..end]);
        self.emitted_chars += self.pending[..end].chars().count();
        self.pending.drain(..end);
        if self.found_stop.is_some() {
            (self.pending, self.partial_char) = Default::default();
        }
        Ok(())
    }

    /// Appends the whole characters of a token to the pending text, and keeps the bytes of an
    /// incomplete one. Bytes that are not UTF-8 are replaced, left out or an error, as
    /// `utf8_errors` says.
    fn push_bytes(&mut self, token: &[u8], utf8_errors: Utf8Errors) -> Result<(), Error> {
        self.partial_char.extend_from_slice(token);
        let bytes = take(&mut self.partial_char);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let error = match str::from_utf8(rest) {
                Ok(text) => {
                    self.pending.push_str(text);
                    return Ok(());
                }
                Err(error) => error,
            };
            let (text, bad) = rest.split_at(error.valid_up_to());
            self.pending
                .push_str(str::from_utf8(text).expect("the text before the error is UTF-8"));
            let Some(length) = error.error_len() else {
                self.partial_char = bad.to_vec();
                return Ok(());
            };
            match utf8_errors {
                Utf8Errors::Strict => return Err(Error::NotUtf8 { bytes: bad[..length].to_vec() }),
                Utf8Errors::Replace => self.pending.push(char::REPLACEMENT_CHARACTER),
                Utf8Errors::Ignore => {}
            }
            rest = &bad[length..];
        }
        Ok(())
    }

    /// Returns the end of the pending text that can be emitted, and notes a stop that is complete.
    /// The first `before` bytes were pending before the last token.
    fn find_final_end(&mut self, before: usize, options: &DecoderOptions) -> usize {
        let mut end = self.pending.len();
        if !options.stops.is_empty() {
            if let Some((start, stop)) = find_first_stop(&self.pending, before, &options.stops) {
                self.found_stop = Some(stop);
                return start;
            }
            end = find_partial_stop(&self.pending, &options.stops);
        }
        if options.keep_graphemes && self.pending.len() < CLUSTER_BYTES_MAX {
            let last = self.pending.grapheme_indices(true).next_back();
            end = end.min(last.map_or(0, |(at, _)| at));
            // A cluster that a partial stop would cut stays pending, too.
            let clusters = self.pending.grapheme_indices(true).map(|(at, _)| at);
            end = clusters.take_while(|&at| at <= end).last().unwrap_or(0);
        }
        end
    }
}

/// Returns the start and the number of the stop that is complete first, and the longest of several.
/// No stop ends within the first `before` bytes.
fn find_first_stop(text: &str, before: usize, stops: &[String]) -> Option<(usize, usize)> {
    let found = stops.iter().enumerate().filter_map(|(number, stop)| {
        let mut from = (before + 1).saturating_sub(stop.len());
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let start = from + text.get(from..)?.find(stop.as_str())?;
        Some((start + stop.len(), start, number))
    });
    found.min().map(|(_, start, number)| (start, number))
}

/// Returns the start of the longest suffix of a text that is a proper prefix of a stop, or the
/// text's length if there is none. The text behind it is held back.
fn find_partial_stop(text: &str, stops: &[String]) -> usize {
    let partial_lengths = stops.iter().filter_map(|stop| {
        let lengths = (1..stop.len().min(text.len() + 1)).rev();
        let mut lengths = lengths.filter(|&length| stop.is_char_boundary(length));
        lengths.find(|&length| text.ends_with(&stop[..length]))
    });
    text.len() - partial_lengths.max().unwrap_or(0)
}
