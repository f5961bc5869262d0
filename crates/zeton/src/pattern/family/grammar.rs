//! A pattern of the family as a plain value: its twelve choices.
//!
//! The patterns of GPT-2, cl100k, o200k, Llama 3, Qwen, nanochat and their derivatives have one
//! form: contractions, then words, numbers, punctuation and white space, each with a few choices.
//! For example, cl100k is
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)            contractions: Piece, ignore_case, d ll m re s t ve
//! |[^\r\n\p{L}\p{N}]?+\p{L}++      word_prefix, word_case: Ignored
//! |\p{N}{1,3}+                     number_digits_max: Some(3)
//! | ?[^\s\p{L}\p{N}]++[\r\n]*+     punctuation_blank, punctuation_tail: [\r\n]
//! |\s++$                           space_to_end
//! |\s*[\r\n]                      space_to_newline
//! |\s+(?!\S)                      space_leaves_last
//! |\s                             the remaining white space; every grammar has it
//! ```
//!
//! [`Grammar::recognise`] compares the parsed structure, not the text, so that two spellings of one
//! rule give equal grammars: `\p{L}+` and `\p{Letter}{1,}+`, say. A spelling that could mean
//! something else, such as a possessive repetition before a rule that needs backtracking, is
//! refused.

use super::char_set::CharSet;
use super::syntax::{self, Ast, UNBOUNDED};

/// The choices that define one pattern of the family.
///
/// For example, [`NANOCHAT`](crate::pattern::NANOCHAT) has `number_digits_max: Some(2)`, and
/// cl100k's pattern has `Some(3)`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grammar {
    /// The contractions, such as `'s` and `'ll`.
    pub contractions: ContractionRule,
    /// The characters of which one may precede a word and belong to it: ` ?`,
    /// `[^\r\n\p{L}\p{N}]?`, or none.
    pub word_prefix: CharSet,
    /// Whether a change from lower to upper case ends a word.
    pub word_case: WordCase,
    /// Whether `\p{M}` belongs to words.
    pub word_marks: bool,
    /// Whether a space may precede a number and belong to it.
    pub number_blank: bool,
    /// The maximum number of digits of a number; `None` if there is no limit.
    pub number_digits_max: Option<u32>,
    /// Whether a space may precede punctuation and belong to it.
    pub punctuation_blank: bool,
    /// Whether `\p{M}` belongs to punctuation.
    pub punctuation_marks: bool,
    /// The characters that may follow punctuation and belong to it: `[\r\n]*`, `[\r\n/]*`, or none.
    pub punctuation_tail: CharSet,
    /// `\s+$`: white space at the end of the text is one piece.
    pub space_to_end: bool,
    /// `\s*[\r\n]+`: white space up to its last newline is a piece.
    pub space_to_newline: bool,
    /// `\s+(?!\S)`: a run of white space leaves its last character to the text behind it.
    pub space_leaves_last: bool,
}

/// Whether a word ends where its case changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WordCase {
    /// `\p{L}+`: `camelCase` is one word.
    Ignored,
    /// `[upper]*[lower]+` or else `[upper]+[lower]*`, where both classes contain the letters
    /// without case: `camelCase` is `camel` and `Case`.
    Splits,
}

/// The contractions of a grammar: an apostrophe and one of several endings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ContractionRule {
    /// Their place in the pattern.
    pub place: ContractionPlace,
    /// ASCII letters, in lower case where case is ignored; no ending is a prefix of another.
    pub endings: Vec<String>,
    /// Whether case is ignored; then `'ſ` is read as `'s`, because `ſ` folds to `s`.
    pub ignore_case: bool,
}

/// The place of contractions in a pattern.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ContractionPlace {
    /// The pattern has no contractions.
    Nowhere,
    /// A contraction is a piece of its own, tried before all other rules: `I`, `'m` (cl100k).
    Piece,
    /// A contraction ends a word and belongs to it: `I'm` (o200k).
    Suffix,
}

/// Maximum number of endings of the contractions; a pattern with more is not of the family. It
/// bounds the work of [`spell`]. The published patterns have seven.
const ENDINGS_MAX: usize = 32;

impl Grammar {
    /// Recognises a pattern of the family; `None` if the pattern is of any other form.
    ///
    /// The rules are consumed from left to right, because their order is part of the meaning.
    #[must_use]
    pub fn recognise(pattern: &str) -> Option<Self> {
        let alternatives = syntax::parse(pattern)?;
        let mut rest = alternatives.as_slice();

        let mut leading = Vec::new();
        while let Some(endings) = rest.first().and_then(contraction_endings) {
            leading.extend(endings);
            rest = &rest[1..];
        }
        let (word, rest) = WordRule::recognise(rest)?;
        let (number_blank, number_digits_max) = recognise_number(rest.first()?)?;
        let (punctuation_blank, punctuation, punctuation_tail) =
            recognise_punctuation(rest.get(1)?)?;
        let mut rest = &rest[2..];

        let mut take_any = |spellings: &[Ast]| {
            let found = rest.first().is_some_and(|node| spellings.contains(node));
            rest = &rest[usize::from(found)..];
            found
        };
        let space = |min, possessive| repeat(CharSet::SPACE, min, possessive);
        let space_to_end = take_any(&[
            Ast::Concat(vec![space(1, false), Ast::EndOfText]),
            Ast::Concat(vec![space(1, true), Ast::EndOfText]),
        ]);
        let space_to_newline = take_any(&[
            Ast::Concat(vec![space(0, false), Ast::Set(CharSet::NEWLINE)]),
            Ast::Concat(vec![space(0, false), repeat(CharSet::NEWLINE, 1, false)]),
            Ast::Concat(vec![space(0, false), repeat(CharSet::NEWLINE, 1, true)]),
        ]);
        let space_leaves_last = take_any(&[Ast::Concat(vec![space(1, false), Ast::NotBeforeText])]);
        // `\s+(?!\S)` takes all white space of a run except one character, so that `\s` and `\s+`
        // are equal behind it.
        let takes_remaining_space = take_any(&[space(1, false), space(1, true)])
            || space_leaves_last && take_any(&[Ast::Set(CharSet::SPACE)]);

        let (place, contractions) = match (leading.is_empty(), word.endings) {
            (true, None) => (ContractionPlace::Nowhere, Vec::new()),
            (false, None) => (ContractionPlace::Piece, leading),
            (true, Some(endings)) => (ContractionPlace::Suffix, endings),
            (false, Some(_)) => return None,
        };
        let is_expressible = takes_remaining_space
            && rest.is_empty()
            && (word.marks || punctuation.intersects(CharSet::MARK))
            && !(space_to_newline && word.prefix.intersects(CharSet::NEWLINE));
        is_expressible.then_some(Self {
            contractions: ContractionRule::try_from_endings(place, contractions)?,
            word_prefix: word.prefix,
            word_case: word.case,
            word_marks: word.marks,
            number_blank,
            number_digits_max,
            punctuation_blank,
            punctuation_marks: punctuation.intersects(CharSet::MARK),
            punctuation_tail,
            space_to_end,
            space_to_newline,
            space_leaves_last,
        })
    }
}

impl ContractionRule {
    /// Builds the rule of contractions from endings, each with whether it ignores case. Returns
    /// `None` if the endings treat case differently, are too many, or if one is a prefix of
    /// another; then the pattern is outside the family.
    fn try_from_endings(place: ContractionPlace, endings: Vec<(String, bool)>) -> Option<Self> {
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
        // The order of two endings matters if one is a prefix of the other, and a grammar keeps no
        // order. After sorting, an ending follows its prefix.
        let prefix_free = endings.windows(2).all(|two| !two[1].starts_with(&two[0]));
        prefix_free.then_some(Self { place, endings, ignore_case })
    }
}

/// Makes the syntax tree of `[set]{min,}`, as the parser builds it, to compare a pattern's tree
/// with.
fn repeat(set: CharSet, min: u32, possessive: bool) -> Ast {
    Ast::Repetition { child: Box::new(Ast::Set(set)), min, max: UNBOUNDED, possessive }
}

/// Returns the nodes of a concatenation, borrowed; any other node is its own only part.
fn parts(node: &Ast) -> &[Ast] {
    match node {
        Ast::Concat(parts) => parts,
        single => std::slice::from_ref(single),
    }
}

/// Returns the set of a node `[set]?`, and whether the repetition is possessive. `None` if the node
/// is anything else.
fn optional_set(node: &Ast) -> Option<(CharSet, bool)> {
    match node {
        Ast::Repetition { child, min: 0, max: 1, possessive } => match **child {
            Ast::Set(set) => Some((set, *possessive)),
            _ => None,
        },
        _ => None,
    }
}

/// Splits ` ?` off the front of a concatenation; returns whether it was there, and the remaining
/// parts.
fn optional_blank(parts: &[Ast]) -> (bool, &[Ast]) {
    match parts.first().and_then(optional_set) {
        Some((CharSet::BLANK, _)) => (true, &parts[1..]),
        _ => (false, parts),
    }
}

/// Returns whether a node is `[set]{min,}`, greedy or possessive, because the two are equal at the
/// end of a rule.
fn is_run(node: &Ast, set: CharSet, min: u32) -> bool {
    *node == repeat(set, min, false) || *node == repeat(set, min, true)
}

/// The rule for words: one alternative of the pattern, or two where case splits words.
struct WordRule {
    prefix: CharSet,
    case: WordCase,
    /// Whether `\p{M}` belongs to words.
    marks: bool,
    /// The endings of contractions that belong to words, each with whether its case is ignored.
    endings: Option<Vec<(String, bool)>>,
}

impl WordRule {
    /// Recognises the rule of words at the start of the alternatives; returns it and the
    /// alternatives behind it. `None` means that the pattern is outside the family.
    fn recognise(alternatives: &[Ast]) -> Option<(Self, &[Ast])> {
        let (first, rest) = alternatives.split_first()?;
        for marks in [CharSet::NONE, CharSet::MARK] {
            let letters = CharSet::LETTER | marks;
            let upper = CharSet::UPPER | CharSet::CASELESS | marks;
            let lower = CharSet::LL | CharSet::CASELESS | marks;
            let word = |case, body: &[(CharSet, u32)], node| {
                Self::recognise_one(node, body, letters).map(|(prefix, endings)| Self {
                    prefix,
                    case,
                    marks: !marks.is_empty(),
                    endings,
                })
            };
            if let Some(word) = word(WordCase::Ignored, &[(letters, 1)], first) {
                return Some((word, rest));
            }
            if let Some(one) = word(WordCase::Splits, &[(upper, 0), (lower, 1)], first) {
                let (second, rest) = rest.split_first()?;
                let two = word(WordCase::Splits, &[(upper, 1), (lower, 0)], second)?;
                let alike = one.prefix == two.prefix && one.endings == two.endings;
                return alike.then_some((one, rest));
            }
        }
        None
    }

    /// Recognises `prefix? body contractions?`; returns the prefix and the endings.
    ///
    /// `body` lists the repeated sets with their minimum. For example, `[upper]*[lower]+` is
    /// `[(upper, 0), (lower, 1)]`.
    #[allow(clippy::type_complexity, reason = "the two halves of a word rule, used once")]
    fn recognise_one(
        node: &Ast,
        body: &[(CharSet, u32)],
        letters: CharSet,
    ) -> Option<(CharSet, Option<Vec<(String, bool)>>)> {
        let mut parts = parts(node);
        let mut prefix = CharSet::NONE;
        if let Some((set, possessive)) = parts.first().and_then(optional_set) {
            // A possessive prefix that takes a mark does not give it back, although the word itself
            // could begin with that mark.
            if set.intersects(CharSet::LETTER | CharSet::NUMBER)
                || set.intersects(CharSet::NEWLINE) && !set.contains(CharSet::NEWLINE)
                || possessive && set.intersects(letters)
            {
                return None;
            }
            (prefix, parts) = (set, &parts[1..]);
        }
        let (run, rest) = parts.split_at_checked(body.len())?;
        let (last, backtracking) = body.split_last()?;
        let is_body = run
            .iter()
            .zip(backtracking)
            .all(|(node, (set, min))| *node == repeat(*set, *min, false))
            && is_run(run.last()?, last.0, last.1);
        let endings = match rest {
            [] => None,
            [Ast::Repetition { child, min: 0, max: 1, .. }] => Some(contraction_endings(child)?),
            _ => return None,
        };
        is_body.then_some((prefix, endings))
    }
}

/// Recognises ` ?\p{N}{1,n}`; returns whether the space is there, and `n`, or `None` for `\p{N}+`.
/// If it is neither, the pattern is outside the family.
fn recognise_number(node: &Ast) -> Option<(bool, Option<u32>)> {
    let (blank, parts) = optional_blank(parts(node));
    let max = match parts {
        [Ast::Set(CharSet::NUMBER)] => 1,
        [Ast::Repetition { child, min: 1, max, .. }] if **child == Ast::Set(CharSet::NUMBER) => {
            *max
        }
        _ => return None,
    };
    match max {
        UNBOUNDED => Some((blank, None)),
        1..=DIGITS_MAX => Some((blank, Some(max))),
        _ => None,
    }
}

/// Largest limit on digits that a grammar holds, because each digit of a number is a state of the
/// transducer. The published patterns have 1, 2, 3 or no limit.
const DIGITS_MAX: u32 = 16;

/// Recognises ` ?[^\s\p{L}\p{N}]+[\r\n]*`; returns whether the space is there, the set, and the
/// tail.
fn recognise_punctuation(node: &Ast) -> Option<(bool, CharSet, CharSet)> {
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

/// Returns the endings of contractions, each with whether its case is ignored; `None` if the node
/// is no rule for contractions.
///
/// [`Grammar::recognise`] calls it for the alternatives before words, and [`WordRule`] for the
/// suffix of a word. For example, `'(?i:[sd]|ll)` has `("s", true)`, `("d", true)` and
/// `("ll", true)`, and so has `(?i:'s|'d|'ll)`.
fn contraction_endings(node: &Ast) -> Option<Vec<(String, bool)>> {
    let spelled = spell(node)?;
    let strip_apostrophe = |(text, case): (String, Option<bool>)| {
        let ending = text.strip_prefix('\'')?;
        let is_letters = ending.bytes().all(|byte| byte.is_ascii_alphabetic());
        (is_letters && !ending.is_empty()).then(|| (ending.to_owned(), case == Some(true)))
    };
    spelled.into_iter().map(strip_apostrophe).collect()
}

/// Enumerates the texts that a node of apostrophes and letters matches, each with whether its
/// letters ignore case (`None` for a text without letters). Returns `None` for any other node, and
/// for more than [`ENDINGS_MAX`] texts.
fn spell(node: &Ast) -> Option<Vec<(String, Option<bool>)>> {
    let all: Vec<(String, Option<bool>)> = match node {
        Ast::Set(CharSet::APOSTROPHE) => vec![("'".to_owned(), None)],
        Ast::Letters(letters, ignore_case) => letters
            .iter()
            .map(|&letter| (char::from(letter).to_string(), Some(*ignore_case)))
            .collect(),
        Ast::Alternation(nodes) => {
            nodes.iter().map(spell).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()
        }
        Ast::Concat(nodes) if !nodes.is_empty() => {
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
            assert!(Grammar::recognise(&pattern).is_some(), "{name}");
        }
    }

    #[test]
    fn two_spellings_of_a_rule_give_one_grammar() {
        let named = |name: &str| Grammar::recognise(&patterns()[name]).unwrap();
        assert_eq!(named("llama3"), Grammar { space_to_end: false, ..named("cl100k") });
        assert_eq!(named("gpt2_original"), Grammar { space_to_end: false, ..named("gpt2") });
        assert_eq!(named("nanochat").number_digits_max, Some(2));
        assert_eq!(named("qwen").number_digits_max, Some(1));
        assert_eq!(named("gpt2").number_digits_max, None);
    }

    #[test]
    fn possessive_marks_that_change_the_meaning_are_not_recognised() {
        let o200k = &patterns()["o200k"];
        assert_eq!(Grammar::recognise(&o200k.replacen(r"\p{N}]?", r"\p{N}]?+", 2)), None);
        let cl100k = &patterns()["cl100k"];
        assert_eq!(Grammar::recognise(&cl100k.replace(r"\s*[\r\n]|", r"\s*+[\r\n]|")), None);
        assert_eq!(Grammar::recognise(&cl100k.replace(r"\s+(?!\S)", r"\s++(?!\S)")), None);
    }

    #[test]
    fn orders_that_change_the_meaning_are_not_recognised() {
        let cl100k = &patterns()["cl100k"];
        assert_eq!(
            Grammar::recognise(&cl100k.replace(r"\s++$|\s*[\r\n]", r"\s*[\r\n]|\s++$")),
            None
        );
        assert_eq!(Grammar::recognise(&cl100k.replace("ll|", "l|ll|")), None);
    }
}
