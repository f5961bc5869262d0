//! What a tokenizer is made of: tokens, merges, a file, or another tokenizer.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use zeton::storage::tokenizer_file::Notes;
use zeton::{Error, Id, Splitter, Tokenizer, Vocab};

use crate::counts::Merges;
use crate::errors::raise;
use crate::progress::give_back;
use crate::tokenizer_core::TokenizerCore;

/// Compiles a pattern, or takes the place of the function that it names.
pub(crate) fn splitter(pattern: &str, by_function: bool) -> Result<Splitter, Error> {
    match by_function {
        false => Splitter::new(pattern),
        true => Splitter::by_function(pattern)
            .ok_or_else(|| Error::SplitIsPattern { pattern: pattern.to_owned() }),
    }
}

/// Makes a tokenizer of tokens and their ids.
#[pyfunction]
#[pyo3(signature = (ranks, pattern, specials, notes, by_function=false))]
pub(crate) fn from_ranks(
    py: Python<'_>,
    ranks: &Bound<'_, PyDict>,
    pattern: &str,
    specials: Vec<(String, Bound<'_, PyAny>)>,
    notes: Notes,
    by_function: bool,
) -> PyResult<TokenizerCore> {
    let mut tokens = Vec::with_capacity(ranks.len());
    for (token, id) in ranks {
        let token =
            token.cast_into::<PyBytes>().map_err(|_| PyTypeError::new_err("a token is bytes"))?;
        tokens.push((read_id(&id)?, token.as_bytes().to_vec()));
    }
    let specials = read_specials(specials)?;
    let build = || {
        Tokenizer::new(Vocab::try_from_tokens(tokens)?, splitter(pattern, by_function)?, specials)
    };
    TokenizerCore::of(py, py.detach(build), notes)
}

/// Makes a tokenizer of the first so many merges, the very first of which makes id 256.
#[pyfunction]
#[pyo3(signature = (merges, count, pattern, specials, notes, by_function=false))]
pub(crate) fn from_merges(
    py: Python<'_>,
    merges: &Bound<'_, Merges>,
    count: usize,
    pattern: &str,
    specials: Vec<(String, Bound<'_, PyAny>)>,
    notes: Notes,
    by_function: bool,
) -> PyResult<TokenizerCore> {
    let specials = read_specials(specials)?;
    let merges = merges.get().0.iter().take(count).map(|merge| (merge.left, merge.right));
    let merges: Vec<_> = merges.collect();
    give_back(py);
    let build = || {
        Tokenizer::new(Vocab::try_from_merges(&merges)?, splitter(pattern, by_function)?, specials)
    };
    TokenizerCore::of(py, py.detach(build), notes)
}

/// Reads the bytes of a `.zeton` file.
#[pyfunction]
#[pyo3(signature = (file, by_function=false))]
pub(crate) fn from_file(py: Python<'_>, file: &[u8], by_function: bool) -> PyResult<TokenizerCore> {
    let read = match by_function {
        false => zeton::storage::tokenizer_file::read,
        true => zeton::storage::tokenizer_file::read_by_function,
    };
    let (tokenizer, notes) = py.detach(|| read(file)).map_err(|error| raise(py, &error))?;
    TokenizerCore::of(py, Ok(tokenizer), notes)
}

/// Returns the same tokens and pattern with other specials.
#[pyfunction]
pub(crate) fn with_specials(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    specials: Vec<(String, Bound<'_, PyAny>)>,
    notes: Notes,
) -> PyResult<TokenizerCore> {
    let specials = read_specials(specials)?;
    let tokenizer = &engine.get().tokenizer;
    let (vocab, splitter) = (tokenizer.vocab().clone(), tokenizer.splitter().clone());
    TokenizerCore::of(py, Tokenizer::new(vocab, splitter, specials), notes)
}

/// Checks rules, as they are spelled; returns the pattern that says the same, if there is one.
#[pyfunction]
pub(crate) fn check_rules(py: Python<'_>, spelled: &str) -> PyResult<Option<String>> {
    let splitter = py.detach(|| Splitter::new(spelled)).map_err(|error| raise(py, &error))?;
    Ok(splitter.is_plain().then(|| splitter.grammar_pattern().to_owned()))
}

/// Returns the script of each character, by its name in Unicode.
#[pyfunction]
pub(crate) fn scripts_of(text: &str) -> Vec<&'static str> {
    text.chars().map(zeton::sys::unicode::script_name).collect()
}

fn read_id(id: &Bound<'_, PyAny>) -> PyResult<Id> {
    let number = match id.extract::<i128>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(id.py()) => i128::MAX,
        number => number?,
    };
    Id::try_from(number).map_err(|_| raise(id.py(), &Error::IdOutOfRange { id: number }))
}

fn read_specials(specials: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Vec<(Id, String)>> {
    specials.into_iter().map(|(name, id)| Ok((read_id(&id)?, name))).collect()
}
