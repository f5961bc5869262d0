//! An automaton that need not go back, as far as two marks are enough.
//!
//! Where no match goes on, a piece ends at the last mark, and what follows is read again. So that it need not
//! be, a chain of states is kept: behind the state of the piece in hand that of what begins at its mark, as if
//! it had been read from there, behind that of what begins at the mark of that, and so on. When the first
//! ends at its mark, the second takes its place, at the same character.

use std::collections::HashMap;

use super::Step;

/// Marks that are kept at most.
pub(crate) const MARKS: usize = 2;

/// What a character does besides leading to another chain; several at a time.
pub(crate) struct Does;

impl Does {
    /// A piece ends before the character.
    pub(crate) const CUT: u8 = 1;
    /// A mark is set before the character, for each mark.
    pub(crate) const SET: [u8; MARKS] = [2, 4];
    /// A piece ends where a mark was set last, for each mark.
    pub(crate) const CUT_AT: [u8; MARKS] = [8, 16];
    /// What follows that mark is read again: nothing else is done, and no chain follows.
    pub(crate) const BACK: u8 = 32;
}

/// A state, and which mark the piece may end at, if it has one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Run {
    state: usize,
    mark: Option<usize>,
}

/// The piece in hand, and for each run that has a mark, what begins there, where that is known.
type Chain = Vec<Option<Run>>;

/// Finds all chains of a table of steps, of so many classes and the end of the text, with so many marks. Returns for each
/// chain, the start first, and each class what it does and the chain that follows; `None` if there are more
/// chains than so many.
pub(crate) fn find_chains(
    steps: &[Step],
    classes: usize,
    marks: usize,
    chains_max: usize,
) -> Option<Vec<(u8, usize)>> {
    Steps { steps, columns: classes + 1, marks }.chains(chains_max)
}

/// The table of an automaton, whose last column is the end of the text.
struct Steps<'a> {
    steps: &'a [Step],
    columns: usize,
    /// Marks of a chain at most. With none, all that is at a mark is read again.
    marks: usize,
}

impl Steps<'_> {
    fn chains(&self, chains_max: usize) -> Option<Vec<(u8, usize)>> {
        let mut chains = vec![self.fresh(0)];
        let mut numbers = HashMap::from([(chains[0].clone(), 0)]);
        let mut cells = Vec::new();
        let mut at = 0;
        while at < chains.len() {
            for class in 0..self.columns - 1 {
                let (does, next) = self.follow(&chains[at].clone(), class);
                let number = next.map_or(0, |next| {
                    *numbers.entry(next).or_insert_with_key(|next| {
                        chains.push(next.clone());
                        chains.len() - 1
                    })
                });
                cells.push((does, number));
            }
            if chains.len() > chains_max {
                return None;
            }
            at += 1;
        }
        Some(cells)
    }

    /// The chain of a piece that has no mark yet; where none is kept, it may have one.
    fn fresh(&self, state: usize) -> Chain {
        match self.marks {
            0 => vec![Some(Run { state, mark: Some(0) }), None],
            _ => vec![Some(Run { state, mark: None })],
        }
    }

    fn step(&self, state: usize, class: usize) -> Step {
        self.steps[state * self.columns + class]
    }

    /// The state after the first character of a piece.
    fn begin(&self, class: usize) -> usize {
        self.step(0, class).row() / self.columns
    }

    /// What a character does to a chain, and the chain that follows, unless it goes back.
    fn follow(&self, whole: &[Option<Run>], class: usize) -> (u8, Option<Chain>) {
        let (mut chain, mut does) = (whole, 0);
        while let Some(run) = chain[0] {
            let step = self.step(run.state, class);
            if step != Step::BACK {
                if step.cuts() == 1 {
                    return (does | Does::CUT, Some(self.fresh(self.begin(class))));
                }
                let mut next = Chain::new();
                does |= self.go_on(chain, class, &mut next);
                return (does, Some(next));
            }
            does |= run.mark.map_or(0, |mark| Does::CUT_AT[mark]);
            chain = &chain[1..];
        }
        // What begins at a mark is not known: all from the first on is read again. What goes back has a mark, as
        // every text is covered.
        let first = whole[0].and_then(|run| run.mark).expect("a run goes back to a mark");
        (Does::BACK | Does::CUT_AT[first], None)
    }

    /// Appends the chain after a character with which its first run goes on; returns which marks are set. A run
    /// behind it that would end a piece is not known any more: that end could not be told.
    fn go_on(&self, chain: &[Option<Run>], class: usize, next: &mut Chain) -> u8 {
        let Some(run) = chain[0] else {
            next.push(None);
            return 0;
        };
        let step = self.step(run.state, class);
        let state = step.row() / self.columns;
        if step == Step::BACK || step.cuts() == 1 {
            next.push(None);
            return 0;
        }
        if !step.marks() {
            next.push(Some(Run { state, ..run }));
            return if run.mark.is_some() { self.go_on(&chain[1..], class, next) } else { 0 };
        }
        let is_free = |mark: &usize| next.iter().flatten().all(|run| run.mark != Some(*mark));
        let Some(mark) = run.mark.or_else(|| (0..self.marks).find(is_free)) else {
            next.push(None);
            return 0;
        };
        next.push(Some(Run { state, mark: Some(mark) }));
        match self.marks {
            0 => next.push(None),
            _ => next.extend(self.fresh(self.begin(class))),
        }
        Does::SET[mark]
    }
}
