//! Compiles a grammar to a finite-state transducer: a table of states × classes of characters.
//!
//! The splitter makes one look-up a character. A cell says which state follows and whether a piece
//! ends. The table never looks ahead. The ends that a regex engine finds by backtracking are two
//! *marks*, positions in the text at which a later transition may cut:
//!
//! - Mark 0 stands after the last newline of a run of white space, or after the last letter without
//!   case of a run of capitals.
//! - Mark 1 stands before the last character of a run of white space, or before an apostrophe that
//!   may begin a contraction.
//!
//! For example, gpt2's pattern has 12 states × 11 classes, cl100k's 20 × 12 and o200k's 25 × 20.
//! The header of `meaning` shows the actions on a text.
//!
//! Construction: explore the states of `meaning` from the start, merge equivalent states by
//! partition refinement, merge equal columns.

use std::collections::HashMap;

use super::grammar::Grammar;
use super::meaning::{Meaning, PieceState, Symbol, atom_of};
use crate::sys::unicode::Class;

/// The actions of a transition, as a bit mask. Cuts come first, then marks are set.
///
/// ```text
/// bit  4           3           2         1           0
///      SET_MARK_1  SET_MARK_0  CUT_HERE  CUT_MARK_1  CUT_MARK_0
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Actions(u8);

impl Actions {
    /// No action.
    pub const NONE: Self = Self(0);
    /// A piece ends at mark 0.
    pub const CUT_MARK_0: Self = Self(1);
    /// A piece ends at mark 1.
    pub const CUT_MARK_1: Self = Self(2);
    /// A piece ends before this character.
    pub const CUT_HERE: Self = Self(4);
    /// Sets mark 0 after this character.
    pub const SET_MARK_0: Self = Self(8);
    /// Sets mark 1 before this character.
    pub const SET_MARK_1: Self = Self(16);

    /// The three bits of cuts.
    const CUTS: Self = Self(7);

    /// Returns whether these actions include all actions of `other`.
    #[must_use]
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the actions as a number of five bits; `CUT_MARK_0` is the lowest bit.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Returns the actions that are in either set, for a transition that takes both.
    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the cuts among the actions, without the setting of marks.
    fn cuts(self) -> Self {
        Self(self.0 & Self::CUTS.0)
    }

    /// Returns the setting of marks among the actions, without the cuts.
    fn sets(self) -> Self {
        Self(self.0 & !Self::CUTS.0)
    }
}

/// A cell of the table: the transition of a state on a class.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Transition {
    /// The state that follows.
    pub next: u8,
    /// The actions before that state is entered.
    pub actions: Actions,
}

/// The table of a grammar, and the map from characters to its columns.
#[derive(Clone, Debug)]
pub struct Transducer {
    /// The name of each state.
    names: Vec<String>,
    /// Number of classes, including the end of the text.
    columns: usize,
    /// `steps[state * columns + class]`.
    steps: Vec<Transition>,
    /// The class of each ASCII character.
    ascii: [u8; 128],
    /// The class of each Unicode class, indexed by the letter of [`Class`].
    classes: [u8; 128],
    /// The class of each of the two characters outside ASCII that fold to an ASCII letter: `ſ` to
    /// `s`, the Kelvin sign to `k`.
    folding: [(u32, u8); 2],
    /// The class of the end of the text.
    end: u8,
    /// `safe[a * columns + b]`: a text is always cut between a character of class `a` and one of
    /// class `b`, and the text before the cut splits as it would alone.
    safe: Vec<bool>,
}

impl Transducer {
    /// The state at the start of every text.
    pub const START: u8 = 0;

    /// Compiles a grammar to a table, when a pattern is compiled. Returns `None` if two marks
    /// cannot express it, or if its table is too large; then the pattern gets another engine.
    #[must_use]
    pub fn try_from_grammar(grammar: &Grammar) -> Option<Self> {
        build(&Meaning { grammar })
    }

    /// Returns the transition of the state with this number on a class of characters: the next
    /// state and the actions.
    #[must_use]
    #[inline]
    pub fn step(&self, state: u8, class: u8) -> Transition {
        self.steps[state as usize * self.columns + class as usize]
    }

    /// Returns the class of an ASCII character, by one load.
    #[must_use]
    #[inline]
    pub fn class_of_ascii(&self, byte: u8) -> u8 {
        self.ascii[byte as usize]
    }

    /// Returns the class of any code point, by a search of the few letters that fold to ASCII and a
    /// table.
    #[must_use]
    #[inline]
    pub fn class_of(&self, point: u32) -> u8 {
        match self.folding.iter().find(|(folding, _)| *folding == point) {
            Some((_, class)) => *class,
            None if point < 128 => self.ascii[point as usize],
            None => self.classes[crate::sys::unicode::class_letter(point) as usize],
        }
    }

    /// Returns the class of a byte that is not UTF-8, which is the class of punctuation.
    #[must_use]
    #[inline]
    pub fn class_of_bad_byte(&self) -> u8 {
        self.classes[Class::Other as usize]
    }

    /// Returns the class that the scanner reads at the end of the text.
    #[must_use]
    pub fn class_of_end(&self) -> u8 {
        self.end
    }

    /// Returns whether any text may be cut between characters of these two classes, so that the two
    /// sides can be split independently.
    ///
    /// For example, after a letter and before a space. Threads split the parts of a text between
    /// such places.
    #[must_use]
    pub fn is_safe_cut(&self, before: u8, after: u8) -> bool {
        self.safe[before as usize * self.columns + after as usize]
    }

    /// Returns the name of each state, such as `"newline, one blank"`.
    #[must_use]
    pub fn state_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of classes, including the end of the text.
    #[must_use]
    pub fn class_count(&self) -> usize {
        self.columns
    }

    /// Returns all transitions, state by state.
    #[must_use]
    pub fn steps(&self) -> &[Transition] {
        &self.steps
    }
}

/// Maximum number of states, and of classes, because a cell stores each in a byte.
const ROWS_MAX: usize = 255;

/// Maximum number of states before equivalent ones are merged. Long contractions have a state for
/// each sequence of symbols that spells a prefix, so that their number grows exponentially. No
/// measurement chose 1,000.
const STATES_MAX: usize = 1000;

/// Builds the minimal table of a grammar; `None` if two marks cannot express it, or if it is too
/// large. It takes 0.1 to 0.3 ms, once for each splitter.
fn build(meaning: &Meaning<'_>) -> Option<Transducer> {
    let mut symbols = Vec::new();
    let mut column_of_symbol = |symbol: Symbol| {
        symbols.iter().position(|known| *known == symbol).unwrap_or_else(|| {
            symbols.push(symbol);
            symbols.len() - 1
        })
    };
    let ascii: Vec<usize> = (0..128).map(|point| column_of_symbol(meaning.symbol(point))).collect();
    let folding =
        ['\u{17F}', '\u{212A}'].map(|c| (c as u32, column_of_symbol(meaning.symbol(c as u32))));
    let classes =
        Class::ALL.map(|class| (class, column_of_symbol(Symbol::Char(atom_of(class), None))));
    let end = column_of_symbol(Symbol::End);

    let (states, transitions) = explore(meaning, &symbols)?;
    let (rows, row_of) = merge_states(&transitions, symbols.len());
    let (columns, column_of) = merge_columns(&transitions, &row_of, symbols.len());
    let cell = |row: usize, column: usize| {
        let (next, actions) = transitions[rows[row] * symbols.len() + columns[column]];
        Transition { next: row_of[next] as u8, actions }
    };
    if rows.len() > ROWS_MAX || columns.len() > ROWS_MAX {
        return None;
    }
    let mut transducer = Transducer {
        names: rows.iter().map(|&row| states[row].name()).collect(),
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
    transducer.safe = find_safe_cuts(&transducer);
    Some(transducer)
}

/// Finds all reachable states, the start first, and their transitions on each symbol, state by
/// state.
#[allow(clippy::type_complexity, reason = "states and their table, unpacked at once")]
fn explore(
    meaning: &Meaning<'_>,
    symbols: &[Symbol],
) -> Option<(Vec<PieceState>, Vec<(usize, Actions)>)> {
    let mut states = vec![PieceState::Start];
    let mut numbers = HashMap::from([(PieceState::Start, 0)]);
    let mut transitions = Vec::new();
    let mut at = 0;
    while at < states.len() {
        for &symbol in symbols {
            let (next, actions) = meaning.step(&states[at].clone(), symbol)?;
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                states.len() - 1
            });
            transitions.push((number, actions));
        }
        if states.len() > STATES_MAX {
            return None;
        }
        at += 1;
    }
    Some((states, transitions))
}

/// Assigns equivalent states to one row, by partition refinement (Moore's algorithm).
///
/// Two states are equivalent if no text distinguishes them. Returns one state for each row, and the
/// row of each state; the start keeps row 0.
fn merge_states(transitions: &[(usize, Actions)], columns: usize) -> (Vec<usize>, Vec<usize>) {
    let mut row_of = vec![0; transitions.len() / columns];
    loop {
        let mut rows = Vec::new();
        let mut known = HashMap::new();
        let finer: Vec<usize> = transitions
            .chunks(columns)
            .enumerate()
            .map(|(state, row)| {
                let key: Vec<_> =
                    row.iter().map(|(next, actions)| (row_of[*next], *actions)).collect();
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

/// Assigns equal columns to one class of characters. Returns one column for each class, and the
/// class of each column.
fn merge_columns(
    transitions: &[(usize, Actions)],
    row_of: &[usize],
    columns: usize,
) -> (Vec<usize>, Vec<usize>) {
    let mut kept = Vec::new();
    let mut known = HashMap::new();
    let column_of = (0..columns)
        .map(|column| {
            let key: Vec<_> = transitions
                .chunks(columns)
                .map(|row| (row_of[row[column].0], row[column].1))
                .collect();
            *known.entry(key).or_insert_with(|| {
                kept.push(column);
                kept.len() - 1
            })
        })
        .collect();
    (kept, column_of)
}

/// Finds the pairs of classes between which every text may be cut.
///
/// A character of the first class leads to some states. In each of them a character of the second
/// class must begin a piece, and the end of the text in its place must cut at equal positions.
fn find_safe_cuts(transducer: &Transducer) -> Vec<bool> {
    let columns = transducer.columns as u8;
    let states = transducer.names.len() as u8;
    let is_safe = |before: u8, after: u8| {
        let fresh = transducer.step(Transducer::START, after);
        (0..states).all(|state| {
            let read = transducer.step(state, before).next;
            let (within, end) =
                (transducer.step(read, after), transducer.step(read, transducer.end));
            within.next == fresh.next
                && within.actions.sets() == fresh.actions.sets()
                && within.actions.cuts() == end.actions.cuts()
                && within.actions.contains(Actions::CUT_HERE)
        })
    };
    let end = transducer.end;
    (0..columns)
        .flat_map(|before| (0..columns).map(move |after| (before, after)))
        .map(|(before, after)| before != end && after != end && is_safe(before, after))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::patterns;

    #[test]
    fn the_published_patterns_need_few_states_and_classes() {
        let size = |name: &str| {
            let grammar = Grammar::recognise(&patterns()[name]).unwrap();
            let transducer = Transducer::try_from_grammar(&grammar).unwrap();
            (transducer.state_names().len(), transducer.class_count())
        };
        assert_eq!(size("gpt2"), (12, 11));
        assert_eq!(size("cl100k"), (20, 12));
        assert_eq!(size("o200k"), (25, 20));
    }

    #[test]
    fn long_contractions_are_refused_because_of_their_states() {
        let pattern = patterns()["cl100k"].replace("[sdmt]", "abcdefghijklmnopqrstuvwxyz");
        assert!(Transducer::try_from_grammar(&Grammar::recognise(&pattern).unwrap()).is_none());
        assert!(crate::Splitter::parse(&pattern).unwrap().grammar().is_none());
    }

    #[test]
    fn a_space_after_a_letter_is_a_safe_cut_and_a_letter_after_a_space_is_not() {
        for (name, pattern) in patterns() {
            let transducer =
                Transducer::try_from_grammar(&Grammar::recognise(&pattern).unwrap()).unwrap();
            let [x, blank] = [b'x', b' '].map(|byte| transducer.class_of_ascii(byte));
            assert!(transducer.is_safe_cut(x, blank), "{name}");
            assert!(!transducer.is_safe_cut(blank, x), "{name}");
            assert!(!transducer.is_safe_cut(x, x), "{name}");
        }
    }
}
