//! The calls that decode: ids → bytes → `str`.
//!
//! ```text
//! list or plain array     256 ids at a time ── decode_into ──┐
//! any other iterable      all ids ── decode ─────────────────┴─▶ bytes ─▶ PyBytes
//!                                                                └──────▶ str
//!
//! bytes, up to 511             PyUnicode_DecodeUTF8
//! bytes, longer and UTF-8      StrLayout::make_str, in a third of that time
//! bytes that are not UTF-8     PyUnicode_DecodeUTF8, or `bytes.decode` for other error handlers
//! ```
//!
//! For example, `decode([9906, 1917], "strict")` of cl100k reads the list in one block and makes
//! the `str` "Hello world" of 11 bytes by `PyUnicode_DecodeUTF8`.
//!
//! Cost: 2.36 million ids of English take 16 to 18.6 ms from a list and 9 to 10.5 ms from an array
//! (`docs/notes/python-boundary.md`).

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};
use zeton::{Error, Id};

use crate::encode::{Threads, thread_count};
use crate::errors::{detach, raise};
use crate::ids;
use crate::str_layout::{StrLayout, WIDENED_MIN};
use crate::tokenizer_core::TokenizerCore;

/// Bytes of text that are reserved for each id. Not measured; a token of English has 4 to 5 bytes.
pub(crate) const BYTES_RESERVED_PER_ID: usize = 5;

impl TokenizerCore {
    /// Returns the bytes of ids. The ids of a list are decoded while they are read, so the GIL
    /// stays held.
    pub(crate) fn decode_one(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let mut bytes = Vec::new();
        let decode = |ids: &[Id], left: usize| {
            if bytes.is_empty() {
                bytes = zeton::sys::huge_buffer::vec_with_capacity(left * BYTES_RESERVED_PER_ID);
            }
            self.tokenizer.decode_into(ids, &mut bytes)
        };
        if ids::visit_blocks(ids, decode)? {
            return Ok(bytes);
        }
        let ids = ids::read(ids, self.tokenizer.vocab_size())?;
        detach(py, || self.tokenizer.decode(&ids))
    }

    /// Returns the bytes of each list of ids of a batch, for the methods that decode many lists.
    /// The lists are read with the GIL into vectors, which threads decode without it. An unknown id
    /// in any list raises `IdError`.
    pub(crate) fn decode_lists(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Vec<u8>>> {
        let vocab_size = self.tokenizer.vocab_size();
        let is_text = batch.is_instance_of::<PyString>() || batch.is_instance_of::<PyBytes>();
        let Some(lists) = batch.try_iter().ok().filter(|_| !is_text) else {
            let class = batch.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a batch is a list of lists of ids, not {class}"
            )));
        };
        let read = |ids: PyResult<Bound<'_, PyAny>>| {
            let ids = ids?;
            if ids.is_instance_of::<PyInt>() {
                let message = "a batch is a list of lists of ids, not one list of ids";
                return Err(PyTypeError::new_err(message));
            }
            ids::read(&ids, vocab_size)
        };
        let batch: Vec<Vec<Id>> = lists.map(read).collect::<PyResult<_>>()?;
        let bytes = batch.iter().map(Vec::len).sum::<usize>() * BYTES_RESERVED_PER_ID;
        let threads = thread_count(threads, bytes);
        detach(py, || self.tokenizer.decode_batch(&batch, threads))
    }
}

/// A handler of bytes that are not UTF-8, which Python knows.
#[derive(Clone, Copy)]
pub(crate) struct ErrorHandler<'n>(&'n str);

impl<'n> ErrorHandler<'n> {
    /// Checks the argument `errors`. A name that is no handler raises `TextError`, whether or not
    /// the bytes need a handler.
    pub(crate) fn try_from_name(py: Python<'_>, name: &'n str) -> PyResult<Self> {
        if !matches!(name, "replace" | "strict" | "ignore") {
            let handler = py.import("codecs")?.call_method1("lookup_error", (name,));
            if handler.is_err() {
                return Err(raise(py, &Error::UnknownHandler { name: name.to_owned() }));
            }
        }
        Ok(Self(name))
    }
}

/// Makes a `str` of bytes, as `bytes.decode` does.
pub(crate) fn make_str<'py>(
    py: Python<'py>,
    bytes: &[u8],
    ErrorHandler(errors): ErrorHandler<'_>,
) -> PyResult<Bound<'py, PyString>> {
    if bytes.len() >= WIDENED_MIN
        && let Some(layout) = StrLayout::detect(py)
        && let Ok(text) = simdutf8::basic::from_utf8(bytes)
        && let Some(made) = layout.make_str(py, text)
    {
        return Ok(made);
    }
    let errors = match errors {
        "replace" => c"replace",
        "strict" => c"strict",
        "ignore" => c"ignore",
        _ if std::str::from_utf8(bytes).is_ok() => c"strict",
        _ => {
            let decoded = PyBytes::new(py, bytes).call_method1("decode", ("utf-8", errors))?;
            return Ok(decoded.cast_into()?);
        }
    };
    // SAFETY: `bytes.len()` bytes are readable. The call returns a new reference to a str, or null
    // and sets an exception.
    let text = unsafe {
        let start = bytes.as_ptr().cast();
        let text = ffi::PyUnicode_DecodeUTF8(start, bytes.len() as isize, errors.as_ptr());
        Bound::from_owned_ptr_or_err(py, text)?
    };
    Ok(text.cast_into()?)
}
