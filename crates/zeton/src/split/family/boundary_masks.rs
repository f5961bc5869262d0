//! Where pieces end in sixty-four bytes, by algebra on bit masks.
//!
//! Bit i of `cuts` says that a piece ends before byte i. All bytes of a character have its class, so
//! the byte before a character speaks of the character before it. Where neighbours do not settle
//! what happens, the algebra stops before the doubt.

use super::classify::{Block, Wide, below, whole};
use super::contractions::Contractions;
use crate::pattern::{CharSet, Grammar, WordCase};

/// What the algebra needs to know of a grammar.
#[derive(Clone, Debug)]
pub(crate) struct Algebra {
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
pub(crate) struct Carry {
    /// The character before the block is a letter of a word.
    pub(crate) word: u64,
    /// A capital would end it.
    pub(crate) lower: u64,
}

/// What the algebra makes of a block.
pub(crate) struct Found {
    /// Where pieces end.
    pub(crate) cuts: u64,
    /// Up to where that is known. At the block's end nothing is in doubt.
    pub(crate) doubt: u32,
    /// What a block from there on begins with, if nothing is in doubt.
    pub(crate) carry: Carry,
}

impl Algebra {
    /// Reads a grammar; `None` if it makes choices that the algebra does not know.
    pub(crate) fn of(grammar: &Grammar) -> Option<Self> {
        let signs = [CharSet::APOSTROPHE, CharSet::SLASH, CharSet::OTHER];
        let takes = |set: CharSet| signs.map(|sign| set.intersects(sign));
        let word_takes_sign = match takes(grammar.word_prefix) {
            [true, true, true] => true,
            [false, false, false] => false,
            _ => return None,
        };
        let marks = match (grammar.word_marks, grammar.punctuation_marks) {
            (true, true) => Marks::Either,
            (true, false) => Marks::Letters,
            (false, true) if grammar.word_prefix.intersects(CharSet::MARK) == word_takes_sign => {
                Marks::Signs
            }
            _ => Marks::Doubts,
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
            contractions: Contractions::of(&grammar.contractions),
        })
    }

    /// Returns where pieces end in a block. `WIDE`: there are characters beyond ASCII in it.
    #[inline(always)]
    pub(crate) fn cuts<const WIDE: bool>(
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
            let from = if contractions.end_words() { after_letters } else { first_signs };
            // Letters without case that follow one would be taken for its word's.
            let unfit = when(self.case_splits, block.high) | !below(wide.end);
            doubts |= contractions.settle(bytes, block, from, unfit, &mut cuts);
        }

        doubts |= self.doubts(block, wide);
        let doubt = doubts.trailing_zeros().min(wide.broken);
        let open = letters & !when(self.case_splits, capitals);
        let last = wide.end - 1;
        Found {
            cuts: cuts & known(space, doubt.min(wide.end)),
            doubt,
            carry: Carry { word: open >> last & 1, lower: lower >> last & 1 },
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
