//! The longest beginning of a text that fits.

use super::run_counter::Run;
use super::{ASKED_BYTES, Anchor, BYTES_PER_ID, Border, Fit, TRIED_ALL};
use crate::encode::segments::{Segment, Segments};
use crate::sys::error::Error;
use crate::vocab::Id;

impl Fit<'_> {
    /// Returns where the longest beginning ends that fits, by its own encoding, and ends at a border.
    ///
    /// None if the text `goes_on` and what there is of it does not tell.
    ///
    /// # Errors
    ///
    /// As [`crate::Tokenizer::encode`].
    pub fn end(&self, text: &[u8], goes_on: bool) -> Result<Option<usize>, Error> {
        let far = self.bytes_max(0).saturating_add(1);
        let (text, goes_on, is_far) = match text.get(..far) {
            Some(near) if text.len() > ASKED_BYTES => (near, true, true),
            _ => (text, goes_on, false),
        };
        let mut segments = self.tokenizer.segments(text, self.allowed, goes_on)?;
        let mut anchors = vec![Anchor { at: 0, ids: 0 }];
        let full = loop {
            let before = *anchors.last().expect("the first is never taken away");
            let Some(anchor) = self.next_anchor(text, &mut segments, before)? else { break None };
            if anchor.ids > self.ids_max {
                break Some(anchor.at);
            }
            anchors.push(anchor);
        };
        match full {
            Some(end) => self.end_before(text, anchors, end).map(Some),
            None if is_far => self.end_before(text, anchors, far).map(Some),
            None => Ok((!goes_on).then_some(text.len())),
        }
    }

    /// Goes on to the next place that splits: a special with what is before it, or ordinary text.
    fn next_anchor(
        &self,
        text: &[u8],
        segments: &mut Segments<'_>,
        before: Anchor,
    ) -> Result<Option<Anchor>, Error> {
        let mut ids = before.ids;
        while let Some(segment) = segments.next() {
            match segment {
                Segment::Ordinary(place) => ids += self.count(&text[place])?,
                Segment::Special(..) => ids += 1,
            }
            if !segments.is_before_special() {
                return Ok(Some(Anchor { at: segments.next_start(), ids }));
            }
        }
        Ok(None)
    }

    /// The same among beginnings that are shorter than `end`, where there are too many ids.
    fn end_before(
        &self,
        text: &[u8],
        mut anchors: Vec<Anchor>,
        end: usize,
    ) -> Result<usize, Error> {
        let last = *anchors.last().expect("there is a first");
        let (full, last) = self.where_full(text, last, end)?;
        let end = self.first_too_long(text, last, full, end)?;
        let end = end.min(last.at.saturating_add(TRIED_ALL).max(full + self.tries_bytes()));
        anchors.push(last);
        // The last anchor is a border between characters, and fits.
        let from = if self.border == Border::Character { last.at } else { 0 };
        let mut borders = self.border.within(self.tokenizer.splitter(), text, from..end)?;
        // Of a long run without a place to cut, what is near the place where it is full.
        let near = borders.partition_point(|&at| at <= full);
        let mut tries = self.tries(full - last.at);
        if end - last.at > TRIED_ALL {
            borders.truncate(near.saturating_add(tries));
            tries *= 2;
        } else {
            tries = usize::MAX;
        }
        let mut run = Run::new(*self, &text[..end], false);
        for &at in borders.iter().rev() {
            let anchor = anchors[anchors.partition_point(|anchor| anchor.at <= at) - 1];
            if at > last.at {
                if tries == 0 {
                    continue;
                }
                tries -= 1;
            }
            if anchor.ids + run.count(anchor.at..at)? <= self.ids_max {
                return Ok(at);
            }
        }
        Ok(0)
    }

    /// Returns where the ids from an anchor on are as many as may be, and the last place before it
    /// that splits.
    fn where_full(
        &self,
        text: &[u8],
        anchor: Anchor,
        end: usize,
    ) -> Result<(usize, Anchor), Error> {
        let room = self.ids_max - anchor.ids;
        let mut ids = Vec::new();
        // Of a long run, no more than has so many ids.
        let mut length = room.saturating_mul(BYTES_PER_ID).saturating_add(ASKED_BYTES);
        while ids.len() <= room {
            ids.clear();
            let part = &text[anchor.at..end.min(anchor.at.saturating_add(length))];
            self.tokenizer.encode(part, self.allowed, &mut ids)?;
            if part.len() < length {
                break;
            }
            length = length.saturating_mul(4);
        }
        let bytes = |id: &Id| self.tokenizer.token(*id).map_or(0, <[u8]>::len);
        let full = anchor.at + ids[..room.min(ids.len())].iter().map(bytes).sum::<usize>();
        // A special's name may be cut; what is before it is then other text.
        let special = self.allowed.find(&text[..end], anchor.at).map(|(place, _)| place.start);
        let ordinary = full.min(special.unwrap_or(full));
        let splitter = self.tokenizer.splitter();
        let Some(cut) = splitter.last_safe_cut(&text[anchor.at..ordinary]) else {
            return Ok((full, anchor));
        };
        let (mut at, mut before) = (0, 0);
        while at < cut {
            at += bytes(&ids[before]);
            before += 1;
        }
        Ok((full, Anchor { at: anchor.at + cut, ids: anchor.ids + before }))
    }

    /// Returns the first place after `full` where the pattern cuts and there are too many ids.
    fn first_too_long(
        &self,
        text: &[u8],
        anchor: Anchor,
        full: usize,
        end: usize,
    ) -> Result<usize, Error> {
        let splitter = self.tokenizer.splitter();
        let special = self.allowed.find(&text[..end], anchor.at).map(|(place, _)| place.start);
        let mut at = full;
        while let Some(cut) = splitter.first_safe_cut(&text[at..special.unwrap_or(end).max(at)]) {
            at += cut;
            if anchor.ids + self.count(&text[anchor.at..at])? > self.ids_max {
                return Ok(at);
            }
        }
        Ok(end.min(anchor.at.saturating_add(self.bytes_max(anchor.ids)).saturating_add(1)))
    }
}
