//! Literals and regexes that are cut out of a text before anything else: the leftmost, then the
//! longest, then the first listed.

use std::borrow::Cow;
use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, PatternID};
use regex_syntax::hir::Hir;

use super::PieceRule;
use super::crossing::Crossing;
use crate::pattern::rules::{Rules, rules_error};
use crate::search::{Literals, Through};
use crate::split::backtracking::{STAND_IN, readable};
use crate::sys::error::Error;

/// Bytes that the regexes take compiled, and that the tables take which are made as they run.
const COMPILED_BYTES_MAX: usize = 1 << 24;
const TABLES_BYTES_MAX: usize = 1 << 22;

/// What is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Matches {
    keep: Option<Literals>,
    keep_words: Option<Literals>,
    isolate: Option<Isolates>,
    /// Whether a space before a match belongs to it.
    takes_space: bool,
    crossing: Crossing,
}

/// Regexes that are looked for together.
#[derive(Clone, Debug)]
struct Isolates {
    regex: Regex,
    count: usize,
    /// The same without the edges of complete words, if any has them. It is much faster where text
    /// is not ASCII, and no match begins before one of its own.
    without_edges: Option<Regex>,
}

/// Bytes that the match of a regex has at most. Without a bound, a regex that reads far and matches little takes
/// quadratic time.
pub(crate) const MATCH_BYTES_MAX: usize = 1 << 12;

impl Matches {
    /// Reads rules; `None` if nothing is looked for.
    pub(crate) fn of(rules: &Rules) -> Result<Option<Self>, Error> {
        if rules.keep.is_empty() && rules.keep_words.is_empty() && rules.isolate.is_empty() {
            return Ok(None);
        }
        let finder = |place, literals: &[String], whole_word| {
            let some = (!literals.is_empty()).then(|| Literals::new(literals, whole_word));
            some.transpose().map_err(|error| rules_error(place, error.to_string()))
        };
        let plain: Vec<Hir> = (rules.isolate.iter().enumerate())
            .map(|(at, isolate)| {
                isolate.parse_regex().map_err(|why| rules_error(&format!("isolate[{at}]"), why))
            })
            .collect::<Result<_, _>>()?;
        let edged = rules.isolate.iter().zip(&plain);
        let edged: Vec<Hir> = edged.map(|(one, hir)| one.with_word_edges(hir.clone())).collect();
        Ok(Some(Self {
            keep: finder("keep", &rules.keep, false)?,
            keep_words: finder("keep_words", &rules.keep_words, true)?,
            isolate: Isolates::of(&plain, &edged)?,
            takes_space: rules.keep_space,
            crossing: Crossing::of(rules, &edged),
        }))
    }

    /// Returns whether a text may be cut between these characters: no match crosses the cut, or
    /// depends on what is beyond it.
    pub(crate) fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        self.crossing.is_safe_cut(before, after)
    }

    /// Looks through a text.
    pub(crate) fn search<'m, 't>(&'m self, text: &'t [u8]) -> Search<'m, 't> {
        Search {
            text,
            keep: self.keep.as_ref().map(|literals| literals.through(text)),
            keep_words: self.keep_words.as_ref().map(|literals| literals.through(text)),
            isolate: self.isolate.as_ref().map(|isolate| (isolate, Readable::of(text))),
            isolated: None,
            takes_space: self.takes_space,
        }
    }
}

/// A match, and what made it.
type Found = (Range<usize>, PieceRule);

/// The matches of one text.
pub(crate) struct Search<'m, 't> {
    text: &'t [u8],
    keep: Option<Through<'m, 't>>,
    keep_words: Option<Through<'m, 't>>,
    isolate: Option<(&'m Isolates, Readable<'t>)>,
    /// The next match of a regex, if it has been looked for.
    isolated: Option<Option<Found>>,
    takes_space: bool,
}

impl Search<'_, '_> {
    /// Returns the first match from a place on. Places never fall.
    pub(crate) fn next(&mut self, from: usize) -> Option<Found> {
        // Those that win where all else is equal come first.
        let mut best: Option<Found> = None;
        let mut take = |found: Option<Found>| {
            let key = |(place, _): &Found| (place.start, usize::MAX - place.end);
            if let Some(found) = found
                && best.as_ref().is_none_or(|best| key(&found) < key(best))
            {
                best = Some(found);
            }
        };
        take(self.keep.as_mut().and_then(|keep| Some((keep.find(from)?, PieceRule::Keep))));
        let words = self.keep_words.as_mut();
        take(words.and_then(|words| Some((words.find(from)?, PieceRule::KeepWords))));
        if let Some((isolate, readable)) = &self.isolate {
            let is_ahead =
                |found: &Option<Found>| found.as_ref().is_none_or(|(place, _)| place.start >= from);
            if !self.isolated.as_ref().is_some_and(is_ahead) {
                self.isolated = Some(isolate.find(readable, from));
            }
            take(self.isolated.clone().flatten());
        }
        let (mut place, maker) = best?;
        let space = place.start.checked_sub(1).filter(|&at| at >= from && self.text[at] == b' ');
        if let (true, Some(space)) = (self.takes_space, space) {
            place.start = space;
        }
        Some((place, maker))
    }
}

impl Isolates {
    fn of(plain: &[Hir], edged: &[Hir]) -> Result<Option<Self>, Error> {
        if plain.is_empty() {
            return Ok(None);
        }
        let compile = |regexes: &[Hir]| {
            let config = Regex::config()
                .nfa_size_limit(Some(COMPILED_BYTES_MAX))
                .hybrid_cache_capacity(TABLES_BYTES_MAX);
            let regex = Regex::builder().configure(config).build_many_from_hir(regexes);
            regex.map_err(|error| rules_error("isolate", format!("too large: {error}")))
        };
        let without_edges = (plain != edged).then(|| compile(plain)).transpose()?;
        Ok(Some(Self { regex: compile(edged)?, count: plain.len(), without_edges }))
    }

    /// The first match from a place on: of the regexes that match there, the longest match.
    fn find(&self, text: &Readable, from: usize) -> Option<Found> {
        let (place, number) = self.find_read(text.read.as_ref(), text.to_read(from))?;
        Some((text.place(&place), PieceRule::Isolate(number)))
    }

    fn find_read(&self, text: &str, mut from: usize) -> Option<(Range<usize>, usize)> {
        let regex = self.without_edges.as_ref().unwrap_or(&self.regex);
        while from < text.len() {
            // Matches that begin before `end` are seen whole.
            let most = text.len().min(from + MATCH_BYTES_MAX);
            let end = (from + 1..=most).rev().find(|&at| text.is_char_boundary(at))?;
            let read = text.len().min(end + MATCH_BYTES_MAX);
            let found = regex.search(&Input::new(text).range(from..read));
            let start = found.map_or(end, |found| found.start());
            if start >= end {
                from = end;
                continue;
            }
            if let Some(found) = self.longest_at(text, start) {
                return Some(found);
            }
            from = start + text[start..].chars().next().map_or(1, char::len_utf8);
        }
        None
    }

    /// The longest match at a place, of the first regex that has it.
    fn longest_at(&self, text: &str, start: usize) -> Option<(Range<usize>, usize)> {
        let end = text.len().min(start + MATCH_BYTES_MAX);
        let found = (0..self.count).filter_map(|number| {
            let anchored = Anchored::Pattern(PatternID::must(number));
            let there = Input::new(text).range(start..end).anchored(anchored);
            self.regex.search(&there).map(|found| (found.range(), number))
        });
        // The last of the greatest is returned: the first is wanted.
        found.max_by_key(|(place, number)| (place.end, usize::MAX - number))
    }
}

/// A text for regexes to read, and how places in it become places in the text.
struct Readable<'t> {
    read: Cow<'t, str>,
    /// Where a stand-in is for a byte that is not UTF-8.
    bad: Vec<usize>,
}

impl<'t> Readable<'t> {
    fn of(text: &'t [u8]) -> Self {
        let (read, bad) = readable(text);
        Self { read, bad }
    }

    /// What a stand-in has more than the byte.
    const MORE: usize = STAND_IN.len_utf8() - 1;

    fn to_read(&self, at: usize) -> usize {
        // The stand-in of number n lies further by n times as much.
        let (mut low, mut high) = (0, self.bad.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.bad[middle] - middle * Self::MORE < at {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        at + low * Self::MORE
    }

    fn place(&self, read: &Range<usize>) -> Range<usize> {
        let of = |at| at - self.bad.partition_point(|&bad| bad < at) * Self::MORE;
        of(read.start)..of(read.end)
    }
}
