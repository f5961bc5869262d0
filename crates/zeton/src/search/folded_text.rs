//! A range of text with its characters case-folded, and positions between the two.
//!
//! A needle that is folded, too, is then found by its bytes. A folded character may be shorter or
//! longer, so each change of the distance is recorded. For example, U+212A (Kelvin) followed by
//! `el`:
//!
//! ```text
//! text      E2 84 AA  65  6C
//! offset    0         3   4
//! folded    6B        65  6C
//! offset    0         1   2        changes = [(1, 3)]: from folded offset 1 on, the text is at +2
//! ```
//!
//! Cost: ASCII is folded 64 bytes at a time. All other characters take a look-up each.

use crate::sys::unicode::{fold, read_char};

/// A range of text, case-folded.
#[derive(Clone, Debug, Default)]
pub(super) struct FoldedText {
    pub(super) bytes: Vec<u8>,
    /// Each position behind a character that changed its length: (offset in `bytes`, offset in the
    /// text), rising.
    changes: Vec<(usize, usize)>,
    /// The start of the range in the text.
    start: usize,
}

/// Bytes of a match at most for each byte of a folded needle, because a character has one to four
/// bytes.
pub(super) const FOLD_GROWTH_MAX: usize = 4;

/// Bytes that are folded together if they are ASCII. Not measured.
const ASCII_BLOCK: usize = 64;

impl FoldedText {
    /// Folds the case of a range of a text into this buffer, over its old content. Invalid bytes
    /// stay unchanged. The memory is reused.
    pub(super) fn fill(&mut self, text: &[u8], range: std::ops::Range<usize>) {
        self.start = range.start;
        self.bytes.clear();
        self.changes.clear();
        self.extend(text, range);
    }

    /// Folds the range behind the one before it. `FinderMany` folds the text before, within and
    /// behind a range by three calls.
    pub(super) fn extend(&mut self, text: &[u8], range: std::ops::Range<usize>) {
        let (mut at, end) = (range.start, range.end);
        while at < end {
            let steps = text[at..end].chunks_exact(ASCII_BLOCK);
            let ascii = steps.take_while(|step| step.is_ascii()).count() * ASCII_BLOCK;
            let old = self.bytes.len();
            self.bytes.extend_from_slice(&text[at..at + ascii]);
            self.bytes[old..].make_ascii_lowercase();
            at += ascii;
            let stop = end.min(at + ASCII_BLOCK);
            while at < stop {
                let ascii = text[at..stop].iter().take_while(|byte| byte.is_ascii()).count();
                let small = text[at..at + ascii].iter().map(u8::to_ascii_lowercase);
                self.bytes.extend(small);
                at += ascii;
                if at < stop {
                    at += self.push(&text[at..end]);
                    if self.has_shifted(at) {
                        self.changes.push((self.bytes.len(), at));
                    }
                }
            }
        }
    }

    /// Folds one character beyond ASCII into the buffer, and returns its length in the text, in
    /// bytes. The caller records a change of length.
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

    /// Returns whether byte `at` of the text has another distance to its folded byte than at the
    /// last recorded change; then the caller records one.
    fn has_shifted(&self, at: usize) -> bool {
        let &(folded, text) = self.changes.last().unwrap_or(&(0, self.start));
        self.bytes.len() - folded != at - text
    }

    /// Returns the position in the text of a position in `bytes` where a character begins or ends.
    /// It takes a binary search in the changes.
    pub(super) fn text_position(&self, folded: usize) -> usize {
        let next = self.changes.partition_point(|&(place, _)| place <= folded);
        let (before, text) = match next.checked_sub(1) {
            Some(last) => self.changes[last],
            None => (0, self.start),
        };
        text + (folded - before)
    }
}

/// Folds the case of a needle into new bytes, once when its finder is built.
pub(super) fn fold_needle(needle: &str) -> Vec<u8> {
    let mut folded = FoldedText::default();
    folded.fill(needle.as_bytes(), 0..needle.len());
    folded.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_again() {
        let text = format!("aK\u{212A}\u{17F}sß\u{1E9E} É{}\u{212A}\u{212A}x", "A".repeat(200));
        let mut folded = FoldedText::default();
        folded.fill(text.as_bytes(), 0..text.len());
        let mut place = 0;
        for (at, character) in text.char_indices() {
            assert_eq!(folded.text_position(place), at);
            let one = super::fold_needle(&character.to_string());
            assert_eq!(&folded.bytes[place..place + one.len()], one);
            place += one.len();
        }
        assert_eq!((place, folded.text_position(place)), (folded.bytes.len(), text.len()));
    }
}
