//! Functions for `zeton.tiktoken`, the package that has tiktoken's names.
//!
//! For example, `encode_piece(b"a b")` encodes all of `a b` as one piece, as tiktoken's
//! `_encode_single_piece` does, and `encode_invalid_utf8_tail(b"lo\xFF lo")` encodes bytes that are
//! not UTF-8.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeton::Id;
use zeton::merge::{MergeBuffers, merge};

use crate::errors::raise;
use crate::tokenizer_core::TokenizerCore;

/// Return the name of the first of these specials in a text, without joining lone surrogates.
#[pyfunction]
pub(crate) fn find_special(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyString>,
    allowed_special: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<String>> {
    let engine = engine.get();
    let allowed = engine.allow_specials(py, allowed_special)?;
    if let Ok(text) = text.to_str() {
        return Ok(allowed.first_name(text.as_bytes()).map(str::to_owned));
    }
    let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    let found = allowed.first_name(bytes.cast::<PyBytes>()?.as_bytes());
    Ok(found.map(str::to_owned))
}

/// Return the id of a token, or None if the bytes are no token.
#[pyfunction]
pub(crate) fn find_token(engine: &Bound<'_, TokenizerCore>, token: &[u8]) -> Option<Id> {
    engine.get().tokenizer.vocab().find(token)
}

/// Return the ids of bytes that are encoded as one piece.
///
/// The bytes are merged without the GIL and without the piece cache.
#[pyfunction]
pub(crate) fn encode_piece(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    piece: &[u8],
) -> Vec<Id> {
    let tokenizer = &engine.get().tokenizer;
    let mut ids = Vec::new();
    py.detach(|| merge(tokenizer.model(), piece, &mut MergeBuffers::default(), &mut ids));
    ids
}

/// Return the ids of bytes whose tail may not be UTF-8.
///
/// It runs without the GIL.
#[pyfunction]
pub(crate) fn encode_invalid_utf8_tail(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    bytes: &[u8],
) -> PyResult<Vec<Id>> {
    let tokenizer = &engine.get().tokenizer;
    py.detach(|| tokenizer.encode_invalid_utf8_tail(bytes)).map_err(|error| raise(py, &error))
}

/// Return the stable ids of a text that may go on, and the completions of its last piece.
#[pyfunction]
pub(crate) fn encode_unstable(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &[u8],
    allowed_special: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Vec<Id>, Vec<Vec<Id>>)> {
    let engine = engine.get();
    let allowed = engine.allow_specials(py, allowed_special)?;
    let encoded = py
        .detach(|| engine.tokenizer.encode_unstable(text, &allowed))
        .map_err(|error| raise(py, &error))?;
    Ok((encoded.stable, encoded.completions.into_iter().collect()))
}
