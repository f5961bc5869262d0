//! Which way a pattern goes, for people who ask.

use crate::pattern::find_unsupported;

/// How a pattern is run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EnginePath {
    /// A pattern of the family, as a table of states by classes of characters, one step a character.
    Transducer {
        /// The states of the table.
        states: usize,
        /// The classes of characters, the end of the text being one.
        classes: usize,
        /// The instructions by which ASCII is split 64 bytes at once, if it is.
        vectors: Option<&'static str>,
    },
    /// A pattern outside the family, as such a table.
    Dfa {
        /// The states of the table.
        states: usize,
        /// The classes of characters, the end of the text being one.
        classes: usize,
        /// What keeps it out of the family.
        outside: Outside,
    },
    /// Any other pattern, on an engine that steps back.
    Backtracking {
        /// What keeps it out of the family.
        outside: Outside,
        /// Why it is no automaton, as the end of a sentence about the pattern.
        unfit: &'static str,
    },
    /// No pattern: the caller's function splits.
    Function {
        /// Its name.
        name: String,
    },
}

impl EnginePath {
    /// Returns the path in one word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Transducer { .. } => "transducer",
            Self::Dfa { .. } => "automaton",
            Self::Backtracking { .. } => "backtracking",
            Self::Function { .. } => "function",
        }
    }

    /// Returns why the pattern takes it, in one sentence.
    ///
    /// ```
    /// let why = |pattern| zeton::Splitter::new(pattern).map(|splitter| splitter.path().why());
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
            Self::Dfa { outside, .. } => {
                format!("{}; it looks at most one character ahead", outside.0)
            }
            Self::Backtracking { outside, unfit } => format!("{}; no table: {unfit}", outside.0),
            Self::Function { name } => format!("no pattern: the Python function {name} splits"),
        }
    }
}

/// What keeps a pattern out of the family, in a few words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outside(String);

impl Outside {
    pub(super) fn of(pattern: &str) -> Self {
        Self(match find_unsupported(pattern) {
            Some(rest) => {
                let shown: String = rest.chars().take(16).collect();
                let more = if shown.len() < rest.len() { "…" } else { "" };
                format!("outside the family, at `{shown}{more}`")
            }
            None => "outside the family, whose rules have another form or order".to_owned(),
        })
    }
}
