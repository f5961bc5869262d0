//! A grammar becomes a table: states × classes of characters, one step a character.
//!
//! The table never looks ahead. What a pattern finds by backtracking lives in two marks, positions
//! in the text at which a later step may cut: mark 0 stands after the last newline of a run of
//! white space, or after the last letter without case of a run of capitals; mark 1 stands before
//! the last white space of a run, or before what may turn out to be a contraction.
//!
//! `states` says what each state has read and what each character does to it; the table is what is
//! found by walking from the start, with equal states and equal classes folded.

use std::collections::HashMap;

use super::grammar::Grammar;
use super::meaning::{Meaning, State, Symbol, atom};
use crate::sys::unicode::Class;

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

    pub(crate) fn and(self, other: Self) -> Self {
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
        build(&Meaning { grammar })
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
            None => self.classes[crate::sys::unicode::class_letter(point) as usize],
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

/// States, and classes, that a table has at most.
const ROWS_MAX: usize = 255;

/// States that are looked at before equal ones are folded; long contractions have very many.
const STATES_MAX: usize = 1000;

/// Makes the smallest table of a grammar.
fn build(meaning: &Meaning<'_>) -> Option<Transducer> {
    let mut symbols = Vec::new();
    let mut column = |symbol: Symbol| {
        symbols.iter().position(|known| *known == symbol).unwrap_or_else(|| {
            symbols.push(symbol);
            symbols.len() - 1
        })
    };
    let ascii: Vec<usize> = (0..128).map(|point| column(meaning.symbol(point))).collect();
    let folding = ['\u{17F}', '\u{212A}'].map(|c| (c as u32, column(meaning.symbol(c as u32))));
    let classes = Class::ALL.map(|class| (class, column(Symbol::Char(atom(class), None))));
    let end = column(Symbol::End);

    let (states, moves) = walk(meaning, &symbols)?;
    let (rows, row_of) = fold(&moves, symbols.len());
    let (columns, column_of) = fold_columns(&moves, &row_of, symbols.len());
    let cell = |row: usize, column: usize| {
        let (next, actions) = moves[rows[row] * symbols.len() + columns[column]];
        Step { next: row_of[next] as u8, actions }
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
    transducer.safe = safe_cuts(&transducer);
    Some(transducer)
}

/// Finds all states that can be reached, the start first, and their moves.
#[allow(clippy::type_complexity, reason = "states and their table, unpacked at once")]
fn walk(meaning: &Meaning<'_>, symbols: &[Symbol]) -> Option<(Vec<State>, Vec<(usize, Actions)>)> {
    let mut states = vec![State::Start];
    let mut numbers = HashMap::from([(State::Start, 0)]);
    let mut moves = Vec::new();
    let mut at = 0;
    while at < states.len() {
        for &symbol in symbols {
            let (next, actions) = meaning.step(&states[at].clone(), symbol)?;
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                states.len() - 1
            });
            moves.push((number, actions));
        }
        if states.len() > STATES_MAX {
            return None;
        }
        at += 1;
    }
    Some((states, moves))
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
    fn long_contractions_do_not_make_tables_without_end() {
        let pattern = patterns()["cl100k"].replace("[sdmt]", "abcdefghijklmnopqrstuvwxyz");
        assert!(Transducer::of(&Grammar::of(&pattern).unwrap()).is_none());
        assert!(crate::Splitter::new(&pattern).unwrap().grammar().is_none());
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
