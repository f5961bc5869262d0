//! Text and ids as they come, for Python.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::{PyRuntimeError, PyUnicodeDecodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString};
use zeton::Id;
use zeton::streaming::{self, Broken, Options};

use crate::errors::raise;
use crate::ids::{self, Array};
use crate::limits::ids_max;
use crate::text::Text;
use crate::tokenizer_core::{DETACH_BYTES, TokenizerCore, threads_or_all};

/// Bytes of all stops together: each id is looked through for all of them.
const STOPS_BYTES_MAX: usize = 1 << 14;

/// Lends the state of a stream, which one thread may use at a time.
///
/// Nobody waits: who waited here with the GIL would keep it from the one who works.
fn lend<T>(state: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    match state.try_lock() {
        Ok(lent) => Ok(lent),
        Err(TryLockError::Poisoned(left)) => Ok(left.into_inner()),
        Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
            "this stream is in use by another call, and has not taken this; give each thread its own",
        )),
    }
}

/// Text comes bit by bit; ids leave as soon as no later text can change them.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Encoder {
    engine: TokenizerCore,
    stream: Mutex<streaming::Encoder>,
}

#[pymethods]
impl Encoder {
    #[new]
    fn new(
        py: Python<'_>,
        engine: &Bound<'_, TokenizerCore>,
        specials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let engine = engine.get().clone();
        let stream = Mutex::new(streaming::Encoder::new(engine.allowed(py, specials)?));
        Ok(Self { engine, stream })
    }

    /// Take more text, str or bytes, and return the ids that no later text can change.
    fn push<'py>(&self, py: Python<'py>, text: Text<'_>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.take(py, text.bytes(), 1)?;
        self.engine.lists.list(py, &ids, self.engine.tokenizer.vocab_size())
    }

    /// Take more text, and return how many ids no later text can change.
    fn push_count(&self, py: Python<'_>, text: Text<'_>, threads: Option<i128>) -> PyResult<usize> {
        let text = text.bytes();
        Ok(self.take(py, text, threads_or_all(threads, text.len()))?.len())
    }

    /// As `push`, on threads, into a numpy array.
    fn push_array<'py>(
        &self,
        py: Python<'py>,
        text: Text<'_>,
        threads: Option<i128>,
    ) -> PyResult<Array<'py, Id>> {
        let text = text.bytes();
        ids::array(py, &mut self.take(py, text, threads_or_all(threads, text.len()))?)
    }

    /// End the text: return the ids of what was held back. Another text may follow.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut lent = lend(&self.stream)?;
        let (stream, tokenizer, mut ids) = (&mut *lent, &self.engine.tokenizer, Vec::new());
        let finished = py.detach(|| stream.finish(tokenizer, &mut ids));
        finished.map_err(|error| raise(py, &error))?;
        self.engine.lists.list(py, &ids, tokenizer.vocab_size())
    }

    /// The text that is held back, as bytes.
    #[getter]
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, lend(&self.stream)?.held()))
    }

    /// The most bytes of a text in UTF-8 that are ever held back, a special's name aside; None if there
    /// is no bound.
    #[getter]
    fn held_max(&self, py: Python<'_>) -> Option<usize> {
        py.detach(|| self.engine.tokenizer.splitter().held_max().ok())
    }

    /// Why there is no bound; None if there is one.
    #[getter]
    fn why_unbounded(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.engine.tokenizer.splitter().held_max().err())
    }
}

impl Encoder {
    fn take(&self, py: Python<'_>, text: &[u8], threads: usize) -> PyResult<Vec<Id>> {
        let mut lent = lend(&self.stream)?;
        let (stream, tokenizer) = (&mut *lent, &self.engine.tokenizer);
        let mut ids = zeton::sys::huge_buffer::vec_with_capacity(text.len() / 3);
        let taken = match text.len() < DETACH_BYTES {
            true => stream.push(tokenizer, text, threads, &mut ids),
            false => py.detach(|| stream.push(tokenizer, text, threads, &mut ids)),
        };
        taken.map_err(|error| raise(py, &error))?;
        Ok(ids)
    }
}

/// Ids come one by one; text leaves in whole characters, and ends where it is told to.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Decoder {
    engine: TokenizerCore,
    stream: Mutex<streaming::Decoder>,
}

#[pymethods]
impl Decoder {
    #[new]
    fn new(
        engine: &Bound<'_, TokenizerCore>,
        errors: &str,
        graphemes: bool,
        stops: Vec<String>,
        rewind_max: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let rewind_max = ids_max(rewind_max)?;
        let broken = match errors {
            "strict" => Broken::Refused,
            "replace" => Broken::Replaced,
            "ignore" => Broken::Ignored,
            _ => {
                let message =
                    format!("errors={errors:?}; give \"replace\", \"ignore\" or \"strict\"");
                return Err(PyValueError::new_err(message));
            }
        };
        let bytes: usize = stops.iter().map(String::len).sum();
        if bytes > STOPS_BYTES_MAX {
            let message = format!("the stops have {bytes} bytes; at most {STOPS_BYTES_MAX} in all");
            return Err(PyValueError::new_err(message));
        }
        if stops.iter().any(String::is_empty) {
            return Err(PyValueError::new_err("a stop is empty; give at least one character"));
        }
        let options = Options { broken, whole_clusters: graphemes, stops, rewind_max };
        let stream = Mutex::new(streaming::Decoder::new(options));
        Ok(Self { engine: engine.get().clone(), stream })
    }

    /// Take an id, or many, and return the text that they complete; after a stop there is none.
    fn push<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyString>> {
        let (mut lent, mut text) = (lend(&self.stream)?, String::new());
        let stream = &mut *lent;
        let (tokenizer, vocab_size) = (&self.engine.tokenizer, self.engine.tokenizer.vocab_size());
        let pushed = match ids.is_instance_of::<PyInt>() {
            true => stream.push(tokenizer, &[ids::read_one(ids, vocab_size)?], &mut text),
            false => {
                let ids = match ids::read(ids, vocab_size) {
                    // What is one number, but no int, says so: numpy's, and those of tensors.
                    Err(error) => match ids.call_method0("__index__") {
                        Ok(id) => vec![ids::read_one(&id, vocab_size)?],
                        Err(_) => return Err(error),
                    },
                    ids => ids?,
                };
                text.reserve(ids.len() * 5);
                py.detach(|| stream.push(tokenizer, &ids, &mut text))
            }
        };
        pushed.map_err(|error| refuse(py, &error))?;
        Ok(PyString::new(py, &text))
    }

    /// End the text: return what was held back. Another text may follow.
    fn flush<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let mut text = String::new();
        lend(&self.stream)?.flush(&mut text).map_err(|error| refuse(py, &error))?;
        Ok(PyString::new(py, &text))
    }

    /// Take the last `n` ids back; return how many characters of the text that was returned are to be
    /// taken back with them.
    fn rewind(&self, py: Python<'_>, n: &Bound<'_, PyAny>) -> PyResult<usize> {
        let n = ids_max(n)?;
        lend(&self.stream)?.rewind(n).map_err(|error| raise(py, &error))
    }

    /// The stop that has ended the text, or None.
    #[getter]
    fn stopped(&self) -> PyResult<Option<String>> {
        Ok(lend(&self.stream)?.stopped().map(str::to_owned))
    }
}

/// Makes the exception for a refusal; bytes that are not UTF-8 are refused in Python's words.
fn refuse(py: Python<'_>, error: &zeton::Error) -> PyErr {
    if let zeton::Error::NotUtf8 { bytes } = error {
        let made = PyUnicodeDecodeError::new(
            py,
            c"utf-8",
            bytes,
            0..bytes.len(),
            c"no character of UTF-8; errors=\"replace\" allows it",
        );
        return made.map_or_else(|error| error, |error| PyErr::from_value(error.into_any()));
    }
    raise(py, error)
}
