//! Errors of the engine become exceptions of `zeton.errors`.
//!
//! The kind of an error chooses the class, and the message stays. For example, `Error::UnknownId`
//! is of kind `Id` and raises `IdError: id 300000 is not in the vocabulary; …`.

use pyo3::prelude::*;
use zeton::{Error, ErrorKind};

/// Makes the Python exception for an error of the engine, for the caller to return. Its class comes
/// from `zeton.errors`; if the import fails, the exception of that import is returned instead.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
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
    let exception = py
        .import("zeton.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((error.to_string(),)));
    exception.map_or_else(|failure| failure, PyErr::from_value)
}
