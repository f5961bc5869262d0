//! The number of ids of every prefix, or every suffix, of one long piece, in linear time.
//!
//! A range without any safe cut is mostly one long piece. Merging each of its prefixes anew would
//! take the square of its length: minutes for a megabyte of one letter, which takes 0.8 s with a
//! table from the start of each range, and 0.1 s with one that begins near the limit.
//!
//! Ids are the merge of a piece if and only if every two adjacent ids are the merge of their own
//! bytes. So the ids of a prefix are the ids of a shorter prefix and one token more. Of the tokens
//! that end at the prefix' end, exactly one can be the neighbour of the token before it.
//!
//! For example, the tokens `aa` and `aaaa` and the piece `aaaaaaaaa`:
//!
//! ```text
//! prefix length   1   2    3    4      5       6        7         8           9
//! ids             1   1    2    1      2       2        3         2           3
//! last token      a   aa   a    aaaa   a       aa       a         aaaa        a
//! shorter prefix  -   -    2    -      4       4        6         4           8
//! ```
//!
//! `RunCounter` is used by the searches for the longest prefix and the longest suffix.

use std::collections::HashMap;
use std::ops::Range;

use super::Fit;
use crate::merge::{BpeModel, MergeBuffers, merge_bytes};
use crate::piece_cache::Scratch;
use crate::sys::error::Error;
use crate::vocab::Id;

/// Bytes of a range, and of a piece, from which on a table is built. Not measured; a
/// shorter piece is merged anew.
const TABLE_BYTES_MIN: usize = 512;

/// Counts the ids of many ranges that share their start, or share their end.
pub(super) struct RunCounter<'a> {
    fit: Fit<'a>,
    text: &'a [u8],
    /// Whether the ranges share their end.
    share_end: bool,
    has_specials: bool,
    /// The tables of the long pieces, by the shared start or end of the piece.
    tables: HashMap<usize, RunTable>,
    neighbours: NeighbourCache,
    scratch: Scratch,
    /// A range of the text whose prefixes are one piece each, if it is not empty.
    single: Range<usize>,
    /// The table of the prefixes of `single` that end near the limit.
    near: Option<NearTable>,
}

impl<'a> RunCounter<'a> {
    pub(super) fn new(fit: Fit<'a>, text: &'a [u8], share_end: bool) -> Self {
        let has_specials = fit.allowed.find(text, 0).is_some();
        let (tables, neighbours, scratch) = Default::default();
        let (single, near) = (0..0, None);
        Self { fit, text, share_end, has_specials, tables, neighbours, scratch, single, near }
    }

    /// Prepares the counter for ranges that start at `start` and end near `full`. If each such
    /// range is one piece, its ids are looked up in a table that begins shortly before `full`,
    /// because the ids far before the end of a range are the ids of a longer one.
    pub(super) fn start_table_near(&mut self, start: usize, full: usize) -> Result<(), Error> {
        let Self { fit, text, has_specials, .. } = self;
        if *has_specials || full - start < TABLE_BYTES_MIN {
            return Ok(());
        }
        let run = &text[start..];
        let single = fit.tokenizer.splitter().find_single_piece(run, run.len()).alone;
        self.single = start..start + single;
        if single < full - start {
            return Ok(());
        }
        let model = fit.tokenizer.model();
        let mut ids = Vec::new();
        merge_bytes(model, &run[..single], &mut self.neighbours.buffers, &mut ids);
        let (mut seed, mut count) = (0, 0);
        let seed_max = (full - start).saturating_sub(2 * fit.tokenizer.token_bytes_max());
        for id in &ids {
            let next = seed + model.vocab().token(*id).map_or(0, <[u8]>::len);
            if next > seed_max {
                break;
            }
            (seed, count) = (next, count + 1);
        }
        if count > 0 {
            let row = Some((count as u32, ids[count - 1]));
            self.near = Some(NearTable { seed, rows: vec![row], processed: 0 });
        }
        Ok(())
    }

    /// Returns the number of ids of a range of the text when it is encoded alone.
    pub(super) fn count(&mut self, range: Range<usize>) -> Result<usize, Error> {
        if range.len() < TABLE_BYTES_MIN || self.has_specials {
            return self.fit.count(&self.text[range]);
        }
        let Self { fit, text, share_end, tables, neighbours, scratch, near, single, .. } = self;
        let model = fit.tokenizer.model();
        if single.start == range.start
            && range.end <= single.end
            && range.len() > fit.tokenizer.token_bytes_max()
            && let Some(near) = near
            && let Some(count) =
                near.count_prefix(model, &text[single.clone()], range.len(), neighbours)
        {
            return Ok(count as usize);
        }
        let (mut end, mut ids, mut count) = (range.start, Vec::new(), 0);
        fit.tokenizer.splitter().split(&text[range], |piece: &[u8]| {
            let start = end;
            end += piece.len();
            if piece.len() < TABLE_BYTES_MIN {
                ids.clear();
                scratch.merge(model, piece, &mut ids);
                count += ids.len();
            } else if piece.len() <= fit.tokenizer.token_bytes_max()
                && model.vocab().find(piece).is_some()
            {
                count += 1;
            } else if *share_end {
                let table = tables.entry(end).or_default();
                count += table.count_suffix(model, &text[..end], start, neighbours) as usize;
            } else {
                let table = tables.entry(start).or_default();
                let piece_start = &text[start..];
                count += table.count_prefix(model, piece_start, piece.len(), neighbours) as usize;
            }
        })?;
        Ok(count)
    }
}

/// The ids of all prefixes, or of all suffixes, of a piece.
///
/// Row n has the number of ids of n bytes, and the id at the end that is not shared.
#[derive(Default)]
struct RunTable {
    rows: Vec<Option<(u32, Id)>>,
    /// The number of bytes whose tokens have been entered.
    processed: usize,
}

impl RunTable {
    /// Returns the number of ids of the first `length` bytes of a piece. It extends the counter's
    /// table to that length, so later calls for the piece only read it.
    fn count_prefix(
        &mut self,
        model: &BpeModel,
        piece: &[u8],
        length: usize,
        neighbours: &mut NeighbourCache,
    ) -> u32 {
        while self.processed < length {
            let at = self.processed;
            let before = (at > 0).then(|| self.rows[at].expect("each prefix has its ids"));
            model.vocab().for_each_prefix(&piece[at..], |id, bytes| {
                let end = at + bytes;
                if self.rows.len() <= end {
                    self.rows.resize(end + 1, None);
                }
                let left = before.map(|(_, id)| id);
                if self.rows[end].is_none() && neighbours.can_join(model, left, Some(id)) {
                    self.rows[end] = Some((before.map_or(0, |(count, _)| count) + 1, id));
                }
            });
            self.processed += 1;
        }
        self.rows[length].expect("each prefix has its ids").0
    }

    /// Returns the number of ids of a piece from byte `start` on, when these bytes are encoded
    /// alone. It extends the counter's table to that length; its rows count from the piece's end.
    fn count_suffix(
        &mut self,
        model: &BpeModel,
        piece: &[u8],
        start: usize,
        neighbours: &mut NeighbourCache,
    ) -> u32 {
        if self.rows.is_empty() {
            self.rows.push(None);
        }
        while self.processed < piece.len() - start {
            let at = piece.len() - self.processed - 1;
            let mut found = None;
            model.vocab().for_each_prefix(&piece[at..], |id, bytes| {
                let rest = self.processed + 1 - bytes;
                let after = (rest > 0).then(|| self.rows[rest].expect("each suffix has its ids"));
                let right = after.map(|(_, id)| id);
                if found.is_none() && neighbours.can_join(model, Some(id), right) {
                    found = Some((after.map_or(0, |(count, _)| count) + 1, id));
                }
            });
            self.rows.push(found);
            self.processed += 1;
        }
        self.rows[piece.len() - start].expect("each suffix has its ids").0
    }
}

/// The ids of the prefixes of a piece that have a token border at the byte `seed`.
///
/// Row n has the number of ids of the first `seed + n` bytes, and the last id. The ids up to the
/// seed are the ids of a longer prefix. If ids of the rest can follow them, all are the merge of
/// the prefix, because every two adjacent ids are the merge of their own bytes.
struct NearTable {
    seed: usize,
    rows: Vec<Option<(u32, Id)>>,
    /// The number of bytes behind the seed whose tokens have been entered.
    processed: usize,
}

impl NearTable {
    /// Returns the number of ids of the first `length` bytes of a piece. `None` if the prefix has
    /// no token border at the seed, or ends before it.
    fn count_prefix(
        &mut self,
        model: &BpeModel,
        piece: &[u8],
        length: usize,
        neighbours: &mut NeighbourCache,
    ) -> Option<u32> {
        let wanted = length.checked_sub(self.seed)?;
        while self.processed < wanted {
            let at = self.processed;
            self.processed += 1;
            let Some((count, left)) = self.rows.get(at).copied().flatten() else { continue };
            model.vocab().for_each_prefix(&piece[self.seed + at..], |id, bytes| {
                let end = at + bytes;
                if self.rows.len() <= end {
                    self.rows.resize(end + 1, None);
                }
                if self.rows[end].is_none() && neighbours.can_join(model, Some(left), Some(id)) {
                    self.rows[end] = Some((count + 1, id));
                }
            });
        }
        self.rows.get(wanted).copied().flatten().map(|(count, _)| count)
    }
}

/// A cache of the pairs of tokens that can be neighbours in one piece. A long piece repeats itself,
/// so it has few distinct pairs.
#[derive(Default)]
struct NeighbourCache {
    known: HashMap<(Id, Id), bool, foldhash::fast::RandomState>,
    buffers: MergeBuffers,
    bytes: Vec<u8>,
    ids: Vec<Id>,
}

impl NeighbourCache {
    /// Returns whether the bytes of two neighbours, or of one token at an end of the piece, merge
    /// to exactly these ids.
    fn can_join(&mut self, model: &BpeModel, left: Option<Id>, right: Option<Id>) -> bool {
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
