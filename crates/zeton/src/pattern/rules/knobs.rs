//! A known grammar and what is changed in it become a pattern of the family.

use super::{Base, Case, Contractions, Digits, From, LeadingSpace, Newlines, Rules, Underscores};
use crate::pattern::NANOCHAT;

const GPT2: &str =
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// One piece, whatever it holds.
const WHOLE: &str = "(?s:.)+";

/// What newlines and other white space do where that was changed.
const SPACE_TO_NEWLINE: &str = r"\s*[\r\n]+|\s+(?!\S)|\s+";
const SPACE: &str = r"\s+(?!\S)|\s+";

/// The choices of a known grammar, to be changed.
struct Parts {
    contractions: Contractions,
    apart: &'static str,
    leading_space: LeadingSpace,
    marks: bool,
    case: Case,
    number_blank: bool,
    digits: Option<u32>,
    newlines: Newlines,
    /// What signs take in behind them, if newlines make runs.
    tail: &'static str,
    space: &'static str,
}

impl Base {
    fn pattern(self) -> &'static str {
        match self {
            Self::Nanochat => NANOCHAT,
            Self::Gpt2 => GPT2,
            Self::Cl100k => CL100K,
            Self::O200k => O200K,
        }
    }

    fn parts(self) -> Parts {
        let nanochat = Parts {
            contractions: Contractions::Apart,
            apart: "'(?i:[sdmt]|ll|ve|re)|",
            leading_space: LeadingSpace::Sign(super::Sign::Sign),
            marks: false,
            case: Case::Ignore,
            number_blank: false,
            digits: Some(2),
            newlines: Newlines::Run,
            tail: r"[\r\n]*",
            space: SPACE_TO_NEWLINE,
        };
        match self {
            Self::Nanochat => nanochat,
            Self::Gpt2 => Parts {
                apart: "'(?:[sdmt]|ll|ve|re)|",
                leading_space: LeadingSpace::Space(true),
                number_blank: true,
                digits: None,
                newlines: Newlines::Space,
                space: r"\s++$|\s+(?!\S)|\s+",
                ..nanochat
            },
            Self::Cl100k => {
                Parts { digits: Some(3), space: r"\s++$|\s*[\r\n]+|\s+(?!\S)|\s+", ..nanochat }
            }
            Self::O200k => Parts {
                contractions: Contractions::Joined,
                marks: true,
                case: Case::Split,
                digits: Some(3),
                tail: r"[\r\n/]*",
                ..nanochat
            },
        }
    }
}

impl Rules {
    /// Returns the pattern that splits what other rules leave.
    pub(crate) fn grammar(&self) -> String {
        let (Some(base), None) = (self.base, &self.pattern) else {
            return self.pattern.clone().unwrap_or_else(|| WHOLE.to_owned());
        };
        match self.changes_grammar() {
            true => self.compose(&base.parts()),
            false => base.pattern().to_owned(),
        }
    }

    fn changes_grammar(&self) -> bool {
        self.digits.is_some()
            || self.contractions.is_some()
            || self.leading_space.is_some()
            || self.newlines.is_some()
            || self.marks.is_some()
            || self.case.is_some()
            || self.underscores == Some(Underscores::Letter)
    }

    fn compose(&self, base: &Parts) -> String {
        let marks = if self.marks.unwrap_or(base.marks) { r"\p{M}" } else { "" };
        let line = if self.underscores == Some(Underscores::Letter) { "_" } else { "" };
        let contractions = self.contractions.unwrap_or(base.contractions);
        let leading_space = self.leading_space.unwrap_or(base.leading_space);
        let (blank, prefix) = match leading_space {
            LeadingSpace::Space(false) => ("", String::new()),
            LeadingSpace::Space(true) => (" ?", " ?".to_owned()),
            LeadingSpace::Sign(_) => {
                // A mark that begins a word is no sign before it.
                let greed = if marks.is_empty() { "+" } else { "" };
                (" ?", format!(r"[^\r\n\p{{L}}\p{{N}}{line}]?{greed}"))
            }
        };
        let (apart, joined) = match contractions {
            Contractions::None => ("", ""),
            Contractions::Apart => (base.apart, ""),
            Contractions::Joined => ("", "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"),
        };
        let word = match self.case.unwrap_or(base.case) {
            Case::Ignore | Case::Words if marks.is_empty() && line.is_empty() => {
                format!(r"{prefix}\p{{L}}+{joined}")
            }
            Case::Ignore | Case::Words => format!(r"{prefix}[\p{{L}}{marks}{line}]+{joined}"),
            Case::Split => {
                let upper = format!(r"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}{marks}{line}]");
                let lower = format!(r"[\p{{Ll}}\p{{Lm}}\p{{Lo}}{marks}{line}]");
                format!("{prefix}{upper}*{lower}+{joined}|{prefix}{upper}+{lower}*{joined}")
            }
        };
        let digits = match (self.digits_from, self.digits) {
            (From::Right, _) | (_, Some(Digits::Any(_))) => None,
            (From::Left, Some(Digits::Most(digits))) => Some(digits),
            (From::Left, None) => base.digits,
        };
        let repeat = digits.map_or("+".to_owned(), |digits| format!("{{1,{digits}}}"));
        let number_blank = if base.number_blank { blank } else { "" };
        let newlines = self.newlines.unwrap_or(base.newlines);
        let (to_space, of_space) = (newlines == Newlines::Space, base.newlines == Newlines::Space);
        let space = match (to_space, of_space) {
            (true, false) => SPACE,
            (false, true) => SPACE_TO_NEWLINE,
            _ => base.space,
        };
        let tail = if newlines == Newlines::Run { base.tail } else { "" };
        format!(
            r"{apart}{word}|{number_blank}\p{{N}}{repeat}|{blank}[^\s\p{{L}}\p{{N}}{line}]++{tail}|{space}"
        )
    }
}
