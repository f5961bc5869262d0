//! The longest prefix of a text that fits a token limit and ends at a border.
//!
//! For example, at most 8 ids of this text by cl100k, with borders between words:
//!
//! ```text
//! text      It  costs  ␣  12  ␣€  or  so  .  That  is  all.⏎ …
//! ids        1      2  3   4   5   6   7  8     9
//! segments  |---------------- too many ids ----------------|
//! full                                     ^  8 ids: position 22
//! borders                         |  |  |  |  |  |             tried from the right
//! result    It costs 12 € or so.
//! ```
//!
//! [`Fit::find_end`] counts segments up to the first one that exceeds the limit. Within it, the
//! border may lie on either side of the full position, because ids do not grow steadily with the
//! text. So the borders are tried from the first position that is certainly too long, downwards.

use std::ops::Range;

use super::run_counter::RunCounter;
use super::{BYTES_PER_ID, Border, CountedCut, FULL_SEARCH_BYTES, Fit, LONG_TEXT_BYTES};
use crate::encode::segments::{Segment, Segments};
use crate::sys::error::Error;
use crate::sys::interrupt;
use crate::sys::unicode::CHARACTER_BYTES_MAX;
use crate::vocab::Id;

impl Fit<'_> {
    /// Returns the end of the longest prefix that fits when it is encoded alone, and that ends at a
    /// border.
    ///
    /// If the text `is_partial`, more text may follow. The result is `None` if that text could
    /// change it.
    ///
    /// # Errors
    ///
    /// See [`crate::Tokenizer::encode`].
    pub fn find_end(&self, text: &[u8], is_partial: bool) -> Result<Option<usize>, Error> {
        self.find_end_within(text, is_partial, &mut (0..0))
    }

    /// Returns what [`Fit::find_end`] returns. `uncut` is a range of the text in which no safe cut
    /// lies, or empty; it becomes the range that this call has found. So the chunks of a run search
    /// each byte of it once.
    pub(super) fn find_end_within(
        &self,
        text: &[u8],
        is_partial: bool,
        uncut: &mut Range<usize>,
    ) -> Result<Option<usize>, Error> {
        let far = self.bytes_max(0).saturating_add(1);
        let (text, is_partial, is_far) = match text.get(..far) {
            Some(near) if text.len() > LONG_TEXT_BYTES => (near, true, true),
            _ => (text, is_partial, false),
        };
        let mut segments = self.tokenizer.segments(text, self.allowed, is_partial)?;
        if uncut.start == 0 {
            segments.skip_uncut(uncut.end);
        }
        let mut cuts = vec![CountedCut { at: 0, ids: 0 }];
        let too_long = loop {
            let before = *cuts.last().expect("the first cut is never removed");
            let Some(cut) = self.find_next_cut(text, &mut segments, before)? else { break None };
            if cut.ids > self.ids_max {
                break Some(cut.at);
            }
            cuts.push(cut);
        };
        *uncut = segments.uncut_range();
        match too_long {
            Some(end) => self.find_border_before(text, cuts, end).map(Some),
            None if is_far => self.find_border_before(text, cuts, far).map(Some),
            None => Ok((!is_partial).then_some(text.len())),
        }
    }

    /// Returns the next counted cut: behind ordinary text, or behind a special together with the
    /// ordinary text before it. It takes `segments` past it; `None` means that the text has ended.
    fn find_next_cut(
        &self,
        text: &[u8],
        segments: &mut Segments<'_>,
        before: CountedCut,
    ) -> Result<Option<CountedCut>, Error> {
        let mut ids = before.ids;
        while let Some(segment) = segments.next() {
            interrupt::poll()?;
            match segment {
                Segment::Ordinary(range) => ids += self.count(&text[range])?,
                Segment::Special(..) => ids += 1,
            }
            if !segments.is_before_special() {
                return Ok(Some(CountedCut { at: segments.next_start(), ids }));
            }
        }
        Ok(None)
    }

    /// Returns the last border before `end` up to which the text fits. The prefix up to `end` has
    /// too many ids.
    fn find_border_before(
        &self,
        text: &[u8],
        mut cuts: Vec<CountedCut>,
        end: usize,
    ) -> Result<usize, Error> {
        let last = *cuts.last().expect("there is a first cut");
        let (full, last) = self.find_full(text, last, end)?;
        let end_max = last.at.saturating_add(FULL_SEARCH_BYTES).max(full + self.tries_bytes());
        let end = match end_max <= end.min(self.end_max(last)) {
            // A safe cut behind `end_max` does not change the result, so it is not searched.
            true => {
                let near = text.len().min(end_max + CHARACTER_BYTES_MAX).min(end);
                self.find_first_too_long(text, last, full, near)?.unwrap_or(end_max)
            }
            false => match self.find_first_too_long(text, last, full, end)? {
                Some(end) => end,
                None => end.min(self.end_max(last)),
            },
        };
        let end = end.min(end_max);
        cuts.push(last);
        // The last counted cut is a border between characters, and the text up to it fits.
        let from = if self.border == Border::Character { last.at } else { 0 };
        let mut borders = self.border.find_in(self.tokenizer.splitter(), text, from..end)?;
        // In a long uncut range, only borders near the full position are tried.
        let near = borders.partition_point(|&at| at <= full);
        let mut tries = self.tries(full - last.at);
        if end - last.at > FULL_SEARCH_BYTES {
            borders.truncate(near.saturating_add(tries));
            tries *= 2;
        } else {
            tries = usize::MAX;
        }
        let mut counter = RunCounter::new(*self, &text[..end], false);
        counter.start_table_near(last.at, full)?;
        for &at in borders.iter().rev() {
            let cut = cuts[cuts.partition_point(|cut| cut.at <= at) - 1];
            if at > last.at {
                if tries == 0 {
                    continue;
                }
                tries -= 1;
            }
            if cut.ids + counter.count(cut.at..at)? <= self.ids_max {
                return Ok(at);
            }
        }
        Ok(0)
    }

    /// Returns the position behind `cut` at which the ids of the text reach the limit, and the last
    /// counted cut before that position.
    fn find_full(
        &self,
        text: &[u8],
        cut: CountedCut,
        end: usize,
    ) -> Result<(usize, CountedCut), Error> {
        let room = self.ids_max - cut.ids;
        let mut ids = Vec::new();
        // Of a long range, only a window of about `room` ids is encoded.
        let mut length = room.saturating_mul(BYTES_PER_ID).saturating_add(LONG_TEXT_BYTES);
        while ids.len() <= room {
            ids.clear();
            let part = &text[cut.at..end.min(cut.at.saturating_add(length))];
            self.tokenizer.encode(part, self.allowed, &mut ids)?;
            if part.len() < length {
                break;
            }
            length = length.saturating_mul(4);
        }
        let bytes = |id: &Id| self.tokenizer.token(*id).map_or(0, <[u8]>::len);
        let full = cut.at + ids[..room.min(ids.len())].iter().map(bytes).sum::<usize>();
        // A cut inside a special's name turns the name into ordinary text, so only safe cuts before
        // the first special count.
        let special = self.allowed.find(&text[..end], cut.at).map(|(range, _)| range.start);
        let ordinary = full.min(special.unwrap_or(full));
        let splitter = self.tokenizer.splitter();
        let Some(length) = splitter.last_safe_cut(&text[cut.at..ordinary]) else {
            return Ok((full, cut));
        };
        let (mut at, mut before) = (0, 0);
        while at < length {
            at += bytes(&ids[before]);
            before += 1;
        }
        Ok((full, CountedCut { at: cut.at + length, ids: cut.ids + before }))
    }

    /// Returns the position behind which no prefix fits: behind the cut, each id that is left has
    /// the bytes of the longest token.
    fn end_max(&self, cut: CountedCut) -> usize {
        cut.at.saturating_add(self.bytes_max(cut.ids)).saturating_add(1)
    }

    /// Returns the first safe cut in `full..end` up to which the text has too many ids.
    fn find_first_too_long(
        &self,
        text: &[u8],
        cut: CountedCut,
        full: usize,
        end: usize,
    ) -> Result<Option<usize>, Error> {
        let splitter = self.tokenizer.splitter();
        let special = self.allowed.find(&text[..end], cut.at).map(|(range, _)| range.start);
        let mut at = full;
        while let Some(length) = splitter.first_safe_cut(&text[at..special.unwrap_or(end).max(at)])
        {
            at += length;
            if cut.ids + self.count(&text[cut.at..at])? > self.ids_max {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
