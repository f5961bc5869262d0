//! Phrases in arrays of ids, for Python.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use zeton::phrases::{self, Number, Occurrence};
use zeton::{Id, Tokenizer};

use crate::errors::raise;
use crate::ids;
use crate::text::HeldText;
use crate::tokenizer_core::TokenizerCore;

/// The starts, the core and the ends of all sequences that spell a phrase.
type Spelled = (Vec<Vec<Id>>, Vec<Id>, Vec<Vec<Id>>);

/// Returns the sequences of ids that can spell a phrase inside a longer text.
#[pyfunction]
pub(crate) fn spell_phrase(
    py: Python<'_>,
    engine: &Bound<'_, TokenizerCore>,
    phrase: HeldText,
) -> PyResult<Spelled> {
    let tokenizer = &engine.get().tokenizer;
    let found = py.detach(|| tokenizer.spellings(phrase.0.bytes()));
    let found = found.map_err(|error| raise(py, &error))?;
    Ok((found.starts, found.core, found.ends))
}

/// Phrases that are to be found in the ids of one tokenizer.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct PhraseFinder {
    tokenizer: Arc<Tokenizer>,
    phrases: phrases::Phrases,
}

#[pymethods]
impl PhraseFinder {
    #[new]
    fn new(
        py: Python<'_>,
        engine: &Bound<'_, TokenizerCore>,
        phrases: Vec<HeldText>,
        sample: Vec<Id>,
    ) -> PyResult<Self> {
        let tokenizer = engine.get().tokenizer.clone();
        let phrases = phrases.iter().map(|phrase| phrase.0.bytes().to_vec()).collect();
        let made = py.detach(|| tokenizer.phrases(phrases, &sample));
        Ok(Self { phrases: made.map_err(|error| raise(py, &error))?, tokenizer })
    }

    /// Return first id, end, offset in the first id and phrase, of those with one id in a range.
    fn find(
        &self,
        ids: &Bound<'_, PyAny>,
        start: usize,
        stop: usize,
    ) -> PyResult<Vec<(usize, usize, usize, usize)>> {
        let mut found = Vec::new();
        self.each(ids, start..stop, |occurrence| found.push(occurrence))?;
        found.sort_unstable();
        let told = found.into_iter().map(|it| (it.first, it.end, it.offset, it.phrase));
        Ok(told.collect())
    }

    /// Return how often each phrase occurs, of those with one id in a range.
    fn count(&self, ids: &Bound<'_, PyAny>, start: usize, stop: usize) -> PyResult<Vec<u64>> {
        let mut counts = vec![0; self.phrases.count()];
        self.each(ids, start..stop, |occurrence| counts[occurrence.phrase] += 1)?;
        Ok(counts)
    }
}

impl PhraseFinder {
    fn each(
        &self,
        ids: &Bound<'_, PyAny>,
        range: Range<usize>,
        each: impl FnMut(Occurrence) + Send,
    ) -> PyResult<()> {
        let py = ids.py();
        if let Some(buffer) = plain_buffer(ids)? {
            if let Ok(numbers) = buffer.as_typed::<u16>() {
                return self.each_in_array(py, numbers, range, each);
            }
            if let Ok(numbers) = buffer.as_typed::<u32>() {
                return self.each_in_array(py, numbers, range, each);
            }
            if let Ok(numbers) = buffer.as_typed::<i32>() {
                return self.each_in_array(py, numbers, range, each);
            }
        }
        let numbers = ids::read(ids, self.tokenizer.vocab_size())?;
        py.detach(|| self.each_in(&numbers, range, each));
        Ok(())
    }

    fn each_in_array<N: Number + Element + Sync>(
        &self,
        py: Python<'_>,
        buffer: &PyBuffer<N>,
        range: Range<usize>,
        each: impl FnMut(Occurrence) + Send,
    ) -> PyResult<()> {
        let cells = buffer.as_slice(py).ok_or_else(|| PyBufferError::new_err("not in a row"))?;
        // SAFETY: a cell has the layout of its number, and the buffer is held until the end. Nobody
        // writes to memory that may only be read; to other memory nobody does while the GIL is held.
        let numbers = unsafe { slice::from_raw_parts(cells.as_ptr().cast::<N>(), cells.len()) };
        match buffer.readonly() {
            true => py.detach(|| self.each_in(numbers, range, each)),
            false => self.each_in(numbers, range, each),
        }
        Ok(())
    }

    fn each_in<N: Number>(&self, ids: &[N], range: Range<usize>, each: impl FnMut(Occurrence)) {
        let stop = range.end.min(ids.len());
        let range = range.start.min(stop)..stop;
        self.tokenizer.find_phrases(&self.phrases, ids, range, each);
    }
}

/// Returns the memory of an array of one dimension, in one stretch and in the order of this machine.
fn plain_buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<PyUntypedBuffer>> {
    if !ids::is_plain_array(object)? {
        return Ok(None);
    }
    let buffer = PyUntypedBuffer::get(object)?;
    let foreign = buffer.format().to_bytes().first().is_some_and(|order| b"<>!".contains(order));
    Ok((buffer.dimensions() == 1 && buffer.is_c_contiguous() && !foreign).then_some(buffer))
}
