//! A piece becomes ids: the heart of byte pair encoding.
//!
//! The lowest-ranked pair of neighbours is joined, the leftmost first, until no pair is a token.
//! Short pieces scan for that pair; long ones are merged window by window.

mod bpe_model;
mod char_bridges;
mod heap;
mod lockstep;
mod padded_ids;
mod pair_origin;
mod pair_table;
mod scan;
mod windows;

pub use bpe_model::BpeModel;
pub(crate) use char_bridges::CharBridges;
pub use heap::Join;
pub(crate) use lockstep::MergeQueue;
pub(crate) use padded_ids::{COPY_WIDTH, PaddedIds};
pub(crate) use pair_origin::find_pair_origins;
pub use pair_table::PairTable;

use std::ops::Range;

use crate::vocab::Id;

/// Parts that are merged by scanning at most; the scan is quadratic, a heap is not.
///
/// Of a hundred pieces of English 99 have 13 bytes or fewer, of Chinese and Thai 64 (`bench/pieces.py`).
const SCAN_MAX: usize = 128;

/// Passes over more parts than that.
const PASSES_MAX: usize = 16;

/// Buffers that merging reuses from piece to piece.
#[derive(Clone, Debug, Default)]
pub struct MergeBuffers {
    parts: Vec<Id>,
    ranks: Vec<Id>,
    heap: heap::Heap,
}

/// Appends the ids of one piece to `ids`.
///
/// A piece that is a token is taken whole: some vocabularies hold tokens that no merge reaches.
pub fn merge(model: &BpeModel, piece: &[u8], buffers: &mut MergeBuffers, ids: &mut Vec<Id>) {
    match model.vocab().find(piece) {
        Some(id) => ids.push(id),
        None => merge_non_token(model, piece, buffers, ids),
    }
}

/// Appends the ids of a piece that is no token.
pub(crate) fn merge_non_token(
    model: &BpeModel,
    piece: &[u8],
    buffers: &mut MergeBuffers,
    ids: &mut Vec<Id>,
) {
    let mut start = 0;
    model.bridges().cuts(piece, |at, may_be_cut| {
        if may_be_cut {
            merge_part(model, piece, start..at, buffers, ids);
            start = at;
        }
    });
    match start {
        0 => merge_bytes(model, piece, buffers, ids),
        _ => merge_part(model, piece, start..piece.len(), buffers, ids),
    }
}

/// Appends the ids of a part of a piece. A token may be taken whole, as every one is reached.
fn merge_part(
    model: &BpeModel,
    piece: &[u8],
    part: Range<usize>,
    buffers: &mut MergeBuffers,
    ids: &mut Vec<Id>,
) {
    match model.vocab().find_within(piece, part.clone()) {
        Some(id) => ids.push(id),
        None => merge_bytes(model, &piece[part], buffers, ids),
    }
}

/// Appends what the bytes of a piece merge to, without a look at the piece as a whole.
#[inline]
pub(crate) fn merge_bytes(
    model: &BpeModel,
    piece: &[u8],
    buffers: &mut MergeBuffers,
    ids: &mut Vec<Id>,
) {
    if piece.len() <= SCAN_MAX {
        buffers.parts.clear();
        model.parts(piece, |part| buffers.parts.push(part));
        ids.extend_from_slice(buffers.merge(model.pairs()));
    } else {
        windows::merge(model, piece, buffers, ids);
    }
}

/// Merges parts until no pair of neighbours merges, and returns what is left.
pub(crate) fn merge_parts<'s>(
    pairs: &PairTable,
    parts: impl Iterator<Item = Id>,
    buffers: &'s mut MergeBuffers,
) -> &'s [Id] {
    buffers.parts.clear();
    buffers.parts.extend(parts);
    buffers.merge(pairs)
}

/// Merges the bytes of a piece one join after the other, without a look at the piece as a whole; returns
/// what is left of them, and each join in order.
///
/// Lowest rank first, then leftmost, as the specification has it: by the heap, so that a piece of any
/// length is merged in little more than linear time.
#[must_use]
pub fn merge_joins(model: &BpeModel, piece: &[u8]) -> (Vec<Id>, Vec<Join>) {
    let mut parts: Vec<Id> = piece.iter().map(|&byte| model.vocab().byte(byte)).collect();
    let mut joins = Vec::new();
    heap::Heap::default().merge_telling(model.pairs(), &mut parts, |join| joins.push(join));
    (parts, joins)
}

/// Parts that buffers keep room for from call to call: what one hostile piece needed is given back.
pub(crate) const PARTS_KEPT: usize = 1 << 14;

impl MergeBuffers {
    /// Gives back what is larger than most texts need.
    pub(crate) fn trim(&mut self) {
        if self.parts.capacity() > PARTS_KEPT {
            (self.parts, self.ranks, self.heap) = Default::default();
        }
    }

    /// Merges the parts that are there, and returns what is left.
    fn merge(&mut self, pairs: &PairTable) -> &[Id] {
        let Self { parts, ranks, heap } = self;
        // Long runs of one letter take few passes; what takes many goes to the heap.
        let passes_max = if parts.len() <= SCAN_MAX { usize::MAX } else { PASSES_MAX };
        if !scan::merge(pairs, parts, ranks, passes_max) {
            heap.merge(pairs, parts);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, model_of};
    use crate::vocab::Vocab;

    /// The cases every engine must pass: `tokens | piece | the piece as tokens`.
    const VECTORS: &str = include_str!("../../../../tests/vectors/merge.txt");

    fn spelled(model: &BpeModel, piece: &str) -> String {
        let mut ids = Vec::new();
        merge(model, piece.as_bytes(), &mut MergeBuffers::default(), &mut ids);
        let token =
            |&id: &Id| String::from_utf8_lossy(model.vocab().token(id).unwrap()).into_owned();
        ids.iter().map(token).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn passes_the_shared_vectors() {
        for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<_> = line.split('|').map(str::trim).collect();
            let model = model_of(fields[0].split_whitespace());
            assert_eq!(spelled(&model, fields[1]), fields[2], "{line}");
        }
    }

    /// The specification: join by the rank of the joined bytes.
    fn merge_by_bytes(vocab: &Vocab, piece: &[u8]) -> Vec<Id> {
        let mut parts: Vec<&[u8]> = piece.chunks(1).collect();
        let mut start_of: Vec<usize> = (0..=piece.len()).collect();
        loop {
            let rank = |i: usize| vocab.find(&piece[start_of[i]..start_of[i + 2]]);
            let best = (0..parts.len().saturating_sub(1)).filter_map(|i| Some((rank(i)?, i))).min();
            let Some((_, i)) = best else { break };
            start_of.remove(i + 1);
            parts[i] = &piece[start_of[i]..start_of[i + 1]];
            parts.remove(i + 1);
        }
        parts.iter().map(|part| vocab.find(part).unwrap()).collect()
    }

    /// Random tokens over a small alphabet: many that no merge reaches, ranks in no order.
    pub(super) fn random_model(random: &mut Random) -> BpeModel {
        let letters = 1 + random.below(3);
        let mut tokens = std::collections::BTreeSet::new();
        for _ in 0..1 + random.below(40) {
            let length = 2 + random.below(6);
            tokens.insert(
                (0..length).map(|_| ["a", "b", "c"][random.below(letters)]).collect::<String>(),
            );
        }
        let mut tokens: Vec<String> = tokens.into_iter().collect();
        for i in (1..tokens.len()).rev() {
            tokens.swap(i, random.below(i + 1));
        }
        model_of(tokens.iter().map(String::as_str))
    }

    #[test]
    fn pairs_of_ids_merge_as_joined_bytes_do() {
        let mut random = Random(3);
        for _ in 0..3000 {
            let model = random_model(&mut random);
            let (vocab, pairs) = (model.vocab(), model.pairs());
            let piece: Vec<u8> = (0..random.below(30)).map(|_| b"abc"[random.below(3)]).collect();
            let expected = merge_by_bytes(vocab, &piece);
            let mut parts: Vec<Id> = piece.iter().map(|&byte| vocab.byte(byte)).collect();
            assert!(scan::merge(pairs, &mut parts, &mut Vec::new(), usize::MAX));
            assert_eq!(parts, expected, "by scan");
            let mut parts: Vec<Id> = piece.iter().map(|&byte| vocab.byte(byte)).collect();
            heap::Heap::default().merge(pairs, &mut parts);
            assert_eq!(parts, expected, "by heap");
        }
    }
}
