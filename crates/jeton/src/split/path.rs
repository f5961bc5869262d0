//! Which way a pattern goes, for people who ask.

/// How a pattern is run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Path {
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
    Automaton {
        /// The states of the table.
        states: usize,
        /// The classes of characters, the end of the text being one.
        classes: usize,
    },
    /// Any other pattern, on an engine that steps back.
    Backtracking {
        /// Why it is no automaton, as the end of a sentence about the pattern.
        unfit: &'static str,
    },
}

impl Path {
    /// Returns the path in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transducer { .. } => "transducer",
            Self::Automaton { .. } => "automaton",
            Self::Backtracking { .. } => "backtracking",
        }
    }

    /// Returns why the pattern takes it, in one sentence.
    ///
    /// ```
    /// let splitter = jeton::Splitter::new(r"(\w)\1|(?s:.)")?;
    /// assert_eq!(splitter.path().name(), "backtracking");
    /// assert_eq!(splitter.path().why(), "the pattern is outside the family, and it refers back to a group");
    /// # Ok::<(), jeton::Error>(())
    /// ```
    #[must_use]
    pub fn why(self) -> String {
        let why = match self {
            Self::Transducer { vectors: Some(_), .. } => {
                "the pattern is of the family: contractions, words, numbers, punctuation, white space"
            }
            Self::Transducer { vectors: None, .. } => {
                "the pattern is of the family, with choices that the vectors do not know"
            }
            Self::Automaton { .. } => {
                "the pattern is outside the family, and looks at most one character ahead"
            }
            Self::Backtracking { unfit } => {
                return format!("the pattern is outside the family, and {unfit}");
            }
        };
        why.to_owned()
    }
}
