//! Texts cut to a number of ids, for Python: places are characters of a `str`, and bytes of bytes.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use zeton::limits::{Border, Fit};
use zeton::{AllowedSpecials, Error};

use crate::errors::raise;
use crate::text::{Characters, Text, part_of};
use crate::tokenizer_core::TokenizerCore;

/// Characters of a `str` that are looked at first, at least, and for each id.
const CHARACTERS_MIN: usize = 1 << 12;
const CHARACTERS_PER_ID: usize = 6;

/// Reads how many ids there may be; a number beyond all bounds is one.
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

/// Looks at more and more of a text, from its beginning or its end, until that tells.
pub(crate) fn by_parts<R>(
    text: &Bound<'_, PyAny>,
    ids: usize,
    from_end: bool,
    mut look: impl FnMut(&[u8], bool) -> PyResult<Option<R>>,
) -> PyResult<R> {
    let mut characters = CHARACTERS_MIN.max(ids.saturating_mul(CHARACTERS_PER_ID));
    while let Some(part) = part_of(text, characters, from_end)? {
        if let Some(found) = look(part.extract::<Characters<'_>>()?.0.bytes(), true)? {
            return Ok(found);
        }
        characters = characters.saturating_mul(4);
    }
    let found = look(text.extract::<Characters<'_>>()?.0.bytes(), false)?;
    Ok(found.expect("a whole text always tells"))
}

/// Returns where the longest beginning of a text ends that has at most `n` ids and ends at a border.
#[pyfunction]
pub(crate) fn fit_end(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
    at: &str,
    specials: Option<&Bound<'_, PyAny>>,
) -> PyResult<usize> {
    let wanted = Wanted::read(engine, n, at, specials)?;
    let is_str = text.is_instance_of::<PyString>();
    by_parts(text, wanted.ids_max, false, |part, goes_on| {
        let end = py.detach(|| wanted.fit().end(part, goes_on));
        let end = end.map_err(|error| raise(py, &error))?;
        Ok(end.map(|end| if is_str { characters(&part[..end]) } else { end }))
    })
}

/// Returns where the longest end of a text begins that has at most `n` ids, together with what stands
/// `before` it, and begins at a border; counted from the end.
#[pyfunction]
pub(crate) fn fit_start(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
    at: &str,
    specials: Option<&Bound<'_, PyAny>>,
    before: Text<'_>,
) -> PyResult<usize> {
    let wanted = Wanted::read(engine, n, at, specials)?;
    let (is_str, before) = (text.is_instance_of::<PyString>(), before.bytes());
    by_parts(text, wanted.ids_max, true, |part, goes_on| {
        let start = py.detach(|| wanted.fit().start(before, part, goes_on));
        let start = start.map_err(|error| raise(py, &error))?;
        let length = |start| if is_str { characters(&part[start..]) } else { part.len() - start };
        Ok(start.map(length))
    })
}

/// Returns the chunks of a text: where each begins and ends, and how many ids it has.
#[pyfunction]
pub(crate) fn find_chunks(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    text: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
    overlap: &Bound<'_, PyAny>,
    at: &str,
    specials: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(usize, usize, usize)>> {
    let wanted = Wanted::read(engine, n, at, specials)?;
    let overlap = ids_max(overlap)?;
    if overlap >= wanted.ids_max && wanted.ids_max > 0 {
        let error = Error::OverlapTooLong { overlap, ids_max: wanted.ids_max };
        return Err(raise(py, &error));
    }
    let is_str = text.is_instance_of::<PyString>();
    let text: Characters<'_> = text.extract()?;
    let text = text.0.bytes();
    let found = py.detach(|| -> Result<_, Error> {
        let chunks = wanted.fit().chunks(text, overlap)?;
        let mut starts = Rising { text, is_str, at: 0, place: 0 };
        let mut ends = Rising { text, is_str, at: 0, place: 0 };
        let place = |chunk: &zeton::limits::Chunk| {
            (starts.place_of(chunk.place.start), ends.place_of(chunk.place.end), chunk.ids)
        };
        Ok(chunks.iter().map(place).collect())
    });
    found.map_err(|error| raise(py, &error))
}

/// What is to fit, as Python says it.
struct Wanted<'a> {
    engine: &'a TokenizerCore,
    allowed: AllowedSpecials,
    ids_max: usize,
    border: Border,
}

impl<'a> Wanted<'a> {
    fn read(
        engine: &'a Bound<'_, TokenizerCore>,
        n: &Bound<'_, PyAny>,
        at: &str,
        specials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (py, engine) = (engine.py(), engine.get());
        let border = at.parse().map_err(|error| raise(py, &error))?;
        let allowed = engine.allowed(py, specials)?;
        Ok(Self { engine, allowed, ids_max: ids_max(n)?, border })
    }

    fn fit(&self) -> Fit<'_> {
        let Self { engine, allowed, ids_max, border } = self;
        Fit { tokenizer: &engine.tokenizer, allowed, ids_max: *ids_max, border: *border }
    }
}

/// Counts the characters of UTF-8.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

/// Makes places in characters of rising places in bytes.
struct Rising<'t> {
    text: &'t [u8],
    is_str: bool,
    at: usize,
    place: usize,
}

impl Rising<'_> {
    fn place_of(&mut self, at: usize) -> usize {
        let passed = &self.text[self.at..at];
        self.place += if self.is_str { characters(passed) } else { passed.len() };
        self.at = at;
        self.place
    }
}
