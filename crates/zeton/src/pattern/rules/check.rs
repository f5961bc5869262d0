//! Checks rules: refuses a contradiction or an excess, and names its path in the rules.
//!
//! For example, `{"rules":1,"keep":["a"],"keep_words":["a"]}` is refused with `keep_words[0]: "a"
//! is also keep[0], which is wherever it stands`, because the first rule leaves the second nothing
//! to match. `Rules::recognise` calls [`Rules::check`], so that the rest of the engine handles
//! consistent rules only. `python/zeton/rules/contradictions.py` repeats the checks on
//! construction.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use super::{
    BaseGrammar, CaseStyle, Digits, DigitsFrom, GROUP_MAX, ISOLATES_MAX, LITERAL_BYTES_MAX,
    LITERALS_MAX, RUNS_MAX, Rules, UnderscoreStyle, rules_error,
};
use crate::pattern::PATTERN_BYTES_MAX;
use crate::sys::error::Error;
use crate::sys::unicode::script_set;

/// Maximum number of digits of a version that an error message repeats.
const VERSION_DIGITS_MAX: usize = 9;

/// Refuses rules of another version, before serde finds a field that this version does not have.
///
/// `after_start` is the JSON behind [`JSON_START`](super::JSON_START).
pub(super) fn check_version(after_start: &str) -> Result<(), Error> {
    let version = after_start.trim_start().split(|c: char| !c.is_ascii_digit()).next();
    match version.unwrap_or_default() {
        "" | "1" => Ok(()),
        version if version.len() > VERSION_DIGITS_MAX => {
            Err(rules_error("rules", "it is no version"))
        }
        version => {
            Err(rules_error("rules", format!("{version} is a version to come; update zeton")))
        }
    }
}

impl Rules {
    /// Refuses rules that contradict each other or exceed a limit. The first fault found is the
    /// error; the rules are only read.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.check_knobs()?;
        self.check_literals()?;
        if self.isolate.len() > ISOLATES_MAX {
            return Err(rules_error(
                "isolate",
                format!("{} regexes, at most {ISOLATES_MAX}", self.isolate.len()),
            ));
        }
        let mut known = HashMap::new();
        for (at, isolate) in self.isolate.iter().enumerate() {
            if let Some(first) = known.insert((&isolate.regex, isolate.whole_word), at) {
                let fault =
                    format!("the same regex as isolate[{first}], which takes all its matches");
                return Err(rules_error(&format!("isolate[{at}]"), fault));
            }
            if isolate.regex.len() > PATTERN_BYTES_MAX {
                let fault = format!("{} bytes, at most {PATTERN_BYTES_MAX}", isolate.regex.len());
                return Err(rules_error(&format!("isolate[{at}]"), fault));
            }
            isolate.parse_regex().map_err(|why| rules_error(&format!("isolate[{at}]"), why))?;
        }
        self.check_runs()
    }

    /// Refuses knobs that have no grammar to change, and limits on digits out of range. The rules
    /// are only read; the error names the knob.
    fn check_knobs(&self) -> Result<(), Error> {
        if self.pattern.is_some() && !BaseGrammar::is_default(&self.base) {
            return Err(rules_error("pattern", "a base is given too; give one of them"));
        }
        let grammar_knobs = [
            ("digits", self.digits.is_some()),
            ("contractions", self.contractions.is_some()),
            ("leading_space", self.leading_space.is_some()),
            ("newlines", self.newlines.is_some()),
            ("marks", self.marks.is_some()),
            ("case", matches!(self.case, Some(CaseStyle::Ignore | CaseStyle::Split))),
            (
                "underscores",
                matches!(self.underscores, Some(UnderscoreStyle::Sign | UnderscoreStyle::Letter)),
            ),
        ];
        let reason = match (&self.pattern, self.base) {
            (Some(_), _) => Some("a pattern of one's own says that itself"),
            (None, None) => Some("there is no grammar to change; give a base"),
            (None, Some(_)) => None,
        };
        let knob = grammar_knobs.iter().find(|(_, is_set)| *is_set);
        if let (Some(why), Some((knob, _))) = (reason, knob) {
            return Err(rules_error(knob, why));
        }
        match (self.digits_from, self.digits) {
            (_, Some(Digits::Max(digits))) if !(1..=16).contains(&digits) => {
                Err(rules_error("digits", format!("{digits} digits; give 1 to 16, or \"any\"")))
            }
            (DigitsFrom::Right, None | Some(Digits::Any(_))) => Err(rules_error(
                "digits_from",
                "from the right needs digits, a number from 1 to 16",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses literals of `keep` and `keep_words` that are empty, longer than
    /// [`LITERAL_BYTES_MAX`], or in both lists. Both lists and the words of all lexicons have at
    /// most [`LITERALS_MAX`] entries together.
    fn check_literals(&self) -> Result<(), Error> {
        let words = self.lexicon.iter().map(|lexicon| lexicon.words.len());
        let count = self.keep.len() + self.keep_words.len() + words.sum::<usize>();
        if count > LITERALS_MAX {
            return Err(rules_error(
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
                    let fault =
                        format!("{literal:?} is also keep[{first}], which is wherever it stands");
                    return Err(rules_error(&format!("keep_words[{at}]"), fault));
                }
            }
        }
        Ok(())
    }

    /// Refuses lexicons and groups that are empty, of no script, too many, or share a character.
    fn check_runs(&self) -> Result<(), Error> {
        let runs = self.lexicon.len() + self.groups.len();
        if runs > RUNS_MAX {
            return Err(rules_error(
                "",
                format!("they have {runs} lexicons and groups, at most {RUNS_MAX}"),
            ));
        }
        for (at, lexicon) in self.lexicon.iter().enumerate() {
            let place = format!("lexicon[{at}]");
            let script = script_set(&lexicon.script).ok_or_else(|| {
                rules_error(
                    &place,
                    format!("Unicode has no script {:?}; see its Scripts.txt", lexicon.script),
                )
            })?;
            if lexicon.words.is_empty() {
                return Err(rules_error(&place, "it has no words"));
            }
            for (at, word) in lexicon.words.iter().enumerate() {
                let place = format!("{place}.words[{at}]");
                check_literal(&place, word)?;
                if let Some(other) = word.chars().find(|c| !contains(&script, *c)) {
                    let name = &lexicon.script;
                    let fault =
                        format!("{word:?} holds {other:?}, which is not {name}: no run has it");
                    return Err(rules_error(&place, fault));
                }
            }
        }
        for (at, group) in self.groups.iter().enumerate() {
            let place = format!("groups[{at}]");
            if group.characters.is_empty() {
                return Err(rules_error(&place, "it has no characters"));
            }
            if !(1..=GROUP_MAX).contains(&group.size) || group.start >= group.size {
                let (size, start) = (group.size, group.start);
                let fault = format!(
                    "size {size} and start {start}; a size is 1 to {GROUP_MAX}, a start below it"
                );
                return Err(rules_error(&place, fault));
            }
        }
        let mut known_sets: Vec<(String, ClassUnicode)> = Vec::new();
        for (place, set) in self.run_sets() {
            for (other, known) in &known_sets {
                let mut both = known.clone();
                both.intersect(&set);
                if let Some(range) = both.ranges().first() {
                    let fault =
                        format!("{:?} is in {other} too; a run is cut by one rule", range.start());
                    return Err(rules_error(&place, fault));
                }
            }
            known_sets.push((place, set));
        }
        Ok(())
    }
}

/// Refuses a literal that is empty or longer than [`LITERAL_BYTES_MAX`] bytes. `place` is its path
/// in the rules, which the error names.
fn check_literal(place: &str, literal: &str) -> Result<(), Error> {
    match literal.len() {
        0 => Err(rules_error(place, "it is empty; a literal has at least one character")),
        bytes if bytes > LITERAL_BYTES_MAX => {
            Err(rules_error(place, format!("it has {bytes} bytes, at most {LITERAL_BYTES_MAX}")))
        }
        _ => Ok(()),
    }
}

/// Returns whether a set of characters contains `c`, by binary search.
fn contains(set: &ClassUnicode, c: char) -> bool {
    let at = set.ranges().partition_point(|range| range.end() < c);
    set.ranges().get(at).is_some_and(|range| range.start() <= c)
}
