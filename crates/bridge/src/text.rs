//! Python's texts, as bytes that stay readable while the GIL is released.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};

/// A `str` or bytes; copied only where Python holds no UTF-8 of it.
pub(crate) enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
    Copied(Vec<u8>),
}

impl Text {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(text) => text,
            Self::Copied(text) => text,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return match PyBackedStr::try_from(text.to_owned()) {
                Ok(text) => Ok(Self::Str(text)),
                Err(_) => without_surrogates(&text).map(Self::Str),
            };
        }
        if let Ok(text) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(text.to_owned().into()));
        }
        match PyBuffer::<u8>::get(&object) {
            Ok(buffer) => Ok(Self::Copied(buffer.to_vec(object.py())?)),
            Err(_) => {
                let class = object.get_type().name()?;
                Err(PyTypeError::new_err(format!("a text is str or bytes, not {class}")))
            }
        }
    }
}

/// Reads lone surrogates as tiktoken does: pairs become their character, the rest U+FFFD.
fn without_surrogates(text: &Bound<'_, PyString>) -> PyResult<PyBackedStr> {
    let wide = text.call_method1("encode", ("utf-16", "surrogatepass"))?;
    wide.call_method1("decode", ("utf-16", "replace"))?.extract()
}
