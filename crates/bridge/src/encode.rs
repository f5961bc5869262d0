//! The calls that encode: specials, threads and the GIL.
//!
//! Every call of a `TokenizerCore` that encodes or counts goes through here. A text is encoded with
//! or without the GIL, on one thread or many, by its size:
//!
//! ```text
//! bytes of the text     GIL        threads
//! below 4,096           held       1          releasing the GIL would be much of the call
//! below 131,072         released   1          asking for the cores would be much of the call
//! from 131,072 on       released   `threads`, or one for each core
//! ```
//!
//! For example, "hello world" takes 165 ns with the GIL held, 40 of them for an empty call
//! (`docs/notes/latency.md`).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};
use zeton::{AllowedSpecials, EncodedBatch, Error, Id, Tokenizer};

use crate::errors::{detach, raise};
use crate::ids;
use crate::text::{EncodeSource, Text};
use crate::tokenizer_core::TokenizerCore;

/// Bytes of a text from which on the GIL is released. Not measured: for a shorter text, releasing
/// and taking it is much of the call.
pub(crate) const DETACH_BYTES: usize = 1 << 12;

/// Bytes of a text, or of a batch, from which on there is more than one thread.
///
/// Asking the system for its cores takes 15 µs, as long as encoding a few kilobytes: "hello world"
/// to an array took 16.1 µs and takes 1.05 (`docs/notes/latency.md`).
const THREADS_BYTES: usize = 1 << 17;

/// The argument `threads` of a call: a number from 1 on. The engine uses 256 at most, so a larger
/// number means 256.
#[derive(Clone, Copy)]
pub(crate) struct Threads(usize);

impl Threads {
    /// Returns the number, at least 1. The caller or the engine bounds it.
    pub(crate) fn count(self) -> usize {
        self.0
    }
}

impl FromPyObject<'_, '_> for Threads {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let number = object.cast::<PyInt>().ok().filter(|_| !object.is_instance_of::<PyBool>());
        let Some(number) = number else {
            let class = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("threads is an int or None, not {class}")));
        };
        if number.lt(1)? {
            let error = Error::TooFewThreads { threads: number.to_string() };
            return Err(raise(object.py(), &error));
        }
        Ok(Self(number.extract().unwrap_or(usize::MAX)))
    }
}

/// Returns the number of threads for `bytes` bytes: `threads`, or one for each core.
pub(crate) fn thread_count(threads: Option<Threads>, bytes: usize) -> usize {
    match threads {
        _ if bytes < THREADS_BYTES => 1,
        Some(Threads(threads)) => threads,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Reads a name, also one with a lone surrogate, which no special has; U+FFFD stands for it.
fn read_name(name: &Bound<'_, PyString>) -> String {
    name.to_string_lossy().into_owned()
}

/// Reads the name of a special from a list of names.
fn read_special_name(name: &Bound<'_, PyAny>) -> PyResult<String> {
    match name.cast::<PyString>() {
        Ok(name) => Ok(read_name(name)),
        Err(_) => {
            let class = name.get_type().name()?;
            Err(PyTypeError::new_err(format!("the name of a special is str, not {class}")))
        }
    }
}

impl TokenizerCore {
    /// Reads the argument `specials`: `"all"`, a name, or names. A special that is not listed is
    /// ordinary text. This is the only place that decides so.
    #[inline(always)]
    pub(crate) fn allow_specials(
        &self,
        py: Python<'_>,
        names: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<AllowedSpecials> {
        match names {
            None => Ok(AllowedSpecials::none()),
            Some(names) => self.allow_specials_by_name(py, names),
        }
    }

    fn allow_specials_by_name(
        &self,
        py: Python<'_>,
        names: &Bound<'_, PyAny>,
    ) -> PyResult<AllowedSpecials> {
        let specials = self.tokenizer.specials();
        let names: Vec<String> = match names.cast::<PyString>() {
            Ok(all) if all == "all" => return Ok(specials.allow_all()),
            Ok(name) => vec![read_name(name)],
            Err(_) => {
                let Ok(names) = names.try_iter() else {
                    let class = names.get_type().name()?;
                    return Err(PyTypeError::new_err(format!(
                        "allowed_special is \"all\" or a list of names, not {class}"
                    )));
                };
                names.map(|name| read_special_name(&name?)).collect::<PyResult<_>>()?
            }
        };
        specials.allow(names.iter().map(String::as_str)).map_err(|error| raise(py, &error))
    }

    /// Reads the argument `prepend` or `append` of a call that encodes: an id, or the name of a
    /// special. No argument gives `None`. An unknown id or name raises an exception.
    #[inline(always)]
    pub(crate) fn read_end_id(&self, end: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Id>> {
        match end {
            None => Ok(None),
            Some(end) => self.read_id_or_name(end).map(Some),
        }
    }

    fn read_id_or_name(&self, end: &Bound<'_, PyAny>) -> PyResult<Id> {
        let id = match end.cast::<PyString>() {
            Ok(name) => self.tokenizer.specials().id(&read_name(name)),
            Err(_) => {
                let id = ids::read_one(end, self.tokenizer.vocab_size())?;
                self.tokenizer.token(id).map(|_| id)
            }
        };
        id.map_err(|error| raise(end.py(), &error))
    }

    /// Appends the ids of a text to `ids`. `source` is the same text, already extracted; `text` is
    /// the Python object, which is read again only for lone surrogates. The caller holds the GIL,
    /// and it is released for code points.
    #[inline]
    pub(crate) fn encode_into(
        &self,
        text: &Bound<'_, PyAny>,
        source: &EncodeSource<'_>,
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> PyResult<()> {
        let (py, before) = (text.py(), ids.len());
        let encoded = match source {
            EncodeSource::Text(text) => return self.encode_bytes(py, text.bytes(), allowed, ids),
            EncodeSource::Units(units) => {
                detach(py, || units.encode(&self.tokenizer, allowed, ids))
            }
        };
        if !encoded? {
            // The text has a lone surrogate, so it is encoded as Python's UTF-8 of it.
            ids.truncate(before);
            self.encode_bytes(py, text.extract::<Text<'_>>()?.bytes(), allowed, ids)?;
        }
        Ok(())
    }

    #[inline]
    fn encode_bytes(
        &self,
        py: Python<'_>,
        text: &[u8],
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> PyResult<()> {
        match text.len() < DETACH_BYTES {
            true => self.tokenizer.encode(text, allowed, ids).map_err(|error| raise(py, &error)),
            false => detach(py, || self.tokenizer.encode(text, allowed, ids)),
        }
    }

    /// Encodes a batch of Python texts on threads without the GIL, and returns the ids of all texts
    /// in one list with the end of each text.
    pub(crate) fn encode_texts(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<Threads>,
        allowed_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<EncodedBatch> {
        self.with_texts(
            py,
            texts,
            threads,
            allowed_special,
            |tokenizer, texts, allowed, threads| tokenizer.encode_batch(texts, allowed, threads),
        )
    }

    /// Calls `work` with many texts and the number of threads, without the GIL. If `work` returns
    /// `None` because a text has a lone surrogate, it is called again with copies.
    pub(crate) fn with_texts<R: Send>(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<Threads>,
        allowed_special: Option<&Bound<'_, PyAny>>,
        work: impl Fn(
            &Tokenizer,
            &[EncodeSource<'_>],
            &AllowedSpecials,
            usize,
        ) -> Result<Option<R>, Error>
        + Sync,
    ) -> PyResult<R> {
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("a batch is a list of texts, not one text"));
        }
        let allowed = self.allow_specials(py, allowed_special)?;
        let Ok(texts) = texts.try_iter() else {
            let class = texts.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a batch is a list of texts, not {class}")));
        };
        let texts: Vec<Bound<'_, PyAny>> = texts.collect::<PyResult<_>>()?;
        let call = |sources: Vec<EncodeSource<'_>>| {
            let threads = thread_count(threads, sources.iter().map(EncodeSource::bytes_max).sum());
            detach(py, || work(&self.tokenizer, &sources, &allowed, threads))
        };
        let sources = texts.iter().map(|text| EncodeSource::try_from_batch(text.as_borrowed()));
        if let Some(done) = call(sources.collect::<PyResult<_>>()?)? {
            return Ok(done);
        }
        // A text has a lone surrogate, so all texts are copied.
        let texts = texts.iter().map(|text| text.extract().map(EncodeSource::Text));
        Ok(call(texts.collect::<PyResult<_>>()?)?.expect("a copy has no lone surrogate"))
    }
}
