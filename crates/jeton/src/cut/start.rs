//! The longest end of a text that fits, also behind something else.

use std::ops::Range;

use super::{ASKED_BYTES, Anchor, Border, Fit, TRIED_BYTES_MAX};
use crate::encode::refuse_too_long;
use crate::error::Error;
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
        let cut = self.tokenizer.splitter().last_safe_cut(before).unwrap_or(0);
        let settled = self.count(&before[..cut])?;
        let Some(room) = self.ids_max.checked_sub(settled) else { return Ok(Some(text.len())) };
        let (fit, before) = (Fit { ids_max: room, ..*self }, &before[cut..]);
        let far = fit.bytes_max(0).saturating_add(1);
        if text.len() > ASKED_BYTES.max(far) {
            let near = text.len() - far;
            let start = Behind { fit, before, text: &text[near..] }.start(true, true)?;
            return Ok(start.map(|start| near + start));
        }
        Behind { fit, before, text }.start(goes_on, false)
    }
}

/// A text of which the end is to fit behind what stands before it.
struct Behind<'a> {
    fit: Fit<'a>,
    before: &'a [u8],
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
        anchors.push(next);
        let end = match self.fit.border {
            Border::Character if self.before.is_empty() => next.at,
            _ => self.text.len(),
        };
        let splitter = self.fit.tokenizer.splitter();
        let borders = self.fit.border.within(splitter, self.text, start..end + 1)?;
        // Of a long run without a place to cut, what is near the place where it is full.
        let near = borders.partition_point(|&at| at < full);
        let tries = TRIED_BYTES_MAX / (next.at - full).max(1);
        let mut left = 2 * TRIED_BYTES_MAX;
        for &at in &borders[near.saturating_sub(tries)..] {
            // Anchors fall: the last that is behind the place.
            let number = anchors.partition_point(|anchor| anchor.at > at);
            let anchor = anchors[number.saturating_sub(1)];
            let bytes = anchor.at - at + self.before.len();
            if bytes > left {
                continue;
            }
            left -= bytes;
            if anchor.ids + self.count_behind(at..anchor.at)? <= self.fit.ids_max {
                return Ok(at);
            }
        }
        Ok(self.text.len())
    }

    fn count_behind(&self, place: Range<usize>) -> Result<usize, Error> {
        match self.before.is_empty() {
            true => self.fit.count(&self.text[place]),
            false => self.fit.count(&[self.before, &self.text[place]].concat()),
        }
    }

    /// Returns where the ids from there to an anchor are as many as may be, and the first place after
    /// it that splits.
    fn where_full(&self, start: usize, anchor: Anchor) -> Result<(usize, Anchor), Error> {
        let text = &self.text[start..anchor.at];
        let mut ids = Vec::new();
        self.fit.tokenizer.encode(text, self.fit.allowed, &mut ids)?;
        let bytes = |id: &Id| self.fit.tokenizer.token(*id).map_or(0, <[u8]>::len);
        let room = self.fit.ids_max.saturating_sub(anchor.ids).min(ids.len());
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
