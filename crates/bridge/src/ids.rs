//! Ids to and from Python.

use jeton::{Error, Id};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyInt};

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
