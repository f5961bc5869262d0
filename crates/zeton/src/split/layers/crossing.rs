//! Between which characters no match can lie: where a text may be cut whatever is looked for in it.

use std::collections::HashSet;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use crate::pattern::rules::Rules;

/// Places in a regex that are told apart at most; in one that has more, a text is never cut.
const PLACES_MAX: usize = 1 << 10;

/// What the literals and regexes of rules may lie across.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossing {
    /// Neighbours in literals.
    pairs: HashSet<(u32, u32)>,
    /// The first and last characters of literals that are complete words.
    word_firsts: HashSet<u32>,
    word_lasts: HashSet<u32>,
    /// The first characters of all literals, if a space before them matters.
    after_space: Option<HashSet<u32>>,
    regexes: Vec<Follow>,
}

impl Crossing {
    /// Reads rules whose regexes have been read.
    pub(crate) fn of(rules: &Rules, regexes: &[Hir]) -> Self {
        let mut crossing = Self::default();
        for literal in rules.keep.iter().chain(&rules.keep_words) {
            let characters = literal.chars().map(u32::from);
            crossing.pairs.extend(characters.clone().zip(characters.skip(1)));
        }
        let first = |literal: &String| literal.chars().next().map(u32::from);
        let last = |literal: &String| literal.chars().next_back().map(u32::from);
        crossing.word_firsts.extend(rules.keep_words.iter().filter_map(first));
        crossing.word_lasts.extend(rules.keep_words.iter().filter_map(last));
        let literals = rules.keep.iter().chain(&rules.keep_words);
        crossing.after_space = rules.keep_space.then(|| literals.filter_map(first).collect());
        crossing.regexes = regexes.iter().map(Follow::of).collect();
        crossing
    }

    /// Returns whether no match lies across a cut between these characters, or depends on what is
    /// beyond it.
    pub(crate) fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        let by_words = || {
            !(self.word_firsts.contains(&after) && is_word(before)
                || self.word_lasts.contains(&before) && is_word(after))
        };
        let by_space = || match &self.after_space {
            Some(firsts) if before == u32::from(b' ') => {
                !firsts.contains(&after) && !self.regexes.iter().any(|regex| regex.begins(after))
            }
            _ => true,
        };
        !self.pairs.contains(&(before, after))
            && by_words()
            && by_space()
            && self.regexes.iter().all(|regex| regex.is_safe_cut(before, after))
    }
}

fn is_word(point: u32) -> bool {
    char::from_u32(point).is_some_and(regex_syntax::is_word_character)
}

/// Which characters may stand side by side in the matches of a regex, and where those begin and end.
///
/// A place is a set of characters or a character as it stands in the regex.
#[derive(Clone, Debug, Default)]
struct Follow {
    places: Vec<ClassUnicode>,
    /// For each place: those that may follow it.
    next: Vec<Places>,
    ends: Ends,
    /// Whether matches depend on word characters beside them, or on the edge of a line or text.
    sees_words: bool,
    sees_edges: bool,
    /// There are too many places to tell.
    unknown: bool,
}

/// A set of places.
type Places = HashSet<usize>;

/// Where the matches of a part of a regex begin and end.
#[derive(Clone, Debug, Default)]
struct Ends {
    may_be_empty: bool,
    first: Places,
    last: Places,
}

impl Follow {
    fn of(hir: &Hir) -> Self {
        let mut follow = Self::default();
        follow.ends = follow.read(hir);
        follow
    }

    fn begins(&self, point: u32) -> bool {
        self.unknown || self.ends.first.iter().any(|&place| self.holds(place, point))
    }

    fn ends(&self, point: u32) -> bool {
        self.unknown || self.ends.last.iter().any(|&place| self.holds(place, point))
    }

    fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        if self.unknown {
            return false;
        }
        let crosses = (0..self.places.len()).any(|place| {
            self.holds(place, before)
                && self.next[place].iter().any(|&next| self.holds(next, after))
        });
        let sees_after = self.sees_edges || self.sees_words && is_word(after);
        let sees_before = self.sees_edges || self.sees_words && is_word(before);
        !(crosses || sees_after && self.ends(before) || sees_before && self.begins(after))
    }

    fn holds(&self, place: usize, point: u32) -> bool {
        let ranges = self.places[place].ranges();
        let at = ranges.partition_point(|range| (range.end() as u32) < point);
        ranges.get(at).is_some_and(|range| range.start() as u32 <= point)
    }

    fn place(&mut self, set: ClassUnicode) -> Ends {
        if self.places.len() == PLACES_MAX {
            self.unknown = true;
            return Ends::default();
        }
        self.places.push(set);
        self.next.push(Places::new());
        let place = Places::from([self.places.len() - 1]);
        Ends { may_be_empty: false, first: place.clone(), last: place }
    }

    fn character(&mut self, c: char) -> Ends {
        self.place(ClassUnicode::new([ClassUnicodeRange::new(c, c)]))
    }

    fn follows(&mut self, last: &Places, first: &Places) {
        for &place in last {
            self.next[place].extend(first);
        }
    }

    fn join(&mut self, one: Ends, two: Ends) -> Ends {
        self.follows(&one.last, &two.first);
        let mut all = Ends {
            may_be_empty: one.may_be_empty && two.may_be_empty,
            first: one.first,
            last: two.last,
        };
        if one.may_be_empty {
            all.first.extend(two.first);
        }
        if two.may_be_empty {
            all.last.extend(one.last);
        }
        all
    }

    fn read(&mut self, hir: &Hir) -> Ends {
        let empty = Ends { may_be_empty: true, ..Ends::default() };
        match hir.kind() {
            HirKind::Empty => empty,
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0).into_owned();
                text.chars().fold(empty, |all, c| {
                    let one = self.character(c);
                    self.join(all, one)
                })
            }
            HirKind::Class(Class::Unicode(set)) => self.place(set.clone()),
            HirKind::Class(Class::Bytes(set)) => {
                let ranges = set.iter().map(|range| {
                    ClassUnicodeRange::new(char::from(range.start()), char::from(range.end()))
                });
                self.place(ClassUnicode::new(ranges))
            }
            HirKind::Look(look) => {
                match look {
                    Look::Start
                    | Look::End
                    | Look::StartLF
                    | Look::EndLF
                    | Look::StartCRLF
                    | Look::EndCRLF => self.sees_edges = true,
                    _ => self.sees_words = true,
                }
                empty
            }
            HirKind::Repetition(repetition) => {
                let mut ends = self.read(&repetition.sub);
                if repetition.max != Some(1) {
                    self.follows(&ends.last, &ends.first);
                }
                ends.may_be_empty |= repetition.min == 0;
                ends
            }
            HirKind::Capture(capture) => self.read(&capture.sub),
            HirKind::Concat(parts) => parts.iter().fold(empty, |all, part| {
                let part = self.read(part);
                self.join(all, part)
            }),
            HirKind::Alternation(parts) => {
                let mut all = Ends::default();
                for part in parts {
                    let ends = self.read(part);
                    all.may_be_empty |= ends.may_be_empty;
                    all.first.extend(ends.first);
                    all.last.extend(ends.last);
                }
                all
            }
        }
    }
}
