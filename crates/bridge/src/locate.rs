//! Offsets of ids in a text, completions and token healing, for Python.
//!
//! For example, `encode_with_places` of "né 語" by cl100k returns the ids 52235, 9085, 103 and 252
//! with the characters 0–2, 2–4, 3–4 and 3–4: the last three ids share the character `語`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use zeton::encode::offsets;
use zeton::{Error, Id, Tokenizer};

use crate::errors::raise;
use crate::text::{StrictText, Text};
use crate::tokenizer_core::TokenizerCore;

/// The start and the end of each id.
type Offsets = Vec<(usize, usize)>;

/// Return the ids of a text with the start and the end of each, in characters or in bytes.
#[pyfunction]
pub(crate) fn encode_with_places<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    text: StrictText<'_>,
    allowed_special: Option<&Bound<'py, PyAny>>,
    characters: bool,
) -> PyResult<(Bound<'py, PyList>, Offsets)> {
    let engine = engine.get();
    let (allowed, text) = (engine.allow_specials(py, allowed_special)?, text.0.bytes());
    let found = py.detach(|| -> Result<(Vec<Id>, Offsets), Error> {
        let mut ids = Vec::new();
        engine.tokenizer.encode(text, &allowed, &mut ids)?;
        let offsets = find_offsets(&engine.tokenizer, text, &ids, characters)?;
        Ok((ids, offsets))
    });
    let (ids, offsets) = found.map_err(|error| raise(py, &error))?;
    Ok((engine.lists.make_list(py, &ids, engine.tokenizer.vocab_size())?, offsets))
}

/// Return the start and the end of each id of a text, in characters or in bytes.
#[pyfunction]
pub(crate) fn place_ids(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: StrictText<'_>,
    ids: Vec<Id>,
    characters: bool,
) -> PyResult<Offsets> {
    let (tokenizer, text) = (&engine.get().tokenizer, text.0.bytes());
    let offsets = py.detach(|| find_offsets(tokenizer, text, &ids, characters));
    offsets.map_err(|error| raise(py, &error))
}

/// Returns the range of each of the `ids` of `text`, in bytes, or in characters if `characters` is
/// set. It touches no Python object, so callers run it without the GIL for long texts.
fn find_offsets(
    tokenizer: &Tokenizer,
    text: &[u8],
    ids: &[Id],
    characters: bool,
) -> Result<Offsets, Error> {
    let mut ranges = tokenizer.byte_ranges(ids)?;
    if characters {
        offsets::convert_to_char_ranges(text, &mut ranges);
    }
    Ok(ranges.into_iter().map(|range| (range.start, range.end)).collect())
}

/// Return the ids of all tokens with a prefix, sorted.
#[pyfunction]
pub(crate) fn find_completions(engine: &Bound<'_, TokenizerCore>, prefix: Text<'_>) -> Vec<Id> {
    let starting = engine.get().tokenizer.vocab().starting_with(prefix.bytes());
    let mut ids: Vec<Id> = starting.map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids
}

/// Return the ids of a prompt that more text cannot change, the rest of it, and the next ids.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "the Python package names the parts")]
pub(crate) fn heal<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    text: Text<'_>,
    allowed_special: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Vec<Id>, Bound<'py, PyBytes>, Option<Vec<Id>>)> {
    let engine = engine.get();
    let (allowed, text) = (engine.allow_specials(py, allowed_special)?, text.bytes());
    let healed = py.detach(|| engine.tokenizer.heal(text, &allowed));
    let healed = healed.map_err(|error| raise(py, &error))?;
    let next = (!healed.rest.is_empty()).then(|| healed.next.into_iter().collect());
    Ok((healed.ids, PyBytes::new(py, &healed.rest), next))
}
