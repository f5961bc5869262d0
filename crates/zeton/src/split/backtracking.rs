//! Patterns that are left: a backtracking engine, the one that the oracle uses.

use std::borrow::Cow;

use super::Says;
use crate::sys::error::Error;
use crate::sys::unicode::read_char;

/// Steps back that one match may take; tiktoken has the same bound.
const BACKTRACKS_MAX: usize = 1_000_000;

/// What the one rule for bytes that are not UTF-8 puts before a regex: a sign of one character.
pub(super) const STAND_IN: char = '\u{FFFD}';

/// A compiled pattern of which no short text is known that it drops.
#[derive(Clone, Debug)]
pub(super) struct Regex {
    pattern: String,
    regex: fancy_regex::Regex,
}

impl Regex {
    /// Compiles a pattern, and tries it on short texts of every kind of character.
    pub(super) fn new(pattern: &str) -> Result<Self, Error> {
        let regex = Self::compile(pattern)?;
        for text in probes(pattern) {
            regex.split(text.as_bytes(), |_| ())?;
        }
        Ok(regex)
    }

    /// Compiles a pattern, whatever it drops.
    pub(super) fn compile(pattern: &str) -> Result<Self, Error> {
        let compiled =
            fancy_regex::RegexBuilder::new(pattern).backtrack_limit(BACKTRACKS_MAX).build();
        let regex = compiled.map_err(|error| Error::PatternSyntax {
            pattern: pattern.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { pattern: pattern.to_owned(), regex })
    }

    pub(super) fn split<'t, S: Says>(
        &self,
        text: &'t [u8],
        mut each: impl FnMut(&'t [u8]) -> S,
    ) -> Result<(), Error> {
        let (readable, bad) = readable(text);
        let mut bad = bad.as_slice();
        // Positions in the text lie behind those in what the regex reads, by two for a bad byte.
        let (mut read, mut start) = (0, 0);
        for found in self.regex.find_iter(readable.as_ref()) {
            let found = found.map_err(|error| Error::PatternBound {
                pattern: self.pattern.clone(),
                reason: error.to_string(),
            })?;
            if found.start() == found.end() && found.start() == read {
                continue;
            }
            if found.start() != read {
                break;
            }
            read = found.end();
            let passed = bad.iter().take_while(|&&at| at < read).count();
            bad = &bad[passed..];
            let end = start + found.as_str().len() - passed * (STAND_IN.len_utf8() - 1);
            if !each(&text[start..end]).goes_on() {
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

/// The text for a regex to read, and where in it a stand-in is for a byte that is not UTF-8.
pub(super) fn readable(text: &[u8]) -> (Cow<'_, str>, Vec<usize>) {
    if let Ok(text) = std::str::from_utf8(text) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut readable, mut bad, mut at) = (String::with_capacity(text.len()), Vec::new(), 0);
    while at < text.len() {
        match read_char(&text[at..]) {
            Some((point, length)) => {
                readable.push(char::from_u32(point).expect("read_char reads scalars"));
                at += length;
            }
            None => {
                bad.push(readable.len());
                readable.push(STAND_IN);
                at += 1;
            }
        }
    }
    (Cow::Owned(readable), bad)
}

/// The beginning of a text, for a message.
fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(20)]).into_owned()
}

/// Short texts that a pattern should cover: characters of every class, and those around the ones
/// that it names, alone and by twos and threes.
fn probes(pattern: &str) -> Vec<String> {
    let classes = " a1!\nZ中\u{301}'_\t\r\u{a0}/ǅʰ½²😀é\0\u{FFFD}\u{10FFFF}";
    let mut chars: Vec<char> = classes.chars().collect();
    for named in pattern.chars() {
        let around =
            [-1, 0, 1].map(|step| char::from_u32((named as u32).saturating_add_signed(step)));
        chars.extend(around.into_iter().flatten());
    }
    let mut known = std::collections::HashSet::new();
    chars.retain(|&c| known.insert(c));
    chars.truncate(96);

    let core: Vec<char> = classes.chars().take(10).collect();
    let ones = chars.iter().map(char::to_string);
    let twos = chars.iter().flat_map(|a| chars.iter().map(move |b| format!("{a}{b}")));
    let threes = core.iter().flat_map(|a| {
        core.iter().flat_map(|b| core.iter().map(move |c| format!("{a}{b}{c}"))).collect::<Vec<_>>()
    });
    ones.chain(twos).chain(threes).collect()
}
