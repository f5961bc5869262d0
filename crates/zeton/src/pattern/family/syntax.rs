//! The text of a pattern becomes a tree, as far as the family of patterns needs.
//!
//! Everything this reader does not know (ranges, lazy repeats, look-behind, flags but for `i`, …)
//! makes it answer `None`, and the pattern goes another way: it never guesses.

use super::char_set::CharSet;

/// A part of a pattern.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Node {
    /// One character of a set.
    CharSet(CharSet),
    /// One of these letters; `true` where case is ignored.
    Letters(Vec<u8>, bool),
    /// One after the other.
    Concat(Vec<Node>),
    /// The first that matches.
    Alternatives(Vec<Node>),
    /// `node{least,most}`, greedy.
    Repeat { node: Box<Node>, least: u32, most: u32, possessive: bool },
    /// `(?!\S)`.
    NoTextAhead,
    /// `$`: the end of the text.
    End,
}

/// `most` of a repeat without an upper bound.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// How deep groups may nest; the patterns of the family need two.
const DEPTH_MAX: u32 = 16;

/// Reads a pattern into its top-level alternatives.
pub(crate) fn read(pattern: &str) -> Option<Vec<Node>> {
    Reader::of(pattern).whole()
}

/// Returns what is left of a pattern from the first part on that this reader does not know.
pub(crate) fn unknown(pattern: &str) -> Option<&str> {
    let mut reader = Reader::of(pattern);
    reader.whole().is_none().then_some(reader.last)
}

struct Reader<'p> {
    rest: &'p str,
    /// What was left at the last atom, or member of a class.
    last: &'p str,
    depth: u32,
}

impl<'p> Reader<'p> {
    fn of(pattern: &'p str) -> Self {
        Self { rest: pattern, last: pattern, depth: 0 }
    }

    fn whole(&mut self) -> Option<Vec<Node>> {
        let alternatives = self.alternatives(false)?;
        self.rest.is_empty().then_some(alternatives)
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take_char(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn alternatives(&mut self, ignore_case: bool) -> Option<Vec<Node>> {
        let mut all = vec![self.concat(ignore_case)?];
        while self.take("|") {
            all.push(self.concat(ignore_case)?);
        }
        Some(all)
    }

    fn concat(&mut self, ignore_case: bool) -> Option<Node> {
        let mut parts = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let atom = self.atom(ignore_case)?;
            parts.push(self.repeated(atom)?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Node::Concat(parts) })
    }

    fn atom(&mut self, ignore_case: bool) -> Option<Node> {
        self.last = self.rest;
        if self.take(r"(?!\S)") {
            return Some(Node::NoTextAhead);
        }
        if self.take("$") || self.take(r"\z") {
            return Some(Node::End);
        }
        if self.take("(?i:") {
            return self.group(true);
        }
        if self.take("(?:") {
            return self.group(ignore_case);
        }
        if self.take("[") {
            return self.class(ignore_case);
        }
        if self.rest.starts_with(['(', ')', '.', '^', '*', '+', '?', '{', '}', ']']) {
            return None;
        }
        self.member(ignore_case)
    }

    fn group(&mut self, ignore_case: bool) -> Option<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut all = self.alternatives(ignore_case)?;
        self.depth -= 1;
        let closed = self.take(")");
        closed.then(|| if all.len() == 1 { all.remove(0) } else { Node::Alternatives(all) })
    }

    /// The inside of `[…]`: only properties and single characters, no ranges, no set operators.
    fn class(&mut self, ignore_case: bool) -> Option<Node> {
        let negated = self.take("^");
        let (mut set, mut letters) = (CharSet::NONE, Vec::new());
        while !self.take("]") {
            if self.rest.starts_with(['[', '-', '&', '~', '^']) {
                return None;
            }
            match self.member(ignore_case)? {
                Node::CharSet(members) => set = set | members,
                Node::Letters(members, _) => letters.extend(members),
                _ => return None,
            }
            if self.rest.starts_with('-') {
                return None;
            }
        }
        match (set.is_empty(), letters.is_empty(), negated) {
            (false, true, false) => Some(Node::CharSet(set)),
            (false, true, true) => Some(Node::CharSet(!set)),
            (true, false, false) => Some(Node::Letters(letters, ignore_case)),
            _ => None,
        }
    }

    /// One character or property, alone or inside a class.
    fn member(&mut self, ignore_case: bool) -> Option<Node> {
        self.last = self.rest;
        let set = match self.take_char()? {
            '\\' => return self.escape(ignore_case),
            ' ' => CharSet::BLANK,
            '\r' => CharSet::CR,
            '\n' => CharSet::LF,
            '\'' => CharSet::APOSTROPHE,
            '/' => CharSet::SLASH,
            c if c.is_ascii_alphabetic() => return Some(Node::Letters(vec![c as u8], ignore_case)),
            _ => return None,
        };
        Some(Node::CharSet(set))
    }

    fn escape(&mut self, ignore_case: bool) -> Option<Node> {
        Some(Node::CharSet(match self.take_char()? {
            // Where case is ignored, a property also holds what folds to its members.
            'p' | 'P' if ignore_case => return None,
            's' => CharSet::SPACE,
            'S' => !CharSet::SPACE,
            'r' => CharSet::CR,
            'n' => CharSet::LF,
            ' ' => CharSet::BLANK,
            '\'' => CharSet::APOSTROPHE,
            '/' => CharSet::SLASH,
            'p' => self.property()?,
            'P' => !self.property()?,
            _ => return None,
        }))
    }

    fn property(&mut self) -> Option<CharSet> {
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

    fn repeated(&mut self, node: Node) -> Option<Node> {
        let (least, most) = if self.take("?") {
            (0, 1)
        } else if self.take("*") {
            (0, UNBOUNDED)
        } else if self.take("+") {
            (1, UNBOUNDED)
        } else if self.take("{") {
            let (bounds, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            let (least, most) = bounds.split_once(',').unwrap_or((bounds, bounds));
            let most = if most.is_empty() { UNBOUNDED } else { number(most)? };
            (number(least)?, most)
        } else {
            return Some(node);
        };
        let possessive = self.take("+");
        if self.rest.starts_with(['?', '*', '+', '{'])
            || matches!(node, Node::NoTextAhead | Node::End)
        {
            return None;
        }
        Some(Node::Repeat { node: Box::new(node), least, most, possessive })
    }
}

/// Reads a bound: digits only, as few as any pattern of the family needs.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_family_uses() {
        let alternatives = read(r" ?\p{N}{1,3}+|\s++$").unwrap();
        let repeat = |set, least, most, possessive| Node::Repeat {
            node: Box::new(Node::CharSet(set)),
            least,
            most,
            possessive,
        };
        assert_eq!(
            alternatives,
            [
                Node::Concat(vec![
                    repeat(CharSet::BLANK, 0, 1, false),
                    repeat(CharSet::NUMBER, 1, 3, true)
                ]),
                Node::Concat(vec![repeat(CharSet::SPACE, 1, UNBOUNDED, true), Node::End]),
            ]
        );
    }

    #[test]
    fn says_what_it_does_not_know() {
        assert_eq!(unknown(r"\p{L}+|[\p{N}\p{Han}]| "), Some(r"\p{Han}]| "));
        assert_eq!(unknown(r" ?\w+"), Some(r"\w+"));
        assert_eq!(unknown(" [A-Z]"), Some("A-Z]"));
        assert_eq!(unknown(r"\p{L}+"), None);
    }

    #[test]
    fn leaves_alone_what_it_does_not_know() {
        let unknown = [
            "[a-z]",
            "a.b",
            "(?=x)",
            r"\w",
            "x+?",
            "[[:alpha:]]",
            r"[\p{L}&&\p{N}]",
            "(",
            // U+0345 is a mark, and a letter where case is ignored.
            r"\p{N}{+1,3}",
            r"\p{N}{1,4294967295}",
            r"(?i:\p{L}+)",
            r"(?i: ?[^\s\p{L}\p{N}]+)",
        ];
        for pattern in unknown {
            assert_eq!(read(pattern), None, "{pattern}");
        }
    }
}
