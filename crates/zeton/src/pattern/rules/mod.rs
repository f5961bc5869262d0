//! Rules: a split as a plain value, spelled as JSON, accepted wherever a pattern is.
//!
//! Rules start from a known grammar, change some of its choices (*knobs*), and add layers that no
//! regular expression has. The layers are literals and regexes cut out before the grammar, runs cut
//! by a lexicon, and finer cuts within the pieces. For example,
//!
//! ```text
//! {"rules":1,"base":"cl100k","case":"words","keep_words":["BRCA1"]}
//!
//! "BRCA1: parseHTTPRequest"  ->  BRCA1 | : |  parse | HTTP | Request
//! ```
//!
//! `docs/rules.md` is the reference, and `python/zeton/reference_rules.py` the specification. The
//! way of the data:
//!
//! ```text
//! JSON ──Rules::recognise──▶ Rules ──check──▶ Rules that are consistent
//!                              ├── knobs ───▶ a pattern, compiled as any other
//!                              └──────────▶ layers around it (`split/layers/`)
//! ```
//!
//! The types are plain values. A knob that is `None` keeps the choice of the base.

mod check;
mod knobs;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use regex_syntax::hir::{ClassUnicode, Hir, Look};
use serde::{Deserialize, Serialize};

use crate::sys::error::Error;
use crate::sys::unicode::script_set;

/// The first bytes of rules, which distinguish them from a pattern.
const JSON_START: &str = r#"{"rules":"#;

/// Maximum length of rules in bytes of JSON: 32 MiB. It is checked before the JSON is parsed, so
/// that it bounds the memory of parsing. No measurement chose it.
pub const RULES_BYTES_MAX: usize = 1 << 25;

/// Maximum number of literals and words of rules in all, which bounds their automaton;
/// `python/zeton/rules/contradictions.py` has it too.
pub const LITERALS_MAX: usize = 1 << 20;

/// Maximum length in bytes of a literal or a word, as for a special; `python/zeton/rules/parts.py`
/// has it too.
pub const LITERAL_BYTES_MAX: usize = 1 << 10;

/// Maximum number of regexes of rules, because all of them are compiled into one regex;
/// `python/zeton/rules/contradictions.py` has it too.
pub const ISOLATES_MAX: usize = 256;

/// Maximum number of lexicons and groups of rules in all. Each has a class number in one table of
/// characters, which is a byte.
pub const RUNS_MAX: usize = 64;

/// Maximum size of the pieces of a group, in characters. No measurement chose it; `ACGT` in threes
/// needs 3.
pub const GROUP_MAX: usize = 1 << 10;

/// A split, as a plain value. See `docs/rules.md`.
///
/// For example, `{"rules":1,"digits":3}` is nanochat's pattern with numbers of up to three digits.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The version of the JSON format: 1.
    rules: u32,
    /// The grammar; with `None`, text between matches and runs is one piece.
    #[serde(
        default = "BaseGrammar::default_base",
        skip_serializing_if = "BaseGrammar::is_default"
    )]
    pub base: Option<BaseGrammar>,
    /// A custom pattern in place of the grammar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The maximum number of digits of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<Digits>,
    /// The end of a number from which its digits are counted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub digits_from: DigitsFrom,
    /// Whether `'s` is a piece, a part of its word, or neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contractions: Option<ContractionStyle>,
    /// The character before a word that belongs to the word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leading_space: Option<LeadingSpace>,
    /// Whether newlines end pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newlines: Option<NewlineStyle>,
    /// Whether `\p{M}` belongs to words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<bool>,
    /// The change of case that ends a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseStyle>,
    /// Whether `_` is a sign, a piece or a letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underscores: Option<UnderscoreStyle>,
    /// Whether a word ends where its script changes: `hello`, `мир`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scripts: bool,
    /// Literals that are pieces at each occurrence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Literals that are pieces where they are whole words: `BRCA1`, but not in `BRCA12`.
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
    /// Sets of characters whose runs are cut into pieces of one size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<CharGroup>,
}

/// A published grammar that rules start from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the variants are names of published patterns")]
pub enum BaseGrammar {
    Nanochat,
    Gpt2,
    Cl100k,
    O200k,
}

impl BaseGrammar {
    /// Returns the base of rules that name none: nanochat.
    #[allow(clippy::unnecessary_wraps, reason = "serde needs the type of the field")]
    fn default_base() -> Option<Self> {
        Some(Self::Nanochat)
    }

    /// Returns whether a base is the default, so that serde omits it.
    #[allow(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(super) fn is_default(base: &Option<Self>) -> bool {
        *base == Self::default_base()
    }
}

/// The maximum number of digits of a number: `3`, or `"any"`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Digits {
    /// A limit from 1 to 16: `3`.
    Max(u32),
    /// No limit: `"any"`.
    Any(AnyDigits),
}

/// The JSON string `"any"`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the name is the documentation")]
pub enum AnyDigits {
    Any,
}

/// The end from which the digits of a number are counted. For example, with three digits `1234567`
/// is `123`, `456`, `7` from the left and `1`, `234`, `567` from the right.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum DigitsFrom {
    #[default]
    Left,
    Right,
}

/// The treatment of contractions.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContractionStyle {
    /// There are none: an apostrophe is a sign.
    None,
    /// A contraction is a piece: `isn`, `'t`.
    Apart,
    /// A contraction belongs to the word before it: `isn't`.
    Joined,
}

/// The character before a word that belongs to the word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LeadingSpace {
    /// `true`: a space, as in ` word`. `false`: none.
    Space(bool),
    /// Any one sign or white space except newlines, as in `(word`.
    Sign(AnySign),
}

/// The JSON string `"sign"`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the name is the documentation")]
pub enum AnySign {
    Sign,
}

/// The treatment of newlines.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NewlineStyle {
    /// A newline is white space as any other.
    Space,
    /// White space up to its last newline is a piece; newlines directly behind signs belong to the
    /// signs.
    Run,
    /// White space up to its last newline is a piece, also behind signs.
    Apart,
}

/// The change of case that ends a word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseStyle {
    /// None: `camelCase` is one word.
    Ignore,
    /// A capital behind a small letter: `parse`, `HTTPRequest`.
    Split,
    /// As `Split`, and before the last of several capitals if a small letter follows: `parse`,
    /// `HTTP`, `Request`.
    Words,
}

/// The treatment of `_`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnderscoreStyle {
    /// `_` is a sign as any other.
    Sign,
    /// A run of `_` is a piece.
    Alone,
    /// `_` is a letter: `snake_case` is one word.
    Letter,
}

/// A regex whose matches are pieces, such as `\d{4}-\d\d-\d\d`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Isolate {
    /// The regex, in the syntax of the crate `regex`.
    pub regex: String,
    /// The name that `explain` gives to its pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether a match must be a whole word: no word character may adjoin it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub whole_word: bool,
}

/// The words of a script that is written without spaces, such as Thai.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lexicon {
    /// The name of the script in Unicode: `Han`.
    pub script: String,
    /// The words; each character is of the script.
    pub words: Vec<String>,
    /// The way in which a run is cut into words.
    #[serde(default, skip_serializing_if = "is_default")]
    pub path: LexiconPath,
}

/// The way in which a run of a script is cut into the words of a lexicon.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LexiconPath {
    /// The longest word at each position, from left to right.
    #[default]
    Longest,
    /// The fewest pieces, where an unknown character counts as one.
    Fewest,
}

/// A set of characters whose runs are cut into pieces of one size.
///
/// For example, `ACGT` with size 3 and start 1 cuts `ACGTACGT` into `A`, `CGT`, `ACG`, `T`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields, expecting = "struct Group")]
pub struct CharGroup {
    /// The characters.
    pub characters: String,
    /// The number of characters of a piece.
    pub size: usize,
    /// The number of characters of the piece before the first whole one; 0 for none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start: usize,
    /// The name that `explain` gives to its pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Isolate {
    /// Parses the regex, without the condition of `whole_word`.
    ///
    /// # Errors
    ///
    /// The reason why the regex cannot be used: it does not compile, or matches nothing or the
    /// empty text.
    pub(crate) fn parse_regex(&self) -> Result<Hir, String> {
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

    /// Adds the assertions of `whole_word` around the parsed regex.
    pub(crate) fn with_word_edges(&self, hir: Hir) -> Hir {
        match self.whole_word {
            true => {
                let start = Hir::look(Look::WordStartHalfUnicode);
                Hir::concat(vec![start, hir, Hir::look(Look::WordEndHalfUnicode)])
            }
            false => hir,
        }
    }
}

/// Returns whether a field has its default, so that serde omits it.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Rules {
    /// Recognises rules among patterns: parses them, or returns `None` if the text is a pattern.
    ///
    /// # Errors
    ///
    /// If the JSON is not that of rules, or if two rules contradict each other.
    pub fn recognise(text: &str) -> Option<Result<Self, Error>> {
        text.starts_with(JSON_START).then(|| Self::parse(text))
    }

    /// Parses and checks rules.
    fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > RULES_BYTES_MAX {
            return Err(rules_error(
                "",
                format!("they have {} bytes, at most {RULES_BYTES_MAX}", text.len()),
            ));
        }
        check::check_version(&text[JSON_START.len()..])?;
        let rules: Self = serde_json::from_str(text)
            .map_err(|error| rules_error("", error.to_string().replace(char::is_control, " ")))?;
        rules.check()?;
        Ok(rules)
    }

    /// Returns the rules as JSON without defaults, so that equal rules have equal texts.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("rules are plain values")
    }

    /// Returns the characters of each lexicon and then of each group, with its path in the rules,
    /// such as `lexicon[0]`.
    pub(crate) fn run_sets(&self) -> Vec<(String, ClassUnicode)> {
        let lexicons = self.lexicon.iter().enumerate().map(|(at, lexicon)| {
            (
                format!("lexicon[{at}]"),
                script_set(&lexicon.script).expect("`check` has found every script"),
            )
        });
        let groups = self.groups.iter().enumerate().map(|(at, group)| {
            let ranges = group.characters.chars().collect::<HashSet<_>>().into_iter();
            let ranges = ranges.map(|c| regex_syntax::hir::ClassUnicodeRange::new(c, c));
            (format!("groups[{at}]"), ClassUnicode::new(ranges))
        });
        lexicons.chain(groups).collect()
    }
}

/// Returns the error for the rule at a path, such as `groups[1]`, with a description of the fault.
pub(crate) fn rules_error(place: &str, fault: impl Into<String>) -> Error {
    Error::Rules { place: place.to_owned(), reason: fault.into() }
}
