//! Errors of the engine become exceptions of `zeton.errors`.
//!
//! The kind of an error chooses the class, and the message stays. For example, `Error::UnknownId`
//! is of kind `Id` and raises `IdError: id 300000 is not in the vocabulary, …`. An error about an
//! unknown name ends with the nearest known one, by `zeton.suggest`.

use std::cell::RefCell;

use pyo3::prelude::*;
use zeton::{Error, ErrorKind};

thread_local! {
    /// The exception of a signal's handler, from the check that found the signal until the call of
    /// the engine has ended.
    static SIGNAL: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Returns whether a signal's handler has raised an exception, and keeps the exception. Long work
/// of the engine calls it ([`zeton::sys::interrupt`]), with or without the GIL.
pub(crate) fn has_signal() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(exception) => {
            SIGNAL.set(Some(exception));
            true
        }
    })
}

/// Calls the engine without the GIL. A signal ends the work, and its exception is returned.
pub(crate) fn detach<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R, Error> + Send,
) -> PyResult<R> {
    let result = py.detach(work);
    match SIGNAL.take() {
        Some(exception) => Err(exception),
        None => result.map_err(|error| raise(py, &error)),
    }
}

/// Makes the Python exception for an error of the engine, for the caller to return. Its class comes
/// from `zeton.errors`; if the import fails, the exception of that import is returned instead.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(exception) = SIGNAL.take().filter(|_| *error == Error::Stopped) {
        return exception;
    }
    let class = match error.kind() {
        ErrorKind::Vocab => "VocabError",
        ErrorKind::Special => "SpecialError",
        ErrorKind::Pattern => "PatternError",
        ErrorKind::Rules => "RulesError",
        ErrorKind::Text => "TextError",
        ErrorKind::Id => "IdError",
        ErrorKind::Search => "SearchError",
        ErrorKind::Train | ErrorKind::Stopped => "TrainError",
        ErrorKind::File => "FormatError",
    };
    let exception = || -> PyResult<_> {
        let message = match error.unknown_name() {
            Some((refused, name, known)) if !known.is_empty() => {
                let ending = py.import("zeton.suggest")?.getattr("did_you_mean")?;
                format!("{refused}{}", ending.call1((name, known))?.extract::<String>()?)
            }
            _ => error.to_string(),
        };
        py.import("zeton.errors")?.getattr(class)?.call1((message,))
    };
    exception().map_or_else(|failure| failure, PyErr::from_value)
}
