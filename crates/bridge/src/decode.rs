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

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeton::Id;

use crate::encode::thread_count;
use crate::errors::raise;
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
        py.detach(|| self.tokenizer.decode(&ids)).map_err(|error| raise(py, &error))
    }

    /// Returns the bytes of each list of ids of a batch, for the methods that decode many lists.
    /// The lists are read with the GIL into vectors, which threads decode without it. An unknown id
    /// in any list raises `IdError`.
    pub(crate) fn decode_lists(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        threads: Option<i128>,
    ) -> PyResult<Vec<Vec<u8>>> {
        let vocab_size = self.tokenizer.vocab_size();
        let batch: Vec<Vec<Id>> =
            batch.try_iter()?.map(|ids| ids::read(&ids?, vocab_size)).collect::<PyResult<_>>()?;
        let bytes = batch.iter().map(Vec::len).sum::<usize>() * BYTES_RESERVED_PER_ID;
        let threads = thread_count(threads, bytes);
        let texts = py.detach(|| self.tokenizer.decode_batch(&batch, threads));
        texts.map_err(|error| raise(py, &error))
    }
}

/// Makes a `str` of bytes, as `bytes.decode` does. A handler `errors` that is unknown is refused
/// only if the bytes have errors.
pub(crate) fn make_str<'py>(
    py: Python<'py>,
    bytes: &[u8],
    errors: &str,
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
