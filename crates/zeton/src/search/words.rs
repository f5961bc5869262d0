//! Many whole words at once, by the first word of each.
//!
//! A needle that begins with a character of a word, found as a whole word, begins where a word of the text
//! does; and that word is the needle's first, since what ends the one ends the other. So the words
//! of the text are found 64 bytes at a time, and each is looked up by its length and first eight bytes.

use std::ops::Range;

use super::lanes::{BLOCK, Job, Lanes, run};
use crate::sys::simd_level::SimdLevel;
use crate::sys::unicode::{CHARACTER_BYTES_MAX, is_word, is_word_after, is_word_before, read_char};

/// Needles of UTF-8 that begin with a character of a word, each once.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// By the hash of their first word, then by their bytes.
    needles: Vec<(u64, Box<[u8]>, usize)>,
    /// A bit for each first word, at the upper bits of its hash; most others find none.
    bits: Vec<u64>,
    /// Where the needles of a hash are; a range that is empty is no entry. One that ends with
    /// `ALONE` begins with the number of the only needle, of which the hash says all.
    slots: Vec<(u64, Range<u32>)>,
    /// How far a hash is moved down to be a place among either.
    shift: [u32; 2],
}

/// The bits that the filter has for each needle: one word in so many passes it in vain.
const BITS: usize = 32;

/// What ends the range of a needle that is one short word, and the only one with its hash.
const ALONE: u32 = u32::MAX;

/// Length from which on words are not told apart by their lengths.
const LONG: usize = 32;

/// Bytes of a word that its hash is made of.
const HASHED: usize = 8;

impl Words {
    /// Takes needles and what they are called.
    pub(super) fn new<'n>(needles: impl Iterator<Item = (&'n [u8], usize)>) -> Self {
        let mut needles: Vec<(u64, Box<[u8]>, usize)> = needles
            .map(|(needle, number)| {
                let end = end_of_word(needle, 0, needle.len());
                (hash(first_bytes(needle, 0), end.min(LONG)), needle.into(), number)
            })
            .collect();
        needles.sort_unstable();
        let size = (needles.len() * BITS).next_power_of_two().max(1 << 10);
        let mut bits = vec![0; size / 64];
        let mut slots = vec![(0, 0..0); (needles.len() * 2).next_power_of_two().max(2)];
        let shift = [size, slots.len()].map(|size| 64 - size.ilog2());
        let mut start = 0;
        while start < needles.len() {
            let hash = needles[start].0;
            let end = start + needles[start..].partition_point(|needle| needle.0 == hash);
            let bit = (hash >> shift[0]) as usize;
            bits[bit / 64] |= 1 << (bit % 64);
            let mut slot = (hash >> shift[1]) as usize;
            while !slots[slot].1.is_empty() {
                slot = (slot + 1) % slots.len();
            }
            let (_, needle, number) = &needles[start];
            // Shorter than what is hashed, words and hashes are one to one.
            let is_short = needle.len() < HASHED && end_of_word(needle, 0, HASHED) == needle.len();
            slots[slot] = match end == start + 1 && is_short {
                true => (hash, *number as u32..ALONE),
                false => (hash, start as u32..end as u32),
            };
            start = end;
        }
        Self { needles, bits, slots, shift }
    }

    /// Returns the first that begins in a range, and the longest of those: where, how long and which.
    pub(super) fn find(&self, text: &[u8], starts: Range<usize>) -> Option<(Range<usize>, usize)> {
        self.find_by(SimdLevel::detect(), text, starts)
    }

    fn find_by(
        &self,
        level: SimdLevel,
        text: &[u8],
        starts: Range<usize>,
    ) -> Option<(Range<usize>, usize)> {
        let mut found = None;
        let each = |word: Range<usize>, needles: Range<u32>| {
            let start = word.start;
            self.ends(text, word, needles, |end, number| found = Some((start..end, number)));
            found.is_none()
        };
        run(level, Walk { words: self, text, starts, each });
        found
    }

    /// Calls `each` with all that begin in a range, of one place from the shortest on.
    pub(super) fn all(
        &self,
        text: &[u8],
        starts: Range<usize>,
        mut each: impl FnMut(Range<usize>, usize),
    ) {
        let each = |word: Range<usize>, needles: Range<u32>| {
            let start = word.start;
            self.ends(text, word, needles, |end, number| each(start..end, number));
            true
        };
        run(SimdLevel::detect(), Walk { words: self, text, starts, each });
    }

    /// Calls `each` with the end and the number of those needles that are where a word is, from the
    /// shortest on.
    #[inline(always)]
    fn ends(
        &self,
        text: &[u8],
        word: Range<usize>,
        needles: Range<u32>,
        mut each: impl FnMut(usize, usize),
    ) {
        match needles.end {
            ALONE => each(word.end, needles.start as usize),
            end => self.ends_of(text, word.start, needles.start as usize..end as usize, each),
        }
    }

    /// The same by their bytes. They are sorted, so those that go on as the text does are a range of
    /// them.
    fn ends_of(
        &self,
        text: &[u8],
        start: usize,
        needles: Range<usize>,
        mut each: impl FnMut(usize, usize),
    ) {
        let mut left = &self.needles[needles];
        let mut depth = 0;
        while let Some((_, needle, number)) = left.first() {
            if left.len() == 1 || needle.len() == depth {
                let end = start + needle.len();
                let is_here = text.get(start + depth..end) == Some(&needle[depth..]);
                if is_here && !is_word_after(text, end) {
                    each(end, *number);
                }
                left = &left[1..];
                continue;
            }
            let Some(&byte) = text.get(start + depth) else { return };
            let first = left.partition_point(|(_, needle, _)| needle[depth] < byte);
            let end = left.partition_point(|(_, needle, _)| needle[depth] <= byte);
            left = &left[first..end];
            depth += 1;
        }
    }

    /// The needles whose first word has a hash.
    #[inline(always)]
    fn needles_of(&self, hash: u64) -> Option<Range<u32>> {
        let bit = (hash >> self.shift[0]) as usize;
        if self.bits[bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let mut slot = (hash >> self.shift[1]) as usize;
        loop {
            let (other, needles) = &self.slots[slot];
            if needles.is_empty() {
                return None;
            }
            if *other == hash {
                return Some(needles.clone());
            }
            slot = (slot + 1) % self.slots.len();
        }
    }
}

/// Mixes the first bytes of a word and its length.
#[inline(always)]
fn hash(first: u64, length: usize) -> u64 {
    // A word has at least one byte.
    let kept = first << (64 - 8 * length.min(HASHED)) >> (64 - 8 * length.min(HASHED));
    (kept ^ (length as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Eight bytes as a number; those beyond the end are zero.
#[inline(always)]
fn first_bytes(text: &[u8], start: usize) -> u64 {
    match text[start..].first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text[start..].iter().rev().fold(0, |bytes, &byte| bytes << 8 | u64::from(byte)),
    }
}

/// Returns where the word ends that goes on at a place, or `most` if it goes on there.
fn end_of_word(text: &[u8], mut at: usize, most: usize) -> usize {
    while at < most {
        match read_char(&text[at..]) {
            Some((point, bytes)) if is_word(point) => at += bytes,
            _ => return at,
        }
    }
    at
}

/// Which bytes of a text are of words, 64 at a time.
struct Masks<'t> {
    text: &'t [u8],
    at: usize,
    /// How many bytes go on the character before, and whether that is of a word.
    going_on: usize,
    is_word: bool,
}

impl<'t> Masks<'t> {
    fn new(text: &'t [u8], at: usize) -> Self {
        let (mut going_on, mut is_word_here) = (0, false);
        for first in at.saturating_sub(CHARACTER_BYTES_MAX - 1)..at {
            if let Some((point, bytes)) = read_char(&text[first..])
                && first + bytes > at
            {
                (going_on, is_word_here) = (first + bytes - at, is_word(point));
            }
        }
        Self { text, at, going_on, is_word: is_word_here }
    }

    /// The next 64 bytes; those beyond the end are of no word.
    #[inline(always)]
    fn next<L: Lanes>(&mut self) -> u64 {
        let rest = &self.text[self.at.min(self.text.len())..];
        self.at += BLOCK;
        let (words, high) = match rest.first_chunk::<BLOCK>() {
            Some(block) => L::words(block),
            None => {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                L::words(&block)
            }
        };
        if high == 0 { words } else { self.with_high(rest, words, high) }
    }

    /// Adds the bytes of characters beyond ASCII.
    fn with_high(&mut self, rest: &[u8], mut words: u64, mut high: u64) -> u64 {
        let here = !(u64::MAX << self.going_on);
        words |= if self.is_word { here } else { 0 };
        high &= !here;
        self.going_on = 0;
        while high != 0 {
            let place = high.trailing_zeros() as usize;
            let (is_word, bytes) = match read_char(&rest[place..]) {
                Some((point, bytes)) => (is_word(point), bytes),
                None => (false, 1),
            };
            let bits = !(u64::MAX << bytes) << place;
            words |= if is_word { bits } else { 0 };
            high &= !bits;
            (self.going_on, self.is_word) = ((place + bytes).saturating_sub(BLOCK), is_word);
        }
        words
    }
}

/// Calls `each` with every word that begins in a range, or its first bytes, and the needles of its hash, until
/// it returns false.
struct Walk<'w, F> {
    words: &'w Words,
    text: &'w [u8],
    starts: Range<usize>,
    each: F,
}

impl<F: FnMut(Range<usize>, Range<u32>) -> bool> Job for Walk<'_, F> {
    type Result = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let (words, text) = (self.words, self.text);
        let end = self.starts.end.min(text.len());
        let mut at = self.starts.start.min(end);
        let mut masks = Masks::new(text, at);
        let mut before = match masks.going_on {
            0 => is_word_before(text, at),
            _ => masks.is_word,
        };
        let mut ahead = masks.next::<L>();
        while at < end {
            let here = ahead;
            ahead = masks.next::<L>();
            let mut starts = here & !(here << 1 | u64::from(before));
            before = here >> (BLOCK - 1) == 1;
            if end - at < BLOCK {
                starts &= !(u64::MAX << (end - at));
            }
            while starts != 0 {
                let place = starts.trailing_zeros() as usize;
                starts &= starts - 1;
                // Its bytes among the next 64 are enough: longer words are not told apart.
                let bytes = here >> place | ahead << 1 << (BLOCK - 1 - place);
                let length = (bytes.trailing_ones() as usize).min(LONG);
                let start = at + place;
                let hash = hash(first_bytes(text, start), length);
                if let Some(needles) = words.needles_of(hash)
                    && !(self.each)(start..start + length, needles)
                {
                    return;
                }
            }
            at += BLOCK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PARTS, Random};

    #[test]
    fn all_simd_levels_find_the_words_of_a_naive_search() {
        let mut random = Random(1);
        let broken: [&[u8]; 4] = [b"\xC3", b"\xE4\xB8", b"\xA9", b"\xFF"];
        for _ in 0..2000 {
            let mut text = Vec::new();
            for _ in 0..random.below(120) {
                text.extend_from_slice(PARTS[random.below(PARTS.len())].as_bytes());
                if random.below(20) == 0 {
                    text.extend_from_slice(broken[random.below(4)]);
                }
                if random.below(40) == 0 {
                    text.extend(b"long".repeat(random.below(20)));
                }
            }
            let mut needles = std::collections::BTreeSet::new();
            while needles.len() < 5 {
                let mut needle = PARTS[random.below(PARTS.len())].as_bytes().to_vec();
                if random.below(2) == 0 && !text.is_empty() {
                    let start = random.below(text.len());
                    needle = text[start..text.len().min(start + 1 + random.below(60))].to_vec();
                }
                if is_word_after(&needle, 0) && str::from_utf8(&needle).is_ok() {
                    needles.insert(needle);
                }
            }
            let needles: Vec<Vec<u8>> = needles.into_iter().collect();
            let words = Words::new(needles.iter().zip(0..).map(|(n, at)| (n.as_slice(), at)));
            let from = random.below(text.len() + 1);
            let to = from + random.below(text.len() + 1 - from);
            let mut expected = Vec::new();
            for start in from..to {
                for (number, needle) in needles.iter().enumerate() {
                    let end = start + needle.len();
                    if text[start..].starts_with(needle)
                        && !is_word_before(&text, start)
                        && !is_word_after(&text, end)
                    {
                        expected.push((start, end, number));
                    }
                }
            }
            let mut found = Vec::new();
            words.all(&text, from..to, |range, number| {
                found.push((range.start, range.end, number));
            });
            found.sort_unstable();
            assert_eq!(found, {
                let mut sorted = expected.clone();
                sorted.sort_unstable();
                sorted
            });
            let first = expected.iter().min_by_key(|(start, end, _)| (*start, usize::MAX - end));
            for level in SimdLevel::detect_all() {
                let found = words.find_by(level, &text, from..to);
                assert_eq!(found, first.map(|&(start, end, number)| (start..end, number)));
            }
        }
    }
}
