//! Python's texts, as bytes that stay readable while the GIL is released.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PySlice, PyString};
use pyo3::{ffi, intern};
use zeton::TextSource;

use crate::layout::{StrLayout, Units};

/// The bytes of a `str` or of bytes; copied only where Python holds no UTF-8 of it.
pub(crate) enum Text<'a> {
    /// Of an object that never changes, and that the caller holds.
    Lent(&'a [u8]),
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
    Copied(Vec<u8>),
}

/// A text that holds its object.
pub(crate) struct HeldText(pub(crate) Text<'static>);

/// Characters that a `str` has at least to be asked whether it is ASCII.
///
/// Of one that is not, Python would keep the UTF-8 as long as the `str`: a corpus would take twice
/// its memory once it has been encoded. For a short text, asking costs too much.
const ASKED_MIN: isize = 1 << 9;

impl Text<'_> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Lent(text) => text,
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(text) => text,
            Self::Copied(text) => text,
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Text<'a> {
    type Error = PyErr;

    #[inline(always)]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match lent_by(object) {
            Some(text) => Ok(Self::Lent(text)),
            None => made_of(object, true),
        }
    }
}

/// A text to be encoded: one that is long and would have to be copied is read where it lies.
pub(crate) enum Source<'a> {
    Text(Text<'a>),
    Units(Units<'a>),
}

/// Characters that such a `str` has at least.
const UNITS_MIN: usize = 1 << 17;

impl<'a> Source<'a> {
    /// Reads a text of a batch: whoever encodes it copies it, if it has to be copied.
    pub(crate) fn of_batch(object: Borrowed<'a, '_, PyAny>) -> PyResult<Self> {
        Self::from(object, 0)
    }

    #[inline(always)]
    fn from(object: Borrowed<'a, '_, PyAny>, units_min: usize) -> PyResult<Self> {
        match lent_by(object) {
            Some(text) => Ok(Self::Text(Text::Lent(text))),
            None => match object.cast::<PyString>().ok().and_then(units) {
                Some(units) if units.len() >= units_min => Ok(Self::Units(units)),
                _ => made_of(object, true).map(Self::Text),
            },
        }
    }

    /// Returns how many bytes the text has; of one that is read where it lies, as many as most have at most.
    #[inline]
    pub(crate) fn bytes_max(&self) -> usize {
        match self {
            Self::Text(text) => text.bytes().len(),
            Self::Units(units) => units.len() * 3,
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Source<'a> {
    type Error = PyErr;

    #[inline(always)]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Self::from(object, UNITS_MIN)
    }
}

impl TextSource for Source<'_> {
    fn bytes_max(&self) -> usize {
        self.bytes_max()
    }

    fn read<'t>(&'t self, room: &'t mut Vec<u8>) -> Option<&'t [u8]> {
        match self {
            Self::Text(text) => Some(text.bytes()),
            Self::Units(units) => {
                room.clear();
                units.utf8_into(room)?;
                Some(room)
            }
        }
    }
}

/// A text whose characters are those of the `str`: lone surrogates, which have no UTF-8, are refused.
pub(crate) struct Characters<'a>(pub(crate) Text<'a>);

impl<'a, 'py> FromPyObject<'a, 'py> for Characters<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match lent_by(object) {
            Some(text) => Ok(Self(Text::Lent(text))),
            None => made_of(object, false).map(Self),
        }
    }
}

/// Returns the first so many characters, or the last ones, of a `str` that would have to be copied and
/// has more: who needs its beginning copies no more than that.
pub(crate) fn part_of<'py>(
    text: &Bound<'py, PyAny>,
    characters: usize,
    from_end: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(whole) = text.cast::<PyString>() else { return Ok(None) };
    let length = text.len()?;
    if length <= characters || is_ascii(whole) {
        return Ok(None);
    }
    let range = if from_end { length - characters..length } else { 0..characters };
    text.get_item(PySlice::new(text.py(), range.start as isize, range.end as isize, 1)).map(Some)
}

/// Returns the bytes of a `str` that is ASCII or short and has no lone surrogates.
fn lent_by<'a>(object: Borrowed<'a, '_, PyAny>) -> Option<&'a [u8]> {
    let text = object.cast::<PyString>().ok()?;
    let units = units(text);
    if let Some(Units::Ascii(text)) = units {
        return Some(text);
    }
    // SAFETY: it is a str.
    let length = unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) };
    if length >= ASKED_MIN && (units.is_some() || !is_ascii(&text)) {
        return None;
    }
    <&str>::extract(object).ok().map(str::as_bytes)
}

#[cold]
fn made_of<'a>(object: Borrowed<'a, '_, PyAny>, with_surrogates: bool) -> PyResult<Text<'a>> {
    if let Ok(text) = object.cast::<PyString>() {
        if let Some(utf8) = units(text).and_then(|units| units.utf8()) {
            return Ok(Text::Copied(utf8));
        }
        let bytes = match text.encode_utf8() {
            Err(_) if with_surrogates => without_surrogates(&text)?.encode_utf8()?,
            bytes => bytes?,
        };
        return Ok(Text::Bytes(bytes.into()));
    }
    if let Ok(text) = <&[u8]>::extract(object) {
        return Ok(Text::Lent(text));
    }
    match PyBuffer::<u8>::get(&object) {
        Ok(buffer) => Ok(Text::Copied(buffer.to_vec(object.py())?)),
        Err(_) => {
            let class = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("a text is str or bytes, not {class}")))
        }
    }
}

/// Returns the bytes of a `str`; lone surrogates take three bytes, which are not UTF-8.
pub(crate) fn with_surrogates<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Text<'a>> {
    if let Some(text) = lent_by(text.as_any().as_borrowed()) {
        return Ok(Text::Lent(text));
    }
    if let Some(utf8) = units(text.as_borrowed()).and_then(|units| units.utf8()) {
        return Ok(Text::Copied(utf8));
    }
    let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    Ok(Text::Bytes(bytes.cast_into::<PyBytes>()?.into()))
}

/// Returns the characters of a `str` where they lie, if it is known where.
#[inline]
fn units<'a>(text: Borrowed<'a, '_, PyString>) -> Option<Units<'a>> {
    StrLayout::known(text.py())?.units(text)
}

/// Asks in Python's words; a class of somebody's own that answers wrongly gains nothing by it.
fn is_ascii(text: &Bound<'_, PyString>) -> bool {
    let answer = text.call_method0(intern!(text.py(), "isascii"));
    answer.and_then(|answer| answer.is_truthy()).unwrap_or(false)
}

/// Reads lone surrogates as tiktoken does: pairs become their character, the rest U+FFFD.
fn without_surrogates<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let wide = text.call_method1("encode", ("utf-16", "surrogatepass"))?;
    Ok(wide.call_method1("decode", ("utf-16", "replace"))?.cast_into()?)
}

impl FromPyObject<'_, '_> for HeldText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text = match Text::extract(object)? {
            Text::Lent(_) => match object.cast::<PyString>() {
                Ok(text) => Text::Str(text.to_owned().try_into()?),
                Err(_) => Text::Bytes(object.cast::<PyBytes>()?.to_owned().into()),
            },
            Text::Str(text) => Text::Str(text),
            Text::Bytes(text) => Text::Bytes(text),
            Text::Copied(text) => Text::Copied(text),
        };
        Ok(Self(text))
    }
}
