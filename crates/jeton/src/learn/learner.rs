//! The loop: take the best pair, join it, list what comes about.

use super::cells::{Beside, Cell, Cells};
use super::layout::Layout;
use super::listing::list;
use super::lists::{Listed, Lists};
use super::table::Pair;
use super::tokens::Tokens;
use super::{Goal, Learned, Merge, Pieces};
use crate::error::Error;
use crate::progress::{Pace, Progress};

/// All that learning works on.
pub(super) struct Learner<'l, C> {
    cells: Cells<C>,
    tokens: Tokens<'l>,
    lists: Lists,
    beside: Beside<C>,
    /// What is summed up of each token that stands beside a new one; none between joins.
    sums: Vec<Sum>,
    /// The tokens that have a sum.
    summed: Vec<u32>,
    floor: Floor,
    room: usize,
    pace: Pace<'l>,
    progress: &'l Progress,
}

/// How often a token stands beside a new one.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    places: u32,
    /// Where its next place is to be written; [`NOWHERE`] if the pair is too rare.
    next: u32,
}

const NOWHERE: u32 = u32::MAX;

/// The bytes that lists get at least, however large the cells are: a share of those, or that many.
const ROOM_SHARE: usize = 8;
const ROOM_MIN: usize = 1 << 22;

/// Bytes of all else, without the tokens; and those of a token.
const REST_BYTES: usize = 1 << 20;
const TOKEN_BYTES: usize = 48;

/// Lists take no more at any rate: 32 bits number their places, and as many as one join adds.
const ROOM_MAX: usize = (u32::MAX / 2) as usize * size_of::<u32>();

/// How far ahead counts are asked for.
const PREFETCHED: usize = 8;

/// Of so many merges, one is shown, and so many bytes of it at least.
const SHOWN_EVERY: usize = 16;
const SHOWN_BYTES: usize = 256;

impl<'l, C: Cell> Learner<'l, C> {
    /// Takes all pieces to their places, and lists the pairs that are likely to be joined.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn new(
        pieces: &impl Pieces,
        layout: Layout,
        tokens: Tokens<'l>,
        goal: &Goal<'_>,
        progress: &'l Progress,
    ) -> Result<Self, Error> {
        let mut pace = Pace::new(progress);
        let merges_max = goal.merges_max;
        let floor = Floor::new(layout.occurrences, tokens.len(), merges_max);
        let cells = Cells::of(pieces, layout, &tokens, &mut pace)?;
        let mut room = ROOM_MAX;
        if let Some(memory) = goal.memory_max {
            let rest = cells.bytes() + REST_BYTES + (tokens.len() + merges_max) * TOKEN_BYTES;
            let least = ROOM_MIN.max(cells.bytes() / ROOM_SHARE);
            room = room.min(memory.saturating_sub(rest).max(least));
        }
        let lists = list(&cells, &tokens, floor.count, room, &mut pace)?;
        let beside = Beside { lefts: Vec::new(), rights: Vec::new() };
        let sums = vec![Sum::default(); tokens.len()];
        let summed = Vec::new();
        Ok(Self { cells, tokens, lists, beside, sums, summed, floor, room, pace, progress })
    }

    /// Joins the best pair, over and over.
    ///
    /// # Errors
    ///
    /// When there are too many tokens, or somebody asked to stop.
    pub(super) fn learn(mut self, merges_max: usize) -> Result<Learned, Error> {
        let mut learned = Learned::default();
        while learned.merges.len() < merges_max {
            let Some((best, is_tie)) = self.lists.best(&self.tokens) else {
                if self.lists.least() == 1 {
                    break;
                }
                self.list_anew()?;
                continue;
            };
            let joined = self.join_token(best, is_tie, &mut learned)?;
            // What the last merge makes is not looked at any more, so its token may be `END`.
            if learned.merges.len() < merges_max {
                self.join(best, joined)?;
                self.tidy(&learned.merges)?;
            }
        }
        Ok(learned)
    }

    /// Makes a token of the best pair.
    fn join_token(
        &mut self,
        best: Listed,
        is_tie: bool,
        learned: &mut Learned,
    ) -> Result<u32, Error> {
        let [left, right] = [best.pair.left(), best.pair.right()].map(|part| self.tokens.id(part));
        if learned.merges.len().is_multiple_of(SHOWN_EVERY) {
            self.progress.show(&self.tokens.spell(best.pair, SHOWN_BYTES));
        }
        let joined = self.tokens.join(best.pair)?;
        learned.merges.push(Merge { left, right, count: best.count });
        learned.ties += usize::from(is_tie);
        self.progress.advance(1)?;
        Ok(joined)
    }

    /// Lists the pairs anew: no pair that has a list occurs often enough.
    fn list_anew(&mut self) -> Result<(), Error> {
        self.floor.lower(self.lists.least());
        self.lists = Lists::of(Vec::new(), Vec::new(), 1, self.room, &mut self.pace)?;
        self.lists = list(&self.cells, &self.tokens, self.floor.count, self.room, &mut self.pace)?;
        Ok(())
    }

    /// Gives back what is not needed any more, between two joins.
    fn tidy(&mut self, merges: &[Merge]) -> Result<(), Error> {
        if self.floor.raise(merges) {
            self.lists.raise(self.floor.count, &mut self.pace)?;
        }
        self.lists.tidy(&mut self.pace)
    }

    /// Joins a pair wherever it occurs, and lists the pairs that come about.
    fn join(&mut self, best: Listed, joined: u32) -> Result<(), Error> {
        self.sums.push(Sum::default());
        let places = self.lists.places_mut(best);
        let lengths = self.tokens.lengths();
        let (beside, pace) = (&mut self.beside, &mut self.pace);
        beside.lefts.clear();
        beside.rights.clear();
        let made = self.cells.join(best.pair, joined, lengths, places, beside, pace)?;
        let (left, right) = (best.pair.left(), best.pair.right());
        self.list_side::<true>(best, made, |token| {
            (Pair::of(token, joined), Pair::of(token, left))
        })?;
        self.list_side::<false>(best, made, |token| {
            (Pair::of(joined, token), Pair::of(right, if token == joined { left } else { token }))
        })
    }

    /// Lists the pairs that have come about to one side of new tokens.
    ///
    /// `pairs` tells, by the other token, the pair that came about and the one that is no more.
    fn list_side<const LEFT: bool>(
        &mut self,
        best: Listed,
        made: usize,
        pairs: impl Fn(u32) -> (Pair, Pair),
    ) -> Result<(), Error> {
        let Self { cells, tokens, lists, sums, summed, beside, pace, .. } = self;
        let beside = if LEFT { &beside.lefts } else { &beside.rights };
        let mut cursor = cells.cursor();
        let places = &lists.places_mut(best)[..made];
        for (&other, &place) in beside.iter().zip(places) {
            pace.work(1)?;
            if other != C::END {
                let sum = &mut sums[other.token() as usize];
                if sum.places == 0 {
                    summed.push(other.token());
                }
                sum.count += cursor.count(place);
                sum.places += 1;
            }
        }
        let start = lists.end();
        let mut end = start;
        for (at, &token) in summed.iter().enumerate() {
            pace.work(1)?;
            if let Some(&ahead) = summed.get(at + PREFETCHED) {
                lists.prefetch(pairs(ahead).1);
            }
            let sum = &mut sums[token as usize];
            let (born, broken) = pairs(token);
            lists.fall(broken, sum.count);
            let listed =
                Listed { pair: born, count: sum.count, start: end as u32, len: sum.places };
            sum.next = NOWHERE;
            if tokens.fit(born) && lists.add(listed, pace)? {
                sum.next = (end - start) as u32;
                end += sum.places as usize;
            }
        }
        lists.extend(end)?;
        let (places, new) = lists.split(start, best, made);
        for (&other, &place) in beside.iter().zip(places) {
            pace.work(1)?;
            if other != C::END {
                let sum = &mut sums[other.token() as usize];
                if sum.next != NOWHERE {
                    let length = if LEFT { tokens.lengths()[other.token() as usize] } else { 0 };
                    new[sum.next as usize] = place - length;
                    sum.next += 1;
                }
            }
        }
        for token in summed.drain(..) {
            sums[token as usize] = Sum::default();
        }
        Ok(())
    }
}

/// How often a pair occurs at least that gets a list, if there is room.
///
/// Any floor gives the same merges. With a low one, many lists are kept of pairs that are never
/// joined; with a high one, all pairs are listed anew when no others are left.
struct Floor {
    count: u64,
    merges_max: usize,
    /// After so many merges, the floor is raised to what the last one is likely to need.
    next: usize,
}

impl Floor {
    fn new(occurrences: u64, tokens: usize, merges_max: usize) -> Self {
        let count = occurrences / 64 / (tokens + merges_max) as u64;
        Self { count: count.max(1), merges_max, next: (merges_max / 64).max(64) }
    }

    /// Goes down, as no pair occurs as often as that.
    fn lower(&mut self, least: u64) {
        if least <= self.count {
            self.count = (self.count / 4).max(1);
        }
    }

    /// Goes up, if the merges so far promise more frequent ones to the end; returns whether it did.
    ///
    /// Counts fall about as a power of the number of merges.
    fn raise(&mut self, merges: &[Merge]) -> bool {
        if merges.len() != self.next {
            return false;
        }
        let [half, now] = [merges.len() / 2, merges.len() - 1].map(|at| merges[at].count as f64);
        let slope = (half / now).log2().max(0.5) * 1.2;
        let last = now * (merges.len() as f64 / self.merges_max as f64).powf(slope);
        let count = (last / 2.0) as u64;
        self.next *= 2;
        let is_higher = count > self.count;
        self.count = self.count.max(count);
        is_higher
    }
}
