//! A finder for one needle in bytes, also as a whole word or case-insensitively, and for one
//! sequence of ids.
//!
//! A case-insensitive needle takes one of three ways:
//!
//! | needle | text |
//! |---|---|
//! | ASCII without k and s | as it is: one bit makes a letter small |
//! | ASCII with k or s | as it is, unless a range of 64 KiB has the Kelvin sign or `ſ` |
//! | other | folded, 64 KiB at a time |
//!
//! For example, `kelvin` matches `KELVIN` in place, and U+212A followed by `elvin` after folding.
//!
//! Cost: 6 to 9 GB/s for an exact needle, the speed of reading memory; 3.5 GB/s for
//! case-insensitive ASCII, which took 0.19 by folding all text (`docs/notes/search.md`).

use std::ops::Range;
use std::sync::OnceLock;

use super::folded_text::{FOLD_GROWTH_MAX, FoldedText, fold_needle};
use super::needle::{MatchControl, Needle, SearchState};
use super::{Element, NEEDLE_MAX, SearchOptions};
use crate::sys::error::Error;
use crate::sys::unicode::{is_word_after, is_word_before};

/// Finds one needle in texts.
///
/// ```
/// use zeton::search::{Finder, SearchOptions};
/// let options = SearchOptions { whole_word: true, ignore_case: false };
/// let finder = Finder::try_from_needle(b"cat", options)?;
/// assert_eq!(finder.find(b"concat cat", 0), Some(7..10));
/// # Ok::<(), zeton::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Finder {
    kind: FinderKind,
    whole_word: bool,
}

/// How the needle is compared.
#[derive(Clone, Debug)]
enum FinderKind {
    /// The bytes of the needle.
    Exact(Needle<u8>),
    /// An ASCII needle without k and s, so no character beyond ASCII equals one of its letters.
    Ascii(Needle<u8, true>),
    /// The folded needle, and the needle itself if it is ASCII.
    Folded(Needle<u8>, Option<Needle<u8, true>>),
}

/// Bytes of text whose matches are searched in one folded range. Not measured: it fits L2, and the
/// overlap of two ranges is small in comparison.
const FOLD_STARTS: usize = 1 << 16;

impl Finder {
    /// Builds the tables of a needle.
    ///
    /// # Errors
    ///
    /// If the needle is empty or too long, or is case-insensitive and not UTF-8.
    pub fn try_from_needle(needle: &[u8], options: SearchOptions) -> Result<Self, Error> {
        check_needle(needle)?;
        let kind = if options.ignore_case {
            let text = std::str::from_utf8(needle).map_err(|_| Error::NeedleNotUtf8)?;
            // The Kelvin sign folds to k, and the long s to s.
            let alike = |byte: &u8| matches!(byte.to_ascii_lowercase(), b'k' | b's');
            match needle.is_ascii() {
                true if !needle.iter().any(alike) => FinderKind::Ascii(Needle::new(needle)),
                ascii => FinderKind::Folded(
                    Needle::new(&fold_needle(text)),
                    ascii.then(|| Needle::new(needle)),
                ),
            }
        } else {
            FinderKind::Exact(Needle::new(needle))
        };
        Ok(Self { kind, whole_word: options.whole_word })
    }

    /// Returns the first match that starts at `from` or later. The text before `from` still decides
    /// whether a match is a whole word.
    #[must_use]
    #[inline]
    pub fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        self.matches(text, from..text.len(), true).next()
    }

    /// Returns the range of the last match that ends at byte `end` or before, or `None` if there is
    /// none.
    #[must_use]
    pub fn rfind(&self, text: &[u8], end: usize) -> Option<Range<usize>> {
        self.rmatches(text, 0..end, true).next()
    }

    /// Returns all matches within a range of the text, each behind the one before it unless
    /// `overlapping`. The text beyond the range still decides whether a match is a whole word.
    #[must_use]
    #[inline]
    pub fn matches<'a>(
        &'a self,
        text: &'a [u8],
        range: Range<usize>,
        overlapping: bool,
    ) -> Matches<'a, false> {
        Matches::new(self, text, range, overlapping)
    }

    /// Returns all matches within a range of the text, from the last to the first.
    #[must_use]
    pub fn rmatches<'a>(
        &'a self,
        text: &'a [u8],
        range: Range<usize>,
        overlapping: bool,
    ) -> Matches<'a, true> {
        Matches::new(self, text, range, overlapping)
    }

    /// Returns the number of matches in a text, without a list of them.
    #[must_use]
    pub fn count(&self, text: &[u8], overlapping: bool) -> usize {
        self.matches(text, 0..text.len(), overlapping).count()
    }
}

/// Returns whether a text has characters beyond ASCII that fold to ASCII: the Kelvin sign or the
/// long s. A range of text without them is searched as it is.
fn has_case_variants(text: &[u8]) -> bool {
    static ALIKE: OnceLock<[Needle<u8>; 2]> = OnceLock::new();
    let alike =
        ALIKE.get_or_init(|| ["\u{212A}", "\u{17F}"].map(|one| Needle::new(one.as_bytes())));
    alike.iter().any(|needle| {
        let mut has = false;
        needle.visit_matches::<false>(text, &mut needle.search(), |_| {
            has = true;
            MatchControl::StopOverlap
        });
        has
    })
}

/// Refuses a needle that is empty or too long. Both `Finder` and `Sequence` call it.
fn check_needle<E>(needle: &[E]) -> Result<(), Error> {
    match needle.len() {
        0 => Err(Error::EmptyNeedle),
        length if length > NEEDLE_MAX => Err(Error::NeedleTooLong { length, most: NEEDLE_MAX }),
        _ => Ok(()),
    }
}

/// The matches of a [`Finder`] in a text; with `REVERSE`, from the last to the first.
#[derive(Debug)]
pub struct Matches<'a, const REVERSE: bool> {
    finder: &'a Finder,
    text: &'a [u8],
    overlapping: bool,
    search: SearchState<u8>,
    /// The range whose matches are not searched yet, and the range where matches of the haystack
    /// start.
    remaining: Range<usize>,
    starts: Range<usize>,
    haystack: Haystack,
}

/// The bytes that are searched at the moment.
#[derive(Debug)]
enum Haystack {
    /// A range of the text itself.
    Text(Range<usize>),
    /// A folded range of the text.
    Folded(FoldedText),
}

impl<'a, const REVERSE: bool> Matches<'a, REVERSE> {
    #[inline]
    fn new(finder: &'a Finder, text: &'a [u8], range: Range<usize>, overlapping: bool) -> Self {
        let end = range.end.min(text.len());
        let range = range.start.min(end)..end;
        let search = match &finder.kind {
            FinderKind::Exact(needle) | FinderKind::Folded(needle, _) => needle.search(),
            FinderKind::Ascii(needle) => needle.search(),
        };
        let mut new = Self {
            finder,
            text,
            overlapping,
            search,
            remaining: range.clone(),
            starts: range.clone(),
            haystack: Haystack::Text(range.clone()),
        };
        match &finder.kind {
            FinderKind::Exact(_) | FinderKind::Ascii(_) => new.remaining = range.end..range.end,
            FinderKind::Folded(needle, ascii) => {
                new.starts = range.end..range.end;
                new.haystack = Haystack::Folded(FoldedText::default());
                new.load_next(needle, ascii.is_some());
            }
        }
        new
    }

    /// Loads the next haystack; returns `false` if there is none. It folds text into the buffer of
    /// the haystack before, and begins a new search in it.
    fn load_next(&mut self, needle: &Needle<u8>, is_ascii: bool) -> bool {
        if self.remaining.is_empty() {
            return false;
        }
        let Range { start, end } = self.remaining;
        let reach = needle.elements().len().saturating_mul(FOLD_GROWTH_MAX);
        // From the end, `remaining` ends where a match may end; matches that start later were
        // found.
        let (starts, bytes) = if REVERSE {
            let first = end.saturating_sub(FOLD_STARTS + reach).max(start);
            self.remaining = start..if first == start { start } else { first + reach };
            (first..end.min(self.starts.start), first..end)
        } else {
            let last = end.min(start.saturating_add(FOLD_STARTS));
            self.remaining = last..end;
            (start..last, start..end.min(last.saturating_add(reach)))
        };
        self.starts = starts;
        self.search = needle.search();
        self.haystack = if is_ascii && !has_case_variants(&self.text[bytes.clone()]) {
            Haystack::Text(bytes)
        } else {
            let mut folded = match std::mem::replace(&mut self.haystack, Haystack::Text(0..0)) {
                Haystack::Folded(folded) => folded,
                _ => FoldedText::default(),
            };
            folded.fill(self.text, bytes);
            Haystack::Folded(folded)
        };
        true
    }

    /// Calls `visit` with the remaining matches, until it returns `false`. Matches that start
    /// outside of the searched range, or are no whole words, are passed over.
    #[inline]
    fn visit_matches(&mut self, mut visit: impl FnMut(Range<usize>) -> bool) {
        let mut is_continue = true;
        loop {
            let (text, starts, remaining) = (self.text, &self.starts, &mut self.remaining);
            let mut take = |found: Range<usize>| {
                let is_match = starts.contains(&found.start)
                    && (!self.finder.whole_word
                        || !is_word_before(text, found.start) && !is_word_after(text, found.end));
                if !is_match {
                    return MatchControl::Overlap;
                }
                is_continue = visit(found.clone());
                if !self.overlapping && REVERSE {
                    remaining.end = remaining.end.min(found.start).max(remaining.start);
                } else if !self.overlapping {
                    remaining.start = remaining.start.max(found.end).min(remaining.end);
                }
                match (is_continue, self.overlapping) {
                    (true, true) => MatchControl::Overlap,
                    (true, false) => MatchControl::Skip,
                    (false, true) => MatchControl::StopOverlap,
                    (false, false) => MatchControl::StopSkip,
                }
            };
            match (&self.haystack, &self.finder.kind) {
                (Haystack::Text(range), FinderKind::Exact(needle)) => {
                    let (start, len) = (range.start, needle.elements().len());
                    needle.visit_matches::<REVERSE>(
                        &text[range.clone()],
                        &mut self.search,
                        |found| take(start + found..start + found + len),
                    );
                }
                (Haystack::Text(range), FinderKind::Ascii(needle))
                | (Haystack::Text(range), FinderKind::Folded(_, Some(needle))) => {
                    let (start, len) = (range.start, needle.elements().len());
                    needle.visit_matches::<REVERSE>(
                        &text[range.clone()],
                        &mut self.search,
                        |found| take(start + found..start + found + len),
                    );
                }
                (Haystack::Folded(folded), FinderKind::Folded(needle, _)) => {
                    let len = needle.elements().len();
                    needle.visit_matches::<REVERSE>(&folded.bytes, &mut self.search, |found| {
                        take(folded.text_position(found)..folded.text_position(found + len))
                    });
                }
                _ => unreachable!("a haystack is of the finder's kind"),
            }
            let FinderKind::Folded(needle, ascii) = &self.finder.kind else { return };
            if !is_continue || !self.load_next(needle, ascii.is_some()) {
                return;
            }
        }
    }
}

impl<const REVERSE: bool> Iterator for Matches<'_, REVERSE> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let mut first = None;
        self.visit_matches(|found| {
            first = Some(found);
            false
        });
        first
    }

    /// Visits all matches within the kernel, which is faster than resuming it for each: 60 → 17 ns
    /// a match of `a…`.
    fn fold<B, F: FnMut(B, Range<usize>) -> B>(mut self, init: B, mut visit: F) -> B {
        let mut folded = Some(init);
        self.visit_matches(|found| {
            folded = folded.take().map(|so_far| visit(so_far, found));
            true
        });
        folded.expect("it is put back each time")
    }
}

/// Finds one sequence of elements: ids of two or four bytes, by the algorithm for bytes.
///
/// ```
/// use zeton::search::Sequence;
/// let phrase = Sequence::try_from_elements(&[7_u16, 8])?;
/// assert_eq!(phrase.matches(&[8, 7, 8, 7, 8], true).collect::<Vec<_>>(), [1, 3]);
/// # Ok::<(), zeton::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sequence<E>(Needle<E>);

impl<E: Element> Sequence<E> {
    /// Builds the tables of a sequence.
    ///
    /// # Errors
    ///
    /// If it is empty or too long.
    pub fn try_from_elements(elements: &[E]) -> Result<Self, Error> {
        check_needle(elements)?;
        Ok(Self(Needle::new(elements)))
    }

    /// Returns the number of elements of the sequence, which each match has too.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.elements().len()
    }

    /// Returns the positions where the sequence starts, each behind the match before it unless
    /// `overlapping`.
    #[must_use]
    pub fn matches<'a>(&'a self, text: &'a [E], overlapping: bool) -> Positions<'a, E, false> {
        Positions { needle: &self.0, text, overlapping, search: self.0.search() }
    }

    /// Returns the positions in `text` where the sequence starts, from the last to the first. Each
    /// is searched when it is asked for.
    #[must_use]
    pub fn rmatches<'a>(&'a self, text: &'a [E], overlapping: bool) -> Positions<'a, E, true> {
        Positions { needle: &self.0, text, overlapping, search: self.0.search() }
    }
}

/// The positions of a [`Sequence`] in a text; with `REVERSE`, from the last to the first.
#[derive(Debug)]
pub struct Positions<'a, E, const REVERSE: bool> {
    needle: &'a Needle<E>,
    text: &'a [E],
    overlapping: bool,
    search: SearchState<E>,
}

impl<E: Element, const REVERSE: bool> Iterator for Positions<'_, E, REVERSE> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let then =
            if self.overlapping { MatchControl::StopOverlap } else { MatchControl::StopSkip };
        let mut first = None;
        self.needle.visit_matches::<REVERSE>(self.text, &mut self.search, |found| {
            first = Some(found);
            then
        });
        first
    }

    /// Calls `visit` with each position that is left, within the kernel, which is faster than
    /// resuming the kernel for each.
    fn fold<B, F: FnMut(B, usize) -> B>(mut self, init: B, mut visit: F) -> B {
        let then = if self.overlapping { MatchControl::Overlap } else { MatchControl::Skip };
        let mut folded = Some(init);
        self.needle.visit_matches::<REVERSE>(self.text, &mut self.search, |found| {
            folded = folded.take().map(|so_far| visit(so_far, found));
            then
        });
        folded.expect("it is put back each time")
    }
}
