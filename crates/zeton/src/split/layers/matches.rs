//! Literals and regexes of rules, which are cut out of a text before the pattern splits it.
//!
//! The leftmost match wins, of equal starts the longest, of equal ranges the first rule in the
//! order `keep`, `keep_words`, `isolate`. For example, `keep` = `12` and `isolate` = `\d+-\d+`:
//!
//! ```text
//! text      at 12-3
//! keep         12          3..5
//! isolate      12-3        3..7, wins: the same start, and longer
//! ```
//!
//! Literals are found by the search layer, regexes by the crate `regex-automata`, all regexes in
//! one pass. A regex reads a window of 4 KiB at a time, so a regex that reads far and matches
//! little cannot take quadratic time:
//!
//! ```text
//! from            end            read
//!  │ starts here    │ read further  │      a match that begins before `end` is whole
//!  ├── 4 KiB ──────┼── 4 KiB ─────┤
//! ```
//!
//! Cost: whole words 376 MB/s (10,000 words, one in ten of the text), a date as a whole word 323
//! MB/s (`docs/notes/rules.md`).

use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, PatternID};
use regex_syntax::hir::Hir;

use super::PieceRule;
use super::adjacency::MatchAdjacency;
use crate::pattern::rules::{Rules, rules_error};
use crate::search::{LiteralScan, Literals};
use crate::split::regex_input::RegexInput;
use crate::sys::error::Error;

/// Maximum memory of the compiled regexes: 16 MiB. Not measured.
const COMPILED_BYTES_MAX: usize = 1 << 24;
/// Maximum memory of the lazy DFA that the regexes build during a search: 4 MiB. Not measured.
const TABLES_BYTES_MAX: usize = 1 << 22;

/// The literals and regexes of rules.
#[derive(Clone, Debug)]
pub(crate) struct MatchRules {
    keep: Option<Literals>,
    keep_words: Option<Literals>,
    isolate: Option<IsolateRegexes>,
    /// Whether a match includes a space directly before it.
    takes_space: bool,
    adjacency: MatchAdjacency,
}

/// Regexes that are searched together.
#[derive(Clone, Debug)]
struct IsolateRegexes {
    regex: Regex,
    count: usize,
    /// The regexes without word edges, if any regex has them. They are much faster on text beyond
    /// ASCII, and no match begins before one of theirs: a date went from 21 to 323 MB/s.
    without_edges: Option<Regex>,
}

/// Maximum length of a match of a regex. Not measured. Without a bound, a regex that reads far and
/// matches little takes quadratic time.
pub(crate) const MATCH_BYTES_MAX: usize = 1 << 12;

impl MatchRules {
    /// Compiles the literals and regexes of rules for their search. Returns `None` if rules have
    /// neither, so that texts are not searched. A regex that cannot be compiled is an error.
    pub(crate) fn try_from_rules(rules: &Rules) -> Result<Option<Self>, Error> {
        if rules.keep.is_empty() && rules.keep_words.is_empty() && rules.isolate.is_empty() {
            return Ok(None);
        }
        let finder = |field, literals: &[String], whole_word| {
            let some =
                (!literals.is_empty()).then(|| Literals::try_from_literals(literals, whole_word));
            some.transpose().map_err(|error| rules_error(field, error.to_string()))
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
            isolate: IsolateRegexes::try_new(&plain, &edged)?,
            takes_space: rules.keep_space,
            adjacency: MatchAdjacency::new(rules, &edged),
        }))
    }

    /// Returns whether a text may be divided between these characters: no match crosses the cut, or
    /// depends on the text beyond it.
    pub(crate) fn is_safe_cut(&self, before: u32, after: u32) -> bool {
        self.adjacency.is_safe_cut(before, after)
    }

    /// Makes a search through a text for the matches of all literals and regexes, in order. Nothing
    /// is searched before the first match is asked for.
    pub(crate) fn search<'m, 't>(&'m self, text: &'t [u8]) -> MatchSearch<'m, 't> {
        MatchSearch {
            text,
            keep: self.keep.as_ref().map(|literals| literals.scan(text)),
            keep_words: self.keep_words.as_ref().map(|literals| literals.scan(text)),
            isolate: self.isolate.as_ref().map(|isolate| (isolate, RegexInput::new(text))),
            next_isolate: None,
            takes_space: self.takes_space,
        }
    }
}

/// A match and its rule.
type RuleMatch = (Range<usize>, PieceRule);

/// The matches of one text, from left to right.
pub(crate) struct MatchSearch<'m, 't> {
    text: &'t [u8],
    keep: Option<LiteralScan<'m, 't>>,
    keep_words: Option<LiteralScan<'m, 't>>,
    isolate: Option<(&'m IsolateRegexes, RegexInput<'t>)>,
    /// The next match of a regex; `None` until it is searched, `Some(None)` if there is no more.
    next_isolate: Option<Option<RuleMatch>>,
    takes_space: bool,
}

impl MatchSearch<'_, '_> {
    /// Returns the first match that starts at `from` or later. `from` never decreases from call to
    /// call. Matches that a taken match overlaps are thereby dropped.
    pub(crate) fn find_next(&mut self, from: usize) -> Option<RuleMatch> {
        // Of equal matches, the one found first in this order wins.
        let mut best: Option<RuleMatch> = None;
        let mut take = |found: Option<RuleMatch>| {
            let key = |(range, _): &RuleMatch| (range.start, usize::MAX - range.end);
            if let Some(found) = found
                && best.as_ref().is_none_or(|best| key(&found) < key(best))
            {
                best = Some(found);
            }
        };
        take(self.keep.as_mut().and_then(|keep| Some((keep.find_next(from)?, PieceRule::Keep))));
        let words = self.keep_words.as_mut();
        take(words.and_then(|words| Some((words.find_next(from)?, PieceRule::KeepWords))));
        if let Some((isolate, input)) = &self.isolate {
            let is_ahead = |found: &Option<RuleMatch>| {
                found.as_ref().is_none_or(|(range, _)| range.start >= from)
            };
            if !self.next_isolate.as_ref().is_some_and(is_ahead) {
                self.next_isolate = Some(isolate.find(input, from));
            }
            take(self.next_isolate.clone().flatten());
        }
        let (mut range, rule) = best?;
        let space = range.start.checked_sub(1).filter(|&at| at >= from && self.text[at] == b' ');
        if let (true, Some(space)) = (self.takes_space, space) {
            range.start = space;
        }
        Some((range, rule))
    }
}

impl IsolateRegexes {
    /// Compiles the regexes of `isolate` together; `None` if there are none. `edged` are the
    /// regexes of `plain` with word edges. A regex that is too large is an error.
    fn try_new(plain: &[Hir], edged: &[Hir]) -> Result<Option<Self>, Error> {
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

    /// Returns the first match that starts at `from` or later: of all regexes that match there, the
    /// longest.
    fn find(&self, input: &RegexInput, from: usize) -> Option<RuleMatch> {
        let (range, number) = self.find_in(input.as_str(), input.regex_offset(from))?;
        Some((input.text_range(&range), PieceRule::Isolate(number)))
    }

    /// Returns the first match at byte `from` of the regex's text or behind it, with the number of
    /// its regex; `None` if no match is left.
    fn find_in(&self, text: &str, mut from: usize) -> Option<(Range<usize>, usize)> {
        let regex = self.without_edges.as_ref().unwrap_or(&self.regex);
        while from < text.len() {
            // A match that begins before `end` is seen whole.
            let most = text.len().min(from + MATCH_BYTES_MAX);
            let end = (from + 1..=most).rev().find(|&at| text.is_char_boundary(at))?;
            let read = text.len().min(end + MATCH_BYTES_MAX);
            let found = regex.search(&Input::new(text).range(from..read));
            let start = found.map_or(end, |found| found.start());
            if start >= end {
                from = end;
                continue;
            }
            if let Some(found) = self.find_longest_at(text, start) {
                return Some(found);
            }
            from = start + text[start..].chars().next().map_or(1, char::len_utf8);
        }
        None
    }

    /// Returns the longest match at a position, of the first regex that has it. It runs each regex
    /// once, anchored at the position.
    fn find_longest_at(&self, text: &str, start: usize) -> Option<(Range<usize>, usize)> {
        let end = text.len().min(start + MATCH_BYTES_MAX);
        let found = (0..self.count).filter_map(|number| {
            let anchored = Anchored::Pattern(PatternID::must(number));
            let there = Input::new(text).range(start..end).anchored(anchored);
            self.regex.search(&there).map(|found| (found.range(), number))
        });
        // `max_by_key` returns the last maximum, so the number is reversed: the first regex wins.
        found.max_by_key(|(range, number)| (range.end, usize::MAX - number))
    }
}
