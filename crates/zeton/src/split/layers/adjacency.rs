//! Pairs of neighbouring characters that a match may contain: no text is divided between them.
//!
//! A text may be divided between two characters if no match of `keep`, `keep_words` or `isolate`
//! lies across the cut or depends on the text beyond it. For a literal, the pairs are its
//! neighbours. For a regex they follow from its position automaton (Glushkov): each character set
//! of the regex is a position, with the sets `first`, `last` and `follow`. For example, `\d+-\d+`:
//!
//! ```text
//! position   0 \d   1 -   2 \d
//! first      0
//! last       2
//! follow     0 → {0, 1}   1 → {2}   2 → {2}
//!
//! "7|-"  not safe: position 1 follows position 0
//! "-|x"  safe: no position that contains x follows position 1
//! ```
//!
//! The relation may report a pair that no match has, never the reverse.

use std::collections::HashSet;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use crate::pattern::rules::Rules;

/// Maximum number of positions of a regex, because each pair of positions may be tested. Not
/// measured. A text is never divided for a regex with more.
const POSITIONS_MAX: usize = 1 << 10;

/// The pairs of characters that the matches of rules may contain.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchAdjacency {
    /// Neighbouring characters of literals.
    pairs: HashSet<(u32, u32)>,
    /// The first and the last characters of literals that are whole words.
    word_firsts: HashSet<u32>,
    word_lasts: HashSet<u32>,
    /// The first characters of all literals, if matches take a space before them.
    after_space: Option<HashSet<u32>>,
    regexes: Vec<PositionAutomaton>,
}

impl MatchAdjacency {
    /// Collects the pairs of neighbouring characters of the literals of rules, and builds the
    /// position automaton of each parsed regex. It runs once, when rules are compiled.
    pub(crate) fn new(rules: &Rules, regexes: &[Hir]) -> Self {
        let mut adjacency = Self::default();
        for literal in rules.keep.iter().chain(&rules.keep_words) {
            let characters = literal.chars().map(u32::from);
            adjacency.pairs.extend(characters.clone().zip(characters.skip(1)));
        }
        let first = |literal: &String| literal.chars().next().map(u32::from);
        let last = |literal: &String| literal.chars().next_back().map(u32::from);
        adjacency.word_firsts.extend(rules.keep_words.iter().filter_map(first));
        adjacency.word_lasts.extend(rules.keep_words.iter().filter_map(last));
        let literals = rules.keep.iter().chain(&rules.keep_words);
        adjacency.after_space = rules.keep_space.then(|| literals.filter_map(first).collect());
        adjacency.regexes = regexes.iter().map(PositionAutomaton::from_hir).collect();
        adjacency
    }

    /// Returns whether no match lies across a cut between these characters or depends on the text
    /// beyond it.
    pub(crate) fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        let by_words = || {
            !(self.word_firsts.contains(&after) && is_word_char(before)
                || self.word_lasts.contains(&before) && is_word_char(after))
        };
        let by_space = || match &self.after_space {
            Some(firsts) if before == u32::from(b' ') => {
                !firsts.contains(&after)
                    && !self.regexes.iter().any(|regex| regex.can_begin_with(after))
            }
            _ => true,
        };
        !self.pairs.contains(&(before, after))
            && by_words()
            && by_space()
            && self.regexes.iter().all(|regex| regex.is_safe_cut(before, after))
    }
}

/// Returns whether a regex counts the character `point` as part of a word, for its word edges.
fn is_word_char(point: u32) -> bool {
    char::from_u32(point).is_some_and(regex_syntax::is_word_character)
}

/// The position automaton of a regex.
///
/// A position is one character or set of characters of the regex.
#[derive(Clone, Debug, Default)]
struct PositionAutomaton {
    positions: Vec<ClassUnicode>,
    /// For each position: the positions that may follow it.
    follow: Vec<PositionSet>,
    ends: PositionSets,
    /// Whether matches depend on word characters beside them, or on the edge of a line or of the
    /// text.
    checks_words: bool,
    checks_edges: bool,
    /// Whether the regex has more positions than [`POSITIONS_MAX`].
    is_too_large: bool,
}

/// A set of positions.
type PositionSet = HashSet<usize>;

/// The positions where matches of a part of a regex begin and end.
#[derive(Clone, Debug, Default)]
struct PositionSets {
    is_nullable: bool,
    first: PositionSet,
    last: PositionSet,
}

impl PositionAutomaton {
    /// Builds the position automaton of a parsed regex. It cannot fail: a regex with too many
    /// positions gets one that allows no cut.
    fn from_hir(hir: &Hir) -> Self {
        let mut automaton = Self::default();
        automaton.ends = automaton.add_hir(hir);
        automaton
    }

    /// Returns whether a match of the regex may begin with the character `point`; true if the regex
    /// is too large to know.
    fn can_begin_with(&self, point: u32) -> bool {
        self.is_too_large || self.ends.first.iter().any(|&position| self.contains(position, point))
    }

    /// Returns whether a match of the regex may end with the character `point`; true if the regex
    /// is too large to know.
    fn can_end_with(&self, point: u32) -> bool {
        self.is_too_large || self.ends.last.iter().any(|&position| self.contains(position, point))
    }

    fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        if self.is_too_large {
            return false;
        }
        let crosses = (0..self.positions.len()).any(|position| {
            self.contains(position, before)
                && self.follow[position].iter().any(|&next| self.contains(next, after))
        });
        let checks_after = self.checks_edges || self.checks_words && is_word_char(after);
        let checks_before = self.checks_edges || self.checks_words && is_word_char(before);
        !(crosses
            || checks_after && self.can_end_with(before)
            || checks_before && self.can_begin_with(after))
    }

    /// Returns whether the character set of a position contains the character `point`, by binary
    /// search.
    fn contains(&self, position: usize, point: u32) -> bool {
        let ranges = self.positions[position].ranges();
        let at = ranges.partition_point(|range| (range.end() as u32) < point);
        ranges.get(at).is_some_and(|range| range.start() as u32 <= point)
    }

    /// Adds a position for a set of characters to this automaton, and returns it as a part of a
    /// regex. Nothing follows it until it is linked. At [`POSITIONS_MAX`] it only sets
    /// `is_too_large`.
    fn add_position(&mut self, set: ClassUnicode) -> PositionSets {
        if self.positions.len() == POSITIONS_MAX {
            self.is_too_large = true;
            return PositionSets::default();
        }
        self.positions.push(set);
        self.follow.push(PositionSet::new());
        let position = PositionSet::from([self.positions.len() - 1]);
        PositionSets { is_nullable: false, first: position.clone(), last: position }
    }

    /// Adds a position for one character of the regex to this automaton, and returns the position
    /// as a part of the regex, not yet linked to its neighbours. It runs for each character of a
    /// literal, once when the rules are compiled.
    fn add_char(&mut self, c: char) -> PositionSets {
        self.add_position(ClassUnicode::new([ClassUnicodeRange::new(c, c)]))
    }

    /// Adds the positions `first` to the positions that may follow each position in `last`.
    fn link(&mut self, last: &PositionSet, first: &PositionSet) {
        for &position in last {
            self.follow[position].extend(first);
        }
    }

    /// Joins two parts of a regex, the second behind the first. A part that may be empty lets the
    /// neighbours of the other through.
    fn concat(&mut self, one: PositionSets, two: PositionSets) -> PositionSets {
        self.link(&one.last, &two.first);
        let mut all = PositionSets {
            is_nullable: one.is_nullable && two.is_nullable,
            first: one.first,
            last: two.last,
        };
        if one.is_nullable {
            all.first.extend(two.first);
        }
        if two.is_nullable {
            all.last.extend(one.last);
        }
        all
    }

    /// Adds the positions of a part of a regex to this automaton, and returns where its matches
    /// begin and end. Beyond [`POSITIONS_MAX`] positions it only sets `is_too_large`.
    fn add_hir(&mut self, hir: &Hir) -> PositionSets {
        let empty = PositionSets { is_nullable: true, ..PositionSets::default() };
        match hir.kind() {
            HirKind::Empty => empty,
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0).into_owned();
                text.chars().fold(empty, |all, c| {
                    let one = self.add_char(c);
                    self.concat(all, one)
                })
            }
            HirKind::Class(Class::Unicode(set)) => self.add_position(set.clone()),
            HirKind::Class(Class::Bytes(set)) => {
                let ranges = set.iter().map(|range| {
                    ClassUnicodeRange::new(char::from(range.start()), char::from(range.end()))
                });
                self.add_position(ClassUnicode::new(ranges))
            }
            HirKind::Look(look) => {
                match look {
                    Look::Start
                    | Look::End
                    | Look::StartLF
                    | Look::EndLF
                    | Look::StartCRLF
                    | Look::EndCRLF => self.checks_edges = true,
                    _ => self.checks_words = true,
                }
                empty
            }
            HirKind::Repetition(repetition) => {
                let mut ends = self.add_hir(&repetition.sub);
                if repetition.max != Some(1) {
                    self.link(&ends.last, &ends.first);
                }
                ends.is_nullable |= repetition.min == 0;
                ends
            }
            HirKind::Capture(capture) => self.add_hir(&capture.sub),
            HirKind::Concat(parts) => parts.iter().fold(empty, |all, part| {
                let part = self.add_hir(part);
                self.concat(all, part)
            }),
            HirKind::Alternation(parts) => {
                let mut all = PositionSets::default();
                for part in parts {
                    let ends = self.add_hir(part);
                    all.is_nullable |= ends.is_nullable;
                    all.first.extend(ends.first);
                    all.last.extend(ends.last);
                }
                all
            }
        }
    }
}
