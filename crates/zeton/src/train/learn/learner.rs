//! The loop: take the best pair, join it wherever it occurs, list the pairs that come about.

use super::born::Born;
use super::cells::{Cell, Cells};
use super::floor::Floor;
use super::growing::Growing;
use super::listed::Listed;
use super::listing::list;
use super::lists::Lists;
use super::pair::Join;
use super::tokens::Tokens;
use super::{Learned, Merge};
use crate::sys::error::Error;
use crate::sys::progress::{Pace, Progress};

/// All that learning works on.
pub(super) struct Learner<'l, C> {
    cells: Cells<C>,
    tokens: Tokens<'l>,
    lists: Lists,
    born: Born,
    floor: Floor,
    /// Bytes that the lists may take, about.
    room: usize,
    pace: Pace<'l>,
    progress: &'l Progress,
}

/// Of so many merges, one is shown; not all of it, if it is long.
const SHOWN_EVERY: usize = 16;
const SHOWN_BYTES: usize = 256;

impl<'l, C: Cell> Learner<'l, C> {
    /// Begins with the lists of the pairs that are likely to be joined.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn new(
        cells: Cells<C>,
        tokens: Tokens<'l>,
        floor: Floor,
        room: usize,
        progress: &'l Progress,
    ) -> Result<Self, Error> {
        let mut pace = Pace::new(progress);
        let lists = list(&cells, &tokens, floor.count(), room, &mut pace)?;
        let born = Born::new(tokens.len());
        Ok(Self { cells, tokens, lists, born, floor, room, pace, progress })
    }

    /// Joins the best pair, over and over; what grows is measured after so many merges, and at the end.
    ///
    /// # Errors
    ///
    /// When there are too many tokens, or somebody asked to stop.
    pub(super) fn learn(
        mut self,
        merges_max: usize,
        mut measure: Option<&mut (Growing, &[usize])>,
    ) -> Result<Learned, Error> {
        let mut learned = Learned::default();
        while learned.merges.len() < merges_max {
            if let Some((growing, merges)) = &mut measure
                && let Some((first, rest)) = merges.split_first()
                && *first <= learned.merges.len()
            {
                self.measure(growing, learned.merges.len())?;
                *merges = rest;
                continue;
            }
            let Some((best, is_tie)) = self.lists.best(&self.tokens, &mut self.pace)? else {
                match self.lists.least() {
                    1 => break,
                    _ => self.list_anew()?,
                }
                continue;
            };
            let joined = self.name(&best, &mut learned)?;
            learned.ties += usize::from(is_tie);
            // Nobody looks at the cells after the last merge, whose token may be `END`.
            if learned.merges.len() < merges_max {
                self.join(&best, joined)?;
                self.tidy(&learned.merges)?;
            }
        }
        if let Some((growing, _)) = measure {
            self.measure(growing, learned.merges.len())?;
        }
        Ok(learned)
    }

    fn measure(&mut self, growing: &mut Growing, merges: usize) -> Result<(), Error> {
        if self.progress.measured().last().is_some_and(|&(before, _)| before == merges) {
            return Ok(());
        }
        let tokens = growing.count(&self.tokens, &mut self.pace)?;
        self.progress.measure(merges, tokens);
        Ok(())
    }

    /// Makes a token of the best pair.
    fn name(&mut self, best: &Listed, learned: &mut Learned) -> Result<u32, Error> {
        let [left, right] = [best.pair.left(), best.pair.right()].map(|part| self.tokens.id(part));
        if learned.merges.len().is_multiple_of(SHOWN_EVERY) {
            self.progress.show(&self.tokens.spell(best.pair, SHOWN_BYTES));
        }
        learned.merges.push(Merge { left, right, count: best.count });
        self.progress.advance(1)?;
        self.tokens.join(best.pair)
    }

    /// Joins a pair wherever it occurs, and lists the pairs that come about.
    fn join(&mut self, best: &Listed, joined: u32) -> Result<(), Error> {
        let Self { cells, tokens, lists, born, pace, .. } = self;
        let join = Join { pair: best.pair, joined };
        cells.join(join, tokens.lengths(), lists.places_mut(best), pace)?;
        born.grow();
        born.list((join, best), cells, tokens, lists, pace)
    }

    /// Gives back what is not needed any more, between two joins.
    fn tidy(&mut self, merges: &[Merge]) -> Result<(), Error> {
        if self.floor.raise(merges) {
            self.lists.raise(self.floor.count(), &mut self.pace)?;
        }
        self.lists.tidy(&mut self.pace)
    }

    /// Lists pairs that are rarer than those that had lists.
    fn list_anew(&mut self) -> Result<(), Error> {
        let Self { cells, tokens, floor, room, pace, .. } = self;
        floor.lower(self.lists.least());
        // The old ones go first: there is not room for both.
        self.lists = Lists::of(Vec::new(), Vec::new(), 1, *room, pace)?;
        self.lists = list(cells, tokens, floor.count(), *room, pace)?;
        Ok(())
    }
}
