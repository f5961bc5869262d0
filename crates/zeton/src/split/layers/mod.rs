//! What rules do around a pattern: matches are cut out first, then runs; the pattern splits what lies
//! between, and its pieces may be cut finer.

mod crossing;
mod fine;
mod matches;
mod runs;

pub(crate) use fine::Fine;
use matches::Matches;
use runs::Runs;

use super::{Engine, Says};
use crate::pattern::rules::Rules;
use crate::sys::error::Error;

/// The rule that made a piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PieceRule {
    /// A literal, wherever it stands.
    Keep,
    /// A literal that is a complete word.
    KeepWords,
    /// The regex of this number.
    Isolate(usize),
    /// A word of the lexicon of this number.
    Lexicon(usize),
    /// What is between the words of the lexicon of this number.
    Unknown(usize),
    /// The group of this number.
    Group(usize),
    /// The pattern.
    Pattern,
    /// Digits counted from the right.
    Digits,
    /// A change of case before the piece.
    Case,
    /// An underscore at the beginning of the piece, or before it.
    Underscores,
    /// A change of script before the piece.
    Scripts,
}

/// The layers around a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    matches: Option<Matches>,
    runs: Option<Runs>,
    fine: Option<Fine>,
}

impl Layers {
    /// Makes the layers of rules; `None` if a pattern says it all.
    ///
    /// # Errors
    ///
    /// When a regex cannot be used.
    pub(crate) fn of(rules: &Rules) -> Result<Option<Self>, Error> {
        let layers =
            Self { matches: Matches::of(rules)?, runs: Runs::of(rules), fine: Fine::of(rules) };
        let some = layers.matches.is_some() || layers.runs.is_some() || layers.fine.is_some();
        Ok(some.then_some(layers))
    }

    /// Returns whether they do more than cut the pattern's pieces finer.
    pub(crate) fn go_before(&self) -> bool {
        self.matches.is_some() || self.runs.is_some()
    }

    /// Returns whether a text may be cut between these characters, given whether the pattern allows it.
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

    /// Calls `each` with every piece of `text` and what made it, or until it says to stop.
    pub(crate) fn split<'t, S: Says>(
        &self,
        engine: &Engine,
        pattern: &str,
        text: &'t [u8],
        mut each: impl FnMut(&'t [u8], PieceRule) -> S,
    ) -> Result<(), Error> {
        let mut each = |piece, maker| each(piece, maker).goes_on();
        let Some(matches) = &self.matches else {
            return self.split_runs(engine, pattern, text, &mut each).map(drop);
        };
        let mut search = matches.search(text);
        let mut at = 0;
        loop {
            let found = search.next(at);
            let end = found.as_ref().map_or(text.len(), |(place, _)| place.start);
            if at < end && !self.split_runs(engine, pattern, &text[at..end], &mut each)? {
                return Ok(());
            }
            let Some((place, maker)) = found else { return Ok(()) };
            at = place.end;
            if !each(&text[place], maker) {
                return Ok(());
            }
        }
    }

    /// Splits what no match takes; returns whether to go on.
    fn split_runs<'t>(
        &self,
        engine: &Engine,
        pattern: &str,
        text: &'t [u8],
        each: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> Result<bool, Error> {
        let Some(runs) = &self.runs else {
            return self.split_rest(engine, pattern, text, each);
        };
        let mut at = 0;
        loop {
            let found = runs.next(text, at);
            let end = found.as_ref().map_or(text.len(), |(place, _)| place.start);
            if at < end && !self.split_rest(engine, pattern, &text[at..end], each)? {
                return Ok(false);
            }
            let Some((place, rule)) = found else { return Ok(true) };
            at = place.end;
            if !runs.cut(rule, &text[place], each) {
                return Ok(false);
            }
        }
    }

    /// Splits what no run takes; returns whether to go on.
    fn split_rest<'t>(
        &self,
        engine: &Engine,
        pattern: &str,
        text: &'t [u8],
        each: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> Result<bool, Error> {
        // A character is a piece for any pattern; between kept words there is often but a space.
        if let [_] = text {
            return Ok(each(text, PieceRule::Pattern));
        }
        // A pattern of the family does not listen.
        let mut goes_on = true;
        match self.fine {
            None => engine.split(pattern, text, |piece| {
                goes_on = goes_on && each(piece, PieceRule::Pattern);
                goes_on
            })?,
            Some(fine) => engine.split_watching(pattern, text, fine, |piece, watched| {
                goes_on = goes_on
                    && match watched {
                        true => fine.cut(piece, each),
                        false => each(piece, PieceRule::Pattern),
                    };
                goes_on
            })?,
        }
        Ok(goes_on)
    }
}
