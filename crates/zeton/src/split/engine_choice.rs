//! The engine that runs a pattern, and the reason, for `tok.info`.

use crate::pattern::find_unsupported;

/// The engine of a pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EnginePath {
    /// A pattern of the family, as a table of states × classes, one step a character.
    Transducer {
        /// The number of states of the table.
        states: usize,
        /// The number of classes of characters, including the end of the text.
        classes: usize,
        /// The SIMD level that splits 64 bytes at once; `None` if the grammar has no SIMD path.
        vectors: Option<&'static str>,
    },
    /// A pattern outside the family, as a DFA.
    Dfa {
        /// The number of states of the table.
        states: usize,
        /// The number of classes of characters, including the end of the text.
        classes: usize,
        /// The reason why it is not of the family.
        mismatch: FamilyMismatch,
    },
    /// Any other pattern, on the backtracking engine.
    Backtracking {
        /// The reason why it is not of the family.
        mismatch: FamilyMismatch,
        /// The reason why it is no DFA, as the end of a sentence about the pattern.
        reason: &'static str,
    },
    /// A function of the caller in place of a pattern.
    Function {
        /// The name of the function.
        name: String,
    },
}

impl EnginePath {
    /// Returns the engine's name in one lower-case word, as Python's `info` shows it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Transducer { .. } => "transducer",
            Self::Dfa { .. } => "automaton",
            Self::Backtracking { .. } => "backtracking",
            Self::Function { .. } => "function",
        }
    }

    /// Returns the reason for the engine, in one sentence.
    ///
    /// ```
    /// use zeton::Splitter;
    /// let why = |pattern| Splitter::parse(pattern).map(|splitter| splitter.engine_path().why());
    /// assert_eq!(
    ///     why(r"\w+|\W")?,
    ///     r"outside the family, at `\w+|\W`; it looks at most one character ahead"
    /// );
    /// assert_eq!(
    ///     why(r" |(\w)\1|(?s:.)")?,
    ///     r"outside the family, at `(\w)\1|(?s:.)`; no table: it refers back to a group"
    /// );
    /// # Ok::<(), zeton::Error>(())
    /// ```
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Self::Transducer { vectors: Some(_), .. } => {
                "of the family: contractions, words, numbers, punctuation, white space".to_owned()
            }
            Self::Transducer { vectors: None, .. } => {
                "of the family, with choices that the vectors do not know".to_owned()
            }
            Self::Dfa { mismatch, .. } => {
                format!("{}; it looks at most one character ahead", mismatch.0)
            }
            Self::Backtracking { mismatch, reason } => {
                format!("{}; no table: {reason}", mismatch.0)
            }
            Self::Function { name } => format!("no pattern: the Python function {name} splits"),
        }
    }
}

/// The reason why a pattern is not of the family, in a few words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FamilyMismatch(String);

/// Characters of the pattern that the reason shows. Not measured: one line of a terminal.
const SHOWN_CHARS: usize = 16;

impl FamilyMismatch {
    /// Finds the first part of a pattern that no grammar of the family has, and keeps a message
    /// about it. It is built for a pattern outside the family, to report the reason.
    pub(super) fn new(pattern: &str) -> Self {
        Self(match find_unsupported(pattern) {
            Some(rest) => {
                let shown: String = rest.chars().take(SHOWN_CHARS).collect();
                let more = if shown.len() < rest.len() { "…" } else { "" };
                format!("outside the family, at `{shown}{more}`")
            }
            None => "outside the family, whose rules have another form or order".to_owned(),
        })
    }
}
