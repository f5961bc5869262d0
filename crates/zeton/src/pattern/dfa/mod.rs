//! Compiles a pattern outside the family to a DFA: a table of states × classes of characters.
//!
//! The DFA finds the match that a backtracking engine would find (leftmost-first), in one pass. It
//! exists for patterns that look at most one character ahead; for example, `\s+(?!\S)|\s|\S+`:
//!
//! ```text
//! pattern ─ nfa ─▶ Nfa ─ Determinizer ─▶ TransitionTable ─ merge equal columns ─▶ Dfa
//!                   │                     │ every text is covered? safe cuts?      │ no_rescan
//!            char_classes                                                          ▼ stride2
//!            x → 0, ␣ → 1, end → 2                                           Stride2Table
//!
//! state           x           ␣           end
//! 0 start         1           2           0         a digit is the next state
//! 1 text          1 accept    2 cut       0 cut     cut: a piece ends before this character
//! 2 one blank     1 cut       3 accept    0 cut     accept: a piece may end before it
//! 3 blanks        rescan      3 accept    0 cut     rescan: the piece ends at the last accept
//! ```
//!
//! A DFA state is an ordered list of NFA states (*threads*), the preferred thread first, as in the
//! determinization of `regex-automata`. There is one difference. All threads advance up to their
//! next character *knowing its class*, so that one character of lookahead is decided on the spot. A
//! thread that reaches a match ends all threads behind it, because a backtracking engine would not
//! try them.
//!
//! The whole table is built in advance, in 0.7 to 5 ms for the patterns that people use
//! (`docs/design/pattern.md`). Walking it proves two properties:
//!
//! - Every text has a match at every position. Otherwise the pattern would drop text, and is
//!   refused.
//! - For certain pairs of classes, any text may be cut between their characters (*safe cuts*).

use std::collections::HashMap;

mod char_classes;
mod nfa;
mod no_rescan;
mod stride2;

use char_classes::ClassSet;
use nfa::{Nfa, NfaState};
pub(crate) use no_rescan::DfaAction;
pub(crate) use stride2::{Stride2Entry, Stride2Table};

use crate::sys::unicode::CodePointMap;

/// A transition of the DFA: the next state, and whether a piece ends.
///
/// ```text
/// bit  31            2 1       0
///      row of the next accept  cut      accept and cut together: rescan, without a next state
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DfaTransition(u32);

impl DfaTransition {
    /// A piece ends before this character, which begins the next piece.
    const CUT: u32 = 1;
    /// A piece may end before this character, unless a later end is found.
    const ACCEPT: u32 = 2;
    /// No match continues: the piece ends at the last accepting position, and the text is rescanned
    /// from there.
    pub(crate) const RESCAN: Self = Self(3);

    /// Packs the next state, as the start of its row in a table with `stride` columns, and the
    /// flags.
    fn new(state: u32, stride: usize, flags: u32) -> Self {
        Self((state * stride as u32) << 2 | flags)
    }

    /// Returns whether a piece ends before this character. It also holds for `RESCAN`, whose
    /// callers test that first.
    #[inline]
    pub(crate) fn is_cut(self) -> bool {
        self.0 & Self::CUT != 0
    }

    /// Returns whether a piece may end before this character. It also holds for `RESCAN`, whose
    /// callers test that first.
    #[inline]
    pub(crate) fn is_accept(self) -> bool {
        self.0 & Self::ACCEPT != 0
    }

    /// Returns the start of the next state's row in the table, for [`Dfa::step`].
    #[inline]
    pub(crate) fn row(self) -> usize {
        (self.0 >> 2) as usize
    }
}

/// The DFA of a pattern that covers every text, and the map from characters to its columns.
#[derive(Clone, Debug)]
pub struct Dfa {
    /// The class of each character.
    points: CodePointMap,
    /// `table[row + class]`, where `row` is a state times `columns`.
    table: Vec<DfaTransition>,
    /// Number of classes, including the end of the text, which is the last.
    columns: usize,
    /// For each class, the classes before which any text may be cut.
    safe: Vec<ClassSet>,
    /// The table that reads two bytes at once, unless it would be too large.
    stride2: Option<Stride2Table>,
}

/// The reason why a pattern has no DFA.
#[derive(Debug)]
pub(crate) enum DfaBuildError {
    /// The pattern needs the backtracking engine. The text is the end of a sentence about the
    /// pattern: "it refers back to a group".
    Unsupported(&'static str),
    /// The pattern drops a part of this text, and is refused. For example, `\w+` drops `" "`.
    DropsText(String),
}

/// Maximum number of states. The patterns that people use have 3 to 34; the limit is for patterns
/// such as `(?:a|b)*a(?:a|b){13}`, whose DFA is exponentially large.
const STATES_MAX: usize = 4096;

/// Maximum number of NFA states that the determinization visits in all. It bounds the time to build
/// a table before [`STATES_MAX`] is reached. No measurement chose 2²³; a visit takes a few
/// nanoseconds.
const VISITS_MAX: usize = 1 << 23;

impl Dfa {
    /// The row of the state at the start of every text.
    pub(crate) const START: usize = 0;

    /// Compiles a pattern, and proves that it covers every text. `split` calls it for patterns
    /// outside the family.
    pub(crate) fn try_from_pattern(pattern: &str) -> Result<Self, DfaBuildError> {
        let nfa = Nfa::try_from_pattern(pattern).map_err(DfaBuildError::Unsupported)?;
        let transitions =
            TransitionTable::try_from_nfa(&nfa).map_err(DfaBuildError::Unsupported)?;
        match transitions.find_dropped_text(&nfa.classes.examples) {
            Some(text) => Err(DfaBuildError::DropsText(text)),
            None => Ok(Self::from_transitions(&transitions, nfa.classes.points)),
        }
    }

    /// Packs the transitions, and merges classes whose columns are equal. It is the last step of
    /// `try_from_pattern`, and builds the stride-2 table too.
    fn from_transitions(transitions: &TransitionTable, mut points: CodePointMap) -> Self {
        let (states, end) = (transitions.state_count(), transitions.columns - 1);
        let step = |state, class, stride| match (transitions.get(state, class), state) {
            // The empty text ends at the start, and has no piece.
            (_, 0) if class == end => DfaTransition::new(0, stride, 0),
            // A match at the start is empty, and an empty match is no piece.
            ((next, _), 0) => DfaTransition::new(next, stride, 0),
            ((DEAD, false), _) => DfaTransition::RESCAN,
            ((DEAD, true), _) if class == end => DfaTransition(DfaTransition::CUT),
            ((DEAD, true), _) => {
                DfaTransition::new(transitions.get(0, class).0, stride, DfaTransition::CUT)
            }
            ((next, true), _) => DfaTransition::new(next, stride, DfaTransition::ACCEPT),
            ((next, false), _) => DfaTransition::new(next, stride, 0),
        };
        let (mut kept, mut known) = (Vec::new(), HashMap::new());
        let mut column_of = Vec::new();
        for class in 0..end {
            let column: Vec<u32> = (0..states).map(|state| step(state, class, 1).0).collect();
            column_of.push(*known.entry(column).or_insert_with(|| {
                kept.push(class);
                (kept.len() - 1) as u8
            }));
        }
        let safe_classes = transitions.find_safe_cuts();
        let safe = kept.iter().map(|&class| {
            let mut columns = ClassSet::NONE;
            let after =
                kept.iter().enumerate().filter(|(_, after)| safe_classes[class].contains(**after));
            after.for_each(|(column, _)| columns.insert(column));
            columns
        });
        let safe = safe.collect();
        points.rename(|class| column_of[usize::from(class)]);
        kept.push(end);
        let columns = kept.len();
        let table: Vec<DfaTransition> = (0..states)
            .flat_map(|state| kept.iter().map(move |&class| step(state, class, columns)))
            .collect();
        let stride2 = Stride2Table::try_from_dfa(&table, columns);
        Self { points, table, columns, safe, stride2 }
    }

    /// Returns the transition of a state on a class of characters. `row` is the start of the
    /// state's row in the table.
    #[inline]
    pub(crate) fn step(&self, row: usize, class: u8) -> DfaTransition {
        self.table[row + usize::from(class)]
    }

    /// Returns the table that reads two bytes at once, or `None` if it would be too large; then the
    /// text is read one character at a time.
    #[inline]
    pub(crate) fn stride2(&self) -> Option<&Stride2Table> {
        self.stride2.as_ref()
    }

    /// Returns three slower twins: without a stride-2 table, and with none and one accept slot.
    #[cfg(test)]
    pub(crate) fn slower_twins(&self) -> [Self; 3] {
        let with_slots = |slots| Stride2Table::try_with_slots(&self.table, self.columns, slots);
        [None, with_slots(0), with_slots(1)].map(|stride2| Self { stride2, ..self.clone() })
    }

    /// Returns the class of an ASCII character, by one load.
    #[inline]
    pub(crate) fn class_of_ascii(&self, byte: u8) -> u8 {
        self.points.class_of_ascii(byte)
    }

    /// Returns the class of each ASCII character, as the SIMD kernels look them up.
    #[inline]
    pub(crate) fn ascii_classes(&self) -> &[u8; 128] {
        self.points.ascii()
    }

    /// Returns the class of a code point, ASCII or not.
    #[inline]
    pub(crate) fn class_of(&self, point: u32) -> u8 {
        self.points.class_of(point)
    }

    /// Returns the class that the scanner reads at the end of the text.
    pub(crate) fn class_of_end(&self) -> u8 {
        (self.columns - 1) as u8
    }

    /// Returns whether any text may be cut between characters of these two classes, so that the two
    /// sides can be split independently.
    pub(crate) fn is_safe_cut(&self, before: u8, after: u8) -> bool {
        self.safe[usize::from(before)].contains(usize::from(after))
    }

    /// Returns the number of the state whose row starts at `row`.
    pub(crate) fn state_of(&self, row: usize) -> usize {
        row / self.columns
    }

    /// Returns the number of states.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.table.len() / self.columns
    }

    /// Returns the number of classes, including the end of the text.
    #[must_use]
    pub fn class_count(&self) -> usize {
        self.columns
    }
}

/// The next state if no thread is left, as the dead state of `regex-automata`.
const DEAD: u32 = u32::MAX;

/// The result of the determinization. For each state, the start first, and each class: the next
/// state, and whether a match ends before the character.
struct TransitionTable {
    /// Number of classes, including the end of the text.
    columns: usize,
    cells: Vec<(u32, bool)>,
}

impl TransitionTable {
    /// Determinizes an NFA when a pattern is compiled: each state is an ordered list of threads,
    /// and the lists are explored breadth first. The error is the reason why the pattern gets no
    /// DFA, such as too many states.
    fn try_from_nfa(nfa: &Nfa) -> Result<Self, &'static str> {
        let columns = nfa.classes.end() + 1;
        let mut determinizer = Determinizer {
            states: &nfa.states,
            visited: vec![0; nfa.states.len()],
            listed: vec![0; nfa.states.len()],
            round: 0,
            visits: 0,
        };
        // The start is not in `numbers`: a state with equal threads is another state, because a
        // match at the start is empty.
        let (mut lists, mut numbers) = (vec![vec![nfa.start]], HashMap::new());
        let mut cells = Vec::new();
        let mut at = 0;
        while at < lists.len() {
            for class in 0..columns {
                let (next, matched) = determinizer.next_threads(&lists[at], class);
                if determinizer.visits > VISITS_MAX {
                    return Err("its table takes too long to build");
                }
                let next = match next.is_empty() || class == columns - 1 {
                    true => DEAD,
                    false => *numbers.entry(next).or_insert_with_key(|next| {
                        lists.push(next.clone());
                        lists.len() as u32 - 1
                    }),
                };
                cells.push((next, matched));
            }
            if lists.len() > STATES_MAX {
                return Err("its table has too many states");
            }
            at += 1;
        }
        Ok(Self { columns, cells })
    }

    /// Returns the number of states.
    fn state_count(&self) -> usize {
        self.cells.len() / self.columns
    }

    /// Returns the transition of a state on a class, as the next state and whether a match ends
    /// before the character.
    fn get(&self, state: usize, class: usize) -> (u32, bool) {
        self.cells[state * self.columns + class]
    }

    /// Finds the shortest text that has no match, or only an empty one, at its start.
    ///
    /// If there is none, the pattern covers every text, because no assertion looks behind: a piece
    /// begins as a text does.
    fn find_dropped_text(&self, examples: &[char]) -> Option<String> {
        // The states that are reached without a match so far, each with its predecessor and class.
        let mut predecessor: Vec<Option<(usize, usize)>> = vec![None; self.state_count()];
        let mut queue = vec![0];
        let mut at = 0;
        while let Some(&state) = queue.get(at) {
            at += 1;
            // The empty text needs no match.
            let classes = if state == 0 { self.columns - 1 } else { self.columns };
            for class in 0..classes {
                let (next, matched) = self.get(state, class);
                if matched && state != 0 {
                    continue;
                }
                if next == DEAD {
                    let mut text = Vec::from_iter(examples.get(class).copied());
                    let mut earlier = state;
                    while let Some((before, class)) = predecessor[earlier] {
                        text.push(examples[class]);
                        earlier = before;
                    }
                    return Some(text.into_iter().rev().collect());
                }
                if predecessor[next as usize].is_none() {
                    predecessor[next as usize] = Some((state, class));
                    queue.push(next as usize);
                }
            }
        }
        None
    }

    /// Finds the pairs of classes between which any text may be cut.
    ///
    /// A character of the first class leads to some states. In each of them the match must end at
    /// once, both before a character of the second class and at the end of the text. So a match
    /// that reaches this position ends there, in the whole text and in the part before the cut. A
    /// match that ends earlier is equal in both. The text behind the cut begins a match, as it does
    /// alone.
    fn find_safe_cuts(&self) -> Vec<ClassSet> {
        let end = self.columns - 1;
        let mut safe = vec![ClassSet::ALL; self.columns];
        let ends: Vec<ClassSet> = (0..self.state_count())
            .map(|state| {
                let cuts = |class: &usize| self.get(state, *class) == (DEAD, true);
                let mut ends = ClassSet::NONE;
                if cuts(&end) {
                    (0..end).filter(cuts).for_each(|class| ends.insert(class));
                }
                ends
            })
            .collect();
        for row in self.cells.chunks(self.columns) {
            for (class, &(next, _)) in row.iter().enumerate().filter(|(_, cell)| cell.0 != DEAD) {
                safe[class] = safe[class].intersection(ends[next as usize]);
            }
        }
        safe
    }
}

/// Advances the threads of a DFA state by one character: the epsilon closure and the step at once.
struct Determinizer<'n> {
    states: &'n [NfaState],
    /// The last round in which an NFA state was visited.
    visited: Vec<u32>,
    /// The last round in which an NFA state became a thread of the next DFA state.
    listed: Vec<u32>,
    /// The number of the current call, so that the two lists need no clearing.
    round: u32,
    /// NFA states visited in all.
    visits: usize,
}

impl Determinizer<'_> {
    /// Returns the threads behind a character of this class, in the order of preference, and
    /// whether a match ends before the character. It marks the states that it visits.
    fn next_threads(&mut self, threads: &[u32], class: usize) -> (Vec<u32>, bool) {
        self.round += 1;
        let mut next = Vec::new();
        let mut stack: Vec<u32> = threads.iter().rev().copied().collect();
        while let Some(at) = stack.pop() {
            // A preferred thread has visited this state, and finds all that this thread would find.
            if std::mem::replace(&mut self.visited[at as usize], self.round) == self.round {
                continue;
            }
            self.visits += 1;
            match self.states[at as usize] {
                NfaState::Match => return (next, true),
                NfaState::Union(first, second) => stack.extend([second, first]),
                NfaState::Look(classes, after) if classes.contains(class) => stack.push(after),
                NfaState::Read(classes, after) if classes.contains(class) => {
                    if std::mem::replace(&mut self.listed[after as usize], self.round) != self.round
                    {
                        next.push(after);
                    }
                }
                NfaState::Look(..) | NfaState::Read(..) => (),
            }
        }
        (next, false)
    }
}
