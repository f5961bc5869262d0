//! Merges a long piece in linear time, as overlapping windows that are merged separately.
//!
//! A sequence of ids is the merge of a piece if and only if every two adjacent ids are the merge of
//! their own bytes. The reason: the first merge that crosses the border between two ids depends on
//! these two alone. So it happens as well when the two are merged alone.
//!
//! Windows of 62 bytes start every 54 bytes and are merged in lockstep. Two of them are joined at a
//! *seam*, a byte position where an id ends in both. The ids left and right of it have to pass that
//! test. If the same id follows the position in both windows, no test is needed, because the two
//! ids are neighbours in the first window. For example, a piece of 143 bytes with cl100k:
//!
//! ```text
//!  pneumonoultra…hippopotomonstrosesquippedaliophobiasupercalifragilistic…dociousantidis…ism
//!
//!  byte           53           57       59         62       64
//!  window 0..62   │ omon 35685 │ st 267 │ ros 3714 │
//!  window 54..116   │ mon 1677 │ st 267 │ ros 3714 │ es 288 │ …
//!                              └ seam at 57: both windows continue with `st`
//!
//!  byte            108     109            115
//!  window 54..116 … id 307 │ ocious 78287 │ a 64 │
//!  window 108..143 │ doc 5349 │ ious 1245 │ ant 519 │ idis 85342 │ …
//!                                         └ seam at 115: `ocious` + `ant` merge to 78287 519
//! ```
//!
//! The piece becomes `… omon st ros … id ocious ant idis …`. If two windows have no seam, the first
//! one is merged anew at twice its size, which also re-tests the seam before it. A window of the
//! size of the piece needs no seam.
//!
//! A repetition is shorter work still: two equal adjacent ids that pass the test pass it however
//! often they repeat. So a window that ends in a repetition is extended by comparing bytes, to the
//! end of the repetition.
//!
//! Cost: linear in the length, at 200 instructions a byte of random letters, 203 of random ACGT
//! (callgrind, cl100k). A megabyte of dots is merged at 176 MB/s, and at 16 MB/s without the
//! extension of repetitions.

use std::collections::VecDeque;

use super::lockstep::LockstepBatch;
use super::{BpeModel, MergeBuffers, merge_parts};
use crate::vocab::Id;

/// Bytes of a window: the parts that a [`LockstepBatch`] of 64 lanes has room for.
const WINDOW_BYTES: usize = 62;
/// Bytes from the start of one window to the next. In the eight bytes that two windows share there
/// is nearly always a seam. Random ACGT took 226 instructions a byte with a step of 48, and 203
/// with 54. A step of 46 finds no seam in a run of one letter.
const WINDOW_STEP: usize = 54;

/// Windows that are merged together, in one [`LockstepBatch`]. The number dates from batches of
/// eight; a batch takes 16 now, and no measurement compares the two.
const BATCH_WINDOWS: usize = 8;

/// Candidate seams that are tested before a larger window is merged. No measurement chose three:
/// nearly all windows need no test at all.
const SEAMS_TRIED: usize = 3;

/// Appends the ids of a long piece, of more than `SCAN_MAX` bytes, for `merge_bytes`.
pub(super) fn merge(model: &BpeModel, piece: &[u8], buffers: &mut MergeBuffers, ids: &mut Vec<Id>) {
    let mut seam_finder =
        SeamFinder { model, last_seam: (Id::MAX, Id::MAX), common_ends: Vec::new(), buffers };
    let mut windows = VecDeque::new();
    let ids_start = ids.len();
    let mut current = MergeWindow::new(model, 0, &[]);
    // The last window that was merged at a larger size. In repetitive text its bytes recur.
    let mut enlarged: Option<MergeWindow> = None;
    while current.end() < piece.len() {
        current.emit_repetition(piece, ids);
        while windows.front().is_some_and(|window: &MergeWindow| window.end() <= current.end()) {
            windows.pop_front();
        }
        let Some(window) = windows.pop_front() else {
            // The first window that ends after the current one and overlaps it.
            let first = (current.end() + 1).saturating_sub(WINDOW_BYTES).div_ceil(WINDOW_STEP)
                * WINDOW_STEP;
            let starts: Vec<usize> =
                (first..piece.len()).step_by(WINDOW_STEP).take(BATCH_WINDOWS).collect();
            merge_windows(model, piece, &starts, seam_finder.buffers, &mut windows);
            continue;
        };
        if current.ids.is_empty() {
            current = window;
            continue;
        }
        if let Some((left, right)) = seam_finder.find_seam(&current, &window) {
            ids.extend_from_slice(&current.ids[..left]);
            current = window.without_first(right);
            continue;
        }
        // The size that the last failure needed most likely suffices here.
        let enlarged_size =
            enlarged.as_ref().map_or(WINDOW_BYTES, |window| window.end() - window.start);
        let size = (2 * (current.end() - current.start)).max(enlarged_size);
        let end = piece.len().min(current.start + size);
        let mut start = current.start;
        loop {
            let bytes = &piece[start..end];
            let cached =
                enlarged.take().filter(|window| &piece[window.start..window.end()] == bytes);
            current = match cached {
                Some(window) => window.copy_to(start),
                None => {
                    MergeWindow::new(model, start, merge_alone(model, bytes, seam_finder.buffers))
                }
            };
            // The first id may differ now, so that the seam before it fails. Then the window starts
            // earlier.
            match ids[ids_start..].last() {
                Some(&last) if !seam_finder.is_seam(last, current.ids[0]) => {
                    let size = end - start;
                    while end - start < 2 * size && ids.len() > ids_start {
                        let last = ids.pop().expect("the loop ends where no id is left");
                        start -= model.vocab().token_len(last);
                    }
                }
                _ => break,
            }
        }
        enlarged = Some(current.copy_to(current.start));
    }
    ids.extend_from_slice(&current.ids);
}

/// A window of a piece, merged on its own.
#[derive(Default)]
struct MergeWindow {
    /// The first byte of the window, in the piece.
    start: usize,
    /// The ids of the window.
    ids: Vec<Id>,
    /// The end of each id, in the piece.
    ends: Vec<usize>,
}

impl MergeWindow {
    /// Makes a window of a copy of these ids, the first of which begins at byte `start` of the
    /// piece. Its ends follow from the lengths of the tokens.
    fn new(model: &BpeModel, start: usize, ids: &[Id]) -> Self {
        let mut end = start;
        let end_after = |&id: &Id| {
            end += model.vocab().token_len(id);
            end
        };
        Self { start, ids: ids.to_vec(), ends: ids.iter().map(end_after).collect() }
    }

    /// Returns the position in the piece where the window ends, in bytes.
    fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.start)
    }

    /// Returns the position in the piece, in bytes, where id `number` of the window begins.
    fn start_of(&self, number: usize) -> usize {
        if number == 0 { self.start } else { self.ends[number - 1] }
    }

    /// Copies the window to byte `start` of the piece, whose bytes are equal there, so that they
    /// need not be merged again.
    fn copy_to(&self, start: usize) -> Self {
        let ends = self.ends.iter().map(|end| end - self.start + start).collect();
        Self { start, ids: self.ids.clone(), ends }
    }

    /// Extends a repetition at the end of the window. If the window ends in two equal ids, and the
    /// piece goes on repeating their bytes, the repeated ids are appended to `ids`. The window
    /// becomes the rest, at the end of the repetition. For example, a window that ends in `....`
    /// `....` `..`, within 1,000 dots, emits `....` until fewer than four dots remain behind the
    /// window.
    fn emit_repetition(&mut self, piece: &[u8], ids: &mut Vec<Id>) {
        let Some(first) = self.ids.windows(2).rposition(|pair| pair[0] == pair[1]) else {
            return;
        };
        let (start, end) = (self.start_of(first), self.end());
        let length = self.ends[first] - start;
        if piece[start..end - length] != piece[start + length..end] {
            return;
        }
        let equal_bytes = piece[end - length..].iter().zip(&piece[end..]);
        let count = equal_bytes.take_while(|(one, two)| one == two).count() / length;
        if count > 0 {
            ids.extend_from_slice(&self.ids[..=first]);
            ids.extend(std::iter::repeat_n(self.ids[first], count));
            let rest = std::mem::take(self).without_first(first + 1);
            *self = rest.copy_to(rest.start + count * length);
        }
    }

    /// Returns the window without its first `count` ids; it then starts behind them. Called where
    /// two windows are joined at a seam, because the window before has these ids.
    fn without_first(mut self, count: usize) -> Self {
        self.start = self.start_of(count);
        self.ids.drain(..count);
        self.ends.drain(..count);
        self
    }
}

/// Merges the windows that begin at `starts`, at most [`BATCH_WINDOWS`], and appends them to
/// `windows` in this order. [`merge`] calls it whenever its queue of windows is empty.
fn merge_windows(
    model: &BpeModel,
    piece: &[u8],
    starts: &[usize],
    buffers: &mut MergeBuffers,
    windows: &mut VecDeque<MergeWindow>,
) {
    let bytes = |start: usize| &piece[start..piece.len().min(start + WINDOW_BYTES)];
    let Some(pairs) = model.pairs().u64_pairs() else {
        let new_window = |&start: &usize| {
            MergeWindow::new(model, start, merge_alone(model, bytes(start), buffers))
        };
        return windows.extend(starts.iter().map(new_window));
    };
    let mut batch = LockstepBatch::<64>::default();
    // In repetitive text, consecutive windows with equal bytes are merged once.
    let mut first_equal = [0; BATCH_WINDOWS];
    for (number, &start) in starts.iter().enumerate() {
        first_equal[number] = match number {
            1.. if bytes(start) == bytes(starts[number - 1]) => first_equal[number - 1],
            _ => number,
        };
        if first_equal[number] == number {
            assert!(batch.push(start, model, bytes(start)), "there are no more parts than bytes");
        }
    }
    let first = windows.len();
    let mut unique_windows = VecDeque::new();
    batch.merge_all(pairs, |start, window_ids| {
        unique_windows.push_back(MergeWindow::new(model, start, window_ids.ids()));
    });
    for (number, &start) in starts.iter().enumerate() {
        windows.push_back(match first_equal[number] == number {
            true => unique_windows.pop_front().expect("every unique window was merged"),
            false => windows[first + first_equal[number]].copy_to(start),
        });
    }
}

/// Merges bytes as if they were a whole piece and returns their ids, borrowed from the buffers.
fn merge_alone<'s>(model: &BpeModel, bytes: &[u8], buffers: &'s mut MergeBuffers) -> &'s [Id] {
    merge_parts(model.pairs(), bytes.iter().map(|&byte| model.vocab().byte(byte)), buffers)
}

/// Finds positions where two windows may be joined.
struct SeamFinder<'a> {
    model: &'a BpeModel,
    /// The last two ids that passed the test: text repeats them.
    last_seam: (Id, Id),
    /// A scratch buffer: positions where an id ends in both windows, as the number of ids before it
    /// in each.
    common_ends: Vec<(usize, usize)>,
    buffers: &'a mut MergeBuffers,
}

impl SeamFinder<'_> {
    /// Returns the number of ids before a seam, in the current and in the next window.
    ///
    /// A position where both windows continue with the same id needs no test: the two ids at that
    /// seam are neighbours in the current window. Nearly all pairs of windows have one.
    fn find_seam(&mut self, current: &MergeWindow, next: &MergeWindow) -> Option<(usize, usize)> {
        self.common_ends.clear();
        let mut right = 0;
        let first = current.ends.partition_point(|&end| end < next.start);
        for (&end, left) in current.ends[first..].iter().zip(first + 1..) {
            while right < next.ids.len() && next.start_of(right) < end {
                right += 1;
            }
            if right < next.ids.len() && next.start_of(right) == end {
                if current.ids.get(left) == Some(&next.ids[right]) {
                    return Some((left, right));
                }
                self.common_ends.push((left, right));
            }
        }
        // The ids near either window's edge are the least reliable, so the search starts in the
        // middle of the overlap.
        let middle = usize::midpoint(next.start, current.end());
        for _ in 0..SEAMS_TRIED {
            let distance = |&(left, _): &(usize, usize)| current.ends[left - 1].abs_diff(middle);
            let nearest =
                (0..self.common_ends.len()).min_by_key(|&at| distance(&self.common_ends[at]))?;
            let (left, right) = self.common_ends.swap_remove(nearest);
            if self.is_seam(current.ids[left - 1], next.ids[right]) {
                return Some((left, right));
            }
        }
        None
    }

    /// Returns whether two ids are the merge of their own bytes. It merges these bytes, unless the
    /// pair is the one that passed last.
    fn is_seam(&mut self, left: Id, right: Id) -> bool {
        if (left, right) == self.last_seam {
            return true;
        }
        let token = |id: Id| self.model.vocab().token(id).expect("merging yields tokens");
        let bytes =
            token(left).iter().chain(token(right)).map(|&byte| self.model.vocab().byte(byte));
        let is_seam = merge_parts(self.model.pairs(), bytes, self.buffers) == [left, right];
        if is_seam {
            self.last_seam = (left, right);
        }
        is_seam
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SCAN_MAX, heap, tests::random_model};
    use super::*;
    use crate::testing::{Random, model_of};

    /// Asserts that windows give the ids that the heap gives.
    fn assert_merged(model: &BpeModel, piece: &[u8]) {
        let mut expected: Vec<Id> = piece.iter().map(|&byte| model.vocab().byte(byte)).collect();
        heap::Heap::default().merge(model.pairs(), &mut expected);
        let mut ids = Vec::new();
        merge(model, piece, &mut MergeBuffers::default(), &mut ids);
        assert_eq!(ids, expected);
    }

    #[test]
    fn windows_give_the_ids_of_the_whole_piece() {
        let mut random = Random(5);
        for round in 0..400 {
            let model = random_model(&mut random);
            let letters = 1 + round % 3;
            let length = SCAN_MAX + 1 + random.below(2000);
            let piece: Vec<u8> = (0..length).map(|_| b"abc"[random.below(letters)]).collect();
            assert_merged(&model, &piece);
        }
    }

    #[test]
    fn windows_of_runs_give_the_ids_of_the_whole_piece() {
        let mut random = Random(6);
        for _ in 0..600 {
            let length_max = 4 + random.below(300);
            let tokens: std::collections::BTreeSet<usize> =
                (0..1 + random.below(30)).map(|_| 2 + random.below(length_max)).collect();
            let mut tokens: Vec<String> = tokens.into_iter().map(|n| "a".repeat(n)).collect();
            for _ in 0..random.below(4) {
                let (one, other) = (random.below(tokens.len()), random.below(tokens.len()));
                tokens.swap(one, other);
            }
            let model = model_of(tokens.iter().map(String::as_str));
            let mut piece = vec![b'a'; SCAN_MAX + 1 + random.below(3000)];
            for _ in 0..random.below(3) {
                let at = random.below(piece.len());
                piece[at] = b'b';
            }
            assert_merged(&model, &piece);
        }
    }

    #[test]
    fn windows_of_repetitions_give_the_ids_of_the_whole_piece() {
        let mut random = Random(7);
        for _ in 0..600 {
            let model = random_model(&mut random);
            let mut piece = Vec::new();
            while piece.len() <= SCAN_MAX {
                let length = 1 + random.below(7);
                let unit: Vec<u8> = (0..length).map(|_| b"abc"[random.below(3)]).collect();
                piece.extend(unit.repeat(1 + random.below(400)));
            }
            assert_merged(&model, &piece);
        }
    }

    #[test]
    fn merges_tokens_longer_than_a_window() {
        let tokens: Vec<String> = (1..9).map(|power| "a".repeat(1 << power)).collect();
        let model = model_of(tokens.iter().map(String::as_str));
        for length in [129, 255, 256, 257, 1000, 5000] {
            assert_merged(&model, &vec![b'a'; length]);
            assert_merged(
                &model,
                &[vec![b'a'; length], vec![b'b'; 3], vec![b'a'; length]].concat(),
            );
        }
    }
}
