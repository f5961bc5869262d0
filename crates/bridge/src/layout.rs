//! Lists, ints and strs as CPython lays them out, read and filled in place.
//!
//! The stable interface of Python has a call for each item of a list, one for each number and one
//! for each reference: most of the time of decoding, and a third of that of making a list. What is
//! behind these calls is the same in CPython 3.11 to 3.14, but for a word of an int, and is used
//! there without them, after a trial. Elsewhere, and for what is not a list of plain ints, the
//! calls are made. A str has no call at all for what it holds, only for its UTF-8, which takes
//! longer to make than ours; so it has a layout and a trial of its own.

use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PyList, PyString, PyType};
use zeton::sys::unicode::{CharWidth, CodeUnit, measure, widen};
use zeton::{AllowedSpecials, Error, Id, Tokenizer};

/// A layout that this interpreter was found to have.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Layout {
    /// 3.11: an int has a number of digits, negative where it is; a word counts its references.
    Sized,
    /// Since 3.12: an int has a tag; half a word counts its references, and may stand still.
    Tagged,
}

/// What every object begins with.
#[repr(C)]
struct Head {
    references: isize,
    class: *mut ffi::PyTypeObject,
}

#[repr(C)]
struct List {
    head: Head,
    length: isize,
    items: *mut *mut ffi::PyObject,
    room: isize,
}

#[repr(C)]
struct Int {
    head: Head,
    size_or_tag: usize,
    digit: u32,
}

/// The tag of a number of one digit that is above zero, and that of zero.
const ABOVE_ZERO: usize = 1 << 3;
const ZERO: usize = 1;

/// The bit of a tag that says nothing about the number: since 3.14, that the int lives for ever.
const LIVES_ON: usize = 1 << 2;

/// Items that are asked for before they are read: ints lie anywhere in memory.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 24;

impl Layout {
    /// Returns the layout of this interpreter, if it is a known one.
    #[inline]
    pub(crate) fn known(py: Python<'_>) -> Option<Self> {
        static KNOWN: PyOnceLock<Option<Layout>> = PyOnceLock::new();
        *KNOWN.get_or_init(py, || Self::find(py).ok().flatten())
    }

    /// Finds the layout by the version, the sizes of the classes, and a trial.
    fn find(py: Python<'_>) -> PyResult<Option<Self>> {
        let version = py.version_info();
        let layout = match (version.major, version.minor) {
            (3, 11) => Self::Sized,
            (3, 12..=14) => Self::Tagged,
            _ => return Ok(None),
        };
        let name: String =
            py.import("sys")?.getattr("implementation")?.getattr("name")?.extract()?;
        let size = |class: &str| -> PyResult<(usize, usize)> {
            let class = py.import("builtins")?.getattr(class)?;
            Ok((
                class.getattr("__basicsize__")?.extract()?,
                class.getattr("__itemsize__")?.extract()?,
            ))
        };
        // An interpreter that is built otherwise, as for threads without the GIL, has larger heads.
        let usual = size("object")? == (size_of::<Head>(), 0)
            && size("list")? == (size_of::<List>(), 0)
            && size("int")? == (std::mem::offset_of!(Int, digit), size_of::<u32>());
        if name != "cpython"
            || !usual
            || cfg!(not(all(target_pointer_width = "64", target_endian = "little")))
        {
            return Ok(None);
        }
        let numbers = [0, 1, 256, 257, 100_000, (1 << 30) - 1];
        let list = PyList::new(py, numbers)?;
        let mut read = [Id::MAX; 6];
        let whole = layout.read(&list, 0, &mut read) == Some((6, 6)) && read == numbers;
        let mut refuses = |number: i64| -> PyResult<bool> {
            Ok(layout.read(&PyList::new(py, [number])?, 0, &mut read).is_none())
        };
        let plain = refuses(-1)? && refuses(1 << 30)? && refuses(-(1 << 40))?;
        Ok((whole && plain).then_some(layout))
    }

    /// Reads the items of a list from a place on, as many as there are or fit into `ids`; returns
    /// how many that are and how many there are. None, if one of them is no plain int below 2³⁰.
    pub(crate) fn read(
        self,
        list: &Bound<'_, PyList>,
        start: usize,
        ids: &mut [Id],
    ) -> Option<(usize, usize)> {
        // SAFETY: the object is a list, of this layout. While the GIL is held and no code of
        // Python's runs, as here, its items stay where and what they are.
        let items = unsafe {
            let list = &*list.as_ptr().cast::<List>();
            match list.length {
                0 => &[],
                length => std::slice::from_raw_parts(list.items.cast_const(), length as usize),
            }
        };
        let items = items.get(start..)?;
        let class = &raw mut ffi::PyLong_Type;
        for (at, (id, &item)) in ids.iter_mut().zip(items).enumerate() {
            #[cfg(target_arch = "x86_64")]
            if let Some(&later) = items.get(at + AHEAD) {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                // SAFETY: any address may be asked for.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(later.cast_const().cast()) };
            }
            // SAFETY: an item of a list is an object, and every object has a head; one whose class
            // is int has the rest, too. None is null once the list is in the hands of others.
            let int = unsafe {
                if (*item.cast::<Head>()).class != class {
                    return None;
                }
                &*item.cast::<Int>()
            };
            *id = match self {
                Self::Sized if int.size_or_tag == 1 => int.digit,
                Self::Sized if int.size_or_tag == 0 => 0,
                Self::Tagged if int.size_or_tag & !LIVES_ON == ABOVE_ZERO => int.digit,
                Self::Tagged if int.size_or_tag & !LIVES_ON == ZERO => 0,
                _ => return None,
            };
        }
        Some((items.len().min(ids.len()), items.len()))
    }

    /// Makes a list of ids out of ready-made ints; each id has one.
    pub(crate) fn list<'py>(
        self,
        py: Python<'py>,
        ids: &[Id],
        ready: &[Py<PyInt>],
    ) -> PyResult<Bound<'py, PyList>> {
        // SAFETY: a new reference to a list, or null and an exception.
        let list =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as isize))? };
        if ids.is_empty() {
            return Ok(list.cast_into()?);
        }
        // SAFETY: the list is new and of this layout: it has room for as many items as asked for,
        // all null so far, and nobody else knows it.
        let items = unsafe {
            let items = (*list.as_ptr().cast::<List>()).items.cast::<MaybeUninit<_>>();
            std::slice::from_raw_parts_mut(items, ids.len())
        };
        zeton::sys::huge_buffer::advise_huge_pages(items);
        for (at, (place, &id)) in items.iter_mut().zip(ids).enumerate() {
            #[cfg(target_arch = "x86_64")]
            if let Some(later) = ids.get(at + AHEAD).and_then(|&later| ready.get(later as usize)) {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                // SAFETY: any address may be asked for.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(later.as_ptr().cast_const().cast()) };
            }
            let int = ready[id as usize].as_ptr();
            // SAFETY: the int is alive, we hold it, and the GIL keeps others from counting.
            unsafe { self.count_one_more(int.cast()) };
            place.write(int);
        }
        Ok(list.cast_into()?)
    }

    /// Counts one more reference, as `Py_INCREF` of this version does.
    ///
    /// # Safety
    ///
    /// The object is alive and of this layout, and the GIL is held.
    #[inline]
    unsafe fn count_one_more(self, object: *mut Head) {
        // SAFETY: as the caller says. The lower half of a count that stands still is negative.
        unsafe {
            let references = &raw mut (*object).references;
            match self {
                Self::Sized => *references += 1,
                Self::Tagged => {
                    let half = references.cast::<i32>();
                    if *half >= 0 {
                        *half = (*half).wrapping_add(1);
                    }
                }
            }
        }
    }
}

/// How this interpreter was found to lay out a str that is one block of memory.
#[derive(Clone, Copy)]
pub(crate) struct StrLayout {
    /// The bit of the state that the kind begins at; two more bits follow it.
    kind_bit: u8,
    /// Where the characters begin, if all are ASCII, and if not.
    ascii_at: u8,
    wide_at: u8,
}

/// What every str begins with.
#[repr(C)]
struct Str {
    head: Head,
    length: isize,
    hash: isize,
    state: u32,
}

/// The characters of a str, one unit each, as wide as the widest needs.
pub(crate) enum Units<'a> {
    Ascii(&'a [u8]),
    One(&'a [u8]),
    Two(&'a [u16]),
    Four(&'a [u32]),
}

impl StrLayout {
    /// Returns the layout of this interpreter, if it is a known one.
    #[inline]
    pub(crate) fn known(py: Python<'_>) -> Option<Self> {
        static KNOWN: PyOnceLock<Option<StrLayout>> = PyOnceLock::new();
        *KNOWN.get_or_init(py, || Self::find(py).ok().flatten())
    }

    /// Finds the layout by that of other objects, the version, the size of the class, and a trial.
    fn find(py: Python<'_>) -> PyResult<Option<Self>> {
        let Some(layout) = Layout::known(py) else { return Ok(None) };
        // Up to 3.11 there is room for wide characters that nobody asks for any more; since 3.14
        // half of the state says whether the str is interned, before that two bits.
        let (layout, size) = match (layout, py.version_info().minor) {
            (Layout::Sized, _) => (Self { kind_bit: 2, ascii_at: 48, wide_at: 72 }, 80),
            (Layout::Tagged, ..14) => (Self { kind_bit: 2, ascii_at: 40, wide_at: 56 }, 64),
            (Layout::Tagged, _) => (Self { kind_bit: 16, ascii_at: 40, wide_at: 56 }, 64),
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
                    if !layout.agrees(&text, &points)? {
                        return Ok(None);
                    }
                }
                let text = derived.call1((text,))?.cast_into()?;
                if layout.units(text.as_borrowed()).is_some() {
                    return Ok(None);
                }
            }
        }
        Ok(layout.agrees(&PyString::new(py, ""), &[])?.then_some(layout))
    }

    /// Returns whether a str is as long in memory as this layout says, and holds these characters.
    fn agrees(self, text: &Bound<'_, PyString>, points: &[u32]) -> PyResult<bool> {
        let (width, ascii) = match points.iter().max() {
            None | Some(0..0x80) => (1, true),
            Some(0x80..0x100) => (1, false),
            Some(0x100..0x1_0000) => (2, false),
            Some(_) => (4, false),
        };
        let start = usize::from(if ascii { self.ascii_at } else { self.wide_at });
        let size: usize = text.call_method0("__sizeof__")?.extract()?;
        // Characters are read only if all of them lie within the object.
        if size != start + (points.len() + 1) * width
            || self.shape(text.as_borrowed()) != Some((points.len(), width, ascii))
        {
            return Ok(false);
        }
        let points = points.iter().copied();
        Ok(match self.units(text.as_borrowed()) {
            Some(Units::Ascii(units) | Units::One(units)) => {
                units.iter().map(|&unit| u32::from(unit)).eq(points)
            }
            Some(Units::Two(units)) => units.iter().map(|&unit| u32::from(unit)).eq(points),
            Some(Units::Four(units)) => units.iter().copied().eq(points),
            None => false,
        })
    }

    /// Returns how many characters a str has, how many bytes each, and whether all are ASCII, if it
    /// is one block; that of a derived class is not.
    #[inline]
    fn shape(self, text: Borrowed<'_, '_, PyString>) -> Option<(usize, usize, bool)> {
        // SAFETY: the object is a str; the smallest has more bytes than are read here.
        let text = unsafe { &*text.as_ptr().cast::<Str>() };
        let state = text.state >> self.kind_bit;
        let compact = state & 1 << 3 != 0;
        compact.then_some((text.length as usize, state as usize & 7, state & 1 << 4 != 0))
    }

    /// Returns the characters of a str where they lie, if it is one block.
    #[inline]
    pub(crate) fn units<'a>(self, text: Borrowed<'a, '_, PyString>) -> Option<Units<'a>> {
        use std::slice::from_raw_parts;
        let (length, width, ascii) = self.shape(text)?;
        let start = text.as_ptr().cast_const().cast::<u8>();
        // SAFETY: the object is a str of this layout. Its characters follow its head, aligned to
        // eight bytes; it is held for as long as they are lent, and never changes while it is held.
        unsafe {
            let wide = start.add(usize::from(self.wide_at));
            match (width, ascii) {
                (1, true) => {
                    let start = start.add(usize::from(self.ascii_at));
                    Some(Units::Ascii(from_raw_parts(start, length)))
                }
                (1, false) => Some(Units::One(from_raw_parts(wide, length))),
                (2, false) => Some(Units::Two(from_raw_parts(wide.cast(), length))),
                (4, false) => Some(Units::Four(from_raw_parts(wide.cast(), length))),
                _ => None,
            }
        }
    }
}

/// Bytes that a text has at least to be widened here: making a short one is Python's own calls and
/// little else.
pub(crate) const WIDENED_MIN: usize = 1 << 9;

impl StrLayout {
    /// Makes a str of a text, in a third of the time that Python takes where it is not ASCII; nothing
    /// where it does not turn out as it should.
    pub(crate) fn make<'py>(self, py: Python<'py>, text: &str) -> Option<Bound<'py, PyString>> {
        let (characters, width) = measure(text);
        match width {
            CharWidth::Ascii => self.make_of::<u8>(py, text, "aa", characters),
            CharWidth::One => self.make_of::<u8>(py, text, "éé", characters),
            CharWidth::Two => self.make_of::<u16>(py, text, "ĀĀ", characters),
            CharWidth::Four => self.make_of::<u32>(py, text, "😀😀", characters),
        }
    }

    /// Makes it by drawing out a str as wide: the characters that are new are not written yet.
    fn make_of<'py, U: CodeUnit>(
        self,
        py: Python<'py>,
        text: &str,
        seed: &str,
        characters: usize,
    ) -> Option<Bound<'py, PyString>> {
        let mut object = PyString::new(py, seed).into_any().into_ptr();
        // SAFETY: we own the only reference to a new str; we own what it becomes, the same or
        // another, and if there is no memory it stays what it was.
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
        // SAFETY: the str is of this layout, so wide and so long, its characters aligned to eight
        // bytes; and nobody else knows it: it may still be written to, and nobody has read it.
        let units = unsafe {
            let first = made.as_ptr().cast::<u8>().add(start).cast::<MaybeUninit<U>>();
            std::slice::from_raw_parts_mut(first, characters)
        };
        zeton::sys::huge_buffer::advise_huge_pages(units);
        assert_eq!(widen(text, units), characters, "each has been counted");
        Some(made)
    }
}

impl Units<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ascii(units) | Self::One(units) => units.len(),
            Self::Two(units) => units.len(),
            Self::Four(units) => units.len(),
        }
    }

    /// Appends the ids, as [`Tokenizer::encode_units`].
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

    /// Returns the UTF-8, if there are no lone surrogates.
    pub(crate) fn utf8(&self) -> Option<Vec<u8>> {
        match self {
            Self::Ascii(units) | Self::One(units) => zeton::sys::unicode::transcode(units),
            Self::Two(units) => zeton::sys::unicode::transcode(units),
            Self::Four(units) => zeton::sys::unicode::transcode(units),
        }
    }

    /// Appends the UTF-8 to a text, if there are no lone surrogates.
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
