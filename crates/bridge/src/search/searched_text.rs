//! The memory of a needle or a text, and the elements in it.
//!
//! ```text
//! Python                               SearchedText   TextView
//! str                                  Str            Chars: UTF-8
//! bytes                                Bytes          Bytes
//! bytearray, memoryview, other buffer  Buffer         Bytes
//! array of 16-bit ids                  Ids16          Ids16
//! array of 32-bit ids                  Ids32          Ids32
//! list of ids, other array             List           Ids32: a copy
//! ```
//!
//! For example, a `numpy.uint16` array of ids is searched in place, two bytes an id. A list of ids
//! is copied, four bytes an id. Needle and text have the same [`ElementKind`].

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeton::Id;

use super::ID_LIMIT;
use crate::ids;
use crate::text::{Text, encode_surrogates};

/// The elements of a needle or a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ElementKind {
    Chars,
    Bytes,
    Ids,
}

impl ElementKind {
    pub(super) fn from_object(object: &Bound<'_, PyAny>) -> Self {
        if object.is_instance_of::<PyString>() {
            Self::Chars
        } else if PyBuffer::<u8>::get(object).is_ok() {
            Self::Bytes
        } else {
            Self::Ids
        }
    }

    /// Returns the name of the kind, for error messages that compare needle and text.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chars => "str",
            Self::Bytes => "bytes",
            Self::Ids => "ids",
        }
    }
}

/// The memory of a needle or a text, kept alive while it is searched.
pub(super) enum SearchedText<'a> {
    /// UTF-8, and whether all of it is ASCII.
    Str(Text<'a>, bool),
    Bytes(&'a [u8]),
    Buffer(PyBuffer<u8>),
    Ids16(PyBuffer<u16>),
    Ids32(PyBuffer<u32>),
    List(Vec<Id>),
}

impl<'a> SearchedText<'a> {
    /// Borrows or copies the memory of a needle or a text before a search: `str`, bytes and arrays
    /// in place, a list of ids into a vector. Raises `TypeError` if its elements are not of the
    /// kind of `needle`.
    pub(super) fn try_from_object(
        object: &'a Bound<'_, PyAny>,
        needle: ElementKind,
    ) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            Self::check_kinds(needle, ElementKind::Chars)?;
            let text = encode_surrogates(text)?;
            let is_ascii = text.bytes().is_ascii();
            return Ok(Self::Str(text, is_ascii));
        }
        if let Ok(text) = object.cast::<PyBytes>() {
            Self::check_kinds(needle, ElementKind::Bytes)?;
            return Ok(Self::Bytes(text.as_bytes()));
        }
        if let Ok(buffer) = PyBuffer::<u8>::get(object) {
            Self::check_kinds(needle, ElementKind::Bytes)?;
            if !ids::is_native_row(&buffer) {
                let message = "bytes are searched in one row of memory; copy them with bytes()";
                return Err(PyTypeError::new_err(message));
            }
            return Ok(Self::Buffer(buffer));
        }
        if needle != ElementKind::Ids {
            return Err(kinds_differ(needle, &object.get_type().name()?.to_string()));
        }
        if let Ok(buffer) = PyBuffer::<u16>::get(object)
            && ids::is_native_row(&buffer)
        {
            return Ok(Self::Ids16(buffer));
        }
        if let Ok(buffer) = PyBuffer::<u32>::get(object)
            && ids::is_native_row(&buffer)
        {
            return Ok(Self::Ids32(buffer));
        }
        ids::read(object, ID_LIMIT).map(Self::List)
    }

    /// Raises `TypeError` if the kind of a text is not the needle's kind.
    fn check_kinds(needle: ElementKind, text: ElementKind) -> PyResult<()> {
        match needle == text {
            true => Ok(()),
            false => Err(kinds_differ(needle, text.name())),
        }
    }

    /// Returns the elements of the text for a finder of `zeton.search`: UTF-8, bytes or ids. They
    /// are borrowed from the Python object or from the copy of a list; nothing is copied here.
    pub(super) fn view(&self) -> TextView<'_> {
        match self {
            Self::Str(text, is_ascii) => TextView::Chars(text.bytes(), *is_ascii),
            Self::Bytes(text) => TextView::Bytes(text),
            Self::Buffer(buffer) => TextView::Bytes(elements(buffer)),
            Self::Ids16(buffer) => TextView::Ids16(elements(buffer)),
            Self::Ids32(buffer) => TextView::Ids32(elements(buffer)),
            Self::List(ids) => TextView::Ids32(ids),
        }
    }

    /// Returns whether no Python code can write to the memory while the GIL is released.
    pub(super) fn is_immutable(&self) -> bool {
        match self {
            Self::Str(..) | Self::Bytes(_) | Self::List(_) => true,
            Self::Buffer(buffer) => buffer.readonly(),
            Self::Ids16(buffer) => buffer.readonly(),
            Self::Ids32(buffer) => buffer.readonly(),
        }
    }
}

/// Makes the `TypeError` for a text of another kind than the needle; the caller raises it.
fn kinds_differ(needle: ElementKind, text: &str) -> PyErr {
    let needle = needle.name();
    PyTypeError::new_err(format!("the needle is {needle} and the text {text}; give both alike"))
}

/// Returns the elements of a buffer that [`ids::is_native_row`] has accepted, borrowed in place. If
/// the buffer is writable, the caller holds the GIL while it reads them.
fn elements<T: pyo3::buffer::Element>(buffer: &PyBuffer<T>) -> &[T] {
    let count = buffer.item_count();
    if count == 0 {
        return &[];
    }
    // SAFETY: the buffer is contiguous, checked by `is_native_row`, and its elements are of this
    // type and aligned, checked by `PyBuffer`. It keeps its memory alive while it exists. Writable
    // memory is read with the GIL held, so no Python code writes to it at the same time.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), count) }
}

/// The elements of a needle or a text.
#[derive(Clone, Copy)]
pub(super) enum TextView<'a> {
    /// UTF-8, and whether all of it is ASCII.
    Chars(&'a [u8], bool),
    Bytes(&'a [u8]),
    Ids16(&'a [u16]),
    Ids32(&'a [u32]),
}
