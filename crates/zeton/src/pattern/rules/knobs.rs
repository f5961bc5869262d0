//! Composes the pattern of rules from a base grammar and the knobs that change it.
//!
//! A base without knobs is its published pattern, byte for byte. With a knob, the pattern is
//! composed of its parts anew: contractions | words | numbers | signs | white space. For example,
//! `{"rules":1,"base":"gpt2","digits":3,"contractions":"none"}` composes
//!
//! ```text
//!  ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s+
//! ```
//!
//! The table under "knobs compose to" in `docs/rules.md` specifies the composition.

use super::{
    BaseGrammar, CaseStyle, ContractionStyle, Digits, DigitsFrom, LeadingSpace, NewlineStyle,
    Rules, UnderscoreStyle,
};
use crate::pattern::NANOCHAT;

/// GPT-2's pattern, with possessive repetitions, as tiktoken has it.
const GPT2: &str =
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
/// cl100k_base's pattern, as tiktoken has it.
const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
/// o200k_base's pattern, as tiktoken has it.
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The pattern of rules without a grammar: any text is one piece.
const ONE_PIECE: &str = "(?s:.)+";

/// The alternatives for white space where the knob `newlines` turns `"space"` into another value.
const SPACE_TO_NEWLINE: &str = r"\s*[\r\n]+|\s+(?!\S)|\s+";
/// The alternatives for white space where the knob `newlines` becomes `"space"`.
const SPACE: &str = r"\s+(?!\S)|\s+";

/// The choices of a base grammar, each of which a knob may change.
struct BaseParts {
    contractions: ContractionStyle,
    /// The alternative for contractions that are pieces.
    contractions_apart: &'static str,
    leading_space: LeadingSpace,
    marks: bool,
    case: CaseStyle,
    /// Whether a number may have a space before it.
    number_blank: bool,
    /// The maximum number of digits; `None` if there is no limit.
    digits: Option<u32>,
    newlines: NewlineStyle,
    /// The repeated set behind signs, where `newlines` is `Run`.
    tail: &'static str,
    /// The alternatives for white space.
    space: &'static str,
}

impl BaseGrammar {
    /// Returns the published pattern of the base. Rules without knobs use it byte for byte.
    fn pattern(self) -> &'static str {
        match self {
            Self::Nanochat => NANOCHAT,
            Self::Gpt2 => GPT2,
            Self::Cl100k => CL100K,
            Self::O200k => O200K,
        }
    }

    /// Returns the choices of the grammar. `compose_pattern` builds a pattern of them where a knob
    /// is set.
    fn parts(self) -> BaseParts {
        let nanochat = BaseParts {
            contractions: ContractionStyle::Apart,
            contractions_apart: "'(?i:[sdmt]|ll|ve|re)|",
            leading_space: LeadingSpace::Sign(super::AnySign::Sign),
            marks: false,
            case: CaseStyle::Ignore,
            number_blank: false,
            digits: Some(2),
            newlines: NewlineStyle::Run,
            tail: r"[\r\n]*",
            space: SPACE_TO_NEWLINE,
        };
        match self {
            Self::Nanochat => nanochat,
            Self::Gpt2 => BaseParts {
                contractions_apart: "'(?:[sdmt]|ll|ve|re)|",
                leading_space: LeadingSpace::Space(true),
                number_blank: true,
                digits: None,
                newlines: NewlineStyle::Space,
                space: r"\s++$|\s+(?!\S)|\s+",
                ..nanochat
            },
            Self::Cl100k => {
                BaseParts { digits: Some(3), space: r"\s++$|\s*[\r\n]+|\s+(?!\S)|\s+", ..nanochat }
            }
            Self::O200k => BaseParts {
                contractions: ContractionStyle::Joined,
                marks: true,
                case: CaseStyle::Split,
                digits: Some(3),
                tail: r"[\r\n/]*",
                ..nanochat
            },
        }
    }
}

impl Rules {
    /// Returns the pattern that splits the text between matches and runs. The splitter compiles it
    /// as any other pattern.
    pub(crate) fn to_pattern(&self) -> String {
        let (Some(base), None) = (self.base, &self.pattern) else {
            return self.pattern.clone().unwrap_or_else(|| ONE_PIECE.to_owned());
        };
        match self.has_grammar_knob() {
            true => self.compose_pattern(&base.parts()),
            false => base.pattern().to_owned(),
        }
    }

    /// Returns whether a knob is set that changes the pattern. The knobs that cut within pieces do
    /// not.
    fn has_grammar_knob(&self) -> bool {
        self.digits.is_some()
            || self.contractions.is_some()
            || self.leading_space.is_some()
            || self.newlines.is_some()
            || self.marks.is_some()
            || self.case.is_some()
            || self.underscores == Some(UnderscoreStyle::Letter)
    }

    /// Composes a pattern from the parts of a base and the knobs that are set, as a new string to
    /// compile.
    fn compose_pattern(&self, base: &BaseParts) -> String {
        let marks = if self.marks.unwrap_or(base.marks) { r"\p{M}" } else { "" };
        let underscore = if self.underscores == Some(UnderscoreStyle::Letter) { "_" } else { "" };
        let contractions = self.contractions.unwrap_or(base.contractions);
        let leading_space = self.leading_space.unwrap_or(base.leading_space);
        let (blank, prefix) = match leading_space {
            LeadingSpace::Space(false) => ("", String::new()),
            LeadingSpace::Space(true) => (" ?", " ?".to_owned()),
            LeadingSpace::Sign(_) => {
                // Where words may begin with a mark, the prefix is not possessive: otherwise it
                // would take that mark and not give it back.
                let possessive = if marks.is_empty() { "+" } else { "" };
                (" ?", format!(r"[^\r\n\p{{L}}\p{{N}}{underscore}]?{possessive}"))
            }
        };
        let (apart, joined) = match contractions {
            ContractionStyle::None => ("", ""),
            ContractionStyle::Apart => (base.contractions_apart, ""),
            ContractionStyle::Joined => ("", "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"),
        };
        let word = match self.case.unwrap_or(base.case) {
            CaseStyle::Ignore | CaseStyle::Words if marks.is_empty() && underscore.is_empty() => {
                format!(r"{prefix}\p{{L}}+{joined}")
            }
            CaseStyle::Ignore | CaseStyle::Words => {
                format!(r"{prefix}[\p{{L}}{marks}{underscore}]+{joined}")
            }
            CaseStyle::Split => {
                let upper = format!(r"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}{marks}{underscore}]");
                let lower = format!(r"[\p{{Ll}}\p{{Lm}}\p{{Lo}}{marks}{underscore}]");
                format!("{prefix}{upper}*{lower}+{joined}|{prefix}{upper}+{lower}*{joined}")
            }
        };
        let digits = match (self.digits_from, self.digits) {
            (DigitsFrom::Right, _) | (_, Some(Digits::Any(_))) => None,
            (DigitsFrom::Left, Some(Digits::Max(digits))) => Some(digits),
            (DigitsFrom::Left, None) => base.digits,
        };
        let repeat = digits.map_or("+".to_owned(), |digits| format!("{{1,{digits}}}"));
        let number_blank = if base.number_blank { blank } else { "" };
        let newlines = self.newlines.unwrap_or(base.newlines);
        let (becomes_space, was_space) =
            (newlines == NewlineStyle::Space, base.newlines == NewlineStyle::Space);
        let space = match (becomes_space, was_space) {
            (true, false) => SPACE,
            (false, true) => SPACE_TO_NEWLINE,
            _ => base.space,
        };
        let tail = if newlines == NewlineStyle::Run { base.tail } else { "" };
        format!(
            r"{apart}{word}|{number_blank}\p{{N}}{repeat}|{blank}[^\s\p{{L}}\p{{N}}{underscore}]++{tail}|{space}"
        )
    }
}
