//! Rules: how a text splits, as a plain value that is spelled as JSON and stands where a pattern stands.
//!
//! `knobs` makes a pattern of a known grammar and what is changed in it. What a pattern cannot say
//! are layers around it (`split/layers.rs`): matches before it, runs between those, and finer cuts
//! within its pieces.

mod check;
mod knobs;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use regex_syntax::hir::{ClassUnicode, Hir, Look};
use serde::{Deserialize, Serialize};

use crate::sys::error::Error;
use crate::sys::unicode::script;

/// What a text begins with that is rules and no pattern.
const MARK: &str = r#"{"rules":"#;

/// Bytes that rules have at most, as they are spelled.
pub const RULES_BYTES_MAX: usize = 1 << 25;

/// Literals and words that rules have at most, in all.
pub const LITERALS_MAX: usize = 1 << 20;

/// Bytes that a literal or a word has at most.
pub const LITERAL_BYTES_MAX: usize = 1 << 10;

/// Regexes that rules have at most.
pub const ISOLATES_MAX: usize = 256;

/// Lexicons and groups that rules have at most.
pub const RUNS_MAX: usize = 64;

/// Characters that a group has at most.
pub const GROUP_MAX: usize = 1 << 10;

/// How a text splits. See `docs/rules.md`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The version of the spelling.
    rules: u32,
    /// A known grammar; `None`: what no rule takes is one piece.
    #[serde(default = "Base::known", skip_serializing_if = "Base::is_known")]
    pub base: Option<Base>,
    /// A pattern of one's own in place of the grammar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The digits that a number has at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<Digits>,
    /// From where digits are counted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub digits_from: From,
    /// Where contractions stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contractions: Option<Contractions>,
    /// What a word takes in before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leading_space: Option<LeadingSpace>,
    /// What newlines do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newlines: Option<Newlines>,
    /// Whether `\p{M}` belongs to words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<bool>,
    /// Where case ends a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Case>,
    /// What `_` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underscores: Option<Underscores>,
    /// Whether a word ends where the script changes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scripts: bool,
    /// Literals that are pieces wherever they stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Literals that are pieces where they are complete words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_words: Vec<String>,
    /// Whether a space before a match belongs to it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_space: bool,
    /// Regexes whose matches are pieces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub isolate: Vec<Isolate>,
    /// Words of scripts that are written without spaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lexicon: Vec<Lexicon>,
    /// Characters whose runs are cut into groups of one size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
}

/// A known grammar.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "they are names of published patterns")]
pub enum Base {
    Nanochat,
    Gpt2,
    Cl100k,
    O200k,
}

impl Base {
    #[allow(clippy::unnecessary_wraps, reason = "the type of the field")]
    fn known() -> Option<Self> {
        Some(Self::Nanochat)
    }

    #[allow(clippy::ref_option, reason = "serde hands it so")]
    fn is_known(base: &Option<Self>) -> bool {
        *base == Self::known()
    }
}

/// The digits that a number has at most.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Digits {
    Most(u32),
    Any(Any),
}

/// The word for any number.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the name says it")]
pub enum Any {
    Any,
}

/// From where digits are counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum From {
    #[default]
    Left,
    Right,
}

/// Where contractions stand.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Contractions {
    /// Nowhere: an apostrophe is a sign.
    None,
    /// They are pieces.
    Apart,
    /// They belong to the word before them.
    Joined,
}

/// What a word takes in before it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LeadingSpace {
    /// One space, or nothing.
    Space(bool),
    /// Any one sign or space.
    Sign(Sign),
}

/// The word for any sign.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the name says it")]
pub enum Sign {
    Sign,
}

/// What newlines do.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Newlines {
    /// What other white space does.
    Space,
    /// White space up to its last newline is a piece; those right after signs belong to the signs.
    Run,
    /// White space up to its last newline is a piece.
    Apart,
}

/// Where case ends a word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// Nowhere.
    Ignore,
    /// Before a capital after a small letter.
    Split,
    /// There, and before the last capital of several if a small letter follows.
    Words,
}

/// What `_` is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Underscores {
    /// A sign like others.
    Sign,
    /// A run of them is a piece.
    Alone,
    /// A letter.
    Letter,
}

/// A regex whose matches are pieces.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Isolate {
    /// As the `regex` crate reads it.
    pub regex: String,
    /// What its pieces are called when they are explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the characters beside a match may not be word characters.
    #[serde(default, skip_serializing_if = "is_default")]
    pub whole_word: bool,
}

/// Words of a script that is written without spaces.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lexicon {
    /// The name of the script in Unicode.
    pub script: String,
    /// The words.
    pub words: Vec<String>,
    /// How a run is cut into them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub path: Way,
}

/// How a run is cut into words.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The longest word at each place, from the left.
    #[default]
    Longest,
    /// As few words and unknown characters as may be.
    Fewest,
}

/// Characters whose runs are cut into groups of one size.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The characters.
    pub characters: String,
    /// How many of them are a piece.
    pub size: usize,
    /// How many are a piece before the first whole group.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start: usize,
    /// What its pieces are called when they are explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Isolate {
    /// Reads the regex, whatever is beside its matches.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub(crate) fn read(&self) -> Result<Hir, String> {
        let hir = regex_syntax::parse(&self.regex).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            format!("{:?} does not compile: {}", self.regex, reason.trim_start_matches("error: "))
        })?;
        match hir.properties().minimum_len() {
            None => Err(format!("{:?} matches nothing", self.regex)),
            Some(0) => {
                Err(format!("{:?} can match the empty text; a piece is not empty", self.regex))
            }
            Some(_) => Ok(hir),
        }
    }

    /// Returns what was read with the edges that a complete word has.
    pub(crate) fn with_edges(&self, hir: Hir) -> Hir {
        match self.whole_word {
            true => {
                let start = Hir::look(Look::WordStartHalfUnicode);
                Hir::concat(vec![start, hir, Hir::look(Look::WordEndHalfUnicode)])
            }
            false => hir,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Rules {
    /// Reads rules; `None` if the text is a pattern.
    ///
    /// # Errors
    ///
    /// When the rules are not spelled right, or contradict each other.
    pub fn read(text: &str) -> Option<Result<Self, Error>> {
        text.starts_with(MARK).then(|| Self::parse(text))
    }

    fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > RULES_BYTES_MAX {
            return Err(refused(
                "",
                format!("they have {} bytes, at most {RULES_BYTES_MAX}", text.len()),
            ));
        }
        check::version(&text[MARK.len()..])?;
        let rules: Self = serde_json::from_str(text)
            .map_err(|error| refused("", error.to_string().replace(char::is_control, " ")))?;
        rules.check()?;
        Ok(rules)
    }

    /// Returns the rules as they are spelled: equal rules have equal texts.
    #[must_use]
    pub fn spelled(&self) -> String {
        serde_json::to_string(self).expect("rules are plain values")
    }

    /// Returns the characters of each lexicon and then of each group, with its place in the rules.
    pub(crate) fn run_sets(&self) -> Vec<(String, ClassUnicode)> {
        let lexicons = self.lexicon.iter().enumerate().map(|(at, lexicon)| {
            (format!("lexicon[{at}]"), script(&lexicon.script).expect("scripts were checked"))
        });
        let groups = self.groups.iter().enumerate().map(|(at, group)| {
            let ranges = group.characters.chars().collect::<HashSet<_>>().into_iter();
            let ranges = ranges.map(|c| regex_syntax::hir::ClassUnicodeRange::new(c, c));
            (format!("groups[{at}]"), ClassUnicode::new(ranges))
        });
        lexicons.chain(groups).collect()
    }
}

/// What is wrong with rules, and where in them.
pub(crate) fn refused(place: &str, what: impl Into<String>) -> Error {
    Error::Rules { place: place.to_owned(), what: what.into() }
}
