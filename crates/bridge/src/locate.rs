//! Where ids are in a text, and which ids may follow it, for Python.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use zeton::encode::offsets;
use zeton::{Error, Id, Tokenizer};

use crate::errors::raise;
use crate::text::{Characters, Text};
use crate::tokenizer_core::TokenizerCore;

/// Where each id begins and ends.
type Places = Vec<(usize, usize)>;

/// Encodes a text, and returns with the ids where each begins and ends, in characters or in bytes.
#[pyfunction]
pub(crate) fn encode_with_places<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    text: Characters<'_>,
    specials: Option<&Bound<'py, PyAny>>,
    characters: bool,
) -> PyResult<(Bound<'py, PyList>, Places)> {
    let engine = engine.get();
    let (allowed, text) = (engine.allowed(py, specials)?, text.0.bytes());
    let found = py.detach(|| -> Result<(Vec<Id>, Places), Error> {
        let mut ids = Vec::new();
        engine.tokenizer.encode(text, &allowed, &mut ids)?;
        let places = places_of(&engine.tokenizer, text, &ids, characters)?;
        Ok((ids, places))
    });
    let (ids, places) = found.map_err(|error| raise(py, &error))?;
    Ok((engine.lists.list(py, &ids, engine.tokenizer.vocab_size())?, places))
}

/// Returns where each id of a text begins and ends, in characters or in bytes.
#[pyfunction]
pub(crate) fn place_ids(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: Characters<'_>,
    ids: Vec<Id>,
    characters: bool,
) -> PyResult<Places> {
    let (tokenizer, text) = (&engine.get().tokenizer, text.0.bytes());
    let places = py.detach(|| places_of(tokenizer, text, &ids, characters));
    places.map_err(|error| raise(py, &error))
}

fn places_of(
    tokenizer: &Tokenizer,
    text: &[u8],
    ids: &[Id],
    characters: bool,
) -> Result<Places, Error> {
    let mut places = tokenizer.byte_ranges(ids)?;
    if characters {
        offsets::convert_to_char_ranges(text, &mut places);
    }
    Ok(places.into_iter().map(|place| (place.start, place.end)).collect())
}

/// Returns the ids of all tokens that begin with a prefix, rising.
#[pyfunction]
pub(crate) fn find_completions(engine: &Bound<'_, TokenizerCore>, prefix: Text<'_>) -> Vec<Id> {
    let starting = engine.get().tokenizer.vocab().starting_with(prefix.bytes());
    let mut ids: Vec<Id> = starting.map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids
}

/// Returns the ids of a text that stay, the rest of it, and which ids may come next.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "a tuple for Python to name")]
pub(crate) fn heal<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
    text: Text<'_>,
    specials: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Vec<Id>, Bound<'py, PyBytes>, Option<Vec<Id>>)> {
    let engine = engine.get();
    let (allowed, text) = (engine.allowed(py, specials)?, text.bytes());
    let healed = py.detach(|| engine.tokenizer.heal(text, &allowed));
    let healed = healed.map_err(|error| raise(py, &error))?;
    let next = (!healed.rest.is_empty()).then(|| healed.next.into_iter().collect());
    Ok((healed.ids, PyBytes::new(py, &healed.rest), next))
}
