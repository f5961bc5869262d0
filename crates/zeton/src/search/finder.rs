//! One needle in bytes: as it is, as a whole word, whatever its case.

use std::ops::Range;
use std::sync::OnceLock;

use super::folded::{Folded, folded};
use super::needle::{Needle, Search, Then};
use super::{Element, NEEDLE_MAX, Options};
use crate::sys::error::Error;
use crate::sys::unicode::{is_word_after, is_word_before};

/// Finds one needle in texts.
///
/// ```
/// use zeton::search::{Finder, Options};
/// let finder = Finder::new(b"cat", Options { whole_word: true, ..Options::default() })?;
/// assert_eq!(finder.find(b"concat cat", 0), Some(7..10));
/// # Ok::<(), zeton::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Finder {
    kind: Kind,
    whole_word: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Exact(Needle<u8>),
    /// Of ASCII, without letters that are alike to any beyond it.
    Ascii(Needle<u8, true>),
    /// The needle is folded; the second is there if it is ASCII.
    Folded(Needle<u8>, Option<Needle<u8, true>>),
}

/// Places where matches of a folded needle begin that are looked for together.
const STRETCH: usize = 1 << 16;

/// Bytes that the characters of a match have at most for each byte of the folded needle.
const GROWTH: usize = 4;

impl Finder {
    /// Makes the tables of a needle.
    ///
    /// # Errors
    ///
    /// When the needle is empty or too long, or is to be found whatever its case and is not UTF-8.
    pub fn new(needle: &[u8], options: Options) -> Result<Self, Error> {
        check(needle)?;
        let kind = if options.ignore_case {
            let text = std::str::from_utf8(needle).map_err(|_| Error::NeedleNotUtf8)?;
            // The Kelvin sign is a k, and the long s an s.
            let alike = |byte: &u8| matches!(byte.to_ascii_lowercase(), b'k' | b's');
            match needle.is_ascii() {
                true if !needle.iter().any(alike) => Kind::Ascii(Needle::new(needle)),
                ascii => {
                    Kind::Folded(Needle::new(&folded(text)), ascii.then(|| Needle::new(needle)))
                }
            }
        } else {
            Kind::Exact(Needle::new(needle))
        };
        Ok(Self { kind, whole_word: options.whole_word })
    }

    /// Returns the first match that begins at `from` or later. Whole words are judged in all of
    /// the text, also before `from`.
    #[must_use]
    #[inline]
    pub fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        self.matches(text, from..text.len(), true).next()
    }

    /// Returns the last match that ends at `end` or before.
    #[must_use]
    pub fn rfind(&self, text: &[u8], end: usize) -> Option<Range<usize>> {
        self.matches_back(text, 0..end, true).next()
    }

    /// Finds all matches that lie in a range of the text, each after the one before it unless
    /// `overlapping`. What is beyond the range says nevertheless what is a whole word.
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

    /// The same, from the end.
    #[must_use]
    pub fn matches_back<'a>(
        &'a self,
        text: &'a [u8],
        range: Range<usize>,
        overlapping: bool,
    ) -> Matches<'a, true> {
        Matches::new(self, text, range, overlapping)
    }

    /// Counts the matches in a text.
    #[must_use]
    pub fn count(&self, text: &[u8], overlapping: bool) -> usize {
        self.matches(text, 0..text.len(), overlapping).count()
    }
}

/// Returns whether a text has characters beyond ASCII that are alike to letters of it.
fn has_letters_alike(text: &[u8]) -> bool {
    static ALIKE: OnceLock<[Needle<u8>; 2]> = OnceLock::new();
    let alike =
        ALIKE.get_or_init(|| ["\u{212A}", "\u{17F}"].map(|one| Needle::new(one.as_bytes())));
    alike.iter().any(|needle| {
        let mut has = false;
        needle.each::<false>(text, &mut needle.search(), |_| {
            has = true;
            Then::Stop
        });
        has
    })
}

/// Refuses a needle that is empty or too long.
fn check<E>(needle: &[E]) -> Result<(), Error> {
    match needle.len() {
        0 => Err(Error::EmptyNeedle),
        length if length > NEEDLE_MAX => Err(Error::NeedleTooLong { length, most: NEEDLE_MAX }),
        _ => Ok(()),
    }
}

/// The matches of a [`Finder`] in a text; with `BACK`, from the end.
#[derive(Debug)]
pub struct Matches<'a, const BACK: bool> {
    finder: &'a Finder,
    text: &'a [u8],
    overlapping: bool,
    search: Search<u8>,
    /// Where matches may lie that are not yet looked for, and where those begin that are.
    left: Range<usize>,
    starts: Range<usize>,
    stretch: Stretch,
}

/// What is searched at the moment.
#[derive(Debug)]
enum Stretch {
    /// A stretch of the text itself.
    Itself(Range<usize>),
    Folded(Folded),
}

impl<'a, const BACK: bool> Matches<'a, BACK> {
    #[inline]
    fn new(finder: &'a Finder, text: &'a [u8], range: Range<usize>, overlapping: bool) -> Self {
        let end = range.end.min(text.len());
        let range = range.start.min(end)..end;
        let search = match &finder.kind {
            Kind::Exact(needle) | Kind::Folded(needle, _) => needle.search(),
            Kind::Ascii(needle) => needle.search(),
        };
        let mut new = Self {
            finder,
            text,
            overlapping,
            search,
            left: range.clone(),
            starts: range.clone(),
            stretch: Stretch::Itself(range.clone()),
        };
        match &finder.kind {
            Kind::Exact(_) | Kind::Ascii(_) => new.left = range.end..range.end,
            Kind::Folded(needle, ascii) => {
                new.starts = range.end..range.end;
                new.stretch = Stretch::Folded(Folded::default());
                new.go_on(needle, ascii.is_some());
            }
        }
        new
    }

    /// Takes the next stretch; false if there is none.
    fn go_on(&mut self, needle: &Needle<u8>, is_ascii: bool) -> bool {
        if self.left.is_empty() {
            return false;
        }
        let Range { start, end } = self.left;
        let reach = needle.elements().len().saturating_mul(GROWTH);
        // From the end, `left` ends where a match may end; those that begin later were found.
        let (starts, bytes) = if BACK {
            let first = end.saturating_sub(STRETCH + reach).max(start);
            self.left = start..if first == start { start } else { first + reach };
            (first..end.min(self.starts.start), first..end)
        } else {
            let last = end.min(start.saturating_add(STRETCH));
            self.left = last..end;
            (start..last, start..end.min(last.saturating_add(reach)))
        };
        self.starts = starts;
        self.search = needle.search();
        self.stretch = if is_ascii && !has_letters_alike(&self.text[bytes.clone()]) {
            Stretch::Itself(bytes)
        } else {
            let mut folded = match std::mem::replace(&mut self.stretch, Stretch::Itself(0..0)) {
                Stretch::Folded(folded) => folded,
                _ => Folded::default(),
            };
            folded.fill(self.text, bytes);
            Stretch::Folded(folded)
        };
        true
    }

    /// Calls `each` with the matches that are left, until it returns false.
    #[inline]
    fn run(&mut self, mut each: impl FnMut(Range<usize>) -> bool) {
        let mut goes_on = true;
        loop {
            let (text, starts, left) = (self.text, &self.starts, &mut self.left);
            let mut take = |found: Range<usize>| {
                let is_match = starts.contains(&found.start)
                    && (!self.finder.whole_word
                        || !is_word_before(text, found.start) && !is_word_after(text, found.end));
                if !is_match {
                    return Then::GoOn;
                }
                goes_on = each(found.clone());
                if !self.overlapping && BACK {
                    left.end = left.end.min(found.start).max(left.start);
                } else if !self.overlapping {
                    left.start = left.start.max(found.end).min(left.end);
                }
                match (goes_on, self.overlapping) {
                    (true, true) => Then::GoOn,
                    (true, false) => Then::Pass,
                    (false, true) => Then::Stop,
                    (false, false) => Then::PassAndStop,
                }
            };
            match (&self.stretch, &self.finder.kind) {
                (Stretch::Itself(range), Kind::Exact(needle)) => {
                    let (start, len) = (range.start, needle.elements().len());
                    needle.each::<BACK>(&text[range.clone()], &mut self.search, |found| {
                        take(start + found..start + found + len)
                    });
                }
                (Stretch::Itself(range), Kind::Ascii(needle))
                | (Stretch::Itself(range), Kind::Folded(_, Some(needle))) => {
                    let (start, len) = (range.start, needle.elements().len());
                    needle.each::<BACK>(&text[range.clone()], &mut self.search, |found| {
                        take(start + found..start + found + len)
                    });
                }
                (Stretch::Folded(folded), Kind::Folded(needle, _)) => {
                    let len = needle.elements().len();
                    needle.each::<BACK>(&folded.bytes, &mut self.search, |found| {
                        take(folded.place(found)..folded.place(found + len))
                    });
                }
                _ => unreachable!("a stretch is of the finder's kind"),
            }
            let Kind::Folded(needle, ascii) = &self.finder.kind else { return };
            if !goes_on || !self.go_on(needle, ascii.is_some()) {
                return;
            }
        }
    }
}

impl<const BACK: bool> Iterator for Matches<'_, BACK> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        let mut first = None;
        self.run(|found| {
            first = Some(found);
            false
        });
        first
    }

    /// All at once, which is faster than one by one.
    fn fold<B, F: FnMut(B, Range<usize>) -> B>(mut self, init: B, mut each: F) -> B {
        let mut folded = Some(init);
        self.run(|found| {
            folded = folded.take().map(|so_far| each(so_far, found));
            true
        });
        folded.expect("it is put back each time")
    }
}

/// Finds one sequence of elements in others: ids of two or four bytes, by the same algorithm.
///
/// ```
/// use zeton::search::Sequence;
/// let phrase = Sequence::new(&[7_u16, 8])?;
/// assert_eq!(phrase.matches(&[8, 7, 8, 7, 8], true).collect::<Vec<_>>(), [1, 3]);
/// # Ok::<(), zeton::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sequence<E>(Needle<E>);

impl<E: Element> Sequence<E> {
    /// Makes the tables of a sequence.
    ///
    /// # Errors
    ///
    /// When it is empty or too long.
    pub fn new(elements: &[E]) -> Result<Self, Error> {
        check(elements)?;
        Ok(Self(Needle::new(elements)))
    }

    /// How many elements it has.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.0.elements().len()
    }

    /// Finds where it begins, each after the end of the one before it unless `overlapping`.
    #[must_use]
    pub fn matches<'a>(&'a self, text: &'a [E], overlapping: bool) -> Places<'a, E, false> {
        Places { needle: &self.0, text, overlapping, search: self.0.search() }
    }

    /// The same, from the end.
    #[must_use]
    pub fn matches_back<'a>(&'a self, text: &'a [E], overlapping: bool) -> Places<'a, E, true> {
        Places { needle: &self.0, text, overlapping, search: self.0.search() }
    }
}

/// The places of a [`Sequence`] in a text; with `BACK`, from the end.
#[derive(Debug)]
pub struct Places<'a, E, const BACK: bool> {
    needle: &'a Needle<E>,
    text: &'a [E],
    overlapping: bool,
    search: Search<E>,
}

impl<E: Element, const BACK: bool> Iterator for Places<'_, E, BACK> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let then = if self.overlapping { Then::Stop } else { Then::PassAndStop };
        let mut first = None;
        self.needle.each::<BACK>(self.text, &mut self.search, |found| {
            first = Some(found);
            then
        });
        first
    }

    /// All at once, which is faster than one by one.
    fn fold<B, F: FnMut(B, usize) -> B>(mut self, init: B, mut each: F) -> B {
        let then = if self.overlapping { Then::GoOn } else { Then::Pass };
        let mut folded = Some(init);
        self.needle.each::<BACK>(self.text, &mut self.search, |found| {
            folded = folded.take().map(|so_far| each(so_far, found));
            then
        });
        folded.expect("it is put back each time")
    }
}
