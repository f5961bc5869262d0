//! One needle by Boyer-Moore with a SIMD filter: linear time for any text.
//!
//! An *alignment* is a position of the needle in the text. It is compared from its end, and the
//! mismatch tells how far it may move. Three rules bound the moves:
//!
//! - *Bad character*: the mismatched element moves onto an equal element of the needle.
//! - *Good suffix*: the equal suffix moves onto an equal part of the needle with another element
//!   before it.
//! - *Galil's rule*: behind a match the needle moves by its period, and the overlap is not compared
//!   again.
//!
//! For example, `abab` in `abacabab`; its shift tables are in `tables`:
//!
//! ```text
//! text      a b a c a b a b
//! needle    a b a b            c differs from the last b, and is not in the needle: move 4
//! needle            a b a b    match at 4
//! ```
//!
//! Before the rules, a filter rejects alignments 64 at a time: the two rarest elements of the
//! needle must be at their places, and then two more. For example, `cat`, whose rarest element is
//! `c`:
//!
//! ```text
//! text          t h e   b l a c k   c a t
//! c at i        . . . . . . . 1 . . 1 . .
//! a at i + 1    . . . . . 1 . . . . 1 . .
//! candidates    . . . . . . . . . . 1 . .        then t at i + 2
//! ```
//!
//! Failed comparisons are counted. After more than one for each element that was passed, the rules
//! alone search the rest, so the worst case stays linear. If at least [`CANDIDATES_MIN`] candidates
//! of a block remain and the needle is short, they are compared together, an element at a time.
//!
//! A search from the end runs the same algorithm on the mirrored text: position i is the i-th from
//! the end.
//!
//! Cost: 6 to 9 GB/s for any needle, 0.14 to 0.5 ns a byte on Fibonacci words
//! (`docs/notes/search.md`).

mod tables;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use tables::{Probe, ShiftTables, fold_element};

use crate::search::block_ops::{BLOCK, BlockOps, SimdKernel, run_kernel};
use crate::search::element::Element;
use crate::sys::simd_level::SimdLevel;

/// A needle and its tables. It has 1 to [`super::NEEDLE_MAX`] elements.
#[derive(Clone, Debug)]
pub(super) struct Needle<E, const FOLD: bool = false> {
    /// The elements; with `FOLD`, capitals of ASCII are made small, here and in the text.
    elements: Box<[E]>,
    forwards: OnceLock<Box<ShiftTables<E>>>,
    backwards: OnceLock<Box<ShiftTables<E>>>,
}

/// The state of a search, so that it can be resumed.
#[derive(Clone, Debug)]
pub(super) struct SearchState<E> {
    /// The next alignment.
    at: usize,
    /// The number of its first elements that equal the needle.
    known_prefix: usize,
    /// The first alignment of the current block of 64, and its candidates as bits.
    block: usize,
    candidates: u64,
    /// Whether all candidates are known to be matches.
    is_verified: bool,
    /// Comparisons that may fail before the block filter is given up.
    credit: usize,
    /// A measure of recent failures.
    heat: usize,
    probes: Option<[Probe<E>; 2]>,
    turn: bool,
}

/// Credit of a new search. Not measured.
const INITIAL_CREDIT: usize = 1 << 12;

/// Elements that are compared together. Not measured.
const COMPARE_WIDTH: usize = 16;

/// Maximum length of a needle whose candidates are compared together. Not measured; it bounds the
/// cost of a block to 32 comparisons of 64 elements.
const SHORT_NEEDLE_MAX: usize = 32;

/// Minimum number of candidates of a block that are compared together. Not measured.
const CANDIDATES_MIN: u32 = 4;

/// Heat from which on the filter tests another element: 16 failures more than blocks passed. A
/// failure adds 64, an element passed subtracts 1. Not measured.
const HEAT_MAX: usize = 16 * BLOCK;

/// The decision of the caller about the search behind a match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MatchControl {
    /// Continue with the next match, which may overlap this one.
    Overlap,
    /// Continue with the next match behind this one.
    Skip,
    /// Stop. A search that is resumed continues with the next match, which may overlap this one.
    StopOverlap,
    /// Stop. A search that is resumed continues with the next match behind this one.
    StopSkip,
}

impl<E: Element, const FOLD: bool> Needle<E, FOLD> {
    pub(super) fn new(elements: &[E]) -> Self {
        debug_assert!(!elements.is_empty() && elements.len() <= super::NEEDLE_MAX);
        let elements = elements.iter().map(|&element| fold_element::<E, FOLD>(element)).collect();
        Self { elements, forwards: OnceLock::new(), backwards: OnceLock::new() }
    }

    pub(super) fn elements(&self) -> &[E] {
        &self.elements
    }

    /// Returns the tables of a direction, and builds them at its first search.
    fn tables<const REVERSE: bool>(&self) -> &ShiftTables<E> {
        let tables = if REVERSE { &self.backwards } else { &self.forwards };
        tables.get_or_init(|| {
            let mut elements = self.elements.to_vec();
            if REVERSE {
                elements.reverse();
            }
            Box::new(ShiftTables::new::<FOLD>(&elements))
        })
    }

    /// Returns a search at the first alignment, or at the last with `REVERSE`.
    pub(super) fn search(&self) -> SearchState<E> {
        SearchState {
            at: 0,
            known_prefix: 0,
            block: 0,
            candidates: 0,
            is_verified: false,
            credit: INITIAL_CREDIT,
            heat: 0,
            probes: None,
            turn: false,
        }
    }

    /// Calls `visit` with every position where the needle starts, from the state of the search on,
    /// until it stops the search. With `REVERSE`, from the last to the first.
    #[inline]
    pub(super) fn visit_matches<const REVERSE: bool>(
        &self,
        text: &[E],
        search: &mut SearchState<E>,
        visit: impl FnMut(usize) -> MatchControl,
    ) {
        self.visit_matches_at::<REVERSE>(SimdLevel::detect(), text, search, visit);
    }

    /// Visits matches with the kernel of a SIMD level. Tests call it with each of the machine's.
    #[inline]
    fn visit_matches_at<const REVERSE: bool>(
        &self,
        level: SimdLevel,
        text: &[E],
        search: &mut SearchState<E>,
        mut visit: impl FnMut(usize) -> MatchControl,
    ) {
        let alignments = (text.len() + 1).saturating_sub(self.elements.len());
        if search.at >= alignments {
            return;
        }
        let tables = self.tables::<REVERSE>();
        let context =
            SearchContext::<E, REVERSE, FOLD> { text, needle: &self.elements, tables, alignments };
        let visit = |found| visit(if REVERSE { alignments - 1 - found } else { found });
        run_kernel(level, SearchKernel { context, search, visit });
    }
}

/// The input of a search. With `REVERSE` all positions are mirrored.
struct SearchContext<'w, E, const REVERSE: bool, const FOLD: bool> {
    text: &'w [E],
    needle: &'w [E],
    tables: &'w ShiftTables<E>,
    /// The number of alignments, at least one.
    alignments: usize,
}

/// A search with its visitor, as a kernel for each SIMD level.
struct SearchKernel<'w, 's, E, F, const REVERSE: bool, const FOLD: bool> {
    context: SearchContext<'w, E, REVERSE, FOLD>,
    search: &'s mut SearchState<E>,
    visit: F,
}

impl<E: Element, F: FnMut(usize) -> MatchControl, const REVERSE: bool, const FOLD: bool> SimdKernel
    for SearchKernel<'_, '_, E, F, REVERSE, FOLD>
{
    type Result = ();

    #[inline(always)]
    fn run<B: BlockOps>(mut self) {
        let len = self.context.needle.len();
        let period = self.context.tables.good_suffix[0] as usize;
        while let Some(found) = self.context.find_next::<B>(self.search) {
            let then = (self.visit)(found);
            // Galil's rule: the overlap of the next alignment with this match is equal.
            (self.search.at, self.search.known_prefix) = match then {
                MatchControl::Skip | MatchControl::StopSkip => (found + len, 0),
                MatchControl::Overlap | MatchControl::StopOverlap => (found + period, len - period),
            };
            if matches!(then, MatchControl::StopOverlap | MatchControl::StopSkip) {
                return;
            }
        }
    }
}

impl<E: Element, const REVERSE: bool, const FOLD: bool> SearchContext<'_, E, REVERSE, FOLD> {
    /// Moves the search to the next alignment that matches. A mismatch costs credit and adds heat.
    #[inline(always)]
    fn find_next<B: BlockOps>(&self, search: &mut SearchState<E>) -> Option<usize> {
        let len = self.needle.len();
        loop {
            if search.known_prefix == 0 {
                if search.credit > 0 && self.alignments >= BLOCK {
                    self.skip_by_blocks::<B>(search);
                    if search.is_verified && search.at < self.alignments {
                        return Some(search.at);
                    }
                } else {
                    self.skip_by_last(search);
                }
            }
            if search.at >= self.alignments {
                return None;
            }
            let Some(place) = self.find_mismatch(search.at, search.known_prefix) else {
                return Some(search.at);
            };
            search.credit = search.credit.saturating_sub(len - place);
            search.heat += BLOCK;
            if search.heat > HEAT_MAX {
                self.replace_probe(place, search);
            }
            let element = self.element_at(search.at + place);
            let bad = self.tables.bad_character[element.slot()] as usize;
            let bad = bad.saturating_sub(len - 1 - place);
            search.at += bad.max(self.tables.good_suffix[place + 1] as usize);
            search.known_prefix = 0;
        }
    }

    /// Moves to the next alignment that passes the filter, or behind the last. It adds credit for
    /// the alignments that it passes, and keeps the candidates of the block.
    #[inline(always)]
    fn skip_by_blocks<B: BlockOps>(&self, search: &mut SearchState<E>) {
        let [first, second, mut third, mut fourth] = self.tables.filter.probes;
        if let Some(probes) = search.probes {
            [third, fourth] = probes;
        }
        let passed = search.at - search.block;
        let left = if passed < BLOCK { search.candidates >> passed << passed } else { 0 };
        if left != 0 {
            search.candidates = left;
            search.at = search.block + left.trailing_zeros() as usize;
            return;
        }
        let last = self.alignments - BLOCK;
        let mut at = search.at;
        while at < self.alignments {
            // The last block overlaps the one before it, and its first alignments are already
            // rejected.
            let block = at.min(last);
            let has = |probe: Probe<E>| {
                let bits =
                    B::equal(self.block_at(block + probe.place), probe.value, probe.case_bit);
                if REVERSE { bits.reverse_bits() } else { bits }
            };
            let mut candidates = has(first) & has(second);
            if candidates != 0 {
                candidates &= has(third) & has(fourth);
                candidates = candidates >> (at - block) << (at - block);
                let is_verified = self.needle.len() <= SHORT_NEEDLE_MAX
                    && candidates.count_ones() >= CANDIDATES_MIN;
                if is_verified {
                    for place in (0..self.needle.len()).rev() {
                        candidates &= has(self.probe_at(place));
                        if candidates == 0 {
                            self.replace_probe(place, search);
                            [third, fourth] = search.probes.unwrap_or([third, fourth]);
                            break;
                        }
                    }
                }
                if candidates != 0 {
                    search.is_verified = is_verified;
                    search.credit += at - search.at;
                    search.heat = search.heat.saturating_sub(at - search.at);
                    search.at = block + candidates.trailing_zeros() as usize;
                    (search.block, search.candidates) = (block, candidates);
                    return;
                }
            }
            at = block + BLOCK;
        }
        search.at = self.alignments;
    }

    /// Moves to the next alignment whose last element equals the needle's, or behind the last one.
    /// It serves texts below 64 alignments, and searches without credit.
    #[inline(always)]
    fn skip_by_last(&self, search: &mut SearchState<E>) {
        let last = self.needle.len() - 1;
        while search.at < self.alignments {
            let bad = self.tables.bad_character[self.element_at(search.at + last).slot()];
            if bad == 0 {
                return;
            }
            search.at += bad as usize;
        }
    }

    /// Makes the filter test the element of the last mismatch. The last two probes are replaced in
    /// turn.
    fn replace_probe(&self, place: usize, search: &mut SearchState<E>) {
        let [_, _, third, fourth] = self.tables.filter.probes;
        let probes = search.probes.get_or_insert([third, fourth]);
        probes[usize::from(search.turn)] = self.probe_at(place);
        search.turn = !search.turn;
        search.heat = 0;
    }

    /// Returns the probe for an element of the needle, which is mirrored with `REVERSE`.
    #[inline(always)]
    fn probe_at(&self, place: usize) -> Probe<E> {
        let forwards = if REVERSE { self.needle.len() - 1 - place } else { place };
        Probe { place, ..Probe::new::<FOLD>(self.needle, forwards) }
    }

    /// Returns the last index where an alignment differs from the needle, down to `known`; `None`
    /// if it does not. The first `known` elements are equal already.
    #[inline(always)]
    fn find_mismatch(&self, at: usize, known: usize) -> Option<usize> {
        let len = self.needle.len();
        let start = if REVERSE { self.text.len() - at - len } else { at };
        let part = &self.text[start..start + len];
        if !FOLD && known == 0 && len <= SHORT_NEEDLE_MAX && part == self.needle {
            return None;
        }
        let (mut done, all) = (0, len - known);
        while all - done >= COMPARE_WIDTH {
            let range = if REVERSE {
                done..done + COMPARE_WIDTH
            } else {
                len - done - COMPARE_WIDTH..len - done
            };
            let (part, needle) = (&part[range.clone()], &self.needle[range]);
            let same = if FOLD {
                part.iter().zip(needle).fold(true, |same, (&one, other)| {
                    same & (fold_element::<E, FOLD>(one) == *other)
                })
            } else {
                part == needle
            };
            if !same {
                break;
            }
            done += COMPARE_WIDTH;
        }
        while done < all {
            let place = if REVERSE { done } else { len - 1 - done };
            if fold_element::<E, FOLD>(part[place]) != self.needle[place] {
                return Some(len - 1 - done);
            }
            done += 1;
        }
        None
    }

    /// Returns an element of the text.
    #[inline(always)]
    fn element_at(&self, at: usize) -> E {
        self.text[if REVERSE { self.text.len() - 1 - at } else { at }]
    }

    /// Returns 64 elements of the text.
    #[inline(always)]
    fn block_at(&self, at: usize) -> &[E; BLOCK] {
        let start = if REVERSE { self.text.len() - BLOCK - at } else { at };
        self.text[start..].first_chunk().expect("a block of alignments lies within the text")
    }
}
