//! A split that is a function of the caller. Only its name is known here, so nothing is split.
//!
//! In place of a pattern, also in files, such a split is spelled `{"rules":1,"split":"NAME"}`. The
//! caller splits a text by its function, and passes the pieces to be merged or counted.

use super::{SplitEngine, Splitter};
use crate::pattern::PATTERN_BYTES_MAX;
use crate::sys::error::Error;

const PREFIX: &str = r#"{"rules":1,"split":""#;
const SUFFIX: &str = r#""}"#;

impl Splitter {
    /// Recognises the spelling of a function; `None` if the text is a pattern.
    ///
    /// The splitter refuses every split with [`Error::SplitIsFunction`].
    #[must_use]
    pub fn recognise_function(pattern: &str) -> Option<Self> {
        let name = parse_name(pattern).filter(|_| pattern.len() <= PATTERN_BYTES_MAX)?;
        let engine = SplitEngine::Function { name: name.to_owned() };
        Some(Self { pattern: pattern.to_owned(), grammar: None, engine, layers: None })
    }

    /// Returns whether a function of the caller splits, so that no engine of this crate does.
    #[must_use]
    pub fn is_function(&self) -> bool {
        matches!(self.engine, SplitEngine::Function { .. })
    }
}

/// Refuses the spelling of a function, because the caller did not pass the function itself.
/// `Splitter::parse` calls it first.
pub(super) fn refuse(pattern: &str) -> Result<(), Error> {
    match parse_name(pattern) {
        Some(name) => Err(Error::SplitNotGiven { name: name.to_owned() }),
        None => Ok(()),
    }
}

/// Returns the name of the function that a text spells; `None` if the text is a pattern. A name
/// with a quotation mark or a backslash is refused, because it would need escapes.
fn parse_name(pattern: &str) -> Option<&str> {
    let name = pattern.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    (!name.contains(['"', '\\'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPELLED: &str = r#"{"rules":1,"split":"words.split"}"#;

    #[test]
    fn a_function_is_known_by_its_name_and_splits_nothing() {
        let splitter = Splitter::recognise_function(SPELLED).unwrap();
        assert_eq!(splitter.pattern(), SPELLED);
        let error = splitter.split(b"a text", |_| ()).unwrap_err().to_string();
        assert!(error.contains("splits by the Python function words.split"), "{error}");
        assert_eq!(splitter.last_safe_cut(b"a text"), None);
        assert!(splitter.grammar().is_none());
        assert!(splitter.engine_path().why().contains("words.split"));
        assert!(splitter.pending_bytes_max().is_err());
        assert!(Splitter::recognise_function(r"\w+|\W").is_none());
        assert!(Splitter::recognise_function(r#"{"rules":1,"split":"a","keep":["b"]}"#).is_none());
    }

    #[test]
    fn a_function_must_be_given_again() {
        assert_eq!(
            Splitter::parse(SPELLED).unwrap_err().to_string(),
            "this tokenizer was saved without its split, the Python function words.split; \
             give it again: zeton.load(path, split=words.split)"
        );
    }
}
