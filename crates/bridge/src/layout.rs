//! Lists and ints as CPython lays them out in memory, read and filled in place.
//!
//! The stable interface of Python has one call for each item of a list, each int and each
//! reference. These calls took most of the time of decoding and a third of the time of making a
//! list. An item takes 6.3 to 9.9 ns through the calls and 3.5 to 4.0 ns in place
//! (`docs/notes/python-boundary.md`).
//!
//! The layout of CPython 3.11 to 3.14 on 64-bit little-endian machines:
//!
//! ```text
//! byte     0            8            16           24           32           40
//!          +------------+------------+------------+------------+------------+
//! list     | references | class      | length     | items ─┐   | allocated  |
//!          +------------+------------+------------+--------│---+------------+
//!          +------------+------------+-----       ▼
//! items    | ─┐         | → int      | …          (pointers, one an item)
//!          +--│---------+------------+-----
//!             ▼
//!          +------------+------------+------------+-------+
//! int      | references | class      | size       | digit |        3.11: size 1, 0, or negative
//!          +------------+------------+------------+-------+
//!          | references | class      | tag        | digit |        since 3.12
//!          +------------+------------+------------+-------+
//!
//! tag      bit 63                       3   2          1 0
//!              | number of digits        | immortal   | sign |
//!                                                       00 positive, 01 zero, 10 negative
//! ```
//!
//! For example, the id 9906 is an int of one digit: its tag is `1 << 3`, its digit 9906. A digit
//! has 30 bits, so larger numbers are left to Python's calls.
//!
//! A layout is used only after a trial in the running interpreter: the version, the sizes of the
//! classes, and lists of known numbers have to agree. In other interpreters, and for lists with
//! other items, the callers use Python's calls.

use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList};
use zeton::Id;

/// The layout of this interpreter's objects.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ObjectLayout {
    /// CPython 3.11: an int has a signed number of digits, and 64 bits count references.
    Sized,
    /// CPython since 3.12: an int has a tag, and 32 bits count references. A negative count means
    /// that the object is immortal.
    Tagged,
}

/// The start of every object.
#[repr(C)]
pub(crate) struct ObjectHead {
    references: isize,
    class: *mut ffi::PyTypeObject,
}

#[repr(C)]
struct ListObject {
    head: ObjectHead,
    length: isize,
    items: *mut *mut ffi::PyObject,
    allocated: isize,
}

#[repr(C)]
struct IntObject {
    head: ObjectHead,
    size_or_tag: usize,
    digit: u32,
}

/// The tag of a positive number of one digit.
const TAG_ONE_DIGIT: usize = 1 << 3;
/// The tag of zero.
const TAG_ZERO: usize = 1;

/// The bit of a tag that marks an immortal int since 3.14. It does not change the number.
const TAG_IMMORTAL: usize = 1 << 2;

/// Items between the one that is read and the one that is prefetched, because ints lie anywhere in
/// memory: 3.6–4.6 → 3.5–4.0 ns an item (`docs/notes/python-boundary.md`).
#[cfg(target_arch = "x86_64")]
const PREFETCH_ITEMS: usize = 24;

impl ObjectLayout {
    /// Returns the layout of the ints and lists of this interpreter, or `None` if it is unknown;
    /// then callers use Python's calls. The first call detects it.
    #[inline]
    pub(crate) fn detect(py: Python<'_>) -> Option<Self> {
        static DETECTED: PyOnceLock<Option<ObjectLayout>> = PyOnceLock::new();
        *DETECTED.get_or_init(py, || Self::run_trial(py).ok().flatten())
    }

    /// Finds the layout by the version of Python, and checks it by the sizes of the classes and a
    /// trial. `None` or an exception means that the layout is unknown.
    fn run_trial(py: Python<'_>) -> PyResult<Option<Self>> {
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
        // Other builds of CPython, for example without the GIL, have larger heads.
        let has_usual_sizes = size("object")? == (size_of::<ObjectHead>(), 0)
            && size("list")? == (size_of::<ListObject>(), 0)
            && size("int")? == (std::mem::offset_of!(IntObject, digit), size_of::<u32>());
        if name != "cpython"
            || !has_usual_sizes
            || cfg!(not(all(target_pointer_width = "64", target_endian = "little")))
        {
            return Ok(None);
        }
        let numbers = [0, 1, 256, 257, 100_000, (1 << 30) - 1];
        let list = PyList::new(py, numbers)?;
        let mut ids = [Id::MAX; 6];
        let reads_numbers = layout.read_ids(&list, 0, &mut ids) == Some((6, 6)) && ids == numbers;
        let mut refuses = |number: i64| -> PyResult<bool> {
            Ok(layout.read_ids(&PyList::new(py, [number])?, 0, &mut ids).is_none())
        };
        let refuses_others = refuses(-1)? && refuses(1 << 30)? && refuses(-(1 << 40))?;
        Ok((reads_numbers && refuses_others).then_some(layout))
    }

    /// Reads the items of a list from `start` on, as many as fit into `ids`.
    ///
    /// Returns the number of ids read and the number of items from `start` on. Returns `None` if
    /// one of the items is not an int from 0 to 2³⁰ - 1.
    pub(crate) fn read_ids(
        self,
        list: &Bound<'_, PyList>,
        start: usize,
        ids: &mut [Id],
    ) -> Option<(usize, usize)> {
        // SAFETY: the object is a list of this layout. The GIL is held and no Python code runs in
        // this function, so the items neither move nor change.
        let items = unsafe {
            let list = &*list.as_ptr().cast::<ListObject>();
            match list.length {
                0 => &[],
                length => std::slice::from_raw_parts(list.items.cast_const(), length as usize),
            }
        };
        let items = items.get(start..)?;
        let class = &raw mut ffi::PyLong_Type;
        for (at, (id, &item)) in ids.iter_mut().zip(items).enumerate() {
            #[cfg(target_arch = "x86_64")]
            if let Some(&later) = items.get(at + PREFETCH_ITEMS) {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                // SAFETY: a prefetch may have any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(later.cast_const().cast()) };
            }
            // SAFETY: an item of a list that Python code can reach is an object, never null, and
            // every object has a head. An object whose class is int is an `IntObject`.
            let int = unsafe {
                if (*item.cast::<ObjectHead>()).class != class {
                    return None;
                }
                &*item.cast::<IntObject>()
            };
            *id = match self {
                Self::Sized if int.size_or_tag == 1 => int.digit,
                Self::Sized if int.size_or_tag == 0 => 0,
                Self::Tagged if int.size_or_tag & !TAG_IMMORTAL == TAG_ONE_DIGIT => int.digit,
                Self::Tagged if int.size_or_tag & !TAG_IMMORTAL == TAG_ZERO => 0,
                _ => return None,
            };
        }
        Some((items.len().min(ids.len()), items.len()))
    }

    /// Makes a Python list of ids by writing references to ready-made ints into a new list
    /// directly; `ready[id]` is the int of an id.
    pub(crate) fn make_list<'py>(
        self,
        py: Python<'py>,
        ids: &[Id],
        ready: &[Py<PyInt>],
    ) -> PyResult<Bound<'py, PyList>> {
        // SAFETY: the call returns a new reference to a list, or null and sets an exception.
        let list =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as isize))? };
        if ids.is_empty() {
            return Ok(list.cast_into()?);
        }
        // SAFETY: the list is new and of this layout. It has room for `ids.len()` items, all of
        // them null, and nothing else refers to it.
        let items = unsafe {
            let items = (*list.as_ptr().cast::<ListObject>()).items.cast::<MaybeUninit<_>>();
            std::slice::from_raw_parts_mut(items, ids.len())
        };
        zeton::sys::huge_buffer::advise_huge_pages(items);
        for (at, (item, &id)) in items.iter_mut().zip(ids).enumerate() {
            #[cfg(target_arch = "x86_64")]
            if let Some(later) =
                ids.get(at + PREFETCH_ITEMS).and_then(|&later| ready.get(later as usize))
            {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                // SAFETY: a prefetch may have any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(later.as_ptr().cast_const().cast()) };
            }
            let int = ready[id as usize].as_ptr();
            // SAFETY: `ready` holds a reference to the int, so it is alive. The GIL keeps other
            // threads from counting.
            unsafe { self.increment_references(int.cast()) };
            item.write(int);
        }
        Ok(list.cast_into()?)
    }

    /// Adds a reference, as `Py_INCREF` of this version does.
    ///
    /// # Safety
    ///
    /// The object is alive and of this layout, and the GIL is held.
    #[inline]
    unsafe fn increment_references(self, object: *mut ObjectHead) {
        // SAFETY: the caller guarantees a live object, so its count is readable and writable. The
        // lower half of an immortal object's count is negative and stays as it is.
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
