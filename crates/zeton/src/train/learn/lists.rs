//! The pairs that may be joined next, each with a list of the places where it occurs.
//!
//! A pair comes about in one join only, that of its newer token, so its list is written once and
//! in full. From then on the pair gets rarer and nothing else: its count falls, and places in the
//! list go stale. So a heap of counts that may be out of date is exact if its head is looked after.

use std::collections::BinaryHeap;
use std::mem;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::listed::{Listed, PAIR_BYTES, each_by_start, least_that_fits};
use super::pair::Pair;
use super::tokens::Tokens;
use crate::sys::error::Error;
use crate::sys::progress::Pace;

/// Places that no list needs are left where they are until there are so many.
const DEAD_MIN: usize = if cfg!(test) { 8 } else { 1 << 15 };

/// The lists of all pairs that are not too rare.
pub(super) struct Lists {
    heap: BinaryHeap<Listed>,
    /// How often each of these pairs occurs now.
    counts: HashMap<Pair, u64, RandomState>,
    /// The lists, each in rising order, and one place that is free.
    places: Vec<u32>,
    /// How many places belong to lists.
    live: usize,
    /// Pairs that occur less often have no list.
    least: u64,
    /// Bytes to take, about.
    room: usize,
}

impl Lists {
    /// Takes over the lists of all pairs that occur so often at least.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn of(
        listed: Vec<Listed>,
        mut places: Vec<u32>,
        least: u64,
        room: usize,
        pace: &mut Pace<'_>,
    ) -> Result<Self, Error> {
        let mut counts = HashMap::with_capacity_and_hasher(listed.len(), RandomState::default());
        for one in &listed {
            counts.insert(one.pair, one.count);
            pace.work(1)?;
        }
        let live = places.len();
        places.push(0);
        Ok(Self { heap: listed.into(), counts, places, live, least, room })
    }

    /// Returns how often a pair occurs at least that has a list.
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// Takes out the pair to join next, and tells whether another occurs as often.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn best(
        &mut self,
        tokens: &Tokens<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<Option<(Listed, bool)>, Error> {
        if !self.refresh(self.least, tokens, pace)? {
            return Ok(None);
        }
        let best = self.heap.pop().expect("the head was looked at");
        self.forget(&best);
        Ok(Some((best, self.refresh(best.count, tokens, pace)?)))
    }

    /// Brings the head of the heap up to date, and tells whether it occurs so often at least.
    fn refresh(
        &mut self,
        count_min: u64,
        tokens: &Tokens<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<bool, Error> {
        while let Some(mut head) = self.heap.peek().copied().filter(|head| head.count >= count_min)
        {
            pace.work(8)?;
            let count = self.count(head.pair);
            if count == head.count && tokens.allow(head.pair) {
                return Ok(true);
            }
            self.heap.pop();
            if count < head.count && count >= self.least {
                head.count = count;
                self.heap.push(head);
            } else {
                self.forget(&head);
            }
        }
        Ok(false)
    }

    fn count(&self, pair: Pair) -> u64 {
        self.counts.get(&pair).copied().unwrap_or(0)
    }

    /// Forgets a pair that is not in the heap any more. Its list stays until others are moved there.
    fn forget(&mut self, listed: &Listed) {
        self.live -= listed.len as usize;
        self.counts.remove(&listed.pair);
    }

    /// Returns the list of a pair that was just taken out.
    pub(super) fn places_mut(&mut self, listed: &Listed) -> &mut [u32] {
        &mut self.places[listed.range()]
    }

    /// Takes down the count of a pair, if it has a list.
    #[inline]
    pub(super) fn fall(&mut self, pair: Pair, by: u64) {
        if let Some(count) = self.counts.get_mut(&pair) {
            *count -= by;
        }
    }

    /// Returns where the next list starts.
    pub(super) fn end(&self) -> usize {
        self.places.len() - 1
    }

    /// Adds a pair if it is not too rare, and tells whether it did. Its list is written afterwards.
    #[inline]
    pub(super) fn add(&mut self, listed: Listed) -> bool {
        let is_frequent = listed.count >= self.least;
        if is_frequent {
            self.counts.insert(listed.pair, listed.count);
            self.heap.push(listed);
        }
        is_frequent
    }

    /// Makes room for lists up to `end`; returns the list of an older pair, and the room for the new
    /// ones, after which one more place is free.
    ///
    /// # Errors
    ///
    /// When 32 bits do not number the places.
    pub(super) fn extend(
        &mut self,
        end: usize,
        older: &Listed,
    ) -> Result<(&[u32], &mut [u32]), Error> {
        if u32::try_from(end).is_err() {
            return Err(Error::CorpusTooLarge);
        }
        let start = self.end();
        if end >= self.places.capacity() {
            // Not doubled: the places are most of the memory.
            self.places.reserve_exact((end - start).max(start / 8));
        }
        self.live += end - start;
        self.places.resize(end + 1, 0);
        let (old, new) = self.places.split_at_mut(start);
        Ok((&old[older.range()], new))
    }

    /// Drops the lists of pairs that occur less often than that.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn raise(&mut self, least: u64, pace: &mut Pace<'_>) -> Result<(), Error> {
        self.least = self.least.max(least);
        self.compact(pace)
    }

    /// Gives back the places of dead lists if they are many, and drops lists if there is no room.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub(super) fn tidy(&mut self, pace: &mut Pace<'_>) -> Result<(), Error> {
        let dead = self.end() - self.live;
        let bytes =
            |lists: &Self| lists.heap.len() * PAIR_BYTES + lists.places.len() * size_of::<u32>();
        let is_full = bytes(self) > self.room;
        if is_full || dead > DEAD_MIN.max(self.live / 2) {
            self.compact(pace)?;
        }
        if is_full && bytes(self) > self.room / 4 * 3 {
            let least = least_that_fits(self.heap.as_slice(), self.least, self.room / 2, pace)?;
            self.raise(least, pace)?;
        }
        Ok(())
    }

    /// Moves the lists together, without those of pairs that have become too rare.
    fn compact(&mut self, pace: &mut Pace<'_>) -> Result<(), Error> {
        let mut listed = mem::take(&mut self.heap).into_vec();
        for one in &mut listed {
            pace.work(8)?;
            one.count = self.count(one.pair);
            if one.count < self.least {
                self.forget(one);
            }
        }
        listed.retain(|one| one.count >= self.least);
        let mut end = 0;
        each_by_start(&mut listed, pace, |one| {
            let from = one.range();
            one.start = end as u32;
            end += from.len();
            self.places.copy_within(from, one.start as usize);
        })?;
        self.places.truncate(end + 1);
        self.heap = listed.into();
        Ok(())
    }
}
