//! Texts that a Python function splits: specials are found first, then the pieces are encoded.
//!
//! For example, the text `a<|end|>b` with the special `<|end|>` = 300: `find_specials` returns
//! `[(1, 8, 300)]`, the Python function splits `a` and `b`, and `encode_pieces` encodes the pieces.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyList;
use zeton::encode::offsets;

use crate::errors::raise;
use crate::ids;
use crate::text::StrictText;
use crate::tokenizer_core::TokenizerCore;

/// Return the ids of pieces, each piece encoded alone.
///
/// `zeton.splitting` calls it after a Python function has split a text. It encodes without the GIL.
#[pyfunction]
pub(crate) fn encode_pieces<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    pieces: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyList>> {
    let TokenizerCore { tokenizer, lists, .. } = engine.get();
    let bytes = pieces.iter().map(|piece| piece.len()).sum();
    ids::with_spare_buffer(bytes, |ids| {
        let pieces = pieces.iter().map(|piece| &piece[..]);
        let encoded = py.detach(|| tokenizer.encode_pieces(pieces, ids));
        encoded.map_err(|error| raise(py, &error))?;
        lists.make_list(py, ids, tokenizer.vocab_size())
    })
}

/// Return the start, the end and the id of each special in a text, in characters or in bytes.
#[pyfunction]
pub(crate) fn find_specials(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: StrictText<'_>,
    allowed_special: Option<&Bound<'_, PyAny>>,
    characters: bool,
) -> PyResult<Vec<(usize, usize, zeton::Id)>> {
    let (allowed, text) = (engine.get().allow_specials(py, allowed_special)?, text.0.bytes());
    let (mut ranges, ids): (Vec<_>, Vec<_>) =
        py.detach(|| allowed.find_all(text)).into_iter().unzip();
    if characters {
        offsets::convert_to_char_ranges(text, &mut ranges);
    }
    Ok(ranges.into_iter().zip(ids).map(|(range, id)| (range.start, range.end, id)).collect())
}
