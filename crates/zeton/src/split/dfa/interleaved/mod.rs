//! An automaton reads several stretches of a text at a time.
//!
//! Each step waits for the one before it, whatever else the core could do. So a window of the text is cut into
//! stretches, at places where a piece ends whatever was before, and while one of them waits, the others go on.

mod block;

use std::cell::Cell;

use super::BoundarySink;
use crate::pattern::{Dfa, Does, Leap, Leaps};
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};
use crate::sys::unicode::read_char;

/// Stretches that are read at a time.
const LANES: usize = 8;

/// Bytes of a window.
const WINDOW: usize = 4096;

/// Bytes that vectors read at once.
const BLOCK: usize = 64;

/// The buffers of a window.
pub(super) struct Window {
    level: SimdLevel,
    /// The class of each byte, and one behind the last.
    classes: [u8; WINDOW + 1],
    /// The classes of each byte and the next.
    pairs: [u16; WINDOW],
    /// What is found at each byte.
    found: [u8; WINDOW + BLOCK],
    /// Whether a block has bytes beyond ASCII.
    wide: [bool; WINDOW / BLOCK],
    /// Before which bytes of a block a piece ends.
    cuts: [u64; WINDOW / BLOCK],
}

thread_local! {
    /// The buffers of the last text: cleared ones cost as much as reading some hundred bytes.
    static SPARE: Cell<Option<Box<Window>>> = const { Cell::new(None) };
}

impl Default for Window {
    fn default() -> Self {
        Self {
            level: SimdLevel::detect(),
            classes: [0; WINDOW + 1],
            pairs: [0; WINDOW],
            found: [0; WINDOW + BLOCK],
            wide: [false; WINDOW / BLOCK],
            cuts: [0; WINDOW / BLOCK],
        }
    }
}

/// A stretch that is being read.
#[derive(Clone, Copy, Debug)]
struct Lane {
    at: usize,
    end: usize,
    /// What was done last.
    last: Leap,
}

impl Window {
    /// Lends a window.
    pub(super) fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        let mut window = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let result = work(&mut window);
        let _ = SPARE.try_with(|spare| spare.set(Some(window)));
        result
    }

    /// Tells `ends` where pieces end from `start` on, where one begins; returns the last end, which is behind
    /// `start`, or `None` if nothing was told: there are no leaps, or no place to cut, or too much is read in vain.
    pub(super) fn split(
        &mut self,
        automaton: &Dfa,
        text: &[u8],
        start: usize,
        ends: &mut impl BoundarySink,
    ) -> Option<usize> {
        let leaps = automaton.leaps()?;
        let bytes = (text.len() - start).min(WINDOW);
        self.classify(automaton, leaps, &text[start..], bytes);
        let mut lanes = [Lane { at: 0, end: 0, last: Leap::START }; LANES];
        let count = self.cut(automaton, leaps, bytes, &mut lanes);
        let end = lanes[count.checked_sub(1)?].end;
        let mut vain = 0;
        if count == LANES {
            self.read(leaps, &mut lanes, &mut vain)?;
        }
        for lane in &mut lanes[..count] {
            self.read(leaps, std::array::from_mut(lane), &mut vain)?;
        }
        // The end before the first is known. A leap whose first byte goes back has written over the next one,
        // with which the next stretch may begin.
        self.found[0] = 0;
        for lane in &lanes[..count - 1] {
            self.found[lane.end] = Does::CUT;
        }
        self.find_cuts(end);
        for (number, first) in (0..end).step_by(BLOCK).enumerate() {
            if self.cuts[number] != 0 {
                ends.block(start + first, self.cuts[number], 0, self.wide[number]);
            }
        }
        if ends.goes_on() {
            ends.end(start + end);
        }
        Some(start + end)
    }

    /// Finds the classes of so many bytes.
    fn classify(&mut self, automaton: &Dfa, leaps: &Leaps, text: &[u8], bytes: usize) {
        match self.level.kind() {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 => unsafe { self.classify_by_avx512(automaton, leaps, text, bytes) },
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx2 => unsafe { self.classify_by_avx2(automaton, leaps, text, bytes) },
            SimdKind::Baseline => self.classify_by(automaton, leaps, text, bytes, block::classify),
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx512,
        fn classify_by_avx512(&mut self, automaton: &Dfa, leaps: &Leaps, text: &[u8], bytes: usize) {
            self.classify_by(automaton, leaps, text, bytes, |ascii, inert, block| {
                block::avx512::classify(ascii, inert, block)
            });
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx2,
        fn classify_by_avx2(&mut self, automaton: &Dfa, leaps: &Leaps, text: &[u8], bytes: usize) {
            self.classify_by(automaton, leaps, text, bytes, |ascii, inert, block| {
                block::avx2::classify(ascii, inert, block)
            });
        }
    }

    #[inline(always)]
    fn classify_by(
        &mut self,
        automaton: &Dfa,
        leaps: &Leaps,
        text: &[u8],
        bytes: usize,
        classify: impl Fn(&[u8; 128], u8, &[u8; BLOCK]) -> ([u8; BLOCK], u64),
    ) {
        let mut passed = 0;
        for first in (0..bytes).step_by(BLOCK) {
            let rest = &text[first..];
            let classes = &mut self.classes[first..first + BLOCK];
            let mut last = [0; BLOCK];
            let block = rest.first_chunk().unwrap_or_else(|| {
                last[..rest.len()].copy_from_slice(rest);
                &last
            });
            let (found, mut high) = classify(automaton.ascii(), leaps.inert(), block);
            classes.copy_from_slice(&found);
            self.wide[first / BLOCK] = high != 0;
            // The last character of the block before may go on here.
            high &= u64::MAX.checked_shl(passed).unwrap_or(0);
            passed = 0;
            while high != 0 {
                let at = high.trailing_zeros();
                let (point, length) = read_char(&rest[at as usize..])
                    .unwrap_or((char::REPLACEMENT_CHARACTER as u32, 1));
                classes[at as usize] = automaton.class_of(point);
                let end = at + length as u32;
                passed = end.saturating_sub(BLOCK as u32);
                high &= u64::MAX.checked_shl(end).unwrap_or(0);
            }
        }
        // The pair of the last one is of no use, but one of this table too.
        self.classes[bytes.next_multiple_of(BLOCK)] = leaps.inert();
        let blocks = self.pairs.as_chunks_mut::<BLOCK>().0.iter_mut();
        for (number, pairs) in blocks.enumerate().take(bytes.div_ceil(BLOCK)) {
            let classes = &self.classes[number * BLOCK..][..=BLOCK];
            for (at, pair) in pairs.iter_mut().enumerate() {
                *pair = leaps.pair(classes[at], classes[at + 1]);
            }
        }
    }

    /// Cuts so many bytes into stretches of about the same length; returns how many there are.
    fn cut(
        &self,
        automaton: &Dfa,
        leaps: &Leaps,
        bytes: usize,
        lanes: &mut [Lane; LANES],
    ) -> usize {
        let inert = leaps.inert();
        let (mut start, mut count) = (0, 0);
        for number in 1..=LANES {
            // What is before that was looked at for the last one.
            let least = start.max(bytes * (number - 1) / LANES);
            let mut after = (bytes * number / LANES).min(bytes - 1);
            while after > least {
                let mut before = after - 1;
                if self.classes[after] != inert {
                    while self.classes[before] == inert {
                        before -= 1;
                    }
                    if automaton.is_safe_cut(self.classes[before], self.classes[after]) {
                        lanes[count] = Lane { at: start, end: after, last: Leap::START };
                        (start, count) = (after, count + 1);
                        break;
                    }
                }
                after = before;
            }
        }
        count
    }

    /// Reads stretches until one of them is at its end; returns `None` if too much is read in vain.
    #[inline(always)]
    fn read<const N: usize>(
        &mut self,
        leaps: &Leaps,
        lanes: &mut [Lane; N],
        vain: &mut usize,
    ) -> Option<()> {
        let mut left = lanes.iter().map(|lane| lane.end.saturating_sub(lane.at)).min()?;
        while left > 0 {
            let (mut leap, mut starts) = (lanes.map(|lane| lane.last), lanes.map(|lane| lane.at));
            for at in (0..left).step_by(2) {
                let mut back = 0;
                for lane in 0..N {
                    let place = starts[lane].wrapping_add(at);
                    debug_assert!(place < WINDOW);
                    // SAFETY: the place is before the end of its stretch, which is at the last byte of the window
                    // or before it, and going back only lowers it; so both classes of the pair are of this text
                    // and this automaton. The last leap was one of its table.
                    #[allow(unsafe_code)]
                    unsafe {
                        leap[lane] = leaps.after(leap[lane], *self.pairs.get_unchecked(place));
                        let found = self.found.get_unchecked_mut(place..place + 2);
                        found.copy_from_slice(&leap[lane].does());
                    }
                    back |= leap[lane].goes_back();
                }
                if back != 0 {
                    self.go_back(at, &mut leap, &mut starts, vain)?;
                }
            }
            for lane in 0..N {
                (lanes[lane].at, lanes[lane].last) =
                    (starts[lane].wrapping_add(left.next_multiple_of(2)), leap[lane]);
            }
            left = lanes.iter().map(|lane| lane.end.saturating_sub(lane.at)).min()?;
        }
        Some(())
    }

    /// BoundarySink pieces at the last mark where no match goes on, and has what follows read again.
    #[inline(never)]
    fn go_back(
        &mut self,
        at: usize,
        last: &mut [Leap],
        starts: &mut [usize],
        vain: &mut usize,
    ) -> Option<()> {
        for (leap, start) in last.iter_mut().zip(starts) {
            if let Some(before) = leap.back() {
                let here = start.wrapping_add(at + before);
                let mark = self.last_mark(here, leap.does()[before])?;
                *vain += here - mark;
                if *vain > 2 * WINDOW {
                    return None;
                }
                // What was found from there on is forgotten, but not the ends of pieces before it.
                (mark..here).for_each(|place| self.cut_at_marks(place));
                // Where it begins if it is at the mark after this step.
                (*start, *leap) = (mark.wrapping_sub(at + 2), Leap::START);
            }
        }
        Some(())
    }

    /// Where the mark was set last at which pieces end here.
    fn last_mark(&self, here: usize, does: u8) -> Option<usize> {
        let set = Does::CUT_AT.iter().zip(Does::SET).find(|(cut, _)| does & **cut != 0)?.1;
        self.found[..here].iter().rposition(|does| does & set != 0)
    }

    /// Has pieces end at their marks that do so here.
    fn cut_at_marks(&mut self, here: usize) {
        for cut in Does::CUT_AT.map(|cut| self.found[here] & cut) {
            if let Some(mark) = self.last_mark(here, cut) {
                self.found[mark] |= Does::CUT;
            }
        }
    }

    /// Finds before which bytes up to an end a piece ends.
    fn find_cuts(&mut self, end: usize) {
        match self.level.kind() {
            // SAFETY: as for `classify`.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 => unsafe { self.find_cuts_by_avx512(end) },
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx2 => unsafe { self.find_cuts_by_avx2(end) },
            SimdKind::Baseline => self.find_cuts_by(end, block::having),
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx512,
        fn find_cuts_by_avx512(&mut self, end: usize) {
            self.find_cuts_by(end, |does, bit| block::avx512::having(does, bit));
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx2,
        fn find_cuts_by_avx2(&mut self, end: usize) {
            self.find_cuts_by(end, |does, bit| block::avx2::having(does, bit));
        }
    }

    #[inline(always)]
    fn find_cuts_by(&mut self, end: usize, having: impl Fn(&[u8; BLOCK], u8) -> u64) {
        for first in (0..end).step_by(BLOCK) {
            let does = self.found[first..].first_chunk().expect("there is room for a block more");
            let before_end = u64::MAX >> (first + BLOCK).saturating_sub(end);
            let mut cuts = having(does, Does::CUT) & before_end;
            for (cut, set) in Does::CUT_AT.into_iter().zip(Does::SET) {
                let mut ends = having(does, cut) & before_end;
                if ends == 0 {
                    continue;
                }
                let marks = having(does, set);
                while ends != 0 {
                    let here = ends.trailing_zeros();
                    let before = marks & ((1 << here) - 1);
                    if before != 0 {
                        cuts |= 1 << before.ilog2();
                    } else if let Some(mark) = self.last_mark(first + here as usize, cut) {
                        self.cuts[mark / BLOCK] |= 1 << (mark % BLOCK);
                    }
                    ends &= ends - 1;
                }
            }
            self.cuts[first / BLOCK] = cuts;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::family::Pieces;
    use crate::testing::{OUTSIDE, PARTS, Random};

    #[test]
    fn all_simd_levels_split_alike_with_what_others_left() {
        let mut random = Random(7);
        let mut windows: Vec<Window> = SimdLevel::detect_all()
            .into_iter()
            .map(|level| Window { level, ..Window::default() })
            .collect();
        let mut split = 0;
        for round in 0..2000 {
            let automaton = Dfa::of(OUTSIDE[round % OUTSIDE.len()]).unwrap();
            let parts = if round % 50 == 0 { 9000 } else { 1 + random.below(90) };
            let text: String = (0..parts).map(|_| PARTS[random.below(PARTS.len())]).collect();
            let mut found = windows.iter_mut().map(|window| {
                let mut lengths = Vec::new();
                let mut ends =
                    Pieces::new(text.as_bytes(), |piece: &[u8], _| lengths.push(piece.len()));
                (window.split(&automaton, text.as_bytes(), 0, &mut ends), lengths)
            });
            let first = found.next().unwrap();
            split += first.1.len();
            assert!(found.all(|other| other == first), "{text:?}");
        }
        assert!(split > 10_000, "{split}");
    }
}
