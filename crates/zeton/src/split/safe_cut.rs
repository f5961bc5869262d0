//! Safe cuts: positions where a text may be divided, because the pieces of both parts are the
//! pieces of the whole.
//!
//! Streams, threads and truncation divide texts there. A transducer or a DFA proves from its table,
//! for each pair of classes, whether a cut between two such characters is safe in any context. For
//! example, with `\w+|\W`:
//!
//! ```text
//! text       t h e   c a t
//! safe cut        ^ ^           between a letter and a blank, on both sides of the blank
//! ```
//!
//! So finding a safe cut needs only two neighbouring characters. Cuts are searched backwards from
//! the end, and texts of words have one every few bytes. A long run without a safe cut, for example
//! a megabyte of `!`, is read once and becomes one part.

use std::convert::Infallible;

use super::{SplitEngine, Splitter};
use crate::sys::unicode::{CHARACTER_BYTES_MAX, read_char};

/// Bytes in which the first safe cut is searched at first, because words are short. Not measured.
const FIRST_WINDOW_BYTES: usize = 64;

/// Factor by which the window grows after a search without result. Not measured.
const WINDOW_GROWTH: usize = 4;

/// Bytes of a part between two polls for a signal: 4 MiB, which take some 40 ms to encode when all
/// of them are new to the piece cache.
pub(crate) const INTERRUPTIBLE_BYTES: usize = 1 << 22;

/// Bytes before the end of such a part that are searched for a safe cut. Not measured; texts of
/// words have a cut every few bytes.
const CUT_WINDOW_BYTES: usize = 1 << 16;

impl Splitter {
    /// Returns the last position in `text` where it may be divided for any text behind it: the
    /// pieces of both parts are the pieces of the whole. It reads backwards from the end, and stops
    /// at the first pair that is safe. `None` if no pair is, and for backtracking patterns.
    #[must_use]
    pub fn last_safe_cut(&self, text: &[u8]) -> Option<usize> {
        match &self.engine {
            SplitEngine::Scanner { transducer, .. } => self.last_safe_cut_by(
                text,
                |point| transducer.class_of(point),
                |before, after| transducer.is_safe_cut(before, after),
            ),
            SplitEngine::Dfa(automaton) => self.last_safe_cut_by(
                text,
                |point| automaton.class_of(point),
                |before, after| automaton.is_safe_cut(before, after),
            ),
            SplitEngine::Regex { .. } | SplitEngine::Function { .. } => None,
        }
    }

    /// Finds the last safe cut by a table of classes, and by the rules if there are any. With
    /// rules, each pair of characters is also checked by the layers.
    fn last_safe_cut_by(
        &self,
        text: &[u8],
        class_of: impl Fn(u32) -> u8,
        is_safe_cut: impl Fn(u8, u8) -> bool,
    ) -> Option<usize> {
        match &self.layers {
            None => last_safe_cut(text, class_of, is_safe_cut),
            Some(layers) => last_safe_cut(
                text,
                |point| point,
                |before, after| {
                    let by_pattern = is_safe_cut(class_of(before), class_of(after));
                    layers.is_safe_cut(before, after, by_pattern)
                },
            ),
        }
    }

    /// Returns the first position in `text`, in bytes, where it may be divided for any text before
    /// and behind it; `None` if there is none.
    #[must_use]
    pub fn first_safe_cut(&self, text: &[u8]) -> Option<usize> {
        let mut end = FIRST_WINDOW_BYTES;
        loop {
            let mut found = None;
            let mut rest = end.min(text.len());
            while let Some(cut) = self.last_safe_cut(&text[..rest]) {
                found = Some(cut);
                // The character before this cut may be the one behind an earlier cut.
                rest = cut;
            }
            if found.is_some() || end >= text.len() {
                return found;
            }
            end *= WINDOW_GROWTH;
        }
    }

    /// Divides a text at safe cuts into parts of about `bytes` bytes, borrowed, which may be split
    /// independently. A text without a safe cut is one part.
    pub fn parts<'t>(&self, text: &'t [u8], bytes: usize) -> Vec<&'t [u8]> {
        let Ok(parts) = self.try_parts(text, bytes, || Ok::<(), Infallible>(()));
        parts
    }

    /// Divides a text at safe cuts into parts of some megabytes, one after the other, so that the
    /// caller can poll for a signal between two of them. A long range without a safe cut stays in
    /// one part. It reads 64 KiB for each part, to find the cut.
    pub fn interruptible_parts<'t>(&self, text: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut end = INTERRUPTIBLE_BYTES;
            while end < rest.len() {
                let window = end - CUT_WINDOW_BYTES;
                if let Some(cut) = self.last_safe_cut(&rest[window..end]) {
                    let (part, after) = rest.split_at(window + cut);
                    rest = after;
                    return Some(part);
                }
                end += INTERRUPTIBLE_BYTES;
            }
            Some(std::mem::take(&mut rest))
        })
    }

    /// Divides a text at safe cuts into parts of about `bytes`, and calls `check` once every
    /// `bytes`, so that a long search can be stopped.
    ///
    /// # Errors
    ///
    /// The errors of `check`.
    pub(crate) fn try_parts<'t, E>(
        &self,
        text: &'t [u8],
        bytes: usize,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<&'t [u8]>, E> {
        let (mut parts, mut start, mut searched, mut end) = (Vec::new(), 0, 0_usize, bytes);
        while end < text.len() {
            check()?;
            // Two characters decide whether a cut between them is safe, so of the searched bytes
            // only the last character can take part in a new one.
            let from = searched.saturating_sub(2 * CHARACTER_BYTES_MAX).max(start);
            match self.last_safe_cut(&text[from..end]) {
                Some(length) => {
                    parts.push(&text[start..from + length]);
                    (start, searched) = (from + length, from + length);
                }
                None => searched = end,
            }
            end = searched + bytes;
        }
        parts.push(&text[start..]);
        Ok(parts)
    }

    /// Returns the maximum number of bytes at the end of a text whose pieces more text may change.
    ///
    /// A stream buffers that many bytes at most. For example, `(?s:.)` has a bound of 4 bytes, one
    /// character. Nanochat's pattern has none, because a run of `!` is one piece of any length.
    ///
    /// # Errors
    ///
    /// The reason why there is no bound, if there is none.
    pub fn pending_bytes_max(&self) -> Result<usize, String> {
        if self.layers.as_ref().is_some_and(|layers| layers.has_outer_rules()) {
            return Err("a match or a run of the rules may go on for ever".to_owned());
        }
        match &self.engine {
            SplitEngine::Scanner { transducer, .. } => pending_bytes_max(
                transducer.class_count(),
                |point| transducer.class_of(point),
                |before, after| transducer.is_safe_cut(before, after),
            ),
            SplitEngine::Dfa(automaton) => pending_bytes_max(
                automaton.class_count(),
                |point| automaton.class_of(point),
                |before, after| automaton.is_safe_cut(before, after),
            ),
            SplitEngine::Regex { reason, .. } => {
                Err(format!("the pattern runs on the backtracking engine: {reason}"))
            }
            SplitEngine::Function { name } => Err(format!("the split is the function {name}")),
        }
    }

    /// Returns a character of each class that the engine distinguishes. Empty if the engine has no
    /// classes.
    pub(crate) fn examples(&self) -> Vec<char> {
        let found = match &self.engine {
            SplitEngine::Scanner { transducer, .. } => {
                find_examples(transducer.class_count(), |point| transducer.class_of(point))
            }
            SplitEngine::Dfa(automaton) => {
                find_examples(automaton.class_count(), |point| automaton.class_of(point))
            }
            SplitEngine::Regex { .. } | SplitEngine::Function { .. } => Vec::new(),
        };
        found.into_iter().flatten().collect()
    }
}

/// Returns the last position of a text, in bytes, between two characters whose classes make a safe
/// cut. It reads backwards from the end; `None` if there is no safe cut.
fn last_safe_cut<C: Copy>(
    text: &[u8],
    class_of: impl Fn(u32) -> C,
    is_safe_cut: impl Fn(C, C) -> bool,
) -> Option<usize> {
    let mut after: Option<(usize, C)> = None;
    // Continuation bytes are skipped, also invalid ones: an invalid byte is never next to a safe
    // cut.
    for at in (0..text.len()).rev().filter(|&at| text[at] & 0xC0 != 0x80) {
        let Some((point, length)) = read_char(&text[at..]) else {
            after = None;
            continue;
        };
        let class = class_of(point);
        match after {
            Some((next, next_class)) if at + length == next && is_safe_cut(class, next_class) => {
                return Some(next);
            }
            _ => after = Some((at, class)),
        }
    }
    None
}

/// Finds a character of each class, preferably a visible character of ASCII. It reads all 1.1
/// million code points, so no split calls it.
fn find_examples(classes: usize, class_of: impl Fn(u32) -> u8) -> Vec<Option<char>> {
    let mut examples = vec![None; classes];
    for character in '\0'..=char::MAX {
        let example = &mut examples[class_of(character as u32) as usize];
        let is_visible = |c: &char| c.is_ascii_graphic();
        if example.is_none_or(|known| !is_visible(&known) && is_visible(&character)) {
            *example = Some(character);
        }
    }
    examples
}

/// Returns the maximum length in bytes of a text without a safe cut between two of its characters.
///
/// A graph has an edge from one class to another if a cut between them is not safe. The longest
/// text is the longest walk, which is infinite if the graph has a cycle.
fn pending_bytes_max(
    classes: usize,
    class_of: impl Fn(u32) -> u8,
    is_safe_cut: impl Fn(u8, u8) -> bool,
) -> Result<usize, String> {
    let examples = find_examples(classes, class_of);
    let used: Vec<(u8, char)> =
        (0..).zip(&examples).filter_map(|(class, example)| Some((class, (*example)?))).collect();
    // The classes where a walk of `length` ends. After as many rounds as classes, it is a cycle.
    let mut ends: Vec<(u8, char)> = used.clone();
    for length in 1..=used.len() {
        let can_extend =
            |&(after, _): &(u8, char)| ends.iter().any(|(before, _)| !is_safe_cut(*before, after));
        let next: Vec<_> = used.iter().copied().filter(can_extend).collect();
        if next.is_empty() {
            return Ok(length * CHARACTER_BYTES_MAX);
        }
        ends = next;
    }
    let repeated = used.iter().find(|(class, _)| !is_safe_cut(*class, *class));
    let example = repeated.or(ends.first()).map_or(' ', |(_, example)| *example);
    Err(format!("text may go on for ever without a place to cut, as a run of {example:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_those_of_the_example_of_the_module_header() {
        let splitter = Splitter::parse(r"\w+|\W").unwrap();
        assert_eq!(splitter.parts(b"the cat", 1), [&b"the"[..], b" ", b"cat"]);
    }

    #[test]
    fn a_pattern_of_bounded_pieces_has_a_bound() {
        let bound = |pattern| Splitter::parse(pattern).unwrap().pending_bytes_max();
        assert_eq!(bound(r"(?s:.)"), Ok(4));
        assert_eq!(
            bound(crate::pattern::NANOCHAT),
            Err("text may go on for ever without a place to cut, as a run of '!'".to_owned())
        );
        assert!(bound(r"\w+(?=\s)|\w+|\W").unwrap_err().contains("for ever"));
    }
}
