//! `Finder`: one needle, found in texts of its kind.
//!
//! A needle of characters or bytes is a byte string for the engine. A needle of ids is a sequence
//! of 32-bit numbers, and also of 16-bit numbers if all its ids fit. For example:
//!
//! ```text
//! needle          text                        result of matches(…)
//! "語"            "né 語"                     [(3, 4)]
//! [9906, 1917]    uint16 array, 1 2 9906 1917 [(2, 4)]
//! [9906, 70000]   uint16 array                [], because 70000 has more than 16 bits
//! ```

use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zeton::Error;
use zeton::search::{self, Element, SearchOptions, Sequence};

use super::searched_text::{ElementKind, SearchedText, TextView};
use super::{ID_LIMIT, MatchQuery, char_to_byte, refuse_text_options, run_search};
use crate::errors::raise;
use crate::ids;
use crate::text::CharCounter;

/// The start and the end of a match, in elements of the text.
type MatchRange = (usize, usize);

/// One needle, to be found in texts of its kind.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Finder {
    element: ElementKind,
    needle: Needle,
}

enum Needle {
    Bytes(search::Finder),
    /// The ids as 16-bit numbers, if all of them fit, and as 32-bit numbers.
    Ids(Box<(Option<Sequence<u16>>, Sequence<u32>)>),
}

#[pymethods]
impl Finder {
    #[new]
    fn new(
        py: Python<'_>,
        needle: &Bound<'_, PyAny>,
        whole_word: bool,
        ignore_case: bool,
    ) -> PyResult<Self> {
        let element = ElementKind::from_object(needle);
        let raise = |error: Error| raise(py, &error);
        let needle = match element {
            ElementKind::Ids => {
                refuse_text_options(whole_word, ignore_case)?;
                let ids = ids::read(needle, ID_LIMIT)?;
                let narrow: Result<Vec<u16>, _> = ids.iter().map(|&id| id.try_into()).collect();
                let narrow = narrow.ok().map(|ids| Sequence::try_from_elements(&ids)).transpose();
                Needle::Ids(Box::new((
                    narrow.map_err(raise)?,
                    Sequence::try_from_elements(&ids).map_err(raise)?,
                )))
            }
            _ => {
                let text = SearchedText::try_from_object(needle, element)?;
                let (TextView::Chars(bytes, _) | TextView::Bytes(bytes)) = text.view() else {
                    return Err(PyTypeError::new_err("a needle is str, bytes or ids"));
                };
                let options = SearchOptions { whole_word, ignore_case };
                Needle::Bytes(search::Finder::try_from_needle(bytes, options).map_err(raise)?)
            }
        };
        Ok(Self { element, needle })
    }

    /// Return the ranges of at most `limit` matches, from the last one backwards if `from_end`.
    #[allow(clippy::too_many_arguments, reason = "the Python package passes each by name")]
    fn matches(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        end: usize,
        overlapping: bool,
        from_end: bool,
        limit: usize,
    ) -> PyResult<Vec<MatchRange>> {
        let text = SearchedText::try_from_object(text, self.element)?;
        let query = MatchQuery { start, end, overlapping, from_end, limit };
        Ok(run_search(py, &text, |view| self.find_ranges(view, query)))
    }

    /// Return the number of matches.
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        end: usize,
        overlapping: bool,
    ) -> PyResult<usize> {
        let text = SearchedText::try_from_object(text, self.element)?;
        Ok(run_search(py, &text, |view| match (view, &self.needle) {
            (TextView::Chars(text, is_ascii), Needle::Bytes(finder)) => {
                let range = char_to_byte(text, is_ascii, start)..char_to_byte(text, is_ascii, end);
                finder.matches(text, range, overlapping).count()
            }
            (TextView::Bytes(text), Needle::Bytes(finder)) => {
                finder.matches(text, start..end, overlapping).count()
            }
            (TextView::Ids16(ids), Needle::Ids(needle)) => needle.0.as_ref().map_or(0, |needle| {
                needle.matches(slice_elements(ids, start, end).1, overlapping).count()
            }),
            (TextView::Ids32(ids), Needle::Ids(needle)) => {
                needle.1.matches(slice_elements(ids, start, end).1, overlapping).count()
            }
            _ => 0,
        }))
    }
}

impl Finder {
    /// Returns the start and the end of each match of a query in a text, in elements of the text:
    /// characters, bytes or ids. It touches no Python object, so [`run_search`] may call it without
    /// the GIL.
    fn find_ranges(&self, view: TextView<'_>, query: MatchQuery) -> Vec<MatchRange> {
        match (view, &self.needle) {
            (TextView::Chars(text, is_ascii), Needle::Bytes(finder)) => {
                let [start, end] =
                    [query.start, query.end].map(|position| char_to_byte(text, is_ascii, position));
                let mut characters = CharCounter::new(text, is_ascii);
                let to_chars = |range: Range<usize>| {
                    (characters.position_at(range.start), characters.position_at(range.end))
                };
                find_in_bytes(finder, text, MatchQuery { start, end, ..query }, to_chars)
            }
            (TextView::Bytes(text), Needle::Bytes(finder)) => {
                find_in_bytes(finder, text, query, |range| (range.start, range.end))
            }
            (TextView::Ids16(ids), Needle::Ids(needle)) => match &needle.0 {
                Some(narrow) => find_in_ids(narrow, ids, query),
                None => Vec::new(),
            },
            (TextView::Ids32(ids), Needle::Ids(needle)) => find_in_ids(&needle.1, ids, query),
            _ => Vec::new(),
        }
    }
}

/// Finds the matches of a query, whose range is in bytes, up to its limit. `convert` turns each
/// match from bytes to elements of the text, in the order of the search. The result is a new
/// vector.
fn find_in_bytes(
    finder: &search::Finder,
    text: &[u8],
    query: MatchQuery,
    convert: impl FnMut(Range<usize>) -> MatchRange,
) -> Vec<MatchRange> {
    let range = query.start..query.end;
    if query.from_end {
        let matches = finder.rmatches(text, range, query.overlapping);
        matches.take(query.limit).map(convert).collect()
    } else {
        let matches = finder.matches(text, range, query.overlapping);
        matches.take(query.limit).map(convert).collect()
    }
}

/// Finds the matches of a query in ids, up to its limit, and returns the range of each, in ids from
/// the start of the whole text.
fn find_in_ids<E: Element>(needle: &Sequence<E>, ids: &[E], query: MatchQuery) -> Vec<MatchRange> {
    let (first, ids) = slice_elements(ids, query.start, query.end);
    let range = |start: usize| (first + start, first + start + needle.len());
    if query.from_end {
        needle.rmatches(ids, query.overlapping).take(query.limit).map(range).collect()
    } else {
        needle.matches(ids, query.overlapping).take(query.limit).map(range).collect()
    }
}

/// Clamps the range `start..end` to a text, and returns the position and the elements of the
/// clamped range. The elements are borrowed; the position is added to each match within them.
fn slice_elements<E>(elements: &[E], start: usize, end: usize) -> (usize, &[E]) {
    let end = end.min(elements.len());
    let start = start.min(end);
    (start, &elements[start..end])
}
