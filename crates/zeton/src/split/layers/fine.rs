//! Finer cuts within the pieces of a pattern: digits from the right, case, underscores, scripts.

use super::PieceRule;
use crate::pattern::rules::{CaseStyle, Digits, DigitsFrom, Rules, UnderscoreStyle};
use crate::split::family::Block;
use crate::sys::unicode::{Class, class_letter, read_char, script_number};

/// Which cuts are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fine {
    digits: Option<usize>,
    case: bool,
    underscores: bool,
    scripts: bool,
}

impl Fine {
    /// Reads rules; `None` if they ask for no finer cut.
    pub(crate) fn of(rules: &Rules) -> Option<Self> {
        let digits = match (rules.digits_from, rules.digits) {
            (DigitsFrom::Right, Some(Digits::Max(digits))) => Some(digits as usize),
            _ => None,
        };
        let fine = Self {
            digits,
            case: rules.case == Some(CaseStyle::Words),
            underscores: rules.underscores == Some(UnderscoreStyle::Alone),
            scripts: rules.scripts,
        };
        (digits.is_some() || fine.case || fine.underscores || fine.scripts).then_some(fine)
    }

    /// Returns the bytes of a block that say that their piece may have to be cut.
    #[inline(always)]
    pub(crate) fn watched(self, block: &Block, within_word: u64) -> u64 {
        let when = |yes: bool, mask: u64| if yes { mask } else { 0 };
        let Block { letters, capitals, numbers, .. } = *block;
        let small = letters & !capitals;
        // What follows the block is not known: the last capital may stand before a small letter.
        let before_small = small >> 1 | 1 << 63;
        let case = capitals & (small << 1 | (capitals << 1) & before_small | within_word);
        // More digits than a group has, or several at the block's end.
        let digits = self.digits.map_or(0, |size| numbers & numbers << size.min(63));
        when(self.case, case)
            | digits
            | when(self.underscores, block.underscores)
            | when(self.case || self.scripts || self.digits.is_some(), block.high)
    }

    /// Cuts a piece; returns whether to go on.
    #[inline(never)]
    pub(crate) fn cut<'t>(
        self,
        piece: &'t [u8],
        each: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> bool {
        if let Some(size) = self.digits
            && is_number(piece)
        {
            return cut_digits(piece, size, each);
        }
        let (mut start, mut maker) = (0, PieceRule::Pattern);
        let mut before = Before::default();
        let mut at = 0;
        while at < piece.len() {
            let (point, length) = read(&piece[at..]);
            let cut = self.cuts(&before, point, &piece[at + length..]);
            if let (Some(why), true) = (cut, at > start) {
                if !each(&piece[start..at], maker) {
                    return false;
                }
                (start, maker) = (at, why);
            }
            before.pass(point);
            at += length;
        }
        each(&piece[start..], maker)
    }

    /// Says why a cut is made before a character, if one is.
    fn cuts(self, before: &Before, point: u32, after: &[u8]) -> Option<PieceRule> {
        let is_line = point == u32::from(b'_');
        if self.underscores && before.any && is_line != before.is_line {
            return Some(PieceRule::Underscores);
        }
        if self.case && class_letter(point) == UPPER_LETTER {
            let begins = match before.letter {
                Some(LOWER_LETTER) => true,
                Some(UPPER_LETTER) => next_letter(after) == Some(LOWER_LETTER),
                _ => false,
            };
            if begins {
                return Some(PieceRule::Case);
            }
        }
        let script = if self.scripts && is_letter(point) { script_number(point) } else { 0 };
        let changes = script != 0 && before.script != 0 && script != before.script;
        changes.then_some(PieceRule::Scripts)
    }
}

const UPPER_LETTER: u8 = Class::Upper as u8;
const LOWER_LETTER: u8 = Class::Lower as u8;

/// What has been read of a piece.
#[derive(Default)]
struct Before {
    any: bool,
    is_line: bool,
    /// The class of the last character but for marks, if it is a letter.
    letter: Option<u8>,
    /// The script of the last letter that has one.
    script: u8,
}

impl Before {
    fn pass(&mut self, point: u32) {
        (self.any, self.is_line) = (true, point == u32::from(b'_'));
        let class = class_letter(point);
        if class != Class::Mark as u8 {
            self.letter = is_letter(point).then_some(class);
        }
        if is_letter(point) {
            let script = script_number(point);
            self.script = if script == 0 { self.script } else { script };
        }
    }
}

/// The character at the start, and its length; a byte that is not UTF-8 is a sign.
fn read(bytes: &[u8]) -> (u32, usize) {
    read_char(bytes).unwrap_or((char::REPLACEMENT_CHARACTER as u32, 1))
}

fn is_letter(point: u32) -> bool {
    const OTHER_LETTER: u8 = Class::Letter as u8;
    matches!(class_letter(point), UPPER_LETTER | LOWER_LETTER | OTHER_LETTER)
}

/// The class of the first character but for marks, if it is a letter.
fn next_letter(mut bytes: &[u8]) -> Option<u8> {
    while !bytes.is_empty() {
        let (point, length) = read(bytes);
        if class_letter(point) != Class::Mark as u8 {
            return is_letter(point).then(|| class_letter(point));
        }
        bytes = &bytes[length..];
    }
    None
}

/// Tells a number, with a blank before it or without.
fn is_number(piece: &[u8]) -> bool {
    let digits = piece.strip_prefix(b" ").unwrap_or(piece);
    read_char(digits).is_some_and(|(point, _)| class_letter(point) == Class::Number as u8)
}

/// Cuts a number into groups, the last being whole.
fn cut_digits<'t>(
    piece: &'t [u8],
    size: usize,
    each: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
) -> bool {
    let blank = usize::from(piece[0] == b' ');
    let starts = |byte: &u8| byte & 0xC0 != 0x80;
    let digits = piece[blank..].iter().filter(|byte| starts(byte)).count();
    let (mut start, mut left) = (0, digits);
    let mut at = blank;
    for (place, _) in piece.iter().enumerate().skip(blank).filter(|(_, byte)| starts(byte)) {
        if left % size == 0 && place > at {
            if !each(&piece[start..place], PieceRule::Digits) {
                return false;
            }
            (start, at) = (place, place);
        }
        left -= 1;
    }
    each(&piece[start..], PieceRule::Digits)
}
