//! Finer cuts within the pieces of a pattern: digits from the right, case, underscores, scripts.
//!
//! Reading every piece again would cost more than the whole split. So the block's masks tell which
//! pieces may be cut: a piece is read only if it contains a *trigger*. For example, `case="words"`,
//! `underscores="alone"` and groups of three digits:
//!
//! ```text
//! text         p a r s e J S O N   1 2 3 4   a _ b
//! case         . . . . . 1 . . . . . . . . . . . .    a capital behind a small letter
//! digits       . . . . . . . . . . . . . 1 . . . .    numbers & numbers << 3
//! underscores  . . . . . . . . . . . . . . . . 1 .
//! pieces       parse | JSON | ␣ | 1 | 234 | ␣a | _ | b
//! ```
//!
//! Cost: with the trigger mask `case` went from 152 to 710–760 MB/s, digits from 214 to 720
//! (`docs/notes/rules.md`).

use super::PieceRule;
use crate::pattern::rules::{CaseStyle, Digits, DigitsFrom, Rules, UnderscoreStyle};
use crate::split::family::AsciiMasks;
use crate::sys::unicode::{Class, class_letter, read_char, script_number};

/// The finer cuts of rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceRefiner {
    /// The number of digits of a group, if groups are counted from the right.
    digits: Option<usize>,
    case: bool,
    underscores: bool,
    scripts: bool,
}

impl PieceRefiner {
    /// Reads the finer cuts within pieces from rules. Returns `None` if they have no such cuts, so
    /// that pieces stay whole.
    pub(crate) fn recognise(rules: &Rules) -> Option<Self> {
        let digits = match (rules.digits_from, rules.digits) {
            (DigitsFrom::Right, Some(Digits::Max(digits))) => Some(digits as usize),
            _ => None,
        };
        let refiner = Self {
            digits,
            case: rules.case == Some(CaseStyle::Words),
            underscores: rules.underscores == Some(UnderscoreStyle::Alone),
            scripts: rules.scripts,
        };
        (digits.is_some() || refiner.case || refiner.underscores || refiner.scripts)
            .then_some(refiner)
    }

    /// Returns the triggers of a block: bytes whose piece may have to be cut. `within_word` is bit
    /// 0 if the block begins within a word. Every byte beyond ASCII is a trigger of `case`,
    /// `scripts` and digits.
    #[inline(always)]
    pub(crate) fn find_triggers(self, block: &AsciiMasks, within_word: u64) -> u64 {
        let when = |yes: bool, mask: u64| if yes { mask } else { 0 };
        let AsciiMasks { letters, capitals, numbers, .. } = *block;
        let small = letters & !capitals;
        // The byte behind the block is unknown, so a capital at its end may stand before a small
        // letter.
        let before_small = small >> 1 | 1 << 63;
        let case = capitals & (small << 1 | (capitals << 1) & before_small | within_word);
        // A number with more digits than a group has. Its last digit is the trigger.
        let digits = self.digits.map_or(0, |size| numbers & numbers << size.min(63));
        when(self.case, case)
            | digits
            | when(self.underscores, block.underscores)
            | when(self.case || self.scripts || self.digits.is_some(), block.high)
    }

    /// Cuts a piece; returns whether to continue. The layers call it for pieces with a trigger. It
    /// is not inlined, because few pieces need it.
    #[inline(never)]
    pub(crate) fn refine<'t>(
        self,
        piece: &'t [u8],
        visit: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
    ) -> bool {
        if let Some(size) = self.digits
            && is_number(piece)
        {
            return cut_digits(piece, size, visit);
        }
        let (mut start, mut rule) = (0, PieceRule::Pattern);
        let mut before = PieceContext::default();
        let mut at = 0;
        while at < piece.len() {
            let (point, length) = read_or_replace(&piece[at..]);
            let cut = self.find_rule(&before, point, &piece[at + length..]);
            if let (Some(next_rule), true) = (cut, at > start) {
                if !visit(&piece[start..at], rule) {
                    return false;
                }
                (start, rule) = (at, next_rule);
            }
            before.push(point);
            at += length;
        }
        visit(&piece[start..], rule)
    }

    /// Returns the rule that cuts before a character, if one does. It reads ahead in `after` for
    /// case only, to the next letter.
    fn find_rule(self, before: &PieceContext, point: u32, after: &[u8]) -> Option<PieceRule> {
        let is_underscore = point == u32::from(b'_');
        if self.underscores && before.has_chars && is_underscore != before.is_underscore {
            return Some(PieceRule::Underscores);
        }
        if self.case && class_letter(point) == UPPER_LETTER {
            let begins = match before.letter {
                Some(LOWER_LETTER) => true,
                Some(UPPER_LETTER) => find_next_letter(after) == Some(LOWER_LETTER),
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

/// The characters of a piece so far.
#[derive(Default)]
struct PieceContext {
    has_chars: bool,
    is_underscore: bool,
    /// The class of the last character that is no mark, if it is a letter.
    letter: Option<u8>,
    /// The script of the last letter that has one; 0 if there is none.
    script: u8,
}

impl PieceContext {
    /// Adds the character `point` of a piece to the state of the characters before a possible cut.
    fn push(&mut self, point: u32) {
        (self.has_chars, self.is_underscore) = (true, point == u32::from(b'_'));
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

/// Returns the character at the start of some bytes and its length in bytes. An invalid byte counts
/// as U+FFFD.
fn read_or_replace(bytes: &[u8]) -> (u32, usize) {
    read_char(bytes).unwrap_or((char::REPLACEMENT_CHARACTER as u32, 1))
}

/// Returns whether a character is a letter.
fn is_letter(point: u32) -> bool {
    const OTHER_LETTER: u8 = Class::Letter as u8;
    matches!(class_letter(point), UPPER_LETTER | LOWER_LETTER | OTHER_LETTER)
}

/// Returns the letter class of the first character that is no mark; `None` if it is no letter, or
/// if the bytes end.
fn find_next_letter(mut bytes: &[u8]) -> Option<u8> {
    while !bytes.is_empty() {
        let (point, length) = read_or_replace(bytes);
        if class_letter(point) != Class::Mark as u8 {
            return is_letter(point).then(|| class_letter(point));
        }
        bytes = &bytes[length..];
    }
    None
}

/// Returns whether a piece is a number: its first character is one, after at most one blank.
fn is_number(piece: &[u8]) -> bool {
    let digits = piece.strip_prefix(b" ").unwrap_or(piece);
    read_char(digits).is_some_and(|(point, _)| class_letter(point) == Class::Number as u8)
}

/// Cuts a number into groups from the right. The first group has the remaining digits. A blank
/// before the number stays with the first group.
fn cut_digits<'t>(
    piece: &'t [u8],
    size: usize,
    visit: &mut impl FnMut(&'t [u8], PieceRule) -> bool,
) -> bool {
    let blank = usize::from(piece[0] == b' ');
    let starts = |byte: &u8| byte & 0xC0 != 0x80;
    let digits = piece[blank..].iter().filter(|byte| starts(byte)).count();
    let (mut start, mut left) = (0, digits);
    let mut at = blank;
    for (place, _) in piece.iter().enumerate().skip(blank).filter(|(_, byte)| starts(byte)) {
        if left % size == 0 && place > at {
            if !visit(&piece[start..place], PieceRule::Digits) {
                return false;
            }
            (start, at) = (place, place);
        }
        left -= 1;
    }
    visit(&piece[start..], PieceRule::Digits)
}
