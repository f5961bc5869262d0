//! A finder for many needles in one pass: the leftmost match, then the longest, then the first
//! listed.
//!
//! Two algorithms share the needles. A whole word that begins with a word character is found by the
//! [`WordTable`]: its first word is looked up at each word of the text. All other needles are found
//! by the automaton of Aho and Corasick (the crate `aho-corasick`). For example:
//!
//! ```text
//! text      in New York
//! 0            └─┘              "New"
//! 1            └──────┘         "New York": the longest of the leftmost matches
//! 2                └──┘         "York"
//! ```
//!
//! Case-insensitive text is folded range by range, and positions are mapped back.
//!
//! Cost, in GB/s on enwik8 (`docs/search.md`, `docs/notes/search.md`):
//!
//! | needles | whole words | anywhere |
//! |---|---|---|
//! | 10 | 1.2 | 5.8 |
//! | 1,000 | 0.94 | 0.34 |
//! | 10,000 | 0.8–0.9 | 0.08 |

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::automaton::OverlappingState;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::folded_text::{FOLD_GROWTH_MAX, FoldedText, fold_needle};
use super::word_table::WordTable;
use super::{NEEDLE_BYTES_MAX, NEEDLES_BYTES_MAX, NEEDLES_MAX, SearchOptions};
use crate::sys::error::Error;
use crate::sys::unicode::{CHARACTER_BYTES_MAX, is_word_after, is_word_before};

/// A match of one of many needles.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NeedleMatch {
    /// The range of the match in the text.
    pub range: Range<usize>,
    /// The index of the needle in the list.
    pub needle: usize,
}

/// Finds many needles in texts.
///
/// ```
/// use zeton::search::{FinderMany, NeedleMatch, SearchOptions};
/// let many = FinderMany::try_from_needles(&["New", "New York"], SearchOptions::default())?;
/// assert_eq!(many.find(b"in New York", 0), Some(NeedleMatch { range: 3..11, needle: 1 }));
/// # Ok::<(), zeton::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FinderMany {
    filter: MatchFilter,
    ignore_case: bool,
    words: Option<WordTable>,
    automaton: Option<AnywhereFinder>,
    /// The needles that equal one listed before, by the index of that one.
    duplicates: HashMap<usize, Vec<usize>>,
    /// The length of the longest needle in bytes.
    bytes_max: usize,
}

/// The condition under which bytes that equal a needle are a match.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MatchFilter {
    All,
    WholeWords,
    /// The match starts at a multiple of this number of bytes.
    Aligned(usize),
}

impl MatchFilter {
    /// Returns whether a range of the text that equals a needle is a match: all are, whole words
    /// only, or ranges that start at a multiple of an id's bytes.
    fn accepts(self, text: &[u8], range: &Range<usize>) -> bool {
        match self {
            Self::All => true,
            Self::WholeWords => {
                !is_word_before(text, range.start) && !is_word_after(text, range.end)
            }
            Self::Aligned(bytes) => range.start.is_multiple_of(bytes),
        }
    }
}

/// Bytes of text whose matches are searched together: at first, and at most. Not measured.
const STARTS_MIN: usize = 1 << 8;
const STARTS_MAX: usize = 1 << 16;

/// Maximum length of all needles for one DFA, which takes up to 1 KiB for each byte: 16 MiB. A DFA
/// for 1,000 needles is 3.4 times as fast as the automaton with failure links; one for 10,000 is no
/// faster, because it leaves the cache (`docs/notes/search.md`).
const DFA_BYTES_MAX: usize = 1 << 14;

impl FinderMany {
    /// Builds the tables of needles.
    ///
    /// # Errors
    ///
    /// If a needle is empty or too long, or is case-insensitive and not UTF-8, or if there are too
    /// many.
    pub fn try_from_needles<N: AsRef<[u8]>>(
        needles: &[N],
        options: SearchOptions,
    ) -> Result<Self, Error> {
        let filter = if options.whole_word { MatchFilter::WholeWords } else { MatchFilter::All };
        let needles = needles.iter().map(AsRef::as_ref);
        Self::with_filter(needles, filter, options.ignore_case)
    }

    /// Builds the tables of needles that are ids, for the bytes of arrays with `bytes` bytes an id,
    /// in this machine's byte order. A needle with a wider id has no match.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::try_from_needles`].
    pub fn try_from_ids<N: AsRef<[u32]>>(needles: &[N], bytes: usize) -> Result<Self, Error> {
        let spelled = needles.iter().map(|needle| -> Vec<u8> {
            let ids = needle.as_ref().iter();
            match bytes {
                2 => ids
                    .map(|&id| u16::try_from(id).map(u16::to_ne_bytes))
                    .collect::<Result<Vec<_>, _>>()
                    // A needle with an id of more than 16 bits has no bytes, and is left out.
                    .map_or_else(|_| Vec::new(), |ids| ids.concat()),
                _ => ids.flat_map(|id| id.to_ne_bytes()).collect(),
            }
        });
        let spelled: Vec<Vec<u8>> = spelled.collect();
        if needles.iter().any(|needle| needle.as_ref().is_empty()) {
            return Err(Error::EmptyNeedle);
        }
        Self::with_filter(spelled.iter().map(Vec::as_slice), MatchFilter::Aligned(bytes), false)
    }

    /// Checks the bounds of needles, joins equal ones, and divides them between the two algorithms.
    /// Both public constructors end in it. A needle out of bounds is an error.
    fn with_filter<'n>(
        needles: impl ExactSizeIterator<Item = &'n [u8]>,
        filter: MatchFilter,
        ignore_case: bool,
    ) -> Result<Self, Error> {
        if needles.len() > NEEDLES_MAX {
            return Err(Error::TooManyNeedles { needles: needles.len() });
        }
        let (mut numbers, mut duplicates) = (HashMap::new(), HashMap::<usize, Vec<usize>>::new());
        let (mut bytes, mut bytes_max) = (0, 0);
        let mut listed: Vec<(Vec<u8>, usize)> = Vec::new();
        for (number, needle) in needles.enumerate() {
            // A needle of ids that are too wide: it has no match.
            if needle.is_empty() && matches!(filter, MatchFilter::Aligned(_)) {
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
                fold_needle(std::str::from_utf8(needle).map_err(|_| Error::NeedleNotUtf8)?)
            } else {
                needle.to_vec()
            };
            bytes_max = bytes_max.max(needle.len());
            match numbers.get(&needle) {
                Some(&first) => duplicates.entry(first).or_default().push(number),
                None => {
                    numbers.insert(needle.clone(), number);
                    listed.push((needle, number));
                }
            }
        }
        let by_words = |needle: &[u8]| {
            filter == MatchFilter::WholeWords
                && is_word_after(needle, 0)
                && str::from_utf8(needle).is_ok()
        };
        let (words, others): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|(needle, _)| by_words(needle));
        let words = (!words.is_empty())
            .then(|| WordTable::new(words.iter().map(|(needle, number)| (&needle[..], *number))));
        let automaton = (!others.is_empty()).then(|| AnywhereFinder::new(others));
        Ok(Self { filter, ignore_case, words, automaton, duplicates, bytes_max })
    }

    /// Returns the maximum length of a match in bytes of the text. Without case it is above the
    /// longest needle's, because folding may shorten a character.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        if self.ignore_case { self.bytes_max * FOLD_GROWTH_MAX } else { self.bytes_max }
    }

    /// Returns the first match that starts at `from` or later, and of these the longest. The text
    /// before `from` still decides whether a match is a whole word.
    #[must_use]
    pub fn find(&self, text: &[u8], from: usize) -> Option<NeedleMatch> {
        self.find_within(text, from..text.len())
    }

    /// Returns the first match that starts within `starts`, and of these the longest. It reads at
    /// most [`Self::bytes_max`] bytes behind `starts`.
    #[must_use]
    pub fn find_within(&self, text: &[u8], starts: Range<usize>) -> Option<NeedleMatch> {
        let starts = starts.start..starts.end.min(text.len());
        if starts.is_empty() {
            return None;
        }
        if !self.ignore_case {
            return self.find_exact(text, starts);
        }
        let mut buffer = FoldedText::default();
        self.find_in_steps(starts, |starts| {
            let (folded, starts) = self.fold(text, starts, &mut buffer);
            let found = self.find_exact(&folded.bytes, starts)?;
            Some(NeedleMatch { range: to_text_range(folded, &found.range), needle: found.needle })
        })
    }

    /// Returns all matches that start within the range `starts` of bytes, each behind the one
    /// before it. Each is searched when it is asked for.
    pub fn matches<'a>(
        &'a self,
        text: &'a [u8],
        starts: Range<usize>,
    ) -> impl Iterator<Item = NeedleMatch> + 'a {
        let mut left = starts.start.min(text.len())..starts.end.min(text.len());
        // A folded range is kept until all its matches are visited.
        let (mut buffer, mut places) = (FoldedText::default(), 0..0);
        std::iter::from_fn(move || {
            loop {
                if !self.ignore_case {
                    let found = self.find_within(text, left.clone())?;
                    left.start = found.range.end;
                    return Some(found);
                }
                if let Some(found) = self.find_exact(&buffer.bytes, places.clone()) {
                    places.start = found.range.end;
                    let range = to_text_range(&buffer, &found.range);
                    left.start = left.start.max(range.end);
                    return Some(NeedleMatch { range, needle: found.needle });
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

    /// Appends all matches that start within a range, also overlapping ones and equal needles: by
    /// start, then the longest, then as listed.
    pub fn overlapping(&self, text: &[u8], starts: Range<usize>, all: &mut Vec<NeedleMatch>) {
        let starts = starts.start..starts.end.min(text.len());
        let old = all.len();
        if !self.ignore_case {
            self.visit_all_exact(text, starts, |range, needle| {
                all.push(NeedleMatch { range, needle });
            });
        } else {
            let mut buffer = FoldedText::default();
            let mut from = starts.start;
            while from < starts.end {
                let end = starts.end.min(from + STARTS_MAX);
                let (folded, starts) = self.fold(text, from..end, &mut buffer);
                self.visit_all_exact(&folded.bytes, starts, |range, needle| {
                    all.push(NeedleMatch { range: to_text_range(folded, &range), needle });
                });
                from = end;
            }
        }
        all[old..]
            .sort_by_key(|found| (found.range.start, usize::MAX - found.range.end, found.needle));
    }

    /// Appends the longest match at each position of a range where one starts. Does nothing and
    /// returns `false` if that takes much more than finding the first. A scan of literals calls it
    /// for many matches at once.
    pub(crate) fn longest_within(
        &self,
        text: &[u8],
        starts: Range<usize>,
        all: &mut Vec<Range<usize>>,
    ) -> bool {
        let (Some(words), None, false) = (&self.words, &self.automaton, self.ignore_case) else {
            return false;
        };
        // The matches of one position come from the shortest to the longest.
        words.visit_all(text, starts, |range, _| match all.last_mut() {
            Some(last) if last.start == range.start => *last = range,
            _ => all.push(range),
        });
        true
    }

    /// Searches in steps that grow, so that no search reads much farther than the match. A step has
    /// twice the length of the step before, up to [`STARTS_MAX`].
    fn find_in_steps(
        &self,
        starts: Range<usize>,
        mut find: impl FnMut(Range<usize>) -> Option<NeedleMatch>,
    ) -> Option<NeedleMatch> {
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

    /// Folds the text that matches with a start in a range can cover, and one character before and
    /// behind it. Returns the folded range of their starts. The text goes into `folded`, whose old
    /// content is dropped.
    fn fold<'f>(
        &self,
        text: &[u8],
        starts: Range<usize>,
        folded: &'f mut FoldedText,
    ) -> (&'f FoldedText, Range<usize>) {
        let before = starts.start.saturating_sub(CHARACTER_BYTES_MAX);
        let after = starts.end.saturating_add(self.bytes_max() + CHARACTER_BYTES_MAX);
        folded.fill(text, before..starts.start);
        let first = folded.bytes.len();
        // No character is divided, and no needle starts inside of one.
        let is_continuation = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
        let rest = (starts.end..starts.end + CHARACTER_BYTES_MAX - 1).take_while(is_continuation);
        let end = starts.end + rest.count();
        folded.extend(text, starts.start..end);
        let last = folded.bytes.len();
        folded.extend(text, end..after.min(text.len()).max(end));
        (folded, first..last)
    }

    /// Returns the first match in text that is compared as it is: unfolded, or folded by the
    /// caller.
    fn find_exact(&self, text: &[u8], starts: Range<usize>) -> Option<NeedleMatch> {
        if starts.is_empty() {
            return None;
        }
        let by_words = |words: &WordTable, starts| {
            words.find(text, starts).map(|(range, needle)| NeedleMatch { range, needle })
        };
        match (&self.words, &self.automaton) {
            (Some(words), None) => by_words(words, starts),
            (None, Some(automaton)) => {
                automaton.find_first(text, starts, self.bytes_max, self.filter)
            }
            // One of them may match everywhere and the other nowhere.
            (Some(words), Some(automaton)) => self.find_in_steps(starts, |starts| {
                let other = automaton.find_first(text, starts.clone(), self.bytes_max, self.filter);
                let end = other.as_ref().map_or(starts.end, |found| found.range.start);
                by_words(words, starts.start..end).or(other)
            }),
            (None, None) => None,
        }
    }

    /// Calls `visit` with all matches in text that is compared as it is, equal needles included.
    fn visit_all_exact(
        &self,
        text: &[u8],
        starts: Range<usize>,
        mut visit: impl FnMut(Range<usize>, usize),
    ) {
        let mut visit = |range: Range<usize>, needle: usize| {
            for &duplicate in self.duplicates.get(&needle).into_iter().flatten() {
                visit(range.clone(), duplicate);
            }
            visit(range, needle);
        };
        if let Some(words) = &self.words {
            words.visit_all(text, starts.clone(), &mut visit);
        }
        if let Some(automaton) = &self.automaton {
            automaton.visit_all(text, starts, self.bytes_max, self.filter, visit);
        }
    }
}

/// Converts a range of bytes in folded text to the range of the text that was folded.
fn to_text_range(folded: &FoldedText, range: &Range<usize>) -> Range<usize> {
    folded.text_position(range.start)..folded.text_position(range.end)
}

/// The automata for needles anywhere in a text, built when they are first used.
#[derive(Clone, Debug)]
struct AnywhereFinder {
    needles: Vec<(Vec<u8>, usize)>,
    /// Finds the longest of the leftmost matches.
    leftmost: OnceLock<AhoCorasick>,
    /// Finds all matches.
    all: OnceLock<AhoCorasick>,
}

impl AnywhereFinder {
    fn new(needles: Vec<(Vec<u8>, usize)>) -> Self {
        Self { needles, leftmost: OnceLock::new(), all: OnceLock::new() }
    }

    /// Returns the automaton for overlapping or for longest matches. The first call builds it from
    /// all needles, and later calls share it.
    fn get_or_build(&self, kind: MatchKind) -> &AhoCorasick {
        let made = if kind == MatchKind::Standard { &self.all } else { &self.leftmost };
        made.get_or_init(|| {
            let needles = self.needles.iter().map(|(needle, _)| needle);
            let bytes: usize = self.needles.iter().map(|(needle, _)| needle.len()).sum();
            let table = (bytes <= DFA_BYTES_MAX).then_some(AhoCorasickKind::DFA);
            let made = AhoCorasick::builder().match_kind(kind).kind(table).build(needles);
            made.expect("needles are bounded in number and length")
        })
    }

    /// Returns the first match that starts within `starts` and passes the filter, and of these the
    /// longest.
    fn find_first(
        &self,
        text: &[u8],
        starts: Range<usize>,
        bytes_max: usize,
        filter: MatchFilter,
    ) -> Option<NeedleMatch> {
        let read = text.len().min(starts.end.saturating_add(bytes_max - 1));
        let mut input = Input::new(text).range(starts.start.min(read)..read);
        if filter == MatchFilter::All {
            let found = self.get_or_build(MatchKind::LeftmostLongest).find(input)?;
            let needle = self.needles[found.pattern().as_usize()].1;
            return (found.start() < starts.end)
                .then(|| NeedleMatch { range: found.range(), needle });
        }
        // Matches come by their ends. One that starts before the best ends within `bytes_max` of
        // the best's start.
        let (automaton, mut state) =
            (self.get_or_build(MatchKind::Standard), OverlappingState::start());
        let mut best: Option<NeedleMatch> = None;
        loop {
            automaton.find_overlapping(input.clone(), &mut state);
            let Some(found) = state.get_match() else { return best };
            let is_better = best.as_ref().is_none_or(|best| found.start() <= best.range.start);
            if is_better && found.start() < starts.end && filter.accepts(text, &found.range()) {
                let needle = self.needles[found.pattern().as_usize()].1;
                best = Some(NeedleMatch { range: found.range(), needle });
                input.set_end(read.min(found.start() + bytes_max));
            }
        }
    }

    fn visit_all(
        &self,
        text: &[u8],
        starts: Range<usize>,
        bytes_max: usize,
        filter: MatchFilter,
        mut visit: impl FnMut(Range<usize>, usize),
    ) {
        let read = text.len().min(starts.end.saturating_add(bytes_max - 1));
        let input = Input::new(text).range(starts.start.min(read)..read);
        for found in self.get_or_build(MatchKind::Standard).find_overlapping_iter(input) {
            if found.start() < starts.end && filter.accepts(text, &found.range()) {
                visit(found.range(), self.needles[found.pattern().as_usize()].1);
            }
        }
    }
}
