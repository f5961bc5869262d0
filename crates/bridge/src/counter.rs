//! Training for Python: texts in, merges out.

use std::sync::Mutex;

use jeton::learn::{Goal, learn};
use jeton::{Error, Id, Splitter};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::raise;
use crate::text::HeldText;
use crate::watch::watch;

/// Counts the pieces of a corpus, then learns merges from the counts.
#[pyclass(frozen, module = "jeton._engine")]
pub(crate) struct Counter {
    splitter: Splitter,
    state: Mutex<State>,
}

enum State {
    Counting(jeton::Counter),
    Counted(jeton::Counts),
    /// A failed batch leaves the counts incomplete, and they are gone.
    Spent,
}

#[pymethods]
impl Counter {
    #[new]
    fn new(py: Python<'_>, pattern: &str, threads: usize, memory: Option<usize>) -> PyResult<Self> {
        let splitter = Splitter::new(pattern).map_err(|error| raise(py, &error))?;
        let counter = jeton::Counter::new(splitter.clone(), threads, memory);
        Ok(Self { splitter, state: Mutex::new(State::Counting(counter)) })
    }

    /// Counts more texts.
    fn add(&self, py: Python<'_>, texts: Vec<HeldText>) -> PyResult<()> {
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.0.bytes()).collect();
        let mut counter = match self.take() {
            State::Counting(counter) => counter,
            _ => return Err(PyRuntimeError::new_err("this counter has finished")),
        };
        let counter = watch(py, None, |progress| counter.add(&texts, progress).map(|()| counter))?;
        self.put(State::Counting(counter));
        Ok(())
    }

    /// Returns how much of a text may be counted on its own, whatever follows it.
    fn last_safe_cut(&self, py: Python<'_>, text: &[u8]) -> usize {
        py.detach(|| self.splitter.last_safe_cut(text).unwrap_or(0))
    }

    /// Ends counting: returns the number of distinct pieces and the digest of the counts.
    fn finish(&self, py: Python<'_>) -> PyResult<(usize, [u8; 32])> {
        let State::Counting(counter) = self.take() else {
            return Err(PyRuntimeError::new_err("this counter has finished"));
        };
        let (counts, digest) = watch(py, None, |progress| {
            let counts = counter.finish(progress)?;
            let digest = counts.digest(progress)?;
            Ok((counts, digest))
        })?;
        let pieces = counts.len();
        self.put(State::Counted(counts));
        Ok((pieces, digest))
    }

    /// Learns merges from the finished counts; `report` is called with the number learned so far.
    fn learn(
        &self,
        py: Python<'_>,
        merges_max: usize,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(Id, Id)>> {
        let State::Counted(counts) = self.take() else {
            return Err(PyRuntimeError::new_err("finish counting before learning"));
        };
        let learned: Result<_, Error> = watch(py, report, |progress| {
            Ok((learn(&counts, &Goal::merges(merges_max), progress), counts))
        })
        .map(|(learned, counts)| {
            self.put(State::Counted(counts));
            learned
        })?;
        learned.map(|learned| learned.pairs()).map_err(|error| raise(py, &error))
    }
}

impl Counter {
    fn take(&self) -> State {
        std::mem::replace(&mut self.state.lock().expect("no holder panics"), State::Spent)
    }

    fn put(&self, state: State) {
        *self.state.lock().expect("no holder panics") = state;
    }
}
