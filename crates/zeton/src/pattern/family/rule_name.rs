//! Which rule of a grammar made a piece.

use super::char_set::Set;
use super::grammar::{Grammar, Place};
use super::meaning::{Meaning, Symbol};
use crate::sys::unicode::read_char;

/// The rules that every pattern of the family has, in its order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rule {
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

impl Rule {
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
    pub fn rule_of(&self, piece: &[u8]) -> Rule {
        let meaning = Meaning { grammar: self };
        let mut rest = piece;
        let symbols = std::iter::from_fn(|| {
            let (symbol, length) = match read_char(rest) {
                Some((point, length)) => (meaning.symbol(point), length),
                None => (Symbol::Char(Set::OTHER, None), 1),
            };
            rest = rest.get(length..)?;
            match symbol {
                Symbol::Char(atom, letter) => Some((atom, letter)),
                Symbol::End => None,
            }
        });
        let mut symbols = symbols.peekable();
        let Some((first, _)) = symbols.next() else { return Rule::Space };
        let second = symbols.peek().map_or(Set::NONE, |(atom, _)| *atom);
        if first == Set::APOSTROPHE && self.contractions.place == Place::Piece {
            let spelled: Option<Vec<u8>> = symbols.map(|(_, letter)| letter).collect();
            let is_ending = |ending: &String| Some(ending.as_bytes()) == spelled.as_deref();
            if self.contractions.endings.iter().any(is_ending) {
                return Rule::Contraction;
            }
        }
        let word = meaning.word();
        if word.meets(first) || self.word_prefix.meets(first) && word.meets(second) {
            Rule::Word
        } else if first == Set::NUMBER || first == Set::BLANK && second == Set::NUMBER {
            Rule::Number
        } else if Set::SPACE.meets(first) && !meaning.punctuation().meets(second) {
            Rule::Space
        } else {
            Rule::Punctuation
        }
    }
}
