//! The pairs that come about when a pair is joined get their lists.

use std::mem;

use super::cells::{Cell, Cells};
use super::listed::Listed;
use super::lists::Lists;
use super::pair::{Join, Side};
use super::steps::Cursor;
use super::tokens::Tokens;
use crate::sys::error::Error;
use crate::sys::progress::Pace;

/// What is summed up of the tokens beside those that a join makes.
pub(super) struct Born {
    /// By the number of a cell: the first is for the ends of pieces. All are empty between joins.
    sums: Vec<Sum>,
    /// The numbers that have a sum, in the order they were met.
    met: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    /// How often the token is beside a new one.
    count: u64,
    /// In how many places it is; once that is known, how far before the new token the pair begins.
    span: u32,
    /// Where its next place is to be written; [`NOWHERE`] if it gets no list.
    next: u32,
}

const NOWHERE: u32 = u32::MAX;

impl Born {
    /// Makes room for so many tokens.
    pub(super) fn new(tokens: usize) -> Self {
        Self { sums: vec![Sum::default(); tokens + 1], met: Vec::new() }
    }

    /// Makes room for one more token.
    pub(super) fn grow(&mut self) {
        self.sums.push(Sum::default());
    }

    /// Lists the pairs that have come about, and takes down the counts of those that they were.
    ///
    /// `listed` is the pair that was just joined: so often, at the first places of its list.
    ///
    /// # Errors
    ///
    /// When there are too many places, or somebody asked to stop.
    pub(super) fn list<C: Cell>(
        &mut self,
        (join, listed): (Join, &Listed),
        cells: &Cells<C>,
        tokens: &Tokens<'_>,
        lists: &mut Lists,
        pace: &mut Pace<'_>,
    ) -> Result<(), Error> {
        for side in [Side::Left, Side::Right] {
            let beside = cells.beside(side);
            self.sum_up(beside, lists.places_mut(listed), cells.cursor(), pace)?;
            let end = self.admit(join, side, tokens, lists, pace)?;
            let (places, new) = lists.extend(end, listed)?;
            self.write(beside, places, new, pace)?;
            for number in self.met.drain(..) {
                self.sums[number as usize] = Sum::default();
            }
        }
        Ok(())
    }

    fn sum_up<C: Cell>(
        &mut self,
        beside: &[C],
        places: &[u32],
        mut cursor: Cursor<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<(), Error> {
        for (&cell, &place) in beside.iter().zip(places) {
            pace.work(1)?;
            let sum = &mut self.sums[cell.number()];
            if sum.span == 0 {
                self.met.push(cell.number() as u32);
            }
            sum.count += cursor.count(place);
            sum.span += 1;
        }
        Ok(())
    }

    /// Adds the pairs that get a list; returns where these lists end.
    fn admit(
        &mut self,
        join: Join,
        side: Side,
        tokens: &Tokens<'_>,
        lists: &mut Lists,
        pace: &mut Pace<'_>,
    ) -> Result<usize, Error> {
        let start = lists.end();
        let mut end = start;
        for &number in &self.met {
            pace.work(8)?;
            let sum = &mut self.sums[number as usize];
            let len = mem::take(&mut sum.span);
            sum.next = NOWHERE;
            let Some(token) = number.checked_sub(1) else { continue };
            if side == Side::Left {
                sum.span = tokens.lengths()[token as usize];
            }
            let (born, broken) = join.pairs(side, token);
            lists.fall(broken, sum.count);
            let listed = Listed { pair: born, count: sum.count, start: end as u32, len };
            if tokens.fit(born) && lists.add(listed) {
                sum.next = (end - start) as u32;
                end += len as usize;
            }
        }
        Ok(end)
    }

    /// Writes lists, without a branch for what gets none: that goes to the place after them.
    fn write<C: Cell>(
        &mut self,
        beside: &[C],
        places: &[u32],
        new: &mut [u32],
        pace: &mut Pace<'_>,
    ) -> Result<(), Error> {
        let free = new.len() - 1;
        for (&cell, &place) in beside.iter().zip(places) {
            pace.work(1)?;
            let sum = &mut self.sums[cell.number()];
            new[free.min(sum.next as usize)] = place - sum.span;
            sum.next = sum.next.saturating_add(1);
        }
        Ok(())
    }
}
