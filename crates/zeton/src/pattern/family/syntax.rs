//! Parses the text of a pattern into an [`Ast`], for the syntax that the family uses.
//!
//! For example, ` ?\p{N}{1,3}+` parses as
//!
//! ```text
//! Concat ─┬─ Repetition { Set(BLANK),  0..1 }
//!         └─ Repetition { Set(NUMBER), 1..3, possessive }
//! ```
//!
//! Any other syntax (ranges, lazy repetition, look-behind, flags except `i`) makes the parser
//! return `None`, and the pattern is compiled by `dfa/` instead. The parser never guesses a
//! meaning.

use super::char_set::CharSet;

/// A node of a parsed pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Ast {
    /// One character of a set: `\p{L}`, `[^\s\p{L}]`, `/`.
    Set(CharSet),
    /// One of these ASCII letters, as in `[sdmt]`; `true` where case is ignored.
    Letters(Vec<u8>, bool),
    /// One node after another; empty for the empty pattern.
    Concat(Vec<Ast>),
    /// The first node that matches: `ll|ve|re`.
    Alternation(Vec<Ast>),
    /// `child{min,max}`, greedy.
    Repetition { child: Box<Ast>, min: u32, max: u32, possessive: bool },
    /// `(?!\S)`: white space or the end of the text follows.
    NotBeforeText,
    /// `$` or `\z`: the end of the text.
    EndOfText,
}

/// `max` of a repetition without an upper bound.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// Deepest nesting of groups that is parsed, because the parser recurses. The patterns of the
/// family nest two deep.
const DEPTH_MAX: u32 = 16;

/// Parses a pattern into its top-level alternatives; `None` if it has syntax that no pattern of the
/// family has.
pub(crate) fn parse(pattern: &str) -> Option<Vec<Ast>> {
    PatternParser::new(pattern).parse_pattern()
}

/// Returns the pattern from its first unsupported part on, or `None` if all of it parses.
///
/// For example, `[\p{N}\p{Han}]| ` yields `\p{Han}]| `. `EnginePath::why` shows that to the user.
pub(crate) fn find_unsupported(pattern: &str) -> Option<&str> {
    let mut parser = PatternParser::new(pattern);
    parser.parse_pattern().is_none().then_some(parser.last)
}

/// A recursive-descent parser. Its methods consume from `rest` and return `None` at the first
/// syntax that the family does not have.
struct PatternParser<'p> {
    /// The text that is not parsed yet.
    rest: &'p str,
    /// The value of `rest` at the start of the last atom or class member, for error messages.
    last: &'p str,
    /// Groups that are open.
    depth: u32,
}

impl<'p> PatternParser<'p> {
    fn new(pattern: &'p str) -> Self {
        Self { rest: pattern, last: pattern, depth: 0 }
    }

    /// Parses the whole pattern to its alternatives. Returns `None` at syntax that no pattern of
    /// the family has.
    fn parse_pattern(&mut self) -> Option<Vec<Ast>> {
        let alternatives = self.parse_alternatives(false)?;
        self.rest.is_empty().then_some(alternatives)
    }

    /// Consumes `text` if the pattern continues with it, and returns whether it does. Otherwise
    /// nothing is consumed.
    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Consumes and returns the next character of the pattern; `None` at its end.
    fn take_char(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Parses `a|b|c`, up to a closing parenthesis or the end of the pattern. Returns `None` at
    /// syntax that no pattern of the family has.
    fn parse_alternatives(&mut self, ignore_case: bool) -> Option<Vec<Ast>> {
        let mut all = vec![self.parse_concat(ignore_case)?];
        while self.take("|") {
            all.push(self.parse_concat(ignore_case)?);
        }
        Some(all)
    }

    /// Parses a sequence of repeated atoms to one node; a sequence of one is that atom. Returns
    /// `None` at syntax that no pattern of the family has.
    fn parse_concat(&mut self, ignore_case: bool) -> Option<Ast> {
        let mut parts = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let atom = self.parse_atom(ignore_case)?;
            parts.push(self.parse_repetition(atom)?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Ast::Concat(parts) })
    }

    /// Parses a group, a bracketed class, an assertion or a single character to a node. Returns
    /// `None` at any other syntax.
    fn parse_atom(&mut self, ignore_case: bool) -> Option<Ast> {
        self.last = self.rest;
        if self.take(r"(?!\S)") {
            return Some(Ast::NotBeforeText);
        }
        if self.take("$") || self.take(r"\z") {
            return Some(Ast::EndOfText);
        }
        if self.take("(?i:") {
            return self.parse_group(true);
        }
        if self.take("(?:") {
            return self.parse_group(ignore_case);
        }
        if self.take("[") {
            return self.parse_class(ignore_case);
        }
        if self.rest.starts_with(['(', ')', '.', '^', '*', '+', '?', '{', '}', ']']) {
            return None;
        }
        self.parse_member(ignore_case)
    }

    /// Parses the inside of a group and its closing parenthesis to a node. Returns `None` at an
    /// unknown syntax, or below [`DEPTH_MAX`] groups.
    fn parse_group(&mut self, ignore_case: bool) -> Option<Ast> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut all = self.parse_alternatives(ignore_case)?;
        self.depth -= 1;
        let closed = self.take(")");
        closed.then(|| if all.len() == 1 { all.remove(0) } else { Ast::Alternation(all) })
    }

    /// Parses the inside of `[…]` to a set: properties and single characters. Ranges and set
    /// operators give `None`.
    fn parse_class(&mut self, ignore_case: bool) -> Option<Ast> {
        let negated = self.take("^");
        let (mut set, mut letters) = (CharSet::NONE, Vec::new());
        while !self.take("]") {
            if self.rest.starts_with(['[', '-', '&', '~', '^']) {
                return None;
            }
            match self.parse_member(ignore_case)? {
                Ast::Set(members) => set = set | members,
                Ast::Letters(members, _) => letters.extend(members),
                _ => return None,
            }
            if self.rest.starts_with('-') {
                return None;
            }
        }
        match (set.is_empty(), letters.is_empty(), negated) {
            (false, true, false) => Some(Ast::Set(set)),
            (false, true, true) => Some(Ast::Set(!set)),
            (true, false, false) => Some(Ast::Letters(letters, ignore_case)),
            _ => None,
        }
    }

    /// Parses one character or property, alone or inside a class, to a node. Returns `None` at a
    /// character that the family does not name.
    fn parse_member(&mut self, ignore_case: bool) -> Option<Ast> {
        self.last = self.rest;
        let set = match self.take_char()? {
            '\\' => return self.parse_escape(ignore_case),
            ' ' => CharSet::BLANK,
            '\r' => CharSet::CR,
            '\n' => CharSet::LF,
            '\'' => CharSet::APOSTROPHE,
            '/' => CharSet::SLASH,
            c if c.is_ascii_alphabetic() => return Some(Ast::Letters(vec![c as u8], ignore_case)),
            _ => return None,
        };
        Some(Ast::Set(set))
    }

    /// Parses the part of an escape behind its backslash to a set: `s` of `\s`, `p{L}` of `\p{L}`.
    /// `None` for any other escape.
    fn parse_escape(&mut self, ignore_case: bool) -> Option<Ast> {
        Some(Ast::Set(match self.take_char()? {
            // Where case is ignored, a property also contains each character that folds to one of
            // its members. For example, U+0345 is a mark, and `(?i:\p{L})` matches it.
            'p' | 'P' if ignore_case => return None,
            's' => CharSet::SPACE,
            'S' => !CharSet::SPACE,
            'r' => CharSet::CR,
            'n' => CharSet::LF,
            ' ' => CharSet::BLANK,
            '\'' => CharSet::APOSTROPHE,
            '/' => CharSet::SLASH,
            'p' => self.parse_property()?,
            'P' => !self.parse_property()?,
            _ => return None,
        }))
    }

    /// Parses the name of a property to its set: `{Lu}`, or one letter without braces. Returns
    /// `None` for a property that no pattern of the family has.
    fn parse_property(&mut self) -> Option<CharSet> {
        let name = if self.take("{") {
            let (name, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            name
        } else {
            let (name, rest) = self.rest.split_at_checked(1)?;
            self.rest = rest;
            name
        };
        Some(match name {
            "L" | "Letter" => CharSet::LETTER,
            "Lu" => CharSet::LU,
            "Lt" => CharSet::LT,
            "Ll" => CharSet::LL,
            "Lm" => CharSet::LM,
            "Lo" => CharSet::LO,
            "M" | "Mark" => CharSet::MARK,
            "N" | "Number" => CharSet::NUMBER,
            _ => return None,
        })
    }

    /// Parses the quantifier behind an atom, if there is one, and returns the repetition, otherwise
    /// the atom. Returns `None` at a quantifier that no pattern of the family has.
    fn parse_repetition(&mut self, node: Ast) -> Option<Ast> {
        let (min, max) = if self.take("?") {
            (0, 1)
        } else if self.take("*") {
            (0, UNBOUNDED)
        } else if self.take("+") {
            (1, UNBOUNDED)
        } else if self.take("{") {
            let (bounds, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            let (min, max) = bounds.split_once(',').unwrap_or((bounds, bounds));
            let max = if max.is_empty() { UNBOUNDED } else { parse_bound(max)? };
            (parse_bound(min)?, max)
        } else {
            return Some(node);
        };
        let possessive = self.take("+");
        if self.rest.starts_with(['?', '*', '+', '{'])
            || matches!(node, Ast::NotBeforeText | Ast::EndOfText)
        {
            return None;
        }
        Some(Ast::Repetition { child: Box::new(node), min, max, possessive })
    }
}

/// Parses a bound of a repetition: one to four ASCII digits. No pattern of the family needs more,
/// and four digits cannot be [`UNBOUNDED`].
fn parse_bound(digits: &str) -> Option<u32> {
    let plain = digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_syntax_of_the_family() {
        let alternatives = parse(r" ?\p{N}{1,3}+|\s++$").unwrap();
        let repeat = |set, min, max, possessive| Ast::Repetition {
            child: Box::new(Ast::Set(set)),
            min,
            max,
            possessive,
        };
        assert_eq!(
            alternatives,
            [
                Ast::Concat(vec![
                    repeat(CharSet::BLANK, 0, 1, false),
                    repeat(CharSet::NUMBER, 1, 3, true)
                ]),
                Ast::Concat(vec![repeat(CharSet::SPACE, 1, UNBOUNDED, true), Ast::EndOfText]),
            ]
        );
    }

    #[test]
    fn finds_the_first_unsupported_part() {
        assert_eq!(find_unsupported(r"\p{L}+|[\p{N}\p{Han}]| "), Some(r"\p{Han}]| "));
        assert_eq!(find_unsupported(r" ?\w+"), Some(r"\w+"));
        assert_eq!(find_unsupported(" [A-Z]"), Some("A-Z]"));
        assert_eq!(find_unsupported(r"\p{L}+"), None);
    }

    #[test]
    fn refuses_unsupported_syntax() {
        let unsupported = [
            "[a-z]",
            "a.b",
            "(?=x)",
            r"\w",
            "x+?",
            "[[:alpha:]]",
            r"[\p{L}&&\p{N}]",
            "(",
            r"\p{N}{+1,3}",
            r"\p{N}{1,4294967295}",
            // U+0345 is a mark, and a letter where case is ignored.
            r"(?i:\p{L}+)",
            r"(?i: ?[^\s\p{L}\p{N}]+)",
        ];
        for pattern in unsupported {
            assert_eq!(parse(pattern), None, "{pattern}");
        }
    }
}
