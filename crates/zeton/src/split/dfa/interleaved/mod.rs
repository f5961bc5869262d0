//! Scans eight streams of a text in turns, to hide the latency of the table look-ups.
//!
//! The row of a look-up is the result of the look-up before it, so that one scan waits for a load
//! most of the time. A window of 4 KiB is therefore divided into eight *streams*, whose loads
//! overlap. A stream ends where the table proves that any text may be cut (a safe cut). For
//! example, with `\s+(?!\S)|\s|\S+`, where a safe cut is between text and a blank, and with four
//! streams:
//!
//! ```text
//! text     "to be or not to be, that is"
//! streams  "to be│ or not│ to be,│ that" the rest " is" belongs to the next window
//! turn 1    to     ␣o      ␣t     ␣t     one look-up a stream, two bytes each
//! turn 2    ␣b     r␣      o␣     ha
//! ```
//!
//! A window takes four passes over its buffers:
//!
//! 1. `classify`: the class of each byte, in vectors, and the pair of classes at each byte.
//! 2. `place_streams`: the ends of the streams.
//! 3. `scan`: the action at each byte, by the stride-2 table.
//! 4. `collect_cuts`: the actions become bit masks of cuts, 64 bytes a mask.
//!
//! Cost: ten instructions for two bytes in the scan. With Kimi's pattern the streams alone raised
//! encoding (ids, warm) from 315 to 453 MB/s of English, and from 233 to 332 of source code. All
//! measurements, also of the constants, are in `docs/notes/splitting.md`, 2026-11-18.

mod block;

use std::cell::Cell;

use super::BoundarySink;
use crate::pattern::{Dfa, DfaAction, Stride2Entry, Stride2Table};
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};
use crate::sys::unicode::read_char;

/// Streams of a window. Four were 10 to 25 % slower.
const STREAMS: usize = 8;

/// Bytes of a window. Windows of 2 KiB were 2 to 5 % slower.
const WINDOW_BYTES: usize = 4096;

/// Bytes that one step of the SIMD kernels reads, and bits of a mask of cuts.
const BLOCK: usize = 64;

/// The buffers of a window: 17 KB, one set for each thread.
pub(super) struct ScanWindow {
    level: SimdLevel,
    /// The class of each byte, and one class behind the last byte, to complete its pair.
    classes: [u8; WINDOW_BYTES + 1],
    /// For each byte, the column of the stride-2 table for the classes of that byte and the next.
    pairs: [u16; WINDOW_BYTES],
    /// The [`DfaAction`] at each byte. A block more is there, so that the last block can be read
    /// whole.
    actions: [u8; WINDOW_BYTES + BLOCK],
    /// For each block, whether it has bytes beyond ASCII.
    is_wide: [bool; WINDOW_BYTES / BLOCK],
    /// For each block, a bit for each byte before which a piece ends.
    cuts: [u64; WINDOW_BYTES / BLOCK],
}

thread_local! {
    /// The buffers of this thread's last text, because clearing new buffers costs as much as
    /// reading some hundred bytes.
    static SPARE: Cell<Option<Box<ScanWindow>>> = const { Cell::new(None) };
}

impl Default for ScanWindow {
    fn default() -> Self {
        Self {
            level: SimdLevel::detect(),
            classes: [0; WINDOW_BYTES + 1],
            pairs: [0; WINDOW_BYTES],
            actions: [0; WINDOW_BYTES + BLOCK],
            is_wide: [false; WINDOW_BYTES / BLOCK],
            cuts: [0; WINDOW_BYTES / BLOCK],
        }
    }
}

/// A part of a window that is scanned from the start of a piece to the end of one.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The next byte to read, as an offset in the window.
    at: usize,
    /// The end of the stream.
    end: usize,
    /// The last entry that was looked up, which has the row of the next look-up.
    last: Stride2Entry,
}

impl ScanWindow {
    /// Calls `work` with the spare buffers of this thread, which keeps them for its next text. New
    /// buffers are allocated at a thread's first text, and for a call within `work`.
    pub(super) fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        let mut window = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let result = work(&mut window);
        let _ = SPARE.try_with(|spare| spare.set(Some(window)));
        result
    }

    /// Reports the ends of pieces in the window from `start`, the start of a piece; returns the
    /// last end.
    ///
    /// Returns `None`, without a report, in three cases:
    ///
    /// - the DFA has no stride-2 table,
    /// - the window has no safe cut,
    /// - more than two windows of bytes were rescanned.
    pub(super) fn split(
        &mut self,
        dfa: &Dfa,
        text: &[u8],
        start: usize,
        sink: &mut impl BoundarySink,
    ) -> Option<usize> {
        let table = dfa.stride2()?;
        let bytes = (text.len() - start).min(WINDOW_BYTES);
        self.classify(dfa, table, &text[start..], bytes);
        let mut streams = [Stream { at: 0, end: 0, last: Stride2Entry::START }; STREAMS];
        let count = self.place_streams(dfa, table, bytes, &mut streams);
        let end = streams[count.checked_sub(1)?].end;
        let mut rescanned = 0;
        if count == STREAMS {
            self.scan(table, &mut streams, &mut rescanned)?;
        }
        // The streams differ in length, so that their remaining bytes are scanned one by one.
        for stream in &mut streams[..count] {
            self.scan(table, std::array::from_mut(stream), &mut rescanned)?;
        }
        // The caller knows the cut before the first byte. An entry at the last byte of a stream
        // also has the action of the next stream's first byte, which is a cut. If its first byte
        // caused a rescan, it has overwritten that action with another.
        self.actions[0] = 0;
        for stream in &streams[..count - 1] {
            self.actions[stream.end] = DfaAction::CUT;
        }
        self.collect_cuts(end);
        for (number, first) in (0..end).step_by(BLOCK).enumerate() {
            if self.cuts[number] != 0 {
                sink.push_cuts(start + first, self.cuts[number], 0, self.is_wide[number]);
            }
        }
        if sink.is_open() {
            sink.push_end(start + end);
        }
        Some(start + end)
    }

    /// Finds the class and the pair of each of the first `bytes` bytes of `text`, and writes them
    /// to the window, with the best instructions of this machine.
    fn classify(&mut self, dfa: &Dfa, table: &Stride2Table, text: &[u8], bytes: usize) {
        match self.level.kind() {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 => unsafe { self.classify_by_avx512(dfa, table, text, bytes) },
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx2 => unsafe { self.classify_by_avx2(dfa, table, text, bytes) },
            SimdKind::Baseline => self.classify_by(dfa, table, text, bytes, block::classify),
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx512,
        fn classify_by_avx512(&mut self, dfa: &Dfa, table: &Stride2Table, text: &[u8], bytes: usize) {
            self.classify_by(dfa, table, text, bytes, |ascii, padding, block| {
                block::avx512::classify(ascii, padding, block)
            });
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx2,
        fn classify_by_avx2(&mut self, dfa: &Dfa, table: &Stride2Table, text: &[u8], bytes: usize) {
            self.classify_by(dfa, table, text, bytes, |ascii, padding, block| {
                block::avx2::classify(ascii, padding, block)
            });
        }
    }

    /// Classifies the characters of a window by a kernel of `block`, and writes their classes to
    /// the buffer: ASCII in vectors, each other character by itself.
    #[inline(always)]
    fn classify_by(
        &mut self,
        dfa: &Dfa,
        table: &Stride2Table,
        text: &[u8],
        bytes: usize,
        classify: impl Fn(&[u8; 128], u8, &[u8; BLOCK]) -> ([u8; BLOCK], u64),
    ) {
        let mut carried = 0;
        for first in (0..bytes).step_by(BLOCK) {
            let rest = &text[first..];
            let classes = &mut self.classes[first..first + BLOCK];
            let mut padded = [0; BLOCK];
            let block = rest.first_chunk().unwrap_or_else(|| {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            });
            let (found, mut high) = classify(dfa.ascii_classes(), table.padding_class(), block);
            classes.copy_from_slice(&found);
            self.is_wide[first / BLOCK] = high != 0;
            // The first `carried` bytes continue the last character of the block before.
            high &= u64::MAX.checked_shl(carried).unwrap_or(0);
            carried = 0;
            while high != 0 {
                let at = high.trailing_zeros();
                let (point, length) = read_char(&rest[at as usize..])
                    .unwrap_or((char::REPLACEMENT_CHARACTER as u32, 1));
                classes[at as usize] = dfa.class_of(point);
                let end = at + length as u32;
                carried = end.saturating_sub(BLOCK as u32);
                high &= u64::MAX.checked_shl(end).unwrap_or(0);
            }
        }
        // No stream reads the pair of the last byte. It is a pair of this table nevertheless,
        // although an earlier text may have left the class of another DFA here.
        self.classes[bytes.next_multiple_of(BLOCK)] = table.padding_class();
        let blocks = self.pairs.as_chunks_mut::<BLOCK>().0.iter_mut();
        for (number, pairs) in blocks.enumerate().take(bytes.div_ceil(BLOCK)) {
            let classes = &self.classes[number * BLOCK..][..=BLOCK];
            for (at, pair) in pairs.iter_mut().enumerate() {
                *pair = table.pair_of(classes[at], classes[at + 1]);
            }
        }
    }

    /// Divides the first `bytes` bytes into streams of about equal length; returns their number.
    ///
    /// The end of a stream is the last safe cut in its eighth of the window. An eighth without one
    /// belongs to the next stream.
    fn place_streams(
        &self,
        dfa: &Dfa,
        table: &Stride2Table,
        bytes: usize,
        streams: &mut [Stream; STREAMS],
    ) -> usize {
        let padding = table.padding_class();
        let (mut start, mut count) = (0, 0);
        for number in 1..=STREAMS {
            // The search for the previous stream has covered the bytes before `first`.
            let first = start.max(bytes * (number - 1) / STREAMS);
            let mut after = (bytes * number / STREAMS).min(bytes - 1);
            while after > first {
                let mut before = after - 1;
                if self.classes[after] != padding {
                    while self.classes[before] == padding {
                        before -= 1;
                    }
                    if dfa.is_safe_cut(self.classes[before], self.classes[after]) {
                        streams[count] =
                            Stream { at: start, end: after, last: Stride2Entry::START };
                        (start, count) = (after, count + 1);
                        break;
                    }
                }
                after = before;
            }
        }
        count
    }

    /// Scans streams in turns until one of them is at its end; returns `None` if more than two
    /// windows of bytes were `rescanned`.
    #[inline(always)]
    fn scan<const N: usize>(
        &mut self,
        table: &Stride2Table,
        streams: &mut [Stream; N],
        rescanned: &mut usize,
    ) -> Option<()> {
        let mut left = streams.iter().map(|stream| stream.end.saturating_sub(stream.at)).min()?;
        while left > 0 {
            let mut entries = streams.map(|stream| stream.last);
            let mut starts = streams.map(|stream| stream.at);
            for at in (0..left).step_by(2) {
                let mut rescan_bits = 0;
                for stream in 0..N {
                    let place = starts[stream].wrapping_add(at);
                    debug_assert!(place < WINDOW_BYTES);
                    // SAFETY: `at` is below the shortest remaining length, so that `place` is below
                    // the end of its stream. `place_streams` puts that end at the last byte of the
                    // window or before it, and `rescan` only lowers `place`. So `place` is below
                    // `WINDOW_BYTES`, and `place + 2` within `actions`. `classify` has written
                    // `pairs[place]` with `table.pair_of`. Each entry is `START` or was looked up
                    // in `table`.
                    #[allow(unsafe_code)]
                    unsafe {
                        let pair = *self.pairs.get_unchecked(place);
                        entries[stream] = table.next_unchecked(entries[stream], pair);
                        let actions = self.actions.get_unchecked_mut(place..place + 2);
                        actions.copy_from_slice(&entries[stream].actions());
                    }
                    rescan_bits |= entries[stream].rescan_bits();
                }
                if rescan_bits != 0 {
                    self.rescan(at, &mut entries, &mut starts, rescanned)?;
                }
            }
            for stream in 0..N {
                streams[stream].at = starts[stream].wrapping_add(left.next_multiple_of(2));
                streams[stream].last = entries[stream];
            }
            left = streams.iter().map(|stream| stream.end.saturating_sub(stream.at)).min()?;
        }
        Some(())
    }

    /// Restarts each stream whose last entry causes a rescan, at its last accepting position.
    ///
    /// `starts` are the positions of the streams at `at` = 0 of the loop in `scan`, which reads
    /// from `starts + at + 2` next. Returns `None` if more than two windows of bytes were
    /// rescanned.
    #[inline(never)]
    fn rescan(
        &mut self,
        at: usize,
        entries: &mut [Stride2Entry],
        starts: &mut [usize],
        rescanned: &mut usize,
    ) -> Option<()> {
        for (entry, start) in entries.iter_mut().zip(starts) {
            if let Some(byte) = entry.rescan_byte() {
                let here = start.wrapping_add(at + byte);
                let accept = self.last_accept(here, entry.actions()[byte])?;
                *rescanned += here - accept;
                if *rescanned > 2 * WINDOW_BYTES {
                    return None;
                }
                // The actions from `accept` on will be overwritten. Some of them end pieces before
                // it.
                (accept..here).for_each(|place| self.cut_at_accepts(place));
                // `scan` adds `at + 2` before it reads; the sum is `accept`, also if it wraps.
                (*start, *entry) = (accept.wrapping_sub(at + 2), Stride2Entry::START);
            }
        }
        Some(())
    }

    /// Returns the last accepting position before `here` in the slot that `action` cuts at. The
    /// slot is not stored; its position is the last byte with the bit of `SET_ACCEPT`.
    fn last_accept(&self, here: usize, action: u8) -> Option<usize> {
        let mut slots = DfaAction::CUT_AT_ACCEPT.iter().zip(DfaAction::SET_ACCEPT);
        let set = slots.find(|(cut, _)| action & **cut != 0)?.1;
        self.actions[..here].iter().rposition(|action| action & set != 0)
    }

    /// Carries out the cuts at accepting positions that the action of a byte demands. It sets the
    /// bit of `CUT` there, before a rescan overwrites this byte's action.
    fn cut_at_accepts(&mut self, here: usize) {
        for cut in DfaAction::CUT_AT_ACCEPT.map(|cut| self.actions[here] & cut) {
            if let Some(accept) = self.last_accept(here, cut) {
                self.actions[accept] |= DfaAction::CUT;
            }
        }
    }

    /// Turns the actions of the bytes before `end` into masks of cuts, one bit a byte. It reads the
    /// window's `actions` and overwrites its `cuts`.
    fn collect_cuts(&mut self, end: usize) {
        match self.level.kind() {
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx512 => unsafe { self.collect_cuts_by_avx512(end) },
            // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            SimdKind::Avx2 => unsafe { self.collect_cuts_by_avx2(end) },
            SimdKind::Baseline => self.collect_cuts_by(end, block::find_bit),
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx512,
        fn collect_cuts_by_avx512(&mut self, end: usize) {
            self.collect_cuts_by(end, |actions, bit| block::avx512::find_bit(actions, bit));
        }
    }

    #[cfg(target_arch = "x86_64")]
    simd_fn! { avx2,
        fn collect_cuts_by_avx2(&mut self, end: usize) {
            self.collect_cuts_by(end, |actions, bit| block::avx2::find_bit(actions, bit));
        }
    }

    /// Collects the cuts by a kernel of `block`, which finds the bytes with a bit.
    ///
    /// A cut at an accepting position belongs to the last byte before it with `SET_ACCEPT`. This
    /// byte has a bit in the current mask, or else it is in an earlier block.
    #[inline(always)]
    fn collect_cuts_by(&mut self, end: usize, find_bit: impl Fn(&[u8; BLOCK], u8) -> u64) {
        for first in (0..end).step_by(BLOCK) {
            let actions =
                self.actions[first..].first_chunk().expect("a block more than the window is there");
            let before_end = u64::MAX >> (first + BLOCK).saturating_sub(end);
            let mut cuts = find_bit(actions, DfaAction::CUT) & before_end;
            for (cut, set) in DfaAction::CUT_AT_ACCEPT.into_iter().zip(DfaAction::SET_ACCEPT) {
                let mut triggers = find_bit(actions, cut) & before_end;
                if triggers == 0 {
                    continue;
                }
                let accepts = find_bit(actions, set);
                while triggers != 0 {
                    let here = triggers.trailing_zeros();
                    let before = accepts & ((1 << here) - 1);
                    if before != 0 {
                        cuts |= 1 << before.ilog2();
                    } else if let Some(accept) = self.last_accept(first + here as usize, cut) {
                        self.cuts[accept / BLOCK] |= 1 << (accept % BLOCK);
                    }
                    triggers &= triggers - 1;
                }
            }
            self.cuts[first / BLOCK] = cuts;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::family::PieceVisitor;
    use crate::testing::{OUTSIDE, PARTS, Random};

    #[test]
    fn all_simd_levels_split_alike_with_used_buffers() {
        let mut random = Random(7);
        let mut windows: Vec<ScanWindow> = SimdLevel::detect_all()
            .into_iter()
            .map(|level| ScanWindow { level, ..ScanWindow::default() })
            .collect();
        let mut piece_count = 0;
        for round in 0..2000 {
            let dfa = Dfa::try_from_pattern(OUTSIDE[round % OUTSIDE.len()]).unwrap();
            let parts = if round % 50 == 0 { 9000 } else { 1 + random.below(90) };
            let text: String = (0..parts).map(|_| PARTS[random.below(PARTS.len())]).collect();
            let mut found = windows.iter_mut().map(|window| {
                let mut lengths = Vec::new();
                let mut sink =
                    PieceVisitor::new(text.as_bytes(), |piece: &[u8], _| lengths.push(piece.len()));
                (window.split(&dfa, text.as_bytes(), 0, &mut sink), lengths)
            });
            let first = found.next().unwrap();
            piece_count += first.1.len();
            assert!(found.all(|other| other == first), "{text:?}");
        }
        assert!(piece_count > 10_000, "{piece_count}");
    }
}
