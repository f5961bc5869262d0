//! The pairs that may be joined next, each with a list of the places where it occurs.
//!
//! A pair comes about in one join only, that of its newer token, so its list is written once and
//! in full. From then on it gets rarer and nothing else: its count falls, and places in the list
//! go stale. A heap of counts that may be out of date is exact if its head is looked after.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::table::{Pair, Table};
use super::tokens::Tokens;
use crate::error::Error;
use crate::progress::Pace;

/// A pair and its list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Listed {
    pub(super) pair: Pair,
    /// How often the pair occurs, or did at some time.
    pub(super) count: u64,
    /// Its list: where it starts, and how many places it has.
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Ord for Listed {
    /// The one to be joined first is the greatest.
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.count, Reverse(self.pair)).cmp(&(other.count, Reverse(other.pair)))
    }
}

impl PartialOrd for Listed {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The bytes that a pair takes besides its places: in the heap, and in the table as it grows.
const PAIR_BYTES: usize = 80;

/// The bytes that a list takes.
pub(super) fn list_bytes(len: usize) -> usize {
    PAIR_BYTES + len * size_of::<u32>()
}

/// Places that no list needs are left where they are until there are that many.
const DEAD_MIN: usize = 1 << 15;

/// The lists of all pairs that are not too rare.
pub(super) struct Lists {
    heap: BinaryHeap<Listed>,
    /// How often each pair occurs now; none once it is joined or too rare.
    counts: Table<u64>,
    /// The lists, each in rising order.
    places: Vec<u32>,
    /// Places that lists have.
    live: usize,
    /// Pairs that occur less often have no list.
    least: u64,
    /// Bytes to take, about.
    room: usize,
}

impl Lists {
    /// Takes over lists in `places` of pairs that occur so often at least.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn of(
        listed: Vec<Listed>,
        places: Vec<u32>,
        least: u64,
        room: usize,
        pace: &mut Pace,
    ) -> Result<Self, Error> {
        let mut counts = Table::with_capacity(listed.len());
        for one in &listed {
            *counts.entry(one.pair, pace)? = one.count;
        }
        let live = places.len();
        Ok(Self { heap: listed.into(), counts, places, live, least, room })
    }

    /// Returns how often a pair with a list occurs at least.
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// Takes out the pair to join next, and says whether another occurs as often.
    pub(super) fn best(&mut self, tokens: &Tokens<'_>) -> Option<(Listed, bool)> {
        if !self.refresh(self.least, tokens) {
            return None;
        }
        let best = self.heap.pop()?;
        self.drop(best);
        Some((best, self.refresh(best.count, tokens)))
    }

    /// Brings the head of the heap up to date; returns whether it occurs so often at least.
    fn refresh(&mut self, count_min: u64, tokens: &Tokens<'_>) -> bool {
        while let Some(&head) = self.heap.peek()
            && head.count >= count_min
        {
            let count = self.counts.get_mut(head.pair).map_or(0, |count| *count);
            if count < self.least || !tokens.allow(head.pair) {
                self.heap.pop();
                self.drop(head);
            } else if count == head.count {
                return true;
            } else if let Some(mut head) = self.heap.peek_mut() {
                head.count = count;
            }
        }
        false
    }

    /// Forgets a pair that was taken out of the heap.
    fn drop(&mut self, listed: Listed) {
        self.live -= listed.len as usize;
        if let Some(count) = self.counts.get_mut(listed.pair) {
            *count = 0;
        }
    }

    /// Returns the list of a pair that was just taken out.
    pub(super) fn places_mut(&mut self, listed: Listed) -> &mut [u32] {
        &mut self.places[listed.start as usize..][..listed.len as usize]
    }

    /// Returns places of a list, and those that are added from `start` on.
    pub(super) fn split(
        &mut self,
        start: usize,
        listed: Listed,
        len: usize,
    ) -> (&[u32], &mut [u32]) {
        let (old, new) = self.places.split_at_mut(start);
        (&old[listed.start as usize..][..len], new)
    }

    /// Returns where the next list starts.
    pub(super) fn end(&self) -> usize {
        self.places.len()
    }

    /// Makes room for lists that were added up to there.
    ///
    /// # Errors
    ///
    /// When 32 bits do not number the places.
    pub(super) fn extend(&mut self, end: usize) -> Result<(), Error> {
        if u32::try_from(end).is_err() {
            return Err(Error::CorpusTooLarge);
        }
        let more = end - self.places.len();
        if end > self.places.capacity() {
            self.places.reserve_exact(more.max(self.places.len() / 8));
        }
        self.live += more;
        self.places.resize(end, 0);
        Ok(())
    }

    /// Adds a pair, if it is not too rare; its list is to be written where it says.
    #[inline]
    pub(super) fn add(&mut self, listed: Listed, pace: &mut Pace) -> Result<bool, Error> {
        if listed.count < self.least {
            return Ok(false);
        }
        *self.counts.entry(listed.pair, pace)? = listed.count;
        self.heap.push(listed);
        Ok(true)
    }

    /// Asks for the memory where the count of a pair is.
    #[inline]
    pub(super) fn prefetch(&self, pair: Pair) {
        self.counts.prefetch(pair);
    }

    /// Takes down the count of a pair, if it has a list.
    #[inline]
    pub(super) fn fall(&mut self, pair: Pair, by: u64) {
        if let Some(count) = self.counts.get_mut(pair).filter(|count| **count > 0) {
            *count -= by;
        }
    }

    /// Drops the lists of pairs that occur less often.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn raise(&mut self, least: u64, pace: &mut Pace) -> Result<(), Error> {
        self.least = self.least.max(least);
        self.compact(pace)
    }

    /// Gives back the places of dead lists if they are many, and drops lists if there is no room.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn tidy(&mut self, pace: &mut Pace) -> Result<(), Error> {
        let dead = self.places.len() - self.live;
        if dead > DEAD_MIN && dead > self.live / 2 {
            self.compact(pace)?;
        }
        if self.bytes() > self.room {
            self.compact(pace)?;
            if self.bytes() > self.room / 4 * 3 {
                let mut listed = std::mem::take(&mut self.heap).into_vec();
                let least = least_that_fits(&mut listed, self.room / 2);
                self.heap = listed.into();
                self.raise(least, pace)?;
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.heap.len() * PAIR_BYTES + self.places.len() * size_of::<u32>()
    }

    /// Moves all lists together, without those of pairs that have become too rare.
    fn compact(&mut self, pace: &mut Pace) -> Result<(), Error> {
        let mut listed = std::mem::take(&mut self.heap).into_vec();
        listed.retain_mut(|one| {
            let mut none = 0;
            let count = self.counts.get_mut(one.pair).unwrap_or(&mut none);
            one.count = *count;
            if one.count < self.least {
                *count = 0;
            }
            one.count >= self.least
        });
        let mut end = 0;
        each_by_start(&mut listed, pace, |one, pace| {
            let old = one.start as usize..(one.start + one.len) as usize;
            one.start = end as u32;
            end += old.len();
            pace.work(1 + old.len() / 16)?;
            self.places.copy_within(old, one.start as usize);
            Ok(())
        })?;
        self.places.truncate(end);
        self.live = end;
        self.heap = listed.into();
        Ok(())
    }
}

/// Pairs that are sorted without a question whether to stop.
const SORTED_AT_ONCE: usize = 1 << 16;

/// Calls `take` with all pairs in the order of their lists.
fn each_by_start(
    listed: &mut [Listed],
    pace: &mut Pace,
    mut take: impl FnMut(&mut Listed, &mut Pace) -> Result<(), Error>,
) -> Result<(), Error> {
    for run in listed.chunks_mut(SORTED_AT_ONCE) {
        run.sort_unstable_by_key(|one| one.start);
        pace.work(run.len())?;
    }
    let head = |listed: &[Listed], at: usize| Reverse((listed[at].start, at));
    let runs = (0..listed.len()).step_by(SORTED_AT_ONCE);
    let mut heads: BinaryHeap<_> = runs.map(|at| head(listed, at)).collect();
    while let Some(Reverse((_, at))) = heads.pop() {
        take(&mut listed[at], pace)?;
        if !(at + 1).is_multiple_of(SORTED_AT_ONCE) && at + 1 < listed.len() {
            heads.push(head(listed, at + 1));
        }
    }
    Ok(())
}

/// Returns the least count of which all pairs fit into so many bytes, the most frequent at any rate.
pub(super) fn least_that_fits(listed: &mut [Listed], room: usize) -> u64 {
    listed.sort_unstable_by_key(|one| Reverse(one.count));
    let most = listed.first().map_or(0, |one| one.count);
    let mut bytes = 0;
    let beyond = listed.iter().find(|one| {
        bytes += list_bytes(one.len as usize);
        bytes > room && one.count < most
    });
    beyond.map_or(0, |one| one.count + 1)
}
