//! A splitter.

use std::convert::Infallible;
use std::sync::Arc;

use super::backtracking::Regex;
use super::engine_choice::{EnginePath, Outside};
use super::family::{Algebra, Block, BoundarySink, Carry, Pieces, scalar, simd};
use super::layers::{Fine, Layers, PieceRule};
use super::{dfa, external};

use crate::pattern::rules::Rules;
use crate::pattern::{Dfa, DfaBuildError, Grammar, PATTERN_BYTES_MAX, Transducer};
use crate::sys::error::Error;
use crate::sys::simd_level::SimdLevel;
use crate::sys::unicode::{CHARACTER_BYTES_MAX, read_char};

/// A pattern or [rules](crate::pattern::rules), ready to split text.
///
/// A pattern of the family runs as a transducer, most others as an automaton, and the rest on a
/// backtracking engine. All give the pieces of the pattern itself, from left to right.
#[derive(Clone, Debug)]
pub struct Splitter {
    /// As it was given, or rules as they are spelled.
    pub(super) pattern: String,
    /// The pattern that the rules make.
    pub(super) grammar: Option<String>,
    pub(super) engine: Engine,
    /// What the rules do around it.
    pub(super) layers: Option<Arc<Layers>>,
}

impl PartialEq for Splitter {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for Splitter {}

#[derive(Clone, Debug)]
pub(super) enum Engine {
    Scanner {
        grammar: Grammar,
        transducer: Box<Transducer>,
        fast: Option<(SimdLevel, Box<Algebra>)>,
    },
    Dfa(Box<Dfa>),
    Regex {
        regex: Box<Regex>,
        /// Why it is no automaton.
        unfit: &'static str,
    },
    /// Splits nothing: the caller does.
    Function {
        name: String,
    },
}

impl Splitter {
    /// Compiles a pattern, or rules.
    ///
    /// # Errors
    ///
    /// When the pattern is too long, does not compile, or drops text, the rules are not valid, or it stands
    /// for a function.
    pub fn new(pattern: &str) -> Result<Self, Error> {
        external::refuse(pattern)?;
        let Some(rules) = Rules::recognise(pattern) else {
            let engine = Engine::of(pattern)?;
            return Ok(Self { pattern: pattern.to_owned(), grammar: None, engine, layers: None });
        };
        let rules = rules?;
        let grammar = rules.to_pattern();
        Ok(Self {
            pattern: rules.to_json(),
            engine: Engine::of(&grammar)?,
            grammar: Some(grammar),
            layers: Layers::of(&rules)?.map(Arc::new),
        })
    }

    /// Returns the pattern's text.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns the pattern that is run: the rules', if there are rules.
    #[must_use]
    pub fn grammar_pattern(&self) -> &str {
        self.grammar.as_deref().unwrap_or(&self.pattern)
    }

    /// Returns whether there are rules.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        self.grammar.is_some()
    }

    /// Returns whether the pattern that is run says all about how texts split.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.layers.is_none()
    }

    /// Returns the grammar and its transducer, if the pattern is of the family and says all.
    #[must_use]
    pub fn grammar(&self) -> Option<(&Grammar, &Transducer)> {
        match &self.engine {
            Engine::Scanner { grammar, transducer, .. } if self.is_plain() => {
                Some((grammar, transducer))
            }
            _ => None,
        }
    }

    /// Says how the pattern is run, and why.
    #[must_use]
    pub fn path(&self) -> EnginePath {
        match &self.engine {
            Engine::Scanner { transducer, fast, .. } => EnginePath::Transducer {
                states: transducer.state_names().len(),
                classes: transducer.class_count(),
                vectors: fast.as_ref().map(|(level, _)| level.name()),
            },
            Engine::Dfa(automaton) => EnginePath::Dfa {
                states: automaton.state_count(),
                classes: automaton.class_count(),
                outside: Outside::of(self.grammar_pattern()),
            },
            Engine::Regex { unfit, .. } => {
                EnginePath::Backtracking { outside: Outside::of(self.grammar_pattern()), unfit }
            }
            Engine::Function { name } => EnginePath::Function { name: name.clone() },
        }
    }

    /// Calls `each` with every piece of `text`, from left to right, or until it says to stop.
    ///
    /// A pattern of the family does not listen: it is done with a text as soon as that is read.
    ///
    /// # Errors
    ///
    /// Only for a pattern outside the family: when matching exceeds its bound; on the backtracking
    /// engine, when it drops text; and when it is a function of the caller's.
    pub fn split<'t, S: Says>(
        &self,
        text: &'t [u8],
        mut each: impl FnMut(&'t [u8]) -> S,
    ) -> Result<(), Error> {
        match &self.layers {
            None => self.engine.split(&self.pattern, text, each),
            Some(_) => self.split_made(text, |piece, _| each(piece)),
        }
    }

    /// The same for who wants to know where pieces end, many at a time.
    ///
    /// # Errors
    ///
    /// Those of [`Splitter::split`].
    pub(crate) fn split_ends(
        &self,
        text: &[u8],
        ends: &mut impl BoundarySink,
    ) -> Result<(), Error> {
        match (&self.layers, &self.engine) {
            (None, Engine::Scanner { transducer, fast: Some((level, algebra)), .. }) => {
                simd::split(*level, algebra, transducer, text, ends);
                Ok(())
            }
            (None, Engine::Dfa(automaton)) => dfa::split(automaton, &self.pattern, text, ends),
            _ => {
                let mut end = 0;
                self.split(text, |piece| {
                    end += piece.len();
                    ends.end(end);
                })
            }
        }
    }

    /// The same, with the rule that made each piece.
    ///
    /// # Errors
    ///
    /// Those of [`Splitter::split`].
    pub fn split_made<'t, S: Says>(
        &self,
        text: &'t [u8],
        mut each: impl FnMut(&'t [u8], PieceRule) -> S,
    ) -> Result<(), Error> {
        let pattern = self.grammar_pattern();
        match &self.layers {
            None => self.engine.split(pattern, text, |piece| each(piece, PieceRule::Pattern)),
            Some(layers) => layers.split(&self.engine, pattern, text, each),
        }
    }

    /// Splits by the slowest engine that runs the pattern: the scalar transducer, or backtracking.
    ///
    /// For tests: the pieces are the truth that every faster engine is compared with.
    ///
    /// # Errors
    ///
    /// When the pattern does not compile for backtracking, or takes too many steps.
    #[doc(hidden)]
    pub fn split_by_reference<'t>(
        &self,
        text: &'t [u8],
        each: impl FnMut(&'t [u8]),
    ) -> Result<(), Error> {
        match self.grammar() {
            Some((_, transducer)) => {
                scalar::split(transducer, text, each);
                Ok(())
            }
            None => Regex::compile(&self.pattern)?.split(text, each),
        }
    }

    /// A splitter that runs `pattern` by backtracking even where a faster engine could.
    #[cfg(test)]
    pub(super) fn backtracking(pattern: &str) -> Result<Self, Error> {
        let engine = Engine::Regex { regex: Box::new(Regex::new(pattern)?), unfit: "" };
        Ok(Self { pattern: pattern.to_owned(), grammar: None, engine, layers: None })
    }

    /// Returns the lengths of all pieces at each SIMD level of this machine, with the level's name.
    ///
    /// For tests. Empty where the pattern or the machine has no SIMD splitter.
    #[doc(hidden)]
    #[must_use]
    pub fn split_at_each_simd_level(&self, text: &[u8]) -> Vec<(String, Vec<usize>)> {
        let Engine::Scanner { transducer, fast: Some((_, algebra)), .. } = &self.engine else {
            return Vec::new();
        };
        let split = |level| {
            let mut lengths = Vec::new();
            let mut pieces = Pieces::new(text, |piece: &[u8], _| lengths.push(piece.len()));
            simd::split(level, algebra, transducer, text, &mut pieces);
            (format!("{level:?}"), lengths)
        };
        SimdLevel::detect_all().into_iter().map(split).collect()
    }

    /// Returns the last position in `text` at which it may be cut in two, whatever follows: the
    /// pieces of both parts are the pieces of the whole.
    #[must_use]
    pub fn last_safe_cut(&self, text: &[u8]) -> Option<usize> {
        match &self.engine {
            Engine::Scanner { transducer, .. } => self.last_safe_cut_by(
                text,
                |point| transducer.class_of(point),
                |before, after| transducer.is_safe_cut(before, after),
            ),
            Engine::Dfa(automaton) => self.last_safe_cut_by(
                text,
                |point| automaton.class_of(point),
                |before, after| automaton.is_safe_cut(before, after),
            ),
            Engine::Regex { .. } | Engine::Function { .. } => None,
        }
    }

    fn last_safe_cut_by(
        &self,
        text: &[u8],
        class_of: impl Fn(u32) -> u8,
        is_safe_cut: impl Fn(u8, u8) -> bool,
    ) -> Option<usize> {
        match &self.layers {
            None => last_safe_cut(text, class_of, is_safe_cut),
            Some(layers) => last_safe_cut(
                text,
                |point| point,
                |before, after| {
                    let by_pattern = is_safe_cut(class_of(before), class_of(after));
                    layers.is_safe_cut(before, after, by_pattern)
                },
            ),
        }
    }

    /// Returns the first such position in `text`, which may have more text before it, too.
    #[must_use]
    pub fn first_safe_cut(&self, text: &[u8]) -> Option<usize> {
        // Words are short: what is looked for is near, as a rule.
        let mut end = 64;
        loop {
            let mut found = None;
            let mut rest = end.min(text.len());
            while let Some(cut) = self.last_safe_cut(&text[..rest]) {
                found = Some(cut);
                // The character before the cut may be the one after an earlier cut.
                rest = cut;
            }
            if found.is_some() || end >= text.len() {
                return found;
            }
            end *= 4;
        }
    }

    /// Cuts a text into parts of about `bytes`, each of which splits as it does within the whole.
    pub fn parts<'t>(&self, text: &'t [u8], bytes: usize) -> Vec<&'t [u8]> {
        let Ok(parts) = self.parts_asking(text, bytes, || Ok::<(), Infallible>(()));
        parts
    }

    /// The same, with a question every so many bytes whether to go on.
    ///
    /// # Errors
    ///
    /// Those of `ask`.
    pub(crate) fn parts_asking<'t, E>(
        &self,
        text: &'t [u8],
        bytes: usize,
        mut ask: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<&'t [u8]>, E> {
        let (mut parts, mut start, mut seen, mut end) = (Vec::new(), 0, 0_usize, bytes);
        while end < text.len() {
            ask()?;
            // Two characters tell whether it is safe to cut between them: of what was looked at, no
            // more than the last one matters.
            let from = seen.saturating_sub(2 * CHARACTER_BYTES_MAX).max(start);
            match self.last_safe_cut(&text[from..end]) {
                Some(length) => {
                    parts.push(&text[start..from + length]);
                    (start, seen) = (from + length, from + length);
                }
                None => seen = end,
            }
            end = seen + bytes;
        }
        parts.push(&text[start..]);
        Ok(parts)
    }
}

/// Bytes that a text has at least to be split by blocks: a few are scanned in less time than a block.
const BLOCKS_MIN: usize = 8;

/// What is said to a piece: nothing, or whether to go on.
pub trait Says {
    /// Returns whether to go on.
    fn goes_on(self) -> bool;
}

impl Says for () {
    fn goes_on(self) -> bool {
        true
    }
}

impl Says for bool {
    fn goes_on(self) -> bool {
        self
    }
}

impl Engine {
    fn of(pattern: &str) -> Result<Self, Error> {
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(Error::PatternTooLong { bytes: pattern.len() });
        }
        let scanner = Grammar::recognise(pattern).and_then(|grammar| {
            let transducer = Box::new(Transducer::try_from_grammar(&grammar)?);
            let fast =
                Algebra::of(&grammar).map(|algebra| (SimdLevel::detect(), Box::new(algebra)));
            Some(Self::Scanner { grammar, transducer, fast })
        });
        match scanner {
            Some(scanner) => Ok(scanner),
            None => Self::outside_the_family(pattern),
        }
    }

    /// Calls `each` with every piece of `text`, or until it says to stop, if it is asked.
    pub(super) fn split<'t, S: Says>(
        &self,
        pattern: &str,
        text: &'t [u8],
        mut each: impl FnMut(&'t [u8]) -> S,
    ) -> Result<(), Error> {
        match self {
            Self::Scanner { transducer, fast, .. } => {
                let mut each = |piece| drop(each(piece));
                match fast {
                    Some((level, algebra)) if text.len() >= BLOCKS_MIN => {
                        let mut pieces = Pieces::new(text, |piece, _| each(piece));
                        simd::split(*level, algebra, transducer, text, &mut pieces);
                    }
                    _ => scalar::split(transducer, text, each),
                }
                Ok(())
            }
            Self::Dfa(automaton) => {
                let mut pieces = Pieces::new(text, |piece, _| each(piece));
                dfa::split(automaton, pattern, text, &mut pieces)
            }
            Self::Regex { regex, .. } => regex.split(text, each),
            Self::Function { name } => Err(Error::SplitIsFunction { name: name.clone() }),
        }
    }

    /// The same, with each piece whether `fine` may cut it.
    pub(super) fn split_watching<'t>(
        &self,
        pattern: &str,
        text: &'t [u8],
        fine: Fine,
        mut each: impl FnMut(&'t [u8], bool) -> bool,
    ) -> Result<(), Error> {
        match self {
            Self::Scanner { transducer, fast: Some((level, algebra)), .. } => {
                let watch = |block: &Block, carry: Carry| fine.watched(block, carry.word);
                let mut pieces = Pieces::new(text, |piece, watched| {
                    each(piece, watched);
                });
                simd::split_watching(*level, algebra, transducer, text, watch, &mut pieces);
                Ok(())
            }
            _ => self.split(pattern, text, |piece| each(piece, true)),
        }
    }

    fn outside_the_family(pattern: &str) -> Result<Self, Error> {
        match Dfa::try_from_pattern(pattern) {
            Ok(automaton) => Ok(Self::Dfa(Box::new(automaton))),
            Err(DfaBuildError::DropsText(text)) => {
                Err(Error::PatternDrops { pattern: pattern.to_owned(), text })
            }
            Err(DfaBuildError::Unsupported(unfit)) => {
                Ok(Self::Regex { regex: Box::new(Regex::new(pattern)?), unfit })
            }
        }
    }
}

/// Finds the last place between two characters that may be cut there, by their classes.
fn last_safe_cut<C: Copy>(
    text: &[u8],
    class_of: impl Fn(u32) -> C,
    is_safe_cut: impl Fn(C, C) -> bool,
) -> Option<usize> {
    let mut after: Option<(usize, C)> = None;
    // A byte that continues no character is skipped here: it is never next to a safe cut.
    for at in (0..text.len()).rev().filter(|&at| text[at] & 0xC0 != 0x80) {
        let Some((point, length)) = read_char(&text[at..]) else {
            after = None;
            continue;
        };
        let class = class_of(point);
        match after {
            Some((next, next_class)) if at + length == next && is_safe_cut(class, next_class) => {
                return Some(next);
            }
            _ => after = Some((at, class)),
        }
    }
    None
}
