//! One needle, by Boyer and Moore: a window is compared from its end, and what was seen says how far it
//! may move.
//!
//! Three rules move it. *Bad character*: the element that differs must come to lie on an equal one.
//! *Good suffix*: what was equal must come to lie on an equal stretch with another element before it.
//! *Galil's*: after a match the window moves by the needle's period, and what it then shares with the
//! match is not compared again. Together they are linear in the worst case.
//!
//! Most windows are passed over 64 at a time: those where a few rare elements of the needle are
//! not in their places. What comparisons cost that fail nevertheless is counted; where it is more
//! than one for each element passed, the rest is searched by the rules alone.
//!
//! From the end, the same algorithm runs in the mirror: place i of the text is the i-th from the end.

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use crate::search::lanes::{BLOCK, Element, Job, Lanes, run};
use crate::sys::simd_level::SimdLevel;

/// A needle and its tables. Never empty, and at most [`super::NEEDLE_MAX`] long.
#[derive(Clone, Debug)]
pub(super) struct Needle<E, const FOLD: bool = false> {
    /// With `FOLD`, without capitals of ASCII; those of the text are read as small letters then.
    elements: Box<[E]>,
    forwards: OnceLock<Box<Tables<E>>>,
    backwards: OnceLock<Box<Tables<E>>>,
}

/// How far a window moves, in one direction.
#[derive(Clone, Debug)]
struct Tables<E> {
    /// How far the last element of the window is from its like in the needle, by slot.
    bad: Box<[u32]>,
    /// How far to move when the element before this place was equal to the end, and all after it.
    good: Box<[u32]>,
    filter: Filter<E>,
}

/// Elements of the needle that are looked for first.
#[derive(Clone, Copy, Debug)]
struct Filter<E> {
    /// The rarest, then those that told windows apart last.
    asked: [Asked<E>; 4],
}

#[derive(Clone, Copy, Debug)]
struct Asked<E> {
    place: usize,
    value: E,
    /// Bits that are set in an element of the text before it is compared.
    mark: u8,
}

/// Where a search is.
#[derive(Clone, Debug)]
pub(super) struct Search<E> {
    /// The window that is next.
    at: usize,
    /// Its first elements that are known to be equal.
    known: usize,
    /// Windows that may be the needle, of 64.
    block: usize,
    candidates: u64,
    /// Whether all of those are the needle.
    certain: bool,
    /// Comparisons that may yet fail before windows are no longer passed over by the block.
    credit: usize,
    /// How often they failed of late.
    heat: usize,
    asked: Option<[Asked<E>; 2]>,
    turn: bool,
}

/// Comparisons that may fail before anything was passed.
const CREDIT: usize = 1 << 12;

/// Elements that are compared together.
const STEP: usize = 16;

/// Elements that a needle has at most to be compared with many windows of a block together, and how many
/// those are at least.
const SHORT: usize = 32;
const CROWD: u32 = 4;

/// A comparison that fails warms by as much as a block passed cools; where it is hot, the filter
/// asks for other elements.
const HOT: usize = 16 * BLOCK;

/// What follows a match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Then {
    /// The next, which may overlap it.
    GoOn,
    /// The next after its end.
    Pass,
    /// Nothing; the next one, if the search goes on later, may overlap it.
    Stop,
    /// Nothing; the next one is after its end.
    PassAndStop,
}

impl<E: Element, const FOLD: bool> Needle<E, FOLD> {
    pub(super) fn new(elements: &[E]) -> Self {
        debug_assert!(!elements.is_empty() && elements.len() <= super::NEEDLE_MAX);
        let elements = elements.iter().map(|&element| see::<E, FOLD>(element)).collect();
        Self { elements, forwards: OnceLock::new(), backwards: OnceLock::new() }
    }

    pub(super) fn elements(&self) -> &[E] {
        &self.elements
    }

    fn tables<const BACK: bool>(&self) -> &Tables<E> {
        let tables = if BACK { &self.backwards } else { &self.forwards };
        tables.get_or_init(|| {
            let mut elements = self.elements.to_vec();
            if BACK {
                elements.reverse();
            }
            Box::new(Tables::new::<FOLD>(&elements))
        })
    }

    /// A search from the first window on; with `BACK`, from the last.
    pub(super) fn search(&self) -> Search<E> {
        Search {
            at: 0,
            known: 0,
            block: 0,
            candidates: 0,
            certain: false,
            credit: CREDIT,
            heat: 0,
            asked: None,
            turn: false,
        }
    }

    /// Calls `each` with every place where the needle begins, from where the search is, as long as it
    /// is told to. With `BACK`, from the end.
    #[inline]
    pub(super) fn each<const BACK: bool>(
        &self,
        text: &[E],
        search: &mut Search<E>,
        each: impl FnMut(usize) -> Then,
    ) {
        self.each_by::<BACK>(SimdLevel::detect(), text, search, each);
    }

    #[inline]
    fn each_by<const BACK: bool>(
        &self,
        level: SimdLevel,
        text: &[E],
        search: &mut Search<E>,
        mut each: impl FnMut(usize) -> Then,
    ) {
        let windows = (text.len() + 1).saturating_sub(self.elements.len());
        if search.at >= windows {
            return;
        }
        let tables = self.tables::<BACK>();
        let work = Work::<E, BACK, FOLD> { text, needle: &self.elements, tables, windows };
        let each = |found| each(if BACK { windows - 1 - found } else { found });
        run(level, Each { work, search, each });
    }
}

/// The element as it is compared.
#[inline(always)]
fn see<E: Element, const FOLD: bool>(element: E) -> E {
    if FOLD { element.small() } else { element }
}

impl<E: Element> Tables<E> {
    fn new<const FOLD: bool>(needle: &[E]) -> Self {
        let len = needle.len();
        let mut bad = vec![len as u32; E::SLOTS];
        for (place, element) in needle.iter().enumerate() {
            bad[element.slot()] = (len - 1 - place) as u32;
        }
        if FOLD {
            for capital in b'A'..=b'Z' {
                bad[usize::from(capital)] = bad[usize::from(capital.to_ascii_lowercase())];
            }
        }
        Self {
            bad: bad.into(),
            good: good_suffixes(needle).into(),
            filter: Filter::new::<FOLD>(needle),
        }
    }
}

/// The moves of the good suffix: `good[k]` where the elements from `k` on are equal and the one
/// before differs; `good[0]`, after a match, is the period.
///
/// A border of a stretch is what it both begins and ends with. Borders of the needle's ends are found from the
/// shortest on: where one cannot be made longer, the element before it differs, which is a move.
fn good_suffixes(needle: &[impl Element]) -> Vec<u32> {
    let len = needle.len();
    let mut good = vec![0_u32; len + 1];
    // Where the longest border of the end from `place` on begins.
    let mut borders = vec![0_u32; len + 1];
    let (mut place, mut border) = (len, len + 1);
    borders[place] = border as u32;
    while place > 0 {
        while border <= len && needle[place - 1] != needle[border - 1] {
            if good[border] == 0 {
                good[border] = (border - place) as u32;
            }
            border = borders[border] as usize;
        }
        (place, border) = (place - 1, border - 1);
        borders[place] = border as u32;
    }
    // Where no such stretch is left, the longest border of the whole that fits.
    let mut border = borders[0];
    for (place, good) in good.iter_mut().enumerate() {
        if *good == 0 {
            *good = border;
        }
        if place == border as usize {
            border = borders[place];
        }
    }
    good
}

impl<E: Element> Filter<E> {
    /// Asks for the rarest elements, different ones if there are.
    fn new<const FOLD: bool>(needle: &[E]) -> Self {
        let rarity = |place: usize| {
            let capital = if FOLD { needle[place].commonness() / 2 } else { 0 };
            needle[place].commonness() + capital
        };
        let mut places = [0; 4];
        for at in 0..places.len() {
            let seen = &places[..at];
            let key = |place: &usize| {
                let taken = seen.contains(place);
                let doubled = seen.iter().any(|&other| needle[other] == needle[*place]);
                (taken, doubled, rarity(*place), *place)
            };
            places[at] = (0..needle.len()).min_by_key(key).expect("a needle is not empty");
        }
        Self { asked: places.map(|place| Asked::new::<FOLD>(needle, place)) }
    }
}

impl<E: Element> Asked<E> {
    #[inline(always)]
    fn new<const FOLD: bool>(needle: &[E], place: usize) -> Self {
        let value = needle[place];
        // Of all bytes, only the two of a letter become it by this bit.
        let letter = FOLD && (u32::from(b'a')..=u32::from(b'z')).contains(&value.number());
        Self { place, value, mark: if letter { 0x20 } else { 0 } }
    }
}

/// What a search works on. All places are those of the mirror, with `BACK`.
struct Work<'w, E, const BACK: bool, const FOLD: bool> {
    text: &'w [E],
    needle: &'w [E],
    tables: &'w Tables<E>,
    /// How many windows there are, at least one.
    windows: usize,
}

struct Each<'w, 's, E, F, const BACK: bool, const FOLD: bool> {
    work: Work<'w, E, BACK, FOLD>,
    search: &'s mut Search<E>,
    each: F,
}

impl<E: Element, F: FnMut(usize) -> Then, const BACK: bool, const FOLD: bool> Job
    for Each<'_, '_, E, F, BACK, FOLD>
{
    type Result = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let len = self.work.needle.len();
        let period = self.work.tables.good[0] as usize;
        while let Some(found) = self.work.next::<L>(self.search) {
            let then = (self.each)(found);
            // Galil's rule: what the next window shares with this one is known.
            (self.search.at, self.search.known) = match then {
                Then::Pass | Then::PassAndStop => (found + len, 0),
                Then::GoOn | Then::Stop => (found + period, len - period),
            };
            if matches!(then, Then::Stop | Then::PassAndStop) {
                return;
            }
        }
    }
}

impl<E: Element, const BACK: bool, const FOLD: bool> Work<'_, E, BACK, FOLD> {
    /// Moves the search to the next window that is the needle.
    #[inline(always)]
    fn next<L: Lanes>(&self, search: &mut Search<E>) -> Option<usize> {
        let len = self.needle.len();
        loop {
            if search.known == 0 {
                if search.credit > 0 && self.windows >= BLOCK {
                    self.pass_by_blocks::<L>(search);
                    if search.certain && search.at < self.windows {
                        return Some(search.at);
                    }
                } else {
                    self.pass_by_last(search);
                }
            }
            if search.at >= self.windows {
                return None;
            }
            let Some(place) = self.differs(search.at, search.known) else {
                return Some(search.at);
            };
            search.credit = search.credit.saturating_sub(len - place);
            search.heat += BLOCK;
            if search.heat > HOT {
                self.ask_for(place, search);
            }
            let element = self.element(search.at + place);
            let bad = self.tables.bad[element.slot()] as usize;
            let bad = bad.saturating_sub(len - 1 - place);
            search.at += bad.max(self.tables.good[place + 1] as usize);
            search.known = 0;
        }
    }

    /// Moves on to a window that has what the filter asks for, or beyond all.
    #[inline(always)]
    fn pass_by_blocks<L: Lanes>(&self, search: &mut Search<E>) {
        let [first, second, mut third, mut fourth] = self.tables.filter.asked;
        if let Some(asked) = search.asked {
            [third, fourth] = asked;
        }
        let passed = search.at - search.block;
        let left = if passed < BLOCK { search.candidates >> passed << passed } else { 0 };
        if left != 0 {
            search.candidates = left;
            search.at = search.block + left.trailing_zeros() as usize;
            return;
        }
        let last = self.windows - BLOCK;
        let mut at = search.at;
        while at < self.windows {
            // The last block overlaps the one before it; its first windows were seen.
            let block = at.min(last);
            let has = |asked: Asked<E>| {
                let bits = L::equal(self.block(block + asked.place), asked.value, asked.mark);
                if BACK { bits.reverse_bits() } else { bits }
            };
            let mut candidates = has(first) & has(second);
            if candidates != 0 {
                candidates &= has(third) & has(fourth);
                candidates = candidates >> (at - block) << (at - block);
                let certain = self.needle.len() <= SHORT && candidates.count_ones() >= CROWD;
                if certain {
                    for place in (0..self.needle.len()).rev() {
                        candidates &= has(self.asked(place));
                        if candidates == 0 {
                            self.ask_for(place, search);
                            [third, fourth] = search.asked.unwrap_or([third, fourth]);
                            break;
                        }
                    }
                }
                if candidates != 0 {
                    search.certain = certain;
                    search.credit += at - search.at;
                    search.heat = search.heat.saturating_sub(at - search.at);
                    search.at = block + candidates.trailing_zeros() as usize;
                    (search.block, search.candidates) = (block, candidates);
                    return;
                }
            }
            at = block + BLOCK;
        }
        search.at = self.windows;
    }

    /// The same, for one window after the other: the last element must be in its place.
    #[inline(always)]
    fn pass_by_last(&self, search: &mut Search<E>) {
        let last = self.needle.len() - 1;
        while search.at < self.windows {
            let bad = self.tables.bad[self.element(search.at + last).slot()];
            if bad == 0 {
                return;
            }
            search.at += bad as usize;
        }
    }

    /// Has the filter ask for the element that told a window apart.
    fn ask_for(&self, place: usize, search: &mut Search<E>) {
        let [_, _, third, fourth] = self.tables.filter.asked;
        let asked = search.asked.get_or_insert([third, fourth]);
        asked[usize::from(search.turn)] = self.asked(place);
        search.turn = !search.turn;
        search.heat = 0;
    }

    /// Asks for the element at a place of the needle, which is that of the mirror with `BACK`.
    #[inline(always)]
    fn asked(&self, place: usize) -> Asked<E> {
        let forwards = if BACK { self.needle.len() - 1 - place } else { place };
        Asked { place, ..Asked::new::<FOLD>(self.needle, forwards) }
    }

    /// Returns the last place of a window where it differs from the needle, down to `known`.
    #[inline(always)]
    fn differs(&self, at: usize, known: usize) -> Option<usize> {
        let len = self.needle.len();
        let start = if BACK { self.text.len() - at - len } else { at };
        let window = &self.text[start..start + len];
        if !FOLD && known == 0 && len <= SHORT && window == self.needle {
            return None;
        }
        let (mut done, all) = (0, len - known);
        while all - done >= STEP {
            let stretch = if BACK { done..done + STEP } else { len - done - STEP..len - done };
            let (window, needle) = (&window[stretch.clone()], &self.needle[stretch]);
            let same = if FOLD {
                window
                    .iter()
                    .zip(needle)
                    .fold(true, |same, (&one, other)| same & (see::<E, FOLD>(one) == *other))
            } else {
                window == needle
            };
            if !same {
                break;
            }
            done += STEP;
        }
        while done < all {
            let place = if BACK { done } else { len - 1 - done };
            if see::<E, FOLD>(window[place]) != self.needle[place] {
                return Some(len - 1 - done);
            }
            done += 1;
        }
        None
    }

    #[inline(always)]
    fn element(&self, at: usize) -> E {
        self.text[if BACK { self.text.len() - 1 - at } else { at }]
    }

    #[inline(always)]
    fn block(&self, at: usize) -> &[E; BLOCK] {
        let start = if BACK { self.text.len() - BLOCK - at } else { at };
        self.text[start..].first_chunk().expect("a block of windows lies within the text")
    }
}
