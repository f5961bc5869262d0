//! Offsets: the range of bytes, or of characters, that each id covers in its text.
//!
//! For example, `abé中a` with tokens `ab` and `é`; the three bytes of `中` are one id each:
//!
//! ```text
//! ids          ab    é     E4    B8    AD    a
//! bytes        0..2  2..4  4..5  5..6  6..7  7..8
//! characters   0..2  2..3  3..4  3..4  3..4  4..5
//! ```

use std::ops::Range;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::sys::unicode::read_char;
use crate::vocab::Id;

impl Tokenizer {
    /// Returns the range of bytes that each id covers in the decoded text. The ranges are
    /// consecutive and cover all of it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownId`].
    pub fn byte_ranges(&self, ids: &[Id]) -> Result<Vec<Range<usize>>, Error> {
        let mut end = 0;
        ids.iter()
            .map(|&id| {
                let start = end;
                end += self.token(id)?.len();
                Ok(start..end)
            })
            .collect()
    }
}

/// Converts ranges of bytes to ranges of characters, in place. The ranges are in ascending order.
///
/// A range that covers a part of a character gets the whole character, so that several ranges may
/// share one. A byte that is not UTF-8 counts as one character.
pub fn convert_to_char_ranges(text: &[u8], ranges: &mut [Range<usize>]) {
    let (mut at, mut number) = (0, 0);
    // Characters that end at or before a byte, and characters that start before it.
    let mut before = |byte: usize| {
        while at < byte {
            let length = read_char(&text[at..]).map_or(1, |(_, length)| length);
            if at + length > byte {
                return (number, number + 1);
            }
            (at, number) = (at + length, number + 1);
        }
        (number, number)
    };
    for range in ranges {
        *range = before(range.start).0..before(range.end).1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vocab_of;
    use crate::{AllowedSpecials, Splitter};

    #[test]
    fn tokens_that_split_a_character_share_it() {
        let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
        let tokenizer =
            Tokenizer::try_from_vocab(vocab_of(["é", "ab"]), splitter, Vec::new()).unwrap();
        let text = "abé中a".as_bytes();
        let mut ids = Vec::new();
        tokenizer.encode(text, &AllowedSpecials::none(), &mut ids).unwrap();
        let mut ranges = tokenizer.byte_ranges(&ids).unwrap();
        assert_eq!(ranges, [0..2, 2..4, 4..5, 5..6, 6..7, 7..8]);
        convert_to_char_ranges(text, &mut ranges);
        assert_eq!(ranges, [0..2, 2..3, 3..4, 3..4, 3..4, 4..5]);
        let mut ranges = [0..1, 1..3, 3..4];
        convert_to_char_ranges(b"\xFF\xE4\xB8a", &mut ranges);
        assert_eq!(ranges, [0..1, 1..3, 3..4]);
    }
}
