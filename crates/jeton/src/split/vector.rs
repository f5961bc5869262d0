//! The scanner's twin: the pieces of sixty-four bytes at once, by algebra on bit masks.
//!
//! A block begins where a piece begins or within a word, so little is carried from block to block.
//! Bit i of `cuts` says that a piece ends before byte i. Where a byte's neighbours do not settle
//! that (what may be a contraction, a long number, white space that goes on after the block, bytes
//! that are not UTF-8), the algebra stops before the doubt and the scanner goes on until it is past.

use super::block::{self, Block, Wide, below, whole};
use super::scalar;
use crate::pattern::{self, Case, Grammar, Place, Set, Transducer};

/// What the algebra needs to know of a grammar.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    case_splits: bool,
    /// Whether a word takes a blank, other white space, or one sign before it in.
    word_takes_blank: bool,
    word_takes_white: bool,
    word_takes_sign: bool,
    marks: Marks,
    number_takes_blank: bool,
    digits_max: Option<u32>,
    punctuation_takes_blank: bool,
    punctuation_takes_newlines: bool,
    punctuation_takes_slashes: bool,
    space_to_newline: bool,
    contractions: Option<Contractions>,
}

/// What the algebra needs to know of contractions.
#[derive(Clone, Debug)]
struct Contractions {
    /// Whether they end a word and belong to it, or else are pieces.
    end_words: bool,
    ignore_case: bool,
    /// By a byte after an apostrophe.
    endings: Box<[Ending; 256]>,
}

/// How a contraction goes on that begins with a certain letter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ending {
    /// There is none.
    None,
    /// That is all of it.
    Complete,
    /// With this letter, and that is all.
    With(u8),
    /// The algebra does not know, if this byte comes next.
    DoubtIf(u8),
    /// The algebra does not know.
    Doubt,
}

/// What marks are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Marks {
    /// Letters without case.
    Letters,
    /// Signs.
    Signs,
    /// Signs where punctuation goes on, and else letters.
    Either,
    /// The algebra does not know.
    Doubts,
}

/// Where a block begins within a word: bit 0 or nothing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Carry {
    /// The character before the block is a letter of a word.
    word: u64,
    /// A capital would end it.
    lower: u64,
}

/// What the algebra makes of a block.
struct Found {
    /// Where pieces end.
    cuts: u64,
    /// Up to where that is known. At the block's end nothing is in doubt.
    doubt: u32,
    /// What a block from there on begins with, if nothing is in doubt.
    carry: Carry,
}

impl Rules {
    /// Reads a grammar; `None` if it makes choices that the algebra does not know.
    pub(super) fn of(grammar: &Grammar) -> Option<Self> {
        let signs = [Set::APOSTROPHE, Set::SLASH, Set::OTHER];
        let takes = |set: Set| signs.map(|sign| set.meets(sign));
        let word_takes_sign = match takes(grammar.word_prefix) {
            [true, true, true] => true,
            [false, false, false] => false,
            _ => return None,
        };
        let marks = match (grammar.word_marks, grammar.punctuation_marks) {
            (true, true) => Marks::Either,
            (true, false) => Marks::Letters,
            (false, true) if grammar.word_prefix.meets(Set::MARK) == word_takes_sign => {
                Marks::Signs
            }
            _ => Marks::Doubts,
        };
        let tail = grammar.punctuation_tail;
        let known = grammar.space_leaves_last
            && !grammar.word_prefix.meets(Set::NEWLINE | Set::NUMBER)
            && !tail.meets(!(Set::NEWLINE | Set::SLASH))
            && tail.meets(Set::CR) == tail.meets(Set::LF)
            && (tail.meets(Set::LF) || !tail.meets(Set::SLASH))
            && grammar.number_digits_max.is_none_or(|digits| (1..=8).contains(&digits));
        known.then_some(Self {
            case_splits: grammar.word_case == Case::Splits,
            word_takes_blank: grammar.word_prefix.meets(Set::BLANK),
            word_takes_white: grammar.word_prefix.meets(Set::WHITE),
            word_takes_sign,
            marks,
            number_takes_blank: grammar.number_blank,
            digits_max: grammar.number_digits_max,
            punctuation_takes_blank: grammar.punctuation_blank,
            punctuation_takes_newlines: tail.meets(Set::LF),
            punctuation_takes_slashes: tail.meets(Set::SLASH),
            space_to_newline: grammar.space_to_newline,
            contractions: Contractions::of(&grammar.contractions),
        })
    }

    /// Returns where pieces end in a block. `WIDE`: there are characters beyond ASCII in it.
    #[inline(always)]
    fn cuts<const WIDE: bool>(
        &self,
        bytes: &[u8; 64],
        block: &Block,
        wide: &Wide,
        carry: Carry,
    ) -> Found {
        let Block { blanks, newlines, .. } = *block;
        let classes = &wide.classes;
        let mut letters = block.letters | classes.letters();
        let capitals = block.capitals | classes.capitals();
        let mut caseless = classes.caseless();
        let numbers = block.numbers | classes.numbers();
        let white = block.white | classes.white();
        let gaps = blanks | white;
        let space = gaps | newlines;
        let text = !space;
        let mut signs = !(letters | numbers | space);

        // Bit i of `after(mask)`: byte i - 1 is in the mask.
        let after = |mask: u64| mask << 1;
        let before = |mask: u64| mask >> 1;
        let when = |yes: bool, mask: u64| if yes { mask } else { 0 };
        let joined = when(self.punctuation_takes_blank, after(blanks));

        if WIDE && matches!(self.marks, Marks::Letters | Marks::Either) {
            let marks = match self.marks {
                Marks::Either => classes.marks() & !self.punctuation(signs, wide, joined),
                _ => classes.marks(),
            };
            letters |= marks;
            caseless |= marks;
            signs &= !marks;
        }

        // Between text and text.
        let after_letters = after(letters) | carry.word;
        let first_signs = whole(signs & !after(signs) & !joined, wide.continuations);
        let prefixed = when(self.word_takes_sign, letters & after(first_signs));
        let mut cuts = letters & after(numbers | signs) & !prefixed
            | numbers & (after_letters | after(signs))
            | signs & (after_letters | after(numbers))
            | self.between_digits(numbers, wide.continuations);

        // A capital after lower case, and after letters without case that follow lower case.
        let mut doubts = 0;
        let mut lower = letters & !capitals & !caseless;
        if self.case_splits {
            if WIDE {
                let from = caseless & (after(lower) | carry.lower);
                lower |= caseless & !caseless.wrapping_add(from);
            }
            let after_lower = after(lower) | carry.lower;
            cuts |= capitals & after_lower;
            // Capitals after other letters without case are a word, unless more of it follows.
            let end = wide.end.min(wide.broken);
            let starts = capitals & (after(caseless) | carry.word) & !after_lower & below(end);
            if starts != 0 {
                let run = (capitals << (64 - end)).leading_ones();
                doubts |= starts & 1_u64.checked_shl(end - run).unwrap_or(0);
                let joined = capitals.wrapping_add(starts) & letters & !capitals;
                cuts |= starts & !up_to(capitals, joined);
            }
        }

        // From text to white space; newlines right after punctuation belong to it.
        let tail_starts = when(self.punctuation_takes_newlines, newlines & after(signs));
        let tails = newlines & !newlines.wrapping_add(tail_starts);
        cuts |= space & (after(text) | carry.word) & !tail_starts;
        cuts |= !newlines & after(tails);

        // Within white space: after its last newline, and before its last character.
        let rest = newlines & !tails;
        let last = first_bytes(space & before(text), wide.continuations);
        if self.space_to_newline {
            let starts = gaps & after(rest);
            let ends = gaps.wrapping_add(starts) & newlines;
            cuts |= if ends == 0 { starts } else { starts & !up_to(gaps, ends) };
            cuts |= gaps & after(gaps) & last;
        } else {
            cuts |= (gaps | rest) & after(gaps | rest) & last;
        }

        // From white space to text, which may take the last of it in.
        let taken = when(self.word_takes_blank, letters & after(blanks))
            | when(self.word_takes_white, letters & after(white))
            | when(self.number_takes_blank, numbers & after(blanks))
            | signs & joined;
        cuts |= text & after(space) & !taken;

        if let Some(contractions) = &self.contractions {
            let from = if contractions.end_words { after_letters } else { first_signs };
            let mut asked = from & block.apostrophes;
            asked &= (block.letters | block.high) >> 1 | 1 << 63;
            let mut end_before = u32::MAX;
            while asked != 0 {
                let at = asked.trailing_zeros();
                asked &= asked - 1;
                match contractions.end(bytes, at) {
                    // What is after a contraction is not after a word.
                    _ if contractions.end_words && at == end_before => (),
                    Some(end) if end == at => (),
                    // Letters without case that follow would be taken for its word's.
                    Some(end)
                        if end < wide.end && !(self.case_splits && block.high >> end & 1 == 1) =>
                    {
                        let first = at + u32::from(!contractions.end_words);
                        cuts = cuts & !(below(end) & !below(first)) | 1 << end;
                        end_before = end;
                    }
                    _ => doubts |= 1 << at,
                }
            }
        }

        doubts |= self.doubts(block, wide);
        let doubt = doubts.trailing_zeros().min(wide.broken);
        let last = wide.end - 1;
        Found {
            cuts: cuts & known(space, doubt.min(wide.end)),
            doubt,
            carry: Carry {
                word: when(!self.case_splits, letters) >> last & 1
                    | when(self.case_splits, letters & !capitals) >> last & 1,
                lower: lower >> last & 1,
            },
        }
    }

    /// Where a number ends because it has as many digits as it may.
    #[inline(always)]
    fn between_digits(&self, numbers: u64, continuations: u64) -> u64 {
        // From first bytes to those of the next characters: a carry runs through continuations.
        let next = |firsts: u64| (firsts << 1).wrapping_add(continuations) & !continuations;
        match self.digits_max {
            Some(1) => numbers & numbers << 1 & !continuations,
            Some(digits) if numbers & numbers << digits != 0 => {
                let (mut cuts, mut firsts) = (0, numbers & !(numbers << 1));
                while firsts != 0 {
                    firsts = (0..digits).fold(firsts, |firsts, _| next(firsts) & numbers);
                    cuts |= firsts;
                }
                cuts
            }
            _ => 0,
        }
    }

    /// Of signs and marks, those of punctuation that goes on: a second sign, or one that a blank
    /// before it belongs to, and all that follows it.
    #[inline(always)]
    fn punctuation(&self, signs: u64, wide: &Wide, joined: u64) -> u64 {
        let marks = wide.classes.marks();
        let plain = signs & !marks;
        let starts = if self.word_takes_sign {
            plain & (plain << 1 & !wide.continuations | joined)
        } else {
            plain
        };
        let starts = if self.word_takes_blank { starts } else { starts | marks & joined };
        signs & !signs.wrapping_add(starts) | starts
    }

    /// Returns the bytes before which, or at which, neighbours do not settle what happens.
    #[inline(always)]
    fn doubts(&self, block: &Block, wide: &Wide) -> u64 {
        let mut doubts = 0;
        if self.marks == Marks::Doubts {
            doubts |= wide.classes.marks();
        }
        if self.punctuation_takes_slashes {
            doubts |= block.slashes & block.newlines << 1;
        }
        doubts
    }
}

impl Contractions {
    fn of(contractions: &pattern::Contractions) -> Option<Self> {
        let mut endings = Box::new([Ending::None; 256]);
        let ignore_case = contractions.ignore_case;
        // `ſ` and the Kelvin sign are letters of contractions too.
        let folds = |letter: &u8| ignore_case && matches!(letter, b's' | b'k');
        for ending in contractions.endings.iter().map(String::as_bytes) {
            let first = ending[0];
            let found = match ending {
                [_] => Ending::Complete,
                [_, second] if !folds(second) => Ending::With(*second),
                _ => Ending::Doubt,
            };
            let alone = endings[usize::from(first)] == Ending::None;
            let found = if alone { found } else { Ending::Doubt };
            endings[usize::from(first)] = found;
            if ignore_case {
                endings[usize::from(first.to_ascii_uppercase())] = found;
            }
            if folds(&first) {
                let (first, second) = if first == b's' { (0xC5, 0xBF) } else { (0xE2, 0x84) };
                endings[first] = Ending::DoubtIf(second);
            }
        }
        (contractions.place != Place::Nowhere).then_some(Self {
            end_words: contractions.place == Place::Suffix,
            ignore_case,
            endings,
        })
    }

    /// Returns where a contraction ends that begins at an apostrophe, which is there if there is
    /// none; `None` if the block does not tell.
    #[inline(always)]
    fn end(&self, bytes: &[u8; 64], at: u32) -> Option<u32> {
        let letter = |at: u32| bytes.get(at as usize).copied();
        match self.endings[usize::from(letter(at + 1)?)] {
            Ending::None => Some(at),
            Ending::Complete => Some(at + 2),
            Ending::With(second) => {
                let found = letter(at + 2)?;
                let found = if self.ignore_case { found.to_ascii_lowercase() } else { found };
                Some(if found == second { at + 3 } else { at })
            }
            Ending::DoubtIf(second) => (letter(at + 2)? != second).then_some(at),
            Ending::Doubt => None,
        }
    }
}

/// The first bytes of the characters of white space with these last bytes.
#[inline(always)]
fn first_bytes(lasts: u64, continuations: u64) -> u64 {
    let back = |bits: u64| bits & !continuations | (bits & continuations) >> 1;
    // None has more than three bytes.
    back(back(lasts))
}

/// The runs of bits that go up to one of `ends`.
#[inline(always)]
fn up_to(runs: u64, ends: u64) -> u64 {
    let (runs, lasts) = (runs.reverse_bits(), (runs & ends >> 1).reverse_bits());
    (runs & !runs.wrapping_add(lasts)).reverse_bits()
}

/// The bits of a block up to a doubt; if white space goes up to it, only to where that begins.
#[inline(always)]
fn known(space: u64, doubt: u32) -> u64 {
    if doubt == 0 {
        return 0;
    }
    let run = (space << (64 - doubt)).leading_ones();
    let last = if run > 0 { doubt - run } else { doubt - 1 };
    u64::MAX >> (63 - last)
}

/// The instructions that blocks are classified by, the best first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tier {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(not(target_arch = "x86_64"))]
    Plain,
}

impl Tier {
    /// Returns those that this machine has.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn all() -> Vec<Self> {
        let bits = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("lzcnt");
        let tiers = [
            (
                Self::Avx512,
                bits && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512bitalg"),
            ),
            (Self::Avx2, bits && is_x86_feature_detected!("avx2")),
            (Self::Sse2, true),
        ];
        tiers.into_iter().filter_map(|(tier, there)| there.then_some(tier)).collect()
    }

    /// Returns those that this machine has.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn all() -> Vec<Self> {
        vec![Self::Plain]
    }
}

/// Calls `each` with every piece of `text`, as [`scalar::split`] does. The tier is one of
/// [`Tier::all`].
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(super) fn split<'t>(
    tier: Tier,
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    debug_assert!(Tier::all().contains(&tier));
    // SAFETY: `Tier::all` names only what the machine has, and nothing else makes a tier.
    match tier {
        Tier::Avx512 => unsafe { split_by_avx512(rules, transducer, text, each) },
        Tier::Avx2 => unsafe { split_by_avx2(rules, transducer, text, each) },
        Tier::Sse2 => unsafe { split_by_sse2(rules, transducer, text, each) },
    }
}

/// Calls `each` with every piece of `text`, as [`scalar::split`] does.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn split<'t>(
    _: Tier,
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    split_by(rules, transducer, text, each, Block::one_by_one, Wide::one_by_one);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bitalg,bmi1,lzcnt")]
fn split_by_avx512<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    split_by(
        rules,
        transducer,
        text,
        each,
        |bytes| block::avx512::classify(bytes),
        |bytes, high| block::avx512::widen(bytes, high),
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,lzcnt")]
fn split_by_avx2<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    split_by(
        rules,
        transducer,
        text,
        each,
        |bytes| block::avx2::classify(bytes),
        |bytes, high| block::avx2::widen(bytes, high),
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn split_by_sse2<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    split_by(
        rules,
        transducer,
        text,
        each,
        |bytes| block::sse2::classify(bytes),
        |bytes, high| block::sse2::widen(bytes, high),
    );
}

/// The loop over blocks, which each tier compiles with its own instructions.
#[inline(always)]
fn split_by<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    mut each: impl FnMut(&'t [u8]),
    classify: impl Fn(&[u8; 64]) -> Block,
    widen: impl Fn(&[u8; 64], u64) -> Wide,
) {
    // The piece in hand begins at `start`; the block at `first`, later if it is within a word.
    let (mut start, mut first, mut carry) = (0, 0, Carry::default());
    let mut was_broken = false;
    while let Some(bytes) = text[first..].first_chunk() {
        let block = classify(bytes);
        let (found, end, broken) = if block.high == 0 {
            (rules.cuts::<false>(bytes, &block, &Wide::NONE, carry), 64, 64)
        } else {
            let wide = widen(bytes, block.high);
            (rules.cuts::<true>(bytes, &block, &wide, carry), wide.end, wide.broken)
        };
        let mut cuts = found.cuts;
        while cuts != 0 {
            let end = first + cuts.trailing_zeros() as usize;
            each(&text[start..end]);
            start = end;
            cuts &= cuts - 1;
        }
        carry = found.carry;
        let is_broken = found.doubt < end && found.doubt == broken;
        if found.doubt < end || carry.word == 0 && found.cuts == 0 {
            let mut past = first + if found.doubt < end { found.doubt as usize } else { 0 };
            // Where many bytes are not UTF-8, blocks are not worth their while.
            past += if is_broken && was_broken { 64 } else { 0 };
            scalar::scan(transducer, text, start, |end| {
                each(&text[start..end]);
                start = end;
                end <= past
            });
            carry = Carry::default();
        }
        was_broken = is_broken;
        first = if carry.word != 0 { first + end as usize } else { start };
    }
    scalar::scan(transducer, text, start, |end| {
        each(&text[start..end]);
        start = end;
        true
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PARTS, Random, patterns};

    fn ends(split: impl Fn(&mut dyn FnMut(usize))) -> Vec<usize> {
        let (mut ends, mut end) = (Vec::new(), 0);
        split(&mut |length| {
            end += length;
            ends.push(end);
        });
        ends
    }

    fn assert_twins(grammar: &Grammar, rules: &Rules, transducer: &Transducer, text: &[u8]) {
        let expected = ends(|each| scalar::split(transducer, text, |piece| each(piece.len())));
        for tier in Tier::all() {
            let found =
                ends(|each| split(tier, rules, transducer, text, |piece| each(piece.len())));
            assert_eq!(found, expected, "{tier:?} {:?} {grammar:?}", String::from_utf8_lossy(text));
        }
    }

    fn published() -> Vec<(Grammar, Rules, Transducer)> {
        let grammars = patterns().into_values().filter_map(|pattern| Grammar::of(&pattern));
        let known = grammars.filter_map(|grammar| {
            let (rules, transducer) = (Rules::of(&grammar)?, Transducer::of(&grammar)?);
            Some((grammar, rules, transducer))
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
        for (grammar, rules, transducer) in published() {
            for _ in 0..8000 {
                let count = random.below(120);
                let text = random_text(&mut random, count);
                assert_twins(&grammar, &rules, &transducer, text.as_bytes());
            }
        }
    }

    #[test]
    fn equals_the_scanner_at_every_phase() {
        let mut random = Random(12);
        for (grammar, rules, transducer) in published() {
            for phase in 0..64 {
                for filler in ["a", " ", "1", ".", "\n", "é", "中", "\u{301}", "\u{3000}", "😀"]
                {
                    let filled = filler.repeat(phase) + &random_text(&mut random, 40);
                    let moved = "x ".repeat(phase / 2) + &"\n".repeat(phase % 2) + &filled;
                    assert_twins(&grammar, &rules, &transducer, filled.as_bytes());
                    assert_twins(&grammar, &rules, &transducer, moved.as_bytes());
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
            for (grammar, rules, transducer) in &published {
                assert_twins(grammar, rules, transducer, text.as_bytes());
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
            let (Some(rules), Some(transducer)) = (Rules::of(&grammar), Transducer::of(&grammar))
            else {
                continue;
            };
            tried += 1;
            for _ in 0..4 {
                let text = random_text(&mut random, 80);
                assert_twins(&grammar, &rules, &transducer, text.as_bytes());
            }
        }
        assert!(tried > 1000);
    }

    #[test]
    fn equals_the_scanner_on_any_bytes() {
        let mut random = Random(14);
        for (grammar, rules, transducer) in published() {
            for _ in 0..2000 {
                let count = random.below(200);
                let bytes: Vec<u8> = (0..count)
                    .map(|_| match random.below(12) {
                        0 => random.below(256) as u8,
                        _ => b"ab1 \n'./A\t"[random.below(10)],
                    })
                    .collect();
                assert_twins(&grammar, &rules, &transducer, &bytes);

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
                assert_twins(&grammar, &rules, &transducer, &bytes);
            }
        }
    }

    #[test]
    fn equals_the_scanner_on_long_pieces() {
        for (grammar, rules, transducer) in published() {
            for filler in ["a", "A", "я", "Я", "中", "ไ", "ा", " ", ".", "…", "\n", "\u{3000}", "7"]
            {
                for next in [
                    "b", "B", "é", "É", "文", "\u{301}", "1", " ", ".", "'s", "\n", "\u{a0}",
                    "\u{ff}",
                ] {
                    for count in [20, 63, 64, 65, 200] {
                        let text = format!("x {}{next}{next}a y", filler.repeat(count));
                        assert_twins(&grammar, &rules, &transducer, text.as_bytes());
                        assert_twins(
                            &grammar,
                            &rules,
                            &transducer,
                            &text.repeat(3).as_bytes()[2..],
                        );
                    }
                }
            }
        }
    }
}
