//! Many needles in one pass: leftmost, then longest, then first listed.
//!
//! Whole words that begin with a character of a word are found by their first words; everything else by the
//! automaton of Aho and Corasick.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::automaton::OverlappingState;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::folded::{Folded, folded};
use super::words::Words;
use super::{NEEDLE_BYTES_MAX, NEEDLES_BYTES_MAX, NEEDLES_MAX, Options};
use crate::sys::error::Error;
use crate::sys::unicode::{CHARACTER_BYTES_MAX, is_word_after, is_word_before};

/// A match of one of many needles.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// Where it is.
    pub range: Range<usize>,
    /// The number of the needle, as they were listed.
    pub needle: usize,
}

/// Finds many needles in texts.
///
/// ```
/// use zeton::search::{FinderMany, Found, Options};
/// let many = FinderMany::new(&["New", "New York"], Options::default())?;
/// assert_eq!(many.find(b"in New York", 0), Some(Found { range: 3..11, needle: 1 }));
/// # Ok::<(), zeton::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FinderMany {
    rule: Rule,
    ignore_case: bool,
    words: Option<Words>,
    automaton: Option<Automaton>,
    /// Needles that are equal to one listed before them, by that one.
    doubles: HashMap<usize, Vec<usize>>,
    /// The bytes of the longest.
    bytes_max: usize,
}

/// Which of the stretches that are equal to a needle are matches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rule {
    All,
    WholeWords,
    /// Those that begin at a multiple of so many bytes.
    Aligned(usize),
}

impl Rule {
    fn allows(self, text: &[u8], range: &Range<usize>) -> bool {
        match self {
            Self::All => true,
            Self::WholeWords => {
                !is_word_before(text, range.start) && !is_word_after(text, range.end)
            }
            Self::Aligned(bytes) => range.start.is_multiple_of(bytes),
        }
    }
}

/// Places where matches begin that are looked for together at first, and at most.
const STARTS_MIN: usize = 1 << 8;
const STARTS_MAX: usize = 1 << 16;

/// Bytes that needles have at most to become one table, which takes up to a kilobyte for each.
const TABLE_BYTES_MAX: usize = 1 << 14;

/// Bytes that the characters of a match have at most for each byte of a folded needle.
const GROWTH: usize = 4;

impl FinderMany {
    /// Makes the tables of needles.
    ///
    /// # Errors
    ///
    /// When one is empty or too long, there are too many, or one is to be found whatever its case and
    /// is not UTF-8.
    pub fn new<N: AsRef<[u8]>>(needles: &[N], options: Options) -> Result<Self, Error> {
        let rule = if options.whole_word { Rule::WholeWords } else { Rule::All };
        let needles = needles.iter().map(AsRef::as_ref);
        Self::with_rule(needles, rule, options.ignore_case)
    }

    /// Makes the tables of needles that are ids, to be found in the bytes of arrays of ids of `bytes`
    /// bytes each, as this machine has them. One with an id that is wider is nowhere.
    ///
    /// # Errors
    ///
    /// As of [`Self::new`].
    pub fn of_ids<N: AsRef<[u32]>>(needles: &[N], bytes: usize) -> Result<Self, Error> {
        let spelled = needles.iter().map(|needle| -> Vec<u8> {
            let ids = needle.as_ref().iter();
            match bytes {
                2 => ids
                    .map(|&id| u16::try_from(id).map(u16::to_ne_bytes))
                    .collect::<Result<Vec<_>, _>>()
                    // As long as it should be, and at no place that is looked at.
                    .map_or_else(|_| Vec::new(), |ids| ids.concat()),
                _ => ids.flat_map(|id| id.to_ne_bytes()).collect(),
            }
        });
        let spelled: Vec<Vec<u8>> = spelled.collect();
        if needles.iter().any(|needle| needle.as_ref().is_empty()) {
            return Err(Error::EmptyNeedle);
        }
        Self::with_rule(spelled.iter().map(Vec::as_slice), Rule::Aligned(bytes), false)
    }

    fn with_rule<'n>(
        needles: impl ExactSizeIterator<Item = &'n [u8]>,
        rule: Rule,
        ignore_case: bool,
    ) -> Result<Self, Error> {
        if needles.len() > NEEDLES_MAX {
            return Err(Error::TooManyNeedles { needles: needles.len() });
        }
        let (mut numbers, mut doubles) = (HashMap::new(), HashMap::<usize, Vec<usize>>::new());
        let (mut bytes, mut bytes_max) = (0, 0);
        let mut listed: Vec<(Vec<u8>, usize)> = Vec::new();
        for (number, needle) in needles.enumerate() {
            // Ids that are too wide have no bytes, and are nowhere.
            if needle.is_empty() && matches!(rule, Rule::Aligned(_)) {
                continue;
            }
            if needle.is_empty() {
                return Err(Error::EmptyNeedle);
            }
            if needle.len() > NEEDLE_BYTES_MAX {
                let (length, most) = (needle.len(), NEEDLE_BYTES_MAX);
                return Err(Error::NeedleTooLong { length, most });
            }
            bytes += needle.len();
            if bytes > NEEDLES_BYTES_MAX {
                return Err(Error::NeedlesTooLong { bytes });
            }
            let needle = if ignore_case {
                folded(std::str::from_utf8(needle).map_err(|_| Error::NeedleNotUtf8)?)
            } else {
                needle.to_vec()
            };
            bytes_max = bytes_max.max(needle.len());
            match numbers.get(&needle) {
                Some(&first) => doubles.entry(first).or_default().push(number),
                None => {
                    numbers.insert(needle.clone(), number);
                    listed.push((needle, number));
                }
            }
        }
        let by_words = |needle: &[u8]| {
            rule == Rule::WholeWords && is_word_after(needle, 0) && str::from_utf8(needle).is_ok()
        };
        let (words, others): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|(needle, _)| by_words(needle));
        let words = (!words.is_empty())
            .then(|| Words::new(words.iter().map(|(needle, number)| (&needle[..], *number))));
        let automaton = (!others.is_empty()).then(|| Automaton::new(others));
        Ok(Self { rule, ignore_case, words, automaton, doubles, bytes_max })
    }

    /// The bytes that a match has at most.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        if self.ignore_case { self.bytes_max * GROWTH } else { self.bytes_max }
    }

    /// Returns the first match that begins at `from` or later: of those that begin there, the
    /// longest. Whole words are judged in all of the text, also before `from`.
    #[must_use]
    pub fn find(&self, text: &[u8], from: usize) -> Option<Found> {
        self.find_within(text, from..text.len())
    }

    /// The same, of those that begin within a range. No text far after it is read.
    #[must_use]
    pub fn find_within(&self, text: &[u8], starts: Range<usize>) -> Option<Found> {
        let starts = starts.start..starts.end.min(text.len());
        if starts.is_empty() {
            return None;
        }
        if !self.ignore_case {
            return self.find_exact(text, starts);
        }
        let mut buffer = Folded::default();
        self.find_by_steps(starts, |starts| {
            let (folded, starts) = self.fold(text, starts, &mut buffer);
            let found = self.find_exact(&folded.bytes, starts)?;
            Some(Found { range: in_text(folded, &found.range), needle: found.needle })
        })
    }

    /// Finds all matches that begin within a range, each after the end of the one before it.
    pub fn matches<'a>(
        &'a self,
        text: &'a [u8],
        starts: Range<usize>,
    ) -> impl Iterator<Item = Found> + 'a {
        let mut left = starts.start.min(text.len())..starts.end.min(text.len());
        // What is folded is kept until it is passed.
        let (mut buffer, mut places) = (Folded::default(), 0..0);
        std::iter::from_fn(move || {
            loop {
                if !self.ignore_case {
                    let found = self.find_within(text, left.clone())?;
                    left.start = found.range.end;
                    return Some(found);
                }
                if let Some(found) = self.find_exact(&buffer.bytes, places.clone()) {
                    places.start = found.range.end;
                    let range = in_text(&buffer, &found.range);
                    left.start = left.start.max(range.end);
                    return Some(Found { range, needle: found.needle });
                }
                if left.is_empty() {
                    return None;
                }
                let end = left.end.min(left.start + STARTS_MAX);
                places = self.fold(text, left.start..end, &mut buffer).1;
                left.start = end;
            }
        })
    }

    /// Appends all matches that begin within a range, overlapping ones and those of equal needles
    /// too: by their start, then the longest, then as listed.
    pub fn overlapping(&self, text: &[u8], starts: Range<usize>, all: &mut Vec<Found>) {
        let starts = starts.start..starts.end.min(text.len());
        let old = all.len();
        if !self.ignore_case {
            self.all_exact(text, starts, |range, needle| all.push(Found { range, needle }));
        } else {
            let mut buffer = Folded::default();
            let mut from = starts.start;
            while from < starts.end {
                let end = starts.end.min(from + STARTS_MAX);
                let (folded, starts) = self.fold(text, from..end, &mut buffer);
                self.all_exact(&folded.bytes, starts, |range, needle| {
                    all.push(Found { range: in_text(folded, &range), needle });
                });
                from = end;
            }
        }
        all[old..]
            .sort_by_key(|found| (found.range.start, usize::MAX - found.range.end, found.needle));
    }

    /// Appends the longest match at every place of a range where one begins, if that takes little
    /// more than finding the first; says whether it has.
    pub(crate) fn longest_within(
        &self,
        text: &[u8],
        starts: Range<usize>,
        all: &mut Vec<Range<usize>>,
    ) -> bool {
        let (Some(words), None, false) = (&self.words, &self.automaton, self.ignore_case) else {
            return false;
        };
        // Of one place they come from the shortest on.
        words.all(text, starts, |range, _| match all.last_mut() {
            Some(last) if last.start == range.start => *last = range,
            _ => all.push(range),
        });
        true
    }

    /// Looks for a match in steps that grow, so that none looks much farther than the match is.
    fn find_by_steps(
        &self,
        starts: Range<usize>,
        mut find: impl FnMut(Range<usize>) -> Option<Found>,
    ) -> Option<Found> {
        let (mut from, mut step) = (starts.start, STARTS_MIN);
        while from < starts.end {
            let end = starts.end.min(from.saturating_add(step));
            if let Some(found) = find(from..end) {
                return Some(found);
            }
            (from, step) = (end, STARTS_MAX.min(step * 2));
        }
        None
    }

    /// Folds as much text as matches that begin within a range may be in, and a character before
    /// and after; returns where they begin in what is folded.
    fn fold<'f>(
        &self,
        text: &[u8],
        starts: Range<usize>,
        folded: &'f mut Folded,
    ) -> (&'f Folded, Range<usize>) {
        let before = starts.start.saturating_sub(CHARACTER_BYTES_MAX);
        let after = starts.end.saturating_add(self.bytes_max() + CHARACTER_BYTES_MAX);
        folded.fill(text, before..starts.start);
        let first = folded.bytes.len();
        // No character is cut in two; no needle begins inside of one.
        let goes_on = |place: &usize| text.get(*place).is_some_and(|byte| byte & 0xC0 == 0x80);
        let rest = (starts.end..starts.end + CHARACTER_BYTES_MAX - 1).take_while(goes_on);
        let end = starts.end + rest.count();
        folded.extend(text, starts.start..end);
        let last = folded.bytes.len();
        folded.extend(text, end..after.min(text.len()).max(end));
        (folded, first..last)
    }

    fn find_exact(&self, text: &[u8], starts: Range<usize>) -> Option<Found> {
        if starts.is_empty() {
            return None;
        }
        let by_words = |words: &Words, starts| {
            words.find(text, starts).map(|(range, needle)| Found { range, needle })
        };
        match (&self.words, &self.automaton) {
            (Some(words), None) => by_words(words, starts),
            (None, Some(automaton)) => automaton.find(text, starts, self.bytes_max, self.rule),
            // One of them may find something at every place and the other nothing at all.
            (Some(words), Some(automaton)) => self.find_by_steps(starts, |starts| {
                let other = automaton.find(text, starts.clone(), self.bytes_max, self.rule);
                let end = other.as_ref().map_or(starts.end, |found| found.range.start);
                by_words(words, starts.start..end).or(other)
            }),
            (None, None) => None,
        }
    }

    fn all_exact(
        &self,
        text: &[u8],
        starts: Range<usize>,
        mut each: impl FnMut(Range<usize>, usize),
    ) {
        let mut each = |range: Range<usize>, needle: usize| {
            for &double in self.doubles.get(&needle).into_iter().flatten() {
                each(range.clone(), double);
            }
            each(range, needle);
        };
        if let Some(words) = &self.words {
            words.all(text, starts.clone(), &mut each);
        }
        if let Some(automaton) = &self.automaton {
            automaton.all(text, starts, self.bytes_max, self.rule, each);
        }
    }
}

/// Where a match in folded text is in the text.
fn in_text(folded: &Folded, range: &Range<usize>) -> Range<usize> {
    folded.place(range.start)..folded.place(range.end)
}

/// Needles as automata, made when they are needed.
#[derive(Clone, Debug)]
struct Automaton {
    needles: Vec<(Vec<u8>, usize)>,
    /// Finds the longest of the leftmost.
    leftmost: OnceLock<AhoCorasick>,
    /// Finds all.
    all: OnceLock<AhoCorasick>,
}

impl Automaton {
    fn new(needles: Vec<(Vec<u8>, usize)>) -> Self {
        Self { needles, leftmost: OnceLock::new(), all: OnceLock::new() }
    }

    fn made(&self, kind: MatchKind) -> &AhoCorasick {
        let made = if kind == MatchKind::Standard { &self.all } else { &self.leftmost };
        made.get_or_init(|| {
            let needles = self.needles.iter().map(|(needle, _)| needle);
            let bytes: usize = self.needles.iter().map(|(needle, _)| needle.len()).sum();
            let table = (bytes <= TABLE_BYTES_MAX).then_some(AhoCorasickKind::DFA);
            let made = AhoCorasick::builder().match_kind(kind).kind(table).build(needles);
            made.expect("needles are bounded in number and length")
        })
    }

    fn find(
        &self,
        text: &[u8],
        starts: Range<usize>,
        bytes_max: usize,
        rule: Rule,
    ) -> Option<Found> {
        let read = text.len().min(starts.end.saturating_add(bytes_max - 1));
        let mut input = Input::new(text).range(starts.start.min(read)..read);
        if rule == Rule::All {
            let found = self.made(MatchKind::LeftmostLongest).find(input)?;
            let needle = self.needles[found.pattern().as_usize()].1;
            return (found.start() < starts.end).then(|| Found { range: found.range(), needle });
        }
        // Matches come by their ends. Nothing that ends after `bytes_max` begins as early.
        let (automaton, mut state) = (self.made(MatchKind::Standard), OverlappingState::start());
        let mut best: Option<Found> = None;
        loop {
            automaton.find_overlapping(input.clone(), &mut state);
            let Some(found) = state.get_match() else { return best };
            let is_better = best.as_ref().is_none_or(|best| found.start() <= best.range.start);
            if is_better && found.start() < starts.end && rule.allows(text, &found.range()) {
                let needle = self.needles[found.pattern().as_usize()].1;
                best = Some(Found { range: found.range(), needle });
                input.set_end(read.min(found.start() + bytes_max));
            }
        }
    }

    fn all(
        &self,
        text: &[u8],
        starts: Range<usize>,
        bytes_max: usize,
        rule: Rule,
        mut each: impl FnMut(Range<usize>, usize),
    ) {
        let read = text.len().min(starts.end.saturating_add(bytes_max - 1));
        let input = Input::new(text).range(starts.start.min(read)..read);
        for found in self.made(MatchKind::Standard).find_overlapping_iter(input) {
            if found.start() < starts.end && rule.allows(text, &found.range()) {
                each(found.range(), self.needles[found.pattern().as_usize()].1);
            }
        }
    }
}
