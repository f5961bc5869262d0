//! Token limits for Python: truncate at an end, truncate at the start, and chunks.
//!
//! Positions are characters of a `str` and bytes of `bytes`. A `str` that is not ASCII has to be
//! transcoded, so only as much of it is transcoded as the limit needs. For example, `fit_end` of
//! ten million Chinese characters with `n` = 1,000 reads the first 6,000 characters. If more text
//! could change the result, it reads the first 24,000, then 96,000, and so on:
//!
//! ```text
//! characters   |-- 6,000 --|
//!              |---------------- 24,000 ----------------|
//! ```

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use zeton::limits::{Border, Fit};
use zeton::{AllowedSpecials, Error};

use crate::errors::{detach, raise};
use crate::text::{CharCounter, StrictText, Text, copy_part, count_chars};
use crate::tokenizer_core::TokenizerCore;

/// Characters of the first part of a `str`, at least. Not measured.
const FIRST_CHARACTERS_MIN: usize = 1 << 12;

/// Characters of the first part for each id. Not measured; a token of English has 4 to 5.
const CHARACTERS_PER_ID: usize = 6;

/// Factor by which the part grows. Not measured.
const GROWTH_FACTOR: usize = 4;

/// Reads a limit on ids from Python. A limit above `usize::MAX` becomes `usize::MAX`; a negative
/// one, or an object that is no int, raises an exception.
pub(crate) fn ids_max(number: &Bound<'_, PyAny>) -> PyResult<usize> {
    let Ok(number) = number.cast::<PyInt>() else {
        let class = number.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a number of tokens is an int, not {class}")));
    };
    if number.lt(0)? {
        let error = Error::NegativeIds { ids: number.to_string() };
        return Err(raise(number.py(), &error));
    }
    Ok(number.extract().unwrap_or(usize::MAX))
}

/// Calls `try_part` with growing parts of a text, from its start or its end, until it has a result.
/// The second argument says whether the part is less than the whole text.
pub(crate) fn try_growing_parts<R>(
    text: &Bound<'_, PyAny>,
    ids: usize,
    from_end: bool,
    mut try_part: impl FnMut(&[u8], bool) -> PyResult<Option<R>>,
) -> PyResult<R> {
    let mut characters = FIRST_CHARACTERS_MIN.max(ids.saturating_mul(CHARACTERS_PER_ID));
    while let Some(part) = copy_part(text, characters, from_end)? {
        if let Some(found) = try_part(part.extract::<StrictText<'_>>()?.0.bytes(), true)? {
            return Ok(found);
        }
        characters = characters.saturating_mul(GROWTH_FACTOR);
    }
    let found = try_part(text.extract::<StrictText<'_>>()?.0.bytes(), false)?;
    Ok(found.expect("a whole text has an answer"))
}

/// Return the end of the longest prefix that has at most `n` ids and ends at a border.
#[pyfunction]
pub(crate) fn fit_end(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
    at: &str,
    allowed_special: Option<&Bound<'_, PyAny>>,
) -> PyResult<usize> {
    let arguments = FitArguments::try_from_python(engine, n, at, allowed_special)?;
    let is_str = text.is_instance_of::<PyString>();
    try_growing_parts(text, arguments.ids_max, false, |part, is_partial| {
        let end = detach(py, || arguments.fit().find_end(part, is_partial))?;
        Ok(end.map(|end| if is_str { count_chars(&part[..end]) } else { end }))
    })
}

/// Return the length of the longest suffix that has at most `n` ids together with the text `before`
/// it, and starts at a border.
#[pyfunction]
pub(crate) fn fit_start(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
    at: &str,
    allowed_special: Option<&Bound<'_, PyAny>>,
    before: Text<'_>,
) -> PyResult<usize> {
    let arguments = FitArguments::try_from_python(engine, n, at, allowed_special)?;
    let (is_str, before) = (text.is_instance_of::<PyString>(), before.bytes());
    try_growing_parts(text, arguments.ids_max, true, |part, is_partial| {
        let start = detach(py, || arguments.fit().find_start(before, part, is_partial))?;
        let length = |start| if is_str { count_chars(&part[start..]) } else { part.len() - start };
        Ok(start.map(length))
    })
}

/// Return the start, the end and the number of ids of each chunk of a text.
#[pyfunction]
pub(crate) fn find_chunks(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
    overlap: &Bound<'_, PyAny>,
    at: &str,
    allowed_special: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(usize, usize, usize)>> {
    let arguments = FitArguments::try_from_python(engine, n, at, allowed_special)?;
    if arguments.ids_max == 0 {
        return Err(raise(py, &Error::EmptyChunks));
    }
    let overlap = ids_max(overlap)?;
    if overlap >= arguments.ids_max {
        let error = Error::OverlapTooLong { overlap, ids_max: arguments.ids_max };
        return Err(raise(py, &error));
    }
    let is_str = text.is_instance_of::<PyString>();
    let text: StrictText<'_> = text.extract()?;
    let text = text.0.bytes();
    detach(py, || {
        let chunks = arguments.fit().find_chunks(text, overlap)?;
        // Starts and ends overlap, but each of them rises steadily.
        let mut starts = CharCounter::new(text, !is_str);
        let mut ends = CharCounter::new(text, !is_str);
        let to_positions = |chunk: &zeton::limits::Chunk| {
            let start = starts.position_at(chunk.range.start);
            (start, ends.position_at(chunk.range.end), chunk.ids)
        };
        Ok(chunks.iter().map(to_positions).collect())
    })
}

/// The arguments of the functions in this file, converted.
struct FitArguments<'a> {
    engine: &'a TokenizerCore,
    allowed: AllowedSpecials,
    ids_max: usize,
    border: Border,
}

impl<'a> FitArguments<'a> {
    fn try_from_python(
        engine: &'a Bound<'_, TokenizerCore>,
        n: &Bound<'_, PyAny>,
        at: &str,
        allowed_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (py, engine) = (engine.py(), engine.get());
        let border = at.parse().map_err(|error| raise(py, &error))?;
        let allowed = engine.allow_specials(py, allowed_special)?;
        Ok(Self { engine, allowed, ids_max: ids_max(n)?, border })
    }

    fn fit(&self) -> Fit<'_> {
        let Self { engine, allowed, ids_max, border } = self;
        Fit { tokenizer: &engine.tokenizer, allowed, ids_max: *ids_max, border: *border }
    }
}
