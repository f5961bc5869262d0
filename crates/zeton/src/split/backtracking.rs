//! The backtracking engine, for patterns without a transducer and without a DFA.
//!
//! It runs the crate `fancy-regex`, as tiktoken does, so its pieces are correct by definition. For
//! example, `(\w)\1|(?s:.)` refers back to a group, which no finite automaton can do. It is also
//! the oracle of the tests: every faster engine is compared with it.
//!
//! Cost: one regex search a piece. A match may take [`BACKTRACKS_MAX`] steps, and a split that
//! would take more fails with an error. A step may read all the text that is left, so a split can
//! take the square of the text's length: `(a*)*b|(?s:.)` looks for a `b` behind each `a`. A signal
//! ends it, also within a match ([`PolledText`]).

use std::collections::HashSet;

use super::VisitControl;
use super::polled_text::PolledText;
use super::regex_input::RegexInput;
use crate::sys::error::Error;

/// Steps of backtracking that one match may take; tiktoken has the same bound.
const BACKTRACKS_MAX: usize = 1_000_000;

/// Bytes of dropped text that an error message shows at most. Not measured.
const EXCERPT_BYTES_MAX: usize = 20;

/// A compiled pattern that covers every probe text.
///
/// Whether a pattern with backtracking covers all texts is not decidable here. A split that comes
/// to a gap fails with [`Error::PatternDrops`].
#[derive(Clone, Debug)]
pub(super) struct Regex {
    pattern: String,
    regex: fancy_regex::Regex,
}

impl Regex {
    /// Compiles a pattern and splits the probe texts with it. `Splitter::parse` calls it for a
    /// pattern that is no DFA.
    ///
    /// # Errors
    ///
    /// If the pattern does not compile, or drops text of a probe.
    pub(super) fn try_new(pattern: &str) -> Result<Self, Error> {
        let regex = Self::compile(pattern)?;
        for text in probes(pattern) {
            regex.split(text.as_bytes(), |_| ())?;
        }
        Ok(regex)
    }

    /// Compiles a pattern without probing it. Tests compare other engines with the result, also for
    /// patterns that drop text.
    pub(super) fn compile(pattern: &str) -> Result<Self, Error> {
        let compiled =
            fancy_regex::RegexBuilder::new(pattern).backtrack_limit(BACKTRACKS_MAX).build();
        let regex = compiled.map_err(|error| Error::PatternSyntax {
            pattern: pattern.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { pattern: pattern.to_owned(), regex })
    }

    /// Calls `visit` with every piece of `text`, or until it stops the split.
    ///
    /// # Errors
    ///
    /// If a match takes more than [`BACKTRACKS_MAX`] steps, or the pattern drops text.
    pub(super) fn split<'t, V: VisitControl>(
        &self,
        text: &'t [u8],
        mut visit: impl FnMut(&'t [u8]) -> V,
    ) -> Result<(), Error> {
        let input = RegexInput::new(text);
        let mut replaced = input.replaced();
        // Offsets in the regex's text and in the text.
        let (mut read, mut start) = (0, 0);
        let polled = PolledText::new(input.as_str());
        let mut matches = self.regex.find_iter(&polled);
        while let Some(found) = polled.catch_interrupt(|| matches.next())? {
            let found = found.map_err(|error| Error::PatternBound {
                pattern: self.pattern.clone(),
                at: start,
                reason: error.to_string(),
            })?;
            if found.is_empty() && found.start == read {
                continue;
            }
            if found.start != read {
                break;
            }
            read = found.end;
            let passed = replaced.iter().take_while(|&&at| at < read).count();
            replaced = &replaced[passed..];
            let end = start + RegexInput::text_bytes(found.len(), passed);
            if !visit(&text[start..end]).is_continue() {
                return Ok(());
            }
            start = end;
        }
        match start == text.len() {
            true => Ok(()),
            false => Err(Error::PatternDrops {
                pattern: self.pattern.clone(),
                text: excerpt(&text[start..]),
            }),
        }
    }
}

/// Returns the beginning of a text, for an error message. It has [`EXCERPT_BYTES_MAX`] bytes at
/// most.
fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(EXCERPT_BYTES_MAX)]).into_owned()
}

/// Returns short texts that a pattern should cover.
///
/// The characters are one of each class, and for each character of the pattern the code points
/// around it, because `[a-c]` is likely wrong at `` ` `` or `d`. The texts are all single
/// characters, all pairs, and all triples of the first ten. For example, `\p{L}+|\p{N}+` fails at
/// `" "`.
fn probes(pattern: &str) -> Vec<String> {
    // 96 characters make 9,312 texts and 1,000 triples. Not measured.
    const CHARACTERS_MAX: usize = 96;
    const TRIPLE_CHARACTERS: usize = 10;
    let classes = " a1!\nZ中\u{301}'_\t\r\u{a0}/ǅʰ½²😀é\0\u{FFFD}\u{10FFFF}";
    let mut chars: Vec<char> = classes.chars().collect();
    for named in pattern.chars() {
        let around =
            [-1, 0, 1].map(|step| char::from_u32((named as u32).saturating_add_signed(step)));
        chars.extend(around.into_iter().flatten());
    }
    let mut known = HashSet::new();
    chars.retain(|&c| known.insert(c));
    chars.truncate(CHARACTERS_MAX);

    let core: Vec<char> = classes.chars().take(TRIPLE_CHARACTERS).collect();
    let ones = chars.iter().map(char::to_string);
    let twos = chars.iter().flat_map(|a| chars.iter().map(move |b| format!("{a}{b}")));
    let threes = core.iter().flat_map(|a| {
        core.iter().flat_map(|b| core.iter().map(move |c| format!("{a}{b}{c}"))).collect::<Vec<_>>()
    });
    ones.chain(twos).chain(threes).collect()
}
