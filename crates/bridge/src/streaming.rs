//! `Encoder` and `Decoder`: streams of text and of ids, for Python.
//!
//! A stream has a state, so two calls at a time cannot use it. For example, by cl100k:
//!
//! ```text
//! Encoder   push("Hello wor") → [9906]        pending b" wor"
//!           push("ld, 語")    → [1917, 11]    pending b" \xe8\xaa\x9e"
//!           finish()          → [9085, 103, 252]
//! Decoder   push(9906) → "Hello"     push([1917, 11]) → " world,"     finish() → ""
//! ```
//!
//! A `str` may end with the first half of a surrogate pair. It waits for its other half, so that
//! the ids are those of the whole text.
//!
//! The GIL is released for texts from [`DETACH_BYTES`] on, and for lists of ids.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::{PyRuntimeError, PyUnicodeDecodeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PySlice, PyString};
use zeton::streaming::{self, DecoderOptions, Utf8Errors};
use zeton::{Error, Id};

use crate::decode::BYTES_RESERVED_PER_ID;
use crate::encode::{DETACH_BYTES, Threads, thread_count};
use crate::errors::{detach, raise};
use crate::ids::{self, Array};
use crate::limits::ids_max;
use crate::text::{StrictText, Text, encode_surrogates, is_high_surrogate};
use crate::tokenizer_core::TokenizerCore;

/// Bytes of all stops together, because each id is searched for every stop. Not measured.
const STOPS_BYTES_MAX: usize = 1 << 14;

/// Locks the state of a stream, or raises if another call uses it.
///
/// Waiting could deadlock: this thread holds the GIL, and the other call may need the GIL to end.
fn lock_stream<T>(state: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    match state.try_lock() {
        Ok(stream) => Ok(stream),
        Err(TryLockError::Poisoned(stream)) => Ok(stream.into_inner()),
        Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
            "this stream is in use by another call, and has not taken this; give each thread its own",
        )),
    }
}

/// An encoder for a text that arrives in parts: it returns ids once no later text can change them.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Encoder {
    engine: TokenizerCore,
    stream: Mutex<EncoderState>,
}

/// The state of an encoder.
struct EncoderState {
    encoder: streaming::Encoder,
    /// The high surrogate at the end of the last `str`. The next one may begin with its other half.
    high_surrogate: Option<Py<PyString>>,
}

/// The UTF-8 of U+FFFD, which stands for a surrogate without its other half.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

#[pymethods]
impl Encoder {
    #[new]
    fn new(
        py: Python<'_>,
        engine: &Bound<'_, TokenizerCore>,
        allowed_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let engine = engine.get().clone();
        let encoder = streaming::Encoder::new(engine.allow_specials(py, allowed_special)?);
        let stream = Mutex::new(EncoderState { encoder, high_surrogate: None });
        Ok(Self { engine, stream })
    }

    /// Take more text, str or bytes, and return the ids that no later text can change.
    fn push<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.push_text(py, text, |_| 1)?;
        self.engine.lists.make_list(py, &ids, self.engine.tokenizer.vocab_size())
    }

    /// Take more text and return the number of ids that no later text can change.
    fn push_count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<usize> {
        Ok(self.push_text(py, text, |bytes| thread_count(threads, bytes))?.len())
    }

    /// Take more text and return the ids that no later text can change as a NumPy array.
    fn push_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Array<'py, Id>> {
        let mut ids = self.push_text(py, text, |bytes| thread_count(threads, bytes))?;
        ids::make_array(py, &mut ids)
    }

    /// End the text and return its remaining ids; the next push begins another text.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut guard = lock_stream(&self.stream)?;
        let (tokenizer, mut ids) = (&self.engine.tokenizer, Vec::new());
        let lone = guard.high_surrogate.take().map_or(&[][..], |_| REPLACEMENT);
        let encoder = &mut guard.encoder;
        detach(py, || {
            encoder.push(tokenizer, lone, 1, &mut ids)?;
            encoder.finish(tokenizer, &mut ids)
        })?;
        self.engine.lists.make_list(py, &ids, tokenizer.vocab_size())
    }

    /// The text whose ids are not returned yet, as bytes. A high surrogate at its end, whose other
    /// half may come, is the three bytes of the error handler "surrogatepass".
    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = lock_stream(&self.stream)?;
        let pending = state.encoder.pending();
        match &state.high_surrogate {
            None => Ok(PyBytes::new(py, pending)),
            Some(high) => {
                let high = encode_surrogates(high.bind(py))?;
                Ok(PyBytes::new(py, &[pending, high.bytes()].concat()))
            }
        }
    }

    /// The maximum of pending bytes for text in UTF-8 without specials, or None if there is none.
    #[getter]
    fn pending_bytes_max(&self, py: Python<'_>) -> Option<usize> {
        py.detach(|| self.engine.tokenizer.splitter().pending_bytes_max().ok())
    }

    /// The reason why `pending_bytes_max` is None, or None if it is a number.
    #[getter]
    fn why_unbounded(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.engine.tokenizer.splitter().pending_bytes_max().err())
    }
}

impl Encoder {
    /// Takes more text, and returns the ids that are now final. `threads` gives the number of
    /// threads for a number of bytes.
    ///
    /// A high surrogate at the end of a `str` waits for the next text. For example, after
    /// `"\ud83d"` the text `"\ude00"` makes the character U+1F600.
    fn push_text(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        threads: impl Fn(usize) -> usize,
    ) -> PyResult<Vec<Id>> {
        let mut guard = lock_stream(&self.stream)?;
        let state = &mut *guard;
        if state.high_surrogate.is_none() {
            match text.extract::<StrictText<'_>>() {
                Ok(text) => return self.push_bytes(py, state, text.0.bytes(), threads),
                Err(error) if !error.is_instance_of::<PyUnicodeEncodeError>(py) => {
                    return Err(error);
                }
                Err(_) => (),
            }
        }
        let Ok(part) = text.cast::<PyString>() else {
            // Bytes follow a high surrogate, which stays alone.
            let text: Text<'_> = text.extract()?;
            state.high_surrogate = None;
            let text = [REPLACEMENT, text.bytes()].concat();
            return self.push_bytes(py, state, &text, threads);
        };
        let (mut whole, mut high) = (part.as_any().clone(), None);
        if let Some(before) = &state.high_surrogate {
            whole = before.bind(py).add(part)?;
        }
        if let Some(last) = whole.len()?.checked_sub(1) {
            let unit = whole.get_item(last)?.cast_into::<PyString>()?;
            if is_high_surrogate(&unit)? {
                whole = whole.get_item(PySlice::new(py, 0, last as isize, 1))?;
                high = Some(unit.unbind());
            }
        }
        let text: Text<'_> = whole.extract()?;
        state.high_surrogate = high;
        self.push_bytes(py, state, text.bytes(), threads)
    }

    fn push_bytes(
        &self,
        py: Python<'_>,
        state: &mut EncoderState,
        text: &[u8],
        threads: impl Fn(usize) -> usize,
    ) -> PyResult<Vec<Id>> {
        let (encoder, tokenizer) = (&mut state.encoder, &self.engine.tokenizer);
        let threads = threads(text.len());
        let room = text.len() / ids::TEXT_BYTES_PER_ID;
        let mut ids = zeton::sys::huge_buffer::vec_with_capacity(room);
        match text.len() < DETACH_BYTES {
            true => encoder
                .push(tokenizer, text, threads, &mut ids)
                .map_err(|error| raise(py, &error))?,
            false => detach(py, || encoder.push(tokenizer, text, threads, &mut ids))?,
        }
        Ok(ids)
    }
}

/// A decoder for ids that arrive in parts: it returns whole characters, up to a stop string.
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
        py: Python<'_>,
        errors: &str,
        graphemes: bool,
        stops: Vec<Bound<'_, PyString>>,
        rewind_max: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let rewind_max = ids_max(rewind_max)?;
        let utf8_errors = match errors {
            "strict" => Utf8Errors::Strict,
            "replace" => Utf8Errors::Replace,
            "ignore" => Utf8Errors::Ignore,
            _ => return Err(raise(py, &Error::UnknownHandler { name: errors.to_owned() })),
        };
        let read_stop = |stop: &Bound<'_, PyString>| {
            stop.extract::<String>().map_err(|_| match stop.repr() {
                Ok(stop) => raise(py, &Error::SurrogateStop { stop: stop.to_string() }),
                Err(error) => error,
            })
        };
        let stops: Vec<String> = stops.iter().map(read_stop).collect::<PyResult<_>>()?;
        let bytes: usize = stops.iter().map(String::len).sum();
        if bytes > STOPS_BYTES_MAX {
            return Err(raise(py, &Error::StopsTooLong { bytes, most: STOPS_BYTES_MAX }));
        }
        if stops.iter().any(String::is_empty) {
            return Err(raise(py, &Error::EmptyStop));
        }
        let options = DecoderOptions { utf8_errors, keep_graphemes: graphemes, stops, rewind_max };
        let stream = Mutex::new(streaming::Decoder::new(options));
        Ok(Self { engine: engine.get().clone(), stream })
    }

    /// Take an id, or many, and return the characters that they complete; after a stop there are
    /// none.
    fn push<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyString>> {
        let (mut guard, mut text) = (lock_stream(&self.stream)?, String::new());
        let stream = &mut *guard;
        let (tokenizer, vocab_size) = (&self.engine.tokenizer, self.engine.tokenizer.vocab_size());
        let pushed = match ids.is_instance_of::<PyInt>() {
            true => stream.push(tokenizer, &[ids::read_one(ids, vocab_size)?], &mut text),
            false => {
                let ids = match ids::read(ids, vocab_size) {
                    // A number of NumPy or of a tensor is no int, but has `__index__`.
                    Err(error) => match ids.call_method0("__index__") {
                        Ok(id) => vec![ids::read_one(&id, vocab_size)?],
                        Err(_) => return Err(error),
                    },
                    ids => ids?,
                };
                text.reserve(ids.len() * BYTES_RESERVED_PER_ID);
                py.detach(|| stream.push(tokenizer, &ids, &mut text))
            }
        };
        pushed.map_err(|error| raise_decode_error(py, &error))?;
        Ok(PyString::new(py, &text))
    }

    /// End the text and return its remaining characters; the next push begins another text.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let mut text = String::new();
        lock_stream(&self.stream)?
            .finish(&mut text)
            .map_err(|error| raise_decode_error(py, &error))?;
        Ok(PyString::new(py, &text))
    }

    /// Take back the last `n` ids and return the number of returned characters that go with them.
    fn rewind(&self, py: Python<'_>, n: &Bound<'_, PyAny>) -> PyResult<usize> {
        let n = ids_max(n)?;
        lock_stream(&self.stream)?.rewind(n).map_err(|error| raise(py, &error))
    }

    /// The stop string that has ended the text, or None.
    #[getter]
    fn stopped(&self) -> PyResult<Option<String>> {
        Ok(lock_stream(&self.stream)?.found_stop().map(str::to_owned))
    }
}

/// Makes the exception of an error. Bytes that are not UTF-8 raise `UnicodeDecodeError`, as in
/// `bytes.decode`.
fn raise_decode_error(py: Python<'_>, error: &zeton::Error) -> PyErr {
    if let zeton::Error::NotUtf8 { bytes } = error {
        let exception = PyUnicodeDecodeError::new(
            py,
            c"utf-8",
            bytes,
            0..bytes.len(),
            c"not UTF-8; give errors=\"replace\" to read it as U+FFFD",
        );
        return exception.map_or_else(|error| error, |error| PyErr::from_value(error.into_any()));
    }
    raise(py, error)
}
