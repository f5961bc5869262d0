//! The pieces of a text, each with the name of the rule that made it: for people who look.

use super::Splitter;
use crate::error::Error;

/// What a piece of a pattern outside the family is named: its rules are not known.
const PATTERN: &str = "pattern";

impl Splitter {
    /// Calls `each` with every piece of `text` and the rule that made it, from left to right.
    ///
    /// In the family these are `contraction`, `word`, `number`, `punctuation` and `space`; every other
    /// pattern is one rule, `pattern`.
    ///
    /// # Errors
    ///
    /// As [`Splitter::split`].
    pub fn split_named<'t>(
        &self,
        text: &'t [u8],
        mut each: impl FnMut(&'t [u8], &str),
    ) -> Result<(), Error> {
        match self.grammar() {
            Some((grammar, _)) => {
                self.split(text, |piece| each(piece, grammar.rule_of(piece).name()))
            }
            None => self.split(text, |piece| each(piece, PATTERN)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pattern: &str, text: &str) -> String {
        let mut named = Vec::new();
        let splitter = Splitter::new(pattern).unwrap();
        let take = |piece: &[u8], rule: &str| {
            named.push(format!("{}={rule}", String::from_utf8_lossy(piece)));
        };
        splitter.split_named(text.as_bytes(), take).unwrap();
        named.join(" ")
    }

    #[test]
    fn every_piece_has_its_rule() {
        assert_eq!(
            named(crate::pattern::NANOCHAT, "It's 42!"),
            "It=word 's=contraction  =space 42=number !=punctuation"
        );
        assert_eq!(named(r"\w+|\W", "It's"), "It=pattern '=pattern s=pattern");
    }
}
