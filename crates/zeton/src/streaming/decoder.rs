//! Ids come one by one; text leaves in whole characters, and ends where it is told to.

use std::collections::VecDeque;
use std::mem::take;
use std::str;

use unicode_segmentation::UnicodeSegmentation;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::vocab::Id;

/// Bytes of a cluster that are held back at most: no text people read has longer ones.
const CLUSTER_MAX: usize = 1 << 10;

/// What becomes of bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Broken {
    /// They are refused.
    Refused,
    /// Each longest beginning of a character becomes U+FFFD.
    #[default]
    Replaced,
    /// They are left out.
    Ignored,
}

/// What a stream of ids becomes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What becomes of bytes that are not UTF-8.
    pub broken: Broken,
    /// Whether grapheme clusters are kept together, up to a kilobyte each.
    pub whole_clusters: bool,
    /// What ends the text; that which is complete first, and of several the longest.
    pub stops: Vec<String>,
    /// How many ids can be taken back.
    pub rewind_max: usize,
}

/// Ids that are not all there yet.
#[derive(Clone, Debug)]
pub struct Decoder {
    options: Options,
    state: State,
    /// How it was before each of the last ids.
    past: VecDeque<State>,
}

/// Where a stream stands.
#[derive(Clone, Debug, Default)]
struct State {
    /// The beginning of a character.
    begun: Vec<u8>,
    /// Characters that are held back.
    held: String,
    /// Characters that were handed out.
    given: usize,
    /// Which stop has ended the text.
    stopped: Option<usize>,
}

impl Decoder {
    /// Begins a text.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, state: State::default(), past: VecDeque::new() }
    }

    /// Takes more ids, and appends the characters that are whole. After a stop there are none.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing, or the bytes are refused; nothing is then taken.
    pub fn push(
        &mut self,
        tokenizer: &Tokenizer,
        ids: &[Id],
        text: &mut String,
    ) -> Result<(), Error> {
        for &id in ids {
            tokenizer.token(id)?;
        }
        if self.options.broken == Broken::Refused {
            let (mut state, mut tried) = (self.state.clone(), String::new());
            for &id in ids {
                state.take(tokenizer.token(id)?, &self.options, &mut tried)?;
            }
        }
        let lost = ids.len().saturating_sub(self.options.rewind_max);
        for (number, &id) in ids.iter().enumerate() {
            if number >= lost {
                self.remember();
            }
            self.state.take(tokenizer.token(id)?, &self.options, text)?;
        }
        Ok(())
    }

    fn remember(&mut self) {
        if self.past.len() == self.options.rewind_max {
            self.past.pop_front();
        }
        self.past.push_back(self.state.clone());
    }

    /// Hands out what is held back, and begins another text.
    ///
    /// # Errors
    ///
    /// When the text ends inside a character, and that is refused.
    pub fn flush(&mut self, text: &mut String) -> Result<(), Error> {
        let broken = self.options.broken;
        if !self.state.begun.is_empty() && broken == Broken::Refused {
            return Err(Error::NotUtf8 { bytes: self.state.begun.clone() });
        }
        let State { begun, mut held, .. } = take(&mut self.state);
        self.past.clear();
        let before = held.len();
        if !begun.is_empty() && broken == Broken::Replaced {
            held.push(char::REPLACEMENT_CHARACTER);
        }
        let stop = first_stop(&held, before, &self.options.stops);
        text.push_str(&held[..stop.map_or(held.len(), |(start, _)| start)]);
        Ok(())
    }

    /// Takes the last `count` ids back, and returns how many characters that were handed out are
    /// to be taken back with them.
    ///
    /// # Errors
    ///
    /// When so many ids are not remembered.
    pub fn rewind(&mut self, count: usize) -> Result<usize, Error> {
        let remembered = self.past.len();
        let Some(left) = remembered.checked_sub(count) else {
            return Err(Error::RewindTooFar { ids: count, remembered });
        };
        let given = self.state.given;
        if let Some(state) = self.past.drain(left..).next() {
            self.state = state;
        }
        Ok(given - self.state.given)
    }

    /// Returns the stop that has ended the text.
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        self.state.stopped.map(|stop| self.options.stops[stop].as_str())
    }
}

impl State {
    fn take(&mut self, token: &[u8], options: &Options, text: &mut String) -> Result<(), Error> {
        if self.stopped.is_some() {
            return Ok(());
        }
        let is_plain = self.begun.is_empty() && options.stops.is_empty() && !options.whole_clusters;
        if is_plain && let Ok(token) = str::from_utf8(token) {
            text.push_str(token);
            self.given += token.chars().count();
            return Ok(());
        }
        let length = self.held.len();
        self.read(token, options.broken)?;
        let end = self.end_of_known(length, options);
        text.push_str(&self.held[..end]);
        self.given += self.held[..end].chars().count();
        self.held.drain(..end);
        if self.stopped.is_some() {
            (self.held, self.begun) = Default::default();
        }
        Ok(())
    }

    /// Appends the characters of more bytes to what is held.
    fn read(&mut self, token: &[u8], broken: Broken) -> Result<(), Error> {
        self.begun.extend_from_slice(token);
        let bytes = take(&mut self.begun);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let error = match str::from_utf8(rest) {
                Ok(text) => {
                    self.held.push_str(text);
                    return Ok(());
                }
                Err(error) => error,
            };
            let (text, bad) = rest.split_at(error.valid_up_to());
            self.held.push_str(str::from_utf8(text).expect("it is valid up to there"));
            let Some(length) = error.error_len() else {
                self.begun = bad.to_vec();
                return Ok(());
            };
            match broken {
                Broken::Refused => return Err(Error::NotUtf8 { bytes: bad[..length].to_vec() }),
                Broken::Replaced => self.held.push(char::REPLACEMENT_CHARACTER),
                Broken::Ignored => {}
            }
            rest = &bad[length..];
        }
        Ok(())
    }

    /// Returns how much of what is held can be handed out; `before` is how much was held before.
    fn end_of_known(&mut self, before: usize, options: &Options) -> usize {
        let mut end = self.held.len();
        if !options.stops.is_empty() {
            if let Some((start, stop)) = first_stop(&self.held, before, &options.stops) {
                self.stopped = Some(stop);
                return start;
            }
            end = begun_stop(&self.held, &options.stops);
        }
        if options.whole_clusters && self.held.len() < CLUSTER_MAX {
            let last = self.held.grapheme_indices(true).next_back();
            end = end.min(last.map_or(0, |(at, _)| at));
            // A cluster that the held end of a stop would cut is held as well.
            let clusters = self.held.grapheme_indices(true).map(|(at, _)| at);
            end = clusters.take_while(|&at| at <= end).last().unwrap_or(0);
        }
        end
    }
}

/// Finds the stop that is complete first, and of several the longest; none ends before `before`.
fn first_stop(text: &str, before: usize, stops: &[String]) -> Option<(usize, usize)> {
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

/// Returns where the longest end of a text begins that may become a stop.
fn begun_stop(text: &str, stops: &[String]) -> usize {
    let begun = stops.iter().filter_map(|stop| {
        let lengths = (1..stop.len().min(text.len() + 1)).rev();
        let mut begun = lengths.filter(|&length| stop.is_char_boundary(length));
        begun.find(|&length| text.ends_with(&stop[..length]))
    });
    text.len() - begun.max().unwrap_or(0)
}
