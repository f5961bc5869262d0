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
use crate::search::Literals;

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
}

impl Matches {
    /// Reads rules; `None` if nothing is looked for.
    pub(super) fn of(rules: &Rules) -> Result<Option<Self>, Error> {
        if rules.keep.is_empty() && rules.keep_words.is_empty() && rules.isolate.is_empty() {
            return Ok(None);
        }
        let finder = |literals: &[String], whole_word| {
            (!literals.is_empty()).then(|| Literals::new(literals, whole_word)).transpose()
        };
        let regexes: Vec<Hir> = (rules.isolate.iter().enumerate())
            .map(|(at, isolate)| {
                isolate.read().map_err(|why| refused(&format!("isolate[{at}]"), why))
            })
            .collect::<Result<_, _>>()?;
        Ok(Some(Self {
            keep: finder(&rules.keep, false)?,
            keep_words: finder(&rules.keep_words, true)?,
            isolate: Isolates::of(&regexes)?,
            takes_space: rules.keep_space,
            crossing: Crossing::of(rules, &regexes),
        }))
    }

    /// Returns whether a text may be cut between these characters: no match crosses the cut, or
    /// depends on what is beyond it.
    pub(super) fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        self.crossing.is_safe_cut(before, after)
    }

    /// Looks through a text.
    pub(super) fn search<'m, 't>(&'m self, text: &'t [u8]) -> Search<'m, 't> {
        let isolate = self.isolate.as_ref().map(|isolate| (isolate, Readable::of(text)));
        Search { matches: self, text, isolate, known: [const { None }; 3] }
    }
}

/// A match, and what made it.
type Found = (Range<usize>, Maker);

/// The matches of one text.
pub(super) struct Search<'m, 't> {
    matches: &'m Matches,
    text: &'t [u8],
    isolate: Option<(&'m Isolates, Readable<'t>)>,
    /// The next match of each kind, if it has been looked for.
    known: [Option<Option<Found>>; 3],
}

impl Search<'_, '_> {
    /// Returns the first match from a place on. Places never fall.
    pub(super) fn next(&mut self, from: usize) -> Option<Found> {
        for kind in 0..self.known.len() {
            let is_ahead =
                |found: &Option<Found>| found.as_ref().is_none_or(|(place, _)| place.start >= from);
            if !self.known[kind].as_ref().is_some_and(is_ahead) {
                self.known[kind] = Some(self.find(kind, from));
            }
        }
        let found = self.known.iter().flatten().flatten();
        // The first of the smallest: kinds stand in the order in which they win.
        let best = found.min_by_key(|(place, _)| (place.start, usize::MAX - place.end));
        let (mut place, maker) = best?.clone();
        let space = place.start.checked_sub(1).filter(|&at| at >= from && self.text[at] == b' ');
        if let (true, Some(space)) = (self.matches.takes_space, space) {
            place.start = space;
        }
        Some((place, maker))
    }

    fn find(&self, kind: usize, from: usize) -> Option<Found> {
        let Matches { keep, keep_words, .. } = self.matches;
        let literal = |finder: &Option<Literals>, maker| {
            finder
                .as_ref()?
                .find_within(self.text, from..self.text.len())
                .map(|found| (found.range, maker))
        };
        match kind {
            0 => literal(keep, Maker::Keep),
            1 => literal(keep_words, Maker::KeepWords),
            _ => {
                let (isolate, readable) = self.isolate.as_ref()?;
                isolate.find(readable, from)
            }
        }
    }
}

impl Isolates {
    fn of(regexes: &[Hir]) -> Result<Option<Self>, Error> {
        if regexes.is_empty() {
            return Ok(None);
        }
        let config = Regex::config()
            .nfa_size_limit(Some(COMPILED_BYTES_MAX))
            .hybrid_cache_capacity(TABLES_BYTES_MAX);
        let regex = Regex::builder().configure(config).build_many_from_hir(regexes);
        let regex = regex.map_err(|error| refused("isolate", format!("too large: {error}")))?;
        Ok(Some(Self { regex, count: regexes.len() }))
    }

    /// The first match from a place on: of the regexes that match there, the longest match.
    fn find(&self, text: &Readable, from: usize) -> Option<Found> {
        let input = Input::new(text.read.as_ref()).range(text.to_read(from)..);
        let first = self.regex.search(&input)?;
        let mut best = first.range();
        let mut number = first.pattern();
        if self.count > 1 {
            // The one that was found is the first listed, and maybe not the longest.
            for other in (0..self.count).map(PatternID::must) {
                let anchored = input.clone().range(best.start..).anchored(Anchored::Pattern(other));
                if let Some(found) = self.regex.search(&anchored)
                    && (found.end() > best.end || found.end() == best.end && other < number)
                {
                    (best, number) = (found.range(), other);
                }
            }
        }
        Some((text.place(&best), Maker::Isolate(number.as_usize())))
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
