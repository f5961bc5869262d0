//! Ids to and from Python.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jeton::{Error, Id};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyInt, PyList};

use crate::errors::raise;

/// Reads the ids of a list, an array, or anything that can be iterated.
pub(crate) fn read(object: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<Vec<Id>> {
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
        let before = self.listed.fetch_add(ids.len(), Relaxed);
        if before + ids.len() < LISTED_FIRST || vocab_size > READY_MAX {
            return PyList::new(py, ids);
        }
        let make = |id: usize| Ok(id.into_pyobject(py)?.unbind());
        let ready = self.ready.get_or_try_init(py, || {
            (0..vocab_size).map(make).collect::<PyResult<Vec<Py<PyInt>>>>()
        })?;
        PyList::new(py, ids.iter().map(|&id| &ready[id as usize]))
    }
}

/// Numbers as raw bytes of this machine, for numpy to wrap.
pub(crate) fn raw<'py, const N: usize, T: Copy>(
    py: Python<'py>,
    numbers: impl ExactSizeIterator<Item = T>,
    bytes_of: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyByteArray>> {
    PyByteArray::new_with(py, numbers.len() * N, |buffer| {
        for (place, number) in buffer.chunks_exact_mut(N).zip(numbers) {
            place.copy_from_slice(&bytes_of(number));
        }
        Ok(())
    })
}
