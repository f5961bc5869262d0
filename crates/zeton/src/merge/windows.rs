//! Long pieces, in time that grows with their length alone: window by window.
//!
//! Ids are the merge of a piece if, and only if, every two neighbours are the merge of their own
//! bytes: the first merge that crossed a border between ids would be a merge of those two alone. So
//! windows that overlap may be merged each for itself, many at once, and sewn together where an id
//! ends in both, if the two ids at that seam pass the test. A window with no such seam is merged anew at
//! twice its size, and the seam before it tested again; at the size of the piece it needs none.
//!
//! Two neighbours that are equal pass the test however often they are repeated: where a piece repeats
//! itself, so do its ids, and only both ends of that stretch are merged.

use std::collections::VecDeque;

use super::lockstep::Group;
use super::{BpeModel, MergeBuffers, merge_parts};
use crate::vocab::Id;

/// Bytes of a window, as many as a group takes, and from one to the next. In what they have in common
/// most pieces have a seam; where ids are longer than that, windows grow.
const SIZE: usize = 62;
const STEP: usize = 54;

/// Windows that are merged together.
const BATCH: usize = 8;

/// Seams that are tried before a larger window is merged.
const SEAMS_TRIED: usize = 3;

/// Appends the ids of a long piece.
pub(super) fn merge(model: &BpeModel, piece: &[u8], buffers: &mut MergeBuffers, ids: &mut Vec<Id>) {
    let mut seams = Seams { model, proved: (Id::MAX, Id::MAX), common: Vec::new(), buffers };
    let mut windows = VecDeque::new();
    let before = ids.len();
    let mut current = Window::of(model, 0, &[]);
    // The last window that was merged anew, which may come again.
    let mut grown: Option<Window> = None;
    while current.end() < piece.len() {
        current.repeat(piece, ids);
        while windows.front().is_some_and(|window: &Window| window.end() <= current.end()) {
            windows.pop_front();
        }
        let Some(window) = windows.pop_front() else {
            // The first window that ends after the current one, which it overlaps, and more.
            let first = (current.end() + 1).saturating_sub(SIZE).div_ceil(STEP) * STEP;
            let starts: Vec<usize> = (first..piece.len()).step_by(STEP).take(BATCH).collect();
            merge_windows(model, piece, &starts, seams.buffers, &mut windows);
            continue;
        };
        if current.ids.is_empty() {
            current = window;
            continue;
        }
        if let Some((left, right)) = seams.find(&current, &window) {
            ids.extend_from_slice(&current.ids[..left]);
            current = window.after(right);
            continue;
        }
        // What was needed before is needed again, most likely.
        let needed = grown.as_ref().map_or(SIZE, |grown| grown.end() - grown.start);
        let size = (2 * (current.end() - current.start)).max(needed);
        let end = piece.len().min(current.start + size);
        let mut start = current.start;
        loop {
            let bytes = &piece[start..end];
            let known = grown.take().filter(|grown| &piece[grown.start..grown.end()] == bytes);
            current = match known {
                Some(grown) => grown.moved(start),
                None => Window::of(model, start, merged(model, bytes, seams.buffers)),
            };
            // Its first id may be another now, and the seam before it none: then it begins earlier.
            match ids[before..].last() {
                Some(&last) if !seams.apart(last, current.ids[0]) => {
                    let size = end - start;
                    while end - start < 2 * size && ids.len() > before {
                        let last = ids.pop().expect("there is one");
                        start -= model.vocab().token_len(last);
                    }
                }
                _ => break,
            }
        }
        grown = Some(current.moved(current.start));
    }
    ids.extend_from_slice(&current.ids);
}

/// A stretch of a piece that is merged for itself.
#[derive(Default)]
struct Window {
    start: usize,
    ids: Vec<Id>,
    /// Where each id ends in the piece.
    ends: Vec<usize>,
}

impl Window {
    fn of(model: &BpeModel, start: usize, ids: &[Id]) -> Self {
        let mut end = start;
        let after = |&id: &Id| {
            end += model.vocab().token_len(id);
            end
        };
        Self { start, ids: ids.to_vec(), ends: ids.iter().map(after).collect() }
    }

    fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(self.start)
    }

    /// Where the id of this number begins.
    fn start_of(&self, number: usize) -> usize {
        if number == 0 { self.start } else { self.ends[number - 1] }
    }

    /// The same elsewhere.
    fn moved(&self, start: usize) -> Self {
        let ends = self.ends.iter().map(|end| end - self.start + start).collect();
        Self { start, ids: self.ids.clone(), ends }
    }

    /// Hands over its ids up to two that are equal, and that one as often as the piece repeats it beyond
    /// the end of the window, if it does; then it is what is left, at the end of that stretch.
    fn repeat(&mut self, piece: &[u8], ids: &mut Vec<Id>) {
        let Some(first) = self.ids.windows(2).rposition(|pair| pair[0] == pair[1]) else {
            return;
        };
        let (start, end) = (self.start_of(first), self.end());
        let length = self.ends[first] - start;
        if piece[start..end - length] != piece[start + length..end] {
            return;
        }
        let again = piece[end - length..].iter().zip(&piece[end..]);
        let count = again.take_while(|(one, two)| one == two).count() / length;
        if count > 0 {
            ids.extend_from_slice(&self.ids[..=first]);
            ids.extend(std::iter::repeat_n(self.ids[first], count));
            let rest = std::mem::take(self).after(first + 1);
            *self = rest.moved(rest.start + count * length);
        }
    }

    /// What is left after so many ids.
    fn after(mut self, count: usize) -> Self {
        self.start = self.start_of(count);
        self.ids.drain(..count);
        self.ends.drain(..count);
        self
    }
}

/// Merges the windows that begin at these places.
fn merge_windows(
    model: &BpeModel,
    piece: &[u8],
    starts: &[usize],
    buffers: &mut MergeBuffers,
    windows: &mut VecDeque<Window>,
) {
    let bytes = |start: usize| &piece[start..piece.len().min(start + SIZE)];
    let Some(pairs) = model.pairs().narrow() else {
        let of = |&start: &usize| Window::of(model, start, merged(model, bytes(start), buffers));
        return windows.extend(starts.iter().map(of));
    };
    let mut group = Group::<64>::default();
    // Where a text repeats itself, one window stands for all that have its bytes.
    let mut equal_to = [0; BATCH];
    for (number, &start) in starts.iter().enumerate() {
        equal_to[number] = match number {
            1.. if bytes(start) == bytes(starts[number - 1]) => equal_to[number - 1],
            _ => number,
        };
        if equal_to[number] == number {
            assert!(group.put(start, model, bytes(start)), "there are no more parts than bytes");
        }
    }
    let first = windows.len();
    let mut merged = VecDeque::new();
    group.settle(pairs, |start, row| merged.push_back(Window::of(model, start, row.ids())));
    for (number, &start) in starts.iter().enumerate() {
        windows.push_back(match equal_to[number] == number {
            true => merged.pop_front().expect("each was merged"),
            false => windows[first + equal_to[number]].moved(start),
        });
    }
}

fn merged<'s>(model: &BpeModel, bytes: &[u8], buffers: &'s mut MergeBuffers) -> &'s [Id] {
    merge_parts(model.pairs(), bytes.iter().map(|&byte| model.vocab().byte(byte)), buffers)
}

/// Tells which neighbours are the merge of their own bytes.
struct Seams<'a> {
    model: &'a BpeModel,
    /// The last two that were.
    proved: (Id, Id),
    /// Room for where an id ends in both windows.
    common: Vec<(usize, usize)>,
    buffers: &'a mut MergeBuffers,
}

impl Seams<'_> {
    /// Returns how many ids of the current window, and of the next, lie before a seam.
    ///
    /// Where an id ends in both, and the one after it is the same, the two at that seam are neighbours in
    /// the current window and need no test: nearly always there is such a place.
    fn find(&mut self, current: &Window, next: &Window) -> Option<(usize, usize)> {
        self.common.clear();
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
                self.common.push((left, right));
            }
        }
        // Neither the end of the one window nor the start of the other is to be trusted.
        let middle = usize::midpoint(next.start, current.end());
        for _ in 0..SEAMS_TRIED {
            let far = |&(left, _): &(usize, usize)| current.ends[left - 1].abs_diff(middle);
            let nearest = (0..self.common.len()).min_by_key(|&at| far(&self.common[at]))?;
            let (left, right) = self.common.swap_remove(nearest);
            if self.apart(current.ids[left - 1], next.ids[right]) {
                return Some((left, right));
            }
        }
        None
    }

    /// Returns whether two ids are the merge of their own bytes.
    fn apart(&mut self, left: Id, right: Id) -> bool {
        if (left, right) == self.proved {
            return true;
        }
        let token = |id: Id| self.model.vocab().token(id).expect("merging yields tokens");
        let bytes =
            token(left).iter().chain(token(right)).map(|&byte| self.model.vocab().byte(byte));
        let apart = merge_parts(self.model.pairs(), bytes, self.buffers) == [left, right];
        if apart {
            self.proved = (left, right);
        }
        apart
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SCAN_MAX, heap, tests::random_model};
    use super::*;
    use crate::testing::{Random, model_of};

    fn assert_merged(model: &BpeModel, piece: &[u8]) {
        let mut expected: Vec<Id> = piece.iter().map(|&byte| model.vocab().byte(byte)).collect();
        heap::Heap::default().merge(model.pairs(), &mut expected);
        let mut ids = Vec::new();
        merge(model, piece, &mut MergeBuffers::default(), &mut ids);
        assert_eq!(ids, expected);
    }

    #[test]
    fn windows_merge_as_the_whole_piece_does() {
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
    fn runs_merge_as_the_whole_piece_does() {
        let mut random = Random(6);
        for _ in 0..600 {
            let longest = 4 + random.below(300);
            let tokens: std::collections::BTreeSet<usize> =
                (0..1 + random.below(30)).map(|_| 2 + random.below(longest)).collect();
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
    fn what_repeats_itself_merges_as_the_whole_piece_does() {
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
    fn tokens_may_be_longer_than_windows() {
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
