//! The name of the rule that matched a piece: `"word"` for ` I`, `"contraction"` for `'m`.
//!
//! The splitter's table does not record the alternative of the pattern that matched.
//! [`Grammar::rule_of`] finds it from the first characters of the piece, for `explain`.

use super::char_set::CharSet;
use super::grammar::{ContractionPlace, Grammar};
use super::meaning::{Meaning, Symbol};
use crate::sys::unicode::read_char;

/// The five rules that every pattern of the family has, in the order of the pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleName {
    /// A contraction that is a piece of its own, such as `'s` and `'ll`.
    Contraction,
    /// Letters with their prefix and suffix, such as ` word` and `don't`.
    Word,
    /// Digits, perhaps after a space, such as `123`.
    Number,
    /// Punctuation, perhaps after a space and before newlines, such as ` !\n`.
    Punctuation,
    /// White space.
    Space,
}

impl RuleName {
    /// Returns the rule's name in one lower-case word, as `explain` prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Contraction => "contraction",
            Self::Word => "word",
            Self::Number => "number",
            Self::Punctuation => "punctuation",
            Self::Space => "space",
        }
    }
}

impl Grammar {
    /// Returns the rule that matched a piece of this grammar: the first rule of the pattern that
    /// can begin as the piece does. An empty piece counts as white space.
    ///
    /// ```
    /// use zeton::pattern::{Grammar, NANOCHAT};
    /// let grammar = Grammar::recognise(NANOCHAT).unwrap();
    /// let pieces = [" I", "'m", "42", " !\n", "  "];
    /// let rules = pieces.map(|piece| grammar.rule_of(piece.as_bytes()).name());
    /// assert_eq!(rules, ["word", "contraction", "number", "punctuation", "space"]);
    /// ```
    #[must_use]
    pub fn rule_of(&self, piece: &[u8]) -> RuleName {
        let meaning = Meaning { grammar: self };
        let mut rest = piece;
        let symbols = std::iter::from_fn(|| {
            let (symbol, length) = match read_char(rest) {
                Some((point, length)) => (meaning.symbol(point), length),
                None => (Symbol::Char(CharSet::OTHER, None), 1),
            };
            rest = rest.get(length..)?;
            match symbol {
                Symbol::Char(atom, letter) => Some((atom, letter)),
                Symbol::End => None,
            }
        });
        let mut symbols = symbols.peekable();
        let Some((first, _)) = symbols.next() else { return RuleName::Space };
        let second = symbols.peek().map_or(CharSet::NONE, |(atom, _)| *atom);
        if first == CharSet::APOSTROPHE && self.contractions.place == ContractionPlace::Piece {
            let spelled: Option<Vec<u8>> = symbols.map(|(_, letter)| letter).collect();
            let is_ending = |ending: &String| Some(ending.as_bytes()) == spelled.as_deref();
            if self.contractions.endings.iter().any(is_ending) {
                return RuleName::Contraction;
            }
        }
        let word = meaning.word_set();
        if word.intersects(first) || self.word_prefix.intersects(first) && word.intersects(second) {
            RuleName::Word
        } else if first == CharSet::NUMBER || first == CharSet::BLANK && second == CharSet::NUMBER {
            RuleName::Number
        } else if CharSet::SPACE.intersects(first) && !meaning.punctuation_set().intersects(second)
        {
            RuleName::Space
        } else {
            RuleName::Punctuation
        }
    }
}
