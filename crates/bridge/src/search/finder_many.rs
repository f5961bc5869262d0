//! `FinderMany`: many needles, found in one pass.
//!
//! The engine finds needles of bytes. Needles of ids are the bytes of the ids, and a match counts
//! only at a multiple of their width. For example, the ids 258 and 1 in an array of 16-bit ids:
//!
//! ```text
//! ids      1      2      258            matches (start, end, needle): (0, 1, 1), (2, 3, 0)
//! bytes    01 00  02 00  02 01          01 00 at bytes 0..2, 02 01 at bytes 4..6
//! ```

use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zeton::Id;
use zeton::search::{self, Element, SearchOptions};

use super::searched_text::{ElementKind, SearchedText, TextView};
use super::{ID_LIMIT, MatchQuery, char_to_byte, refuse_text_options, run_search};
use crate::errors::raise;
use crate::ids;
use crate::text::CharCounter;

/// Many needles of one kind, to be found in texts of that kind.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct FinderMany {
    element: ElementKind,
    needles: Needles,
}

enum Needles {
    Bytes(Box<search::FinderMany>),
    /// The ids, and the finders for texts of 16-bit and 32-bit ids. The first is built on first
    /// use.
    Ids(Vec<Vec<Id>>, Box<[OnceLock<search::FinderMany>; 2]>),
}

/// The start and the end of a match, in elements of the text, and the number of its needle.
type NeedleMatch = (usize, usize, usize);

#[pymethods]
impl FinderMany {
    #[new]
    fn new(
        py: Python<'_>,
        needles: Vec<Bound<'_, PyAny>>,
        whole_word: bool,
        ignore_case: bool,
    ) -> PyResult<Self> {
        let element = needles.first().map_or(ElementKind::Chars, ElementKind::from_object);
        if let Some(other) =
            needles.iter().map(ElementKind::from_object).find(|&other| other != element)
        {
            let (element, other) = (element.name(), other.name());
            let message = format!("one needle is {element} and another {other}; give all alike");
            return Err(PyTypeError::new_err(message));
        }
        let needles = if element == ElementKind::Ids {
            refuse_text_options(whole_word, ignore_case)?;
            let ids = needles.iter().map(|needle| ids::read(needle, ID_LIMIT));
            let ids = ids.collect::<PyResult<Vec<_>>>()?;
            let wide =
                search::FinderMany::try_from_ids(&ids, 4).map_err(|error| raise(py, &error))?;
            Needles::Ids(ids, Box::new([OnceLock::new(), OnceLock::from(wide)]))
        } else {
            let texts = needles.iter().map(|needle| SearchedText::try_from_object(needle, element));
            let texts = texts.collect::<PyResult<Vec<_>>>()?;
            let bytes: Vec<&[u8]> = texts
                .iter()
                .filter_map(|text| match text.view() {
                    TextView::Chars(bytes, _) | TextView::Bytes(bytes) => Some(bytes),
                    _ => None,
                })
                .collect();
            let options = SearchOptions { whole_word, ignore_case };
            let finder = search::FinderMany::try_from_needles(&bytes, options);
            Needles::Bytes(Box::new(finder.map_err(|error| raise(py, &error))?))
        };
        Ok(Self { element, needles })
    }

    /// Return the ranges and needles of at most `limit` matches from `start` on.
    ///
    /// Overlapping matches with one start are returned together, also above the limit.
    fn matches(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        overlapping: bool,
        limit: usize,
    ) -> PyResult<Vec<NeedleMatch>> {
        let text = SearchedText::try_from_object(text, self.element)?;
        let query = MatchQuery { start, end: usize::MAX, overlapping, from_end: false, limit };
        Ok(run_search(py, &text, |view| self.find_matches(view, query)))
    }

    /// Return the number of matches from `start` on.
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        overlapping: bool,
    ) -> PyResult<usize> {
        let text = SearchedText::try_from_object(text, self.element)?;
        Ok(run_search(py, &text, |view| {
            let Some((finder, bytes, unit)) = self.select_finder(view) else { return 0 };
            let start = unit.byte_position(bytes, start);
            if !overlapping {
                return finder.matches(bytes, start..bytes.len()).count();
            }
            let mut count = 0;
            for_each_overlapping(finder, bytes, start, |_| {
                count += 1;
                true
            });
            count
        }))
    }
}

/// The unit of the positions in a text.
#[derive(Clone, Copy)]
enum PositionUnit {
    Chars { is_ascii: bool },
    Elements { bytes: usize },
}

impl PositionUnit {
    /// Converts a position in elements of the text to a position in its bytes. A position behind
    /// the end becomes the end. Text beyond ASCII is counted from its start.
    fn byte_position(self, text: &[u8], position: usize) -> usize {
        match self {
            Self::Chars { is_ascii } => char_to_byte(text, is_ascii, position),
            Self::Elements { bytes } => position.saturating_mul(bytes).min(text.len()),
        }
    }
}

impl FinderMany {
    /// Returns the finder for the elements of a text, the memory of the text as bytes, and the unit
    /// of its positions. The finder of 16-bit ids is built at its first text. `None` means that no
    /// needle can match.
    fn select_finder<'a>(
        &'a self,
        view: TextView<'a>,
    ) -> Option<(&'a search::FinderMany, &'a [u8], PositionUnit)> {
        let id_finder = |bytes: usize| match &self.needles {
            Needles::Ids(ids, finders) => Some(finders[bytes / 4].get_or_init(|| {
                search::FinderMany::try_from_ids(ids, bytes)
                    .expect("the finder of 32-bit ids was built")
            })),
            Needles::Bytes(_) => None,
        };
        match (view, &self.needles) {
            (TextView::Chars(text, is_ascii), Needles::Bytes(finder)) => {
                Some((finder, text, PositionUnit::Chars { is_ascii }))
            }
            (TextView::Bytes(text), Needles::Bytes(finder)) => {
                Some((finder, text, PositionUnit::Elements { bytes: 1 }))
            }
            (TextView::Ids16(ids), _) => {
                Some((id_finder(2)?, as_bytes(ids), PositionUnit::Elements { bytes: 2 }))
            }
            (TextView::Ids32(ids), _) => {
                Some((id_finder(4)?, as_bytes(ids), PositionUnit::Elements { bytes: 4 }))
            }
            _ => None,
        }
    }

    /// Returns the matches of a query, each with its start and end in elements of the text and the
    /// number of its needle. It touches no Python object, so [`run_search`] may call it without the
    /// GIL.
    fn find_matches(&self, view: TextView<'_>, query: MatchQuery) -> Vec<NeedleMatch> {
        let Some((finder, bytes, unit)) = self.select_finder(view) else { return Vec::new() };
        let start = unit.byte_position(bytes, query.start);
        let (is_bytewise, width) = match unit {
            PositionUnit::Chars { is_ascii } => (is_ascii, 1),
            PositionUnit::Elements { bytes } => (true, bytes),
        };
        let mut positions = CharCounter::new(bytes, is_bytewise);
        let mut matches = Vec::new();
        let mut push = |found: search::NeedleMatch| {
            let start = positions.position_at(found.range.start) / width;
            let end = positions.position_at(found.range.end) / width;
            matches.push((start, end, found.needle));
        };
        if query.overlapping {
            let (mut count, mut last) = (0, None);
            for_each_overlapping(finder, bytes, start, |found| {
                if count >= query.limit && last != Some(found.range.start) {
                    return false;
                }
                (count, last) = (count + 1, Some(found.range.start));
                push(found);
                true
            });
        } else {
            finder.matches(bytes, start..bytes.len()).take(query.limit).for_each(push);
        }
        matches
    }
}

/// Bytes of the window in which the starts of overlapping matches are collected together, which
/// bounds the memory of the matches. Not measured.
const WINDOW_BYTES: usize = 1 << 16;

/// Calls `visit` with all matches that begin at `from` or later, until it returns false.
fn for_each_overlapping(
    finder: &search::FinderMany,
    text: &[u8],
    mut from: usize,
    mut visit: impl FnMut(search::NeedleMatch) -> bool,
) {
    let mut found = Vec::new();
    while from < text.len() {
        let end = text.len().min(from.saturating_add(WINDOW_BYTES));
        finder.overlapping(text, from..end, &mut found);
        for found in found.drain(..) {
            if !visit(found) {
                return;
            }
        }
        from = end;
    }
}

/// Returns the memory of ids as bytes, borrowed, because the automaton of many needles reads bytes.
fn as_bytes<E: Element>(ids: &[E]) -> &[u8] {
    // SAFETY: an element is an integer, which has no padding, so all of its bytes are initialised.
    // The slice has `size_of_val(ids)` bytes.
    unsafe { std::slice::from_raw_parts(ids.as_ptr().cast(), size_of_val(ids)) }
}
