//! A program becomes a table: states × classes of characters, one step a character.
//!
//! A state is an ordered list of threads, the preferred first. Before a character is read, all
//! threads run up to the sets that they read next, knowing the class of that character, so that what
//! looks one character ahead is settled; a thread that comes to its match ends all behind it. That
//! is what an engine finds which tries one thread after the other and steps back.
//!
//! Because the table is whole, two things are proven by walking it: that every text has a match at
//! every place, and between which classes a text may always be cut.

use std::collections::HashMap;

mod char_classes;
mod nfa;
mod no_rescan;
mod stride2;

use char_classes::Classes;
use nfa::{Node, Program};
pub(crate) use no_rescan::Does;
pub(crate) use stride2::{Leap, Leaps};

use crate::sys::unicode::Points;

/// What one character does, besides leading to the next state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Step(u32);

impl Step {
    /// A piece ends before this character, which begins the next.
    const CUT: u32 = 1;
    /// A piece may end before this character, unless a later end is found.
    const MARK: u32 = 2;
    /// No match goes on: the piece ends at the last mark, and what follows is read again.
    pub(crate) const BACK: Self = Self(3);

    fn of(state: u32, stride: usize, what: u32) -> Self {
        Self((state * stride as u32) << 2 | what)
    }

    /// 1 if a piece ends before this character.
    #[inline]
    pub(crate) fn cuts(self) -> usize {
        (self.0 & Self::CUT) as usize
    }

    /// Whether a piece may end before this character.
    #[inline]
    pub(crate) fn marks(self) -> bool {
        self.0 & Self::MARK != 0
    }

    /// The row of the state that follows.
    #[inline]
    pub(crate) fn row(self) -> usize {
        (self.0 >> 2) as usize
    }
}

/// The table, and what maps characters to its columns. It covers every text.
#[derive(Clone, Debug)]
pub struct Dfa {
    points: Points,
    /// `table[row + class]`; a row begins at a multiple of the classes.
    table: Vec<Step>,
    /// Classes, the end of the text being the last.
    columns: usize,
    /// For each class: the classes before which a text may always be cut after it.
    safe: Vec<Classes>,
    leaps: Option<Leaps>,
}

/// Why a pattern has no automaton.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It goes to the backtracking engine; the end of a sentence about it.
    Unfit(&'static str),
    /// It leaves out part of this text.
    Drops(String),
}

/// States that a table has at most.
const STATES_MAX: usize = 4096;

/// Instructions that are run at most, in all, to find the states.
const RUNS_MAX: usize = 1 << 23;

impl Dfa {
    /// The row of the state at the start of every text.
    pub(crate) const START: usize = 0;

    /// Compiles a pattern, and proves that it covers every text.
    pub(crate) fn of(pattern: &str) -> Result<Self, Refusal> {
        let program = Program::of(pattern).map_err(Refusal::Unfit)?;
        let moves = Moves::of(&program).map_err(Refusal::Unfit)?;
        match moves.dropped(&program.partition.examples) {
            Some(text) => Err(Refusal::Drops(text)),
            None => Ok(Self::fold(&moves, program.partition.points)),
        }
    }

    /// Makes one column of classes that do the same in every state.
    fn fold(moves: &Moves, mut points: Points) -> Self {
        let (states, end) = (moves.states(), moves.columns - 1);
        let step = |state, class, stride| match (moves.get(state, class), state) {
            // An empty text is read to its end, and stays at the start.
            (_, 0) if class == end => Step::of(0, stride, 0),
            // What may end at the start is empty, and no piece.
            ((next, _), 0) => Step::of(next, stride, 0),
            ((DEAD, false), _) => Step::BACK,
            ((DEAD, true), _) if class == end => Step(Step::CUT),
            ((DEAD, true), _) => Step::of(moves.get(0, class).0, stride, Step::CUT),
            ((next, true), _) => Step::of(next, stride, Step::MARK),
            ((next, false), _) => Step::of(next, stride, 0),
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
        let safe_classes = moves.safe_cuts();
        let safe = kept.iter().map(|&class| {
            let mut columns = Classes::NONE;
            let after =
                kept.iter().enumerate().filter(|(_, after)| safe_classes[class].holds(**after));
            after.for_each(|(column, _)| columns.insert(column));
            columns
        });
        let safe = safe.collect();
        points.rename(|class| column_of[usize::from(class)]);
        kept.push(end);
        let columns = kept.len();
        let table: Vec<Step> = (0..states)
            .flat_map(|state| kept.iter().map(move |&class| step(state, class, columns)))
            .collect();
        let leaps = Leaps::of(&table, columns);
        Self { points, table, columns, safe, leaps }
    }

    /// The step for a class in the state of a row.
    #[inline]
    pub(crate) fn step(&self, row: usize, class: u8) -> Step {
        self.table[row + usize::from(class)]
    }

    /// Two steps by one look-up, unless their table would be too large.
    #[inline]
    pub(crate) fn leaps(&self) -> Option<&Leaps> {
        self.leaps.as_ref()
    }

    /// The same that takes every step by itself, and those that keep no mark and one.
    #[cfg(test)]
    pub(crate) fn plainer(&self) -> [Self; 3] {
        let with_marks = |marks| Leaps::with_marks(&self.table, self.columns, marks);
        [None, with_marks(0), with_marks(1)].map(|leaps| Self { leaps, ..self.clone() })
    }

    /// The class of an ASCII character.
    #[inline]
    pub(crate) fn class_of_ascii(&self, byte: u8) -> u8 {
        self.points.class_of_ascii(byte)
    }

    /// The classes of all ASCII characters.
    #[inline]
    pub(crate) fn ascii(&self) -> &[u8; 128] {
        self.points.ascii()
    }

    /// The class of a scalar.
    #[inline]
    pub(crate) fn class_of(&self, point: u32) -> u8 {
        self.points.class_of(point)
    }

    /// The class of the end of the text.
    pub(crate) fn class_of_end(&self) -> u8 {
        (self.columns - 1) as u8
    }

    /// Returns whether text may be cut between two such characters, each side splitting alone.
    pub(crate) fn is_safe_cut(&self, before: u8, after: u8) -> bool {
        self.safe[usize::from(before)].holds(usize::from(after))
    }

    /// The number of the state of a row.
    pub(crate) fn state_of(&self, row: usize) -> usize {
        row / self.columns
    }

    /// The number of states.
    #[must_use]
    pub fn states(&self) -> usize {
        self.table.len() / self.columns
    }

    /// The number of classes, the end of the text being one.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.columns
    }
}

/// No thread is left.
const DEAD: u32 = u32::MAX;

/// All states, the start first, and for each and each class: the state that follows, and whether a
/// match ends before the character.
struct Moves {
    columns: usize,
    cells: Vec<(u32, bool)>,
}

impl Moves {
    fn of(program: &Program) -> Result<Self, &'static str> {
        let columns = program.partition.end() + 1;
        let mut runner = Runner {
            nodes: &program.nodes,
            run: vec![0; program.nodes.len()],
            listed: vec![0; program.nodes.len()],
            round: 0,
            runs: 0,
        };
        // The start is no other state, even if its threads are: what ends there is empty.
        let (mut lists, mut numbers) = (vec![vec![program.start]], HashMap::new());
        let mut cells = Vec::new();
        let mut at = 0;
        while at < lists.len() {
            for class in 0..columns {
                let (next, matched) = runner.step(&lists[at], class);
                if runner.runs > RUNS_MAX {
                    return Err("its table takes too long to make");
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

    fn states(&self) -> usize {
        self.cells.len() / self.columns
    }

    fn get(&self, state: usize, class: usize) -> (u32, bool) {
        self.cells[state * self.columns + class]
    }

    /// Finds the shortest text that has no match, or an empty one, at its start; the start of a
    /// piece is the start of a text, because nothing looks back.
    fn dropped(&self, examples: &[char]) -> Option<String> {
        // The states that are reached without any end so far, and how: from where, by which class.
        let mut came: Vec<Option<(usize, usize)>> = vec![None; self.states()];
        let mut queue = vec![0];
        let mut at = 0;
        while let Some(&state) = queue.get(at) {
            at += 1;
            // An empty text has no pieces.
            let classes = if state == 0 { self.columns - 1 } else { self.columns };
            for class in 0..classes {
                let (next, matched) = self.get(state, class);
                if matched && state != 0 {
                    continue;
                }
                if next == DEAD {
                    let mut text = Vec::from_iter(examples.get(class).copied());
                    let mut back = state;
                    while let Some((before, class)) = came[back] {
                        text.push(examples[class]);
                        back = before;
                    }
                    return Some(text.into_iter().rev().collect());
                }
                if came[next as usize].is_none() {
                    came[next as usize] = Some((state, class));
                    queue.push(next as usize);
                }
            }
        }
        None
    }

    /// Finds the pairs of classes between which a text may always be cut.
    ///
    /// In every state that reading the first can lead to, the match ends at once both before the
    /// second and at the end of the text. So any match that gets there ends there, in the whole text
    /// and in the part before the cut; one that does not get there has not seen the difference. And
    /// what follows begins a match, as it does alone.
    fn safe_cuts(&self) -> Vec<Classes> {
        let end = self.columns - 1;
        let mut safe = vec![Classes::ALL; self.columns];
        let ends: Vec<Classes> = (0..self.states())
            .map(|state| {
                let cuts = |class: &usize| self.get(state, *class) == (DEAD, true);
                let mut ends = Classes::NONE;
                if cuts(&end) {
                    (0..end).filter(cuts).for_each(|class| ends.insert(class));
                }
                ends
            })
            .collect();
        for row in self.cells.chunks(self.columns) {
            for (class, &(next, _)) in row.iter().enumerate().filter(|(_, cell)| cell.0 != DEAD) {
                safe[class] = safe[class].and(ends[next as usize]);
            }
        }
        safe
    }
}

/// Runs all threads of a state up to the next character.
struct Runner<'p> {
    nodes: &'p [Node],
    /// The last round in which an instruction was run, and was listed.
    run: Vec<u32>,
    listed: Vec<u32>,
    round: u32,
    runs: usize,
}

impl Runner<'_> {
    /// Returns the threads behind a character of this class, and whether a match ends before it.
    fn step(&mut self, threads: &[u32], class: usize) -> (Vec<u32>, bool) {
        self.round += 1;
        let mut next = Vec::new();
        let mut stack: Vec<u32> = threads.iter().rev().copied().collect();
        while let Some(at) = stack.pop() {
            // Where a preferred thread was, this one finds nothing else.
            if std::mem::replace(&mut self.run[at as usize], self.round) == self.round {
                continue;
            }
            self.runs += 1;
            match self.nodes[at as usize] {
                Node::Match => return (next, true),
                Node::Split(first, second) => stack.extend([second, first]),
                Node::Look(classes, after) if classes.holds(class) => stack.push(after),
                Node::Read(classes, after) if classes.holds(class) => {
                    if std::mem::replace(&mut self.listed[after as usize], self.round) != self.round
                    {
                        next.push(after);
                    }
                }
                Node::Look(..) | Node::Read(..) => (),
            }
        }
        (next, false)
    }
}
