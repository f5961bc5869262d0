//! A compiled pattern: the engine that runs it, the rules around it, and the calls that split.
//!
//! For example, `Splitter::parse` recognises cl100k's pattern as one of the family, compiles it to
//! a transducer of 20 states and 12 classes, and reads from its grammar a [`MaskAlgebra`], which
//! splits 64 bytes at a time. `\w+|\W` is no such pattern; it becomes a DFA. `(\w)\1|(?s:.)` refers
//! back to a group, so it runs by backtracking.
//!
//! A splitter is validated once and immutable, so threads share it. The piece cache takes ends of
//! pieces by [`Splitter::split_ends`], up to 64 a call. All other callers take pieces one by one.

use std::sync::Arc;

use super::backtracking::Regex;
use super::engine_choice::{EnginePath, FamilyMismatch};
use super::family::{AsciiMasks, BoundarySink, MaskAlgebra, PieceVisitor, WordCarry, scalar, simd};
use super::layers::{PieceRefiner, PieceRule, RuleLayers};
use super::{VisitControl, dfa, external};
use crate::pattern::rules::Rules;
use crate::pattern::{Dfa, DfaBuildError, Grammar, PATTERN_BYTES_MAX, Transducer};
use crate::sys::error::Error;
use crate::sys::simd_level::SimdLevel;

/// A pattern or [rules](crate::pattern::rules), ready to split text.
///
/// A pattern of the family runs as a transducer, most others as a DFA, and the rest on a
/// backtracking engine. All give the pieces of the pattern itself, from left to right.
///
/// ```
/// let splitter = zeton::Splitter::parse(zeton::pattern::NANOCHAT)?;
/// let mut pieces = Vec::new();
/// splitter.split(b"It's 42!", |piece| pieces.push(piece))?;
/// assert_eq!(pieces, [&b"It"[..], b"'s", b" ", b"42", b"!"]);
/// # Ok::<(), zeton::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Splitter {
    /// The pattern as it was passed, or the rules in their canonical spelling.
    pub(super) pattern: String,
    /// The pattern that the rules compile to, if there are rules.
    pub(super) grammar: Option<String>,
    pub(super) engine: SplitEngine,
    /// The rules that no pattern can express, if there are any.
    pub(super) layers: Option<Arc<RuleLayers>>,
}

impl PartialEq for Splitter {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for Splitter {}

/// The implementation that runs a pattern.
#[derive(Clone, Debug)]
pub(super) enum SplitEngine {
    /// A pattern of the family, as a transducer.
    Scanner {
        grammar: Grammar,
        transducer: Box<Transducer>,
        /// The SIMD path, unless the grammar makes a choice that the algebra does not cover.
        fast: Option<(SimdLevel, Box<MaskAlgebra>)>,
    },
    Dfa(Box<Dfa>),
    Regex {
        regex: Box<Regex>,
        /// The reason why the pattern is no DFA.
        reason: &'static str,
    },
    /// A function of the caller, which splits in place of the engine.
    Function {
        name: String,
    },
}

impl Splitter {
    /// Compiles a pattern, or rules.
    ///
    /// # Errors
    ///
    /// If the pattern is too long, does not compile or drops text, if the rules are not valid, or
    /// if the text stands for a function.
    pub fn parse(pattern: &str) -> Result<Self, Error> {
        external::refuse(pattern)?;
        let Some(rules) = Rules::recognise(pattern) else {
            let engine = SplitEngine::try_from_pattern(pattern)?;
            return Ok(Self { pattern: pattern.to_owned(), grammar: None, engine, layers: None });
        };
        let rules = rules?;
        let grammar = rules.to_pattern();
        Ok(Self {
            pattern: rules.to_json(),
            engine: SplitEngine::try_from_pattern(&grammar)?,
            grammar: Some(grammar),
            layers: RuleLayers::try_from_rules(&rules)?.map(Arc::new),
        })
    }

    /// Returns the pattern's text.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns the pattern that the engine runs: the one that the rules compile to, if there are
    /// rules.
    #[must_use]
    pub fn grammar_pattern(&self) -> &str {
        self.grammar.as_deref().unwrap_or(&self.pattern)
    }

    /// Returns whether the splitter was compiled from rules; its file then has a version of its
    /// own.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        self.grammar.is_some()
    }

    /// Returns whether the pattern's engine alone splits, without layers of rules around it, so
    /// that callers may use the engine directly.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.layers.is_none()
    }

    /// Returns the grammar and its transducer, if the pattern is of the family and no rules stand
    /// around it.
    #[must_use]
    pub fn grammar(&self) -> Option<(&Grammar, &Transducer)> {
        match &self.engine {
            SplitEngine::Scanner { grammar, transducer, .. } if self.is_plain() => {
                Some((grammar, transducer))
            }
            _ => None,
        }
    }

    /// Returns the engine that runs the pattern, and the reason for the choice. `tok.info` shows
    /// it.
    #[must_use]
    pub fn engine_path(&self) -> EnginePath {
        match &self.engine {
            SplitEngine::Scanner { transducer, fast, .. } => EnginePath::Transducer {
                states: transducer.state_names().len(),
                classes: transducer.class_count(),
                vectors: fast.as_ref().map(|(level, _)| level.name()),
            },
            SplitEngine::Dfa(automaton) => EnginePath::Dfa {
                states: automaton.state_count(),
                classes: automaton.class_count(),
                mismatch: FamilyMismatch::new(self.grammar_pattern()),
            },
            SplitEngine::Regex { reason, .. } => EnginePath::Backtracking {
                mismatch: FamilyMismatch::new(self.grammar_pattern()),
                reason,
            },
            SplitEngine::Function { name } => EnginePath::Function { name: name.clone() },
        }
    }

    /// Calls `visit` with every piece of `text`, from left to right, or until it stops the split.
    ///
    /// A pattern of the family visits all pieces even if `visit` returns `false`, because reading
    /// the rest costs less than testing each answer.
    ///
    /// # Errors
    ///
    /// Only for a pattern outside the family: if matching exceeds its bound, if the backtracking
    /// engine finds dropped text, or if the split is a function of the caller.
    pub fn split<'t, V: VisitControl>(
        &self,
        text: &'t [u8],
        mut visit: impl FnMut(&'t [u8]) -> V,
    ) -> Result<(), Error> {
        match &self.layers {
            None => self.engine.split(&self.pattern, text, visit),
            Some(_) => self.split_with_rules(text, |piece, _| visit(piece)),
        }
    }

    /// Reports the end of every piece of `text` to `sink`, up to 64 ends a call. Encoding
    /// sends them to the piece cache.
    ///
    /// # Errors
    ///
    /// The errors of [`Splitter::split`].
    pub(crate) fn split_ends(
        &self,
        text: &[u8],
        sink: &mut impl BoundarySink,
    ) -> Result<(), Error> {
        match (&self.layers, &self.engine) {
            (None, SplitEngine::Scanner { transducer, fast: Some((level, algebra)), .. }) => {
                simd::split(*level, algebra, transducer, text, sink);
                Ok(())
            }
            (None, SplitEngine::Dfa(automaton)) => dfa::split(automaton, &self.pattern, text, sink),
            _ => {
                let mut end = 0;
                self.split(text, |piece| {
                    end += piece.len();
                    sink.push_end(end);
                })
            }
        }
    }

    /// Calls `visit` with every piece of `text` and the rule that made it, or until it stops the
    /// split.
    ///
    /// # Errors
    ///
    /// The errors of [`Splitter::split`].
    pub fn split_with_rules<'t, V: VisitControl>(
        &self,
        text: &'t [u8],
        mut visit: impl FnMut(&'t [u8], PieceRule) -> V,
    ) -> Result<(), Error> {
        let pattern = self.grammar_pattern();
        match &self.layers {
            None => self.engine.split(pattern, text, |piece| visit(piece, PieceRule::Pattern)),
            Some(layers) => layers.split(&self.engine, pattern, text, visit),
        }
    }

    /// Splits by the slowest engine that runs the pattern: the scalar transducer, or backtracking.
    ///
    /// For tests: every faster engine is compared with these pieces.
    ///
    /// # Errors
    ///
    /// If the pattern does not compile for backtracking, or takes too many steps.
    #[doc(hidden)]
    pub fn split_by_reference<'t>(
        &self,
        text: &'t [u8],
        visit: impl FnMut(&'t [u8]),
    ) -> Result<(), Error> {
        match self.grammar() {
            Some((_, transducer)) => {
                scalar::split(transducer, text, visit);
                Ok(())
            }
            None => Regex::compile(&self.pattern)?.split(text, visit),
        }
    }

    /// Compiles a splitter that backtracks even where a faster engine could run the pattern, for
    /// tests that compare both. A pattern that does not compile is an error.
    #[cfg(test)]
    pub(super) fn try_new_backtracking(pattern: &str) -> Result<Self, Error> {
        let regex = Box::new(Regex::try_new(pattern)?);
        let engine = SplitEngine::Regex { regex, reason: "" };
        Ok(Self { pattern: pattern.to_owned(), grammar: None, engine, layers: None })
    }

    /// Returns the lengths of all pieces at each SIMD level of this machine, with the level's name.
    ///
    /// For tests. Empty if the pattern has no SIMD path.
    #[doc(hidden)]
    #[must_use]
    pub fn split_at_each_simd_level(&self, text: &[u8]) -> Vec<(String, Vec<usize>)> {
        let SplitEngine::Scanner { transducer, fast: Some((_, algebra)), .. } = &self.engine else {
            return Vec::new();
        };
        let split = |level| {
            let mut lengths = Vec::new();
            let mut pieces = PieceVisitor::new(text, |piece: &[u8], _| lengths.push(piece.len()));
            simd::split(level, algebra, transducer, text, &mut pieces);
            (format!("{level:?}"), lengths)
        };
        SimdLevel::detect_all().into_iter().map(split).collect()
    }
}

/// Minimum length of a text for the SIMD path. Scanning fewer bytes takes less time than preparing
/// one block of 64 (`docs/notes/latency.md`).
const SIMD_BYTES_MIN: usize = 8;

impl SplitEngine {
    /// Chooses the engine of a pattern and compiles the pattern for it. A grammar that the algebra
    /// does not cover keeps its transducer without a SIMD path.
    fn try_from_pattern(pattern: &str) -> Result<Self, Error> {
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(Error::PatternTooLong { bytes: pattern.len() });
        }
        let scanner = Grammar::recognise(pattern).and_then(|grammar| {
            let transducer = Box::new(Transducer::try_from_grammar(&grammar)?);
            let fast = MaskAlgebra::recognise(&grammar)
                .map(|algebra| (SimdLevel::detect(), Box::new(algebra)));
            Some(Self::Scanner { grammar, transducer, fast })
        });
        match scanner {
            Some(scanner) => Ok(scanner),
            None => Self::try_from_other_pattern(pattern),
        }
    }

    /// Compiles the engine of a pattern outside the family: a DFA if possible, else a regex that
    /// backtracks. A pattern that drops text or does not compile is an error.
    fn try_from_other_pattern(pattern: &str) -> Result<Self, Error> {
        match Dfa::try_from_pattern(pattern) {
            Ok(automaton) => Ok(Self::Dfa(Box::new(automaton))),
            Err(DfaBuildError::DropsText(text)) => {
                Err(Error::PatternDrops { pattern: pattern.to_owned(), text })
            }
            Err(DfaBuildError::Unsupported(reason)) => {
                Ok(Self::Regex { regex: Box::new(Regex::try_new(pattern)?), reason })
            }
        }
    }

    /// Calls `visit` with every piece of `text`. Engines outside the family stop if `visit` does.
    /// The layers call it for each range between matches and runs, `Splitter` for a whole text.
    pub(super) fn split<'t, V: VisitControl>(
        &self,
        pattern: &str,
        text: &'t [u8],
        mut visit: impl FnMut(&'t [u8]) -> V,
    ) -> Result<(), Error> {
        match self {
            Self::Scanner { transducer, fast, .. } => {
                let mut visit = |piece| drop(visit(piece));
                match fast {
                    Some((level, algebra)) if text.len() >= SIMD_BYTES_MIN => {
                        let mut pieces = PieceVisitor::new(text, |piece, _| visit(piece));
                        simd::split(*level, algebra, transducer, text, &mut pieces);
                    }
                    _ => scalar::split(transducer, text, visit),
                }
                Ok(())
            }
            Self::Dfa(automaton) => {
                let mut pieces = PieceVisitor::new(text, |piece, _| visit(piece));
                dfa::split(automaton, pattern, text, &mut pieces)
            }
            Self::Regex { regex, .. } => regex.split(text, visit),
            Self::Function { name } => Err(Error::SplitIsFunction { name: name.clone() }),
        }
    }

    /// Calls `visit` with every piece of `text` and whether `refiner` may cut it. The layers call
    /// it if rules cut pieces finer.
    ///
    /// The SIMD path knows it from the masks of a block. Every other engine says that it may.
    pub(super) fn split_with_triggers<'t>(
        &self,
        pattern: &str,
        text: &'t [u8],
        refiner: PieceRefiner,
        mut visit: impl FnMut(&'t [u8], bool) -> bool,
    ) -> Result<(), Error> {
        match self {
            Self::Scanner { transducer, fast: Some((level, algebra)), .. } => {
                let find_triggers =
                    |block: &AsciiMasks, carry: WordCarry| refiner.find_triggers(block, carry.word);
                let mut pieces = PieceVisitor::new(text, |piece, may_refine| {
                    visit(piece, may_refine);
                });
                simd::split_with_triggers(
                    *level,
                    algebra,
                    transducer,
                    text,
                    find_triggers,
                    &mut pieces,
                );
                Ok(())
            }
            _ => self.split(pattern, text, |piece| visit(piece, true)),
        }
    }
}
