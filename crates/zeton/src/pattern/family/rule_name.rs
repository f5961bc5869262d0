//! Which rule of a grammar made a piece.

use super::char_set::CharSet;
use super::grammar::{Grammar, Place};
use super::meaning::{Meaning, Symbol};
use crate::sys::unicode::read_char;

/// The rules that every pattern of the family has, in its order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RuleName {
    /// `'s`, `'ll`, … as a piece of its own.
    Contraction,
    /// Letters, with what belongs to them.
    Word,
    /// Digits, perhaps after a space.
    Number,
    /// Signs, perhaps after a space and before newlines.
    Punctuation,
    /// White space.
    Space,
}

impl RuleName {
    /// Returns the rule in one word.
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
    /// Returns the rule that made a piece of this grammar: of the rules, the first that can begin as
    /// the piece does.
    ///
    /// ```
    /// use zeton::pattern::{Grammar, NANOCHAT};
    /// let grammar = Grammar::of(NANOCHAT).unwrap();
    /// let rules = [" I", "'m", "42", " !\n", "  "].map(|piece| grammar.rule_of(piece.as_bytes()).name());
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
        if first == CharSet::APOSTROPHE && self.contractions.place == Place::Piece {
            let spelled: Option<Vec<u8>> = symbols.map(|(_, letter)| letter).collect();
            let is_ending = |ending: &String| Some(ending.as_bytes()) == spelled.as_deref();
            if self.contractions.endings.iter().any(is_ending) {
                return RuleName::Contraction;
            }
        }
        let word = meaning.word();
        if word.meets(first) || self.word_prefix.meets(first) && word.meets(second) {
            RuleName::Word
        } else if first == CharSet::NUMBER || first == CharSet::BLANK && second == CharSet::NUMBER {
            RuleName::Number
        } else if CharSet::SPACE.meets(first) && !meaning.punctuation().meets(second) {
            RuleName::Space
        } else {
            RuleName::Punctuation
        }
    }
}
