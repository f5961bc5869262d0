//! How a pattern is run, as plain values for Python.
//!
//! `describe_path` feeds `tok.info`. `describe_grammar` feeds `tok.grammar` and the tables of the
//! accelerator. For example, `describe_path` of cl100k:
//!
//! ```text
//! split    "transducer"
//! why      "of the family: contractions, words, numbers, punctuation, white space"
//! states   20
//! classes  12
//! vectors  "AVX-512"        the SIMD level of this machine
//! ```

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use zeton::pattern::{ContractionPlace, WordCase};
use zeton::split::EnginePath;

use crate::tokenizer_core::TokenizerCore;

/// Return the engine of a tokenizer's pattern, and the reason for it.
#[pyfunction]
pub(crate) fn describe_path<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
) -> PyResult<Bound<'py, PyDict>> {
    let path = engine.get().tokenizer.splitter().engine_path();
    let (states, classes, vectors) = match &path {
        EnginePath::Transducer { states, classes, vectors } => {
            (Some(states), Some(classes), *vectors)
        }
        EnginePath::Dfa { states, classes, .. } => (Some(states), Some(classes), None),
        EnginePath::Backtracking { .. } | EnginePath::Function { .. } => (None, None, None),
    };
    let values = PyDict::new(py);
    values.set_item("split", path.name())?;
    values.set_item("why", path.why())?;
    values.set_item("states", states)?;
    values.set_item("classes", classes)?;
    values.set_item("vectors", vectors)?;
    Ok(values)
}

/// Code points of Unicode: 0 to 0x10FFFF.
const CODE_POINTS: u32 = 0x11_0000;

/// Return the grammar of a tokenizer's pattern and its transducer, or None without a grammar.
#[pyfunction]
pub(crate) fn describe_grammar<'py>(
    py: Python<'py>,
    engine: &Bound<'py, TokenizerCore>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some((grammar, transducer)) = engine.get().tokenizer.splitter().grammar() else {
        return Ok(None);
    };
    let place = match grammar.contractions.place {
        ContractionPlace::Nowhere => "nowhere",
        ContractionPlace::Piece => "piece",
        ContractionPlace::Suffix => "suffix",
    };
    let classes: Vec<u8> = (0..CODE_POINTS).map(|point| transducer.class_of(point)).collect();
    let steps = transducer.steps();
    let next: Vec<u8> = steps.iter().map(|step| step.next).collect();
    let actions: Vec<u8> = steps.iter().map(|step| step.actions.bits()).collect();

    let values = PyDict::new(py);
    values.set_item("contractions", &grammar.contractions.endings)?;
    values.set_item("contractions_place", place)?;
    values.set_item("contractions_ignore_case", grammar.contractions.ignore_case)?;
    values.set_item("word_prefix", grammar.word_prefix.names())?;
    values.set_item("word_case_splits", grammar.word_case == WordCase::Splits)?;
    values.set_item("word_marks", grammar.word_marks)?;
    values.set_item("number_blank", grammar.number_blank)?;
    values.set_item("number_digits_max", grammar.number_digits_max)?;
    values.set_item("punctuation_blank", grammar.punctuation_blank)?;
    values.set_item("punctuation_marks", grammar.punctuation_marks)?;
    values.set_item("punctuation_tail", grammar.punctuation_tail.names())?;
    values.set_item("space_to_end", grammar.space_to_end)?;
    values.set_item("space_to_newline", grammar.space_to_newline)?;
    values.set_item("space_leaves_last", grammar.space_leaves_last)?;
    values.set_item("states", transducer.state_names())?;
    values.set_item("class_count", transducer.class_count())?;
    values.set_item("class_of_end", transducer.class_of_end())?;
    values.set_item("class_of_bad_byte", transducer.class_of_bad_byte())?;
    values.set_item("class_of", PyBytes::new(py, &classes))?;
    values.set_item("next", PyBytes::new(py, &next))?;
    values.set_item("actions", PyBytes::new(py, &actions))?;
    Ok(Some(values))
}
