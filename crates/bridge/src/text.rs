//! Python's texts as bytes, readable while the GIL is released.
//!
//! A `str` has no UTF-8 of its own, unless it is ASCII or somebody has asked for it. Asking caches
//! the UTF-8 inside the `str` for as long as it lives. A corpus that is encoded once would then
//! take twice its memory. So a text comes in by the first of these ways that applies:
//!
//! ```text
//! object                                        way                       variant
//! str, ASCII                                    borrowed in place         Text::Borrowed
//! str, below 512 characters                     UTF-8 cached by Python    Text::Borrowed
//! str, from 131,072 characters on, to encode    read in place, in parts   EncodeSource::Units
//! str, other                                    transcoded here           Text::Copied
//! bytes                                         borrowed in place         Text::Borrowed
//! bytearray, memoryview, array of bytes         copied                    Text::Copied
//! ```
//!
//! For example, "né 語" × 1,000 is transcoded to 7,000 bytes, and "hello" × 1,000 is borrowed.
//!
//! Lone surrogates have no UTF-8. [`Text`] reads them as tiktoken does, [`StrictText`] refuses
//! them, and [`encode_surrogates`] keeps them.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PySlice, PyString, PyTuple};
use pyo3::{ffi, intern};
use zeton::TextSource;

use crate::errors::raise;
use crate::str_layout::{StrLayout, StrUnits};

/// The bytes of a `str` or of bytes.
pub(crate) enum Text<'a> {
    /// The memory of an immutable object that the caller holds.
    Borrowed(&'a [u8]),
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
    Copied(Vec<u8>),
}

/// The text of a pattern. A lone surrogate in it raises `PatternError`.
pub(crate) struct PatternText(pub(crate) String);

impl FromPyObject<'_, '_> for PatternText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let Ok(pattern) = object.cast::<PyString>() else {
            let class = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a pattern is str, not {class}")));
        };
        pattern.extract().map(Self).map_err(|_: PyErr| {
            let pattern = pattern.repr().map_or_else(|_| String::new(), |repr| repr.to_string());
            raise(object.py(), &zeton::Error::PatternSurrogate { pattern })
        })
    }
}

/// A text that holds a reference to its object.
pub(crate) struct OwnedText(pub(crate) Text<'static>);

/// Characters from which on a `str` is checked for being ASCII instead of asked for its UTF-8.
///
/// Not measured. For a shorter `str` the check costs more than the cached UTF-8 takes memory.
const ASCII_CHECK_MIN: isize = 1 << 9;

impl Text<'_> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(text) => text,
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
        match borrow_str(object) {
            Some(text) => Ok(Self::Borrowed(text)),
            None => convert(object, true),
        }
    }
}

/// A text to encode: its bytes, or the code points of a `str` that are transcoded while it is
/// encoded.
pub(crate) enum EncodeSource<'a> {
    Text(Text<'a>),
    Units(StrUnits<'a>),
}

/// Characters from which on a `str` is transcoded in parts: two parts of `encode_units`. Warm
/// multilingual text 132 → 150–160 MB/s (`docs/notes/python-boundary.md`).
const UNITS_MIN: usize = 1 << 17;

impl<'a> EncodeSource<'a> {
    /// Reads a text of a batch, of any length without a copy. The thread that encodes the text
    /// transcodes it.
    pub(crate) fn try_from_batch(object: Borrowed<'a, '_, PyAny>) -> PyResult<Self> {
        Self::try_from_object(object, 0)
    }

    #[inline(always)]
    fn try_from_object(object: Borrowed<'a, '_, PyAny>, units_min: usize) -> PyResult<Self> {
        match borrow_str(object) {
            Some(text) => Ok(Self::Text(Text::Borrowed(text))),
            None => match object.cast::<PyString>().ok().and_then(str_units) {
                Some(units) if units.len() >= units_min => Ok(Self::Units(units)),
                _ => convert(object, true).map(Self::Text),
            },
        }
    }

    /// Returns the bytes of the text. For code points it is an estimate of 3 bytes each, which few
    /// texts exceed.
    #[inline]
    pub(crate) fn bytes_max(&self) -> usize {
        match self {
            Self::Text(text) => text.bytes().len(),
            Self::Units(units) => units.len() * 3,
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for EncodeSource<'a> {
    type Error = PyErr;

    #[inline(always)]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Self::try_from_object(object, UNITS_MIN)
    }
}

impl TextSource for EncodeSource<'_> {
    fn bytes_max(&self) -> usize {
        self.bytes_max()
    }

    fn read<'t>(&'t self, buffer: &'t mut Vec<u8>) -> Option<&'t [u8]> {
        match self {
            Self::Text(text) => Some(text.bytes()),
            Self::Units(units) => {
                buffer.clear();
                units.utf8_into(buffer)?;
                Some(buffer)
            }
        }
    }
}

/// A text whose characters are exactly the characters of the `str`. Lone surrogates are refused.
pub(crate) struct StrictText<'a>(pub(crate) Text<'a>);

impl<'a, 'py> FromPyObject<'a, 'py> for StrictText<'a> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match borrow_str(object) {
            Some(text) => Ok(Self(Text::Borrowed(text))),
            None => convert(object, false).map(Self),
        }
    }
}

/// Returns the first, or the last, `characters` characters of a `str` that would have to be
/// transcoded. Returns `None` for a `str` that has no more, or that can be borrowed.
pub(crate) fn copy_part<'py>(
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

/// Returns the UTF-8 of a `str` that is ASCII, or that is short and has no lone surrogates,
/// borrowed from the object. `None` for any other object means that the caller converts it.
fn borrow_str<'a>(object: Borrowed<'a, '_, PyAny>) -> Option<&'a [u8]> {
    let text = object.cast::<PyString>().ok()?;
    let units = str_units(text);
    if let Some(StrUnits::Ascii(text)) = units {
        return Some(text);
    }
    // SAFETY: `text` is a str.
    let length = unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) };
    if length >= ASCII_CHECK_MIN && (units.is_some() || !is_ascii(&text)) {
        return None;
    }
    <&str>::extract(object).ok().map(str::as_bytes)
}

/// Converts an object that [`borrow_str`] does not borrow to bytes: a `str` to its UTF-8, a buffer
/// to a copy. Lone surrogates are refused, or replaced if `replaces_surrogates`. Any other object
/// raises `TypeError`.
#[cold]
fn convert<'a>(object: Borrowed<'a, '_, PyAny>, replaces_surrogates: bool) -> PyResult<Text<'a>> {
    if let Ok(text) = object.cast::<PyString>() {
        if let Some(utf8) = str_units(text).and_then(|units| units.utf8()) {
            return Ok(Text::Copied(utf8));
        }
        let bytes = match text.encode_utf8() {
            Err(_) if replaces_surrogates => replace_surrogates(&text)?.encode_utf8()?,
            bytes => bytes?,
        };
        return Ok(Text::Bytes(bytes.into()));
    }
    if let Ok(text) = <&[u8]>::extract(object) {
        return Ok(Text::Borrowed(text));
    }
    match PyBuffer::<u8>::get(&object) {
        Ok(buffer) => Ok(Text::Copied(buffer.to_vec(object.py())?)),
        Err(_) => {
            let class = object.get_type().name()?;
            let many = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
            let hint = if many { "; encode_batch takes many texts" } else { "" };
            Err(PyTypeError::new_err(format!("a text is str or bytes, not {class}{hint}")))
        }
    }
}

/// Returns the bytes of a `str`, borrowed if possible. A lone surrogate becomes three bytes that
/// are not UTF-8, so that search finds it like any other character.
pub(crate) fn encode_surrogates<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Text<'a>> {
    if let Some(text) = borrow_str(text.as_any().as_borrowed()) {
        return Ok(Text::Borrowed(text));
    }
    if let Some(utf8) = str_units(text.as_borrowed()).and_then(|units| units.utf8()) {
        return Ok(Text::Copied(utf8));
    }
    let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    Ok(Text::Bytes(bytes.cast_into::<PyBytes>()?.into()))
}

/// Returns the code points of a `str` in place, borrowed. Returns `None` if this Python has an
/// unknown layout or the `str` is of a subclass; then the caller has Python encode it.
#[inline]
fn str_units<'a>(text: Borrowed<'a, '_, PyString>) -> Option<StrUnits<'a>> {
    StrLayout::detect(text.py())?.units(text)
}

/// Calls the method `isascii` of a `str`. A subclass that answers wrongly harms nothing: both ways
/// to read the text give its UTF-8.
fn is_ascii(text: &Bound<'_, PyString>) -> bool {
    let answer = text.call_method0(intern!(text.py(), "isascii"));
    answer.and_then(|answer| answer.is_truthy()).unwrap_or(false)
}

/// Returns whether a `str` of one character is the first half of a surrogate pair. Its code points
/// are U+D800 to U+DBFF, and their three bytes are ED A0 80 to ED AF BF.
pub(crate) fn is_high_surrogate(character: &Bound<'_, PyString>) -> PyResult<bool> {
    let bytes = encode_surrogates(character)?;
    Ok(matches!(bytes.bytes(), [0xED, 0xA0..=0xAF, _]))
}

/// Makes a new `str` without lone surrogates, as tiktoken does: pairs become their character,
/// others U+FFFD. Python's codec for UTF-16 does it, so it is called only after UTF-8 has failed.
fn replace_surrogates<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let wide = text.call_method1("encode", ("utf-16", "surrogatepass"))?;
    Ok(wide.call_method1("decode", ("utf-16", "replace"))?.cast_into()?)
}

impl FromPyObject<'_, '_> for OwnedText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text = match Text::extract(object)? {
            Text::Borrowed(_) => match object.cast::<PyString>() {
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

/// Returns the number of characters of UTF-8: its bytes that do not continue a character.
pub(crate) fn count_chars(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// Converts byte positions of a text to positions in characters.
///
/// Positions that rise or fall steadily are converted in linear time together, because each counts
/// the characters from the position before it. For example, in "né 語" byte 4 is character 3.
pub(crate) struct CharCounter<'a> {
    text: &'a [u8],
    /// Whether positions stay bytes: the text is ASCII, or is not a `str`.
    is_bytewise: bool,
    byte: usize,
    character: usize,
}

impl<'a> CharCounter<'a> {
    pub(crate) fn new(text: &'a [u8], is_bytewise: bool) -> Self {
        Self { text, is_bytewise, byte: 0, character: 0 }
    }

    /// Converts a byte position to a position in characters. It counts from the position of the
    /// call before, so rising positions cost one pass over the text in all.
    pub(crate) fn position_at(&mut self, byte: usize) -> usize {
        if self.is_bytewise {
            return byte;
        }
        if byte >= self.byte {
            self.character += count_chars(&self.text[self.byte..byte]);
        } else {
            self.character -= count_chars(&self.text[byte..self.byte]);
        }
        self.byte = byte;
        self.character
    }
}
