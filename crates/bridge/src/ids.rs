//! Ids to and from Python.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use numpy::PyArray1;
use pyo3::buffer::{Element, ElementType, PyUntypedBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList, PyType};
use zeton::{Error, Id};

use crate::errors::raise;
use crate::layout::Layout;

/// Ids that are read before they are used.
const READ_AT_ONCE: usize = 1 << 8;

/// Hands on the ids of a plain list or array, some at a time and with how many are left, and says
/// whether all went well.
///
/// Where it did not, as for an item that is no plain int, [`read`] does it again and knows why.
pub(crate) fn hand_on(
    object: &Bound<'_, PyAny>,
    mut take: impl FnMut(&[Id], usize) -> Result<(), Error>,
) -> PyResult<bool> {
    let Ok(list) = object.cast_exact::<PyList>() else {
        return Ok(is_plain_array(object)? && hand_on_array(object, take));
    };
    let Some(layout) = Layout::known(object.py()) else { return Ok(false) };
    let (mut ids, mut start) = ([0; READ_AT_ONCE], 0);
    while let Some((count, left)) = layout.read(list, start, &mut ids) {
        if count == 0 {
            return Ok(true);
        }
        if take(&ids[..count], left).is_err() {
            break;
        }
        start += count;
    }
    Ok(false)
}

/// As [`hand_on`], for an array of one dimension and one stretch of memory.
fn hand_on_array(
    object: &Bound<'_, PyAny>,
    take: impl FnMut(&[Id], usize) -> Result<(), Error>,
) -> bool {
    fn numbers<T: Element + TryInto<Id>>(
        py: Python<'_>,
        buffer: &PyUntypedBuffer,
        mut take: impl FnMut(&[Id], usize) -> Result<(), Error>,
    ) -> Option<()> {
        let numbers = buffer.as_typed::<T>().ok()?.as_slice(py)?;
        let mut ids = [0; READ_AT_ONCE];
        for (at, some) in numbers.chunks(READ_AT_ONCE).enumerate() {
            for (id, number) in ids.iter_mut().zip(some) {
                *id = number.get().try_into().ok()?;
            }
            take(&ids[..some.len()], numbers.len() - at * READ_AT_ONCE).ok()?;
        }
        Some(())
    }
    let Ok(buffer) = PyUntypedBuffer::get(object) else { return false };
    // A format that names an order of bytes may name the other one.
    let order = buffer.format().to_bytes().first();
    if buffer.dimensions() != 1 || order.is_some_and(|order| b"<>!".contains(order)) {
        return false;
    }
    let py = object.py();
    let handed_on = match ElementType::from_format(buffer.format()) {
        ElementType::UnsignedInteger { bytes: 2 } => numbers::<u16>(py, &buffer, take),
        ElementType::UnsignedInteger { bytes: 4 } => numbers::<u32>(py, &buffer, take),
        ElementType::UnsignedInteger { bytes: 8 } => numbers::<u64>(py, &buffer, take),
        ElementType::SignedInteger { bytes: 4 } => numbers::<i32>(py, &buffer, take),
        ElementType::SignedInteger { bytes: 8 } => numbers::<i64>(py, &buffer, take),
        _ => None,
    };
    handed_on.is_some()
}

/// Says whether a buffer holds all there is to an array: a masked one has more.
pub(crate) fn is_plain_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static PLAIN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = object.get_type();
    if PLAIN.get(object.py()).is_some_and(|plain| class.is(plain)) {
        return Ok(true);
    }
    let name = (class.module()?, class.name()?);
    let is = |module: &str, class: &str| name.0 == module && name.1 == class;
    if is("numpy", "ndarray") {
        let _ = PLAIN.set(object.py(), class.unbind());
        return Ok(true);
    }
    Ok(is("array", "array") || is("numpy", "memmap"))
}

/// Reads the ids of a list, an array, or anything that can be iterated.
pub(crate) fn read(object: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<Vec<Id>> {
    let mut ids = Vec::new();
    let take = |some: &[Id], left: usize| {
        ids.reserve(left);
        ids.extend_from_slice(some);
        Ok(())
    };
    if hand_on(object, take)? {
        return Ok(ids);
    }
    if let Ok(ids) = object.extract::<Vec<Id>>() {
        return Ok(ids);
    }
    // Arrays of numpy, torch and the standard library have a list to give.
    let object = match object.hasattr("tolist")? {
        true => object.call_method0("tolist")?,
        false => object.clone(),
    };
    object.try_iter()?.map(|id| read_one(&id?, vocab_size)).collect()
}

/// Reads one id; a number that cannot be one is refused like an id that stands for nothing.
pub(crate) fn read_one(object: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<Id> {
    if let Ok(id) = object.extract::<Id>() {
        return Ok(id);
    }
    match object.cast::<PyInt>() {
        Ok(number) => {
            let id = number.extract().unwrap_or(i128::MAX);
            Err(raise(object.py(), &Error::UnknownId { id, vocab_size }))
        }
        Err(_) => {
            let class = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("an id is an int, not {class}")))
        }
    }
}

/// Ids that are kept room for from call to call, on each thread.
const SPARE_MAX: usize = 1 << 14;

/// Lends an empty vector; what a text of a few kilobytes needs is there already.
#[inline]
pub(crate) fn with_spare<R>(bytes: usize, work: impl FnOnce(&mut Vec<Id>) -> R) -> R {
    thread_local! {
        static SPARE: Cell<Vec<Id>> = const { Cell::new(Vec::new()) };
    }
    // A token has three bytes, or four, or five.
    let room = bytes / 3 + 2;
    let mut ids = match room <= SPARE_MAX {
        true => SPARE.try_with(Cell::take).unwrap_or_default(),
        false => zeton::sys::huge_buffer::vec_with_capacity(room),
    };
    ids.clear();
    let result = work(&mut ids);
    if ids.capacity() <= SPARE_MAX {
        let _ = SPARE.try_with(|spare| spare.set(ids));
    }
    result
}

/// Ids that are made into lists before ready-made ints are worth their making.
const LISTED_FIRST: usize = 1 << 15;

/// Ids that have ready-made ints at most; those of a million take 40 MB.
const READY_MAX: usize = 1 << 20;

/// Lists of ids, made of ints that are ready once some lists have been made: a reference to a
/// ready int costs a fifth of a new one.
#[derive(Default)]
pub(crate) struct Lists {
    listed: AtomicUsize,
    ready: PyOnceLock<Vec<Py<PyInt>>>,
}

impl Lists {
    /// Makes a list of ids, each below `vocab_size`.
    pub(crate) fn list<'py>(
        &self,
        py: Python<'py>,
        ids: &[Id],
        vocab_size: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let ready = match self.ready.get(py) {
            Some(ready) => ready,
            None => {
                let listed = self.listed.fetch_add(ids.len(), Relaxed) + ids.len();
                if listed < LISTED_FIRST || vocab_size > READY_MAX {
                    return PyList::new(py, ids);
                }
                let make = |id: usize| Ok(id.into_pyobject(py)?.unbind());
                self.ready
                    .get_or_try_init(py, || (0..vocab_size).map(make).collect::<PyResult<_>>())?
            }
        };
        match Layout::known(py) {
            Some(layout) => layout.list(py, ids, ready),
            None => PyList::new(py, ids.iter().map(|&id| &ready[id as usize])),
        }
    }
}

/// An array of numpy's.
pub(crate) type Array<'py, T> = Bound<'py, PyArray1<T>>;

/// Makes an array of ids: many are handed over without a copy, few copied, which costs less.
pub(crate) fn array<'py>(py: Python<'py>, ids: &mut Vec<Id>) -> PyResult<Array<'py, Id>> {
    find_numpy(py)?;
    if ids.capacity() <= SPARE_MAX {
        return Ok(PyArray1::from_slice(py, ids));
    }
    let mut ids = std::mem::take(ids);
    ids.shrink_to_fit();
    Ok(PyArray1::from_vec(py, ids))
}

/// Makes an array of places.
pub(crate) fn array_of_places(py: Python<'_>, places: Vec<u64>) -> PyResult<Array<'_, u64>> {
    find_numpy(py)?;
    Ok(PyArray1::from_vec(py, places))
}

/// Imports numpy, or says why that fails: its interface would panic.
#[inline]
fn find_numpy(py: Python<'_>) -> PyResult<()> {
    static FOUND: PyOnceLock<()> = PyOnceLock::new();
    FOUND.get_or_try_init(py, || numpy::get_array_module(py).map(drop)).copied()
}
