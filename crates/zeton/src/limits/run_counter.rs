//! How many ids the beginnings, or the ends, of one long run have.
//!
//! A run without a place to cut is one long piece, as a rule, and to merge each of its beginnings anew
//! would take the square of its length. Ids are the merge of a piece if and only if every two neighbours
//! are the merge of their own bytes. So a beginning has the ids of a shorter one and one token more, and
//! of the tokens that end there just one fits its neighbour.

use std::collections::HashMap;
use std::ops::Range;

use super::Fit;
use crate::merge::{BpeModel, MergeBuffers, merge_bytes};
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::vocab::Id;

/// Bytes of a part, and of a piece, that are worth a table.
const LONG: usize = 512;

/// The parts of a text that begin, or else end, at the same place.
pub(super) struct Run<'a> {
    fit: Fit<'a>,
    text: &'a [u8],
    /// Whether they end there.
    to_end: bool,
    has_specials: bool,
    /// The long pieces, by where they begin, or end.
    tables: HashMap<usize, Table>,
    joints: Joints,
    scratch: Scratch,
}

impl<'a> Run<'a> {
    pub(super) fn new(fit: Fit<'a>, text: &'a [u8], to_end: bool) -> Self {
        let has_specials = fit.allowed.find(text, 0).is_some();
        let (tables, joints, scratch) = Default::default();
        Self { fit, text, to_end, has_specials, tables, joints, scratch }
    }

    /// Returns how many ids a part has by its own encoding.
    pub(super) fn count(&mut self, part: Range<usize>) -> Result<usize, Error> {
        if part.len() < LONG || self.has_specials {
            return self.fit.count(&self.text[part]);
        }
        let Self { fit, text, to_end, tables, joints, scratch, .. } = self;
        let model = fit.tokenizer.model();
        let (mut end, mut ids, mut count) = (part.start, Vec::new(), 0);
        fit.tokenizer.splitter().split(&text[part], |piece: &[u8]| {
            let start = end;
            end += piece.len();
            if piece.len() < LONG {
                ids.clear();
                scratch.merge(model, piece, &mut ids);
                count += ids.len();
            } else if model.vocab().find(piece).is_some() {
                count += 1;
            } else if *to_end {
                let table = tables.entry(end).or_default();
                count += table.of_end(model, &text[..end], start, joints) as usize;
            } else {
                let table = tables.entry(start).or_default();
                count += table.of_beginning(model, &text[start..], piece.len(), joints) as usize;
            }
        })?;
        Ok(count)
    }
}

/// The ids of all beginnings, or ends, of a piece: how many, and the one at the cut.
#[derive(Default)]
struct Table {
    rows: Vec<Option<(u32, Id)>>,
    /// How many are known.
    known: usize,
}

impl Table {
    /// Returns how many ids the first `length` bytes of a piece have.
    fn of_beginning(
        &mut self,
        model: &BpeModel,
        piece: &[u8],
        length: usize,
        joints: &mut Joints,
    ) -> u32 {
        while self.known < length {
            let at = self.known;
            let before = (at > 0).then(|| self.rows[at].expect("each beginning has its ids"));
            model.vocab().for_each_prefix(&piece[at..], |id, bytes| {
                let end = at + bytes;
                if self.rows.len() <= end {
                    self.rows.resize(end + 1, None);
                }
                let left = before.map(|(_, id)| id);
                if self.rows[end].is_none() && joints.hold(model, left, Some(id)) {
                    self.rows[end] = Some((before.map_or(0, |(count, _)| count) + 1, id));
                }
            });
            self.known += 1;
        }
        self.rows[length].expect("each beginning has its ids").0
    }

    /// Returns how many ids the end of a piece has that begins at `start`. Rows count from the end.
    fn of_end(&mut self, model: &BpeModel, piece: &[u8], start: usize, joints: &mut Joints) -> u32 {
        if self.rows.is_empty() {
            self.rows.push(None);
        }
        while self.known < piece.len() - start {
            let at = piece.len() - self.known - 1;
            let mut found = None;
            model.vocab().for_each_prefix(&piece[at..], |id, bytes| {
                let behind = self.known + 1 - bytes;
                let after = (behind > 0).then(|| self.rows[behind].expect("each end has its ids"));
                if found.is_none() && joints.hold(model, Some(id), after.map(|(_, id)| id)) {
                    found = Some((after.map_or(0, |(count, _)| count) + 1, id));
                }
            });
            self.rows.push(found);
            self.known += 1;
        }
        self.rows[piece.len() - start].expect("each end has its ids").0
    }
}

/// Which tokens may stand side by side in one piece; found once, for a run repeats itself.
#[derive(Default)]
struct Joints {
    known: HashMap<(Id, Id), bool, foldhash::fast::RandomState>,
    buffers: MergeBuffers,
    bytes: Vec<u8>,
    ids: Vec<Id>,
}

impl Joints {
    /// Returns whether the bytes of two neighbours, or of one token, merge to just these.
    fn hold(&mut self, model: &BpeModel, left: Option<Id>, right: Option<Id>) -> bool {
        let Self { known, buffers, bytes, ids } = self;
        let key = (left.unwrap_or(Id::MAX), right.unwrap_or(Id::MAX));
        *known.entry(key).or_insert_with(|| {
            bytes.clear();
            ids.clear();
            let both = left.into_iter().chain(right);
            both.clone().for_each(|id| bytes.extend(model.vocab().token(id).unwrap_or_default()));
            merge_bytes(model, bytes, buffers, ids);
            both.eq(ids.iter().copied())
        })
    }
}
