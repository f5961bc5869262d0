//! The scanner's twin for ASCII: the pieces of sixty-four bytes at once, by algebra on bit masks.
//!
//! A block begins where a piece begins, so nothing is carried from block to block. Bit i of `cuts`
//! says that a piece ends before byte i. Where a byte's neighbours do not settle that (a character
//! beyond ASCII, what may be a contraction, a long number, white space that goes on after the
//! block), the algebra stops before the doubt and the scanner goes on until it is past.

use super::block::{self, Block};
use super::scalar;
use crate::pattern::{Case, Grammar, Place, Set, Transducer};

/// What the algebra needs to know of a grammar.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    case_splits: bool,
    /// Whether a word takes a blank, other white space, or one sign before it in.
    word_takes_blank: bool,
    word_takes_white: bool,
    word_takes_sign: bool,
    number_takes_blank: bool,
    digits_max: Option<u32>,
    punctuation_takes_blank: bool,
    punctuation_takes_newlines: bool,
    punctuation_takes_slashes: bool,
    space_to_newline: bool,
    /// By a byte after an apostrophe: whether the two may begin a contraction.
    contracts: Option<Box<[bool; 128]>>,
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
        let tail = grammar.punctuation_tail;
        let known = grammar.space_leaves_last
            && !grammar.word_prefix.meets(Set::NEWLINE | Set::NUMBER)
            && !tail.meets(!(Set::NEWLINE | Set::SLASH))
            && tail.meets(Set::CR) == tail.meets(Set::LF)
            && (tail.meets(Set::LF) || !tail.meets(Set::SLASH))
            && grammar.number_digits_max.is_none_or(|digits| (1..=8).contains(&digits));
        let contractions = &grammar.contractions;
        let contracts = (contractions.place != Place::Nowhere).then(|| {
            let mut contracts = Box::new([false; 128]);
            for first in contractions.endings.iter().filter_map(|ending| ending.bytes().next()) {
                contracts[usize::from(first)] = true;
                contracts[usize::from(first.to_ascii_uppercase())] |= contractions.ignore_case;
            }
            contracts
        });
        known.then_some(Self {
            case_splits: grammar.word_case == Case::Splits,
            word_takes_blank: grammar.word_prefix.meets(Set::BLANK),
            word_takes_white: grammar.word_prefix.meets(Set::WHITE),
            word_takes_sign,
            number_takes_blank: grammar.number_blank,
            digits_max: grammar.number_digits_max,
            punctuation_takes_blank: grammar.punctuation_blank,
            punctuation_takes_newlines: tail.meets(Set::LF),
            punctuation_takes_slashes: tail.meets(Set::SLASH),
            space_to_newline: grammar.space_to_newline,
            contracts,
        })
    }

    /// Returns where pieces end in a block that begins with one, and the first doubt, 64 if none.
    #[inline(always)]
    fn cuts(&self, bytes: &[u8; 64], block: Block) -> (u64, u32) {
        let Block { letters, numbers, blanks, white, newlines, .. } = block;
        let gaps = blanks | white;
        let space = gaps | newlines;
        let signs = !(letters | numbers | space | block.high);
        let text = !space;

        // Bit i of `after(mask)`: byte i - 1 is in the mask.
        let after = |mask: u64| mask << 1;
        let before = |mask: u64| mask >> 1;
        let when = |yes: bool, mask: u64| if yes { mask } else { 0 };

        // Between text and text.
        let joined = when(self.punctuation_takes_blank, after(blanks));
        let first_signs = signs & !after(signs) & !joined;
        let prefixed = when(self.word_takes_sign, letters & after(first_signs));
        let mut cuts = letters & after(numbers | signs) & !prefixed
            | numbers & after(letters | signs)
            | signs & after(letters | numbers)
            | when(self.case_splits, block.capitals & after(letters & !block.capitals))
            | when(self.digits_max == Some(1), numbers & after(numbers));

        // From text to white space; newlines right after punctuation belong to it.
        let tail_starts = when(self.punctuation_takes_newlines, newlines & after(signs));
        let tails = newlines & !newlines.wrapping_add(tail_starts);
        cuts |= space & after(text) & !tail_starts;
        cuts |= !newlines & after(tails);

        // Within white space: after its last newline, and before its last character.
        let rest = newlines & !tails;
        if self.space_to_newline {
            let runs = gaps.reverse_bits();
            let ends = (gaps & before(newlines)).reverse_bits();
            let to_newline = (runs & !runs.wrapping_add(ends)).reverse_bits();
            cuts |= gaps & after(rest) & !to_newline;
            cuts |= gaps & after(gaps) & before(text);
        } else {
            cuts |= (gaps | rest) & after(gaps | rest) & before(text);
        }

        // From white space to text, which may take the last of it in.
        let taken = when(self.word_takes_blank, letters & after(blanks))
            | when(self.word_takes_white, letters & after(white))
            | when(self.number_takes_blank, numbers & after(blanks))
            | signs & joined;
        cuts |= text & after(space) & !taken;

        let doubt = self.doubts(&block, bytes).trailing_zeros();
        (cuts & known(space, doubt), doubt)
    }

    /// Returns the bytes before which, or at which, neighbours do not settle what happens.
    #[inline(always)]
    fn doubts(&self, block: &Block, bytes: &[u8; 64]) -> u64 {
        let mut doubts = block.high;
        if let Some(digits) = self.digits_max.filter(|&digits| digits > 1) {
            doubts |= (1..=digits).fold(block.numbers, |runs, shift| runs & block.numbers << shift);
        }
        if self.punctuation_takes_slashes {
            doubts |= block.slashes & block.newlines << 1;
        }
        if let Some(contracts) = &self.contracts {
            let mut asked = block.apostrophes & ((block.letters | block.high) >> 1 | 1 << 63);
            while asked != 0 {
                let at = asked.trailing_zeros() as usize;
                let next = bytes.get(at + 1).map(|&byte| usize::from(byte));
                if next.is_none_or(|next| contracts.get(next) != Some(&false)) {
                    doubts |= 1 << at;
                }
                asked &= asked - 1;
            }
        }
        doubts
    }
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
    /// What the instructions are called.
    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => "SSE2",
            #[cfg(not(target_arch = "x86_64"))]
            Self::Plain => "plain",
        }
    }

    /// Returns those that this machine has.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn all() -> Vec<Self> {
        let bits = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("lzcnt");
        let tiers = [
            (Self::Avx512, bits && is_x86_feature_detected!("avx512bw")),
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
    split_by(rules, transducer, text, each, Block::one_by_one);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,lzcnt")]
fn split_by_avx512<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    split_by(rules, transducer, text, each, |bytes| block::avx512::classify(bytes));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,lzcnt")]
fn split_by_avx2<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    split_by(rules, transducer, text, each, |bytes| block::avx2::classify(bytes));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn split_by_sse2<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    each: impl FnMut(&'t [u8]),
) {
    split_by(rules, transducer, text, each, |bytes| block::sse2::classify(bytes));
}

/// The loop over blocks, which each tier compiles with its own instructions.
#[inline(always)]
fn split_by<'t>(
    rules: &Rules,
    transducer: &Transducer,
    text: &'t [u8],
    mut each: impl FnMut(&'t [u8]),
    classify: impl Fn(&[u8; 64]) -> Block,
) {
    let mut start = 0;
    while let Some(bytes) = text[start..].first_chunk() {
        let first = start;
        let (mut cuts, doubt) = rules.cuts(bytes, classify(bytes));
        while cuts != 0 {
            let end = first + cuts.trailing_zeros() as usize;
            each(&text[start..end]);
            start = end;
            cuts &= cuts - 1;
        }
        if doubt < 64 || start == first {
            let past = first + doubt as usize % 64;
            scalar::scan(transducer, text, start, |end| {
                each(&text[start..end]);
                start = end;
                end <= past || !is_ascii_ahead(&text[end..])
            });
        }
    }
    scalar::scan(transducer, text, start, |end| {
        each(&text[start..end]);
        start = end;
        true
    });
}

/// Whether the next few bytes are worth a block.
#[inline]
fn is_ascii_ahead(text: &[u8]) -> bool {
    text.first_chunk::<8>().is_some_and(|bytes| bytes.is_ascii())
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

    #[test]
    fn equals_the_scanner_on_random_text() {
        let mut random = Random(11);
        for (grammar, rules, transducer) in published() {
            for _ in 0..3000 {
                let parts = (0..random.below(120)).map(|_| PARTS[random.below(PARTS.len())]);
                let text: String = parts.collect();
                assert_twins(&grammar, &rules, &transducer, text.as_bytes());
            }
        }
    }

    #[test]
    fn equals_the_scanner_at_every_phase() {
        let mut random = Random(12);
        for (grammar, rules, transducer) in published() {
            for phase in 0..64 {
                for filler in ["a", " ", "1", ".", "\n"] {
                    let parts = (0..40).map(|_| PARTS[random.below(PARTS.len())]);
                    let text = filler.repeat(phase) + &parts.collect::<String>();
                    assert_twins(&grammar, &rules, &transducer, text.as_bytes());
                }
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
            let parts = (0..80).map(|_| PARTS[random.below(PARTS.len())]);
            let text: String = parts.collect();
            assert_twins(&grammar, &rules, &transducer, text.as_bytes());
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
            }
        }
    }
}
