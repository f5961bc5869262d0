//! Which bytes, or which characters, each id of a text stands for.

use std::ops::Range;

use crate::encode::Tokenizer;
use crate::sys::error::Error;
use crate::sys::unicode::read_char;
use crate::vocab::Id;

impl Tokenizer {
    /// Returns where in its text each id is, in bytes.
    ///
    /// # Errors
    ///
    /// When an id stands for nothing.
    pub fn places_in_bytes(&self, ids: &[Id]) -> Result<Vec<Range<usize>>, Error> {
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

/// Makes places in characters of places in the bytes of a text.
///
/// A token that has only some bytes of a character has all of it: such tokens share their character.
/// A byte that is not UTF-8 is a character.
pub fn in_characters(text: &[u8], places: &mut [Range<usize>]) {
    let (mut at, mut number) = (0, 0);
    // The characters before a byte: those that are whole, and those that have begun.
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
    for place in places {
        *place = before(place.start).0..before(place.end).1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::vocab_of;
    use crate::{AllowedSpecials, Splitter};

    #[test]
    fn tokens_that_split_a_character_share_it() {
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        let tokenizer = Tokenizer::new(vocab_of(["é", "ab"]), splitter, Vec::new()).unwrap();
        let text = "abé中a".as_bytes();
        let mut ids = Vec::new();
        tokenizer.encode(text, &AllowedSpecials::none(), &mut ids).unwrap();
        let mut places = tokenizer.places_in_bytes(&ids).unwrap();
        assert_eq!(places, [0..2, 2..4, 4..5, 5..6, 6..7, 7..8]);
        in_characters(text, &mut places);
        assert_eq!(places, [0..2, 2..3, 3..4, 3..4, 3..4, 4..5]);
        let mut places = [0..1, 1..3, 3..4];
        in_characters(b"\xFF\xE4\xB8a", &mut places);
        assert_eq!(places, [0..1, 1..3, 3..4]);
    }
}
