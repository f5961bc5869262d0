//! The scanner's twin: the pieces of sixty-four bytes at once.
//!
//! A block begins where a piece begins or within a word, so little is carried from block to block.
//! `block` says what its bytes are, and `algebra` where pieces end. Where that is in doubt (a slash
//! after a newline, white space or a contraction that goes on after the block, bytes that are not
//! UTF-8), the scanner goes on until it is past.

use super::boundary_masks::{Algebra, Carry};
#[cfg(target_arch = "x86_64")]
use super::classify;
use super::classify::{Block, Wide, below};
use super::scalar;
use crate::pattern::Transducer;
use crate::split::Says;
use crate::sys::huge_buffer::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};

/// Who is told where the pieces of a text end, from left to right.
pub(crate) trait BoundarySink {
    /// A piece ends before every byte of a block that has a bit in `cuts`. Of the block's bytes, which
    /// begin at `first`, some are `seen` by the watch, if there is one; a block that is not `wide` is
    /// ASCII.
    fn block(&mut self, first: usize, cuts: u64, seen: u64, wide: bool);
    /// A piece ends here.
    fn end(&mut self, end: usize);
    /// Whether to go on.
    #[inline(always)]
    fn goes_on(&self) -> bool {
        true
    }
}

/// Tells `ends` where every piece of `text` ends, as [`scalar::split`] does. The level is one of
/// [`SimdLevel::all`].
pub(crate) fn split(
    level: SimdLevel,
    algebra: &Algebra,
    transducer: &Transducer,
    text: &[u8],
    ends: &mut impl BoundarySink,
) {
    split_watching(level, algebra, transducer, text, |_, _| 0, ends);
}

/// Splits like [`split`], and reports for each block the bytes that `watch` finds in it.
///
/// `watch` receives the block and the state carried into it, because a block may begin within a word.
pub(crate) fn split_watching(
    level: SimdLevel,
    algebra: &Algebra,
    transducer: &Transducer,
    text: &[u8],
    watch: impl Fn(&Block, Carry) -> u64,
    ends: &mut impl BoundarySink,
) {
    match level.kind() {
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx512 => unsafe { split_by_avx512(algebra, transducer, text, watch, ends) },
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx2 => unsafe { split_by_avx2(algebra, transducer, text, watch, ends) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 machine has SSE2.
        #[allow(unsafe_code)]
        SimdKind::Baseline => unsafe { split_by_sse2(algebra, transducer, text, watch, ends) },
        #[cfg(not(target_arch = "x86_64"))]
        SimdKind::Baseline => {
            split_by(algebra, transducer, text, watch, ends, Block::one_by_one, Wide::one_by_one);
        }
    }
}

/// The loop over blocks, compiled for one SIMD level with the kernels of that level's module.
#[cfg(target_arch = "x86_64")]
macro_rules! split_by_level {
    ($name:ident, $level:ident) => {
        simd_fn! { $level,
            fn $name(
                algebra: &Algebra,
                transducer: &Transducer,
                text: &[u8],
                watch: impl Fn(&Block, Carry) -> u64,
                ends: &mut impl BoundarySink,
            ) {
                split_by(
                    algebra,
                    transducer,
                    text,
                    watch,
                    ends,
                    |bytes| classify::$level::classify(bytes),
                    |bytes, high| classify::$level::widen(bytes, high),
                );
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
split_by_level!(split_by_avx512, avx512);
#[cfg(target_arch = "x86_64")]
split_by_level!(split_by_avx2, avx2);
#[cfg(target_arch = "x86_64")]
split_by_level!(split_by_sse2, sse2);

/// Bytes ahead of a block that are asked for.
const AHEAD: usize = 1024;

/// The loop over blocks, which each level compiles with its own instructions.
#[inline(always)]
fn split_by(
    algebra: &Algebra,
    transducer: &Transducer,
    text: &[u8],
    watch: impl Fn(&Block, Carry) -> u64,
    ends: &mut impl BoundarySink,
    classify: impl Fn(&[u8; 64]) -> Block,
    widen: impl Fn(&[u8; 64], u64) -> Wide,
) {
    // The block begins at `first`, later than the piece in hand if it is within a word.
    let (mut start, mut first, mut carry) = (0, 0, Carry::default());
    let mut was_broken = false;
    // What is left of the text at last; its block is split in the same place, so that all is inlined.
    let mut rest;
    loop {
        let (bytes, length) = match text[first..].first_chunk() {
            Some(bytes) => (bytes, 64),
            None => match padded(&text[first..]) {
                Some(padded) => {
                    rest = padded;
                    (&rest, (text.len() - first) as u32)
                }
                None => break,
            },
        };
        // The machine looks ahead by itself, but not beyond a page.
        if let Some(ahead) = text.get(first + AHEAD) {
            prefetch(ahead);
        }
        let block = classify(bytes);
        let seen = watch(&block, carry);
        let (found, end, broken) = if block.high == 0 {
            (algebra.cuts::<false>(bytes, &block, &Wide::NONE, carry), 64, 64)
        } else {
            let wide = widen(bytes, block.high);
            (algebra.cuts::<true>(bytes, &block, &wide, carry), wide.end, wide.broken)
        };
        let cuts = found.cuts & below(length);
        ends.block(first, cuts, seen, block.high != 0);
        if cuts != 0 {
            start = first + 63 - cuts.leading_zeros() as usize;
        }
        if length < 64 {
            if found.doubt >= length && start < text.len() {
                ends.block(text.len(), 1, 0, true);
                return;
            }
            break;
        }
        carry = found.carry;
        let is_broken = found.doubt < end && found.doubt == broken;
        if found.doubt < end || carry.word == 0 && cuts == 0 {
            let mut past = first + if found.doubt < end { found.doubt as usize } else { 0 };
            // Where many bytes are not UTF-8, blocks are not worth their while.
            past += if is_broken && was_broken { 64 } else { 0 };
            scalar::scan(transducer, text, start, |end| {
                ends.end(end);
                start = end;
                end <= past
            });
            carry = Carry::default();
        }
        was_broken = is_broken;
        first = if carry.word != 0 { first + end as usize } else { start };
    }
    scalar::scan(transducer, text, start, |end| {
        ends.end(end);
        true
    });
}

/// Pieces one by one, each with whether it may hold a byte that is watched for.
pub(crate) struct Pieces<'t, E> {
    text: &'t [u8],
    each: E,
    /// Where the piece in hand begins, and whether a watched byte of it has been seen.
    start: usize,
    watched: bool,
    goes_on: bool,
}

impl<'t, S: Says, E: FnMut(&'t [u8], bool) -> S> Pieces<'t, E> {
    pub(crate) fn new(text: &'t [u8], each: E) -> Self {
        Self { text, each, start: 0, watched: false, goes_on: true }
    }

    #[inline(always)]
    fn tell(&mut self, end: usize, watched: bool) {
        self.goes_on = (self.each)(&self.text[self.start..end], watched).goes_on();
        (self.start, self.watched) = (end, false);
    }
}

impl<'t, S: Says, E: FnMut(&'t [u8], bool) -> S> BoundarySink for Pieces<'t, E> {
    #[inline(always)]
    fn block(&mut self, first: usize, mut cuts: u64, mut seen: u64, _: bool) {
        while cuts != 0 && self.goes_on {
            let end = first + cuts.trailing_zeros() as usize;
            let before = (cuts & cuts.wrapping_neg()) - 1;
            self.tell(end, self.watched | (seen & before != 0));
            seen &= !before;
            cuts &= cuts - 1;
        }
        self.watched |= seen != 0;
    }

    #[inline(always)]
    fn end(&mut self, end: usize) {
        self.tell(end, true);
    }

    #[inline(always)]
    fn goes_on(&self) -> bool {
        self.goes_on
    }
}

/// What is left of a text, filled up with newlines, if those do not change where its pieces end.
#[inline(always)]
fn padded(rest: &[u8]) -> Option<[u8; 64]> {
    // After other white space, or what may be some beyond ASCII, a newline is not as the end is.
    // Where nothing is left, a word ends.
    let last = rest.iter().rfind(|&&byte| byte != b' ');
    if !last.map_or(rest.is_empty(), u8::is_ascii_graphic) {
        return None;
    }
    let mut bytes = [b'\n'; 64];
    bytes[..rest.len()].copy_from_slice(rest);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Grammar;
    use crate::testing::{PARTS, Random, patterns};

    fn ends(split: impl Fn(&mut dyn FnMut(usize))) -> Vec<usize> {
        let (mut ends, mut end) = (Vec::new(), 0);
        split(&mut |length| {
            end += length;
            ends.push(end);
        });
        ends
    }

    fn assert_twins(grammar: &Grammar, algebra: &Algebra, transducer: &Transducer, text: &[u8]) {
        let expected = ends(|each| scalar::split(transducer, text, |piece| each(piece.len())));
        for level in SimdLevel::detect_all() {
            let found = ends(|each| {
                let mut pieces = Pieces::new(text, |piece: &[u8], _| each(piece.len()));
                split(level, algebra, transducer, text, &mut pieces);
            });
            assert_eq!(
                found,
                expected,
                "{level:?} {:?} {grammar:?}",
                String::from_utf8_lossy(text)
            );
        }
    }

    fn published() -> Vec<(Grammar, Algebra, Transducer)> {
        let grammars = patterns().into_values().filter_map(|pattern| Grammar::recognise(&pattern));
        let known = grammars.filter_map(|grammar| {
            let (algebra, transducer) =
                (Algebra::of(&grammar)?, Transducer::try_from_grammar(&grammar)?);
            Some((grammar, algebra, transducer))
        });
        known.collect()
    }

    #[test]
    fn the_published_patterns_are_known() {
        assert_eq!(published().len(), patterns().len());
    }

    /// Words, marks, numbers, white space and signs of many scripts, of two to four bytes.
    #[rustfmt::skip]
    const SCRIPTS: [&str; 64] = [
        "é", "É", "ß", "ſ", "\u{212A}", "ǅ", "ʰ", "ª", "Übung", "naïveTé", "việt", "ŁÓDŹ", "e\u{301}", "\u{301}",
        "слово", "Слово", "СЛОВО", "иЯ", "λόγος", "Λόγος", "ἄνθρωπος", "שלום", "שָׁלוֹם", "كلمة", "كَلِمَة",
        "हिन्दी", "क", "ि", "१२", "٣", "٠١٢٣", "ไทย", "ที่", "๑", "中", "中文字", "ひらがな", "カタカナー",
        "한국어", "가", "힣", "㐀", "鿿", "䷀", "豈", "ａＡ１", "ꙮ", "𐐀𐐨", "𝟘", "𠀀",
        "½", "Ⅷ", "，", "。", "「", "—", "’", "\u{FE0F}", "😀", "❤\u{FE0F}", "👩\u{200D}🚀",
        "\u{a0}", "\u{3000}", "\u{2003}",
    ];

    /// A text of so many parts, some texts of all parts and some of a few only.
    fn random_text(random: &mut Random, count: usize) -> String {
        let few: Vec<usize> = (0..1 + random.below(8)).map(|_| random.below(200)).collect();
        let mixed = random.below(2) == 0;
        let parts = (0..count).map(|_| {
            let part = if mixed { random.below(200) } else { few[random.below(few.len())] };
            match part {
                0..100 => PARTS[part % PARTS.len()],
                _ => SCRIPTS[part % SCRIPTS.len()],
            }
        });
        parts.collect()
    }

    #[test]
    fn equals_the_scanner_on_random_text() {
        let mut random = Random(11);
        for (grammar, algebra, transducer) in published() {
            for _ in 0..8000 {
                let count = random.below(120);
                let text = random_text(&mut random, count);
                assert_twins(&grammar, &algebra, &transducer, text.as_bytes());
            }
        }
    }

    #[test]
    fn equals_the_scanner_at_every_phase() {
        let mut random = Random(12);
        for (grammar, algebra, transducer) in published() {
            for phase in 0..64 {
                for filler in ["a", " ", "1", ".", "\n", "é", "中", "\u{301}", "\u{3000}", "😀"]
                {
                    let filled = filler.repeat(phase) + &random_text(&mut random, 40);
                    let moved = "x ".repeat(phase / 2) + &"\n".repeat(phase % 2) + &filled;
                    assert_twins(&grammar, &algebra, &transducer, filled.as_bytes());
                    assert_twins(&grammar, &algebra, &transducer, moved.as_bytes());
                }
            }
        }
    }

    #[test]
    fn equals_the_scanner_on_every_scalar() {
        let published = published();
        let scalars: Vec<char> = ('\0'..=char::MAX).collect();
        for chunk in scalars.chunks(1 << 14) {
            let mut text = String::new();
            for &scalar in chunk {
                // Planes without a single character that is assigned have one class.
                let contexts: &[&str] = match scalar as u32 {
                    0x3_2400..0xE_0000 | 0xE_0200.. => &["a*b"],
                    _ => &["a*b ", " *A", "1*1", ".*a", ".*. ", "\n*\n", "'*", "** a", "\t *"],
                };
                for part in contexts.iter().flat_map(|context| context.split_inclusive('*')) {
                    match part.strip_suffix('*') {
                        Some(before) => text.extend(before.chars().chain([scalar])),
                        None => text.push_str(part),
                    }
                }
            }
            for (grammar, algebra, transducer) in &published {
                assert_twins(grammar, algebra, transducer, text.as_bytes());
            }
        }
    }

    #[test]
    fn equals_the_scanner_on_any_choice_of_rules() {
        let mut random = Random(13);
        let published = published();
        let mut tried = 0;
        for _ in 0..4000 {
            // A choice of one pattern and of another may meet in a grammar that nobody wrote.
            let mut pick = || published[random.below(published.len())].0.clone();
            let grammar = Grammar {
                contractions: pick().contractions,
                word_prefix: pick().word_prefix,
                word_case: pick().word_case,
                word_marks: pick().word_marks,
                punctuation_blank: pick().punctuation_blank,
                punctuation_marks: pick().punctuation_marks,
                number_blank: pick().number_blank,
                number_digits_max: pick().number_digits_max,
                punctuation_tail: pick().punctuation_tail,
                space_to_end: pick().space_to_end,
                space_to_newline: pick().space_to_newline,
                ..pick()
            };
            let (Some(algebra), Some(transducer)) =
                (Algebra::of(&grammar), Transducer::try_from_grammar(&grammar))
            else {
                continue;
            };
            tried += 1;
            for _ in 0..4 {
                let text = random_text(&mut random, 80);
                assert_twins(&grammar, &algebra, &transducer, text.as_bytes());
            }
        }
        assert!(tried > 1000);
    }

    #[test]
    fn equals_the_scanner_on_any_bytes() {
        let mut random = Random(14);
        for (grammar, algebra, transducer) in published() {
            for _ in 0..2000 {
                let count = random.below(200);
                let bytes: Vec<u8> = (0..count)
                    .map(|_| match random.below(12) {
                        0 => random.below(256) as u8,
                        _ => b"ab1 \n'./A\t"[random.below(10)],
                    })
                    .collect();
                assert_twins(&grammar, &algebra, &transducer, &bytes);

                // Text of many scripts with bytes changed, moved or missing.
                let mut bytes = random_text(&mut random, 60).into_bytes();
                for _ in 0..random.below(6) {
                    let at = random.below(bytes.len());
                    match random.below(3) {
                        0 => bytes[at] = random.below(256) as u8,
                        1 => bytes.insert(at, random.below(256) as u8),
                        _ => drop(bytes.drain(at..(at + 2).min(bytes.len()))),
                    }
                }
                assert_twins(&grammar, &algebra, &transducer, &bytes);
            }
        }
    }

    #[test]
    fn equals_the_scanner_on_long_pieces() {
        for (grammar, algebra, transducer) in published() {
            for filler in ["a", "A", "я", "Я", "中", "ไ", "ा", " ", ".", "…", "\n", "\u{3000}", "7"]
            {
                for next in [
                    "b", "B", "é", "É", "文", "\u{301}", "1", " ", ".", "'s", "\n", "\u{a0}",
                    "\u{ff}",
                ] {
                    for count in [20, 63, 64, 65, 200] {
                        let text = format!("x {}{next}{next}a y", filler.repeat(count));
                        assert_twins(&grammar, &algebra, &transducer, text.as_bytes());
                        assert_twins(
                            &grammar,
                            &algebra,
                            &transducer,
                            &text.repeat(3).as_bytes()[2..],
                        );
                    }
                }
            }
        }
    }
}
