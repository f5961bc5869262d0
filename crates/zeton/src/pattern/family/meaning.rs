//! The meaning of a grammar: the states of a piece, and the transition of each on each character.
//!
//! A [`PieceState`] describes the piece that is being read: "a word in capitals", "two digits",
//! "white space behind a newline". [`Meaning::step`] returns the state after one more character and
//! the [`Actions`] on the way. `transducer` explores the states from the start and stores the
//! transitions as a table.
//!
//! A pattern finds some ends by backtracking. The table does not backtrack; it sets a mark where a
//! piece may turn out to end, and cuts there later. For example, cl100k on `"a  b"`:
//!
//! ```text
//! character  state before      actions                    pieces
//! a          Start
//! ␣          Word              CUT_HERE                   "a"
//! ␣          Space, after: 1   SET_MARK_1 (before it)
//! b          Space, after: 2   CUT_MARK_1                 " ", because `\s+(?!\S)` leaves one
//! end        Word              CUT_HERE                   " b"  blank, the prefix of the word
//! ```

use super::char_set::CharSet;
use super::grammar::{ContractionPlace, Grammar, WordCase};
use super::transducer::Actions;
use crate::sys::unicode::Class;

/// The prefix of the current piece that was read, reduced to the properties that decide its end.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum PieceState {
    /// No character: the start of a text.
    Start,
    /// A word.
    Word(WordTail),
    /// A number with this count of digits; 0 if the grammar has no limit.
    Number(u32),
    /// One character of punctuation; `prefix` if a word may take it as its prefix.
    Sign { prefix: bool },
    /// Two or more characters of punctuation, or punctuation after a space.
    Punctuation,
    /// Punctuation and a part of its tail, such as `!\n`.
    PunctuationTail,
    /// White space.
    ///
    /// - `newline`: whether the run has a newline; mark 0 is set after its last one.
    /// - `after`: the characters behind that newline, or of the whole run; 2 stands for 2 and more.
    /// - `last`: the atom of the last character.
    Space { newline: bool, after: u8, last: CharSet },
    /// An apostrophe and these letters, which are a proper prefix of a contraction: `'`, `'l`.
    Apostrophe(Vec<Symbol>),
    /// A word, an apostrophe with mark 1 before it, and these letters: `I'`, `I'l`.
    WordApostrophe(Vec<Symbol>),
    /// A contraction, with or without its word; the next character begins a new piece.
    Complete,
}

/// The end of a word so far, where case splits words. Where case is ignored, it is always `Lower`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum WordTail {
    /// Capitals only: `HT`.
    Upper,
    /// A small letter was read, so that the next capital begins a new word: `camel`.
    Lower,
    /// Capitals and letters without case, the last one without case: `A中`. Mark 0 is set after it.
    Caseless,
    /// `Caseless`, then capitals: `A中BC`. Unless a small letter follows, the capitals behind mark 0
    /// are a word of their own.
    CaselessUpper,
}

/// A character, reduced to the properties that a grammar distinguishes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Symbol {
    /// The atom of the character, and the letter that it spells in a contraction, if any.
    Char(CharSet, Option<u8>),
    /// The end of the text.
    End,
}

/// The state after a character, and the actions on the way.
pub(crate) type PieceTransition = (PieceState, Actions);

/// The transition function of a grammar.
pub(crate) struct Meaning<'g> {
    pub(crate) grammar: &'g Grammar,
}

impl Meaning<'_> {
    /// Reduces a code point to its [`Symbol`].
    ///
    /// For example, where contractions ignore case, `S` is `Char(UPPER, Some(b's'))` and `ſ` is
    /// `Char(LL, Some(b's'))`.
    pub(crate) fn symbol(&self, point: u32) -> Symbol {
        let atom = match char::from_u32(point) {
            Some(' ') => CharSet::BLANK,
            Some('\r' | '\n') => CharSet::NEWLINE,
            Some('\'') => CharSet::APOSTROPHE,
            Some('/') => CharSet::SLASH,
            _ => {
                let letter = crate::sys::unicode::class_letter(point);
                let class = Class::ALL.into_iter().find(|class| *class as u8 == letter);
                atom_of(class.expect("the table holds the letters of classes only"))
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
        let is_in_ending =
            |letter: &u8| contractions.endings.iter().any(|e| e.as_bytes().contains(letter));
        Symbol::Char(atom, letter.filter(is_in_ending))
    }

    /// Returns the set of characters that the grammar's words consist of: letters, and marks if it
    /// says so.
    pub(crate) fn word_set(&self) -> CharSet {
        CharSet::LETTER | if self.grammar.word_marks { CharSet::MARK } else { CharSet::NONE }
    }

    /// Returns the set of characters that the grammar's punctuation consists of.
    pub(crate) fn punctuation_set(&self) -> CharSet {
        let marks = if self.grammar.punctuation_marks { CharSet::MARK } else { CharSet::NONE };
        CharSet::APOSTROPHE | CharSet::SLASH | CharSet::OTHER | marks
    }

    /// Returns the transition of a state on a symbol; `None` if two marks cannot express it.
    ///
    /// It reads the grammar only. The transducer's construction calls it once for each state and
    /// symbol.
    pub(crate) fn step(&self, state: &PieceState, symbol: Symbol) -> Option<PieceTransition> {
        match state {
            PieceState::Start => Some(self.begin_piece(symbol)),
            PieceState::Word(tail) => Some(self.step_word(*tail, symbol)),
            PieceState::Apostrophe(letters) => self.step_apostrophe(letters, symbol),
            PieceState::WordApostrophe(letters) => self.step_word_apostrophe(letters, symbol),
            PieceState::Space { newline, after, last } => {
                Some(self.step_space(*newline, *after, *last, symbol))
            }
            PieceState::Complete => Some(self.cut_before(symbol)),
            PieceState::Number(digits) => match symbol {
                Symbol::Char(CharSet::NUMBER, _) if self.grammar.number_digits_max.is_none() => {
                    Some((PieceState::Number(0), Actions::NONE))
                }
                Symbol::Char(CharSet::NUMBER, _)
                    if Some(*digits) < self.grammar.number_digits_max =>
                {
                    Some((PieceState::Number(digits + 1), Actions::NONE))
                }
                _ => Some(self.cut_before(symbol)),
            },
            PieceState::Sign { prefix } => match symbol {
                Symbol::Char(atom, _) if *prefix && self.word_set().intersects(atom) => {
                    Some(self.begin_word(atom))
                }
                _ => Some(self.step_punctuation(symbol)),
            },
            PieceState::Punctuation => Some(self.step_punctuation(symbol)),
            PieceState::PunctuationTail => match symbol {
                Symbol::Char(atom, _) if self.grammar.punctuation_tail.intersects(atom) => {
                    Some((PieceState::PunctuationTail, Actions::NONE))
                }
                _ => Some(self.cut_before(symbol)),
            },
        }
    }

    /// Returns the transition on the first character of a piece. No piece precedes it, so that
    /// nothing is cut.
    fn begin_piece(&self, symbol: Symbol) -> PieceTransition {
        let Symbol::Char(atom, _) = symbol else { return (PieceState::Start, Actions::NONE) };
        let state = match atom {
            _ if self.word_set().intersects(atom) => return self.begin_word(atom),
            CharSet::NUMBER => self.begin_number(),
            CharSet::NEWLINE if self.grammar.space_to_newline => return self.begin_newline(),
            _ if CharSet::SPACE.intersects(atom) => {
                PieceState::Space { newline: false, after: 1, last: atom }
            }
            CharSet::APOSTROPHE if self.grammar.contractions.place == ContractionPlace::Piece => {
                PieceState::Apostrophe(Vec::new())
            }
            _ => self.begin_sign(atom),
        };
        (state, Actions::NONE)
    }

    /// Returns the transition that ends the piece before this character, and begins the next piece
    /// with it.
    fn cut_before(&self, symbol: Symbol) -> PieceTransition {
        let (state, actions) = self.begin_piece(symbol);
        (state, actions.union(Actions::CUT_HERE))
    }

    /// Returns the state after the first digit of a number, which counts digits if numbers are
    /// limited.
    fn begin_number(&self) -> PieceState {
        PieceState::Number(u32::from(self.grammar.number_digits_max.is_some()))
    }

    /// Returns the state after a first character of punctuation, which may also be the prefix of a
    /// word.
    fn begin_sign(&self, atom: CharSet) -> PieceState {
        PieceState::Sign { prefix: self.grammar.word_prefix.intersects(atom) }
    }

    /// Returns the transition on a newline where `space_to_newline` ends a piece at the last one.
    /// Mark 0 is set after it, whether it begins the run of white space or continues it.
    fn begin_newline(&self) -> PieceTransition {
        (PieceState::Space { newline: true, after: 0, last: CharSet::NEWLINE }, Actions::SET_MARK_0)
    }

    /// Returns the transition on the first letter of a word, behind its prefix if it has one.
    fn begin_word(&self, atom: CharSet) -> PieceTransition {
        match self.grammar.word_case {
            WordCase::Splits if atom == CharSet::UPPER => {
                (PieceState::Word(WordTail::Upper), Actions::NONE)
            }
            WordCase::Splits if atom != CharSet::LL => {
                (PieceState::Word(WordTail::Caseless), Actions::SET_MARK_0)
            }
            _ => (PieceState::Word(WordTail::Lower), Actions::NONE),
        }
    }

    /// Returns the transition on a character behind the letters of a word. `tail` is the end of the
    /// word so far.
    fn step_word(&self, tail: WordTail, symbol: Symbol) -> PieceTransition {
        let release_capitals = match tail {
            WordTail::CaselessUpper => Actions::CUT_MARK_0,
            _ => Actions::NONE,
        };
        match symbol {
            Symbol::Char(atom, _) if self.word_set().intersects(atom) => {
                match (self.grammar.word_case, tail, atom) {
                    (WordCase::Ignored, ..) | (_, _, CharSet::LL) => {
                        (PieceState::Word(WordTail::Lower), Actions::NONE)
                    }
                    (_, WordTail::Lower, CharSet::UPPER) => self.cut_before(symbol),
                    (_, WordTail::Lower, _) => (PieceState::Word(WordTail::Lower), Actions::NONE),
                    (_, WordTail::Upper, CharSet::UPPER) => {
                        (PieceState::Word(WordTail::Upper), Actions::NONE)
                    }
                    (_, _, CharSet::UPPER) => {
                        (PieceState::Word(WordTail::CaselessUpper), Actions::NONE)
                    }
                    _ => (PieceState::Word(WordTail::Caseless), Actions::SET_MARK_0),
                }
            }
            Symbol::Char(CharSet::APOSTROPHE, _)
                if self.grammar.contractions.place == ContractionPlace::Suffix =>
            {
                (
                    PieceState::WordApostrophe(Vec::new()),
                    release_capitals.union(Actions::SET_MARK_1),
                )
            }
            _ => {
                let (state, actions) = self.cut_before(symbol);
                (state, actions.union(release_capitals))
            }
        }
    }

    /// Returns the transition on a character behind punctuation. The state is `Sign` or
    /// `Punctuation`.
    fn step_punctuation(&self, symbol: Symbol) -> PieceTransition {
        match symbol {
            Symbol::Char(atom, _) if self.punctuation_set().intersects(atom) => {
                (PieceState::Punctuation, Actions::NONE)
            }
            Symbol::Char(atom, _) if self.grammar.punctuation_tail.intersects(atom) => {
                (PieceState::PunctuationTail, Actions::NONE)
            }
            _ => self.cut_before(symbol),
        }
    }

    /// Returns the transition on a character behind white space. The other arguments are the fields
    /// of [`PieceState::Space`].
    fn step_space(
        &self,
        newline: bool,
        after: u8,
        last: CharSet,
        symbol: Symbol,
    ) -> PieceTransition {
        let grammar = self.grammar;
        let to_newline = match newline && after > 0 {
            true => Actions::CUT_MARK_0,
            false => Actions::NONE,
        };
        let atom = match symbol {
            Symbol::Char(atom, _) => atom,
            Symbol::End if grammar.space_to_end => return (PieceState::Start, Actions::CUT_HERE),
            Symbol::End => return (PieceState::Start, to_newline.union(Actions::CUT_HERE)),
        };
        if atom == CharSet::NEWLINE && grammar.space_to_newline {
            return self.begin_newline();
        }
        if CharSet::SPACE.intersects(atom) {
            let state = PieceState::Space { newline, after: (after + 1).min(2), last: atom };
            return (state, Actions::SET_MARK_1);
        }
        // Text follows, whose prefix may be the last white space: if the run is one character, or
        // if `\s+(?!\S)` leaves the last one.
        let before_last = match after {
            2 if grammar.space_leaves_last => to_newline.union(Actions::CUT_MARK_1),
            _ => to_newline,
        };
        let alone = after == 1 || after == 2 && grammar.space_leaves_last;
        let (state, actions) = if alone
            && self.word_set().intersects(atom)
            && grammar.word_prefix.intersects(last)
        {
            self.begin_word(atom)
        } else if alone && last == CharSet::BLANK && atom == CharSet::NUMBER && grammar.number_blank
        {
            (self.begin_number(), Actions::NONE)
        } else if alone
            && last == CharSet::BLANK
            && self.punctuation_set().intersects(atom)
            && grammar.punctuation_blank
        {
            (PieceState::Punctuation, Actions::NONE)
        } else {
            self.cut_before(symbol)
        };
        (state, actions.union(before_last))
    }

    /// Appends a letter to the `letters` behind an apostrophe. Returns them if they begin an
    /// ending, and whether they are a whole ending; `None` if no contraction begins so.
    fn extend_contraction(
        &self,
        letters: &[Symbol],
        symbol: Symbol,
    ) -> Option<(Vec<Symbol>, bool)> {
        let mut longer = letters.to_vec();
        longer.push(symbol);
        let spelled: Vec<u8> = longer.iter().map(Symbol::letter).collect::<Option<_>>()?;
        let endings = &self.grammar.contractions.endings;
        let is_prefix = endings.iter().any(|ending| ending.as_bytes().starts_with(&spelled));
        let is_complete = endings.iter().any(|ending| ending.as_bytes() == spelled);
        is_prefix.then_some((longer, is_complete))
    }

    /// Returns the transition on a character behind an apostrophe that begins a piece, and
    /// `letters`, which may become a contraction. `None` means that two marks cannot express it.
    fn step_apostrophe(&self, letters: &[Symbol], symbol: Symbol) -> Option<PieceTransition> {
        let prefix = self.grammar.word_prefix.intersects(CharSet::APOSTROPHE);
        match self.extend_contraction(letters, symbol) {
            Some((_, true)) => Some((PieceState::Complete, Actions::NONE)),
            // If these letters become no contraction, the apostrophe is a piece and they are a
            // word, where words take no apostrophe as their prefix. Mark 1 stands between the two.
            Some((longer, false)) if letters.is_empty() && !prefix => {
                Some((PieceState::Apostrophe(longer), Actions::SET_MARK_1))
            }
            Some((longer, false)) => Some((PieceState::Apostrophe(longer), Actions::NONE)),
            None if letters.is_empty() || prefix => {
                self.replay(self.begin_sign(CharSet::APOSTROPHE), letters, symbol, Actions::NONE)
            }
            None => self.replay(PieceState::Start, letters, symbol, Actions::CUT_MARK_1),
        }
    }

    /// Returns the transition on a character behind a word, an apostrophe and `letters`, which may
    /// become a contraction. `None` means that two marks cannot express it.
    fn step_word_apostrophe(&self, letters: &[Symbol], symbol: Symbol) -> Option<PieceTransition> {
        match self.extend_contraction(letters, symbol) {
            Some((_, true)) => Some((PieceState::Complete, Actions::NONE)),
            Some((longer, false)) => Some((PieceState::WordApostrophe(longer), Actions::NONE)),
            None => self.replay(
                self.begin_sign(CharSet::APOSTROPHE),
                letters,
                symbol,
                Actions::CUT_MARK_1,
            ),
        }
    }

    /// Reads `letters` in `state` and then `symbol`, because they are no contraction after all.
    /// Returns the last transition with the actions of `first` added; `None` if two marks cannot
    /// express it.
    fn replay(
        &self,
        mut state: PieceState,
        letters: &[Symbol],
        symbol: Symbol,
        first: Actions,
    ) -> Option<PieceTransition> {
        for &letter in letters {
            // A cut between two of the letters would need a third mark.
            let (next, Actions::NONE) = self.step(&state, letter)? else { return None };
            state = next;
        }
        let (state, actions) = self.step(&state, symbol)?;
        let marks = actions.contains(Actions::CUT_MARK_0) || actions.contains(Actions::CUT_MARK_1);
        (first == Actions::NONE || !marks).then_some((state, actions.union(first)))
    }
}

impl Symbol {
    /// Returns the letter that the symbol spells in a contraction, as an ASCII byte; `None` if it
    /// spells none.
    fn letter(&self) -> Option<u8> {
        match self {
            Self::Char(_, letter) => *letter,
            Self::End => None,
        }
    }
}

/// Returns the atom of character sets that holds a Unicode class. `Meaning::symbol` divides the
/// classes of ASCII further.
pub(crate) fn atom_of(class: Class) -> CharSet {
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

impl PieceState {
    /// Returns the state in words, as Python's `grammar()` shows it: `"newline, one blank"`.
    pub(crate) fn name(&self) -> String {
        let spelled = |letters: &[Symbol]| -> String {
            letters.iter().filter_map(Symbol::letter).map(char::from).collect()
        };
        match self {
            Self::Start => "start".to_owned(),
            Self::Word(WordTail::Lower) => "word".to_owned(),
            Self::Word(WordTail::Upper) => "capitals".to_owned(),
            Self::Word(WordTail::Caseless) => "caseless".to_owned(),
            Self::Word(WordTail::CaselessUpper) => "caseless, capitals".to_owned(),
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
