//! Explains an encoding: its pieces, the pattern rule behind each, and every merge.
//!
//! For example, with `lo` = 256, `low` = 257 and `er` = 258, the piece `lower` has this trace:
//!
//! ```text
//! l o w e r
//! lo  w e r      (start 0, middle 1, end 2)   l + o  → 256
//! low   e r      (0, 2, 3)                    256 + w → 257
//! low   er       (3, 4, 5)                    e + r  → 258
//! ids [257, 258], rule "word", bytes 0..5 of the text
//! ```
//!
//! It serves `tok.explain` and the playground. It is slower than encoding, because it bypasses the
//! piece cache and names the rule of every piece.

use std::ops::Range;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::merge::{MergeStep, merge_with_steps};
use crate::split::RuleNames;
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// The rule name of a special.
const SPECIAL: &str = "special";

/// A piece of a text, or a special, with the explanation of its ids.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExplainedPiece {
    /// The bytes of the text that it covers.
    pub place: Range<usize>,
    /// The name of the pattern rule that matched it, for example `word`; `special` for a special.
    pub rule: String,
    /// The derivation of its ids.
    pub trace: MergeTrace,
}

/// The derivation of a piece's ids: every merge in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MergeTrace {
    /// The ids of the piece.
    pub ids: Vec<Id>,
    /// Whether the piece is a token or a special, so that its id needs no merge.
    pub is_whole: bool,
    /// The merges that start from the bytes of the piece, at byte positions of the piece. A piece
    /// that is a token has them as well, though its id does not depend on them.
    pub joins: Vec<MergeStep>,
}

impl Tokenizer {
    /// Splits and merges a text and returns each piece with its explanation, in order.
    ///
    /// The ids of all pieces, concatenated, equal [`Tokenizer::encode`].
    ///
    /// # Errors
    ///
    /// The errors of [`Tokenizer::encode`].
    pub fn explain(
        &self,
        text: &[u8],
        allowed: &AllowedSpecials,
    ) -> Result<Vec<ExplainedPiece>, Error> {
        refuse_too_long(text)?;
        let (names, mut pieces, mut start) = (self.splitter().rule_names(), Vec::new(), 0);
        while let Some((place, id)) = allowed.find(text, start) {
            self.explain_ordinary(text, start..place.start, &names, &mut pieces)?;
            start = place.end;
            let trace = MergeTrace { ids: vec![id], is_whole: true, joins: Vec::new() };
            pieces.push(ExplainedPiece { place, rule: SPECIAL.to_owned(), trace });
        }
        self.explain_ordinary(text, start..text.len(), &names, &mut pieces)?;
        Ok(pieces)
    }

    /// Merges one piece and returns every merge.
    ///
    /// # Errors
    ///
    /// If the piece has 4 GiB or more.
    pub fn explain_piece(&self, piece: &[u8]) -> Result<MergeTrace, Error> {
        refuse_too_long(piece)?;
        let (parts, joins) = merge_with_steps(self.model(), piece);
        let whole = self.vocab().find(piece);
        let ids = whole.map_or(parts, |id| vec![id]);
        Ok(MergeTrace { ids, is_whole: whole.is_some(), joins })
    }

    /// Appends the explained pieces of a range of `text` without specials. `names` splits the range
    /// and names the rule of each piece.
    fn explain_ordinary(
        &self,
        text: &[u8],
        segment: Range<usize>,
        names: &RuleNames<'_>,
        pieces: &mut Vec<ExplainedPiece>,
    ) -> Result<(), Error> {
        let (mut start, mut failed) = (segment.start, Ok(()));
        names.split(&text[segment], |piece, rule| {
            let place = start..start + piece.len();
            start = place.end;
            match self.explain_piece(piece) {
                Ok(trace) => pieces.push(ExplainedPiece { place, rule: rule.to_owned(), trace }),
                Err(error) => failed = Err(error),
            }
        })?;
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Splitter;
    use crate::testing::{PARTS, Random, vocab_of};

    fn tokenizer() -> Tokenizer {
        let vocab = vocab_of(["lo", "low", "er", "st", "rst", "  ", "中", "whole", "ab", "abab"]);
        let splitter = Splitter::parse(crate::pattern::NANOCHAT).unwrap();
        Tokenizer::try_from_vocab(vocab, splitter, vec![(9000, "<|end|>".to_owned())]).unwrap()
    }

    #[test]
    fn lists_every_merge_in_order() {
        let pieces = tokenizer().explain(b"lower<|end|>", &tokenizer().specials().allow_all());
        let [lower, end] = <[ExplainedPiece; 2]>::try_from(pieces.unwrap()).unwrap();
        assert_eq!((lower.rule.as_str(), lower.place), ("word", 0..5));
        let joins = lower.trace.joins.iter().map(|j| (j.start, j.middle, j.end, j.left, j.right));
        assert_eq!(
            joins.collect::<Vec<_>>(),
            [
                (0, 1, 2, b'l'.into(), b'o'.into()),
                (0, 2, 3, 256, b'w'.into()),
                (3, 4, 5, b'e'.into(), b'r'.into())
            ]
        );
        assert_eq!((lower.trace.ids, lower.trace.is_whole), (vec![257, 258], false));
        assert_eq!((end.rule.as_str(), end.place), ("special", 5..12));
        assert_eq!((end.trace.ids, end.trace.is_whole), (vec![9000], true));
    }

    #[test]
    fn a_token_that_no_merge_reaches_is_whole() {
        let trace = tokenizer().explain_piece(b"whole").unwrap();
        assert_eq!((trace.ids.len(), trace.is_whole), (1, true));
        assert!(trace.joins.is_empty());
    }

    #[test]
    fn the_ids_of_the_pieces_are_those_of_the_text() {
        let (tokenizer, mut random) = (tokenizer(), Random(5));
        let all = tokenizer.specials().allow_all();
        for _ in 0..2000 {
            let count = random.below(30);
            let text: String = (0..count).map(|_| PARTS[random.below(PARTS.len())]).collect();
            let (mut ids, mut end) = (Vec::new(), 0);
            tokenizer.encode(text.as_bytes(), &all, &mut ids).unwrap();
            let mut found = Vec::new();
            for piece in tokenizer.explain(text.as_bytes(), &all).unwrap() {
                assert_eq!(piece.place.start, end);
                end = piece.place.end;
                found.extend(piece.trace.ids);
            }
            assert_eq!((found, end), (ids, text.len()));
        }
    }

    #[test]
    fn explains_a_piece_of_a_megabyte() {
        let trace = tokenizer().explain_piece(&b"ab".repeat(1 << 19)).unwrap();
        assert_eq!((trace.ids.len(), trace.joins.len()), (1 << 18, 3 << 18));
    }
}
