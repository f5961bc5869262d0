//! Runs: text of one script, cut into the words of a lexicon, and text of certain characters, cut
//! into groups.
//!
//! A run is a maximal range of characters that belong to one rule. A lexicon is a trie of
//! characters, and a run takes one of two paths through it. For example, with the words `ab`, `abc`
//! and `cd`:
//!
//! ```text
//! run "abcd"   longest word first   abc | d        d is unknown
//!              fewest parts         ab | cd        also two parts, none of them unknown
//! run "xyab"   both                 xy | ab        unknown characters stay together
//! ```
//!
//! Text outside of runs is skipped by first bytes, 32 bytes of ASCII at a time if no rule has
//! ASCII: a Thai lexicon on English went from 428 to 670 MB/s (`docs/notes/rules.md`).

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use regex_syntax::hir::ClassUnicode;

use super::PieceRule;
use crate::pattern::rules::{CharGroup, LexiconPath, Rules};
use crate::sys::unicode::{CodePointMap, read_char};

/// The rules for runs, and the rule of each character.
#[derive(Clone, Debug)]
pub(crate) struct RunRules {
    /// For each code point 0, or one more than the number of its rule.
    rule_numbers: CodePointMap,
    /// Whether a character of a run may begin with a byte.
    first_bytes: Box<[bool; 256]>,
    rules: Vec<RunRule>,
}

/// The rule of a kind of run. `number` is its index in the list of lexicons or groups.
#[derive(Clone, Debug)]
enum RunRule {
    Lexicon { number: usize, words: LexiconTrie, path: LexiconPath },
    Group { number: usize, size: usize, start: usize },
}

impl RunRules {
    /// Builds the rules of runs from lexicons and groups, with the table that gives each character
    /// its rule. Returns `None` if there are neither, so that text has no runs.
    pub(crate) fn recognise(rules: &Rules) -> Option<Self> {
        let sets: Vec<_> = rules.run_sets().into_iter().map(|(_, set)| set).collect();
        if sets.is_empty() {
            return None;
        }
        let lexicons = rules.lexicon.iter().enumerate().map(|(number, lexicon)| RunRule::Lexicon {
            number,
            words: LexiconTrie::new(&lexicon.words),
            path: lexicon.path,
        });
        let groups = rules.groups.iter().enumerate();
        let groups = groups.map(|(number, &CharGroup { size, start, .. })| RunRule::Group {
            number,
            size,
            start,
        });
        let mut first_bytes = Box::new([false; 256]);
        for range in sets.iter().flat_map(ClassUnicode::ranges) {
            for first in first_byte(range.start())..=first_byte(range.end()) {
                first_bytes[first as usize] = true;
            }
        }
        Some(Self {
            rule_numbers: CodePointMap::from_sets(&sets),
            first_bytes,
            rules: lexicons.chain(groups).collect(),
        })
    }

    /// Returns the number of the rule of runs that a character belongs to; `None` if it is in no
    /// run.
    pub(crate) fn rule_of(&self, point: u32) -> Option<usize> {
        usize::from(self.rule_numbers.class_of(point)).checked_sub(1)
    }

    /// Returns the first run that starts at `from` or later, and the number of its rule. The layers
    /// split the text before it by the pattern.
    pub(crate) fn find_run(&self, text: &[u8], from: usize) -> Option<(Range<usize>, usize)> {
        let mut at = from;
        loop {
            at += self.find_first_byte(&text[at..])?;
            match self.read_rule(&text[at..]) {
                Some((rule, length)) => {
                    let mut end = at + length;
                    while let Some((next, length)) = self.read_rule(&text[end..])
                        && next == rule
                    {
                        end += length;
                    }
                    return Some((at..end, rule));
                }
                None => at += 1,
            }
        }
    }

    /// Returns the first position where a character of a run may begin. `None` if no such byte is
    /// left.
    fn find_first_byte(&self, text: &[u8]) -> Option<usize> {
        const ASCII_BYTES: usize = 32;
        let ascii = if self.first_bytes[..128].contains(&true) {
            0
        } else {
            text.chunks_exact(ASCII_BYTES).take_while(|bytes| bytes.is_ascii()).count()
                * ASCII_BYTES
        };
        let rest = text[ascii..].iter().position(|&byte| self.first_bytes[byte as usize])?;
        Some(ascii + rest)
    }

    /// Reads the first character of a text: returns the number of its rule of runs, and its length
    /// in bytes. `None` if it is in no run, or is not UTF-8.
    #[inline]
    fn read_rule(&self, text: &[u8]) -> Option<(usize, usize)> {
        let (point, length) = read_char(text)?;
        Some((self.rule_of(point)?, length))
    }

    /// Cuts a run into pieces by its rule, and calls `visit` with each. Returns false if `visit`
    /// has refused a piece; then the caller stops.
    pub(crate) fn cut_run<'t>(
        &self,
        rule: usize,
        run: &'t [u8],
        visit: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> bool {
        match &self.rules[rule] {
            RunRule::Group { number, size, start } => {
                cut_groups(run, *size, *start, |piece| visit(piece, PieceRule::Group(*number)))
            }
            RunRule::Lexicon { number, words, path: LexiconPath::Longest } => {
                cut_words(run, *number, |at| words.find_longest(&run[at..]), visit)
            }
            RunRule::Lexicon { number, words, path: LexiconPath::Fewest } => {
                let lengths = words.find_fewest(run);
                cut_words(run, *number, |at| lengths[at], visit)
            }
        }
    }
}

/// Returns the first byte of a character in UTF-8, for the table of bytes that may begin a run.
fn first_byte(c: char) -> u8 {
    let mut bytes = [0; 4];
    c.encode_utf8(&mut bytes);
    bytes[0]
}

/// Cuts a run into groups of `size` characters, after a first group of `start` characters if
/// `start` is not 0, and calls `visit` with each. Returns false if `visit` has refused one.
fn cut_groups<'t>(
    run: &'t [u8],
    size: usize,
    start: usize,
    mut visit: impl FnMut(&'t [u8]) -> bool,
) -> bool {
    let (mut from, mut left) = (0, if start > 0 { start } else { size });
    for (at, _) in run.iter().enumerate().filter(|(_, byte)| *byte & 0xC0 != 0x80) {
        if left == 0 {
            if !visit(&run[from..at]) {
                return false;
            }
            (from, left) = (at, size);
        }
        left -= 1;
    }
    visit(&run[from..])
}

/// Cuts a run into words, and ranges between words. `word_at` returns the length of the word that
/// starts at a position, or 0.
fn cut_words<'t>(
    run: &'t [u8],
    number: usize,
    word_at: impl Fn(usize) -> usize,
    visit: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
) -> bool {
    let (mut start, mut at) = (0, 0);
    while at < run.len() {
        match word_at(at) {
            0 => at += read_char(&run[at..]).map_or(1, |(_, length)| length),
            length => {
                if start < at && !visit(&run[start..at], PieceRule::Unknown(number)) {
                    return false;
                }
                if !visit(&run[at..at + length], PieceRule::Lexicon(number)) {
                    return false;
                }
                at += length;
                start = at;
            }
        }
    }
    start == at || visit(&run[start..], PieceRule::Unknown(number))
}

/// The words of a lexicon, as a trie of characters. Node 0 is the root.
#[derive(Clone, Debug)]
struct LexiconTrie {
    /// From a node and a character to the next node, and whether a word ends there.
    steps: HashMap<(u32, u32), (u32, bool), RandomState>,
}

impl LexiconTrie {
    fn new(words: &[String]) -> Self {
        let mut steps: HashMap<(u32, u32), (u32, bool), RandomState> = HashMap::default();
        let mut nodes = 1;
        for word in words {
            let (mut node, mut last) = (0, None);
            for c in word.chars() {
                let key = (node, c as u32);
                let (next, _) = steps.entry(key).or_insert_with(|| {
                    nodes += 1;
                    (nodes - 1, false)
                });
                (node, last) = (*next, Some(key));
            }
            if let Some((_, ends)) = last.and_then(|key| steps.get_mut(&key)) {
                *ends = true;
            }
        }
        Self { steps }
    }

    /// Calls `visit` with the length in bytes of each word of the lexicon at the start of a text,
    /// shortest first.
    #[inline]
    fn visit_words(&self, text: &[u8], mut visit: impl FnMut(usize)) {
        let (mut node, mut at) = (0, 0);
        while let Some((point, length)) = read_char(&text[at..])
            && let Some(&(next, ends)) = self.steps.get(&(node, point))
        {
            at += length;
            node = next;
            if ends {
                visit(at);
            }
        }
    }

    /// Returns the length in bytes of the longest word of the lexicon at the start of a text; 0 if
    /// there is none.
    fn find_longest(&self, text: &[u8]) -> usize {
        let mut longest = 0;
        self.visit_words(text, |length| longest = length);
        longest
    }

    /// Returns for each position of a run the length of the word to take, for the fewest parts; 0
    /// for an unknown character.
    ///
    /// Of paths with equally many parts, the one with the fewest unknown characters wins, then the
    /// one with the longer word first. Dynamic programming from the end of the run: time is linear
    /// in the run times the longest word.
    fn find_fewest(&self, run: &[u8]) -> Vec<usize> {
        // For each position: the number of parts to the end, and of unknown characters among them.
        let mut costs = vec![(0_u32, 0_u32); run.len() + 1];
        let mut lengths = vec![0; run.len()];
        for at in (0..run.len()).rev().filter(|&at| run[at] & 0xC0 != 0x80) {
            let next = at + read_char(&run[at..]).map_or(1, |(_, length)| length);
            let mut best = (costs[next].0 + 1, costs[next].1 + 1);
            self.visit_words(&run[at..], |length| {
                let (parts, unknown) = costs[at + length];
                // Longer words come later, and win ties.
                if (parts + 1, unknown) <= best {
                    (best, lengths[at]) = ((parts + 1, unknown), length);
                }
            });
            costs[at] = best;
        }
        lengths
    }
}
