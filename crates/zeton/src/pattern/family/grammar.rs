//! What a pattern of the family means, as a plain value.
//!
//! GPT-2, cl100k, o200k, Llama 3, Qwen, nanochat and what people derive from them all have one
//! form: contractions, then words, numbers, punctuation and white space, each with a few choices.
//! [`Grammar`] holds the choices. A pattern is recognised by its structure, not by its text: two
//! spellings of one rule give equal grammars.

use super::char_set::CharSet;
use super::syntax::{self, Node, UNBOUNDED};

/// The choices that make one pattern of the family.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grammar {
    /// `'s`, `'ll`, …
    pub contractions: Contractions,
    /// What may stand before a word and belong to it: ` ?`, `[^\r\n\p{L}\p{N}]?`, or nothing.
    pub word_prefix: CharSet,
    /// Whether a change from lower to upper case ends a word.
    pub word_case: Case,
    /// Whether `\p{M}` belongs to words.
    pub word_marks: bool,
    /// Whether a space may stand before a number and belong to it.
    pub number_blank: bool,
    /// The digits that a number has at most; `None`: any count.
    pub number_digits_max: Option<u32>,
    /// Whether a space may stand before punctuation and belong to it.
    pub punctuation_blank: bool,
    /// Whether `\p{M}` belongs to punctuation.
    pub punctuation_marks: bool,
    /// What belongs to the punctuation before it: `[\r\n]*`, `[\r\n/]*`, or nothing.
    pub punctuation_tail: CharSet,
    /// `\s+$`: white space at the end of the text stays together.
    pub space_to_end: bool,
    /// `\s*[\r\n]+`: white space up to its last newline is a piece.
    pub space_to_newline: bool,
    /// `\s+(?!\S)`: the last white space before text is not part of the run.
    pub space_leaves_last: bool,
}

/// Whether words end where case changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Case {
    /// `\p{L}+`.
    Ignored,
    /// `[upper]*[lower]+` or else `[upper]+[lower]*`, letters without case being in both.
    Splits,
}

/// The contractions: an apostrophe and one of these endings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Contractions {
    /// Where they stand.
    pub place: Place,
    /// ASCII letters, in lower case where case is ignored; none is the beginning of another.
    pub endings: Vec<String>,
    /// Whether case is ignored; then `'ſ` is read as `'s`.
    pub ignore_case: bool,
}

/// Where contractions stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// There are none.
    Nowhere,
    /// They are pieces of their own, before all other rules.
    Piece,
    /// They end a word and belong to it.
    Suffix,
}

/// Endings that a set of contractions may have at most; a pattern with more is not of the family.
const ENDINGS_MAX: usize = 32;

impl Grammar {
    /// Reads a pattern; `None` when it is not of the family.
    #[must_use]
    pub fn of(pattern: &str) -> Option<Self> {
        let alternatives = syntax::read(pattern)?;
        let mut rest = alternatives.as_slice();

        let mut leading = Vec::new();
        while let Some(endings) = rest.first().and_then(contraction_endings) {
            leading.extend(endings);
            rest = &rest[1..];
        }
        let (word, rest) = Word::of(rest)?;
        let (number_blank, number_digits_max) = number(rest.first()?)?;
        let (punctuation_blank, punctuation, punctuation_tail) = punctuation(rest.get(1)?)?;
        let mut rest = &rest[2..];

        let mut next_is = |rules: &[Node]| {
            let found = rest.first().is_some_and(|node| rules.contains(node));
            rest = &rest[usize::from(found)..];
            found
        };
        let space = |least, possessive| repeat(CharSet::SPACE, least, possessive);
        let space_to_end = next_is(&[
            Node::Concat(vec![space(1, false), Node::End]),
            Node::Concat(vec![space(1, true), Node::End]),
        ]);
        let space_to_newline = next_is(&[
            Node::Concat(vec![space(0, false), Node::CharSet(CharSet::NEWLINE)]),
            Node::Concat(vec![space(0, false), repeat(CharSet::NEWLINE, 1, false)]),
            Node::Concat(vec![space(0, false), repeat(CharSet::NEWLINE, 1, true)]),
        ]);
        let space_leaves_last = next_is(&[Node::Concat(vec![space(1, false), Node::NoTextAhead])]);
        // After `\s+(?!\S)` only a single space is left, so `\s` and `\s+` say the same.
        let closes = next_is(&[space(1, false), space(1, true)])
            || space_leaves_last && next_is(&[Node::CharSet(CharSet::SPACE)]);

        let (place, contractions) = match (leading.is_empty(), word.endings) {
            (true, None) => (Place::Nowhere, Vec::new()),
            (false, None) => (Place::Piece, leading),
            (true, Some(endings)) => (Place::Suffix, endings),
            (false, Some(_)) => return None,
        };
        let expressible = closes
            && rest.is_empty()
            && (word.marks || punctuation.meets(CharSet::MARK))
            && !(space_to_newline && word.prefix.meets(CharSet::NEWLINE));
        expressible.then_some(Self {
            contractions: Contractions::of(place, contractions)?,
            word_prefix: word.prefix,
            word_case: word.case,
            word_marks: word.marks,
            number_blank,
            number_digits_max,
            punctuation_blank,
            punctuation_marks: punctuation.meets(CharSet::MARK),
            punctuation_tail,
            space_to_end,
            space_to_newline,
            space_leaves_last,
        })
    }
}

impl Contractions {
    fn of(place: Place, endings: Vec<(String, bool)>) -> Option<Self> {
        let ignore_case = endings.first().is_some_and(|(_, ignore_case)| *ignore_case);
        if endings.len() > ENDINGS_MAX || endings.iter().any(|(_, ignore)| *ignore != ignore_case) {
            return None;
        }
        let mut endings: Vec<String> = endings
            .into_iter()
            .map(|(ending, _)| if ignore_case { ending.to_ascii_lowercase() } else { ending })
            .collect();
        endings.sort();
        endings.dedup();
        // Where one is the beginning of another, their order would matter.
        let prefix_free = endings.windows(2).all(|two| !two[1].starts_with(&two[0]));
        prefix_free.then_some(Self { place, endings, ignore_case })
    }
}

fn repeat(set: CharSet, least: u32, possessive: bool) -> Node {
    Node::Repeat { node: Box::new(Node::CharSet(set)), least, most: UNBOUNDED, possessive }
}

/// The parts of a concatenation; a single node is its own only part.
fn parts(node: &Node) -> &[Node] {
    match node {
        Node::Concat(parts) => parts,
        single => std::slice::from_ref(single),
    }
}

/// The set of `[set]?`, and whether it is possessive.
fn optional_set(node: &Node) -> Option<(CharSet, bool)> {
    match node {
        Node::Repeat { node, least: 0, most: 1, possessive } => match **node {
            Node::CharSet(set) => Some((set, *possessive)),
            _ => None,
        },
        _ => None,
    }
}

/// Takes an optional space off the front.
fn optional_blank(parts: &[Node]) -> (bool, &[Node]) {
    match parts.first().and_then(optional_set) {
        Some((CharSet::BLANK, _)) => (true, &parts[1..]),
        _ => (false, parts),
    }
}

/// Returns whether a node is this set, repeated; greedy and possessive are equal at the end of a rule.
fn is_run(node: &Node, set: CharSet, least: u32) -> bool {
    *node == repeat(set, least, false) || *node == repeat(set, least, true)
}

/// A word rule: one alternative, or the two of a case split.
struct Word {
    prefix: CharSet,
    case: Case,
    marks: bool,
    endings: Option<Vec<(String, bool)>>,
}

impl Word {
    fn of(alternatives: &[Node]) -> Option<(Self, &[Node])> {
        let (first, rest) = alternatives.split_first()?;
        for marks in [CharSet::NONE, CharSet::MARK] {
            let letters = CharSet::LETTER | marks;
            let upper = CharSet::UPPER | CharSet::CASELESS | marks;
            let lower = CharSet::LL | CharSet::CASELESS | marks;
            let word = |case, body: &[(CharSet, u32)], node| {
                Self::read(node, body, letters).map(|(prefix, endings)| Self {
                    prefix,
                    case,
                    marks: !marks.is_empty(),
                    endings,
                })
            };
            if let Some(word) = word(Case::Ignored, &[(letters, 1)], first) {
                return Some((word, rest));
            }
            if let Some(one) = word(Case::Splits, &[(upper, 0), (lower, 1)], first) {
                let (second, rest) = rest.split_first()?;
                let two = word(Case::Splits, &[(upper, 1), (lower, 0)], second)?;
                let alike = one.prefix == two.prefix && one.endings == two.endings;
                return alike.then_some((one, rest));
            }
        }
        None
    }

    /// Reads `prefix? body contractions?`; returns the prefix and the contractions.
    #[allow(clippy::type_complexity, reason = "the two halves of a word rule, used once")]
    fn read(
        node: &Node,
        body: &[(CharSet, u32)],
        letters: CharSet,
    ) -> Option<(CharSet, Option<Vec<(String, bool)>>)> {
        let mut parts = parts(node);
        let mut prefix = CharSet::NONE;
        if let Some((set, possessive)) = parts.first().and_then(optional_set) {
            // A possessive prefix keeps a mark that the word itself could have needed.
            if set.meets(CharSet::LETTER | CharSet::NUMBER)
                || set.meets(CharSet::NEWLINE) && !set.holds(CharSet::NEWLINE)
                || possessive && set.meets(letters)
            {
                return None;
            }
            (prefix, parts) = (set, &parts[1..]);
        }
        let (run, rest) = parts.split_at_checked(body.len())?;
        let (last, backtracking) = body.split_last()?;
        let fits = run
            .iter()
            .zip(backtracking)
            .all(|(node, (set, least))| *node == repeat(*set, *least, false))
            && is_run(run.last()?, last.0, last.1);
        let endings = match rest {
            [] => None,
            [Node::Repeat { node, least: 0, most: 1, .. }] => Some(contraction_endings(node)?),
            _ => return None,
        };
        fits.then_some((prefix, endings))
    }
}

/// Reads ` ?\p{N}{1,n}`; returns whether the space is there, and n.
fn number(node: &Node) -> Option<(bool, Option<u32>)> {
    let (blank, parts) = optional_blank(parts(node));
    let most = match parts {
        [Node::CharSet(CharSet::NUMBER)] => 1,
        [Node::Repeat { node, least: 1, most, .. }] if **node == Node::CharSet(CharSet::NUMBER) => {
            *most
        }
        _ => return None,
    };
    match most {
        UNBOUNDED => Some((blank, None)),
        1..=DIGITS_MAX => Some((blank, Some(most))),
        _ => None,
    }
}

/// The longest number that gets states of its own, one a digit.
const DIGITS_MAX: u32 = 16;

/// Reads ` ?[^\s\p{L}\p{N}]+[\r\n]*`; returns whether the space is there, the set and the tail.
fn punctuation(node: &Node) -> Option<(bool, CharSet, CharSet)> {
    let (blank, parts) = optional_blank(parts(node));
    let (first, tail) = parts.split_first()?;
    let any = !(CharSet::SPACE | CharSet::LETTER | CharSet::NUMBER);
    let set = [any, any & !CharSet::MARK].into_iter().find(|set| is_run(first, *set, 1))?;
    let tails = [CharSet::NEWLINE, CharSet::NEWLINE | CharSet::SLASH];
    match tail {
        [] => Some((blank, set, CharSet::NONE)),
        [tail] => {
            tails.into_iter().find(|set| is_run(tail, *set, 0)).map(|tail| (blank, set, tail))
        }
        _ => None,
    }
}

/// The endings of `'(?i:[sdmt]|ll|ve|re)` and its spellings, each with whether its case is ignored.
fn contraction_endings(node: &Node) -> Option<Vec<(String, bool)>> {
    let spelled = spell(node)?;
    let ending = |(text, case): (String, Option<bool>)| {
        let ending = text.strip_prefix('\'')?;
        let letters = ending.bytes().all(|byte| byte.is_ascii_alphabetic());
        (letters && !ending.is_empty()).then(|| (ending.to_owned(), case == Some(true)))
    };
    spelled.into_iter().map(ending).collect()
}

/// All texts that a node of apostrophes and letters matches, and how their letters treat case.
fn spell(node: &Node) -> Option<Vec<(String, Option<bool>)>> {
    let all: Vec<(String, Option<bool>)> = match node {
        Node::CharSet(CharSet::APOSTROPHE) => vec![("'".to_owned(), None)],
        Node::Letters(letters, ignore_case) => letters
            .iter()
            .map(|&letter| (char::from(letter).to_string(), Some(*ignore_case)))
            .collect(),
        Node::Alternatives(nodes) => {
            nodes.iter().map(spell).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()
        }
        Node::Concat(nodes) if !nodes.is_empty() => {
            let mut all = vec![(String::new(), None)];
            for node in nodes {
                let next = spell(node)?;
                if all.len() * next.len() > ENDINGS_MAX {
                    return None;
                }
                all = all
                    .iter()
                    .flat_map(|(head, case)| {
                        next.iter().map(move |(tail, tail_case)| {
                            let alike = case.is_none() || tail_case.is_none() || case == tail_case;
                            alike.then(|| (format!("{head}{tail}"), case.or(*tail_case)))
                        })
                    })
                    .collect::<Option<_>>()?;
            }
            all
        }
        _ => return None,
    };
    (all.len() <= ENDINGS_MAX).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::patterns;

    #[test]
    fn recognises_the_published_patterns() {
        for (name, pattern) in patterns() {
            assert!(Grammar::of(&pattern).is_some(), "{name}");
        }
    }

    #[test]
    fn two_spellings_of_a_rule_are_one_grammar() {
        let named = |name: &str| Grammar::of(&patterns()[name]).unwrap();
        assert_eq!(named("llama3"), Grammar { space_to_end: false, ..named("cl100k") });
        assert_eq!(named("gpt2_original"), Grammar { space_to_end: false, ..named("gpt2") });
        assert_eq!(named("nanochat").number_digits_max, Some(2));
        assert_eq!(named("qwen").number_digits_max, Some(1));
        assert_eq!(named("gpt2").number_digits_max, None);
    }

    #[test]
    fn possessive_marks_that_change_the_meaning_are_not_recognised() {
        let o200k = &patterns()["o200k"];
        assert_eq!(Grammar::of(&o200k.replacen(r"\p{N}]?", r"\p{N}]?+", 2)), None);
        let cl100k = &patterns()["cl100k"];
        assert_eq!(Grammar::of(&cl100k.replace(r"\s*[\r\n]|", r"\s*+[\r\n]|")), None);
        assert_eq!(Grammar::of(&cl100k.replace(r"\s+(?!\S)", r"\s++(?!\S)")), None);
    }

    #[test]
    fn orders_that_change_the_meaning_are_not_recognised() {
        let cl100k = &patterns()["cl100k"];
        assert_eq!(Grammar::of(&cl100k.replace(r"\s++$|\s*[\r\n]", r"\s*[\r\n]|\s++$")), None);
        assert_eq!(Grammar::of(&cl100k.replace("ll|", "l|ll|")), None);
    }
}
