//! How a text becomes its ids, for Python.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeton::Id;
use zeton::encode::explain::MergeTrace;
use zeton::encode::offsets;

use crate::errors::raise;
use crate::text::Characters;
use crate::tokenizer_core::TokenizerCore;

/// Where the left part of a join begins, where it ends, where the right part ends; the ids of both,
/// and of what they become.
type Join = (usize, usize, usize, Id, Id, Id);

/// The ids of a piece, whether it was taken whole, and each join.
type Told = (Vec<Id>, bool, Vec<Join>);

/// Its bytes, where it begins and ends, its rule, and how it becomes ids.
type Piece<'py> = (Bound<'py, PyBytes>, usize, usize, String, Told);

/// Returns the pieces of a text with all that makes ids of them; places in characters or in bytes.
#[pyfunction]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    text: Characters<'_>,
    specials: Option<&Bound<'py, PyAny>>,
    characters: bool,
) -> PyResult<Vec<Piece<'py>>> {
    let engine = engine.get();
    let (allowed, text) = (engine.allowed(py, specials)?, text.0.bytes());
    let explained = py.detach(|| {
        let pieces = engine.tokenizer.explain(text, &allowed)?;
        let mut places: Vec<_> = pieces.iter().map(|piece| piece.place.clone()).collect();
        if characters {
            offsets::convert_to_char_ranges(text, &mut places);
        }
        Ok((pieces, places))
    });
    let (pieces, places) = explained.map_err(|error| raise(py, &error))?;
    let pieces = pieces.into_iter().zip(places).map(|(piece, place)| {
        let content = PyBytes::new(py, &text[piece.place]);
        (content, place.start, place.end, piece.rule, told(piece.trace))
    });
    Ok(pieces.collect())
}

/// Returns how one piece becomes ids.
#[pyfunction]
pub(crate) fn explain_piece(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    piece: &[u8],
) -> PyResult<Told> {
    let tokenizer = &engine.get().tokenizer;
    let merged = py.detach(|| tokenizer.explain_piece(piece));
    merged.map(told).map_err(|error| raise(py, &error))
}

fn told(merged: MergeTrace) -> Told {
    let joins = merged.joins.into_iter();
    let joins =
        joins.map(|join| (join.start, join.middle, join.end, join.left, join.right, join.id));
    (merged.ids, merged.is_whole, joins.collect())
}
