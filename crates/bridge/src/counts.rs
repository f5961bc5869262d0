//! `Counter`, `Counts` and `Merges`: training for Python.
//!
//! ```text
//! texts ── Texts ── Counter.add ──▶ Counter ── finish ──▶ RawCounts ── learn ──▶ RawMerges
//!                     │                                     ▲  │
//!                     └ memory full: temporary files        │  └ write ──▶ counts file
//!                                                           └─ read ◀──────────┘
//! ```
//!
//! For example, the text "low lower" counts the pieces `low` and ` lower` once each. Its merges
//! come back as tuples of two ids and a count, for example `(108, 111, 2)` for `l` and `o`.
//!
//! All long calls run on a thread of their own, with progress reports and Ctrl-C.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use zeton::train::count::{CorpusTotals, MemoryBudget, TempFileFactory, hold_out, is_counted};
use zeton::train::learn::{LearnOptions, LearnedMerge, ValidationSet, learn};
use zeton::{Error, Id, Splitter};

use crate::construct::compile_splitter;
use crate::encode::Threads;
use crate::errors::raise;
use crate::progress::{run_with_progress, trim_memory};
use crate::text::{OwnedText, PatternText};
use crate::tokenizer_core::TokenizerCore;

/// Texts to count, as bytes; a thread that reads a corpus makes them while others are counted.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Texts(Vec<OwnedText>);

#[pymethods]
impl Texts {
    #[new]
    fn new(texts: Vec<OwnedText>) -> Self {
        Self(texts)
    }
}

/// A counter of the pieces of a corpus, with separate counts for a held-out share of it.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Counter {
    splitter: Splitter,
    validation: f64,
    /// The counters of the corpus and of the held-out share. `None` after the end, or after a batch
    /// that failed and left the counts incomplete.
    counters: Mutex<Option<[zeton::Counter; 2]>>,
}

#[pymethods]
impl Counter {
    /// Make a counter; counts above `memory` bytes go to temporary files in `folder`.
    #[new]
    #[pyo3(signature = (pattern, threads, memory, folder, validation, by_function=false))]
    fn new(
        py: Python<'_>,
        pattern: PatternText,
        threads: Threads,
        memory: Option<usize>,
        folder: PathBuf,
        validation: f64,
        by_function: bool,
    ) -> PyResult<Self> {
        let splitter =
            compile_splitter(&pattern.0, by_function).map_err(|error| raise(py, &error))?;
        let make = |threads, share: f64| {
            let budget = memory.map(|memory| MemoryBudget {
                memory_max: (memory as f64 * share) as usize,
                temp_file: temp_files_in(folder.clone()),
            });
            zeton::Counter::new(splitter.clone(), threads, budget)
        };
        let counters =
            Mutex::new(Some([make(threads.count(), 1.0 - validation), make(1, validation)]));
        Ok(Self { splitter, validation, counters })
    }

    /// Count more texts, each `weight` times.
    ///
    /// The engine counts on threads without the GIL. After an exception the counter has finished.
    fn add(&self, py: Python<'_>, texts: &Bound<'_, Texts>, weight: u64) -> PyResult<()> {
        let texts = &texts.get().0;
        let mut counters = self.take_counters()?;
        let counters = run_with_progress(py, None, |progress| {
            let texts: Vec<&[u8]> = texts.iter().map(|text| text.0.bytes()).collect();
            let [corpus, held] = hold_out(&self.splitter, texts, self.validation, progress)?;
            counters[0].add(&corpus, weight, progress)?;
            counters[1].add(&held, weight, progress)?;
            Ok(counters)
        })?;
        *self.counters.lock().expect("no holder panics") = Some(counters);
        Ok(())
    }

    /// Count more texts that Python has split, given with the lengths of their pieces.
    ///
    /// Lengths are in bytes. If they do not add up to a text's length, `TrainError` is raised and
    /// nothing is counted.
    fn add_pieces(
        &self,
        py: Python<'_>,
        texts: Vec<(PyBackedBytes, Vec<usize>)>,
        weight: u64,
    ) -> PyResult<()> {
        let with_ends = |(text, lengths): (PyBackedBytes, Vec<usize>)| {
            piece_ends(&lengths, text.len()).map(|ends| (text, ends))
        };
        let texts: Option<Vec<_>> = texts.into_iter().map(with_ends).collect();
        let texts = texts.ok_or_else(|| raise(py, &Error::PiecesNotText))?;
        let mut counters = self.take_counters()?;
        let counters = run_with_progress(py, None, |progress| {
            for (text, ends) in &texts {
                let validation = usize::from(!is_counted(text, self.validation));
                counters[validation].add_pieces(text, ends, weight, progress)?;
            }
            Ok(counters)
        })?;
        *self.counters.lock().expect("no holder panics") = Some(counters);
        Ok(())
    }

    /// Return the number of pieces in memory, some once for each thread, and their bytes.
    fn held(&self) -> (usize, usize) {
        let counters = self.counters.lock().expect("no holder panics");
        counters.as_ref().map_or((0, 0), |[corpus, _]| corpus.buffered())
    }

    /// Return the bytes of the longest prefix of a text whose pieces no later text can change.
    ///
    /// The corpus reader calls it to count a large file in parts; 0 if there is no such prefix.
    fn last_safe_cut(&self, py: Python<'_>, text: &[u8]) -> usize {
        py.detach(|| self.splitter.last_safe_cut(text).unwrap_or(0))
    }

    /// End counting, and return the counts of the corpus of `texts` texts and of the held-out
    /// share.
    fn finish(&self, py: Python<'_>, texts: u64) -> PyResult<(Counts, Counts)> {
        let [corpus, held] = self.take_counters()?;
        run_with_progress(py, None, |progress| {
            Ok((Counts(corpus.finish(texts, progress)?), Counts(held.finish(0, progress)?)))
        })
    }
}

impl Counter {
    /// Takes the counters out of this object for a batch of texts, or for the end; a batch that
    /// succeeds puts them back. Raises `RuntimeError` if they are gone: after the end, after a
    /// failed batch, or while another thread counts.
    fn take_counters(&self) -> PyResult<[zeton::Counter; 2]> {
        let counters = self.counters.lock().expect("no holder panics").take();
        counters.ok_or_else(|| PyRuntimeError::new_err("this counter has finished"))
    }
}

/// Returns the end of each piece in its text, in bytes, from the lengths of the pieces; empty
/// pieces are left out. `None` means that the lengths do not add up to `bytes`, so
/// [`Counter::add_pieces`] raises.
fn piece_ends(lengths: &[usize], bytes: usize) -> Option<Vec<usize>> {
    let mut end = 0_usize;
    let ends = lengths.iter().filter(|length| **length > 0).map(|length| {
        end = end.checked_add(*length)?;
        Some(end)
    });
    let ends: Vec<usize> = ends.collect::<Option<_>>()?;
    (end == bytes).then_some(ends)
}

/// Returns a function that creates temporary files in `folder`. The files have no name, and the
/// system removes each when it is closed.
fn temp_files_in(folder: PathBuf) -> TempFileFactory {
    Box::new(move || tempfile::tempfile_in(&folder))
}

/// Learned merges; as Python objects they would take more memory than the learner.
#[pyclass(frozen, module = "zeton._engine", name = "RawMerges")]
#[derive(Default)]
pub(crate) struct Merges(pub(crate) Vec<LearnedMerge>);

#[pymethods]
impl Merges {
    /// Make an empty list of merges.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Return the first `count` merges: two ids and their count, at the moment of the merge.
    fn first(&self, count: usize) -> Vec<(Id, Id, u64)> {
        self.0.iter().take(count).map(|merge| (merge.left, merge.right, merge.count)).collect()
    }
}

/// Distinct pieces and how often each occurs in a corpus.
#[pyclass(frozen, module = "zeton._engine", name = "RawCounts")]
pub(crate) struct Counts(zeton::Counts);

#[pymethods]
impl Counts {
    /// Read counts files and merge them; the merged counts lie in a temporary file in `folder`.
    #[staticmethod]
    fn read(py: Python<'_>, paths: Vec<PathBuf>, folder: PathBuf) -> PyResult<Self> {
        let temp_file = temp_files_in(folder);
        let read =
            |progress: &_| zeton::Counts::read(paths.iter().map(File::open), &temp_file, progress);
        run_with_progress(py, None, read).map(Self)
    }

    /// Write the counts file, and wait until the disk has it.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let file = File::create(path)?;
        run_with_progress(py, None, |progress| self.0.write(&file, progress))?;
        Ok(py.detach(|| file.sync_all())?)
    }

    #[getter]
    fn pattern(&self) -> &str {
        self.0.pattern()
    }

    /// The number of distinct pieces, of bytes and of texts.
    ///
    /// They were added up while the corpus was counted, so no piece is read.
    #[getter]
    fn totals(&self) -> (u64, u64, u64) {
        let CorpusTotals { pieces, bytes, texts } = self.0.totals();
        (pieces, bytes, texts)
    }

    /// Return the `count` most frequent pieces with their counts.
    ///
    /// All pieces are read, on a thread without the GIL.
    fn most_common(&self, py: Python<'_>, count: usize) -> PyResult<Vec<(Vec<u8>, u64)>> {
        run_with_progress(py, None, |progress| self.0.most_common(count, progress))
    }

    /// Return the number of tokens of the corpus by a tokenizer.
    ///
    /// Each distinct piece is encoded once, without the GIL.
    fn tokens(&self, py: Python<'_>, engine: &Bound<'_, TokenizerCore>) -> PyResult<u64> {
        let model = engine.get().tokenizer.model();
        run_with_progress(py, None, |progress| self.0.tokens(model, progress))
    }

    /// Learn merges, and return them with the number of ties and the pieces that were left out.
    ///
    /// `report` is called with the number of merges so far, the latest token, and the token counts
    /// of the held-out share. `validation` is its counts and the numbers of merges after which they
    /// are measured. Pieces that were left out are a number of pieces and of occurrences.
    #[allow(clippy::too_many_arguments, reason = "the Python package passes each by name")]
    #[allow(clippy::type_complexity, reason = "the Python package names the parts")]
    fn learn(
        &self,
        py: Python<'_>,
        merges_max: usize,
        piece_count_min: u64,
        token_bytes_max: Option<usize>,
        memory: Option<usize>,
        initial: Option<(Bound<'_, TokenizerCore>, Id)>,
        validation: Option<(Bound<'_, Self>, Vec<usize>)>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Merges, usize, (usize, u64))> {
        let initial = initial.as_ref().map(|(engine, first)| (engine.get(), *first));
        let validation = validation.as_ref().map(|(counts, merges)| (counts.get(), &merges[..]));
        let options = LearnOptions {
            piece_count_min,
            token_bytes_max: token_bytes_max.unwrap_or(usize::MAX),
            memory_max: memory,
            initial: initial.map(|(engine, first)| (engine.tokenizer.model(), first)),
            validation: validation
                .map(|(counts, measure_after)| ValidationSet { pieces: &counts.0, measure_after }),
            ..LearnOptions::new(merges_max)
        };
        trim_memory(py);
        let learned = run_with_progress(py, report, |progress| learn(&self.0, &options, progress))?;
        Ok((Merges(learned.merges), learned.ties, learned.left_out))
    }
}
