//! Search for Python: needles and texts of characters, bytes and ids.

use std::ops::Range;
use std::sync::OnceLock;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use zeton::search::{self, Element, Options, Sequence};
use zeton::{Error, Id};

use crate::errors::raise;
use crate::ids;
use crate::text::with_surrogates;

/// Bytes from which on the GIL is released.
const LARGE: usize = 1 << 14;

/// Numbers that an id may be below.
const IDS: usize = 1 << 32;

/// What needles and texts are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    Characters,
    Bytes,
    Ids,
}

impl Made {
    fn of(object: &Bound<'_, PyAny>) -> Self {
        if object.is_instance_of::<PyString>() {
            Self::Characters
        } else if PyBuffer::<u8>::get(object).is_ok() {
            Self::Bytes
        } else {
            Self::Ids
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Characters => "str",
            Self::Bytes => "bytes",
            Self::Ids => "ids",
        }
    }
}

/// A text, held for as long as it is read.
enum Text<'a> {
    /// UTF-8, and whether it is all ASCII.
    Str(crate::text::Text<'a>, bool),
    Bytes(&'a [u8]),
    Buffer(PyBuffer<u8>),
    Narrow(PyBuffer<u16>),
    Wide(PyBuffer<u32>),
    Listed(Vec<Id>),
}

impl<'a> Text<'a> {
    fn of(object: &'a Bound<'_, PyAny>, needle: Made) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            Self::must_be(needle, Made::Characters)?;
            let text = with_surrogates(text)?;
            let is_ascii = text.bytes().is_ascii();
            return Ok(Self::Str(text, is_ascii));
        }
        if let Ok(text) = object.cast::<PyBytes>() {
            Self::must_be(needle, Made::Bytes)?;
            return Ok(Self::Bytes(text.as_bytes()));
        }
        if let Ok(buffer) = PyBuffer::<u8>::get(object) {
            Self::must_be(needle, Made::Bytes)?;
            if !is_plain(&buffer) {
                let message = "bytes are searched in one row of memory; copy them with bytes()";
                return Err(PyTypeError::new_err(message));
            }
            return Ok(Self::Buffer(buffer));
        }
        if needle != Made::Ids {
            let (class, needle) = (object.get_type().name()?, needle.name());
            let message = format!("the needle is {needle} and the text {class}; give both alike");
            return Err(PyTypeError::new_err(message));
        }
        if let Ok(buffer) = PyBuffer::<u16>::get(object)
            && is_plain(&buffer)
        {
            return Ok(Self::Narrow(buffer));
        }
        if let Ok(buffer) = PyBuffer::<u32>::get(object)
            && is_plain(&buffer)
        {
            return Ok(Self::Wide(buffer));
        }
        ids::read(object, IDS).map(Self::Listed)
    }

    fn must_be(needle: Made, text: Made) -> PyResult<()> {
        if needle == text {
            return Ok(());
        }
        let (needle, text) = (needle.name(), text.name());
        let message = format!("the needle is {needle} and the text {text}; give both alike");
        Err(PyTypeError::new_err(message))
    }

    /// The text as bytes or ids.
    fn view(&self) -> View<'_> {
        match self {
            Self::Str(text, is_ascii) => View::Characters(text.bytes(), *is_ascii),
            Self::Bytes(text) => View::Bytes(text),
            Self::Buffer(buffer) => View::Bytes(elements(buffer)),
            Self::Narrow(buffer) => View::Narrow(elements(buffer)),
            Self::Wide(buffer) => View::Wide(elements(buffer)),
            Self::Listed(ids) => View::Wide(ids),
        }
    }

    /// Whether nobody can write to it while the GIL is released.
    fn is_fixed(&self) -> bool {
        match self {
            Self::Str(..) | Self::Bytes(_) | Self::Listed(_) => true,
            Self::Buffer(buffer) => buffer.readonly(),
            Self::Narrow(buffer) => buffer.readonly(),
            Self::Wide(buffer) => buffer.readonly(),
        }
    }
}

/// Whether a buffer is a row of numbers of this machine's: a format that names an order of bytes may
/// name the other one.
fn is_plain<T: pyo3::buffer::Element>(buffer: &PyBuffer<T>) -> bool {
    let order = buffer.format().to_bytes().first();
    let is_named = order.is_some_and(|order| b"<>!".contains(order));
    buffer.is_c_contiguous() && buffer.dimensions() == 1 && !is_named
}

/// The elements of a buffer that lies in one stretch of memory.
fn elements<T: pyo3::buffer::Element>(buffer: &PyBuffer<T>) -> &[T] {
    let count = buffer.item_count();
    if count == 0 {
        return &[];
    }
    // SAFETY: the buffer was found to be contiguous and of this element, aligned by `PyBuffer`'s
    // check; it keeps its memory for as long as it is held. Writable memory is read with the GIL
    // held, so that no code of Python's writes to it meanwhile.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), count) }
}

#[derive(Clone, Copy)]
enum View<'a> {
    Characters(&'a [u8], bool),
    Bytes(&'a [u8]),
    Narrow(&'a [u16]),
    Wide(&'a [u32]),
}

/// What is asked of a text: where to look, in its elements, and which matches.
#[derive(Clone, Copy)]
struct Asked {
    start: usize,
    end: usize,
    overlapping: bool,
    from_end: bool,
    limit: usize,
}

/// Where a match is.
type Place = (usize, usize);

/// Runs work on a text, without the GIL where it is large.
fn run<R: Send>(py: Python<'_>, text: &Text<'_>, work: impl Send + FnOnce(View<'_>) -> R) -> R {
    let view = text.view();
    let bytes = match view {
        View::Characters(text, _) | View::Bytes(text) => text.len(),
        View::Narrow(ids) => size_of_val(ids),
        View::Wide(ids) => size_of_val(ids),
    };
    if bytes >= LARGE && text.is_fixed() { py.detach(|| work(view)) } else { work(view) }
}

/// Returns the place in UTF-8 of a number of characters, or the end.
fn place_of(text: &[u8], is_ascii: bool, characters: usize) -> usize {
    if is_ascii {
        return characters.min(text.len());
    }
    let (mut left, mut place) = (characters, 0);
    for some in text.chunks(1 << 10) {
        let count = characters_in(some);
        if left < count {
            let starts = some.iter().enumerate().filter(|(_, byte)| **byte & 0xC0 != 0x80);
            return place + starts.map(|(at, _)| at).nth(left).unwrap_or(some.len());
        }
        (left, place) = (left - count, place + some.len());
    }
    text.len()
}

fn characters_in(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// Counts characters up to places that rise, or fall, one after the other.
struct Characters<'a> {
    text: &'a [u8],
    is_ascii: bool,
    place: usize,
    count: usize,
}

impl<'a> Characters<'a> {
    fn new(text: &'a [u8], is_ascii: bool) -> Self {
        Self { text, is_ascii, place: 0, count: 0 }
    }

    fn at(&mut self, place: usize) -> usize {
        if self.is_ascii {
            return place;
        }
        if place >= self.place {
            self.count += characters_in(&self.text[self.place..place]);
        } else {
            self.count -= characters_in(&self.text[place..self.place]);
        }
        self.place = place;
        self.count
    }

    fn range(&mut self, range: &Range<usize>) -> Place {
        let start = self.at(range.start);
        (start, self.at(range.end))
    }
}

/// One needle.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct Finder {
    made: Made,
    kind: Kind,
}

enum Kind {
    Bytes(search::Finder),
    /// The first, if all ids fit into two bytes.
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
        let made = Made::of(needle);
        let raise = |error: Error| raise(py, &error);
        let kind = match made {
            Made::Ids => {
                refuse_options(whole_word, ignore_case)?;
                let ids = ids::read(needle, IDS)?;
                let narrow: Result<Vec<u16>, _> = ids.iter().map(|&id| id.try_into()).collect();
                let narrow = narrow.ok().map(|ids| Sequence::new(&ids)).transpose();
                Kind::Ids(Box::new((narrow.map_err(raise)?, Sequence::new(&ids).map_err(raise)?)))
            }
            _ => {
                let text = Text::of(needle, made)?;
                let (View::Characters(bytes, _) | View::Bytes(bytes)) = text.view() else {
                    return Err(PyTypeError::new_err("a needle is str, bytes or ids"));
                };
                let options = Options { whole_word, ignore_case };
                Kind::Bytes(search::Finder::new(bytes, options).map_err(raise)?)
            }
        };
        Ok(Self { made, kind })
    }

    /// Returns where matches begin and end, at most so many; from the end if asked for.
    #[allow(clippy::too_many_arguments, reason = "the Python face names them")]
    fn matches(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        end: usize,
        overlapping: bool,
        from_end: bool,
        limit: usize,
    ) -> PyResult<Vec<Place>> {
        let text = Text::of(text, self.made)?;
        let asked = Asked { start, end, overlapping, from_end, limit };
        Ok(run(py, &text, |view| self.places(view, asked)))
    }

    /// Counts matches.
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        end: usize,
        overlapping: bool,
    ) -> PyResult<usize> {
        let text = Text::of(text, self.made)?;
        Ok(run(py, &text, |view| match (view, &self.kind) {
            (View::Characters(text, is_ascii), Kind::Bytes(finder)) => {
                let range = place_of(text, is_ascii, start)..place_of(text, is_ascii, end);
                finder.matches(text, range, overlapping).count()
            }
            (View::Bytes(text), Kind::Bytes(finder)) => {
                finder.matches(text, start..end, overlapping).count()
            }
            (View::Narrow(ids), Kind::Ids(needle)) => needle
                .0
                .as_ref()
                .map_or(0, |needle| needle.matches(within(ids, start, end).1, overlapping).count()),
            (View::Wide(ids), Kind::Ids(needle)) => {
                needle.1.matches(within(ids, start, end).1, overlapping).count()
            }
            _ => 0,
        }))
    }
}

impl Finder {
    fn places(&self, view: View<'_>, asked: Asked) -> Vec<Place> {
        match (view, &self.kind) {
            (View::Characters(text, is_ascii), Kind::Bytes(finder)) => {
                let [start, end] =
                    [asked.start, asked.end].map(|place| place_of(text, is_ascii, place));
                let mut characters = Characters::new(text, is_ascii);
                let place = |range: Range<usize>| characters.range(&range);
                places_of_bytes(finder, text, Asked { start, end, ..asked }, place)
            }
            (View::Bytes(text), Kind::Bytes(finder)) => {
                places_of_bytes(finder, text, asked, |range| (range.start, range.end))
            }
            (View::Narrow(ids), Kind::Ids(needle)) => match &needle.0 {
                Some(narrow) => places_of_ids(narrow, ids, asked),
                None => Vec::new(),
            },
            (View::Wide(ids), Kind::Ids(needle)) => places_of_ids(&needle.1, ids, asked),
            _ => Vec::new(),
        }
    }
}

fn places_of_bytes(
    finder: &search::Finder,
    text: &[u8],
    asked: Asked,
    place: impl FnMut(Range<usize>) -> Place,
) -> Vec<Place> {
    let range = asked.start..asked.end;
    if asked.from_end {
        let matches = finder.matches_back(text, range, asked.overlapping);
        matches.take(asked.limit).map(place).collect()
    } else {
        let matches = finder.matches(text, range, asked.overlapping);
        matches.take(asked.limit).map(place).collect()
    }
}

fn places_of_ids<E: Element>(needle: &Sequence<E>, ids: &[E], asked: Asked) -> Vec<Place> {
    let (first, ids) = within(ids, asked.start, asked.end);
    let place = |start: usize| (first + start, first + start + needle.len());
    if asked.from_end {
        needle.matches_back(ids, asked.overlapping).take(asked.limit).map(place).collect()
    } else {
        needle.matches(ids, asked.overlapping).take(asked.limit).map(place).collect()
    }
}

/// The elements from a place to another, and where they begin.
fn within<E>(elements: &[E], start: usize, end: usize) -> (usize, &[E]) {
    let end = end.min(elements.len());
    let start = start.min(end);
    (start, &elements[start..end])
}

fn refuse_options(whole_word: bool, ignore_case: bool) -> PyResult<()> {
    match whole_word || ignore_case {
        true => Err(PyTypeError::new_err(
            "ids have no words and no case; leave out whole_word and ignore_case",
        )),
        false => Ok(()),
    }
}

/// Many needles.
#[pyclass(frozen, module = "zeton._engine")]
pub(crate) struct FinderMany {
    made: Made,
    kind: KindMany,
}

enum KindMany {
    Bytes(Box<search::FinderMany>),
    /// Ids, and the finders for those of two and four bytes, made when they are needed.
    Ids(Vec<Vec<Id>>, Box<[OnceLock<search::FinderMany>; 2]>),
}

/// Where a match is, and which needle it is of.
type PlaceMany = (usize, usize, usize);

#[pymethods]
impl FinderMany {
    #[new]
    fn new(
        py: Python<'_>,
        needles: Vec<Bound<'_, PyAny>>,
        whole_word: bool,
        ignore_case: bool,
    ) -> PyResult<Self> {
        let made = needles.first().map_or(Made::Characters, Made::of);
        if let Some(other) = needles.iter().map(Made::of).find(|&other| other != made) {
            let (made, other) = (made.name(), other.name());
            let message = format!("one needle is {made} and another {other}; give all alike");
            return Err(PyTypeError::new_err(message));
        }
        let kind = if made == Made::Ids {
            refuse_options(whole_word, ignore_case)?;
            let ids = needles.iter().map(|needle| ids::read(needle, IDS));
            let ids = ids.collect::<PyResult<Vec<_>>>()?;
            let wide = search::FinderMany::of_ids(&ids, 4).map_err(|error| raise(py, &error))?;
            KindMany::Ids(ids, Box::new([OnceLock::new(), OnceLock::from(wide)]))
        } else {
            let texts = needles.iter().map(|needle| Text::of(needle, made));
            let texts = texts.collect::<PyResult<Vec<_>>>()?;
            let bytes: Vec<&[u8]> = texts
                .iter()
                .filter_map(|text| match text.view() {
                    View::Characters(bytes, _) | View::Bytes(bytes) => Some(bytes),
                    _ => None,
                })
                .collect();
            let options = Options { whole_word, ignore_case };
            let finder = search::FinderMany::new(&bytes, options);
            KindMany::Bytes(Box::new(finder.map_err(|error| raise(py, &error))?))
        };
        Ok(Self { made, kind })
    }

    /// Returns where matches that begin at `start` or later begin and end, and of which needles they are; at
    /// most so many, but all of a place where they may overlap.
    fn matches(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        overlapping: bool,
        limit: usize,
    ) -> PyResult<Vec<PlaceMany>> {
        let text = Text::of(text, self.made)?;
        let asked = Asked { start, end: usize::MAX, overlapping, from_end: false, limit };
        Ok(run(py, &text, |view| self.places(view, asked)))
    }

    /// Counts matches.
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        start: usize,
        overlapping: bool,
    ) -> PyResult<usize> {
        let text = Text::of(text, self.made)?;
        Ok(run(py, &text, |view| {
            let Some((finder, bytes, scale)) = self.seen(view) else { return 0 };
            let start = scale.place(bytes, start);
            if !overlapping {
                return finder.matches(bytes, start..bytes.len()).count();
            }
            let mut count = 0;
            all_overlapping(finder, bytes, start, |_| {
                count += 1;
                true
            });
            count
        }))
    }
}

/// How places of a text are told in bytes.
#[derive(Clone, Copy)]
enum Scale {
    Characters { is_ascii: bool },
    Elements { bytes: usize },
}

impl Scale {
    fn place(self, text: &[u8], place: usize) -> usize {
        match self {
            Self::Characters { is_ascii } => place_of(text, is_ascii, place),
            Self::Elements { bytes } => place.saturating_mul(bytes).min(text.len()),
        }
    }
}

impl FinderMany {
    /// The finder for a text, the text in bytes, and how its places are told.
    fn seen<'a>(&'a self, view: View<'a>) -> Option<(&'a search::FinderMany, &'a [u8], Scale)> {
        let of_ids = |bytes: usize| match &self.kind {
            KindMany::Ids(ids, finders) => Some(finders[bytes / 4].get_or_init(|| {
                search::FinderMany::of_ids(ids, bytes).expect("wider ones were made of them")
            })),
            KindMany::Bytes(_) => None,
        };
        match (view, &self.kind) {
            (View::Characters(text, is_ascii), KindMany::Bytes(finder)) => {
                Some((finder, text, Scale::Characters { is_ascii }))
            }
            (View::Bytes(text), KindMany::Bytes(finder)) => {
                Some((finder, text, Scale::Elements { bytes: 1 }))
            }
            (View::Narrow(ids), _) => {
                Some((of_ids(2)?, as_bytes(ids), Scale::Elements { bytes: 2 }))
            }
            (View::Wide(ids), _) => Some((of_ids(4)?, as_bytes(ids), Scale::Elements { bytes: 4 })),
            _ => None,
        }
    }

    fn places(&self, view: View<'_>, asked: Asked) -> Vec<PlaceMany> {
        let Some((finder, bytes, scale)) = self.seen(view) else { return Vec::new() };
        let start = scale.place(bytes, asked.start);
        let mut characters = Characters::new(bytes, true);
        let mut width = 1;
        match scale {
            Scale::Characters { is_ascii } => characters.is_ascii = is_ascii,
            Scale::Elements { bytes } => width = bytes,
        }
        let mut places = Vec::new();
        let mut put = |found: search::Found| {
            let (start, end) = characters.range(&found.range);
            places.push((start / width, end / width, found.needle));
        };
        if asked.overlapping {
            let (mut count, mut last) = (0, None);
            all_overlapping(finder, bytes, start, |found| {
                if count >= asked.limit && last != Some(found.range.start) {
                    return false;
                }
                (count, last) = (count + 1, Some(found.range.start));
                put(found);
                true
            });
        } else {
            finder.matches(bytes, start..bytes.len()).take(asked.limit).for_each(put);
        }
        places
    }
}

/// Places where matches begin that are looked for together.
const STRETCH: usize = 1 << 16;

/// Calls `each` with all matches that begin at a place or later, until it returns false.
fn all_overlapping(
    finder: &search::FinderMany,
    text: &[u8],
    mut from: usize,
    mut each: impl FnMut(search::Found) -> bool,
) {
    let mut found = Vec::new();
    while from < text.len() {
        let end = text.len().min(from.saturating_add(STRETCH));
        finder.overlapping(text, from..end, &mut found);
        for found in found.drain(..) {
            if !each(found) {
                return;
            }
        }
        from = end;
    }
}

/// The bytes of ids, as they lie in memory.
fn as_bytes<E: Element>(ids: &[E]) -> &[u8] {
    // SAFETY: an element is a number without gaps, and all of its bytes are set.
    unsafe { std::slice::from_raw_parts(ids.as_ptr().cast(), size_of_val(ids)) }
}
