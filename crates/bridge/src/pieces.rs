//! Texts that Python splits: their pieces become ids, and their specials are found.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyList;
use zeton::encode::offsets;

use crate::errors::raise;
use crate::ids;
use crate::text::Characters;
use crate::tokenizer_core::TokenizerCore;

/// Encodes pieces, each on its own.
#[pyfunction]
pub(crate) fn encode_pieces<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    pieces: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyList>> {
    let TokenizerCore { tokenizer, lists, .. } = engine.get();
    let bytes = pieces.iter().map(|piece| piece.len()).sum();
    ids::with_spare(bytes, |ids| {
        let pieces = pieces.iter().map(|piece| &piece[..]);
        let encoded = py.detach(|| tokenizer.encode_pieces(pieces, ids));
        encoded.map_err(|error| raise(py, &error))?;
        lists.list(py, ids, tokenizer.vocab_size())
    })
}

/// Returns where the specials of a text begin and end, in characters or in bytes, and their ids.
#[pyfunction]
pub(crate) fn find_specials(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: Characters<'_>,
    specials: Option<&Bound<'_, PyAny>>,
    characters: bool,
) -> PyResult<Vec<(usize, usize, zeton::Id)>> {
    let (allowed, text) = (engine.get().allowed(py, specials)?, text.0.bytes());
    let (mut places, ids): (Vec<_>, Vec<_>) =
        py.detach(|| allowed.find_all(text)).into_iter().unzip();
    if characters {
        offsets::convert_to_char_ranges(text, &mut places);
    }
    Ok(places.into_iter().zip(ids).map(|(place, id)| (place.start, place.end, id)).collect())
}
