//! A stretch of text with its characters folded: those that differ by case alone become the same.
//!
//! A needle that is folded, too, is then found by its bytes. Where a character becomes longer or
//! shorter, the two places are noted, so that every place of the one is found in the other.

use crate::sys::unicode::{fold, read_char};

/// A stretch of text, folded.
#[derive(Clone, Debug, Default)]
pub(super) struct Folded {
    pub(super) bytes: Vec<u8>,
    /// Where a character ended that changed its length: in `bytes`, and in the text. Rising.
    changes: Vec<(usize, usize)>,
    /// Where the stretch begins in the text.
    start: usize,
}

/// Bytes that are folded together where they are ASCII.
const STEP: usize = 64;

impl Folded {
    /// Folds a stretch of text. Bytes that are no character stay what they are.
    pub(super) fn fill(&mut self, text: &[u8], stretch: std::ops::Range<usize>) {
        self.start = stretch.start;
        self.bytes.clear();
        self.changes.clear();
        self.extend(text, stretch);
    }

    /// Folds the stretch after the one before.
    pub(super) fn extend(&mut self, text: &[u8], stretch: std::ops::Range<usize>) {
        let (mut at, end) = (stretch.start, stretch.end);
        while at < end {
            let steps = text[at..end].chunks_exact(STEP);
            let ascii = steps.take_while(|step| step.is_ascii()).count() * STEP;
            let old = self.bytes.len();
            self.bytes.extend_from_slice(&text[at..at + ascii]);
            self.bytes[old..].make_ascii_lowercase();
            at += ascii;
            let stop = end.min(at + STEP);
            while at < stop {
                let ascii = text[at..stop].iter().take_while(|byte| byte.is_ascii()).count();
                let small = text[at..at + ascii].iter().map(u8::to_ascii_lowercase);
                self.bytes.extend(small);
                at += ascii;
                if at < stop {
                    at += self.push(&text[at..end]);
                    if self.places_differ(at) {
                        self.changes.push((self.bytes.len(), at));
                    }
                }
            }
        }
    }

    /// Folds one character beyond ASCII, and returns how many bytes it has.
    fn push(&mut self, text: &[u8]) -> usize {
        match read_char(text) {
            Some((point, bytes)) => {
                match char::from_u32(fold(point)).filter(|&folded| folded as u32 != point) {
                    Some(folded) => {
                        let mut spelled = [0; 4];
                        self.bytes.extend_from_slice(folded.encode_utf8(&mut spelled).as_bytes());
                    }
                    None => self.bytes.extend_from_slice(&text[..bytes]),
                }
                bytes
            }
            None => {
                self.bytes.extend(text.first());
                1
            }
        }
    }

    fn places_differ(&self, at: usize) -> bool {
        let &(folded, text) = self.changes.last().unwrap_or(&(0, self.start));
        self.bytes.len() - folded != at - text
    }

    /// The place in the text of a place in `bytes` where a character begins or ends.
    pub(super) fn place(&self, folded: usize) -> usize {
        let next = self.changes.partition_point(|&(place, _)| place <= folded);
        let (before, text) = match next.checked_sub(1) {
            Some(last) => self.changes[last],
            None => (0, self.start),
        };
        text + (folded - before)
    }
}

/// Folds a needle.
pub(super) fn folded(needle: &str) -> Vec<u8> {
    let mut folded = Folded::default();
    folded.fill(needle.as_bytes(), 0..needle.len());
    folded.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_again() {
        let text = format!("aK\u{212A}\u{17F}sß\u{1E9E} É{}\u{212A}\u{212A}x", "A".repeat(200));
        let mut folded = Folded::default();
        folded.fill(text.as_bytes(), 0..text.len());
        let mut place = 0;
        for (at, character) in text.char_indices() {
            assert_eq!(folded.place(place), at);
            let one = super::folded(&character.to_string());
            assert_eq!(&folded.bytes[place..place + one.len()], one);
            place += one.len();
        }
        assert_eq!((place, folded.place(place)), (folded.bytes.len(), text.len()));
    }
}
