//! `PhraseFinder`: phrases in arrays of ids, for Python.
//!
//! Arrays of 16-bit and 32-bit numbers are searched in place, for example a memory-mapped shard.
//! The GIL is released if the array is read-only, because nobody can write to it then. Other ids
//! are copied. For example, `New York` in the ids of "a NewNew Yorker" by cl100k:
//!
//! ```text
//! ids           64    1561    3648    64874
//! tokens        a     ␣New    New     ␣Yorker
//! find(ids, 0, 4)     [(2, 4, 0, 0)]           first id, end, offset, phrase
//! ```

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use zeton::phrases::{IdNumber, Occurrence, Phrases};
use zeton::{Id, Tokenizer};

use crate::errors::raise;
use crate::ids;
use crate::text::OwnedText;
use crate::tokenizer_core::TokenizerCore;

/// The starts, the core and the ends of the sequences that spell a phrase.
type SpellingTuple = (Vec<Vec<Id>>, Vec<Id>, Vec<Vec<Id>>);

/// Return the sequences of ids that can spell a phrase inside a longer text.
///
/// The search runs without the GIL; too many sequences raise `SearchError`.
#[pyfunction]
pub(crate) fn spell_phrase(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    phrase: OwnedText,
) -> PyResult<SpellingTuple> {
    let tokenizer = &engine.get().tokenizer;
    let found = py.detach(|| tokenizer.find_spellings(phrase.0.bytes()));
    let found = found.map_err(|error| raise(py, &error))?;
    Ok((found.starts, found.core, found.ends))
}

/// Phrases to be found in the ids of one tokenizer.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct PhraseFinder {
    tokenizer: Arc<Tokenizer>,
    phrases: Phrases,
}

#[pymethods]
impl PhraseFinder {
    #[new]
    fn new(
        py: Python<'_>,
        engine: &Bound<'_, TokenizerCore>,
        phrases: Vec<OwnedText>,
        sample: Vec<Id>,
    ) -> PyResult<Self> {
        let tokenizer = engine.get().tokenizer.clone();
        let phrases = phrases.iter().map(|phrase| phrase.0.bytes().to_vec()).collect();
        let compiled = py.detach(|| tokenizer.compile_phrases(phrases, &sample));
        Ok(Self { phrases: compiled.map_err(|error| raise(py, &error))?, tokenizer })
    }

    /// Return the first id, end, offset in the first id, and phrase of each occurrence in a range.
    fn find(
        &self,
        ids: &Bound<'_, PyAny>,
        start: usize,
        stop: usize,
    ) -> PyResult<Vec<(usize, usize, usize, usize)>> {
        let mut found = Vec::new();
        self.visit_occurrences(ids, start..stop, |occurrence| found.push(occurrence))?;
        found.sort_unstable();
        let to_tuple = |found: Occurrence| (found.first, found.end, found.offset, found.phrase);
        Ok(found.into_iter().map(to_tuple).collect())
    }

    /// Return the number of occurrences of each phrase in a range.
    ///
    /// The range is in ids, and is clamped to the length of `ids`.
    fn count(&self, ids: &Bound<'_, PyAny>, start: usize, stop: usize) -> PyResult<Vec<u64>> {
        let mut counts = vec![0; self.phrases.count()];
        self.visit_occurrences(ids, start..stop, |occurrence| counts[occurrence.phrase] += 1)?;
        Ok(counts)
    }
}

impl PhraseFinder {
    /// Calls `visit` with the occurrences whose anchor lies in a range of ids of any kind.
    fn visit_occurrences(
        &self,
        ids: &Bound<'_, PyAny>,
        range: Range<usize>,
        visit: impl FnMut(Occurrence) + Send,
    ) -> PyResult<()> {
        let py = ids.py();
        if let Some(buffer) = native_row(ids)? {
            if let Ok(numbers) = buffer.as_typed::<u16>() {
                return self.visit_in_array(py, numbers, range, visit);
            }
            if let Ok(numbers) = buffer.as_typed::<u32>() {
                return self.visit_in_array(py, numbers, range, visit);
            }
            if let Ok(numbers) = buffer.as_typed::<i32>() {
                return self.visit_in_array(py, numbers, range, visit);
            }
        }
        let numbers = ids::read(ids, self.tokenizer.vocab_size())?;
        py.detach(|| self.visit_in_slice(&numbers, range, visit));
        Ok(())
    }

    /// Searches the ids of a Python array in place and calls `visit` for each occurrence of a
    /// phrase. The GIL is released if the array is read-only, and held if Python code could write
    /// to it. Raises `BufferError` if the array is not one row of memory.
    fn visit_in_array<N: IdNumber + Element + Sync>(
        &self,
        py: Python<'_>,
        buffer: &PyBuffer<N>,
        range: Range<usize>,
        visit: impl FnMut(Occurrence) + Send,
    ) -> PyResult<()> {
        let cells = buffer.as_slice(py).ok_or_else(|| PyBufferError::new_err("not in a row"))?;
        // SAFETY: a `ReadOnlyCell` has the layout of its number, and the buffer keeps the memory
        // alive until the end of this function. Nobody writes to read-only memory. Writable memory
        // is read with the GIL held, so no Python code writes to it.
        let numbers = unsafe { slice::from_raw_parts(cells.as_ptr().cast::<N>(), cells.len()) };
        match buffer.readonly() {
            true => py.detach(|| self.visit_in_slice(numbers, range, visit)),
            false => self.visit_in_slice(numbers, range, visit),
        }
        Ok(())
    }

    /// Calls `visit` for each occurrence whose anchor lies in a range of the ids, with the range
    /// clamped to the slice. It touches no Python object.
    fn visit_in_slice<N: IdNumber>(
        &self,
        ids: &[N],
        range: Range<usize>,
        visit: impl FnMut(Occurrence),
    ) {
        let stop = range.end.min(ids.len());
        let range = range.start.min(stop)..stop;
        self.tokenizer.find_phrases(&self.phrases, ids, range, visit);
    }
}

/// Returns the buffer of a plain array, if it is one row of memory in native byte order. `None`
/// means that the ids have to be copied.
fn native_row(object: &Bound<'_, PyAny>) -> PyResult<Option<PyUntypedBuffer>> {
    if !ids::is_plain_array(object)? {
        return Ok(None);
    }
    let buffer = PyUntypedBuffer::get(object)?;
    Ok(ids::is_native_row(&buffer).then_some(buffer))
}
