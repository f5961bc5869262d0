//! All pairs are counted, and those that occur often enough get their lists.

use super::cells::{Cell, Cells};
use super::lists::{Listed, Lists, least_that_fits, list_bytes};
use super::table::{Share, Table};
use super::tokens::Tokens;
use crate::error::Error;
use crate::progress::Pace;

/// How often a pair occurs, and in how many places.
#[derive(Clone, Copy, Default, PartialEq)]
struct Tally {
    count: u64,
    places: u32,
}

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
    pace: &mut Pace,
) -> Result<Lists, Error> {
    let (mut listed, least) = frequent(cells, tokens, floor, room, pace)?;
    let (mut end, mut next) = (0, Table::with_capacity(listed.len()));
    for one in &mut listed {
        one.start = end as u32;
        end += one.len as usize;
        *next.entry(one.pair, pace)? = Tally { count: one.count, places: one.start };
    }
    let mut places = Vec::new();
    places.reserve_exact(end);
    places.resize(end, 0);
    cells.each_pair(tokens.lengths(), pace, |place, pair, _, _| {
        if let Some(next) = next.get_mut(pair) {
            places[next.places as usize] = place;
            next.places += 1;
        }
        Ok(())
    })?;
    drop(next);
    Lists::of(listed, places, least, room, pace)
}

/// Finds the pairs that occur so often at least, and the least count of which all are among them.
fn frequent<C: Cell>(
    cells: &Cells<C>,
    tokens: &Tokens<'_>,
    floor: u64,
    room: usize,
    pace: &mut Pace,
) -> Result<(Vec<Listed>, u64), Error> {
    let (mut listed, mut least) = (Vec::new(), floor);
    let mut shares = vec![Share::default()];
    while let Some(share) = shares.pop() {
        for (pair, tally) in tallies(cells, tokens, share, &mut shares, room / 2, pace)?.iter() {
            if tally.count >= least && tokens.allow(pair) {
                listed.push(Listed { pair, count: tally.count, start: 0, len: tally.places });
            }
            pace.work(1)?;
        }
        if listed.iter().map(|one| list_bytes(one.len as usize)).sum::<usize>() > room {
            least = least.max(least_that_fits(&mut listed, room / 2));
            listed.retain(|one| one.count >= least);
        }
    }
    Ok((listed, least))
}

/// Counts the pairs of a share. If they do not fit into `room` bytes, only those of a smaller share:
/// the others are put to the shares that are still to be counted.
fn tallies<C: Cell>(
    cells: &Cells<C>,
    tokens: &Tokens<'_>,
    mut share: Share,
    shares: &mut Vec<Share>,
    room: usize,
    pace: &mut Pace,
) -> Result<Table<Tally>, Error> {
    let mut tallies: Table<Tally> = Table::with_capacity(0);
    let full = Table::<Tally>::pairs_within(room);
    cells.each_pair(tokens.lengths(), pace, |_, pair, count, pace| {
        if share.holds(pair) {
            let tally = tallies.entry(pair, pace)?;
            tally.count += count;
            tally.places += 1;
            if tallies.len() >= full
                && let Some(half) = share.halve()
            {
                shares.push(half);
                tallies.keep(|pair| share.holds(pair), pace)?;
            }
        }
        Ok(())
    })?;
    Ok(tallies)
}
