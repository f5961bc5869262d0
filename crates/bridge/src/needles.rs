//! Every match of some needles in a text, overlapping ones too, for Python.

use jeton::search::{Finder, FinderMany, Found, Options};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::text::HeldText;

/// One needle or many.
enum Kind {
    One(Box<Finder>),
    Many(Box<FinderMany>),
}

/// Needles that are to be found in files, a stretch at a time.
#[pyclass(frozen, module = "jeton._engine")]
pub(crate) struct NeedleFinder(Kind);

#[pymethods]
impl NeedleFinder {
    #[new]
    fn new(
        py: Python<'_>,
        needles: Vec<HeldText>,
        whole_word: bool,
        ignore_case: bool,
    ) -> PyResult<Self> {
        let options = Options { whole_word, ignore_case };
        let needles: Vec<&[u8]> = needles.iter().map(|needle| needle.0.bytes()).collect();
        let made = py.detach(|| match needles[..] {
            [needle] => Finder::new(needle, options).map(|one| Kind::One(Box::new(one))),
            _ => FinderMany::new(&needles, options).map(|many| Kind::Many(Box::new(many))),
        });
        made.map(Self).map_err(|error| raise(py, &error))
    }

    /// Return start, end and needle of all matches that begin in a range, by their start.
    fn every(
        &self,
        py: Python<'_>,
        text: HeldText,
        start: usize,
        stop: usize,
    ) -> Vec<(usize, usize, usize)> {
        let text = text.0.bytes();
        let stop = stop.min(text.len());
        py.detach(|| match &self.0 {
            Kind::One(finder) => finder
                .matches(text, start.min(stop)..text.len(), true)
                .take_while(|found| found.start < stop)
                .map(|found| (found.start, found.end, 0))
                .collect(),
            Kind::Many(finder) => {
                let mut found = Vec::new();
                finder.overlapping(text, start.min(stop)..stop, &mut found);
                let told = |Found { range, needle }| (range.start, range.end, needle);
                found.into_iter().map(told).collect()
            }
        })
    }
}
