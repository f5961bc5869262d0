//! The pieces, laid out in cells: a cell a byte, and an `END` around every piece.
//!
//! A token stands in its first and in its last cell. So the next token begins a token's length
//! further on, and the last cell of the token before is one cell back; a join touches no others.
//! Pieces lie in falling order of their counts, so a piece needs no count of its own.

use super::Pieces;
use super::layout::{Layout, PIECE_WORK};
use super::table::Pair;
use super::tokens::Tokens;
use crate::error::Error;
use crate::huge;
use crate::progress::Pace;

/// What a cell holds: a token, in as few bits as tokens need.
pub(super) trait Cell: Copy + Eq + Send {
    /// The cell around a piece. No token is that.
    const END: Self;

    fn of(token: u32) -> Self;
    fn token(self) -> u32;
}

macro_rules! cell {
    ($bits:ty) => {
        impl Cell for $bits {
            const END: Self = Self::MAX;

            #[inline(always)]
            fn of(token: u32) -> Self {
                token as Self
            }

            #[inline(always)]
            fn token(self) -> u32 {
                self.into()
            }
        }
    };
}
cell!(u16);
cell!(u32);

/// All pieces, and how often each occurs.
pub(super) struct Cells<C> {
    cells: Vec<C>,
    steps: Steps,
}

/// How far ahead places in cells are asked for.
const PREFETCHED: usize = 16;

impl<C: Cell> Cells<C> {
    /// Takes all pieces, each to where the layout says.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn of(
        pieces: &impl Pieces,
        mut layout: Layout,
        tokens: &Tokens<'_>,
        pace: &mut Pace,
    ) -> Result<Self, Error> {
        let steps = Steps::of(layout.steps(), layout.cells as usize);
        let mut cells = huge::vec(layout.cells as usize);
        cells.resize(layout.cells as usize, C::END);
        let mut buffers = Default::default();
        pieces.each(&mut |piece, count| {
            pace.work(PIECE_WORK + piece.len())?;
            if let Some(start) = layout.place(piece, count, tokens) {
                let cells = &mut cells[start..start + piece.len()];
                tokens.parts_of(piece, &mut buffers, |first, last, token| {
                    (cells[first], cells[last]) = (C::of(token), C::of(token));
                });
            }
            Ok(())
        })?;
        Ok(Self { cells, steps })
    }

    /// Returns the bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.cells[..]) + self.steps.bytes()
    }

    /// Calls `take` with all pairs as they are now: where each begins, and how often its piece occurs.
    ///
    /// # Errors
    ///
    /// When `take` fails, or somebody asked to stop.
    pub(super) fn each_pair(
        &self,
        lengths: &[u32],
        pace: &mut Pace,
        mut take: impl FnMut(u32, Pair, u64, &mut Pace) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut place, mut cursor) = (1, self.steps.cursor());
        while place < self.cells.len() {
            pace.work(1)?;
            let left = self.cells[place];
            if left == C::END {
                place += 1;
                continue;
            }
            let next = place + lengths[left.token() as usize] as usize;
            let right = self.cells[next];
            if right != C::END {
                let pair = Pair::of(left.token(), right.token());
                take(place as u32, pair, cursor.count(place as u32), pace)?;
            }
            place = next;
        }
        Ok(())
    }

    /// Joins a pair wherever it occurs, from left to right, and appends the neighbours of what it
    /// made. Returns how many: their places are moved to the front of `places`.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn join(
        &mut self,
        pair: Pair,
        joined: u32,
        lengths: &[u32],
        places: &mut [u32],
        beside: &mut Beside<C>,
        pace: &mut Pace,
    ) -> Result<usize, Error> {
        let [left_length, right_length] =
            [pair.left(), pair.right()].map(|token| lengths[token as usize] as usize);
        let [left, right, joined] = [pair.left(), pair.right(), joined].map(C::of);
        let (cells, mut made) = (&mut self.cells[..], 0);
        for at in 0..places.len() {
            pace.work(1)?;
            if let Some(&ahead) = places.get(at + PREFETCHED) {
                huge::prefetch(&cells[ahead as usize]);
            }
            let place = places[at] as usize;
            let middle = place + left_length;
            // An earlier join may have taken either part.
            if cells[place] != left || cells[middle] != right {
                continue;
            }
            let after = middle + right_length;
            let mut before = cells[place - 1];
            cells[middle] = C::END;
            (cells[place], cells[after - 1]) = (joined, joined);
            if before == joined {
                // `abab`: what the first join saw to its right was not yet joined.
                *beside.rights.last_mut().expect("the one before was made just now") = joined;
                before = C::END;
            }
            beside.lefts.push(before);
            beside.rights.push(cells[after]);
            places[made] = place as u32;
            made += 1;
        }
        Ok(made)
    }

    /// Returns what tells the counts of pieces, at rising places.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        self.steps.cursor()
    }
}

/// What stands beside the tokens that a join made: `END` where there is nothing. Two of them that are
/// neighbours are a pair that is to the right of the first.
pub(super) struct Beside<C> {
    pub(super) lefts: Vec<C>,
    pub(super) rights: Vec<C>,
}

/// Where the pieces of each count begin.
struct Steps {
    /// The first place, and the count from there on; the last one ends them all.
    steps: Vec<(u32, u64)>,
    /// The step of every so many cells, so that none is far.
    marks: Vec<u32>,
}

const MARK_CELLS: u32 = 128;

impl Steps {
    fn of(mut steps: Vec<(u32, u64)>, cells: usize) -> Self {
        steps.push((u32::MAX, 0));
        let mut step = 0;
        let marks = (0..cells as u32).step_by(MARK_CELLS as usize).map(|place| {
            while steps[step + 1..].first().is_some_and(|next| next.0 <= place) {
                step += 1;
            }
            step as u32
        });
        let marks = marks.collect();
        Self { steps, marks }
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.steps[..]) + size_of_val(&self.marks[..])
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor { steps: self, count: 0, end: 0 }
    }
}

/// Tells the counts of pieces, at rising places.
pub(super) struct Cursor<'s> {
    steps: &'s Steps,
    count: u64,
    /// The first place that has another count.
    end: u32,
}

impl Cursor<'_> {
    /// Returns the count of the piece at a place.
    #[inline(always)]
    pub(super) fn count(&mut self, place: u32) -> u64 {
        if place >= self.end {
            self.seek(place);
        }
        self.count
    }

    #[inline]
    fn seek(&mut self, place: u32) {
        let Steps { steps, marks } = self.steps;
        let mut step = marks[(place / MARK_CELLS) as usize] as usize;
        while steps[step + 1].0 <= place {
            step += 1;
        }
        (self.count, self.end) = (steps[step].1, steps[step + 1].0);
    }
}
