//! What has been read, and what the next character does to it: the meaning of a grammar.
//!
//! Every state says in words what the piece in hand looks like so far; `Meaning::step` says how it
//! goes on. `transducer` walks these states from the start and keeps what it finds as a table.

use super::char_set::CharSet;
use super::grammar::{Case, Grammar, Place};
use super::transducer::Actions;
use crate::sys::unicode::Class;

/// What has been read of the piece in hand.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum State {
    /// Nothing.
    Start,
    /// A word.
    Word(Tail),
    /// A number of so many digits; 0 if there is no limit.
    Number(u32),
    /// One character of punctuation, which may be the prefix of a word.
    Sign { prefix: bool },
    /// More punctuation, or punctuation after a space.
    Punctuation,
    /// Punctuation and some of its tail.
    PunctuationTail,
    /// White space. `newline`: mark 0 stands after its last newline. `after`: how many characters
    /// follow that newline, or have been read in all: 0, 1, or 2 for more. `last`: the last one.
    Space { newline: bool, after: u8, last: CharSet },
    /// An apostrophe and these letters, which may become a contraction.
    Apostrophe(Vec<Symbol>),
    /// A word, an apostrophe (mark 1 stands before it) and these letters.
    WordApostrophe(Vec<Symbol>),
    /// A contraction, with or without its word: whatever follows starts a new piece.
    Complete,
}

/// How a word ends so far. Where case is ignored, all words are `Lower`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Tail {
    /// Capitals only.
    Upper,
    /// Lower case has begun: a capital starts a new word.
    Lower,
    /// Capitals and letters without case, the last being one of the latter; mark 0 stands after it.
    Caseless,
    /// The same, then capitals: unless lower case follows, they become a word of their own.
    CaselessUpper,
}

/// A character, as far as the grammar can tell it from others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Symbol {
    /// A character of an atom, and the letter it is in contractions.
    Char(CharSet, Option<u8>),
    /// The end of the text.
    End,
}

/// The state that follows, and what is done on the way.
pub(crate) type Move = (State, Actions);

/// A grammar, as the rules that lead from state to state.
pub(crate) struct Meaning<'g> {
    pub(crate) grammar: &'g Grammar,
}

impl Meaning<'_> {
    /// What the grammar sees in a code point.
    pub(crate) fn symbol(&self, point: u32) -> Symbol {
        let atom = match char::from_u32(point) {
            Some(' ') => CharSet::BLANK,
            Some('\r' | '\n') => CharSet::NEWLINE,
            Some('\'') => CharSet::APOSTROPHE,
            Some('/') => CharSet::SLASH,
            _ => {
                let letter = crate::sys::unicode::class_letter(point);
                let class = Class::ALL.into_iter().find(|class| *class as u8 == letter);
                atom(class.expect("the table holds the letters of classes only"))
            }
        };
        let contractions = &self.grammar.contractions;
        let letter = match point {
            0..128 if contractions.ignore_case => Some((point as u8).to_ascii_lowercase()),
            0..128 => Some(point as u8),
            0x17F if contractions.ignore_case => Some(b's'),
            0x212A if contractions.ignore_case => Some(b'k'),
            _ => None,
        };
        let used = |letter: &u8| contractions.endings.iter().any(|e| e.as_bytes().contains(letter));
        Symbol::Char(atom, letter.filter(used))
    }

    pub(crate) fn word(&self) -> CharSet {
        CharSet::LETTER | if self.grammar.word_marks { CharSet::MARK } else { CharSet::NONE }
    }

    pub(crate) fn punctuation(&self) -> CharSet {
        let marks = if self.grammar.punctuation_marks { CharSet::MARK } else { CharSet::NONE };
        CharSet::APOSTROPHE | CharSet::SLASH | CharSet::OTHER | marks
    }

    /// The move of a state on a symbol; `None` if two marks cannot express it.
    pub(crate) fn step(&self, state: &State, symbol: Symbol) -> Option<Move> {
        match state {
            State::Start => Some(self.start(symbol)),
            State::Word(tail) => Some(self.step_word(*tail, symbol)),
            State::Apostrophe(letters) => self.step_apostrophe(letters, symbol),
            State::WordApostrophe(letters) => self.step_word_apostrophe(letters, symbol),
            State::Space { newline, after, last } => {
                Some(self.step_space(*newline, *after, *last, symbol))
            }
            State::Complete => Some(self.cut(symbol)),
            State::Number(digits) => match symbol {
                Symbol::Char(CharSet::NUMBER, _) if self.grammar.number_digits_max.is_none() => {
                    Some((State::Number(0), Actions::NONE))
                }
                Symbol::Char(CharSet::NUMBER, _)
                    if Some(*digits) < self.grammar.number_digits_max =>
                {
                    Some((State::Number(digits + 1), Actions::NONE))
                }
                _ => Some(self.cut(symbol)),
            },
            State::Sign { prefix } => match symbol {
                Symbol::Char(atom, _) if *prefix && self.word().meets(atom) => {
                    Some(self.begin_word(atom))
                }
                _ => Some(self.step_punctuation(symbol)),
            },
            State::Punctuation => Some(self.step_punctuation(symbol)),
            State::PunctuationTail => match symbol {
                Symbol::Char(atom, _) if self.grammar.punctuation_tail.meets(atom) => {
                    Some((State::PunctuationTail, Actions::NONE))
                }
                _ => Some(self.cut(symbol)),
            },
        }
    }

    /// The first character of a piece.
    fn start(&self, symbol: Symbol) -> Move {
        let Symbol::Char(atom, _) = symbol else { return (State::Start, Actions::NONE) };
        let state = match atom {
            _ if self.word().meets(atom) => return self.begin_word(atom),
            CharSet::NUMBER => self.begin_number(),
            CharSet::NEWLINE if self.grammar.space_to_newline => return self.newline(),
            _ if CharSet::SPACE.meets(atom) => {
                State::Space { newline: false, after: 1, last: atom }
            }
            CharSet::APOSTROPHE if self.grammar.contractions.place == Place::Piece => {
                State::Apostrophe(Vec::new())
            }
            _ => self.sign(atom),
        };
        (state, Actions::NONE)
    }

    /// A piece ends before this character, which starts the next.
    fn cut(&self, symbol: Symbol) -> Move {
        let (state, actions) = self.start(symbol);
        (state, actions.and(Actions::CUT_HERE))
    }

    fn begin_number(&self) -> State {
        State::Number(u32::from(self.grammar.number_digits_max.is_some()))
    }

    fn sign(&self, atom: CharSet) -> State {
        State::Sign { prefix: self.grammar.word_prefix.meets(atom) }
    }

    fn newline(&self) -> Move {
        (State::Space { newline: true, after: 0, last: CharSet::NEWLINE }, Actions::SET_MARK_0)
    }

    fn begin_word(&self, atom: CharSet) -> Move {
        match self.grammar.word_case {
            Case::Splits if atom == CharSet::UPPER => (State::Word(Tail::Upper), Actions::NONE),
            Case::Splits if atom != CharSet::LL => {
                (State::Word(Tail::Caseless), Actions::SET_MARK_0)
            }
            _ => (State::Word(Tail::Lower), Actions::NONE),
        }
    }

    fn step_word(&self, tail: Tail, symbol: Symbol) -> Move {
        let give_back = match tail {
            Tail::CaselessUpper => Actions::CUT_MARK_0,
            _ => Actions::NONE,
        };
        match symbol {
            Symbol::Char(atom, _) if self.word().meets(atom) => {
                match (self.grammar.word_case, tail, atom) {
                    (Case::Ignored, ..) | (_, _, CharSet::LL) => {
                        (State::Word(Tail::Lower), Actions::NONE)
                    }
                    (_, Tail::Lower, CharSet::UPPER) => self.cut(symbol),
                    (_, Tail::Lower, _) => (State::Word(Tail::Lower), Actions::NONE),
                    (_, Tail::Upper, CharSet::UPPER) => (State::Word(Tail::Upper), Actions::NONE),
                    (_, _, CharSet::UPPER) => (State::Word(Tail::CaselessUpper), Actions::NONE),
                    _ => (State::Word(Tail::Caseless), Actions::SET_MARK_0),
                }
            }
            Symbol::Char(CharSet::APOSTROPHE, _)
                if self.grammar.contractions.place == Place::Suffix =>
            {
                (State::WordApostrophe(Vec::new()), give_back.and(Actions::SET_MARK_1))
            }
            _ => {
                let (state, actions) = self.cut(symbol);
                (state, actions.and(give_back))
            }
        }
    }

    fn step_punctuation(&self, symbol: Symbol) -> Move {
        match symbol {
            Symbol::Char(atom, _) if self.punctuation().meets(atom) => {
                (State::Punctuation, Actions::NONE)
            }
            Symbol::Char(atom, _) if self.grammar.punctuation_tail.meets(atom) => {
                (State::PunctuationTail, Actions::NONE)
            }
            _ => self.cut(symbol),
        }
    }

    fn step_space(&self, newline: bool, after: u8, last: CharSet, symbol: Symbol) -> Move {
        let grammar = self.grammar;
        let to_newline = match newline && after > 0 {
            true => Actions::CUT_MARK_0,
            false => Actions::NONE,
        };
        let atom = match symbol {
            Symbol::Char(atom, _) => atom,
            Symbol::End if grammar.space_to_end => return (State::Start, Actions::CUT_HERE),
            Symbol::End => return (State::Start, to_newline.and(Actions::CUT_HERE)),
        };
        if atom == CharSet::NEWLINE && grammar.space_to_newline {
            return self.newline();
        }
        if CharSet::SPACE.meets(atom) {
            let state = State::Space { newline, after: (after + 1).min(2), last: atom };
            return (state, Actions::SET_MARK_1);
        }
        // Text follows. The last white space, if it is alone or left alone, may belong to it.
        let before_last = match after {
            2 if grammar.space_leaves_last => to_newline.and(Actions::CUT_MARK_1),
            _ => to_newline,
        };
        let alone = after == 1 || after == 2 && grammar.space_leaves_last;
        let (state, actions) = if alone
            && self.word().meets(atom)
            && grammar.word_prefix.meets(last)
        {
            self.begin_word(atom)
        } else if alone && last == CharSet::BLANK && atom == CharSet::NUMBER && grammar.number_blank
        {
            (self.begin_number(), Actions::NONE)
        } else if alone
            && last == CharSet::BLANK
            && self.punctuation().meets(atom)
            && grammar.punctuation_blank
        {
            (State::Punctuation, Actions::NONE)
        } else {
            self.cut(symbol)
        };
        (state, actions.and(before_last))
    }

    /// Reads a letter after an apostrophe: the letters if an ending goes on, and if it is complete.
    fn contraction(&self, letters: &[Symbol], symbol: Symbol) -> Option<(Vec<Symbol>, bool)> {
        let mut longer = letters.to_vec();
        longer.push(symbol);
        let spelled: Vec<u8> = longer.iter().map(Symbol::letter).collect::<Option<_>>()?;
        let endings = &self.grammar.contractions.endings;
        let goes_on = endings.iter().any(|ending| ending.as_bytes().starts_with(&spelled));
        let complete = endings.iter().any(|ending| ending.as_bytes() == spelled);
        goes_on.then_some((longer, complete))
    }

    fn step_apostrophe(&self, letters: &[Symbol], symbol: Symbol) -> Option<Move> {
        let prefix = self.grammar.word_prefix.meets(CharSet::APOSTROPHE);
        match self.contraction(letters, symbol) {
            Some((_, true)) => Some((State::Complete, Actions::NONE)),
            // Without a prefix, letters that become no contraction are a word after a lone sign.
            Some((longer, false)) if letters.is_empty() && !prefix => {
                Some((State::Apostrophe(longer), Actions::SET_MARK_1))
            }
            Some((longer, false)) => Some((State::Apostrophe(longer), Actions::NONE)),
            None if letters.is_empty() || prefix => {
                self.replay(self.sign(CharSet::APOSTROPHE), letters, symbol, Actions::NONE)
            }
            None => self.replay(State::Start, letters, symbol, Actions::CUT_MARK_1),
        }
    }

    fn step_word_apostrophe(&self, letters: &[Symbol], symbol: Symbol) -> Option<Move> {
        match self.contraction(letters, symbol) {
            Some((_, true)) => Some((State::Complete, Actions::NONE)),
            Some((longer, false)) => Some((State::WordApostrophe(longer), Actions::NONE)),
            None => {
                self.replay(self.sign(CharSet::APOSTROPHE), letters, symbol, Actions::CUT_MARK_1)
            }
        }
    }

    /// No contraction after all: goes on as if `letters` had been read in `state`, then `symbol`.
    fn replay(
        &self,
        mut state: State,
        letters: &[Symbol],
        symbol: Symbol,
        first: Actions,
    ) -> Option<Move> {
        for &letter in letters {
            // A cut among the letters would need a third mark.
            let (next, Actions::NONE) = self.step(&state, letter)? else { return None };
            state = next;
        }
        let (state, actions) = self.step(&state, symbol)?;
        let marks = actions.holds(Actions::CUT_MARK_0) || actions.holds(Actions::CUT_MARK_1);
        (first == Actions::NONE || !marks).then_some((state, actions.and(first)))
    }
}

impl Symbol {
    fn letter(&self) -> Option<u8> {
        match self {
            Self::Char(_, letter) => *letter,
            Self::End => None,
        }
    }
}

/// The atom of a class; ASCII has finer ones, see `Meaning::symbol`.
pub(crate) fn atom(class: Class) -> CharSet {
    match class {
        Class::Upper => CharSet::UPPER,
        Class::Lower => CharSet::LL,
        Class::Letter => CharSet::CASELESS,
        Class::Mark => CharSet::MARK,
        Class::Number => CharSet::NUMBER,
        Class::White => CharSet::WHITE,
        Class::Other => CharSet::OTHER,
    }
}

impl State {
    /// What the state has read, in words.
    pub(crate) fn name(&self) -> String {
        let spelled = |letters: &[Symbol]| -> String {
            letters.iter().filter_map(Symbol::letter).map(char::from).collect()
        };
        match self {
            Self::Start => "start".to_owned(),
            Self::Word(Tail::Lower) => "word".to_owned(),
            Self::Word(Tail::Upper) => "capitals".to_owned(),
            Self::Word(Tail::Caseless) => "caseless".to_owned(),
            Self::Word(Tail::CaselessUpper) => "caseless, capitals".to_owned(),
            Self::Number(0) => "number".to_owned(),
            Self::Number(digits) => format!("number of {digits}"),
            Self::Sign { .. } => "sign".to_owned(),
            Self::Punctuation => "punctuation".to_owned(),
            Self::PunctuationTail => "punctuation, tail".to_owned(),
            Self::Space { newline: true, after: 0, .. } => "newline".to_owned(),
            Self::Space { newline, after, last } => {
                let newline = if *newline { "newline, " } else { "" };
                let count = if *after == 1 { "one" } else { "more" };
                let last = if *last == CharSet::BLANK { "blank" } else { "white" };
                format!("{newline}{count} {last}")
            }
            Self::Apostrophe(letters) => format!("'{}", spelled(letters)),
            Self::WordApostrophe(letters) => format!("word'{}", spelled(letters)),
            Self::Complete => "contraction".to_owned(),
        }
    }
}
