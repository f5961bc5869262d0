//! How a text becomes its ids, told step by step: the pieces, the rule that made each, and every merge.

use std::ops::Range;

use crate::encode::{Tokenizer, refuse_too_long};
use crate::merge::{MergeStep, merge_with_steps};
use crate::split::Names;
use crate::sys::error::Error;
use crate::vocab::Id;
use crate::vocab::specials::AllowedSpecials;

/// What a special is named where pieces are named by their rules.
const SPECIAL: &str = "special";

/// A piece of a text, or a special in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Piece {
    /// Where it is in the text, in bytes.
    pub place: Range<usize>,
    /// The rule that made it.
    pub rule: String,
    /// How it becomes ids.
    pub merged: Merged,
}

/// How a piece becomes ids.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Merged {
    /// The ids of the piece.
    pub ids: Vec<Id>,
    /// Whether it was taken whole: it is a token or a special.
    pub whole: bool,
    /// What its bytes merge to alone, join by join, in places of the piece; also of a token, though it
    /// needs no merge.
    pub joins: Vec<MergeStep>,
}

impl Tokenizer {
    /// Returns the pieces of a text with all that makes ids of them. Their ids, joined, are those of
    /// the text.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn explain(&self, text: &[u8], allowed: &AllowedSpecials) -> Result<Vec<Piece>, Error> {
        refuse_too_long(text)?;
        let (names, mut pieces, mut start) = (self.splitter().names(), Vec::new(), 0);
        while let Some((place, id)) = allowed.find(text, start) {
            self.explain_ordinary(text, start..place.start, &names, &mut pieces)?;
            start = place.end;
            let merged = Merged { ids: vec![id], whole: true, joins: Vec::new() };
            pieces.push(Piece { place, rule: SPECIAL.to_owned(), merged });
        }
        self.explain_ordinary(text, start..text.len(), &names, &mut pieces)?;
        Ok(pieces)
    }

    /// Returns how one piece becomes ids.
    ///
    /// # Errors
    ///
    /// When it has 4 GiB or more.
    pub fn explain_piece(&self, piece: &[u8]) -> Result<Merged, Error> {
        refuse_too_long(piece)?;
        let (parts, joins) = merge_with_steps(self.model(), piece);
        let whole = self.vocab().find(piece);
        let ids = whole.map_or(parts, |id| vec![id]);
        Ok(Merged { ids, whole: whole.is_some(), joins })
    }

    fn explain_ordinary(
        &self,
        text: &[u8],
        segment: Range<usize>,
        names: &Names<'_>,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Error> {
        let (mut start, mut failed) = (segment.start, Ok(()));
        names.split(&text[segment], |piece, rule| {
            let place = start..start + piece.len();
            start = place.end;
            match self.explain_piece(piece) {
                Ok(merged) => pieces.push(Piece { place, rule: rule.to_owned(), merged }),
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
        let splitter = Splitter::new(crate::pattern::NANOCHAT).unwrap();
        Tokenizer::new(vocab, splitter, vec![(9000, "<|end|>".to_owned())]).unwrap()
    }

    #[test]
    fn every_join_is_told_in_order() {
        let pieces = tokenizer().explain(b"lower<|end|>", &tokenizer().specials().allow_all());
        let [lower, end] = <[Piece; 2]>::try_from(pieces.unwrap()).unwrap();
        assert_eq!((lower.rule.as_str(), lower.place), ("word", 0..5));
        let told = lower.merged.joins.iter().map(|j| (j.start, j.middle, j.end, j.left, j.right));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                (0, 1, 2, b'l'.into(), b'o'.into()),
                (0, 2, 3, 256, b'w'.into()),
                (3, 4, 5, b'e'.into(), b'r'.into())
            ]
        );
        assert_eq!((lower.merged.ids, lower.merged.whole), (vec![257, 258], false));
        assert_eq!((end.rule.as_str(), end.place), ("special", 5..12));
        assert_eq!((end.merged.ids, end.merged.whole), (vec![9000], true));
    }

    #[test]
    fn a_token_that_no_merge_reaches_is_whole_all_the_same() {
        let merged = tokenizer().explain_piece(b"whole").unwrap();
        assert_eq!((merged.ids.len(), merged.whole), (1, true));
        assert!(merged.joins.is_empty());
    }

    #[test]
    fn the_ids_are_those_of_the_text() {
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
                found.extend(piece.merged.ids);
            }
            assert_eq!((found, end), (ids, text.len()));
        }
    }

    #[test]
    fn a_piece_of_a_megabyte_is_explained() {
        let merged = tokenizer().explain_piece(&b"ab".repeat(1 << 19)).unwrap();
        assert_eq!((merged.ids.len(), merged.joins.len()), (1 << 18, 3 << 18));
    }
}
