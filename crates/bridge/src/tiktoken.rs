//! What only tiktoken's surface asks of an engine.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeton::Id;
use zeton::merge::{MergeBuffers, merge};

use crate::errors::raise;
use crate::tokenizer_core::TokenizerCore;

/// Returns the first of these specials in a text as it stands: lone surrogates are not joined.
#[pyfunction]
pub(crate) fn find_special(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyString>,
    specials: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<String>> {
    let engine = engine.get();
    let allowed = engine.allowed(py, specials)?;
    if let Ok(text) = text.to_str() {
        return Ok(allowed.first_name(text.as_bytes()).map(str::to_owned));
    }
    let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    let found = allowed.first_name(bytes.cast::<PyBytes>()?.as_bytes());
    Ok(found.map(str::to_owned))
}

/// Returns the id of these bytes, if they are a token.
#[pyfunction]
pub(crate) fn find_token(engine: &Bound<'_, TokenizerCore>, token: &[u8]) -> Option<Id> {
    engine.get().tokenizer.vocab().find(token)
}

/// Encodes bytes as one piece, without a split.
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

/// Encodes bytes of which the end may not be UTF-8.
#[pyfunction]
pub(crate) fn encode_broken(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    bytes: &[u8],
) -> PyResult<Vec<Id>> {
    let tokenizer = &engine.get().tokenizer;
    py.detach(|| tokenizer.encode_broken(bytes)).map_err(|error| raise(py, &error))
}

/// Encodes a text that may go on: the ids that stay, and what the rest may become.
#[pyfunction]
pub(crate) fn encode_unsettled(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &[u8],
    specials: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Vec<Id>, Vec<Vec<Id>>)> {
    let engine = engine.get();
    let allowed = engine.allowed(py, specials)?;
    let unsettled = py
        .detach(|| engine.tokenizer.encode_unsettled(text, &allowed))
        .map_err(|error| raise(py, &error))?;
    Ok((unsettled.stable, unsettled.completions.into_iter().collect()))
}
