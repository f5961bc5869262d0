//! A split that is a function of the caller's: only its name is known here, so nothing is split.
//!
//! Where a pattern's text stands, in files too, such a split is spelled `{"rules":1,"split":"NAME"}`.

use super::{Engine, Splitter};
use crate::pattern::PATTERN_BYTES_MAX;
use crate::sys::error::Error;

const BEFORE: &str = r#"{"rules":1,"split":""#;
const AFTER: &str = r#""}"#;

impl Splitter {
    /// Takes the place of a function, which the caller has; `None` if the pattern names none.
    ///
    /// Whoever splits by it is refused: the caller splits, and has the pieces merged or counted.
    #[must_use]
    pub fn by_function(pattern: &str) -> Option<Self> {
        let name = function_of(pattern).filter(|_| pattern.len() <= PATTERN_BYTES_MAX)?;
        let engine = Engine::Function { name: name.to_owned() };
        Some(Self { pattern: pattern.to_owned(), grammar: None, engine, layers: None })
    }

    /// Returns whether a function of the caller's splits.
    #[must_use]
    pub fn is_function(&self) -> bool {
        matches!(self.engine, Engine::Function { .. })
    }
}

/// Refuses a pattern that stands for a function, which was not given.
pub(super) fn refuse(pattern: &str) -> Result<(), Error> {
    match function_of(pattern) {
        Some(name) => Err(Error::SplitNotGiven { name: name.to_owned() }),
        None => Ok(()),
    }
}

/// Returns the name of the function that a pattern stands for, if it does.
fn function_of(pattern: &str) -> Option<&str> {
    let name = pattern.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
    (!name.contains(['"', '\\'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = r#"{"rules":1,"split":"words.split"}"#;

    #[test]
    fn a_function_is_known_by_its_name_and_splits_nothing() {
        let splitter = Splitter::by_function(MARK).unwrap();
        assert_eq!(splitter.pattern(), MARK);
        let error = splitter.split(b"a text", |_| ()).unwrap_err().to_string();
        assert!(error.starts_with("the split words.split is a Python function"), "{error}");
        assert_eq!(splitter.last_safe_cut(b"a text"), None);
        assert!(splitter.grammar().is_none());
        assert!(splitter.path().why().contains("words.split"));
        assert!(splitter.held_max().is_err());
        assert!(Splitter::by_function(r"\w+|\W").is_none());
        assert!(Splitter::by_function(r#"{"rules":1,"split":"a","keep":["b"]}"#).is_none());
    }

    #[test]
    fn a_function_must_be_given_again() {
        assert_eq!(
            Splitter::new(MARK).unwrap_err().to_string(),
            "this tokenizer was saved without its split, the Python function words.split; \
             give it again: zeton.load(path, split=words.split)"
        );
    }
}
