//! Rules: how a text splits, as a plain value that is spelled as JSON and stands where a pattern stands.
//!
//! `knobs` makes a pattern of a known grammar and what is changed in it. What a pattern cannot say
//! are layers around it (`split/layers.rs`): matches before it, runs between those, and finer cuts
//! within its pieces.

mod knobs;

use std::collections::{HashMap, HashSet};

use regex_syntax::hir::{ClassUnicode, Hir, Look};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::pattern::PATTERN_BYTES_MAX;
use crate::unicode::script;

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

/// Digits that a version has at most.
const VERSION_DIGITS_MAX: usize = 9;

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
        check_version(text)?;
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

    fn check(&self) -> Result<(), Error> {
        self.check_knobs()?;
        self.check_literals()?;
        if self.isolate.len() > ISOLATES_MAX {
            return Err(refused(
                "isolate",
                format!("{} regexes, at most {ISOLATES_MAX}", self.isolate.len()),
            ));
        }
        let mut known = HashMap::new();
        for (at, isolate) in self.isolate.iter().enumerate() {
            if let Some(first) = known.insert((&isolate.regex, isolate.whole_word), at) {
                let what =
                    format!("the same regex as isolate[{first}], which takes all its matches");
                return Err(refused(&format!("isolate[{at}]"), what));
            }
            if isolate.regex.len() > PATTERN_BYTES_MAX {
                let what = format!("{} bytes, at most {PATTERN_BYTES_MAX}", isolate.regex.len());
                return Err(refused(&format!("isolate[{at}]"), what));
            }
            isolate.read().map_err(|why| refused(&format!("isolate[{at}]"), why))?;
        }
        self.check_runs()
    }

    fn check_knobs(&self) -> Result<(), Error> {
        if self.pattern.is_some() && !Base::is_known(&self.base) {
            return Err(refused("pattern", "a base is given too; give one of them"));
        }
        let of_grammar = [
            ("digits", self.digits.is_some()),
            ("contractions", self.contractions.is_some()),
            ("leading_space", self.leading_space.is_some()),
            ("newlines", self.newlines.is_some()),
            ("marks", self.marks.is_some()),
            ("case", matches!(self.case, Some(Case::Ignore | Case::Split))),
            (
                "underscores",
                matches!(self.underscores, Some(Underscores::Sign | Underscores::Letter)),
            ),
        ];
        let instead = match (&self.pattern, self.base) {
            (Some(_), _) => Some("a pattern of one's own says that itself"),
            (None, None) => Some("there is no grammar to change; give a base"),
            (None, Some(_)) => None,
        };
        let changed = of_grammar.iter().find(|(_, changed)| *changed);
        if let (Some(why), Some((knob, _))) = (instead, changed) {
            return Err(refused(knob, why));
        }
        match (self.digits_from, self.digits) {
            (_, Some(Digits::Most(digits))) if !(1..=16).contains(&digits) => {
                Err(refused("digits", format!("{digits} digits; give 1 to 16, or \"any\"")))
            }
            (From::Right, None | Some(Digits::Any(_))) => {
                Err(refused("digits_from", "from the right needs digits, a number from 1 to 16"))
            }
            _ => Ok(()),
        }
    }

    fn check_literals(&self) -> Result<(), Error> {
        let words = self.lexicon.iter().map(|lexicon| lexicon.words.len());
        let count = self.keep.len() + self.keep_words.len() + words.sum::<usize>();
        if count > LITERALS_MAX {
            return Err(refused(
                "",
                format!("they have {count} literals and words, at most {LITERALS_MAX}"),
            ));
        }
        let kept: HashMap<&str, usize> = self
            .keep
            .iter()
            .enumerate()
            .rev()
            .map(|(at, literal)| (literal.as_str(), at))
            .collect();
        for (list, literals) in [("keep", &self.keep), ("keep_words", &self.keep_words)] {
            for (at, literal) in literals.iter().enumerate() {
                check_literal(&format!("{list}[{at}]"), literal)?;
                if let (Some(first), "keep_words") = (kept.get(literal.as_str()), list) {
                    let what =
                        format!("{literal:?} is also keep[{first}], which is wherever it stands");
                    return Err(refused(&format!("keep_words[{at}]"), what));
                }
            }
        }
        Ok(())
    }

    fn check_runs(&self) -> Result<(), Error> {
        let runs = self.lexicon.len() + self.groups.len();
        if runs > RUNS_MAX {
            return Err(refused(
                "",
                format!("they have {runs} lexicons and groups, at most {RUNS_MAX}"),
            ));
        }
        for (at, lexicon) in self.lexicon.iter().enumerate() {
            let place = format!("lexicon[{at}]");
            let script = script(&lexicon.script).ok_or_else(|| {
                refused(
                    &place,
                    format!("Unicode has no script {:?}; see its Scripts.txt", lexicon.script),
                )
            })?;
            if lexicon.words.is_empty() {
                return Err(refused(&place, "it has no words"));
            }
            for (at, word) in lexicon.words.iter().enumerate() {
                let place = format!("{place}.words[{at}]");
                check_literal(&place, word)?;
                if let Some(other) = word.chars().find(|c| !holds(&script, *c)) {
                    let name = &lexicon.script;
                    let what =
                        format!("{word:?} holds {other:?}, which is not {name}: no run has it");
                    return Err(refused(&place, what));
                }
            }
        }
        for (at, group) in self.groups.iter().enumerate() {
            let place = format!("groups[{at}]");
            if group.characters.is_empty() {
                return Err(refused(&place, "it has no characters"));
            }
            if !(1..=GROUP_MAX).contains(&group.size) || group.start >= group.size {
                let (size, start) = (group.size, group.start);
                let what = format!(
                    "size {size} and start {start}; a size is 1 to {GROUP_MAX}, a start below it"
                );
                return Err(refused(&place, what));
            }
        }
        let mut taken: Vec<(String, ClassUnicode)> = Vec::new();
        for (place, set) in self.run_sets() {
            for (other, known) in &taken {
                let mut both = known.clone();
                both.intersect(&set);
                if let Some(range) = both.ranges().first() {
                    let what =
                        format!("{:?} is in {other} too; a run is cut by one rule", range.start());
                    return Err(refused(&place, what));
                }
            }
            taken.push((place, set));
        }
        Ok(())
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

/// Refuses rules of another version, before a field is met that this one does not know.
fn check_version(text: &str) -> Result<(), Error> {
    let after = text[MARK.len()..].trim_start();
    let version = after.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    match version {
        "" | "1" => Ok(()),
        _ if version.len() > VERSION_DIGITS_MAX => Err(refused("rules", "it is no version")),
        _ => Err(refused("rules", format!("{version} is a version to come; update jeton"))),
    }
}

/// What is wrong with rules, and where in them.
pub(crate) fn refused(place: &str, what: impl Into<String>) -> Error {
    Error::Rules { place: place.to_owned(), what: what.into() }
}

fn check_literal(place: &str, literal: &str) -> Result<(), Error> {
    match literal.len() {
        0 => Err(refused(place, "it is empty; a literal has at least one character")),
        bytes if bytes > LITERAL_BYTES_MAX => {
            Err(refused(place, format!("it has {bytes} bytes, at most {LITERAL_BYTES_MAX}")))
        }
        _ => Ok(()),
    }
}

fn holds(set: &ClassUnicode, c: char) -> bool {
    let at = set.ranges().partition_point(|range| range.end() < c);
    set.ranges().get(at).is_some_and(|range| range.start() <= c)
}

#[cfg(test)]
mod tests {
    use crate::Splitter;
    use crate::testing::{PARTS, Random};

    /// The pieces of a text by rules, all but their first key being given.
    fn pieces(rules: &str, text: &str) -> Vec<String> {
        let splitter = Splitter::new(&format!(r#"{{"rules":1{rules}}}"#)).unwrap();
        let mut pieces = Vec::new();
        splitter.split(text.as_bytes(), |piece| pieces.push(text_of(piece))).unwrap();
        pieces
    }

    fn text_of(piece: &[u8]) -> String {
        String::from_utf8_lossy(piece).into_owned()
    }

    #[test]
    fn digits_group_from_the_right() {
        let right = r#","digits":3,"digits_from":"right""#;
        assert_eq!(pieces(right, "1234567"), ["1", "234", "567"]);
        assert_eq!(pieces(right, "123456 x12"), ["123", "456", " x", "12"]);
        assert_eq!(pieces(right, "٣٤٥٦"), ["٣", "٤٥٦"]);
        let gpt2 = r#","base":"gpt2","digits":3,"digits_from":"right""#;
        assert_eq!(pieces(gpt2, "a 1234 567"), ["a", " 1", "234", " 567"]);
        assert_eq!(pieces(r#","digits":1"#, "12"), ["1", "2"]);
        assert_eq!(pieces(r#","digits":"any""#, "12345"), ["12345"]);
    }

    #[test]
    fn case_underscores_and_scripts_end_words() {
        let words = r#","case":"words""#;
        assert_eq!(pieces(words, "camelCase"), ["camel", "Case"]);
        assert_eq!(pieces(words, " PascalCase"), [" Pascal", "Case"]);
        assert_eq!(pieces(words, "ALLCAPSWord HTTP"), ["ALLCAPS", "Word", " HTTP"]);
        assert_eq!(pieces(words, "caféÉcole"), ["café", "École"]);
        assert_eq!(pieces(r#","case":"split""#, "ALLCAPSWordOf"), ["ALLCAPSWord", "Of"]);
        assert_eq!(pieces(r#","case":"ignore""#, "camelCase"), ["camelCase"]);
        let alone = r#","underscores":"alone""#;
        assert_eq!(pieces(alone, "snake_case __x"), ["snake", "_", "case", " ", "__", "x"]);
        assert_eq!(pieces(r#","underscores":"letter""#, "snake_case"), ["snake_case"]);
        assert_eq!(pieces(r#","underscores":"sign""#, "snake_case"), ["snake", "_case"]);
        assert_eq!(pieces(r#","scripts":true"#, "helloмир中文"), ["hello", "мир", "中文"]);
    }

    #[test]
    fn literals_stay_whole_and_words_only_as_words() {
        let words = r#","keep_words":["BRCA1","New York"]"#;
        assert_eq!(pieces(words, "BRCA1 in New York"), ["BRCA1", " in", " ", "New York"]);
        assert_eq!(pieces(words, "BRCA12"), ["BRCA", "12"]);
        assert_eq!(pieces(words, "New Yorker"), ["New", " Yorker"]);
        let space = r#","keep_words":["New York"],"keep_space":true"#;
        assert_eq!(pieces(space, "in New York"), ["in", " New York"]);
        // The leftmost, then the longest, then the first.
        let keep = r#","keep":["ab","abc","bcde"]"#;
        assert_eq!(pieces(keep, "xabcde"), ["x", "abc", "de"]);
        assert_eq!(pieces(r#","keep":["C++"]"#, "in C++."), ["in", " ", "C++", "."]);
    }

    #[test]
    fn regexes_are_cut_out() {
        let date = r#","isolate":[{"regex":"\\d{4}-\\d\\d"}]"#;
        assert_eq!(pieces(date, "on 2024-051"), ["on", " ", "2024-05", "1"]);
        let whole = r#","isolate":[{"regex":"\\d{4}-\\d\\d","whole_word":true}]"#;
        assert_eq!(pieces(whole, "2024-051 2024-05"), ["20", "24", "-", "05", "1", " ", "2024-05"]);
        // The longest of two that begin together, whatever their order.
        let two = r#","isolate":[{"regex":"ab"},{"regex":"abc"}]"#;
        assert_eq!(pieces(two, "xabcd"), ["x", "abc", "d"]);
    }

    #[test]
    fn runs_are_cut_by_a_lexicon_or_into_groups() {
        let longest = r#","lexicon":[{"script":"Han","words":["研究","研究生","生命","命"]}]"#;
        assert_eq!(pieces(longest, "研究生命x"), ["研究生", "命", "x"]);
        let few = r#","lexicon":[{"script":"Han","words":["研究","研究生","生命","起源"],"path":"fewest"}]"#;
        assert_eq!(pieces(few, "研究生命起源"), ["研究", "生命", "起源"]);
        assert_eq!(pieces(few, "国内研究国"), ["国内", "研究", "国"]);
        let dna = r#","base":null,"groups":[{"characters":"ACGT","size":3,"start":1}]"#;
        assert_eq!(pieces(dna, "ACGTACGT>x"), ["A", "CGT", "ACG", "T", ">x"]);
    }

    #[test]
    fn says_where_rules_contradict_each_other() {
        let message = |rules: &str| {
            Splitter::new(&format!(r#"{{"rules":1{rules}}}"#)).unwrap_err().to_string()
        };
        for (rules, expected) in [
            (r#","keep":["a"],"keep_words":["b","a"]"#, r#"keep_words[1]: "a" is also keep[0]"#),
            (r#","keep":[""]"#, "keep[0]: it is empty"),
            (r#","digits_from":"right""#, "digits_from: from the right needs digits"),
            (r#","digits":17"#, "digits: 17 digits; give 1 to 16"),
            (r#","base":null,"digits":3"#, "digits: there is no grammar"),
            (r#","pattern":"\\w+|\\W","marks":true"#, "marks: a pattern of one's own"),
            (r#","base":"gpt2","pattern":"\\w+|\\W""#, "pattern: a base is given too"),
            (r#","isolate":[{"regex":"a*"}]"#, "isolate[0]: \"a*\" can match the empty text"),
            (r#","isolate":[{"regex":"("}]"#, "isolate[0]: \"(\" does not compile"),
            (r#","isolate":[{"regex":"a"},{"regex":"a"}]"#, "isolate[1]: the same regex"),
            (r#","lexicon":[{"script":"Klingon","words":["a"]}]"#, "lexicon[0]: Unicode has no"),
            (r#","lexicon":[{"script":"Thai","words":["a"]}]"#, "lexicon[0].words[0]: \"a\" holds"),
            (r#","lexicon":[{"script":"Thai","words":[]}]"#, "lexicon[0]: it has no words"),
            (r#","groups":[{"characters":"AC","size":0}]"#, "groups[0]: size 0"),
            (
                r#","groups":[{"characters":"AC","size":1},{"characters":"CG","size":2}]"#,
                "groups[1]: 'C' is in groups[0] too",
            ),
            (r#","nonsense":1"#, "unknown field `nonsense`"),
        ] {
            let found = message(rules);
            assert!(found.contains(expected), "{rules}: {found}");
        }
    }

    #[test]
    fn knobs_alone_run_as_published_patterns_do() {
        let choices: [&[&str]; 6] = [
            &["", r#","digits":1"#, r#","digits":3"#, r#","digits":"any""#],
            &[
                "",
                r#","contractions":"none""#,
                r#","contractions":"apart""#,
                r#","contractions":"joined""#,
            ],
            &[
                "",
                r#","leading_space":false"#,
                r#","leading_space":true"#,
                r#","leading_space":"sign""#,
            ],
            &["", r#","newlines":"space""#, r#","newlines":"run""#, r#","newlines":"apart""#],
            &["", r#","marks":true"#, r#","marks":false"#],
            &["", r#","case":"ignore""#, r#","case":"split""#],
        ];
        let mut seen = [0; 2];
        for base in ["nanochat", "gpt2", "cl100k", "o200k"] {
            for mut number in 0..4 * 4 * 4 * 4 * 3 * 3 {
                let mut rules = format!(r#"{{"rules":1,"base":"{base}""#);
                for choice in choices {
                    rules += choice[number % choice.len()];
                    number /= choice.len();
                }
                let splitter = Splitter::new(&(rules.clone() + "}")).unwrap();
                assert!(splitter.is_plain() && splitter.has_rules());
                // What follows an apostrophe that ends no word would need a third mark.
                let joined = rules.contains(r#""joined""#)
                    || base == "o200k" && !rules.contains("contractions");
                let takes_sign = rules.contains(r#""sign""#)
                    || base != "gpt2" && !rules.contains("leading_space");
                let expected = if joined && !takes_sign { "automaton" } else { "transducer" };
                assert_eq!(splitter.path().name(), expected, "{rules}");
                seen[usize::from(joined && !takes_sign)] += 1;
                let why = splitter.path().why();
                assert!(!why.contains("vectors do not know"), "{rules}");
            }
        }
        assert!(seen[0] > 4 * seen[1], "{seen:?}");
    }

    /// Rules of all kinds, for texts of `PARTS`.
    const MIXED: [&str; 9] = [
        r#","keep":["ab","abc","Word\n"],"keep_words":["word","a 1"]"#,
        r#","keep_words":["word","iPhone","a","é","中文"],"keep_space":true"#,
        r#","isolate":[{"regex":"\\d+(?:-\\d+)*","whole_word":true},{"regex":"<[^>]+>"}]"#,
        r#","isolate":[{"regex":"\\bWo"},{"regex":"(?m)^ab"},{"regex":"s$"}],"keep_space":true"#,
        r#","lexicon":[{"script":"Han","words":["中"]},{"script":"Thai","words":["ไท"],"path":"fewest"}]"#,
        r#","base":null,"groups":[{"characters":"ab1","size":2,"start":1}],"keep":["WORD"]"#,
        r#","base":"gpt2","digits":3,"digits_from":"right","case":"words","underscores":"alone","scripts":true"#,
        r#","pattern":"\\w+|\\W","scripts":true,"keep_words":["22 333"]"#,
        r#","base":"o200k","underscores":"letter","keep":["中"],"lexicon":[{"script":"Han","words":["文"]}]"#,
    ];

    #[test]
    fn parts_split_as_the_whole_and_joined_they_are_the_text() {
        let mut random = Random(19);
        for rules in MIXED {
            let splitter = Splitter::new(&format!(r#"{{"rules":1{rules}}}"#)).unwrap();
            let split = |text: &[u8]| {
                let mut pieces: Vec<Vec<u8>> = Vec::new();
                splitter.split(text, |piece| pieces.push(piece.to_vec())).unwrap();
                pieces
            };
            let mut cut = 0;
            for round in 0..3000 {
                let mut text: Vec<u8> = (0..random.below(40))
                    .flat_map(|_| PARTS[random.below(PARTS.len())].bytes())
                    .collect();
                if round % 4 == 0 && !text.is_empty() {
                    let at = random.below(text.len());
                    text[at] = 0xFF;
                }
                let whole = split(&text);
                assert_eq!(whole.concat(), text, "{rules}");
                assert!(whole.iter().all(|piece| !piece.is_empty()), "{rules}");
                let parts = splitter.parts(&text, 1 + random.below(20));
                cut += parts.len() - 1;
                let found: Vec<_> = parts.iter().flat_map(|part| split(part)).collect();
                assert_eq!(found, whole, "{rules} on {:?}", String::from_utf8_lossy(&text));
            }
            assert!(cut > 200, "{rules}: {cut}");
        }
    }

    #[test]
    fn stops_where_it_is_told_to() {
        for rules in MIXED {
            let splitter = Splitter::new(&format!(r#"{{"rules":1{rules}}}"#)).unwrap();
            let text = "ab word 22-333 <a> 中文ไทย aBc_d ".repeat(100);
            for most in [1, 2, 5, 9] {
                let mut found = 0;
                let split = splitter.split(text.as_bytes(), |_| {
                    found += 1;
                    found < most
                });
                assert_eq!((split, found), (Ok(()), most), "{rules}");
            }
        }
    }
}
