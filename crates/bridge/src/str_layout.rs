//! A `str` as CPython lays it out in memory, read and filled in place.
//!
//! The stable interface has no call for the characters of a `str`, only for its UTF-8. CPython's
//! encoder takes 11 to 24 µs for 20,000 characters, and transcoding in place takes 2 to 5 µs. A new
//! `str` that is not ASCII is made in a third of CPython's time (`docs/notes/python-boundary.md`).
//!
//! Characters lie behind the head, one unit each, all as wide as the widest needs:
//!
//! ```text
//! byte    0            16       24       32      36       40           48         56     72
//!         +------------+--------+--------+-------+--------+------------+----------+------+----
//! 3.11    | head       | length | hash   | state | (none) | (wchar_t)  | ASCII …
//!         |            |        |        |       |        |            | UTF-8 cache …    | wide …
//!         +------------+--------+--------+-------+--------+------------+----------+------+----
//! 3.12 on | head       | length | hash   | state | (none) | ASCII …
//!         |            |        |        |       |        | UTF-8 cache: 16 bytes | wide …
//!         +------------+--------+--------+-------+--------+------------+----------+----
//!
//! state   bit  6       5         4      2   1      0
//! 3.11–13      | ASCII | compact | kind     | interned |
//! bit          20      19        18    16   15     0
//! 3.14         | ASCII | compact | kind     | interned |
//! ```
//!
//! *Kind* is the width of a unit: 1, 2 or 4 bytes. *Compact* means that head and characters are one
//! block of memory; a `str` of a subclass is not. For example, CPython 3.11 has these two, where
//! the state bits above the seventh are not used here:
//!
//! ```text
//!         length  state                                        units
//! "ab"    2       e5 = 1110 0101: kind 1, compact, ASCII       at 48: 61 62
//! "é中"   2       a8 = 1010 1000: kind 2, compact              at 72: e9 00 2d 4e
//! ```
//!
//! The layout is used only after a trial in the running interpreter, on strings of every kind and
//! of several lengths. The trial takes 0.1 to 0.2 ms, at the first text.

use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};
use zeton::sys::unicode::{CharWidth, CodeUnit, measure, widen};
use zeton::{AllowedSpecials, Error, Id, Tokenizer};

use crate::layout::{ObjectHead, ObjectLayout};

/// The layout of a `str` of this interpreter that is one block of memory.
#[derive(Clone, Copy)]
pub(crate) struct StrLayout {
    /// The first of the three bits of the state that hold the kind.
    kind_bit: u8,
    /// The offset of the characters of an ASCII `str`.
    ascii_at: u8,
    /// The offset of the characters of any other `str`.
    wide_at: u8,
}

/// The start of every `str`.
#[repr(C)]
struct StrObject {
    head: ObjectHead,
    length: isize,
    hash: isize,
    state: u32,
}

/// The number of characters, the bytes of each, and whether all are ASCII.
type StrShape = (usize, usize, bool);

/// The code points of a `str`, in units of one width.
pub(crate) enum StrUnits<'a> {
    Ascii(&'a [u8]),
    /// Latin-1: code points below 256.
    One(&'a [u8]),
    Two(&'a [u16]),
    Four(&'a [u32]),
}

impl StrLayout {
    /// Returns the layout of `str` in this interpreter, or `None` if it is unknown; then callers
    /// use Python's calls. The first call detects it.
    #[inline]
    pub(crate) fn detect(py: Python<'_>) -> Option<Self> {
        static DETECTED: PyOnceLock<Option<StrLayout>> = PyOnceLock::new();
        *DETECTED.get_or_init(py, || Self::run_trial(py).ok().flatten())
    }

    /// Finds the layout by the version and the layout of other objects, and checks it by the size
    /// of the class and a trial.
    fn run_trial(py: Python<'_>) -> PyResult<Option<Self>> {
        let Some(layout) = ObjectLayout::detect(py) else { return Ok(None) };
        // Up to 3.11 a head has room for a `wchar_t` copy. Since 3.14 half of the state says
        // whether the str is interned; before, two bits did.
        let (layout, size) = match (layout, py.version_info().minor) {
            (ObjectLayout::Sized, _) => (Self { kind_bit: 2, ascii_at: 48, wide_at: 72 }, 80),
            (ObjectLayout::Tagged, ..14) => (Self { kind_bit: 2, ascii_at: 40, wide_at: 56 }, 64),
            (ObjectLayout::Tagged, _) => (Self { kind_bit: 16, ascii_at: 40, wide_at: 56 }, 64),
        };
        let class = py.get_type::<PyString>();
        if class.getattr("__basicsize__")?.extract::<usize>()? != size {
            return Ok(None);
        }
        let derived = py.get_type::<PyType>().call1(("Derived", (class,), PyDict::new(py)))?;
        for widest in ['a', 'é', 'Ā', '’', '😀'] {
            for length in [0, 1, 16, 300] {
                let text: String = (0..length).map(|_| 'b').chain([widest, 'c']).collect();
                let points: Vec<u32> = text.chars().map(u32::from).collect();
                for text in [PyString::new(py, &text), PyString::intern(py, &text)] {
                    if !layout.has_points(&text, &points)? {
                        return Ok(None);
                    }
                }
                let text = derived.call1((text,))?.cast_into()?;
                if layout.units(text.as_borrowed()).is_some() {
                    return Ok(None);
                }
            }
        }
        Ok(layout.has_points(&PyString::new(py, ""), &[])?.then_some(layout))
    }

    /// Returns whether a `str` of the trial has the size and the code points that this layout
    /// expects. If not, the layout is never used.
    fn has_points(self, text: &Bound<'_, PyString>, points: &[u32]) -> PyResult<bool> {
        let (width, ascii) = match points.iter().max() {
            None | Some(0..0x80) => (1, true),
            Some(0x80..0x100) => (1, false),
            Some(0x100..0x1_0000) => (2, false),
            Some(_) => (4, false),
        };
        let start = usize::from(if ascii { self.ascii_at } else { self.wide_at });
        let size: usize = text.call_method0("__sizeof__")?.extract()?;
        // Characters are read only if all of them lie within the object, with a zero behind them.
        if size != start + (points.len() + 1) * width
            || self.shape(text.as_borrowed()) != Some((points.len(), width, ascii))
        {
            return Ok(false);
        }
        let points = points.iter().copied();
        Ok(match self.units(text.as_borrowed()) {
            Some(StrUnits::Ascii(units) | StrUnits::One(units)) => {
                units.iter().map(|&unit| u32::from(unit)).eq(points)
            }
            Some(StrUnits::Two(units)) => units.iter().map(|&unit| u32::from(unit)).eq(points),
            Some(StrUnits::Four(units)) => units.iter().copied().eq(points),
            None => false,
        })
    }

    /// Returns the number of characters of a `str`, the bytes of each, and whether all are ASCII.
    /// `None` means that the `str` is not one block of memory, as of a subclass.
    #[inline]
    fn shape(self, text: Borrowed<'_, '_, PyString>) -> Option<StrShape> {
        // SAFETY: the object is a str, and the smallest str has more bytes than `StrObject`.
        let text = unsafe { &*text.as_ptr().cast::<StrObject>() };
        let state = text.state >> self.kind_bit;
        let is_compact = state & 1 << 3 != 0;
        is_compact.then_some((text.length as usize, state as usize & 7, state & 1 << 4 != 0))
    }

    /// Returns the code points of a `str` in place, borrowed. `None` means that it is not one block
    /// of memory; then callers use Python's calls.
    #[inline]
    pub(crate) fn units<'a>(self, text: Borrowed<'a, '_, PyString>) -> Option<StrUnits<'a>> {
        use std::slice::from_raw_parts;
        let (length, width, ascii) = self.shape(text)?;
        let start = text.as_ptr().cast_const().cast::<u8>();
        // SAFETY: the object is a str of this layout. Its characters follow its head, aligned to
        // eight bytes. The borrow keeps the str alive, and a str never changes while others hold
        // it.
        unsafe {
            let wide = start.add(usize::from(self.wide_at));
            match (width, ascii) {
                (1, true) => {
                    let start = start.add(usize::from(self.ascii_at));
                    Some(StrUnits::Ascii(from_raw_parts(start, length)))
                }
                (1, false) => Some(StrUnits::One(from_raw_parts(wide, length))),
                (2, false) => Some(StrUnits::Two(from_raw_parts(wide.cast(), length))),
                (4, false) => Some(StrUnits::Four(from_raw_parts(wide.cast(), length))),
                _ => None,
            }
        }
    }
}

/// Bytes from which on a text is widened here. Not measured: most of the time of a short `str` is
/// Python's own calls.
pub(crate) const WIDENED_MIN: usize = 1 << 9;

impl StrLayout {
    /// Makes a `str` by writing the code points of a text into the new object directly. Returns
    /// `None` if the object's length, width and ASCII flag are not as expected, or without memory;
    /// then [`decode::make_str`](crate::decode::make_str) calls CPython's decoder instead.
    pub(crate) fn make_str<'py>(self, py: Python<'py>, text: &str) -> Option<Bound<'py, PyString>> {
        let (characters, width) = measure(text);
        match width {
            CharWidth::Ascii => self.fill_str::<u8>(py, text, "aa", characters),
            CharWidth::One => self.fill_str::<u8>(py, text, "éé", characters),
            CharWidth::Two => self.fill_str::<u16>(py, text, "ĀĀ", characters),
            CharWidth::Four => self.fill_str::<u32>(py, text, "😀😀", characters),
        }
    }

    /// Resizes a `str` of two characters of the right width, and writes the text into it.
    ///
    /// `PyUnicode_Resize` is in the stable interface and leaves the new characters unwritten. The
    /// seed has two characters because shorter strings may be shared, and these cannot be resized.
    fn fill_str<'py, U: CodeUnit>(
        self,
        py: Python<'py>,
        text: &str,
        seed: &str,
        characters: usize,
    ) -> Option<Bound<'py, PyString>> {
        let mut object = PyString::new(py, seed).into_any().into_ptr();
        // SAFETY: we own the only reference to a new str. The call replaces it by a reference to
        // the resized object, which we own, too. Without memory it stays the old one.
        let made = unsafe {
            let status = ffi::PyUnicode_Resize(&raw mut object, characters as isize);
            let made = Bound::from_owned_ptr(py, object);
            if status != 0 {
                ffi::PyErr_Clear();
                return None;
            }
            made.cast_into::<PyString>().ok()?
        };
        let ascii = seed.is_ascii();
        if self.shape(made.as_borrowed()) != Some((characters, size_of::<U>(), ascii)) {
            return None;
        }
        let start = usize::from(if ascii { self.ascii_at } else { self.wide_at });
        // SAFETY: the str has this layout, width and length, checked in the line before, and its
        // characters are aligned to eight bytes. Nothing else refers to it, so it may be written
        // to, and nothing has read it.
        let units = unsafe {
            let first = made.as_ptr().cast::<u8>().add(start).cast::<MaybeUninit<U>>();
            std::slice::from_raw_parts_mut(first, characters)
        };
        zeton::sys::huge_buffer::advise_huge_pages(units);
        assert_eq!(widen(text, units), characters, "`measure` has counted each character");
        Some(made)
    }
}

impl StrUnits<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ascii(units) | Self::One(units) => units.len(),
            Self::Two(units) => units.len(),
            Self::Four(units) => units.len(),
        }
    }

    /// Transcodes the code points in parts and appends their ids to `ids`, without the GIL. Returns
    /// false at a lone surrogate; then the caller removes these ids and encodes Python's UTF-8 of
    /// the `str`. See [`Tokenizer::encode_units`].
    pub(crate) fn encode(
        &self,
        tokenizer: &Tokenizer,
        allowed: &AllowedSpecials,
        ids: &mut Vec<Id>,
    ) -> Result<bool, Error> {
        match self {
            Self::Ascii(units) | Self::One(units) => tokenizer.encode_units(units, allowed, ids),
            Self::Two(units) => tokenizer.encode_units(units, allowed, ids),
            Self::Four(units) => tokenizer.encode_units(units, allowed, ids),
        }
    }

    /// Transcodes the code points to UTF-8 in a new vector. Returns `None` at a lone surrogate;
    /// then the caller has Python encode the `str`.
    pub(crate) fn utf8(&self) -> Option<Vec<u8>> {
        match self {
            Self::Ascii(units) | Self::One(units) => zeton::sys::unicode::transcode(units),
            Self::Two(units) => zeton::sys::unicode::transcode(units),
            Self::Four(units) => zeton::sys::unicode::transcode(units),
        }
    }

    /// Transcodes the code points and appends their UTF-8 to `text`. Returns `None` at a lone
    /// surrogate; then the caller has Python encode the `str`. It needs no GIL.
    pub(crate) fn utf8_into(&self, text: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Ascii(units) | Self::One(units) => {
                zeton::sys::unicode::transcode_into(units, text)
            }
            Self::Two(units) => zeton::sys::unicode::transcode_into(units, text),
            Self::Four(units) => zeton::sys::unicode::transcode_into(units, text),
        }
    }
}
