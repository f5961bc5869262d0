//! `TokenizerCore`: the tokenizer as a Python class, the base of `zeton.Tokenizer`.
//!
//! Each method converts its arguments, calls one function of the engine without the GIL, and
//! converts the result. The conversions are in [`crate::encode`], [`crate::decode`] and
//! [`crate::describe`]. For example, with cl100k:
//!
//! ```text
//! Python                        engine                       result
//! encode("Hello world")         Tokenizer::encode            [9906, 1917]
//! count("Hello world", 1)       Tokenizer::count_until       1
//! split("Hello world")          Splitter::split              [b"Hello", b" world"]
//! decode([9906, 1917])          Tokenizer::decode_into       "Hello world"
//! token_bytes(1917)             Tokenizer::token             b" world"
//! ```
//!
//! The first line of each method's comment is its Python docstring.

use std::sync::Arc;

use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use zeton::storage::tokenizer_file::Notes;
use zeton::{Error, Id, Tokenizer};

use crate::decode::{ErrorHandler, make_str};
use crate::encode::{DETACH_BYTES, Threads, thread_count};
use crate::errors::{detach, raise};
use crate::ids::{self, Array, ListMaker};
use crate::limits;
use crate::text::{EncodeSource, Text};

/// The compiled base of `zeton.Tokenizer`, which never changes.
#[pyclass(frozen, subclass, eq, skip_from_py_object, module = "zeton._engine")]
#[derive(Clone)]
pub(crate) struct TokenizerCore {
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) notes: Arc<Notes>,
    pub(crate) lists: Arc<ListMaker>,
}

impl PartialEq for TokenizerCore {
    fn eq(&self, other: &Self) -> bool {
        self.tokenizer == other.tokenizer
    }
}

#[pymethods]
impl TokenizerCore {
    /// Share the content of another tokenizer, so that a subclass can be made of it.
    #[new]
    fn new(engine: &Bound<'_, Self>) -> Self {
        engine.get().clone()
    }

    /// Encode a text, str or bytes, into a list of ids.
    ///
    /// A special in the text is ordinary text unless `allowed_special` names it: "all", or names.
    /// `prepend` and `append` put one id around the text: an id, or the name of a special.
    #[pyo3(signature = (text, *, allowed_special=None, prepend=None, append=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed_special: Option<&Bound<'py, PyAny>>,
        prepend: Option<&Bound<'py, PyAny>>,
        append: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let source: EncodeSource<'_> = text.extract()?;
        let allowed = self.allow_specials(py, allowed_special)?;
        ids::with_spare_buffer(source.bytes_max(), |ids| {
            ids.extend(self.read_end_id(prepend)?);
            self.encode_into(text, &source, &allowed, ids)?;
            ids.extend(self.read_end_id(append)?);
            self.lists.make_list(py, ids, self.tokenizer.vocab_size())
        })
    }

    /// Encode a text into a NumPy array; a large text uses `threads` threads (None: one for each
    /// core).
    #[pyo3(signature = (text, *, allowed_special=None, threads=None))]
    fn encode_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        allowed_special: Option<&Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Array<'py, Id>> {
        let source: EncodeSource<'_> = text.extract()?;
        let allowed = self.allow_specials(py, allowed_special)?;
        let threads = thread_count(threads, source.bytes_max());
        if threads > 1 {
            let text: Text<'_> = text.extract()?;
            let bytes = text.bytes();
            let mut ids = detach(py, || self.tokenizer.encode_parallel(bytes, &allowed, threads))?;
            return ids::make_array(py, &mut ids);
        }
        ids::with_spare_buffer(source.bytes_max(), |ids| {
            self.encode_into(text, &source, &allowed, ids)?;
            ids::make_array(py, ids)
        })
    }

    /// Encode many texts into lists of ids, on `threads` threads (None: one for each core).
    ///
    /// The other options have the meaning that they have in `encode`, for every text.
    #[pyo3(signature = (texts, *, allowed_special=None, prepend=None, append=None, threads=None))]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        allowed_special: Option<&Bound<'py, PyAny>>,
        prepend: Option<&Bound<'py, PyAny>>,
        append: Option<&Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (prepend, append) = (self.read_end_id(prepend)?, self.read_end_id(append)?);
        let batch = self.encode_texts(py, texts, threads, allowed_special)?;
        let vocab_size = self.tokenizer.vocab_size();
        let lists = batch.iter().map(|ids| {
            if prepend.is_none() && append.is_none() {
                return self.lists.make_list(py, ids, vocab_size);
            }
            let ids: Vec<Id> =
                prepend.into_iter().chain(ids.iter().copied()).chain(append).collect();
            self.lists.make_list(py, &ids, vocab_size)
        });
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }

    /// Encode many texts into one array; text i has `ids[offsets[i]:offsets[i + 1]]`.
    #[pyo3(signature = (texts, *, allowed_special=None, threads=None))]
    fn encode_batch_array<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        allowed_special: Option<&Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<(Array<'py, Id>, Array<'py, u64>)> {
        let mut batch = self.encode_texts(py, texts, threads, allowed_special)?;
        let ends = batch.ends.iter().map(|&end| end as u64);
        let offsets: Vec<u64> = [0].into_iter().chain(ends).collect();
        Ok((ids::make_array(py, &mut batch.ids)?, ids::make_offset_array(py, offsets)?))
    }

    /// Return the number of ids of a text, or `limit` if it has more.
    ///
    /// Counting stops at `limit` and reads no more of the text. A large text uses `threads` threads
    /// (None: one for each core).
    #[pyo3(signature = (text, *, limit=None, allowed_special=None, threads=None))]
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        limit: Option<&Bound<'_, PyAny>>,
        allowed_special: Option<&Bound<'_, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<usize> {
        let allowed = self.allow_specials(py, allowed_special)?;
        if let Some(limit) = limit {
            let limit = limits::ids_max(limit)?;
            let count = |part: &[u8], is_partial| {
                detach(py, || self.tokenizer.count_until(part, &allowed, is_partial, limit))
            };
            return match limits::try_growing_parts(text, limit, false, count) {
                Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(py) => {
                    let whole = count(text.extract::<Text<'_>>()?.bytes(), false)?;
                    Ok(whole.expect("a whole text has an answer"))
                }
                counted => counted,
            };
        }
        let text: Text<'_> = text.extract()?;
        let text = text.bytes();
        let threads = thread_count(threads, text.len());
        match text.len() < DETACH_BYTES {
            true => self.tokenizer.count(text, &allowed).map_err(|error| raise(py, &error)),
            false => detach(py, || self.tokenizer.count_parallel(text, &allowed, threads)),
        }
    }

    /// Return the number of ids of each of many texts, on `threads` threads (None: one for each
    /// core).
    #[pyo3(signature = (texts, *, allowed_special=None, threads=None))]
    fn count_batch(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        allowed_special: Option<&Bound<'_, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<usize>> {
        self.with_texts(
            py,
            texts,
            threads,
            allowed_special,
            |tokenizer, texts, allowed, threads| tokenizer.count_batch(texts, allowed, threads),
        )
    }

    /// Return whether a text has at most `n` ids, and read no more of it than that takes.
    #[pyo3(signature = (text, *, n, allowed_special=None))]
    fn fits(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        n: &Bound<'_, PyAny>,
        allowed_special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let ids_max = limits::ids_max(n)?;
        let limit = ids_max.saturating_add(1).into_pyobject(py)?;
        Ok(self.count(py, text, Some(limit.as_any()), allowed_special, None)? <= ids_max)
    }

    /// Return the pieces of a text as bytes: the parts that the pattern splits it into.
    fn split<'py>(&self, py: Python<'py>, text: Text) -> PyResult<Bound<'py, PyList>> {
        let mut pieces = Vec::new();
        let splitter = self.tokenizer.splitter();
        detach(py, || {
            for part in splitter.interruptible_parts(text.bytes()) {
                zeton::sys::interrupt::poll()?;
                splitter.split(part, |piece| pieces.push(piece))?;
            }
            Ok(())
        })?;
        PyList::new(py, pieces.into_iter().enumerate().map(Piece))
    }

    /// Return the bytes of ids, a list or an array; the last character may be incomplete.
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.decode_one(py, ids)?))
    }

    /// Decode ids, a list or an array, into a str; `errors` handles bytes that are not UTF-8, as in
    /// `bytes.decode`.
    #[pyo3(signature = (ids, *, errors="replace"))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: &str,
    ) -> PyResult<Bound<'py, PyString>> {
        let errors = ErrorHandler::try_from_name(py, errors)?;
        make_str(py, &self.decode_one(py, ids)?, errors)
    }

    /// Decode many lists of ids into strs, on `threads` threads (None: one for each core).
    #[pyo3(signature = (batch, *, errors="replace", threads=None))]
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        errors: &str,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyList>> {
        let errors = ErrorHandler::try_from_name(py, errors)?;
        let texts = self.decode_lists(py, batch, threads)?;
        let texts = texts.iter().map(|bytes| make_str(py, bytes, errors));
        PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)
    }

    /// Return the bytes of many lists of ids, on `threads` threads (None: one for each core).
    #[pyo3(signature = (batch, *, threads=None))]
    fn decode_batch_bytes<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyList>> {
        let texts = self.decode_lists(py, batch, threads)?;
        PyList::new(py, texts.iter().map(|bytes| PyBytes::new(py, bytes)))
    }

    /// Return the bytes of one id, a token's or a special's.
    fn token_bytes<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let id = ids::read_one(id, self.tokenizer.vocab_size())?;
        Ok(PyBytes::new(py, self.tokenizer.token(id).map_err(|error| raise(py, &error))?))
    }

    /// The highest id plus one, which is the number of rows of an embedding.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.tokenizer.vocab_size()
    }

    /// The pattern that splits texts into pieces.
    #[getter]
    fn pattern(&self) -> &str {
        self.tokenizer.splitter().pattern()
    }

    /// The specials as a dict from name to id, by rising id.
    #[getter]
    fn specials<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let specials = PyDict::new(py);
        for (id, name) in self.tokenizer.specials().entries() {
            specials.set_item(name, id)?;
        }
        Ok(specials)
    }

    /// The notes in the tokenizer's file: the program that made it and its options.
    #[getter]
    fn made_by(&self) -> Notes {
        (*self.notes).clone()
    }

    /// Return all tokens as a dict from bytes to id, by rising id; the id is also the rank.
    fn ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ranks = PyDict::new(py);
        for (id, token) in self.tokenizer.vocab().iter() {
            ranks.set_item(PyBytes::new(py, token), id)?;
        }
        Ok(ranks)
    }

    /// Return all merges as a dict from (left id, right id) to the merged id, by rising rank.
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let merges = PyDict::new(py);
        for (pair, id) in self.tokenizer.model().pairs().collect_by_rank() {
            merges.set_item(pair, id)?;
        }
        Ok(merges)
    }
}

/// Pieces that become Python objects between two checks for signals: some milliseconds.
const PIECES_PER_CHECK: usize = 1 << 16;

/// A piece and its number, on its way to a list of bytes.
struct Piece<'t>((usize, &'t [u8]));

impl<'py> IntoPyObject<'py> for Piece<'_> {
    type Target = PyBytes;
    type Output = Bound<'py, PyBytes>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (number, bytes) = self.0;
        if number % PIECES_PER_CHECK == 0 {
            py.check_signals()?;
        }
        Ok(PyBytes::new(py, bytes))
    }
}

impl TokenizerCore {
    /// Makes the Python object of a tokenizer that the engine has built, or raises the exception of
    /// the engine's error.
    pub(crate) fn try_from_result(
        py: Python<'_>,
        tokenizer: Result<Tokenizer, Error>,
        notes: Notes,
    ) -> PyResult<Self> {
        let tokenizer = tokenizer.map_err(|error| raise(py, &error))?;
        Ok(Self { tokenizer: Arc::new(tokenizer), notes: Arc::new(notes), lists: Arc::default() })
    }
}
