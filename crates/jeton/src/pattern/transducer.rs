//! A grammar becomes a table: states × classes of characters, one step a character.
//!
//! The table never looks ahead. What a pattern finds by backtracking lives in two marks, positions
//! in the text at which a later step may cut: mark 0 stands after the last newline of a run of
//! white space, or after the last letter without case of a run of capitals; mark 1 stands before
//! the last white space of a run, or before what may turn out to be a contraction.
//!
//! [`State`] and `Builder::step` say what each state has read and what each character does to it;
//! the table is what is found by walking from the start, with equal states and classes folded.

use std::collections::HashMap;

use super::grammar::{Case, Grammar, Place};
use super::set::Set;
use crate::unicode::Class;

/// What a step does besides changing the state, in this order: cut, then set marks.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Actions(u8);

impl Actions {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A piece ends at mark 0.
    pub const CUT_MARK_0: Self = Self(1);
    /// A piece ends at mark 1.
    pub const CUT_MARK_1: Self = Self(2);
    /// A piece ends before this character.
    pub const CUT_HERE: Self = Self(4);
    /// Mark 0 is set after this character.
    pub const SET_MARK_0: Self = Self(8);
    /// Mark 1 is set before this character.
    pub const SET_MARK_1: Self = Self(16);

    const CUTS: Self = Self(7);

    /// Returns whether these actions hold all of `other`.
    #[must_use]
    #[inline]
    pub fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The actions as a number of five bits, the first action being the lowest.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn cuts(self) -> Self {
        Self(self.0 & Self::CUTS.0)
    }

    fn sets(self) -> Self {
        Self(self.0 & !Self::CUTS.0)
    }
}

/// One cell of the table.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Step {
    /// The state that follows.
    pub next: u8,
    /// What to do first.
    pub actions: Actions,
}

/// The table, and what maps characters to its columns.
#[derive(Clone, Debug)]
pub struct Transducer {
    names: Vec<String>,
    columns: usize,
    steps: Vec<Step>,
    ascii: [u8; 128],
    /// By the letter of a [`Class`].
    classes: [u8; 128],
    /// The two characters outside ASCII that fold to a letter inside: `ſ` to s, the Kelvin sign to k.
    folding: [(u32, u8); 2],
    end: u8,
    /// `safe[a * columns + b]`: between a character of class a and one of class b there is always
    /// a cut, and the text before it splits as it would alone.
    safe: Vec<bool>,
}

impl Transducer {
    /// The state at the start of every text.
    pub const START: u8 = 0;

    /// Compiles a grammar; `None` if two marks cannot express it.
    #[must_use]
    pub fn of(grammar: &Grammar) -> Option<Self> {
        Builder { grammar }.build()
    }

    /// The step for a class in a state.
    #[must_use]
    #[inline]
    pub fn step(&self, state: u8, class: u8) -> Step {
        self.steps[state as usize * self.columns + class as usize]
    }

    /// The class of an ASCII character.
    #[must_use]
    #[inline]
    pub fn class_of_ascii(&self, byte: u8) -> u8 {
        self.ascii[byte as usize]
    }

    /// The class of any code point.
    #[must_use]
    #[inline]
    pub fn class_of(&self, point: u32) -> u8 {
        match self.folding.iter().find(|(folding, _)| *folding == point) {
            Some((_, class)) => *class,
            None if point < 128 => self.ascii[point as usize],
            None => self.classes[crate::unicode::class_letter(point) as usize],
        }
    }

    /// The class of a byte that is not UTF-8: that of punctuation.
    #[must_use]
    #[inline]
    pub fn class_of_bad_byte(&self) -> u8 {
        self.classes[Class::Other as usize]
    }

    /// The class of the end of the text.
    #[must_use]
    pub fn class_of_end(&self) -> u8 {
        self.end
    }

    /// Returns whether text may be cut between two such characters, each side splitting alone.
    #[must_use]
    pub fn is_safe_cut(&self, before: u8, after: u8) -> bool {
        self.safe[before as usize * self.columns + after as usize]
    }

    /// What each state has read, in words.
    #[must_use]
    pub fn state_names(&self) -> &[String] {
        &self.names
    }

    /// The number of classes, the end of the text being one.
    #[must_use]
    pub fn class_count(&self) -> usize {
        self.columns
    }

    /// All steps, state by state.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// What has been read of the piece in hand.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum State {
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
    Space { newline: bool, after: u8, last: Set },
    /// An apostrophe and these letters, which may become a contraction.
    Apostrophe(Vec<Symbol>),
    /// A word, an apostrophe (mark 1 stands before it) and these letters.
    WordApostrophe(Vec<Symbol>),
    /// A contraction, with or without its word: whatever follows starts a new piece.
    Complete,
}

/// How a word ends so far. Where case is ignored, all words are `Lower`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Tail {
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
enum Symbol {
    /// A character of an atom, and the letter it is in contractions.
    Char(Set, Option<u8>),
    /// The end of the text.
    End,
}

type Move = (State, Actions);

struct Builder<'g> {
    grammar: &'g Grammar,
}

impl Builder<'_> {
    fn build(&self) -> Option<Transducer> {
        let mut symbols = Vec::new();
        let mut column = |symbol: Symbol| {
            symbols.iter().position(|known| *known == symbol).unwrap_or_else(|| {
                symbols.push(symbol);
                symbols.len() - 1
            })
        };
        let ascii: Vec<usize> = (0..128).map(|point| column(self.symbol(point))).collect();
        let folding = ['\u{17F}', '\u{212A}'].map(|c| (c as u32, column(self.symbol(c as u32))));
        let classes = Class::ALL.map(|class| (class, column(Symbol::Char(atom(class), None))));
        let end = column(Symbol::End);

        let (states, moves) = self.walk(&symbols)?;
        let (rows, row_of) = fold(&moves, symbols.len());
        let (columns, column_of) = fold_columns(&moves, &row_of, symbols.len());
        let cell = |row: usize, column: usize| {
            let (next, actions) = moves[rows[row] * symbols.len() + columns[column]];
            Step { next: row_of[next] as u8, actions }
        };
        if rows.len() > 256 || columns.len() > 256 {
            return None;
        }
        let mut transducer = Transducer {
            names: rows.iter().map(|&row| name(&states[row])).collect(),
            columns: columns.len(),
            steps: (0..rows.len())
                .flat_map(|row| (0..columns.len()).map(move |column| (row, column)))
                .map(|(row, column)| cell(row, column))
                .collect(),
            ascii: std::array::from_fn(|byte| column_of[ascii[byte]] as u8),
            classes: [0; 128],
            folding: folding.map(|(point, column)| (point, column_of[column] as u8)),
            end: column_of[end] as u8,
            safe: Vec::new(),
        };
        for (class, column) in classes {
            transducer.classes[class as usize] = column_of[column] as u8;
        }
        transducer.safe = safe_cuts(&transducer);
        Some(transducer)
    }

    /// Finds all states that can be reached, the start first, and their moves.
    #[allow(clippy::type_complexity, reason = "states and their table, unpacked at once")]
    fn walk(&self, symbols: &[Symbol]) -> Option<(Vec<State>, Vec<(usize, Actions)>)> {
        let mut states = vec![State::Start];
        let mut numbers = HashMap::from([(State::Start, 0)]);
        let mut moves = Vec::new();
        let mut at = 0;
        while at < states.len() {
            for &symbol in symbols {
                let (next, actions) = self.step(&states[at].clone(), symbol)?;
                let number = *numbers.entry(next.clone()).or_insert_with(|| {
                    states.push(next);
                    states.len() - 1
                });
                moves.push((number, actions));
            }
            at += 1;
        }
        Some((states, moves))
    }

    /// What the grammar sees in a code point.
    fn symbol(&self, point: u32) -> Symbol {
        let atom = match char::from_u32(point) {
            Some(' ') => Set::BLANK,
            Some('\r' | '\n') => Set::NEWLINE,
            Some('\'') => Set::APOSTROPHE,
            Some('/') => Set::SLASH,
            _ => {
                let letter = crate::unicode::class_letter(point);
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

    fn word(&self) -> Set {
        Set::LETTER | if self.grammar.word_marks { Set::MARK } else { Set::NONE }
    }

    fn punctuation(&self) -> Set {
        let marks = if self.grammar.punctuation_marks { Set::MARK } else { Set::NONE };
        Set::APOSTROPHE | Set::SLASH | Set::OTHER | marks
    }

    /// The move of a state on a symbol; `None` if two marks cannot express it.
    fn step(&self, state: &State, symbol: Symbol) -> Option<Move> {
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
                Symbol::Char(Set::NUMBER, _) if self.grammar.number_digits_max.is_none() => {
                    Some((State::Number(0), Actions::NONE))
                }
                Symbol::Char(Set::NUMBER, _) if Some(*digits) < self.grammar.number_digits_max => {
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
            Set::NUMBER => self.begin_number(),
            Set::NEWLINE if self.grammar.space_to_newline => return self.newline(),
            _ if Set::SPACE.meets(atom) => State::Space { newline: false, after: 1, last: atom },
            Set::APOSTROPHE if self.grammar.contractions.place == Place::Piece => {
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

    fn sign(&self, atom: Set) -> State {
        State::Sign { prefix: self.grammar.word_prefix.meets(atom) }
    }

    fn newline(&self) -> Move {
        (State::Space { newline: true, after: 0, last: Set::NEWLINE }, Actions::SET_MARK_0)
    }

    fn begin_word(&self, atom: Set) -> Move {
        match self.grammar.word_case {
            Case::Splits if atom == Set::UPPER => (State::Word(Tail::Upper), Actions::NONE),
            Case::Splits if atom != Set::LL => (State::Word(Tail::Caseless), Actions::SET_MARK_0),
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
                    (Case::Ignored, ..) | (_, _, Set::LL) => {
                        (State::Word(Tail::Lower), Actions::NONE)
                    }
                    (_, Tail::Lower, Set::UPPER) => self.cut(symbol),
                    (_, Tail::Lower, _) => (State::Word(Tail::Lower), Actions::NONE),
                    (_, Tail::Upper, Set::UPPER) => (State::Word(Tail::Upper), Actions::NONE),
                    (_, _, Set::UPPER) => (State::Word(Tail::CaselessUpper), Actions::NONE),
                    _ => (State::Word(Tail::Caseless), Actions::SET_MARK_0),
                }
            }
            Symbol::Char(Set::APOSTROPHE, _)
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

    fn step_space(&self, newline: bool, after: u8, last: Set, symbol: Symbol) -> Move {
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
        if atom == Set::NEWLINE && grammar.space_to_newline {
            return self.newline();
        }
        if Set::SPACE.meets(atom) {
            let state = State::Space { newline, after: (after + 1).min(2), last: atom };
            return (state, Actions::SET_MARK_1);
        }
        // Text follows. The last white space, if it is alone or left alone, may belong to it.
        let before_last = match after {
            2 if grammar.space_leaves_last => to_newline.and(Actions::CUT_MARK_1),
            _ => to_newline,
        };
        let alone = after == 1 || after == 2 && grammar.space_leaves_last;
        let (state, actions) =
            if alone && self.word().meets(atom) && grammar.word_prefix.meets(last) {
                self.begin_word(atom)
            } else if alone && last == Set::BLANK && atom == Set::NUMBER && grammar.number_blank {
                (self.begin_number(), Actions::NONE)
            } else if alone
                && last == Set::BLANK
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
        let prefix = self.grammar.word_prefix.meets(Set::APOSTROPHE);
        match self.contraction(letters, symbol) {
            Some((_, true)) => Some((State::Complete, Actions::NONE)),
            // Without a prefix, letters that become no contraction are a word after a lone sign.
            Some((longer, false)) if letters.is_empty() && !prefix => {
                Some((State::Apostrophe(longer), Actions::SET_MARK_1))
            }
            Some((longer, false)) => Some((State::Apostrophe(longer), Actions::NONE)),
            None if letters.is_empty() || prefix => {
                self.replay(self.sign(Set::APOSTROPHE), letters, symbol, Actions::NONE)
            }
            None => self.replay(State::Start, letters, symbol, Actions::CUT_MARK_1),
        }
    }

    fn step_word_apostrophe(&self, letters: &[Symbol], symbol: Symbol) -> Option<Move> {
        match self.contraction(letters, symbol) {
            Some((_, true)) => Some((State::Complete, Actions::NONE)),
            Some((longer, false)) => Some((State::WordApostrophe(longer), Actions::NONE)),
            None => self.replay(self.sign(Set::APOSTROPHE), letters, symbol, Actions::CUT_MARK_1),
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

fn atom(class: Class) -> Set {
    match class {
        Class::Upper => Set::UPPER,
        Class::Lower => Set::LL,
        Class::Letter => Set::CASELESS,
        Class::Mark => Set::MARK,
        Class::Number => Set::NUMBER,
        Class::White => Set::WHITE,
        Class::Other => Set::OTHER,
    }
}

/// What a state has read, in words.
fn name(state: &State) -> String {
    let spelled = |letters: &[Symbol]| -> String {
        letters.iter().filter_map(Symbol::letter).map(char::from).collect()
    };
    match state {
        State::Start => "start".to_owned(),
        State::Word(Tail::Lower) => "word".to_owned(),
        State::Word(Tail::Upper) => "capitals".to_owned(),
        State::Word(Tail::Caseless) => "caseless".to_owned(),
        State::Word(Tail::CaselessUpper) => "caseless, capitals".to_owned(),
        State::Number(0) => "number".to_owned(),
        State::Number(digits) => format!("number of {digits}"),
        State::Sign { .. } => "sign".to_owned(),
        State::Punctuation => "punctuation".to_owned(),
        State::PunctuationTail => "punctuation, tail".to_owned(),
        State::Space { newline: true, after: 0, .. } => "newline".to_owned(),
        State::Space { newline, after, last } => {
            let newline = if *newline { "newline, " } else { "" };
            let count = if *after == 1 { "one" } else { "more" };
            let last = if *last == Set::BLANK { "blank" } else { "white" };
            format!("{newline}{count} {last}")
        }
        State::Apostrophe(letters) => format!("'{}", spelled(letters)),
        State::WordApostrophe(letters) => format!("word'{}", spelled(letters)),
        State::Complete => "contraction".to_owned(),
    }
}

/// Numbers states so that those with equal moves, as far as any text can tell, share a row.
///
/// Returns one state for each row, and the row of each state; the start keeps row 0.
fn fold(moves: &[(usize, Actions)], columns: usize) -> (Vec<usize>, Vec<usize>) {
    let mut row_of = vec![0; moves.len() / columns];
    loop {
        let mut rows = Vec::new();
        let mut known = HashMap::new();
        let finer: Vec<usize> = moves
            .chunks(columns)
            .enumerate()
            .map(|(state, row)| {
                let key: Vec<_> = row.iter().map(|(next, acts)| (row_of[*next], *acts)).collect();
                *known.entry((row_of[state], key)).or_insert_with(|| {
                    rows.push(state);
                    rows.len() - 1
                })
            })
            .collect();
        if finer == row_of {
            return (rows, row_of);
        }
        row_of = finer;
    }
}

/// The same for classes of characters: columns that are equal everywhere are one.
fn fold_columns(
    moves: &[(usize, Actions)],
    row_of: &[usize],
    columns: usize,
) -> (Vec<usize>, Vec<usize>) {
    let mut kept = Vec::new();
    let mut known = HashMap::new();
    let column_of = (0..columns)
        .map(|column| {
            let key: Vec<_> =
                moves.chunks(columns).map(|row| (row_of[row[column].0], row[column].1)).collect();
            *known.entry(key).or_insert_with(|| {
                kept.push(column);
                kept.len() - 1
            })
        })
        .collect();
    (kept, column_of)
}

/// Finds the pairs of classes between which a text may always be cut: whatever came before, the
/// second starts a piece, and the end of the text in its place would have cut in the same way.
fn safe_cuts(transducer: &Transducer) -> Vec<bool> {
    let columns = transducer.columns as u8;
    let states = transducer.names.len() as u8;
    let safe = |before: u8, after: u8| {
        let fresh = transducer.step(Transducer::START, after);
        (0..states).all(|state| {
            let read = transducer.step(state, before).next;
            let (there, end) =
                (transducer.step(read, after), transducer.step(read, transducer.end));
            there.next == fresh.next
                && there.actions.sets() == fresh.actions.sets()
                && there.actions.cuts() == end.actions.cuts()
                && there.actions.holds(Actions::CUT_HERE)
        })
    };
    let end = transducer.end;
    (0..columns)
        .flat_map(|before| (0..columns).map(move |after| (before, after)))
        .map(|(before, after)| before != end && after != end && safe(before, after))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::patterns;

    #[test]
    fn the_published_patterns_need_few_states_and_classes() {
        let size = |name: &str| {
            let grammar = Grammar::of(&patterns()[name]).unwrap();
            let transducer = Transducer::of(&grammar).unwrap();
            (transducer.state_names().len(), transducer.class_count())
        };
        assert_eq!(size("gpt2"), (12, 11));
        assert_eq!(size("cl100k"), (20, 12));
        assert_eq!(size("o200k"), (25, 20));
    }

    #[test]
    fn a_space_after_a_letter_is_a_safe_cut_and_a_letter_after_a_space_is_not() {
        for (name, pattern) in patterns() {
            let transducer = Transducer::of(&Grammar::of(&pattern).unwrap()).unwrap();
            let [x, blank] = [b'x', b' '].map(|byte| transducer.class_of_ascii(byte));
            assert!(transducer.is_safe_cut(x, blank), "{name}");
            assert!(!transducer.is_safe_cut(blank, x), "{name}");
            assert!(!transducer.is_safe_cut(x, x), "{name}");
        }
    }
}
