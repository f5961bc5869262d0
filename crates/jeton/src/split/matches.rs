//! Literals and regexes that are cut out of a text before anything else: the leftmost, then the
//! longest, then the first listed.

use std::borrow::Cow;
use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, PatternID};
use regex_syntax::hir::Hir;

use super::crossing::Crossing;
use super::layers::Maker;
use super::regex::{STAND_IN, readable};
use crate::error::Error;
use crate::rules::{Rules, refused};
use crate::search::{Literals, Through};
use crate::unicode::read_char;

/// Bytes that the regexes take compiled, and that the tables take which are made as they run.
const COMPILED_BYTES_MAX: usize = 1 << 24;
const TABLES_BYTES_MAX: usize = 1 << 22;

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) struct Matches {
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

/// Bytes that matches without edges, tried in vain, may have more than lie between them, before the edges are looked
/// for everywhere: trying takes linear time.
const TRIED_BYTES_MAX: usize = 1 << 12;

impl Matches {
    /// Reads rules; `None` if nothing is looked for.
    pub(super) fn of(rules: &Rules) -> Result<Option<Self>, Error> {
        if rules.keep.is_empty() && rules.keep_words.is_empty() && rules.isolate.is_empty() {
            return Ok(None);
        }
        let finder = |place, literals: &[String], whole_word| {
            let some = (!literals.is_empty()).then(|| Literals::new(literals, whole_word));
            some.transpose().map_err(|error| refused(place, error.to_string()))
        };
        let plain: Vec<Hir> = (rules.isolate.iter().enumerate())
            .map(|(at, isolate)| {
                isolate.read().map_err(|why| refused(&format!("isolate[{at}]"), why))
            })
            .collect::<Result<_, _>>()?;
        let edged = rules.isolate.iter().zip(&plain);
        let edged: Vec<Hir> = edged.map(|(one, hir)| one.with_edges(hir.clone())).collect();
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
    pub(super) fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        self.crossing.is_safe_cut(before, after)
    }

    /// Looks through a text.
    pub(super) fn search<'m, 't>(&'m self, text: &'t [u8]) -> Search<'m, 't> {
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
type Found = (Range<usize>, Maker);

/// The matches of one text.
pub(super) struct Search<'m, 't> {
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
    pub(super) fn next(&mut self, from: usize) -> Option<Found> {
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
        take(self.keep.as_mut().and_then(|keep| Some((keep.find(from)?, Maker::Keep))));
        let words = self.keep_words.as_mut();
        take(words.and_then(|words| Some((words.find(from)?, Maker::KeepWords))));
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
            regex.map_err(|error| refused("isolate", format!("too large: {error}")))
        };
        let without_edges = (plain != edged).then(|| compile(plain)).transpose()?;
        Ok(Some(Self { regex: compile(edged)?, count: plain.len(), without_edges }))
    }

    /// The first match from a place on: of the regexes that match there, the longest match.
    fn find(&self, text: &Readable, from: usize) -> Option<Found> {
        let input = Input::new(text.read.as_ref()).range(text.to_read(from)..);
        let (place, number) = self.find_read(input)?;
        Some((text.place(&place), Maker::Isolate(number)))
    }

    fn find_read(&self, mut input: Input) -> Option<(Range<usize>, usize)> {
        let (from, read) = (input.start(), input.end());
        let mut tried = 0;
        while let Some(without_edges) = &self.without_edges
            && tried <= input.start() - from + TRIED_BYTES_MAX
        {
            let found = without_edges.search(&input)?;
            if let Some(found) = self.longest_at(&input, found.start()) {
                return Some(found);
            }
            tried += found.len();
            let rest = &input.haystack()[found.start()..];
            let next = read_char(rest).map_or(1, |(_, length)| length);
            input.set_range(found.start() + next..read);
        }
        let start = self.regex.search(&input)?.start();
        self.longest_at(&input, start)
    }

    /// The longest match at a place, of the first regex that has it.
    fn longest_at(&self, input: &Input, start: usize) -> Option<(Range<usize>, usize)> {
        let found = (0..self.count).filter_map(|number| {
            let anchored = Anchored::Pattern(PatternID::must(number));
            let there = input.clone().range(start..input.end()).anchored(anchored);
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
