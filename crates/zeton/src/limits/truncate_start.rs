//! The longest suffix of a text that fits a token limit, alone or behind a prefix.
//!
//! The prefix is the head of a text whose middle is cut out. For example, at most 8 ids by cl100k:
//!
//! ```text
//! text      It costs 12 € or so .  That  is  all .⏎  No  more  .
//! ids from the end          8     7   6    5    4   3     2  1
//! full                      ^ position 21
//! result                    . That is all.⏎No more.
//!
//! prefix    It  costs  ␣  12  ␣…  ␣               6 ids, and 8 ids joined with the result,
//! result    No more.                                because the blank merges with `No`
//! ```
//!
//! [`Fit::find_start`] is the mirror image of [`Fit::find_end`]. Counted cuts fall from the end of
//! the text, and their ids are the ids behind them. Two facts break the mirror:
//!
//! - specials are found from the left, so all specials of the text are located first;
//! - the prefix merges with the start of the suffix, so both are counted joined.

use std::ops::Range;

use super::run_counter::RunCounter;
use super::{BYTES_PER_ID, Border, CountedCut, FULL_SEARCH_BYTES, Fit, LONG_TEXT_BYTES};
use crate::encode::refuse_too_long;
use crate::sys::error::Error;
use crate::sys::interrupt;
use crate::vocab::Id;

/// Bytes of the first window that is searched for a safe cut: 4 KiB. Not measured; the window
/// doubles while it has none.
const WINDOW_BYTES: usize = 1 << 12;

impl Fit<'_> {
    /// Returns the start of the longest suffix that fits together with the prefix `before`, both
    /// encoded as one text, and that starts at a border.
    ///
    /// If the text `is_partial`, more text may precede it. The result is `None` if that text could
    /// change it.
    ///
    /// # Errors
    ///
    /// See [`crate::Tokenizer::encode`].
    pub fn find_start(
        &self,
        before: &[u8],
        text: &[u8],
        is_partial: bool,
    ) -> Result<Option<usize>, Error> {
        refuse_too_long(text)?;
        // The prefix is counted once, up to its last safe cut. With specials no cut is safe,
        // because a special could begin before it.
        let cut = match self.allowed.is_none() {
            true => self.tokenizer.splitter().last_safe_cut(before).unwrap_or(0),
            false => 0,
        };
        let prefix_ids = self.count(&before[..cut])?;
        let Some(room) = self.ids_max.checked_sub(prefix_ids) else { return Ok(Some(text.len())) };
        let (fit, before) = (Fit { ids_max: room, ..*self }, &before[cut..]);
        let far = fit.bytes_max(0).saturating_add(1);
        if text.len() > LONG_TEXT_BYTES.max(far) {
            let mut near = text.len() - far;
            while near > 0 && text[near] & 0xC0 == 0x80 {
                near -= 1; // The position may be inside a character.
            }
            let search = SuffixSearch { fit, before, whole: text, text: &text[near..] };
            return Ok(search.find_start(true, true)?.map(|start| near + start));
        }
        SuffixSearch { fit, before, whole: text, text }.find_start(is_partial, false)
    }
}

/// The search for a suffix that fits behind a prefix.
struct SuffixSearch<'a> {
    fit: Fit<'a>,
    /// The prefix, from its last safe cut on.
    before: &'a [u8],
    whole: &'a [u8],
    /// The end of `whole`, as far as it can matter.
    text: &'a [u8],
}

impl SuffixSearch<'_> {
    /// Searches the text from its end for the start of the longest suffix that fits. If it
    /// `is_far`, all of the text is known to be too long.
    fn find_start(&self, is_partial: bool, is_far: bool) -> Result<Option<usize>, Error> {
        let mut specials = Vec::new();
        let mut from = 0;
        while let Some((range, _)) = self.fit.allowed.find(self.text, from) {
            from = range.end;
            specials.push(range);
        }
        // The positions of the cuts fall.
        let mut cuts = vec![CountedCut { at: self.text.len(), ids: 0 }];
        loop {
            let next = *cuts.last().expect("the first cut is never removed");
            let Some(at) = self.find_cut_before(next.at, &mut specials, is_partial) else {
                break;
            };
            interrupt::poll()?;
            let ids = next.ids + self.fit.count(&self.text[at..next.at])?;
            if ids > self.fit.ids_max {
                return self.find_border_after(at, cuts).map(Some);
            }
            cuts.push(CountedCut { at, ids });
        }
        if is_far {
            return self.find_border_after(0, cuts).map(Some);
        }
        if is_partial {
            return Ok(None);
        }
        // The whole text fits alone, but maybe not behind the prefix.
        match self.before.is_empty() {
            true => Ok(Some(0)),
            false => self.find_border_after(0, cuts).map(Some),
        }
    }

    /// Returns a cut before byte `end`: a safe cut of the pattern, or the start of a special.
    /// Specials at `end` or behind it are removed from `specials`. `None` means that no cut is
    /// left.
    fn find_cut_before(
        &self,
        end: usize,
        specials: &mut Vec<Range<usize>>,
        is_partial: bool,
    ) -> Option<usize> {
        if end == 0 {
            return None;
        }
        while specials.last().is_some_and(|special| special.start >= end) {
            specials.pop();
        }
        let first = specials.last().map_or(0, |special| special.end);
        let mut bytes = WINDOW_BYTES;
        loop {
            let start = first.max(end.saturating_sub(bytes));
            let cut = self.fit.tokenizer.splitter().first_safe_cut(&self.text[start..end]);
            if let Some(cut) = cut {
                return Some(start + cut);
            }
            if start == first {
                break;
            }
            bytes = bytes.saturating_mul(2);
        }
        match specials.last() {
            Some(special) => Some(special.start),
            None => (!is_partial).then_some(0),
        }
    }

    /// Returns the first border after `start` from which on the text fits. From `start` itself on,
    /// the text is too long, or is not known to fit.
    fn find_border_after(&self, start: usize, mut cuts: Vec<CountedCut>) -> Result<usize, Error> {
        let next = *cuts.last().expect("there is a first cut");
        let (full, next) = self.find_full(start, next)?;
        let start = self.find_last_too_long(start, full, next)?;
        let near = next
            .at
            .saturating_sub(FULL_SEARCH_BYTES)
            .min(full.saturating_sub(self.fit.tries_bytes()));
        let start = start.max(near);
        cuts.push(next);
        let end = match self.fit.border {
            Border::Character if self.before.is_empty() => next.at,
            _ => self.text.len(),
        };
        let borders = self.find_borders(start..end + 1)?;
        // In a long uncut range, only borders near the full position are tried.
        let near = borders.partition_point(|&at| at < full);
        let mut tries = self.fit.tries(next.at - full);
        let mut first = 0;
        if next.at - start > FULL_SEARCH_BYTES {
            first = near.saturating_sub(tries);
            tries *= 2;
        } else {
            tries = usize::MAX;
        }
        let mut counter = RunCounter::new(self.fit, self.text, true);
        for &at in &borders[first..] {
            // Positions of cuts fall: the last one that is not before the border.
            let number = cuts.partition_point(|cut| cut.at > at);
            let cut = cuts[number.saturating_sub(1)];
            if at < next.at {
                if tries == 0 {
                    continue;
                }
                tries -= 1;
            }
            if self.count_from(&mut counter, at, cut)? <= self.fit.ids_max {
                return Ok(at);
            }
        }
        Ok(self.text.len())
    }

    /// Returns the borders of the text within a range of positions.
    ///
    /// The whole text is read, unless the borders are between characters or lines. Other borders
    /// depend on all text before them.
    fn find_borders(&self, range: Range<usize>) -> Result<Vec<usize>, Error> {
        let (border, splitter) = (self.fit.border, self.fit.tokenizer.splitter());
        if matches!(border, Border::Character | Border::Line) {
            return border.find_in(splitter, self.text, range);
        }
        let before = self.whole.len() - self.text.len();
        let range = before + range.start..before + range.end;
        let mut borders = border.find_in(splitter, self.whole, range)?;
        borders.iter_mut().for_each(|at| *at -= before);
        Ok(borders)
    }

    /// Returns the number of ids of the prefix joined with the text from `at` on. The text behind
    /// `cut` is counted already.
    fn count_from(
        &self,
        counter: &mut RunCounter<'_>,
        at: usize,
        cut: CountedCut,
    ) -> Result<usize, Error> {
        if self.before.is_empty() {
            return Ok(counter.count(at..cut.at)? + cut.ids);
        }
        // With specials, the joined text may hold a special anywhere.
        let (end, ids) = match self.fit.allowed.is_none() {
            true => (cut.at, cut.ids),
            false => (self.text.len(), 0),
        };
        Ok(self.fit.count(&[self.before, &self.text[at..end]].concat())? + ids)
    }

    /// Returns the position from which on the ids of the text reach the limit, and the first
    /// counted cut behind that position.
    fn find_full(&self, start: usize, cut: CountedCut) -> Result<(usize, CountedCut), Error> {
        let text = &self.text[start..cut.at];
        // The ids of the prefix are an estimate, because it may merge with the suffix.
        let counted = cut.ids + self.fit.count(self.before)?;
        let room = self.fit.ids_max.saturating_sub(counted);
        let mut ids = Vec::new();
        // Of a long range, only a window of about `room` ids is encoded.
        let mut length = room.saturating_mul(BYTES_PER_ID).saturating_add(LONG_TEXT_BYTES);
        while ids.len() <= room {
            ids.clear();
            let part = &text[text.len().saturating_sub(length)..];
            self.fit.tokenizer.encode(part, self.fit.allowed, &mut ids)?;
            if part.len() < length {
                break;
            }
            length = length.saturating_mul(4);
        }
        let bytes = |id: &Id| self.fit.tokenizer.token(*id).map_or(0, <[u8]>::len);
        let room = room.min(ids.len());
        let full = cut.at - ids[ids.len() - room..].iter().map(bytes).sum::<usize>();
        let splitter = self.fit.tokenizer.splitter();
        let has_special = self.fit.allowed.find(text, 0).is_some();
        let Some(length) =
            splitter.first_safe_cut(&self.text[full..cut.at]).filter(|_| !has_special)
        else {
            return Ok((full, cut));
        };
        let (mut at, mut after) = (cut.at, 0);
        while at > full + length {
            after += 1;
            at -= bytes(&ids[ids.len() - after]);
        }
        Ok((full, CountedCut { at, ids: cut.ids + after }))
    }

    /// Returns the last safe cut before `full` from which on the text has too many ids.
    fn find_last_too_long(
        &self,
        start: usize,
        full: usize,
        cut: CountedCut,
    ) -> Result<usize, Error> {
        let splitter = self.fit.tokenizer.splitter();
        let text = &self.text[start..full];
        if self.fit.allowed.find(&self.text[start..cut.at], 0).is_none() {
            let mut at = text.len();
            while let Some(earlier) = splitter.last_safe_cut(&text[..at]) {
                at = earlier;
                let suffix = &self.text[start + at..cut.at];
                if cut.ids + self.fit.count(suffix)? > self.fit.ids_max {
                    return Ok(start + at);
                }
            }
        }
        Ok(start.max(cut.at.saturating_sub(self.fit.bytes_max(cut.ids))))
    }
}
