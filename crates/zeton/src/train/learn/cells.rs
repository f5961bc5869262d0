//! The pieces, laid out in cells: a cell a byte, and an `END` around every piece.
//!
//! A token stands in its first and in its last cell. So the next token begins a token's length
//! further on, and the last cell of the token before is one cell back; a join touches no others.
//! Pieces lie in falling order of their counts, so a piece needs no count of its own.

use super::layout::{Layout, PIECE_WORK};
use super::pair::{Join, Pair, Side};
use super::steps::{Cursor, Steps};
use super::tokens::Tokens;
use super::{Pieces, fill};
use crate::sys::error::Error;
use crate::sys::huge_buffer;
use crate::sys::progress::Pace;

/// What a cell holds: a token, in as few bits as tokens need.
pub(super) trait Cell: Copy + Eq + Send {
    /// The cell around a piece. No token is that.
    const END: Self;

    fn of(token: u32) -> Self;
    fn token(self) -> u32;

    /// The number of the token, and one; none is `END`.
    fn number(self) -> usize;
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

            #[inline(always)]
            fn number(self) -> usize {
                self.wrapping_add(1) as usize
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
    /// What is to the left and to the right of each token that the last join made.
    lefts: Vec<C>,
    rights: Vec<C>,
}

/// How far ahead places in cells are asked for.
const PREFETCHED: usize = 16;

/// Places that are looked at before the first of them is joined.
const JOINED_AT_ONCE: usize = if cfg!(test) { 2 } else { 512 };

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
        pace: &mut Pace<'_>,
    ) -> Result<Self, Error> {
        let steps = Steps::of(layout.steps(), layout.cells as usize);
        let mut cells = huge_buffer::vec(layout.cells as usize);
        fill(&mut cells, layout.cells as usize, C::END, pace)?;
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
        Ok(Self { cells, steps, lefts: Vec::new(), rights: Vec::new() })
    }

    /// Returns the bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.cells[..]) + self.steps.bytes()
    }

    /// Calls `take` with all pairs as they are now: where each begins, and how often its piece occurs.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn each_pair(
        &self,
        lengths: &[u32],
        pace: &mut Pace<'_>,
        mut take: impl FnMut(u32, Pair, u64),
    ) -> Result<(), Error> {
        let (mut place, mut cursor) = (1, self.steps.cursor());
        while place < self.cells.len() {
            pace.work(1)?;
            let left = self.cells[place].token();
            let next = place + lengths[left as usize] as usize;
            let right = self.cells[next];
            if right == C::END {
                // After an `END` begins the next piece.
                place = next + 1;
            } else {
                take(place as u32, Pair::of(left, right.token()), cursor.count(place as u32));
                place = next;
            }
        }
        Ok(())
    }

    /// Joins a pair wherever it occurs, from left to right. Returns how often it did: the places are
    /// at the front of `places` then.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn join(
        &mut self,
        join: Join,
        lengths: &[u32],
        places: &mut [u32],
        pace: &mut Pace<'_>,
    ) -> Result<usize, Error> {
        let parts = [join.pair.left(), join.pair.right()];
        let [left_length, right_length] = parts.map(|token| lengths[token as usize] as usize);
        let ([left, right], joined) = (parts.map(C::of), C::of(join.joined));
        let Self { cells, lefts, rights, .. } = self;
        let (cells, mut made) = (&mut cells[..], 0);
        lefts.clear();
        rights.clear();
        for first in (0..places.len()).step_by(JOINED_AT_ONCE) {
            let end = places.len().min(first + JOINED_AT_ONCE);
            pace.work(end - first)?;
            // Earlier joins took either part at half of the places. A branch would be a guess, so the
            // places that are left move to the front without one.
            let mut present = first;
            for at in first..end {
                if let Some(&ahead) = places.get(at + PREFETCHED) {
                    huge_buffer::prefetch(&cells[ahead as usize]);
                }
                let place = places[at] as usize;
                let is_present = (cells[place] == left) & (cells[place + left_length] == right);
                places[present] = place as u32;
                present += usize::from(is_present);
            }
            for at in first..present {
                let place = places[at] as usize;
                // `aaa`: the join just before took this one.
                if cells[place] != left {
                    continue;
                }
                let (middle, after) = (place + left_length, place + left_length + right_length);
                let mut before = cells[place - 1];
                if before == joined {
                    // `abab`: what the join just before saw to its right is joined now.
                    *rights.last_mut().expect("there was a join before") = joined;
                    before = C::END;
                }
                // No place in the middle begins a pair any more.
                cells[middle] = C::END;
                (cells[place], cells[after - 1]) = (joined, joined);
                lefts.push(before);
                rights.push(cells[after]);
                places[made] = place as u32;
                made += 1;
            }
        }
        Ok(made)
    }

    /// Returns what is to a side of each token that the last join made: `END` if nothing is.
    ///
    /// If two of them are neighbours, only the one to the left has the other beside it.
    pub(super) fn beside(&self, side: Side) -> &[C] {
        match side {
            Side::Left => &self.lefts,
            Side::Right => &self.rights,
        }
    }

    /// Returns what tells the counts of pieces, at rising places.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        self.steps.cursor()
    }
}
