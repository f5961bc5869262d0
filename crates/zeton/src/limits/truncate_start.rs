//! The longest end of a text that fits, also behind something else.

use std::ops::Range;

use super::run_counter::Run;
use super::{ASKED_BYTES, Anchor, BYTES_PER_ID, Border, Fit, TRIED_ALL};
use crate::encode::refuse_too_long;
use crate::sys::error::Error;
use crate::vocab::Id;

/// Bytes that the next place to cut is looked for in, first.
const BYTES: usize = 1 << 12;

impl Fit<'_> {
    /// Returns where the longest end begins that fits, together with what stands `before` it, by their
    /// own encoding, and begins at a border.
    ///
    /// None if the text `goes_on`, here before its beginning, and what there is of it does not tell.
    ///
    /// # Errors
    ///
    /// As [`crate::Tokenizer::encode`].
    pub fn start(&self, before: &[u8], text: &[u8], goes_on: bool) -> Result<Option<usize>, Error> {
        refuse_too_long(text)?;
        // What is before is counted once, up to where it is cut in any case; with specials, nowhere.
        let cut = match self.allowed.is_none() {
            true => self.tokenizer.splitter().last_safe_cut(before).unwrap_or(0),
            false => 0,
        };
        let settled = self.count(&before[..cut])?;
        let Some(room) = self.ids_max.checked_sub(settled) else { return Ok(Some(text.len())) };
        let (fit, before) = (Fit { ids_max: room, ..*self }, &before[cut..]);
        let far = fit.bytes_max(0).saturating_add(1);
        if text.len() > ASKED_BYTES.max(far) {
            let mut near = text.len() - far;
            while near > 0 && text[near] & 0xC0 == 0x80 {
                near -= 1; // It may be inside a character.
            }
            let behind = Behind { fit, before, whole: text, text: &text[near..] };
            return Ok(behind.start(true, true)?.map(|start| near + start));
        }
        Behind { fit, before, whole: text, text }.start(goes_on, false)
    }
}

/// A text of which the end is to fit behind what stands before it.
struct Behind<'a> {
    fit: Fit<'a>,
    before: &'a [u8],
    whole: &'a [u8],
    /// Its end, as far as that may matter.
    text: &'a [u8],
}

impl Behind<'_> {
    /// `is_far` says that all of the text is certainly too long.
    fn start(&self, goes_on: bool, is_far: bool) -> Result<Option<usize>, Error> {
        let mut specials = Vec::new();
        let mut from = 0;
        while let Some((place, _)) = self.fit.allowed.find(self.text, from) {
            from = place.end;
            specials.push(place);
        }
        // By falling place.
        let mut anchors = vec![Anchor { at: self.text.len(), ids: 0 }];
        loop {
            let next = *anchors.last().expect("the first is never taken away");
            let Some(at) = self.anchor_before(next.at, &mut specials, goes_on) else {
                break;
            };
            let ids = next.ids + self.fit.count(&self.text[at..next.at])?;
            if ids > self.fit.ids_max {
                return self.start_after(at, anchors).map(Some);
            }
            anchors.push(Anchor { at, ids });
        }
        if is_far {
            return self.start_after(0, anchors).map(Some);
        }
        if goes_on {
            return Ok(None);
        }
        // All of it fits, or does not behind what is before it.
        match self.before.is_empty() {
            true => Ok(Some(0)),
            false => self.start_after(0, anchors).map(Some),
        }
    }

    /// Returns a place before `end` that splits: one where the pattern cuts, or before a special.
    fn anchor_before(
        &self,
        end: usize,
        specials: &mut Vec<Range<usize>>,
        goes_on: bool,
    ) -> Option<usize> {
        if end == 0 {
            return None;
        }
        while specials.last().is_some_and(|special| special.start >= end) {
            specials.pop();
        }
        let first = specials.last().map_or(0, |special| special.end);
        let mut bytes = BYTES;
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
            None => (!goes_on).then_some(0),
        }
    }

    /// Returns the first border after `start`, from where on the text is too long, or not known to fit,
    /// at which it fits.
    fn start_after(&self, start: usize, mut anchors: Vec<Anchor>) -> Result<usize, Error> {
        let next = *anchors.last().expect("there is a first");
        let (full, next) = self.where_full(start, next)?;
        let start = self.last_too_long(start, full, next)?;
        let near =
            next.at.saturating_sub(TRIED_ALL).min(full.saturating_sub(self.fit.tries_bytes()));
        let start = start.max(near);
        anchors.push(next);
        let end = match self.fit.border {
            Border::Character if self.before.is_empty() => next.at,
            _ => self.text.len(),
        };
        let borders = self.borders(start..end + 1)?;
        // Of a long run without a place to cut, what is near the place where it is full.
        let near = borders.partition_point(|&at| at < full);
        let mut tries = self.fit.tries(next.at - full);
        let mut first = 0;
        if next.at - start > TRIED_ALL {
            first = near.saturating_sub(tries);
            tries *= 2;
        } else {
            tries = usize::MAX;
        }
        let mut run = Run::new(self.fit, self.text, true);
        for &at in &borders[first..] {
            // Anchors fall: the last that is behind the place.
            let number = anchors.partition_point(|anchor| anchor.at > at);
            let anchor = anchors[number.saturating_sub(1)];
            if at < next.at {
                if tries == 0 {
                    continue;
                }
                tries -= 1;
            }
            if self.count_behind(&mut run, at, anchor)? <= self.fit.ids_max {
                return Ok(at);
            }
        }
        Ok(self.text.len())
    }

    /// Returns the borders of the text in some places. But between characters and lines, they depend on
    /// all text before.
    fn borders(&self, places: Range<usize>) -> Result<Vec<usize>, Error> {
        let (border, splitter) = (self.fit.border, self.fit.tokenizer.splitter());
        if matches!(border, Border::Character | Border::Line) {
            return border.within(splitter, self.text, places);
        }
        let before = self.whole.len() - self.text.len();
        let places = before + places.start..before + places.end;
        let mut borders = border.within(splitter, self.whole, places)?;
        borders.iter_mut().for_each(|at| *at -= before);
        Ok(borders)
    }

    /// Returns how many ids there are if the text begins at `at`, with what stands before it.
    fn count_behind(&self, run: &mut Run<'_>, at: usize, anchor: Anchor) -> Result<usize, Error> {
        if self.before.is_empty() {
            return Ok(run.count(at..anchor.at)? + anchor.ids);
        }
        // With specials, what is joined may be one, anywhere.
        let (end, ids) = match self.fit.allowed.is_none() {
            true => (anchor.at, anchor.ids),
            false => (self.text.len(), 0),
        };
        Ok(self.fit.count(&[self.before, &self.text[at..end]].concat())? + ids)
    }

    /// Returns where the ids from there to an anchor are as many as may be, and the first place after
    /// it that splits.
    fn where_full(&self, start: usize, anchor: Anchor) -> Result<(usize, Anchor), Error> {
        let text = &self.text[start..anchor.at];
        // What stands before takes some of the room, about.
        let taken = anchor.ids + self.fit.count(self.before)?;
        let room = self.fit.ids_max.saturating_sub(taken);
        let mut ids = Vec::new();
        // Of a long run, no more than has so many ids.
        let mut length = room.saturating_mul(BYTES_PER_ID).saturating_add(ASKED_BYTES);
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
        let full = anchor.at - ids[ids.len() - room..].iter().map(bytes).sum::<usize>();
        let splitter = self.fit.tokenizer.splitter();
        let has_special = self.fit.allowed.find(text, 0).is_some();
        let Some(cut) =
            splitter.first_safe_cut(&self.text[full..anchor.at]).filter(|_| !has_special)
        else {
            return Ok((full, anchor));
        };
        let (mut at, mut after) = (anchor.at, 0);
        while at > full + cut {
            after += 1;
            at -= bytes(&ids[ids.len() - after]);
        }
        Ok((full, Anchor { at, ids: anchor.ids + after }))
    }

    /// Returns the last place before `full` where the pattern cuts and there are too many ids.
    fn last_too_long(&self, start: usize, full: usize, anchor: Anchor) -> Result<usize, Error> {
        let splitter = self.fit.tokenizer.splitter();
        let text = &self.text[start..full];
        if self.fit.allowed.find(&self.text[start..anchor.at], 0).is_none() {
            let mut at = text.len();
            while let Some(cut) = splitter.last_safe_cut(&text[..at]) {
                at = cut;
                let behind = &self.text[start + at..anchor.at];
                if anchor.ids + self.fit.count(behind)? > self.fit.ids_max {
                    return Ok(start + at);
                }
            }
        }
        Ok(start.max(anchor.at.saturating_sub(self.fit.bytes_max(anchor.ids))))
    }
}
