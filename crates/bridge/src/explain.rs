//! `explain`: the pieces of a text, their rules and their merges, for Python.
//!
//! For example, " zeton" by cl100k is one piece of six bytes with four merges: `on`, `et`, ` z` and
//! `eton`. The first of them is the tuple `(4, 5, 6, 78, 77, 263)`: the left part is byte 4, the
//! right part byte 5, and the ids 78 and 77 become 263.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeton::Id;
use zeton::encode::explain::MergeTrace;
use zeton::encode::offsets;

use crate::errors::raise;
use crate::text::StrictText;
use crate::tokenizer_core::TokenizerCore;

/// A merge: the start and the end of the left part, the end of the right part, both ids, and the id
/// of the merged token.
type MergeTuple = (usize, usize, usize, Id, Id, Id);

/// The ids of a piece, whether it is one token without merging, and its merges.
type TraceTuple = (Vec<Id>, bool, Vec<MergeTuple>);

/// A piece: its bytes, start, end, rule and merges.
type PieceTuple<'py> = (Bound<'py, PyBytes>, usize, usize, String, TraceTuple);

/// Return the pieces of a text with their rules and merges; positions in characters or in bytes.
///
/// The engine explains them without the GIL. A lone surrogate is refused.
#[pyfunction]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    text: StrictText<'_>,
    allowed_special: Option<&Bound<'py, PyAny>>,
    characters: bool,
) -> PyResult<Vec<PieceTuple<'py>>> {
    let engine = engine.get();
    let (allowed, text) = (engine.allow_specials(py, allowed_special)?, text.0.bytes());
    let explained = py.detach(|| {
        let pieces = engine.tokenizer.explain(text, &allowed)?;
        let mut ranges: Vec<_> = pieces.iter().map(|piece| piece.place.clone()).collect();
        if characters {
            offsets::convert_to_char_ranges(text, &mut ranges);
        }
        Ok((pieces, ranges))
    });
    let (pieces, ranges) = explained.map_err(|error| raise(py, &error))?;
    let pieces = pieces.into_iter().zip(ranges).map(|(piece, range)| {
        let content = PyBytes::new(py, &text[piece.place]);
        (content, range.start, range.end, piece.rule, trace_tuple(piece.trace))
    });
    Ok(pieces.collect())
}

/// Return the ids of one piece with its merges.
///
/// The piece is merged step by step without the GIL and without the piece cache.
#[pyfunction]
pub(crate) fn explain_piece(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    piece: &[u8],
) -> PyResult<TraceTuple> {
    let tokenizer = &engine.get().tokenizer;
    let merged = py.detach(|| tokenizer.explain_piece(piece));
    merged.map(trace_tuple).map_err(|error| raise(py, &error))
}

/// Converts the merge trace of a piece to the tuple that Python gets: the ids, whether the piece is
/// one token, and the merges in order.
fn trace_tuple(trace: MergeTrace) -> TraceTuple {
    let joins = trace.joins.into_iter();
    let joins =
        joins.map(|join| (join.start, join.middle, join.end, join.left, join.right, join.id));
    (trace.ids, trace.is_whole, joins.collect())
}
