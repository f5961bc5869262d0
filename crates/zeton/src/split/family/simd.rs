//! SIMD pieces of the family: 64 bytes a block, by bit masks.
//!
//! For each block, `classify` makes one bit mask per class of characters, and [`MaskAlgebra`] makes
//! from them the mask of cuts. A block begins where a piece begins, or within a word, so that
//! [`WordCarry`] is the only state between blocks:
//!
//! ```text
//! block 0    classify ─▶ cuts ─▶ sink      the last cut is inside: block 1 begins there
//!            ├──────────────────┼────┤
//! block 1                       ├── the open piece is read again ──┤
//! within a word, no byte is read again: the next block begins behind this one, with a carry
//! ```
//!
//! Neighbouring bytes do not decide every cut. For example, a contraction at the end of a block
//! continues behind it, and a byte may be invalid UTF-8. From there the scalar scanner continues,
//! until it is past the unknown byte. The pieces are those of [`scalar::split`]; the tests compare
//! both on random text, on every scalar value, and at each offset within a block.
//!
//! Cost: 52 ns for a block of English, estimated, and 1,000 to 1,280 MB/s (cl100k, AVX-512). Blocks
//! of other scripts take 5 ns more for each row of 64 code points (`docs/notes/splitting.md`).

use super::boundary_masks::{MaskAlgebra, WordCarry};
#[cfg(target_arch = "x86_64")]
use super::classify;
use super::classify::{AsciiMasks, UnicodeMasks, bits_below};
use super::scalar;
use crate::pattern::Transducer;
use crate::split::VisitControl;
use crate::sys::huge_buffer::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::sys::simd_level::simd_fn;
use crate::sys::simd_level::{SimdKind, SimdLevel};

/// The receiver of the piece ends of a text, from left to right.
///
/// For example, the piece cache collects them in batches, and [`PieceVisitor`] calls a closure for
/// each piece.
pub(crate) trait BoundarySink {
    /// Receives the cuts of a block that begins at `first`: a piece ends before byte i if bit i of
    /// `cuts` is set. Bit i of `triggers` is set if byte i is a trigger of the rules. A block that
    /// is not `wide` is ASCII.
    fn push_cuts(&mut self, first: usize, cuts: u64, triggers: u64, wide: bool);
    /// Receives the end of the next piece, in bytes from the start of the text.
    fn push_end(&mut self, end: usize);
    /// Returns whether the sink accepts more ends; if not, the scan of the text stops.
    #[inline(always)]
    fn is_open(&self) -> bool {
        true
    }
}

/// Reports the end of every piece of `text` to `sink`, in order, until the sink is closed. It
/// classifies 64 bytes at a time with the instructions of `level`.
pub(crate) fn split(
    level: SimdLevel,
    algebra: &MaskAlgebra,
    transducer: &Transducer,
    text: &[u8],
    sink: &mut impl BoundarySink,
) {
    split_with_triggers(level, algebra, transducer, text, |_, _| 0, sink);
}

/// Splits like [`split`], and reports for each block the bytes that `find_triggers` finds in it.
///
/// `find_triggers` receives the masks of the block and the state carried into it, because a block
/// may begin within a word.
pub(crate) fn split_with_triggers(
    level: SimdLevel,
    algebra: &MaskAlgebra,
    transducer: &Transducer,
    text: &[u8],
    find_triggers: impl Fn(&AsciiMasks, WordCarry) -> u64,
    sink: &mut impl BoundarySink,
) {
    match level.kind() {
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx512 => unsafe {
            split_by_avx512(algebra, transducer, text, find_triggers, sink);
        },
        // SAFETY: a `SimdLevel` of this kind exists only where detection found its features.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        SimdKind::Avx2 => unsafe { split_by_avx2(algebra, transducer, text, find_triggers, sink) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 machine has SSE2.
        #[allow(unsafe_code)]
        SimdKind::Baseline => unsafe {
            split_by_sse2(algebra, transducer, text, find_triggers, sink);
        },
        #[cfg(not(target_arch = "x86_64"))]
        SimdKind::Baseline => {
            split_by(
                algebra,
                transducer,
                text,
                find_triggers,
                sink,
                AsciiMasks::from_bytes,
                UnicodeMasks::from_bytes,
            );
        }
    }
}

/// The loop over blocks, compiled for one SIMD level with the kernels of that level's module.
#[cfg(target_arch = "x86_64")]
macro_rules! split_by_level {
    ($name:ident, $level:ident) => {
        simd_fn! { $level,
            fn $name(
                algebra: &MaskAlgebra,
                transducer: &Transducer,
                text: &[u8],
                find_triggers: impl Fn(&AsciiMasks, WordCarry) -> u64,
                sink: &mut impl BoundarySink,
            ) {
                split_by(
                    algebra,
                    transducer,
                    text,
                    find_triggers,
                    sink,
                    |bytes| classify::$level::classify_ascii(bytes),
                    |bytes, high| classify::$level::classify_unicode(bytes, high),
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

/// Bytes between a block and the byte that it prefetches. Not measured. Hardware prefetchers run
/// ahead too, but stop at the end of a page of memory.
const PREFETCH_BYTES: usize = 1024;

/// The loop over blocks, compiled by each SIMD level with its own kernels. It allocates nothing,
/// and reports each end to `sink` once.
#[inline(always)]
fn split_by(
    algebra: &MaskAlgebra,
    transducer: &Transducer,
    text: &[u8],
    find_triggers: impl Fn(&AsciiMasks, WordCarry) -> u64,
    sink: &mut impl BoundarySink,
    classify_ascii: impl Fn(&[u8; 64]) -> AsciiMasks,
    classify_unicode: impl Fn(&[u8; 64], u64) -> UnicodeMasks,
) {
    // The block begins at `first`, which is behind the start of the open piece if it is within a
    // word.
    let (mut start, mut first, mut carry) = (0, 0, WordCarry::default());
    let mut was_invalid = false;
    // The padded end of the text. It is split by the same call as all other blocks, so that the
    // kernels are inlined once.
    let mut rest;
    loop {
        let (bytes, length) = match text[first..].first_chunk() {
            Some(bytes) => (bytes, 64),
            None => match pad_rest(&text[first..]) {
                Some(padded) => {
                    rest = padded;
                    (&rest, (text.len() - first) as u32)
                }
                None => break,
            },
        };
        if let Some(ahead) = text.get(first + PREFETCH_BYTES) {
            prefetch(ahead);
        }
        let block = classify_ascii(bytes);
        let triggers = find_triggers(&block, carry);
        let (found, end, invalid) = if block.high == 0 {
            (algebra.find_cuts::<false>(bytes, &block, &UnicodeMasks::NONE, carry), 64, 64)
        } else {
            let wide = classify_unicode(bytes, block.high);
            (algebra.find_cuts::<true>(bytes, &block, &wide, carry), wide.end, wide.invalid)
        };
        let cuts = found.cuts & bits_below(length);
        sink.push_cuts(first, cuts, triggers, block.high != 0);
        if cuts != 0 {
            start = first + 63 - cuts.leading_zeros() as usize;
        }
        if length < 64 {
            // The padding is one more piece, so the last piece of the text ends with the text.
            if found.known_end >= length && start < text.len() {
                sink.push_cuts(text.len(), 1, 0, true);
                return;
            }
            break;
        }
        carry = found.carry;
        let is_invalid = found.known_end < end && found.known_end == invalid;
        // A byte is unknown, or a single piece fills the block: scan until an end lies behind it.
        if found.known_end < end || carry.word == 0 && cuts == 0 {
            let mut past = first + if found.known_end < end { found.known_end as usize } else { 0 };
            // Blocks do not pay where many bytes are invalid: after the second invalid block in a
            // row, 64 more bytes are scanned. Doing so after each took 0.45 of the speed with one
            // invalid byte in ninety.
            past += if is_invalid && was_invalid { 64 } else { 0 };
            scalar::scan(transducer, text, start, |end| {
                sink.push_end(end);
                start = end;
                end <= past
            });
            carry = WordCarry::default();
        }
        was_invalid = is_invalid;
        first = if carry.word != 0 { first + end as usize } else { start };
    }
    scalar::scan(transducer, text, start, |end| {
        sink.push_end(end);
        true
    });
}

/// A sink that calls a closure with each piece, and with whether the piece may contain a trigger.
pub(crate) struct PieceVisitor<'t, E> {
    text: &'t [u8],
    visit: E,
    /// The start of the open piece, and whether a block reported a trigger in it.
    start: usize,
    has_trigger: bool,
    is_open: bool,
}

impl<'t, S: VisitControl, E: FnMut(&'t [u8], bool) -> S> PieceVisitor<'t, E> {
    pub(crate) fn new(text: &'t [u8], visit: E) -> Self {
        Self { text, visit, start: 0, has_trigger: false, is_open: true }
    }

    /// Calls the closure with the open piece, which ends at `end`. Then the next piece is open,
    /// without a trigger.
    #[inline(always)]
    fn visit(&mut self, end: usize, has_trigger: bool) {
        self.is_open = (self.visit)(&self.text[self.start..end], has_trigger).is_continue();
        (self.start, self.has_trigger) = (end, false);
    }
}

impl<'t, S: VisitControl, E: FnMut(&'t [u8], bool) -> S> BoundarySink for PieceVisitor<'t, E> {
    #[inline(always)]
    fn push_cuts(&mut self, first: usize, mut cuts: u64, mut triggers: u64, _: bool) {
        while cuts != 0 && self.is_open {
            let end = first + cuts.trailing_zeros() as usize;
            let before = (cuts & cuts.wrapping_neg()) - 1;
            self.visit(end, self.has_trigger | (triggers & before != 0));
            triggers &= !before;
            cuts &= cuts - 1;
        }
        self.has_trigger |= triggers != 0;
    }

    #[inline(always)]
    fn push_end(&mut self, end: usize) {
        self.visit(end, true);
    }

    #[inline(always)]
    fn is_open(&self) -> bool {
        self.is_open
    }
}

/// Returns the last bytes of a text, filled up with newlines to a block. `None` if the newlines
/// would change where its pieces end. The loop over blocks calls it for the end of the text only.
#[inline(always)]
fn pad_rest(rest: &[u8]) -> Option<[u8; 64]> {
    // White space other than blanks would join the newlines, also white space beyond ASCII. An
    // empty rest ends a word that the block before left open.
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

    fn assert_twins(
        grammar: &Grammar,
        algebra: &MaskAlgebra,
        transducer: &Transducer,
        text: &[u8],
    ) {
        let expected = ends(|visit| scalar::split(transducer, text, |piece| visit(piece.len())));
        for level in SimdLevel::detect_all() {
            let found = ends(|visit| {
                let mut pieces = PieceVisitor::new(text, |piece: &[u8], _| visit(piece.len()));
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

    fn published() -> Vec<(Grammar, MaskAlgebra, Transducer)> {
        let grammars = patterns().into_values().filter_map(|pattern| Grammar::recognise(&pattern));
        let known = grammars.filter_map(|grammar| {
            let (algebra, transducer) =
                (MaskAlgebra::recognise(&grammar)?, Transducer::try_from_grammar(&grammar)?);
            Some((grammar, algebra, transducer))
        });
        known.collect()
    }

    #[test]
    fn the_published_patterns_are_known() {
        assert_eq!(published().len(), patterns().len());
    }

    /// Words, marks, numbers, white space and signs of many scripts, with two to four bytes.
    #[rustfmt::skip]
    const SCRIPTS: [&str; 64] = [
        "é", "É", "ß", "ſ", "\u{212A}", "ǅ", "ʰ", "ª", "Übung", "naïveTé", "việt", "ŁÓDŹ", "e\u{301}", "\u{301}",
        "слово", "Слово", "СЛОВО", "иЯ", "λόγος", "Λόγος", "ἄνθρωπος", "שלום", "שָׁלוֹם", "كلمة", "كَلِمَة",
        "हिन्दी", "क", "ि", "१२", "٣", "٠١٢٣", "ไทย", "ที่", "๑", "中", "中文字", "ひらがな", "カタカナー",
        "한국어", "가", "힣", "㐀", "鿿", "䷀", "豈", "ａＡ１", "ꙮ", "𐐀𐐨", "𝟘", "𠀀",
        "½", "Ⅷ", "，", "。", "「", "—", "’", "\u{FE0F}", "😀", "❤\u{FE0F}", "👩\u{200D}🚀",
        "\u{a0}", "\u{3000}", "\u{2003}",
    ];

    /// Returns a text of `count` parts: some texts mix all parts, others repeat a few.
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
                // Planes without an assigned character have a single class.
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
            // Each rule comes from a random published pattern, so most of these grammars are
            // unpublished.
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
                (MaskAlgebra::recognise(&grammar), Transducer::try_from_grammar(&grammar))
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

                // Text of many scripts with bytes changed, inserted or removed.
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
