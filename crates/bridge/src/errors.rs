//! A refusal of the engine becomes an exception of `zeton.errors`.

use pyo3::prelude::*;
use zeton::{Error, Kind};

/// Makes the exception for a refusal.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        Kind::Vocab => "VocabError",
        Kind::Special => "SpecialError",
        Kind::Pattern => "PatternError",
        Kind::Rules => "RulesError",
        Kind::Text => "TextError",
        Kind::Id => "IdError",
        Kind::Search => "SearchError",
        Kind::Train | Kind::Stopped => "TrainError",
        Kind::File => "FormatError",
    };
    let exception = py
        .import("zeton.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((error.to_string(),)));
    exception.map_or_else(|failure| failure, PyErr::from_value)
}
