//! The shift tables of a needle, and the elements that the SIMD filter tests.
//!
//! For example, for `abab`:
//!
//! ```text
//! bad character    a 1    b 0    others 4        distance of the last one from the end
//! good suffix      2  2  2  4  1                 entry 0 is the period
//! probes           b at 1, a at 0, b at 3, a at 2: distinct elements first, the rarest first
//! ```
//!
//! Building them takes time and memory linear in the needle: four bytes an element, twice that
//! while they are built, and four bytes for each of 256 byte values or 1,024 slots of ids.

use crate::search::element::Element;

/// The moves of an alignment, in one direction.
#[derive(Clone, Debug)]
pub(super) struct ShiftTables<E> {
    /// For each slot: the distance of its last element in the needle from the needle's end.
    pub(super) bad_character: Box<[u32]>,
    /// The move after the elements from an index on were equal and the one before it differed.
    pub(super) good_suffix: Box<[u32]>,
    pub(super) filter: RareFilter<E>,
}

/// The elements of the needle that the SIMD filter tests.
#[derive(Clone, Copy, Debug)]
pub(super) struct RareFilter<E> {
    /// The rarest elements; a search replaces the last two by elements that caused mismatches.
    pub(super) probes: [Probe<E>; 4],
}

/// One element that the filter tests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe<E> {
    pub(super) place: usize,
    pub(super) value: E,
    /// Bits that are set in an element of the text before the comparison: 0x20 for a letter with
    /// `FOLD`.
    pub(super) case_bit: u8,
}

impl<E: Element> ShiftTables<E> {
    pub(super) fn new<const FOLD: bool>(needle: &[E]) -> Self {
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
            bad_character: bad.into(),
            good_suffix: good_suffixes(needle).into(),
            filter: RareFilter::new::<FOLD>(needle),
        }
    }
}

/// Returns the moves of the good suffix. Entry `k` is the move after the elements from `k` on were
/// equal and the one before differed. Entry 0, after a match, is the period.
///
/// A border of a range is both its prefix and its suffix. The borders of the needle's suffixes are
/// found from the shortest suffix on. Where a border cannot be extended, the element before it
/// differs, which is a move. For example:
///
/// ```text
/// needle   a b a b             k    0  1  2  3  4
///                              move 2  2  2  4  1
/// ```
pub(super) fn good_suffixes(needle: &[impl Element]) -> Vec<u32> {
    let len = needle.len();
    let mut good = vec![0_u32; len + 1];
    // The start of the longest border of the suffix from each index on.
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
    // Without another occurrence of the suffix, the longest border of the needle that fits.
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

impl<E: Element> RareFilter<E> {
    /// Builds the tables of a needle, and chooses up to four of its rarest elements, distinct as
    /// far as possible, for the kernel to test first.
    pub(super) fn new<const FOLD: bool>(needle: &[E]) -> Self {
        let rarity = |place: usize| {
            let capital = if FOLD { needle[place].frequency_rank() / 2 } else { 0 };
            needle[place].frequency_rank() + capital
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
        Self { probes: places.map(|place| Probe::new::<FOLD>(needle, place)) }
    }
}

impl<E: Element> Probe<E> {
    #[inline(always)]
    pub(super) fn new<const FOLD: bool>(needle: &[E], place: usize) -> Self {
        let value = needle[place];
        // Bit 0x20 maps exactly two bytes to each small letter.
        let letter = FOLD && (u32::from(b'a')..=u32::from(b'z')).contains(&value.to_u32());
        Self { place, value, case_bit: if letter { 0x20 } else { 0 } }
    }
}

/// Returns an element as it is compared: with its case folded if `FOLD` is set, else unchanged.
#[inline(always)]
pub(super) fn fold_element<E: Element, const FOLD: bool>(element: E) -> E {
    if FOLD { element.fold_case() } else { element }
}
