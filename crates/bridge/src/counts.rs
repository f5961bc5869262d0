//! Training for Python: texts become counts, counts become merges.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use zeton::train::count::{CorpusTotals, MemoryBudget, TempFileFactory, hold_out, is_counted};
use zeton::train::learn::{LearnOptions, LearnedMerge, ValidationSet, learn};
use zeton::{Id, Splitter};

use crate::construct::splitter;
use crate::errors::raise;
use crate::progress::{give_back, watch};
use crate::text::HeldText;
use crate::tokenizer_core::TokenizerCore;

/// Texts to count, as bytes: made in the thread that reads them, while others are counted.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Texts(Vec<HeldText>);

#[pymethods]
impl Texts {
    #[new]
    fn new(texts: Vec<HeldText>) -> Self {
        Self(texts)
    }
}

/// Counts the pieces of a corpus, and apart from them those of a share that is held out.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Counter {
    splitter: Splitter,
    held_out: f64,
    /// None once it has finished, or a failed batch has left the counts incomplete.
    counters: Mutex<Option<[zeton::Counter; 2]>>,
}

#[pymethods]
impl Counter {
    /// Makes a counter; what does not fit `memory` bytes goes to files in `folder`.
    #[new]
    #[pyo3(signature = (pattern, threads, memory, folder, held_out, by_function=false))]
    fn new(
        py: Python<'_>,
        pattern: &str,
        threads: usize,
        memory: Option<usize>,
        folder: PathBuf,
        held_out: f64,
        by_function: bool,
    ) -> PyResult<Self> {
        let splitter = splitter(pattern, by_function).map_err(|error| raise(py, &error))?;
        let make = |threads, share: f64| {
            let budget = memory.map(|memory| MemoryBudget {
                memory_max: (memory as f64 * share) as usize,
                temp_file: files_in(folder.clone()),
            });
            zeton::Counter::new(splitter.clone(), threads, budget)
        };
        let counters = Mutex::new(Some([make(threads, 1.0 - held_out), make(1, held_out)]));
        Ok(Self { splitter, held_out, counters })
    }

    /// Counts more texts, each so many times.
    fn add(&self, py: Python<'_>, texts: &Bound<'_, Texts>, weight: u64) -> PyResult<()> {
        let texts = &texts.get().0;
        let mut counters = self.take()?;
        let counters = watch(py, None, |progress| {
            let texts: Vec<&[u8]> = texts.iter().map(|text| text.0.bytes()).collect();
            let [corpus, held] = hold_out(&self.splitter, texts, self.held_out, progress)?;
            counters[0].add(&corpus, weight, progress)?;
            counters[1].add(&held, weight, progress)?;
            Ok(counters)
        })?;
        *self.counters.lock().expect("no holder panics") = Some(counters);
        Ok(())
    }

    /// Counts more texts that Python has split, each so many times: these are the lengths of pieces.
    fn add_pieces(
        &self,
        py: Python<'_>,
        texts: Vec<(PyBackedBytes, Vec<usize>)>,
        weight: u64,
    ) -> PyResult<()> {
        let ended = |(text, lengths): (PyBackedBytes, Vec<usize>)| {
            ends(&lengths, text.len()).map(|ends| (text, ends))
        };
        let texts: Option<Vec<_>> = texts.into_iter().map(ended).collect();
        let texts = texts.ok_or_else(|| PyValueError::new_err("the pieces are not the text"))?;
        let mut counters = self.take()?;
        let counters = watch(py, None, |progress| {
            for (text, ends) in &texts {
                let held_out = usize::from(!is_counted(text, self.held_out));
                counters[held_out].add_pieces(text, ends, weight, progress)?;
            }
            Ok(counters)
        })?;
        *self.counters.lock().expect("no holder panics") = Some(counters);
        Ok(())
    }

    /// Returns how many pieces are in memory, some perhaps once for each thread, and their bytes.
    fn held(&self) -> (usize, usize) {
        let counters = self.counters.lock().expect("no holder panics");
        counters.as_ref().map_or((0, 0), |[corpus, _]| corpus.buffered())
    }

    /// Returns how much of a text may be counted on its own, whatever follows it.
    fn last_safe_cut(&self, py: Python<'_>, text: &[u8]) -> usize {
        py.detach(|| self.splitter.last_safe_cut(text).unwrap_or(0))
    }

    /// BoundarySink counting; returns the counts of so many texts, and those of what was held out.
    fn finish(&self, py: Python<'_>, texts: u64) -> PyResult<(Counts, Counts)> {
        let [corpus, held] = self.take()?;
        watch(py, None, |progress| {
            Ok((Counts(corpus.finish(texts, progress)?), Counts(held.finish(0, progress)?)))
        })
    }
}

impl Counter {
    fn take(&self) -> PyResult<[zeton::Counter; 2]> {
        let counters = self.counters.lock().expect("no holder panics").take();
        counters.ok_or_else(|| PyRuntimeError::new_err("this counter has finished"))
    }
}

/// Returns where pieces of these lengths end; `None` if together they have not so many bytes.
fn ends(lengths: &[usize], bytes: usize) -> Option<Vec<usize>> {
    let mut end = 0_usize;
    let ends = lengths.iter().filter(|length| **length > 0).map(|length| {
        end = end.checked_add(*length)?;
        Some(end)
    });
    let ends: Vec<usize> = ends.collect::<Option<_>>()?;
    (end == bytes).then_some(ends)
}

/// Makes files that nobody else sees, and that are gone when they are closed.
fn files_in(folder: PathBuf) -> TempFileFactory {
    Box::new(move || tempfile::tempfile_in(&folder))
}

/// Merges that were learned: as objects of Python's they would take more memory than the learner.
#[pyclass(frozen, module = "zeton._engine", name = "RawMerges")]
#[derive(Default)]
pub(crate) struct Merges(pub(crate) Vec<LearnedMerge>);

#[pymethods]
impl Merges {
    /// Makes no merges, to begin with.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns the first so many merges: two ids each, and how often they stood side by side.
    fn first(&self, count: usize) -> Vec<(Id, Id, u64)> {
        self.0.iter().take(count).map(|merge| (merge.left, merge.right, merge.count)).collect()
    }
}

/// Distinct pieces and how often each occurs in a corpus.
#[pyclass(frozen, module = "zeton._engine", name = "RawCounts")]
pub(crate) struct Counts(zeton::Counts);

#[pymethods]
impl Counts {
    /// Reads counts files and merges them; `folder` has room for the merged one.
    #[staticmethod]
    fn read(py: Python<'_>, paths: Vec<PathBuf>, folder: PathBuf) -> PyResult<Self> {
        let temp_file = files_in(folder);
        let read =
            |progress: &_| zeton::Counts::read(paths.iter().map(File::open), &temp_file, progress);
        watch(py, None, read).map(Self)
    }

    /// Writes the counts file, to the disk and not only to the system.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let file = File::create(path)?;
        watch(py, None, |progress| self.0.write(&file, progress))?;
        Ok(py.detach(|| file.sync_all())?)
    }

    #[getter]
    fn pattern(&self) -> &str {
        self.0.pattern()
    }

    /// Returns how many distinct pieces, bytes and texts there are.
    #[getter]
    fn totals(&self) -> (u64, u64, u64) {
        let CorpusTotals { pieces, bytes, texts } = self.0.totals();
        (pieces, bytes, texts)
    }

    /// Returns the pieces that occur most often, with their counts.
    fn most_common(&self, py: Python<'_>, count: usize) -> PyResult<Vec<(Vec<u8>, u64)>> {
        watch(py, None, |progress| self.0.most_common(count, progress))
    }

    /// Returns how many tokens a tokenizer makes of the corpus.
    fn tokens(&self, py: Python<'_>, engine: &Bound<'_, TokenizerCore>) -> PyResult<u64> {
        let model = engine.get().tokenizer.model();
        watch(py, None, |progress| self.0.tokens(model, progress))
    }

    /// Learns merges; `report` is called with the number learned so far, the latest token, and the
    /// tokens of what is held out, which are counted after so many merges each, and after the last.
    ///
    /// Returns the merges, how many were chosen among equals, and how many pieces were left out with
    /// how many occurrences.
    #[allow(clippy::too_many_arguments, reason = "the Python face names each")]
    #[allow(clippy::type_complexity, reason = "as above")]
    fn learn(
        &self,
        py: Python<'_>,
        merges_max: usize,
        piece_count_min: u64,
        token_bytes_max: Option<usize>,
        memory: Option<usize>,
        initial: Option<(Bound<'_, TokenizerCore>, Id)>,
        held_out: Option<(Bound<'_, Self>, Vec<usize>)>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Merges, usize, (usize, u64))> {
        let initial = initial.as_ref().map(|(engine, first)| (engine.get(), *first));
        let held_out = held_out.as_ref().map(|(counts, merges)| (counts.get(), &merges[..]));
        let options = LearnOptions {
            piece_count_min,
            token_bytes_max: token_bytes_max.unwrap_or(usize::MAX),
            memory_max: memory,
            initial: initial.map(|(engine, first)| (engine.tokenizer.model(), first)),
            validation: held_out
                .map(|(counts, measure_after)| ValidationSet { pieces: &counts.0, measure_after }),
            ..LearnOptions::new(merges_max)
        };
        give_back(py);
        let learned = watch(py, report, |progress| learn(&self.0, &options, progress))?;
        Ok((Merges(learned.merges), learned.ties, learned.left_out))
    }
}
