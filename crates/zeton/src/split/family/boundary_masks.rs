//! Bit algebra: the mask of cuts of 64 bytes, from the masks of their classes.
//!
//! A piece ends before byte i if bit i of the cuts is set. Nearly every rule of a grammar compares
//! a byte with its left neighbour, which is a shift by one and a few AND operations for 64 bytes at
//! once. All bytes of a character have its class, so the byte before a character has the class of
//! the character before it. For example, with cl100k (bit 0 at the left; `é` has two bytes):
//!
//! ```text
//! text            I t ' s     4 0 9 6   é   ! ⏎ ⏎   x
//! letters         1 1 . 1 . . . . . . . 1 1 . . . . 1
//! numbers         . . . . . . 1 1 1 1 . . . . . . . .
//! blanks          . . . . 1 1 . . . . 1 . . . . . 1 .
//! newlines        . . . . . . . . . . . . . . 1 1 . .
//! apostrophes     . . 1 . . . . . . . . . . . . . . .
//! continuations   . . . . . . . . . . . . 1 . . . . .
//! cuts            . . 1 . 1 1 1 . . 1 1 . . 1 . . 1 .
//! pieces          It|'s | | |409  |6| é    |!⏎⏎  | x
//! ```
//!
//! A rule that depends on the start of a run uses the carry of an addition, which ripples through
//! the run. For example, newlines directly behind punctuation belong to it, as in `!⏎⏎⏎x⏎`:
//!
//! ```text
//! text                     a b ! ⏎ ⏎ ⏎ x ⏎
//! newlines                 . . . 1 1 1 . 1
//! starts                   . . . 1 . . . .       newlines & (signs << 1)
//! newlines + starts        . . . . . . 1 1
//! newlines & !(the sum)    . . . 1 1 1 . .       the whole run behind `!`
//! ```
//!
//! A cut that neighbours cannot decide makes its byte *unknown*: the cuts are valid up to the first
//! unknown byte, and the scalar scanner continues there. For example, a slash behind a newline is
//! unknown with o200k.

use super::classify::{AsciiMasks, UnicodeMasks, bits_below, extend_to_characters};
use super::contractions::ContractionTable;
use crate::pattern::{CharSet, Grammar, WordCase};

/// The choices of a grammar that the algebra reads.
#[derive(Clone, Debug)]
pub(crate) struct MaskAlgebra {
    case_splits: bool,
    /// Whether a word takes a blank, other white space, or one sign in front of it.
    word_takes_blank: bool,
    word_takes_white: bool,
    word_takes_sign: bool,
    marks: MarkRole,
    number_takes_blank: bool,
    digits_max: Option<u32>,
    punctuation_takes_blank: bool,
    punctuation_takes_newlines: bool,
    punctuation_takes_slashes: bool,
    space_to_newline: bool,
    contractions: Option<ContractionTable>,
}

/// The role of marks (`\p{M}`) in a grammar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MarkRole {
    /// Letters without case.
    Letters,
    /// Signs.
    Signs,
    /// Signs where they continue punctuation, letters everywhere else.
    Contextual,
    /// Every mark is an unknown byte.
    Unknown,
}

/// The state between two blocks if the second begins within a word. Each field is bit 0 or nothing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct WordCarry {
    /// The character before the block is a letter of a word.
    pub(crate) word: u64,
    /// A capital at the start of the block ends that word.
    pub(crate) lower: u64,
}

/// The cuts of a block.
pub(crate) struct BlockCuts {
    /// Bit i is set if a piece ends before byte i.
    pub(crate) cuts: u64,
    /// The first unknown byte: `cuts` are valid up to it. It is 64 or more if there is none.
    pub(crate) known_end: u32,
    /// The state for a block that begins behind this one, if every byte is known.
    pub(crate) carry: WordCarry,
}

impl MaskAlgebra {
    /// Reads the mask algebra of a grammar, when a pattern is compiled. Returns `None` if the
    /// grammar makes a choice that the algebra does not cover; then the scalar transducer splits.
    pub(crate) fn recognise(grammar: &Grammar) -> Option<Self> {
        let signs = [CharSet::APOSTROPHE, CharSet::SLASH, CharSet::OTHER];
        let takes = |set: CharSet| signs.map(|sign| set.intersects(sign));
        let word_takes_sign = match takes(grammar.word_prefix) {
            [true, true, true] => true,
            [false, false, false] => false,
            _ => return None,
        };
        let marks = match (grammar.word_marks, grammar.punctuation_marks) {
            (true, true) => MarkRole::Contextual,
            (true, false) => MarkRole::Letters,
            (false, true) if grammar.word_prefix.intersects(CharSet::MARK) == word_takes_sign => {
                MarkRole::Signs
            }
            _ => MarkRole::Unknown,
        };
        let tail = grammar.punctuation_tail;
        let known = grammar.space_leaves_last
            && !grammar.word_prefix.intersects(CharSet::NEWLINE | CharSet::NUMBER)
            && !tail.intersects(!(CharSet::NEWLINE | CharSet::SLASH))
            && tail.intersects(CharSet::CR) == tail.intersects(CharSet::LF)
            && (tail.intersects(CharSet::LF) || !tail.intersects(CharSet::SLASH))
            && grammar.number_digits_max.is_none_or(|digits| (1..=8).contains(&digits));
        known.then_some(Self {
            case_splits: grammar.word_case == WordCase::Splits,
            word_takes_blank: grammar.word_prefix.intersects(CharSet::BLANK),
            word_takes_white: grammar.word_prefix.intersects(CharSet::WHITE),
            word_takes_sign,
            marks,
            number_takes_blank: grammar.number_blank,
            digits_max: grammar.number_digits_max,
            punctuation_takes_blank: grammar.punctuation_blank,
            punctuation_takes_newlines: tail.intersects(CharSet::LF),
            punctuation_takes_slashes: tail.intersects(CharSet::SLASH),
            space_to_newline: grammar.space_to_newline,
            contractions: ContractionTable::recognise(&grammar.contractions),
        })
    }

    /// Returns the cuts of a block. `NON_ASCII` says whether the block has characters beyond ASCII.
    /// The loop over blocks calls it once a block; it reads `bytes` for contractions only.
    #[inline(always)]
    pub(crate) fn find_cuts<const NON_ASCII: bool>(
        &self,
        bytes: &[u8; 64],
        block: &AsciiMasks,
        wide: &UnicodeMasks,
        carry: WordCarry,
    ) -> BlockCuts {
        let AsciiMasks { blanks, newlines, .. } = *block;
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

        // Bit i of `after(mask)` is set if byte i - 1 is in the mask.
        let after = |mask: u64| mask << 1;
        let before = |mask: u64| mask >> 1;
        let when = |yes: bool, mask: u64| if yes { mask } else { 0 };
        let joined = when(self.punctuation_takes_blank, after(blanks));

        if NON_ASCII && matches!(self.marks, MarkRole::Letters | MarkRole::Contextual) {
            let marks = match self.marks {
                MarkRole::Contextual => {
                    classes.marks() & !self.find_punctuation_runs(signs, wide, joined)
                }
                _ => classes.marks(),
            };
            letters |= marks;
            caseless |= marks;
            signs &= !marks;
        }

        // Between text and text.
        let after_letters = after(letters) | carry.word;
        let first_signs = extend_to_characters(signs & !after(signs) & !joined, wide.continuations);
        let prefixed = when(self.word_takes_sign, letters & after(first_signs));
        let mut cuts = letters & after(numbers | signs) & !prefixed
            | numbers & (after_letters | after(signs))
            | signs & (after_letters | after(numbers))
            | self.cut_digits(numbers, wide.continuations);

        // A capital behind lower case, also with caseless letters between them, starts a word.
        let mut unknown = 0;
        let mut lower = letters & !capitals & !caseless;
        if self.case_splits {
            if NON_ASCII {
                let from = caseless & (after(lower) | carry.lower);
                lower |= caseless & !caseless.wrapping_add(from);
            }
            let after_lower = after(lower) | carry.lower;
            cuts |= capitals & after_lower;
            // Capitals behind other caseless letters start a word, unless lower case continues it.
            let end = wide.end.min(wide.invalid);
            let starts = capitals & (after(caseless) | carry.word) & !after_lower & bits_below(end);
            if starts != 0 {
                let run = (capitals << (64 - end)).leading_ones();
                unknown |= starts & 1_u64.checked_shl(end - run).unwrap_or(0);
                let joined = capitals.wrapping_add(starts) & letters & !capitals;
                cuts |= starts & !runs_before(capitals, joined);
            }
        }

        // From text to white space; newlines directly behind punctuation belong to it.
        let tail_starts = when(self.punctuation_takes_newlines, newlines & after(signs));
        let tails = newlines & !newlines.wrapping_add(tail_starts);
        cuts |= space & (after(text) | carry.word) & !tail_starts;
        cuts |= !newlines & after(tails);

        // Within white space: behind its last newline, and before its last character.
        let rest = newlines & !tails;
        let last = to_first_bytes(space & before(text), wide.continuations);
        if self.space_to_newline {
            let starts = gaps & after(rest);
            let ends = gaps.wrapping_add(starts) & newlines;
            cuts |= if ends == 0 { starts } else { starts & !runs_before(gaps, ends) };
            cuts |= gaps & after(gaps) & last;
        } else {
            cuts |= (gaps | rest) & after(gaps | rest) & last;
        }

        // From white space to text, which may take the last of the white space.
        let taken = when(self.word_takes_blank, letters & after(blanks))
            | when(self.word_takes_white, letters & after(white))
            | when(self.number_takes_blank, numbers & after(blanks))
            | signs & joined;
        cuts |= text & after(space) & !taken;

        if let Some(contractions) = &self.contractions {
            let from = if contractions.is_suffix() { after_letters } else { first_signs };
            // Caseless letters behind a contraction would count as letters of the word before it.
            let blocked = when(self.case_splits, block.high) | !bits_below(wide.end);
            unknown |= contractions.apply(bytes, block, from, blocked, &mut cuts);
        }

        unknown |= self.find_unknown(block, wide);
        let known_end = unknown.trailing_zeros().min(wide.invalid);
        let open = letters & !when(self.case_splits, capitals);
        let last = wide.end - 1;
        BlockCuts {
            cuts: cuts & mask_known(space, known_end.min(wide.end)),
            known_end,
            carry: WordCarry { word: open >> last & 1, lower: lower >> last & 1 },
        }
    }

    /// Returns the cuts within numbers: every `digits_max` digits. All numbers of the block advance
    /// together, one digit a step.
    #[inline(always)]
    fn cut_digits(&self, numbers: u64, continuations: u64) -> u64 {
        // Moves from first bytes to the first bytes of the next characters: a carry runs through
        // the continuations between them.
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

    /// Returns the signs and marks that continue punctuation: from the second sign of a run on, or
    /// from a sign that takes the blank before it.
    #[inline(always)]
    fn find_punctuation_runs(&self, signs: u64, wide: &UnicodeMasks, joined: u64) -> u64 {
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

    /// Returns a mask of the bytes whose cut neighbours cannot decide. Contractions and capitals at
    /// the end of a block add more in `find_cuts`.
    #[inline(always)]
    fn find_unknown(&self, block: &AsciiMasks, wide: &UnicodeMasks) -> u64 {
        let mut unknown = 0;
        if self.marks == MarkRole::Unknown {
            unknown |= wide.classes.marks();
        }
        if self.punctuation_takes_slashes {
            unknown |= block.slashes & block.newlines << 1;
        }
        unknown
    }
}

/// Returns the first bytes of white-space characters, from their last bytes. For example, the
/// ideographic space has three bytes, and its last one moves down by two.
#[inline(always)]
fn to_first_bytes(lasts: u64, continuations: u64) -> u64 {
    let back = |bits: u64| bits & !continuations | (bits & continuations) >> 1;
    // White space has at most three bytes.
    back(back(lasts))
}

/// Returns the runs of bits that end directly before a bit of `ends`. The carry of an addition runs
/// upwards, so the masks are reversed first.
#[inline(always)]
fn runs_before(runs: u64, ends: u64) -> u64 {
    let (runs, lasts) = (runs.reverse_bits(), (runs & ends >> 1).reverse_bits());
    (runs & !runs.wrapping_add(lasts)).reverse_bits()
}

/// Returns the mask of the bits that are valid before an unknown byte. White space that reaches the
/// unknown byte is not valid, because its cut depends on the character behind it.
#[inline(always)]
fn mask_known(space: u64, known_end: u32) -> u64 {
    if known_end == 0 {
        return 0;
    }
    let run = (space << (64 - known_end)).leading_ones();
    let last = if run > 0 { known_end - run } else { known_end - 1 };
    u64::MAX >> (63 - last)
}
