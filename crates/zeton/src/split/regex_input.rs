//! Text of any bytes as UTF-8 for a regex, and offsets between the two.
//!
//! Regex engines read UTF-8. Each byte at which no character starts is replaced by U+FFFD, a sign
//! of three bytes, so offsets behind it differ by two. For example, `a`, the byte FF and `b`:
//!
//! ```text
//! text    61  FF          62
//! offset  0   1           2   3
//! regex   61  EF  BF  BD  62          replaced = [1], the offset of EF
//! offset  0   1           4   5
//! ```
//!
//! Valid UTF-8 is borrowed and costs one validation. The pieces are always slices of the text
//! itself; no replacement reaches them.

use std::borrow::Cow;
use std::ops::Range;

use crate::sys::unicode::read_char;

/// The character that a regex reads in place of an invalid byte. It is neither a letter, a number
/// nor white space, as the rule for invalid bytes demands.
const REPLACEMENT: char = '\u{FFFD}';

/// Bytes by which the replacement is longer than the byte that it replaces.
const EXTRA_BYTES: usize = REPLACEMENT.len_utf8() - 1;

/// A text as a regex reads it, with the offsets of its replacements.
pub(super) struct RegexInput<'t> {
    text: Cow<'t, str>,
    /// Offsets in `text` of the replacements, rising.
    replaced: Vec<usize>,
}

impl<'t> RegexInput<'t> {
    /// Makes valid UTF-8 of a text for the regex engine, with a character in place of each invalid
    /// byte. A valid text is borrowed, any other is copied.
    pub(super) fn new(text: &'t [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(text) {
            return Self { text: Cow::Borrowed(text), replaced: Vec::new() };
        }
        let (mut valid, mut replaced, mut at) = (String::with_capacity(text.len()), Vec::new(), 0);
        while at < text.len() {
            match read_char(&text[at..]) {
                Some((point, length)) => {
                    valid.push(char::from_u32(point).expect("read_char reads scalars"));
                    at += length;
                }
                None => {
                    replaced.push(valid.len());
                    valid.push(REPLACEMENT);
                    at += 1;
                }
            }
        }
        Self { text: Cow::Owned(valid), replaced }
    }

    /// Returns the text that the regex reads.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the offsets of the replacements in the regex's text, rising. The backtracking engine
    /// passes them piece by piece, so its offsets need no search.
    pub(super) fn replaced(&self) -> &[usize] {
        &self.replaced
    }

    /// Returns the number of bytes of the text for a number of bytes of the regex's text, which
    /// include `replacements` replacements.
    pub(super) fn text_bytes(bytes: usize, replacements: usize) -> usize {
        bytes - replacements * EXTRA_BYTES
    }

    /// Returns the offset in the regex's text of an offset in the text. A search for matches of
    /// rules resumes there. It takes a binary search in the replacements.
    pub(super) fn regex_offset(&self, at: usize) -> usize {
        // Replacement number n lies n * EXTRA_BYTES behind its byte.
        let (mut low, mut high) = (0, self.replaced.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.replaced[middle] - middle * EXTRA_BYTES < at {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        at + low * EXTRA_BYTES
    }

    /// Returns the range of the text that a range of the regex's text stands for. Matches of rules
    /// become ranges of the text by it.
    pub(super) fn text_range(&self, range: &Range<usize>) -> Range<usize> {
        let text_offset =
            |at| Self::text_bytes(at, self.replaced.partition_point(|&replaced| replaced < at));
        text_offset(range.start)..text_offset(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_example_of_the_module_header() {
        let input = RegexInput::new(b"a\xFFb");
        assert_eq!((input.as_str(), input.replaced()), ("a\u{FFFD}b", &[1][..]));
        for (text, regex) in [(0, 0), (1, 1), (2, 4), (3, 5)] {
            assert_eq!(input.regex_offset(text), regex);
            assert_eq!(input.text_range(&(0..regex)), 0..text);
        }
    }
}
