//! All pairs are counted, and those that occur often enough get their lists.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::cells::{Cell, Cells};
use super::fill;
use super::listed::{Listed, least_that_fits};
use super::lists::Lists;
use super::pair::{Pair, Share};
use super::tokens::Tokens;
use crate::sys::error::Error;
use crate::sys::progress::Pace;

/// Lists the pairs that occur so often at least; fewer, if all do not fit into `room` bytes.
///
/// # Errors
///
/// When somebody asked to stop.
pub(super) fn list<C: Cell>(
    cells: &Cells<C>,
    tokens: &Tokens<'_>,
    floor: u64,
    room: usize,
    pace: &mut Pace<'_>,
) -> Result<Lists, Error> {
    match tokens.len() {
        256 => list_by::<C, OfBytes>(cells, tokens, floor, room, pace),
        _ => list_by::<C, OfTokens>(cells, tokens, floor, room, pace),
    }
}

fn list_by<C: Cell, T: Tallies>(
    cells: &Cells<C>,
    tokens: &Tokens<'_>,
    floor: u64,
    room: usize,
    pace: &mut Pace<'_>,
) -> Result<Lists, Error> {
    let (mut listed, least) = frequent::<C, T>(cells, tokens, floor, room, pace)?;
    let (mut end, mut next) = (0, T::default());
    for one in &mut listed {
        one.start = end as u32;
        end += one.len as usize;
        // The tally of a list that is being written: it has that many places and those before.
        *next.get(one.pair) = Tally { count: one.count, places: one.start };
        pace.work(1)?;
    }
    let mut places = Vec::new();
    places.reserve_exact(end + 1);
    fill(&mut places, end, 0, pace)?;
    cells.each_pair(tokens.lengths(), pace, |place, pair, _| {
        if let Some(next) = next.find(pair) {
            places[next.places as usize] = place;
            next.places += 1;
        }
    })?;
    drop(next);
    Lists::of(listed, places, least, room, pace)
}

/// Finds the pairs that occur so often at least, and the least count of which all are among them.
fn frequent<C: Cell, T: Tallies>(
    cells: &Cells<C>,
    tokens: &Tokens<'_>,
    floor: u64,
    room: usize,
    pace: &mut Pace<'_>,
) -> Result<(Vec<Listed>, u64), Error> {
    let (mut listed, mut least) = (Vec::new(), floor);
    let mut shares = vec![Share::default()];
    while let Some(share) = shares.pop() {
        let tallies: T = tallies(cells, tokens, share, &mut shares, room / 2, pace)?;
        for (pair, tally) in tallies.iter() {
            if tally.count >= least && tokens.allow(pair) {
                listed.push(Listed { pair, count: tally.count, start: 0, len: tally.places });
            }
            pace.work(1)?;
        }
        drop(tallies);
        if listed.iter().map(Listed::bytes).sum::<usize>() > room {
            least = least_that_fits(&listed, least, room / 2, pace)?;
            listed.retain(|one| one.count >= least);
        }
    }
    Ok((listed, least))
}

/// Counts the pairs of a share. If they do not fit into `room` bytes, only those of a smaller share:
/// the others are put to the shares that are still to be counted.
fn tallies<C: Cell, T: Tallies>(
    cells: &Cells<C>,
    tokens: &Tokens<'_>,
    mut share: Share,
    shares: &mut Vec<Share>,
    room: usize,
    pace: &mut Pace<'_>,
) -> Result<T, Error> {
    let (mut tallies, full) = (T::default(), pairs_within(room));
    cells.each_pair(tokens.lengths(), pace, |_, pair, count| {
        if share.holds(pair) {
            let tally = tallies.get(pair);
            tally.count += count;
            tally.places += 1;
            if tallies.len() >= full
                && let Some(half) = share.halve()
            {
                shares.push(half);
                tallies.keep(|pair| share.holds(pair));
            }
        }
    })?;
    Ok(tallies)
}

/// Returns how many pairs are counted at once in so many bytes.
///
/// No more than a million at any rate: a larger table would grow without a question whether to stop.
fn pairs_within(room: usize) -> usize {
    // A table grows by halves, and is never quite full.
    let slots = room / 3 * 2 / (size_of::<(Pair, Tally)>() + 1);
    (1 << slots.clamp(SLOTS_MIN, 1 << 20).ilog2()) / 8 * 7
}

const SLOTS_MIN: usize = if cfg!(test) { 1 << 3 } else { 1 << 12 };

/// How often a pair occurs, and in how many places.
#[derive(Clone, Copy, Default)]
struct Tally {
    count: u64,
    places: u32,
}

/// The tallies of many pairs.
trait Tallies: Default {
    /// Returns the tally of a pair, which may be new.
    fn get(&mut self, pair: Pair) -> &mut Tally;

    /// Returns the tally of a pair, if it has one.
    fn find(&mut self, pair: Pair) -> Option<&mut Tally>;

    /// Returns all tallies, in no order that means anything.
    fn iter(&self) -> impl Iterator<Item = (Pair, Tally)>;

    /// Returns how many there are, if they grow with the pairs.
    fn len(&self) -> usize;

    /// Forgets all others.
    fn keep(&mut self, is_kept: impl Fn(Pair) -> bool);
}

/// Tallies of pairs of bytes: a square.
struct OfBytes(Vec<Tally>);

impl Default for OfBytes {
    fn default() -> Self {
        Self(vec![Tally::default(); 1 << 16])
    }
}

impl Tallies for OfBytes {
    #[inline]
    fn get(&mut self, pair: Pair) -> &mut Tally {
        &mut self.0[(pair.left() << 8 | pair.right()) as usize]
    }

    #[inline]
    fn find(&mut self, pair: Pair) -> Option<&mut Tally> {
        Some(self.get(pair)).filter(|tally| tally.count > 0)
    }

    fn iter(&self) -> impl Iterator<Item = (Pair, Tally)> {
        let pairs = (0..1 << 16).map(|pair| Pair::of(pair >> 8, pair & 0xFF));
        pairs.zip(self.0.iter().copied()).filter(|(_, tally)| tally.count > 0)
    }

    fn len(&self) -> usize {
        0
    }

    fn keep(&mut self, _: impl Fn(Pair) -> bool) {}
}

/// Tallies of pairs of any tokens.
#[derive(Default)]
struct OfTokens(HashMap<Pair, Tally, RandomState>);

impl Tallies for OfTokens {
    #[inline]
    fn get(&mut self, pair: Pair) -> &mut Tally {
        self.0.entry(pair).or_default()
    }

    #[inline]
    fn find(&mut self, pair: Pair) -> Option<&mut Tally> {
        self.0.get_mut(&pair)
    }

    fn iter(&self) -> impl Iterator<Item = (Pair, Tally)> {
        self.0.iter().map(|(&pair, &tally)| (pair, tally))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn keep(&mut self, is_kept: impl Fn(Pair) -> bool) {
        self.0.retain(|&pair, _| is_kept(pair));
    }
}
