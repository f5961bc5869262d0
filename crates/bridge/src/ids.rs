//! Ids from Python, and ids to Python.
//!
//! Ids come in as lists, arrays or any other iterable, and go out as lists or NumPy arrays:
//!
//! ```text
//! in    list of ints            read in place, 256 at a time      ObjectLayout::read_ids
//!       array of NumPy          the buffer, 256 at a time         PyUntypedBuffer
//!       other, for example
//!       a tensor, a generator   `tolist`, then one by one         read_one
//! out   list                    ready-made ints                   ListMaker
//!       array, up to 16,384     copied                            make_array
//!       array, longer           the vector becomes the array      make_array
//! ```
//!
//! For example, `[9906, 1917]` is read in place by one call. `[9906, True]` is not, because `True`
//! is a bool, so Python's calls read it and refuse it.
//!
//! Cost: 3.5 to 4.0 ns for an item of a list (`docs/notes/python-boundary.md`); an array of the ids
//! of "hello world" takes 262 ns in all (`docs/notes/latency.md`).

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use numpy::PyArray1;
use pyo3::buffer::{Element, ElementType, PyUntypedBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyList, PyString, PyType};
use zeton::{Error, Id};

use crate::errors::raise;
use crate::layout::ObjectLayout;

/// Ids of a block that is read before it is used: 1 KiB on the stack. Not measured.
const BLOCK_IDS: usize = 1 << 8;

/// Calls `visit` with blocks of the ids of a plain list or array, and with the number of ids from
/// each block on. Returns whether all ids were read.
///
/// After false, for example for an item that is not an int, [`read`] starts again and reports the
/// reason.
pub(crate) fn visit_blocks(
    object: &Bound<'_, PyAny>,
    mut visit: impl FnMut(&[Id], usize) -> Result<(), Error>,
) -> PyResult<bool> {
    let Ok(list) = object.cast_exact::<PyList>() else {
        return Ok(is_plain_array(object)? && visit_array_blocks(object, visit));
    };
    let Some(layout) = ObjectLayout::detect(object.py()) else { return Ok(false) };
    let (mut ids, mut start) = ([0; BLOCK_IDS], 0);
    while let Some((count, left)) = layout.read_ids(list, start, &mut ids) {
        if count == 0 {
            return Ok(true);
        }
        if visit(&ids[..count], left).is_err() {
            break;
        }
        start += count;
    }
    Ok(false)
}

/// Calls `visit` with blocks of the ids of an array, as [`visit_blocks`] does. The elements are
/// unsigned ints of 2, 4 or 8 bytes, or signed ones of 4 or 8; each block is copied to a buffer on
/// the stack.
///
/// Returns false for any other array, for one that is not one row of memory in native byte order,
/// at a number that is no id, and at an error of `visit`. Earlier blocks have been visited then, so
/// the caller drops their ids, reads the array anew by Python's calls, and reports the fault.
fn visit_array_blocks(
    object: &Bound<'_, PyAny>,
    visit: impl FnMut(&[Id], usize) -> Result<(), Error>,
) -> bool {
    fn visit_numbers<T: Element + TryInto<Id>>(
        py: Python<'_>,
        buffer: &PyUntypedBuffer,
        mut visit: impl FnMut(&[Id], usize) -> Result<(), Error>,
    ) -> Option<()> {
        let numbers = buffer.as_typed::<T>().ok()?.as_slice(py)?;
        let mut ids = [0; BLOCK_IDS];
        for (at, block) in numbers.chunks(BLOCK_IDS).enumerate() {
            for (id, number) in ids.iter_mut().zip(block) {
                *id = number.get().try_into().ok()?;
            }
            visit(&ids[..block.len()], numbers.len() - at * BLOCK_IDS).ok()?;
        }
        Some(())
    }
    let Ok(buffer) = PyUntypedBuffer::get(object) else { return false };
    if !is_native_row(&buffer) {
        return false;
    }
    let py = object.py();
    let visited = match ElementType::from_format(buffer.format()) {
        ElementType::UnsignedInteger { bytes: 2 } => visit_numbers::<u16>(py, &buffer, visit),
        ElementType::UnsignedInteger { bytes: 4 } => visit_numbers::<u32>(py, &buffer, visit),
        ElementType::UnsignedInteger { bytes: 8 } => visit_numbers::<u64>(py, &buffer, visit),
        ElementType::SignedInteger { bytes: 4 } => visit_numbers::<i32>(py, &buffer, visit),
        ElementType::SignedInteger { bytes: 8 } => visit_numbers::<i64>(py, &buffer, visit),
        _ => None,
    };
    visited.is_some()
}

/// Returns whether a buffer is one contiguous row of numbers in this machine's byte order. A format
/// that names a byte order, for example `>H`, may name the other one.
pub(crate) fn is_native_row(buffer: &PyUntypedBuffer) -> bool {
    let order = buffer.format().to_bytes().first();
    let names_order = order.is_some_and(|order| b"<>!".contains(order));
    buffer.is_c_contiguous() && buffer.dimensions() == 1 && !names_order
}

/// Returns whether the object is an array whose buffer holds all of its content: of `array.array`
/// or of NumPy, but no masked array, which has more. Other arrays are read by Python's calls.
pub(crate) fn is_plain_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static NUMPY_ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = object.get_type();
    if NUMPY_ARRAY.get(object.py()).is_some_and(|array| class.is(array)) {
        return Ok(true);
    }
    let name = (class.module()?, class.name()?);
    let is = |module: &str, class: &str| name.0 == module && name.1 == class;
    if is("numpy", "ndarray") {
        let _ = NUMPY_ARRAY.set(object.py(), class.unbind());
        return Ok(true);
    }
    Ok(is("array", "array") || is("numpy", "memmap"))
}

/// Reads the ids of a list, an array, or any other iterable into a new vector. A list or an array
/// of a known layout is read in place; otherwise Python's calls read each item. An item that is no
/// id raises an exception, which names `vocab_size`.
pub(crate) fn read(object: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<Vec<Id>> {
    let mut ids = Vec::new();
    let append = |block: &[Id], left: usize| {
        ids.reserve(left);
        ids.extend_from_slice(block);
        Ok(())
    };
    if visit_blocks(object, append)? {
        return Ok(ids);
    }
    // Arrays of NumPy, tensors and `array.array` have `tolist`.
    let object = match object.hasattr("tolist")? {
        true => object.call_method0("tolist")?,
        false => object.clone(),
    };
    let is_text = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>();
    match object.try_iter() {
        Ok(ids) if !is_text => ids.map(|id| read_one(&id?, vocab_size)).collect(),
        _ => {
            let class = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("ids are a list or an array of ints, not {class}")))
        }
    }
}

/// Reads one id. An int that is too large or negative is refused like an unknown id, and a bool is
/// refused, because it is a mask rather than an id.
pub(crate) fn read_one(object: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<Id> {
    let is_bool = object.is_instance_of::<PyBool>();
    if let Ok(id) = object.extract::<Id>()
        && !is_bool
    {
        return Ok(id);
    }
    match object.cast::<PyInt>() {
        Ok(number) if !is_bool => {
            let id = number.extract().unwrap_or(i128::MAX);
            Err(raise(object.py(), &Error::UnknownId { id, vocab_size }))
        }
        _ => {
            let class = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("an id is an int, not {class}")))
        }
    }
}

/// Ids for which each thread keeps a buffer between calls: 64 KiB. Not measured.
const SPARE_IDS_MAX: usize = 1 << 14;

/// Bytes of text for each id, to reserve a buffer. Not measured; a token has 3 to 5 bytes.
pub(crate) const TEXT_BYTES_PER_ID: usize = 3;

/// Calls `work` with an empty vector that has room for the ids of a text of `bytes` bytes. Up to
/// [`SPARE_IDS_MAX`] ids it is the thread's spare buffer.
#[inline]
pub(crate) fn with_spare_buffer<R>(bytes: usize, work: impl FnOnce(&mut Vec<Id>) -> R) -> R {
    thread_local! {
        static SPARE: Cell<Vec<Id>> = const { Cell::new(Vec::new()) };
    }
    // Two more for `prepend` and `append`.
    let room = bytes / TEXT_BYTES_PER_ID + 2;
    let mut ids = match room <= SPARE_IDS_MAX {
        true => SPARE.try_with(Cell::take).unwrap_or_default(),
        false => zeton::sys::huge_buffer::vec_with_capacity(room),
    };
    ids.clear();
    let result = work(&mut ids);
    if ids.capacity() <= SPARE_IDS_MAX {
        let _ = SPARE.try_with(|spare| spare.set(ids));
    }
    result
}

/// Ids that are put into lists before ready-made ints are created. Not measured: creating them for
/// a short script would cost more than they save.
const READY_INTS_AFTER: usize = 1 << 15;

/// Ids of the largest vocabulary with ready-made ints: they take 40 MB for 2²⁰ ids.
const READY_INTS_MAX: usize = 1 << 20;

/// Makes lists of ids from ints that exist already.
///
/// A reference to a ready-made int costs a fifth of a new int. The ints of a tokenizer are created
/// once its lists have had [`READY_INTS_AFTER`] ids together.
#[derive(Default)]
pub(crate) struct ListMaker {
    listed_ids: AtomicUsize,
    ready: PyOnceLock<Vec<Py<PyInt>>>,
}

impl ListMaker {
    /// Makes a Python list of ids, each below `vocab_size`. Once this tokenizer's lists have had
    /// [`READY_INTS_AFTER`] ids, the items are references to ready-made ints, which the first such
    /// call creates.
    pub(crate) fn make_list<'py>(
        &self,
        py: Python<'py>,
        ids: &[Id],
        vocab_size: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let ready = match self.ready.get(py) {
            Some(ready) => ready,
            None => {
                let listed_ids = self.listed_ids.fetch_add(ids.len(), Relaxed) + ids.len();
                if listed_ids < READY_INTS_AFTER || vocab_size > READY_INTS_MAX {
                    return PyList::new(py, ids);
                }
                let make = |id: usize| Ok(id.into_pyobject(py)?.unbind());
                self.ready
                    .get_or_try_init(py, || (0..vocab_size).map(make).collect::<PyResult<_>>())?
            }
        };
        match ObjectLayout::detect(py) {
            Some(layout) => layout.make_list(py, ids, ready),
            None => PyList::new(py, ids.iter().map(|&id| &ready[id as usize])),
        }
    }
}

/// A NumPy array of one dimension.
pub(crate) type Array<'py, T> = Bound<'py, PyArray1<T>>;

/// Makes a NumPy array of ids. The vector of a long array becomes its memory, so that `ids` is left
/// empty; a short one is copied, which costs less. Raises `ImportError` without NumPy.
pub(crate) fn make_array<'py>(py: Python<'py>, ids: &mut Vec<Id>) -> PyResult<Array<'py, Id>> {
    import_numpy(py)?;
    if ids.capacity() <= SPARE_IDS_MAX {
        return Ok(PyArray1::from_slice(py, ids));
    }
    let mut ids = std::mem::take(ids);
    ids.shrink_to_fit();
    Ok(PyArray1::from_vec(py, ids))
}

/// Makes a NumPy array of the offsets of a batch: the index in the array of ids at which each text
/// begins, and last the number of ids. The vector becomes its memory. Raises `ImportError` without
/// NumPy.
pub(crate) fn make_offset_array(py: Python<'_>, offsets: Vec<u64>) -> PyResult<Array<'_, u64>> {
    import_numpy(py)?;
    Ok(PyArray1::from_vec(py, offsets))
}

/// Imports NumPy at the first call; later calls cost one load. Raises `ImportError` if NumPy is
/// absent, because without this check the crate `numpy` would panic.
#[inline]
fn import_numpy(py: Python<'_>) -> PyResult<()> {
    static IMPORTED: PyOnceLock<()> = PyOnceLock::new();
    IMPORTED.get_or_try_init(py, || numpy::get_array_module(py).map(drop)).copied()
}
