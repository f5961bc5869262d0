//! Runs of a script cut into the words of a lexicon, and runs of certain characters into groups.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use regex_syntax::hir::ClassUnicode;

use super::PieceRule;
use crate::pattern::rules::{CharGroup, LexiconPath, Rules};
use crate::sys::unicode::{CodePointMap, read_char};

/// The rules for runs, and which of them a character belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// 0 for characters of no run, and else one more than the number of the rule.
    points: CodePointMap,
    /// Whether a byte may begin a character of a run.
    begins: Box<[bool; 256]>,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
enum Rule {
    Lexicon { number: usize, words: Words, way: LexiconPath },
    Group { number: usize, size: usize, start: usize },
}

impl Runs {
    /// Reads rules; `None` if there are no runs.
    pub(crate) fn of(rules: &Rules) -> Option<Self> {
        let sets: Vec<_> = rules.run_sets().into_iter().map(|(_, set)| set).collect();
        if sets.is_empty() {
            return None;
        }
        let lexicons = rules.lexicon.iter().enumerate().map(|(number, lexicon)| Rule::Lexicon {
            number,
            words: Words::of(&lexicon.words),
            way: lexicon.path,
        });
        let groups = rules.groups.iter().enumerate();
        let groups = groups.map(|(number, &CharGroup { size, start, .. })| Rule::Group {
            number,
            size,
            start,
        });
        let mut begins = Box::new([false; 256]);
        for range in sets.iter().flat_map(ClassUnicode::ranges) {
            for first in first_byte(range.start())..=first_byte(range.end()) {
                begins[first as usize] = true;
            }
        }
        Some(Self {
            points: CodePointMap::from_sets(&sets),
            begins,
            rules: lexicons.chain(groups).collect(),
        })
    }

    /// The number of the rule that takes a character.
    pub(crate) fn rule_of(&self, point: u32) -> Option<usize> {
        usize::from(self.points.class_of(point)).checked_sub(1)
    }

    /// Returns the first run from a place on, and its rule.
    pub(crate) fn next(&self, text: &[u8], from: usize) -> Option<(Range<usize>, usize)> {
        let mut at = from;
        loop {
            at += self.skip(&text[at..])?;
            match self.read(&text[at..]) {
                Some((rule, length)) => {
                    let mut end = at + length;
                    while let Some((next, length)) = self.read(&text[end..])
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

    /// Returns where a character of a run may begin.
    fn skip(&self, text: &[u8]) -> Option<usize> {
        const BYTES: usize = 32;
        let ascii = if self.begins[..128].contains(&true) {
            0
        } else {
            text.chunks_exact(BYTES).take_while(|bytes| bytes.is_ascii()).count() * BYTES
        };
        let rest = text[ascii..].iter().position(|&byte| self.begins[byte as usize])?;
        Some(ascii + rest)
    }

    /// The rule of the character at the start, and its length.
    #[inline]
    fn read(&self, text: &[u8]) -> Option<(usize, usize)> {
        let (point, length) = read_char(text)?;
        Some((self.rule_of(point)?, length))
    }

    /// Cuts a run by its rule; returns whether to go on.
    pub(crate) fn cut<'t>(
        &self,
        rule: usize,
        run: &'t [u8],
        each: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> bool {
        match &self.rules[rule] {
            Rule::Group { number, size, start } => {
                cut_groups(run, *size, *start, |piece| each(piece, PieceRule::Group(*number)))
            }
            Rule::Lexicon { number, words, way: LexiconPath::Longest } => {
                join_unknown(run, *number, |at| words.longest(&run[at..]), each)
            }
            Rule::Lexicon { number, words, way: LexiconPath::Fewest } => {
                let path = words.fewest(run);
                join_unknown(run, *number, |at| path[at], each)
            }
        }
    }
}

fn first_byte(c: char) -> u8 {
    let mut bytes = [0; 4];
    c.encode_utf8(&mut bytes);
    bytes[0]
}

/// Cuts a run into groups of `size` characters, with one of `start` before them.
fn cut_groups<'t>(
    run: &'t [u8],
    size: usize,
    start: usize,
    mut each: impl FnMut(&'t [u8]) -> bool,
) -> bool {
    let (mut from, mut left) = (0, if start > 0 { start } else { size });
    for (at, _) in run.iter().enumerate().filter(|(_, byte)| *byte & 0xC0 != 0x80) {
        if left == 0 {
            if !each(&run[from..at]) {
                return false;
            }
            (from, left) = (at, size);
        }
        left -= 1;
    }
    each(&run[from..])
}

/// Cuts a run into the words that `word_at` finds, by their lengths; what is between them stays
/// together.
fn join_unknown<'t>(
    run: &'t [u8],
    number: usize,
    word_at: impl Fn(usize) -> usize,
    each: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
) -> bool {
    let (mut start, mut at) = (0, 0);
    while at < run.len() {
        match word_at(at) {
            0 => at += read_char(&run[at..]).map_or(1, |(_, length)| length),
            length => {
                if start < at && !each(&run[start..at], PieceRule::Unknown(number)) {
                    return false;
                }
                if !each(&run[at..at + length], PieceRule::Lexicon(number)) {
                    return false;
                }
                at += length;
                start = at;
            }
        }
    }
    start == at || each(&run[start..], PieceRule::Unknown(number))
}

/// The words of a lexicon, as a trie of characters.
#[derive(Clone, Debug)]
struct Words {
    /// From a node and a character to the next node, and whether a word ends there.
    steps: HashMap<(u32, u32), (u32, bool), RandomState>,
}

impl Words {
    fn of(words: &[String]) -> Self {
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

    /// Calls `each` with the lengths of the words at the start of a text, the shortest first.
    #[inline]
    fn each(&self, text: &[u8], mut each: impl FnMut(usize)) {
        let (mut node, mut at) = (0, 0);
        while let Some((point, length)) = read_char(&text[at..])
            && let Some(&(next, ends)) = self.steps.get(&(node, point))
        {
            at += length;
            node = next;
            if ends {
                each(at);
            }
        }
    }

    /// The length of the longest word at the start of a text; 0 if there is none.
    fn longest(&self, text: &[u8]) -> usize {
        let mut longest = 0;
        self.each(text, |length| longest = length);
        longest
    }

    /// The length of the word to take at each place of a run for as few parts as may be, 0 for an
    /// unknown character. Of equal ways, the fewest unknown characters, then the longer part first.
    fn fewest(&self, run: &[u8]) -> Vec<usize> {
        // From each place on: the parts to the end, and the unknown characters among them.
        let mut costs = vec![(0_u32, 0_u32); run.len() + 1];
        let mut lengths = vec![0; run.len()];
        for at in (0..run.len()).rev().filter(|&at| run[at] & 0xC0 != 0x80) {
            let next = at + read_char(&run[at..]).map_or(1, |(_, length)| length);
            let mut best = (costs[next].0 + 1, costs[next].1 + 1);
            self.each(&run[at..], |length| {
                let (parts, unknown) = costs[at + length];
                // Longer ones come later, and win where all else is equal.
                if (parts + 1, unknown) <= best {
                    (best, lengths[at]) = ((parts + 1, unknown), length);
                }
            });
            costs[at] = best;
        }
        lengths
    }
}
