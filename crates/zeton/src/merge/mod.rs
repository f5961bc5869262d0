//! Merges a piece into ids: the core of byte pair encoding.
//!
//! A piece starts as its bytes. The adjacent pair of the lowest rank merges, the leftmost first,
//! until no adjacent pair is in the vocabulary. For example, cl100k merges ` zeton` into 1167
//! (` z`) and 35794 (`eton`).
//!
//! Every way to merge gives the same ids. The length of the piece and the caller choose the
//! fastest:
//!
//! | parts | algorithm | module |
//! |---|---|---|
//! | up to 62, in batches | 16 pieces at a time, ranks in SIMD vectors | `lockstep` |
//! | up to 128 | scan for the lowest rank | `scan` |
//! | any number, within a long piece | overlapping windows, merged separately | `windows` |
//! | any number, where the scan needs too many passes | priority queue | `heap` |
//!
//! The tables that merging reads are a [`BpeModel`]: `pair_origin` finds the pairs of a vocabulary,
//! `pair_table` stores them, and `char_bridges` knows where a piece may be cut first.

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
pub use heap::MergeStep;
pub(crate) use lockstep::MergeQueue;
pub(crate) use padded_ids::{COPY_WIDTH, PaddedIds};
pub(crate) use pair_origin::find_pair_origins;
pub use pair_table::PairTable;

use std::ops::Range;

use crate::vocab::Id;

/// The most parts that are merged by scanning alone. A scan is quadratic, the windows and the heap
/// are not. Pieces that long are rare: 99 % of the pieces of English have at most 13 bytes, of
/// Chinese and Thai 64 (`bench/pieces.py`).
const SCAN_MAX: usize = 128;

/// The most passes of a scan over more than [`SCAN_MAX`] parts, before the heap takes over. A run
/// of one letter needs few passes, because each pass can halve it. No measurement chose 16.
const PASSES_MAX: usize = 16;

/// Scratch buffers that merging reuses from piece to piece.
#[derive(Clone, Debug, Default)]
pub struct MergeBuffers {
    parts: Vec<Id>,
    ranks: Vec<Id>,
    heap: heap::Heap,
}

/// Appends the ids of one piece to `ids`.
///
/// A piece that is a token becomes that token without merging, because some vocabularies hold
/// tokens that no sequence of merges reaches.
pub fn merge(model: &BpeModel, piece: &[u8], buffers: &mut MergeBuffers, ids: &mut Vec<Id>) {
    match model.vocab().find(piece) {
        Some(id) => ids.push(id),
        None => merge_non_token(model, piece, buffers, ids),
    }
}

/// Appends the ids of a piece that is not a token.
///
/// The piece is first cut between characters that no token bridges, and each part is merged alone.
pub(crate) fn merge_non_token(
    model: &BpeModel,
    piece: &[u8],
    buffers: &mut MergeBuffers,
    ids: &mut Vec<Id>,
) {
    let mut start = 0;
    model.bridges().for_each_border(piece, |at, can_cut| {
        if can_cut {
            merge_part(model, piece, start..at, buffers, ids);
            start = at;
        }
    });
    match start {
        0 => merge_bytes(model, piece, buffers, ids),
        _ => merge_part(model, piece, start..piece.len(), buffers, ids),
    }
}

/// Appends the ids of one part of a cut piece. A part that is a token needs no merging: pieces are
/// cut only if merging reaches every token.
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

/// Appends the ids that the bytes of a piece merge into. The piece is not looked up as a token, and
/// not cut at borders of characters.
///
/// [`merge_non_token`] calls it for a piece without a cut and for each part of a piece. `limits`
/// and `continuation` call it for texts that they try.
#[inline]
pub(crate) fn merge_bytes(
    model: &BpeModel,
    piece: &[u8],
    buffers: &mut MergeBuffers,
    ids: &mut Vec<Id>,
) {
    if piece.len() <= SCAN_MAX {
        buffers.parts.clear();
        model.for_each_part(piece, |part| buffers.parts.push(part));
        ids.extend_from_slice(buffers.merge(model.pairs()));
    } else {
        windows::merge(model, piece, buffers, ids);
    }
}

/// Merges a sequence of ids until no adjacent pair merges, and returns the result. The caller
/// chooses the first parts: `windows` gives bytes, `pair_origin` indices.
pub(crate) fn merge_parts<'s>(
    pairs: &PairTable,
    parts: impl Iterator<Item = Id>,
    buffers: &'s mut MergeBuffers,
) -> &'s [Id] {
    buffers.parts.clear();
    buffers.parts.extend(parts);
    buffers.merge(pairs)
}

/// Merges the bytes of a piece and records every merge. Returns the ids and the merges in order.
/// The piece is not looked up as a token. The order is that of the specification: lowest rank
/// first, then leftmost. The heap does it, so that a piece of any length takes O(n log n).
#[must_use]
pub fn merge_with_steps(model: &BpeModel, piece: &[u8]) -> (Vec<Id>, Vec<MergeStep>) {
    let mut parts: Vec<Id> = piece.iter().map(|&byte| model.vocab().byte(byte)).collect();
    let mut steps = Vec::new();
    heap::Heap::default().merge_with(model.pairs(), &mut parts, |step| steps.push(step));
    (parts, steps)
}

/// The capacity, in parts, that scratch buffers keep between calls: 64 KiB of ids. Above it the
/// memory is freed, so that one hostile piece does not cost a thread its memory for good. No
/// measurement chose it.
pub(crate) const RETAINED_PARTS: usize = 1 << 14;

impl MergeBuffers {
    /// Frees the buffers if they have room for more than [`RETAINED_PARTS`] parts. A thread calls
    /// it when it returns its scratch memory.
    pub(crate) fn trim(&mut self) {
        if self.parts.capacity() > RETAINED_PARTS {
            (self.parts, self.ranks, self.heap) = Default::default();
        }
    }

    /// Merges the parts in the buffer, in place, until no pair merges, and returns the ids. They
    /// are valid until the buffers are used again.
    fn merge(&mut self, pairs: &PairTable) -> &[Id] {
        let Self { parts, ranks, heap } = self;
        // A long run of one letter takes few passes. A sequence that takes many is left to the
        // heap.
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

    /// The cases that every engine must pass: `tokens | piece | the piece as tokens`.
    const VECTORS: &str = include_str!("../../../../tests/vectors/merge.txt");

    fn merge_to_text(model: &BpeModel, piece: &str) -> String {
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
            assert_eq!(merge_to_text(&model, fields[1]), fields[2], "{line}");
        }
    }

    /// The specification: merge by the rank of the concatenated bytes.
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

    /// Returns random tokens over a small alphabet, with ranks in random order. Many are
    /// unreachable by merges.
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
    fn merging_pairs_of_ids_equals_merging_bytes() {
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
