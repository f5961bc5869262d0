//! Many whole words at once, by the first word of each needle.
//!
//! A needle that begins with a word character, and matches as a whole word, starts where a word of
//! the text starts. That word is the needle's first word, because the text behind it ends both. So
//! each word of the text is looked up once, by its length and its first eight bytes:
//!
//! ```text
//! text       i n   N e w   Y o r k ,   n o w
//! words      1 1 . 1 1 1 . 1 1 1 1 . . 1 1 1       SIMD masks, 64 bytes at a time
//! starts     1 . . 1 . . . 1 . . . . . 1 . .       words & !(words << 1)
//!
//! hash of "New" ─▶ filter bit ─▶ slot ─▶ needles "New", "New York" ─▶ compared with the text
//! ```
//!
//! The filter has 32 bits a needle, and most words of the text stop there. A slot has the hash and
//! the range of its needles, or the number of the only needle if the hash identifies it.
//!
//! Cost: 10,000 words are found at 0.8 to 0.9 GB/s. Reading characters for the end of each word
//! took 0.49, masks of this block and the next 0.65 (`docs/notes/search.md`).

use std::ops::Range;

use super::block_ops::{BLOCK, BlockOps, SimdKernel, run_kernel};
use crate::sys::simd_level::SimdLevel;
use crate::sys::unicode::{CHARACTER_BYTES_MAX, is_word, is_word_after, is_word_before, read_char};

/// Distinct needles of UTF-8 that begin with a word character.
#[derive(Clone, Debug)]
pub(super) struct WordTable {
    /// The needles with hash and number, sorted by the hash of their first word, then by their
    /// bytes.
    needles: Vec<(u64, Box<[u8]>, usize)>,
    /// The filter: one bit for each first word, at the upper bits of its hash.
    bits: Vec<u64>,
    /// A hash table with linear probing, from hash to needles. An empty range is an empty slot. A
    /// range that ends with `SINGLE` begins with the number of the only needle, which the hash
    /// identifies.
    slots: Vec<(u64, Range<u32>)>,
    /// The shifts that make a position in `bits` and in `slots` from a hash.
    shift: [u32; 2],
}

/// Bits of the filter for each needle. 64 leave L1, 16 let too many words through
/// (`docs/notes/search.md`).
const FILTER_BITS_PER_NEEDLE: usize = 32;

/// The end of a range with a single short needle, the only one with its hash.
const SINGLE: u32 = u32::MAX;

/// Length from which on words are not distinguished by length, because only the masks of 128 bytes
/// are known. Not measured.
const WORD_LENGTH_MAX: usize = 32;

/// Bytes of a word that its hash depends on.
const HASHED_BYTES: usize = 8;

impl WordTable {
    /// Builds the table of needles, each given with its number, by the hash of the word that it
    /// begins with. It is built once, with its finder.
    pub(super) fn new<'n>(needles: impl Iterator<Item = (&'n [u8], usize)>) -> Self {
        let mut needles: Vec<(u64, Box<[u8]>, usize)> = needles
            .map(|(needle, number)| {
                let end = find_word_end(needle, 0, needle.len());
                (hash_word(first_bytes(needle, 0), end.min(WORD_LENGTH_MAX)), needle.into(), number)
            })
            .collect();
        needles.sort_unstable();
        let size = (needles.len() * FILTER_BITS_PER_NEEDLE).next_power_of_two().max(1 << 10);
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
            // The hash of a shorter word identifies it: seven bytes and the length fit 64 bits, and
            // multiplication by an odd number is a bijection.
            let is_short = needle.len() < HASHED_BYTES
                && find_word_end(needle, 0, HASHED_BYTES) == needle.len();
            slots[slot] = match end == start + 1 && is_short {
                true => (hash, *number as u32..SINGLE),
                false => (hash, start as u32..end as u32),
            };
            start = end;
        }
        Self { needles, bits, slots, shift }
    }

    /// Returns the first match that starts within a range, the longest there, with its number. It
    /// stops reading at the first match.
    pub(super) fn find(&self, text: &[u8], starts: Range<usize>) -> Option<(Range<usize>, usize)> {
        self.find_at_level(SimdLevel::detect(), text, starts)
    }

    /// Finds the first match with the kernel of a SIMD level. Tests call it with every level.
    fn find_at_level(
        &self,
        level: SimdLevel,
        text: &[u8],
        starts: Range<usize>,
    ) -> Option<(Range<usize>, usize)> {
        let mut found = None;
        let visit = |word: Range<usize>, needles: Range<u32>| {
            let start = word.start;
            self.visit_needles(text, word, needles, |end, number| {
                found = Some((start..end, number));
            });
            found.is_none()
        };
        run_kernel(level, WordScan { words: self, text, starts, visit });
        found
    }

    /// Calls `visit` with all matches that start within a range; of one position, from the shortest
    /// on.
    pub(super) fn visit_all(
        &self,
        text: &[u8],
        starts: Range<usize>,
        mut visit: impl FnMut(Range<usize>, usize),
    ) {
        let visit = |word: Range<usize>, needles: Range<u32>| {
            let start = word.start;
            self.visit_needles(text, word, needles, |end, number| visit(start..end, number));
            true
        };
        run_kernel(SimdLevel::detect(), WordScan { words: self, text, starts, visit });
    }

    /// Calls `visit` with the end and the number of each needle that matches at a word, from the
    /// shortest on.
    #[inline(always)]
    fn visit_needles(
        &self,
        text: &[u8],
        word: Range<usize>,
        needles: Range<u32>,
        mut visit: impl FnMut(usize, usize),
    ) {
        match needles.end {
            SINGLE => visit(word.end, needles.start as usize),
            end => {
                self.visit_needles_of(
                    text,
                    word.start,
                    needles.start as usize..end as usize,
                    visit,
                );
            }
        }
    }

    /// Compares the needles of a hash with the text. They are sorted, so the needles that continue
    /// like the text are a range of them. The range narrows byte by byte, so a needle is compared
    /// once.
    fn visit_needles_of(
        &self,
        text: &[u8],
        start: usize,
        needles: Range<usize>,
        mut visit: impl FnMut(usize, usize),
    ) {
        let mut left = &self.needles[needles];
        let mut depth = 0;
        while let Some((_, needle, number)) = left.first() {
            if left.len() == 1 || needle.len() == depth {
                let end = start + needle.len();
                let is_here = text.get(start + depth..end) == Some(&needle[depth..]);
                if is_here && !is_word_after(text, end) {
                    visit(end, *number);
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

    /// Returns the range of the needles whose first word has this hash, or `None` if there are
    /// none. Most words stop at the filter, one load.
    #[inline(always)]
    fn find_needles(&self, hash: u64) -> Option<Range<u32>> {
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

/// Hashes the first bytes of a word and its length in bytes. The factor is 2⁶⁴ divided by the
/// golden ratio.
#[inline(always)]
fn hash_word(first: u64, length: usize) -> u64 {
    // A word has at least one byte, so the shift is below 64.
    let kept = first << (64 - 8 * length.min(HASHED_BYTES)) >> (64 - 8 * length.min(HASHED_BYTES));
    (kept ^ (length as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns the eight bytes of the text from byte `start` on as a little-endian number, to be
/// hashed. Bytes behind the end are zero.
#[inline(always)]
fn first_bytes(text: &[u8], start: usize) -> u64 {
    match text[start..].first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => text[start..].iter().rev().fold(0, |bytes, &byte| bytes << 8 | u64::from(byte)),
    }
}

/// Returns the end of the word that continues at a position, or `most` if it continues there. It
/// reads characters one by one; only building the table calls it.
fn find_word_end(text: &[u8], mut at: usize, most: usize) -> usize {
    while at < most {
        match read_char(&text[at..]) {
            Some((point, bytes)) if is_word(point) => at += bytes,
            _ => return at,
        }
    }
    at
}

/// The masks of the bytes that belong to words, 64 bytes at a time.
struct WordMasks<'t> {
    text: &'t [u8],
    at: usize,
    /// The number of bytes at `at` that continue the character before it, and whether it is a word
    /// character.
    continued: usize,
    is_word: bool,
}

impl<'t> WordMasks<'t> {
    fn new(text: &'t [u8], at: usize) -> Self {
        let (mut continued, mut is_word_here) = (0, false);
        for first in at.saturating_sub(CHARACTER_BYTES_MAX - 1)..at {
            if let Some((point, bytes)) = read_char(&text[first..])
                && first + bytes > at
            {
                (continued, is_word_here) = (first + bytes - at, is_word(point));
            }
        }
        Self { text, at, continued, is_word: is_word_here }
    }

    /// Returns the mask of the next 64 bytes. Bytes beyond the end belong to no word. It advances
    /// by one block, and continues a character that the block before cut off.
    #[inline(always)]
    fn next_block<B: BlockOps>(&mut self) -> u64 {
        let rest = &self.text[self.at.min(self.text.len())..];
        self.at += BLOCK;
        let (words, high) = match rest.first_chunk::<BLOCK>() {
            Some(block) => B::word_bytes(block),
            None => {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                B::word_bytes(&block)
            }
        };
        if high == 0 { words } else { self.add_non_ascii(rest, words, high) }
    }

    /// Adds the bytes of characters beyond ASCII to the mask. Each character is looked up alone,
    /// and one that continues behind the block is carried to the next.
    fn add_non_ascii(&mut self, rest: &[u8], mut words: u64, mut high: u64) -> u64 {
        let here = !(u64::MAX << self.continued);
        words |= if self.is_word { here } else { 0 };
        high &= !here;
        self.continued = 0;
        while high != 0 {
            let place = high.trailing_zeros() as usize;
            let (is_word, bytes) = match read_char(&rest[place..]) {
                Some((point, bytes)) => (is_word(point), bytes),
                None => (false, 1),
            };
            let bits = !(u64::MAX << bytes) << place;
            words |= if is_word { bits } else { 0 };
            high &= !bits;
            (self.continued, self.is_word) = ((place + bytes).saturating_sub(BLOCK), is_word);
        }
        words
    }
}

/// Calls `visit` with every word that starts within a range, and the needles of its hash, until it
/// returns `false`. Words end at [`WORD_LENGTH_MAX`] bytes at most.
struct WordScan<'w, F> {
    words: &'w WordTable,
    text: &'w [u8],
    starts: Range<usize>,
    visit: F,
}

impl<F: FnMut(Range<usize>, Range<u32>) -> bool> SimdKernel for WordScan<'_, F> {
    type Result = ();

    #[inline(always)]
    fn run<B: BlockOps>(mut self) {
        let (words, text) = (self.words, self.text);
        let end = self.starts.end.min(text.len());
        let mut at = self.starts.start.min(end);
        let mut masks = WordMasks::new(text, at);
        let mut before = match masks.continued {
            0 => is_word_before(text, at),
            _ => masks.is_word,
        };
        let mut ahead = masks.next_block::<B>();
        while at < end {
            let here = ahead;
            ahead = masks.next_block::<B>();
            let mut starts = here & !(here << 1 | u64::from(before));
            before = here >> (BLOCK - 1) == 1;
            if end - at < BLOCK {
                starts &= !(u64::MAX << (end - at));
            }
            while starts != 0 {
                let place = starts.trailing_zeros() as usize;
                starts &= starts - 1;
                // The masks of this block and the next suffice, because longer words are not
                // distinguished.
                let bytes = here >> place | ahead << 1 << (BLOCK - 1 - place);
                let length = (bytes.trailing_ones() as usize).min(WORD_LENGTH_MAX);
                let start = at + place;
                let hash = hash_word(first_bytes(text, start), length);
                if let Some(needles) = words.find_needles(hash)
                    && !(self.visit)(start..start + length, needles)
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
            let words = WordTable::new(needles.iter().zip(0..).map(|(n, at)| (n.as_slice(), at)));
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
            words.visit_all(&text, from..to, |range, number| {
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
                let found = words.find_at_level(level, &text, from..to);
                assert_eq!(found, first.map(|&(start, end, number)| (start..end, number)));
            }
        }
    }
}
