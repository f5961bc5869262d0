//! Constructors of `TokenizerCore`: from tokens, merges, a file, or another tokenizer.
//!
//! Python numbers and names are converted and checked here, and the engine validates the whole. For
//! example, `from_ranks({b"a": 0, …}, pattern, [("<|end|>", 256)], {})` makes a tokenizer of 256
//! bytes and one special. An id of -1 raises `VocabError`.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use zeton::storage::tokenizer_file::Notes;
use zeton::{Error, Id, Splitter, Tokenizer, Vocab};

use crate::counts::Merges;
use crate::errors::raise;
use crate::progress::trim_memory;
use crate::text::PatternText;
use crate::tokenizer_core::TokenizerCore;

/// Compiles a pattern. With `by_function`, `pattern` is the name of a Python function that splits.
pub(crate) fn compile_splitter(pattern: &str, by_function: bool) -> Result<Splitter, Error> {
    match by_function {
        false => Splitter::parse(pattern),
        true => Splitter::recognise_function(pattern)
            .ok_or_else(|| Error::SplitIsPattern { pattern: pattern.to_owned() }),
    }
}

/// Make a tokenizer from tokens and their ids.
///
/// `ranks` maps the bytes of each token to its id; the tokens are copied. A vocabulary, pattern or
/// special that is refused raises an exception of `zeton.errors`.
#[pyfunction]
#[pyo3(signature = (ranks, pattern, specials, notes, by_function=false))]
pub(crate) fn from_ranks(
    py: Python<'_>,
    ranks: &Bound<'_, PyDict>,
    pattern: PatternText,
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
        Tokenizer::try_from_vocab(
            Vocab::try_from_tokens(tokens)?,
            compile_splitter(&pattern.0, by_function)?,
            specials,
        )
    };
    TokenizerCore::try_from_result(py, py.detach(build), notes)
}

/// Make a tokenizer from the first `count` merges; the first merge makes id 256.
///
/// Training calls it for its result; `merges` is only read.
#[pyfunction]
#[pyo3(signature = (merges, count, pattern, specials, notes, by_function=false))]
pub(crate) fn from_merges(
    py: Python<'_>,
    merges: &Bound<'_, Merges>,
    count: usize,
    pattern: PatternText,
    specials: Vec<(String, Bound<'_, PyAny>)>,
    notes: Notes,
    by_function: bool,
) -> PyResult<TokenizerCore> {
    let specials = read_specials(specials)?;
    let merges = merges.get().0.iter().take(count).map(|merge| (merge.left, merge.right));
    let merges: Vec<_> = merges.collect();
    trim_memory(py);
    let build = || {
        Tokenizer::try_from_vocab(
            Vocab::try_from_merges(&merges)?,
            compile_splitter(&pattern.0, by_function)?,
            specials,
        )
    };
    TokenizerCore::try_from_result(py, py.detach(build), notes)
}

/// Make a tokenizer from the bytes of a `.zeton` file.
///
/// The file is read and checked without the GIL. Damage raises `FormatError`.
#[pyfunction]
#[pyo3(signature = (file, by_function=false))]
pub(crate) fn from_file(py: Python<'_>, file: &[u8], by_function: bool) -> PyResult<TokenizerCore> {
    let read = match by_function {
        false => zeton::storage::tokenizer_file::read,
        true => zeton::storage::tokenizer_file::read_by_function,
    };
    let (tokenizer, notes) = py.detach(|| read(file)).map_err(|error| raise(py, &error))?;
    TokenizerCore::try_from_result(py, Ok(tokenizer), notes)
}

/// Return the bytes of a tokenizer's `.zeton` file.
#[pyfunction]
pub(crate) fn to_file<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
) -> PyResult<Bound<'py, PyBytes>> {
    let core = engine.get();
    let file = py.detach(|| zeton::storage::tokenizer_file::write(&core.tokenizer, &core.notes));
    Ok(PyBytes::new(py, &file.map_err(|error| raise(py, &error))?))
}

/// Make a tokenizer with the tokens and the pattern of another one, and new specials.
///
/// The other tokenizer is only read. Specials that are refused raise `SpecialError`.
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
    TokenizerCore::try_from_result(py, Tokenizer::try_from_vocab(vocab, splitter, specials), notes)
}

/// Check rules in their text form, and return the equivalent pattern if there is one.
///
/// None means that no pattern alone splits as the rules do. Rules that are refused raise an
/// exception.
#[pyfunction]
pub(crate) fn check_rules(py: Python<'_>, spelled: PatternText) -> PyResult<Option<String>> {
    let splitter = py.detach(|| Splitter::parse(&spelled.0)).map_err(|error| raise(py, &error))?;
    Ok(splitter.is_plain().then(|| splitter.grammar_pattern().to_owned()))
}

/// Return the Unicode script of each character, by name.
///
/// `zeton.rules` calls it, for example to check groups.
#[pyfunction]
pub(crate) fn scripts_of(text: &str) -> Vec<&'static str> {
    text.chars().map(zeton::sys::unicode::script_name).collect()
}

/// Reads an id of a token or special from Python. An int that no id can hold raises the engine's
/// exception for an id out of range; any other object raises `TypeError`.
fn read_id(id: &Bound<'_, PyAny>) -> PyResult<Id> {
    let number = match id.extract::<i128>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(id.py()) => i128::MAX,
        number => number?,
    };
    Id::try_from(number).map_err(|_| raise(id.py(), &Error::IdOutOfRange { id: number }))
}

/// Reads the names and ids of specials from Python, and returns them as the engine takes them: the
/// id before the name. An id that cannot be read raises, as in [`read_id`].
fn read_specials(specials: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Vec<(Id, String)>> {
    specials.into_iter().map(|(name, id)| Ok((read_id(&id)?, name))).collect()
}
