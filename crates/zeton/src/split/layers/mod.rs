//! Layers of rules around a pattern: matches first, then runs, then the pattern, then finer cuts.
//!
//! Some rules need no layer, because the pattern itself can express them. For all others, each
//! layer splits the text that the layer before it left over. For example, `keep` = `C++`,
//! `keep_words` = `BRCA1` and `isolate` = `\d+-\d+`, `@\w+`, with cl100k's pattern:
//!
//! ```text
//! text        C++BRCA1 is 12-3@x
//! matches     C++|BRCA1|   |12-3|@x      keep, keep_words, isolate 0, isolate 1
//! runs                                   none: no lexicon and no group
//! pattern               is|␣             the text " is "
//! refiner                                no piece has a trigger
//! ```
//!
//! | file | layer |
//! |---|---|
//! | `matches` | literals and regexes: the leftmost, then the longest, then the first listed |
//! | `adjacency` | characters between which no match can lie, for safe cuts |
//! | `runs` | runs of a script, cut into words of a lexicon, and runs of characters, into groups |
//! | `refine` | finer cuts within the pieces of the pattern: digits, case, underscores, scripts |
//!
//! Cost: `case="words"` splits at 710 to 760 MB/s, cl100k alone at 1,000 to 1,050
//! (`docs/notes/rules.md`).

mod adjacency;
mod matches;
mod refine;
mod runs;

use matches::MatchRules;
pub(crate) use refine::PieceRefiner;
use runs::RunRules;

use super::{SplitEngine, VisitControl};
use crate::pattern::rules::Rules;
use crate::sys::error::Error;

/// The rule that made a piece. A number is the index of the rule in its list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PieceRule {
    /// A literal of `keep`, anywhere in the text.
    Keep,
    /// A literal of `keep_words`, as a whole word.
    KeepWords,
    /// A match of a regex of `isolate`.
    Isolate(usize),
    /// A word of a lexicon.
    Lexicon(usize),
    /// Text of a lexicon's script between its words.
    Unknown(usize),
    /// A group of characters.
    Group(usize),
    /// A piece of the pattern.
    Pattern,
    /// Digits, counted from the right.
    Digits,
    /// A piece behind a change of case.
    Case,
    /// A piece that starts with underscores, or follows them.
    Underscores,
    /// A piece behind a change of script.
    Scripts,
}

/// The layers that the rules of a splitter need.
#[derive(Clone, Debug)]
pub(crate) struct RuleLayers {
    matches: Option<MatchRules>,
    runs: Option<RunRules>,
    refiner: Option<PieceRefiner>,
}

impl RuleLayers {
    /// Builds the layers of rules; `None` if the pattern alone expresses them.
    ///
    /// # Errors
    ///
    /// If a regex does not compile or is too large.
    pub(crate) fn try_from_rules(rules: &Rules) -> Result<Option<Self>, Error> {
        let layers = Self {
            matches: MatchRules::try_from_rules(rules)?,
            runs: RunRules::recognise(rules),
            refiner: PieceRefiner::recognise(rules),
        };
        let has_layers =
            layers.matches.is_some() || layers.runs.is_some() || layers.refiner.is_some();
        Ok(has_layers.then_some(layers))
    }

    /// Returns whether a layer takes text before the pattern does. The refiner only cuts its
    /// pieces.
    pub(crate) fn has_outer_rules(&self) -> bool {
        self.matches.is_some() || self.runs.is_some()
    }

    /// Returns whether a text may be divided between two characters. `by_pattern` says whether the
    /// pattern allows it. Between two characters of one run no cut is safe.
    pub(crate) fn is_safe_cut(&self, before: u32, after: u32, by_pattern: bool) -> bool {
        let by_runs = self.runs.as_ref().map_or(Some(by_pattern), |runs| {
            match (runs.rule_of(before), runs.rule_of(after)) {
                (None, None) => Some(by_pattern),
                (one, other) => (one != other).then_some(true),
            }
        });
        by_runs == Some(true)
            && self.matches.as_ref().is_none_or(|matches| matches.is_safe_cut(before, after))
    }

    /// Calls `visit` with every piece of `text` and its rule, or until it stops the split. Matches
    /// are searched as the split proceeds, so a stopped split does not read the rest.
    pub(crate) fn split<'t, V: VisitControl>(
        &self,
        engine: &SplitEngine,
        pattern: &str,
        text: &'t [u8],
        mut visit: impl FnMut(&'t [u8], PieceRule) -> V,
    ) -> Result<(), Error> {
        let mut visit = |piece, rule| visit(piece, rule).is_continue();
        let Some(matches) = &self.matches else {
            return self.split_runs(engine, pattern, text, &mut visit).map(drop);
        };
        let mut search = matches.search(text);
        let mut at = 0;
        loop {
            let found = search.find_next(at);
            let end = found.as_ref().map_or(text.len(), |(range, _)| range.start);
            if at < end && !self.split_runs(engine, pattern, &text[at..end], &mut visit)? {
                return Ok(());
            }
            let Some((range, rule)) = found else { return Ok(()) };
            at = range.end;
            if !visit(&text[range], rule) {
                return Ok(());
            }
        }
    }

    /// Splits a stretch of text without matches: cuts its runs by their rules, and the text between
    /// them by the pattern. Returns false if `visit` has refused a piece; then the caller stops.
    fn split_runs<'t>(
        &self,
        engine: &SplitEngine,
        pattern: &str,
        text: &'t [u8],
        visit: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> Result<bool, Error> {
        let Some(runs) = &self.runs else {
            return self.split_rest(engine, pattern, text, visit);
        };
        let mut at = 0;
        loop {
            let found = runs.find_run(text, at);
            let end = found.as_ref().map_or(text.len(), |(range, _)| range.start);
            if at < end && !self.split_rest(engine, pattern, &text[at..end], visit)? {
                return Ok(false);
            }
            let Some((range, rule)) = found else { return Ok(true) };
            at = range.end;
            if !runs.cut_run(rule, &text[range], visit) {
                return Ok(false);
            }
        }
    }

    /// Splits a stretch of text without matches and runs by the pattern, with its finer cuts.
    /// Returns false if `visit` has refused a piece; then the caller stops.
    fn split_rest<'t>(
        &self,
        engine: &SplitEngine,
        pattern: &str,
        text: &'t [u8],
        visit: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> Result<bool, Error> {
        // A single byte is a piece of any pattern. Between whole words the text is often one blank.
        if let [_] = text {
            return Ok(visit(text, PieceRule::Pattern));
        }
        // A pattern of the family visits all pieces, so the answer is kept and tested here.
        let mut is_continue = true;
        match self.refiner {
            None => engine.split(pattern, text, |piece| {
                is_continue = is_continue && visit(piece, PieceRule::Pattern);
                is_continue
            })?,
            Some(refiner) => {
                engine.split_with_triggers(pattern, text, refiner, |piece, may_refine| {
                    is_continue = is_continue
                        && match may_refine {
                            true => refiner.refine(piece, visit),
                            false => visit(piece, PieceRule::Pattern),
                        };
                    is_continue
                })?;
            }
        }
        Ok(is_continue)
    }
}
