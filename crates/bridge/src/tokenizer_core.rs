//! A tokenizer for Python.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use zeton::pattern::{ContractionPlace, WordCase};
use zeton::split::EnginePath;
use zeton::storage::tokenizer_file::Notes;
use zeton::{AllowedSpecials, EncodedBatch, Error, Id, Tokenizer};

use crate::errors::raise;
use crate::ids::{self, Array, Lists};
use crate::layout::{StrLayout, WIDENED_MIN};
use crate::limits;
use crate::text::{Source, Text};

/// Texts from this size on are encoded with the GIL released; below, releasing it costs more.
pub(crate) const DETACH_BYTES: usize = 1 << 12;

/// Texts below this size, or batches of them, have one thread.
const THREADS_BYTES: usize = 1 << 17;

/// Bytes that are made room for, for each id that is decoded; few texts have more.
const TOKEN_BYTES: usize = 5;

/// A tokenizer that never changes; `zeton.Tokenizer` is built on it.
#[pyclass(frozen, subclass, eq, skip_from_py_object, module = "zeton._engine")]
#[derive(Clone)]
pub(crate) struct TokenizerCore {
    pub(crate) tokenizer: Arc<Tokenizer>,
    notes: Arc<Notes>,
    pub(crate) lists: Arc<Lists>,
}

impl PartialEq for TokenizerCore {
    fn eq(&self, other: &Self) -> bool {
        self.tokenizer == other.tokenizer
    }
}

#[pymethods]
impl TokenizerCore {
    /// Takes over what another holds, so that a subclass can be made of it.
    #[new]
    fn new(engine: &Bound<'_, Self>) -> Self {
        engine.get().clone()
    }

    /// Returns the bytes of a `.zeton` file.
    fn to_file<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file =
            py.detach(|| zeton::storage::tokenizer_file::write(&self.tokenizer, &self.notes));
        Ok(PyBytes::new(py, &file.map_err(|error| raise(py, &error))?))
    }

    /// Encode a text, str or bytes, into a list of ids.
    ///
    /// A special in the text is ordinary text unless `specials` lists it: "all", a name, or names.
    /// `prepend` and `append` put one id around the text: an id, or the name of a special.
    #[pyo3(signature = (text, specials=None, prepend=None, append=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        specials: Option<&Bound<'py, PyAny>>,
        prepend: Option<&Bound<'py, PyAny>>,
        append: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let source: Source<'_> = text.extract()?;
        let allowed = self.allowed(py, specials)?;
        ids::with_spare(source.bytes_max(), |ids| {
            ids.extend(self.end(prepend)?);
            self.encode_into(text, &source, &allowed, ids)?;
            ids.extend(self.end(append)?);
            self.lists.list(py, ids, self.tokenizer.vocab_size())
        })
    }

    /// Encode a text into a numpy array, a large one on `threads` (None: one for each core).
    #[pyo3(signature = (text, specials=None, threads=None))]
    fn encode_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        specials: Option<&Bound<'py, PyAny>>,
        threads: Option<i128>,
    ) -> PyResult<Array<'py, Id>> {
        let source: Source<'_> = text.extract()?;
        let allowed = self.allowed(py, specials)?;
        let threads = threads_or_all(threads, source.bytes_max());
        if threads > 1 {
            let text: Text<'_> = text.extract()?;
            let bytes = text.bytes();
            let ids = py.detach(|| self.tokenizer.encode_parallel(bytes, &allowed, threads));
            return ids::array(py, &mut ids.map_err(|error| raise(py, &error))?);
        }
        ids::with_spare(source.bytes_max(), |ids| {
            self.encode_into(text, &source, &allowed, ids)?;
            ids::array(py, ids)
        })
    }

    /// Encode many texts into lists of ids, on `threads` threads (None: one for each core).
    ///
    /// The other options are those of `encode`, and hold for every text.
    #[pyo3(signature = (texts, threads=None, specials=None, prepend=None, append=None))]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i128>,
        specials: Option<&Bound<'py, PyAny>>,
        prepend: Option<&Bound<'py, PyAny>>,
        append: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (prepend, append) = (self.end(prepend)?, self.end(append)?);
        let batch = self.batch(py, texts, threads, specials)?;
        let vocab_size = self.tokenizer.vocab_size();
        let lists = batch.iter().map(|ids| {
            if prepend.is_none() && append.is_none() {
                return self.lists.list(py, ids, vocab_size);
            }
            let ids: Vec<Id> =
                prepend.into_iter().chain(ids.iter().copied()).chain(append).collect();
            self.lists.list(py, &ids, vocab_size)
        });
        PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)
    }

    /// Encode many texts into one array; text i has `ids[offsets[i]:offsets[i + 1]]`.
    #[pyo3(signature = (texts, threads=None, specials=None))]
    fn encode_batch_array<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i128>,
        specials: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Array<'py, Id>, Array<'py, u64>)> {
        let mut batch = self.batch(py, texts, threads, specials)?;
        let ends = batch.ends.iter().map(|&end| end as u64);
        let offsets: Vec<u64> = [0].into_iter().chain(ends).collect();
        Ok((ids::array(py, &mut batch.ids)?, ids::array_of_places(py, offsets)?))
    }

    /// Return how many ids a text has, or `limit` if it has more: counting stops there, and no more
    /// of the text is read. A large text is counted on `threads` (None: one for each core).
    #[pyo3(signature = (text, limit=None, specials=None, threads=None))]
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        limit: Option<&Bound<'_, PyAny>>,
        specials: Option<&Bound<'_, PyAny>>,
        threads: Option<i128>,
    ) -> PyResult<usize> {
        let allowed = self.allowed(py, specials)?;
        if let Some(limit) = limit {
            let limit = limits::ids_max(limit)?;
            let count = |part: &[u8], goes_on| {
                let count = || self.tokenizer.count_until(part, &allowed, goes_on, limit);
                py.detach(count).map_err(|error| raise(py, &error))
            };
            return match limits::by_parts(text, limit, false, count) {
                Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(py) => {
                    let whole = count(text.extract::<Text<'_>>()?.bytes(), false)?;
                    Ok(whole.expect("a whole text always tells"))
                }
                counted => counted,
            };
        }
        let text: Text<'_> = text.extract()?;
        let text = text.bytes();
        let threads = threads_or_all(threads, text.len());
        let counted = match text.len() < DETACH_BYTES {
            true => self.tokenizer.count(text, &allowed),
            false => py.detach(|| self.tokenizer.count_parallel(text, &allowed, threads)),
        };
        counted.map_err(|error| raise(py, &error))
    }

    /// Return how many ids each of many texts has, on `threads` threads (None: one for each core).
    #[pyo3(signature = (texts, threads=None, specials=None))]
    fn count_batch(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<i128>,
        specials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<usize>> {
        self.with_texts(py, texts, threads, specials, |tokenizer, texts, allowed, threads| {
            tokenizer.count_batch(texts, allowed, threads)
        })
    }

    /// Return whether a text has at most `n` ids; no more of it is read than that takes.
    #[pyo3(signature = (text, n, specials=None))]
    fn fits(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        n: &Bound<'_, PyAny>,
        specials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let ids_max = limits::ids_max(n)?;
        let limit = ids_max.saturating_add(1).into_pyobject(py)?;
        Ok(self.count(py, text, Some(limit.as_any()), specials, None)? <= ids_max)
    }

    /// Return the pieces of a text, as bytes: what the pattern makes of it before any merge.
    fn split<'py>(&self, py: Python<'py>, text: Text) -> PyResult<Bound<'py, PyList>> {
        let mut pieces = Vec::new();
        let splitter = self.tokenizer.splitter();
        let split = py.detach(|| splitter.split(text.bytes(), |piece| pieces.push(piece)));
        split.map_err(|error| raise(py, &error))?;
        PyList::new(py, pieces.into_iter().map(|piece| PyBytes::new(py, piece)))
    }

    /// Return the bytes of ids, a list or an array. They may end inside a character.
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.decode_one(py, ids)?))
    }

    /// Decode ids, a list or an array, into a str; `errors` says what to do with bytes that are not
    /// UTF-8, as for `bytes.decode`.
    #[pyo3(signature = (ids, errors="replace"))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: &str,
    ) -> PyResult<Bound<'py, PyString>> {
        as_str(py, &self.decode_one(py, ids)?, errors)
    }

    /// Decode many lists of ids into strs, on `threads` threads (None: one for each core).
    #[pyo3(signature = (batch, threads=None, errors="replace"))]
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        threads: Option<i128>,
        errors: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let texts = self.decode_lists(py, batch, threads)?;
        let texts = texts.iter().map(|bytes| as_str(py, bytes, errors));
        PyList::new(py, texts.collect::<PyResult<Vec<_>>>()?)
    }

    /// Return the bytes of many lists of ids, on `threads` threads (None: one for each core).
    #[pyo3(signature = (batch, threads=None))]
    fn decode_bytes_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        threads: Option<i128>,
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

    /// One more than the highest id: the rows that an embedding needs.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.tokenizer.vocab_size()
    }

    /// What splits texts into pieces.
    #[getter]
    fn pattern(&self) -> &str {
        self.tokenizer.splitter().pattern()
    }

    /// The specials: name to id, by rising id.
    #[getter]
    fn specials<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let specials = PyDict::new(py);
        for (id, name) in self.tokenizer.specials().entries() {
            specials.set_item(name, id)?;
        }
        Ok(specials)
    }

    /// Who made the tokenizer and how: the notes in its file.
    #[getter]
    fn made_by(&self) -> Notes {
        (*self.notes).clone()
    }

    /// Return all tokens: bytes to id, which is also the rank, by rising id.
    fn ranks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ranks = PyDict::new(py);
        for (id, token) in self.tokenizer.vocab().iter() {
            ranks.set_item(PyBytes::new(py, token), id)?;
        }
        Ok(ranks)
    }

    /// Return all pairs that merge: (left id, right id) to the id of the two joined, by rising rank.
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let merges = PyDict::new(py);
        for (pair, id) in self.tokenizer.model().pairs().collect_by_rank() {
            merges.set_item(pair, id)?;
        }
        Ok(merges)
    }

    /// Returns how the pattern is run, and why, as plain values.
    fn read_path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let path = self.tokenizer.splitter().path();
        let (states, classes, vectors) = match &path {
            EnginePath::Transducer { states, classes, vectors } => {
                (Some(states), Some(classes), *vectors)
            }
            EnginePath::Dfa { states, classes, .. } => (Some(states), Some(classes), None),
            EnginePath::Backtracking { .. } | EnginePath::Function { .. } => (None, None, None),
        };
        let values = PyDict::new(py);
        values.set_item("split", path.name())?;
        values.set_item("why", path.why())?;
        values.set_item("states", states)?;
        values.set_item("classes", classes)?;
        values.set_item("vectors", vectors)?;
        Ok(values)
    }

    /// Returns the grammar's choices and its transducer as plain values, if the pattern has one.
    fn read_grammar<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some((grammar, transducer)) = self.tokenizer.splitter().grammar() else {
            return Ok(None);
        };
        let place = match grammar.contractions.place {
            ContractionPlace::Nowhere => "nowhere",
            ContractionPlace::Piece => "piece",
            ContractionPlace::Suffix => "suffix",
        };
        let classes: Vec<u8> = (0..0x11_0000).map(|point| transducer.class_of(point)).collect();
        let steps = transducer.steps();
        let next: Vec<u8> = steps.iter().map(|step| step.next).collect();
        let actions: Vec<u8> = steps.iter().map(|step| step.actions.bits()).collect();

        let values = PyDict::new(py);
        values.set_item("contractions", &grammar.contractions.endings)?;
        values.set_item("contractions_place", place)?;
        values.set_item("contractions_ignore_case", grammar.contractions.ignore_case)?;
        values.set_item("word_prefix", grammar.word_prefix.names())?;
        values.set_item("word_case_splits", grammar.word_case == WordCase::Splits)?;
        values.set_item("word_marks", grammar.word_marks)?;
        values.set_item("number_blank", grammar.number_blank)?;
        values.set_item("number_digits_max", grammar.number_digits_max)?;
        values.set_item("punctuation_blank", grammar.punctuation_blank)?;
        values.set_item("punctuation_marks", grammar.punctuation_marks)?;
        values.set_item("punctuation_tail", grammar.punctuation_tail.names())?;
        values.set_item("space_to_end", grammar.space_to_end)?;
        values.set_item("space_to_newline", grammar.space_to_newline)?;
        values.set_item("space_leaves_last", grammar.space_leaves_last)?;
        values.set_item("states", transducer.state_names())?;
        values.set_item("class_count", transducer.class_count())?;
        values.set_item("class_of_end", transducer.class_of_end())?;
        values.set_item("class_of_bad_byte", transducer.class_of_bad_byte())?;
        values.set_item("class_of", PyBytes::new(py, &classes))?;
        values.set_item("next", PyBytes::new(py, &next))?;
        values.set_item("actions", PyBytes::new(py, &actions))?;
        Ok(Some(values))
    }
}

impl TokenizerCore {
    pub(crate) fn of(
        py: Python<'_>,
        tokenizer: Result<Tokenizer, Error>,
        notes: Notes,
    ) -> PyResult<Self> {
        let tokenizer = tokenizer.map_err(|error| raise(py, &error))?;
        Ok(Self { tokenizer: Arc::new(tokenizer), notes: Arc::new(notes), lists: Arc::default() })
    }

    /// The one policy on specials: "all", a name, or names; a special that is not listed is text.
    #[inline(always)]
    pub(crate) fn allowed(
        &self,
        py: Python<'_>,
        names: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<AllowedSpecials> {
        match names {
            None => Ok(AllowedSpecials::none()),
            Some(names) => self.allowed_by_name(py, names),
        }
    }

    fn allowed_by_name(
        &self,
        py: Python<'_>,
        names: &Bound<'_, PyAny>,
    ) -> PyResult<AllowedSpecials> {
        let specials = self.tokenizer.specials();
        let names: Vec<String> = match names.cast::<PyString>() {
            Ok(all) if all == "all" => return Ok(specials.allow_all()),
            Ok(name) => vec![name.extract()?],
            Err(_) => names.try_iter()?.map(|name| name?.extract()).collect::<PyResult<_>>()?,
        };
        specials.allow(names.iter().map(String::as_str)).map_err(|error| raise(py, &error))
    }

    /// What to put before or after a text: an id, or the name of a special.
    #[inline(always)]
    fn end(&self, end: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Id>> {
        match end {
            None => Ok(None),
            Some(end) => self.end_by_name_or_id(end).map(Some),
        }
    }

    fn end_by_name_or_id(&self, end: &Bound<'_, PyAny>) -> PyResult<Id> {
        let id = match end.cast::<PyString>() {
            Ok(name) => self.tokenizer.specials().id(name.to_str()?),
            Err(_) => {
                let id = ids::read_one(end, self.tokenizer.vocab_size())?;
                self.tokenizer.token(id).map(|_| id)
            }
        };
        id.map_err(|error| raise(end.py(), &error))
    }

    /// Appends the ids of a text, which is in `source` as it was extracted.
    #[inline]
    fn encode_into(
        &self,
        text: &Bound<'_, PyAny>,
        source: &Source<'_>,
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> PyResult<()> {
        let (py, before) = (text.py(), ids.len());
        let encoded = match source {
            Source::Text(text) => return self.encode_bytes(py, text.bytes(), allowed, ids),
            Source::Units(units) => py.detach(|| units.encode(&self.tokenizer, allowed, ids)),
        };
        if !encoded.map_err(|error| raise(py, &error))? {
            // There is a lone surrogate.
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
        let encoded = match text.len() < DETACH_BYTES {
            true => self.tokenizer.encode(text, allowed, ids),
            false => py.detach(|| self.tokenizer.encode(text, allowed, ids)),
        };
        encoded.map_err(|error| raise(py, &error))
    }

    fn batch(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<i128>,
        specials: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<EncodedBatch> {
        self.with_texts(py, texts, threads, specials, |tokenizer, texts, allowed, threads| {
            tokenizer.encode_batch(texts, allowed, threads)
        })
    }

    /// Does something with many texts on threads.
    fn with_texts<R: Send>(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<i128>,
        specials: Option<&Bound<'_, PyAny>>,
        work: impl Fn(&Tokenizer, &[Source<'_>], &AllowedSpecials, usize) -> Result<Option<R>, Error>
        + Sync,
    ) -> PyResult<R> {
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("a batch is a list of texts, not one text"));
        }
        let allowed = self.allowed(py, specials)?;
        let texts: Vec<Bound<'_, PyAny>> = texts.try_iter()?.collect::<PyResult<_>>()?;
        let with = |sources: Vec<Source<'_>>| {
            let threads = threads_or_all(threads, sources.iter().map(Source::bytes_max).sum());
            let done = py.detach(|| work(&self.tokenizer, &sources, &allowed, threads));
            done.map_err(|error| raise(py, &error))
        };
        let sources = texts.iter().map(|text| Source::of_batch(text.as_borrowed()));
        if let Some(done) = with(sources.collect::<PyResult<_>>()?)? {
            return Ok(done);
        }
        // There is a lone surrogate.
        let texts = texts.iter().map(|text| text.extract().map(Source::Text));
        Ok(with(texts.collect::<PyResult<_>>()?)?.expect("all have been copied"))
    }

    /// Returns the bytes of ids. Those of a list are read while they are decoded, with the GIL.
    fn decode_one(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let mut bytes = Vec::new();
        let decode = |ids: &[Id], left: usize| {
            if bytes.is_empty() {
                bytes = zeton::sys::huge_buffer::vec_with_capacity(left * TOKEN_BYTES);
            }
            self.tokenizer.decode_into(ids, &mut bytes)
        };
        if ids::hand_on(ids, decode)? {
            return Ok(bytes);
        }
        let ids = ids::read(ids, self.tokenizer.vocab_size())?;
        py.detach(|| self.tokenizer.decode(&ids)).map_err(|error| raise(py, &error))
    }

    fn decode_lists(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        threads: Option<i128>,
    ) -> PyResult<Vec<Vec<u8>>> {
        let vocab_size = self.tokenizer.vocab_size();
        let batch: Vec<Vec<Id>> =
            batch.try_iter()?.map(|ids| ids::read(&ids?, vocab_size)).collect::<PyResult<_>>()?;
        let bytes = batch.iter().map(Vec::len).sum::<usize>() * TOKEN_BYTES;
        let threads = threads_or_all(threads, bytes);
        let texts = py.detach(|| self.tokenizer.decode_batch(&batch, threads));
        texts.map_err(|error| raise(py, &error))
    }
}

/// The threads asked for, at least one; or one for each core. Few bytes have one: to ask the system
/// for its cores takes as long as to encode them.
pub(crate) fn threads_or_all(threads: Option<i128>, bytes: usize) -> usize {
    match threads {
        _ if bytes < THREADS_BYTES => 1,
        Some(threads) => usize::try_from(threads).unwrap_or(1).max(1),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Decodes as `bytes.decode` does; `errors` means nothing to bytes without any.
fn as_str<'py>(py: Python<'py>, bytes: &[u8], errors: &str) -> PyResult<Bound<'py, PyString>> {
    if bytes.len() >= WIDENED_MIN
        && let Some(layout) = StrLayout::known(py)
        && let Ok(text) = simdutf8::basic::from_utf8(bytes)
        && let Some(made) = layout.make(py, text)
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
    // SAFETY: the bytes are readable, so many of them; a new reference to a str, or null and an
    // exception.
    let text = unsafe {
        let start = bytes.as_ptr().cast();
        let text = ffi::PyUnicode_DecodeUTF8(start, bytes.len() as isize, errors.as_ptr());
        Bound::from_owned_ptr_or_err(py, text)?
    };
    Ok(text.cast_into()?)
}
