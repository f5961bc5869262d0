//! Contractions within a block: `'s`, `'ll` and the other endings of a grammar, as changes of its
//! cuts.
//!
//! The algebra cuts around an apostrophe as around any sign. The contractions of a block are few,
//! so they are handled one by one: each removes the cuts inside of it and adds one behind it. For
//! example, with cl100k, where a contraction is a piece by itself, and with o200k, where it belongs
//! to the word before it:
//!
//! ```text
//! text                 don'ts       don'ts
//! cuts by algebra      ...1..       ...1..       a word may take a sign: 'ts
//! contraction          ...'t.       ...'t.
//! cuts afterwards      ...1.1       .....1
//! pieces               don|'t|s     don't|s
//! ```
//!
//! An ending of one letter, or of two letters with an unshared first letter, is decided by a table
//! of 256 bytes. All other endings are unknown, and the scalar scanner decides them.

use super::classify::{AsciiMasks, bits_below};
use crate::pattern::{self, ContractionPlace};

/// The contractions of a grammar, by the byte behind the apostrophe.
#[derive(Clone, Debug)]
pub(crate) struct ContractionTable {
    /// Whether a contraction is the suffix of the word before it, rather than a piece by itself.
    is_suffix: bool,
    ignore_case: bool,
    /// The endings that begin with each byte.
    endings: Box<[ContractionEnding; 256]>,
}

/// The rest of a contraction, after its first letter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ContractionEnding {
    /// No contraction begins with this byte.
    None,
    /// The contraction ends after this byte, as in `'s`.
    Complete,
    /// The contraction ends after this second letter, as in `'ll`.
    TwoLetters(u8),
    /// Unknown if this byte follows, else no contraction. The two bytes are the start of `ſ` or of
    /// the Kelvin sign.
    UnknownIf(u8),
    /// Several contractions begin with this byte, or a long one does: the scanner decides.
    Unknown,
}

impl ContractionTable {
    /// Builds the table of a grammar's contractions, once when the pattern is compiled. Returns
    /// `None` if the grammar has no contractions.
    pub(crate) fn recognise(contractions: &pattern::ContractionRule) -> Option<Self> {
        let mut endings = Box::new([ContractionEnding::None; 256]);
        let ignore_case = contractions.ignore_case;
        // Case-insensitively, `ſ` equals `s` and the Kelvin sign `k`, in two and three bytes.
        let folds = |letter: &u8| ignore_case && matches!(letter, b's' | b'k');
        for ending in contractions.endings.iter().map(String::as_bytes) {
            let first = ending[0];
            let found = match ending {
                [_] => ContractionEnding::Complete,
                [_, second] if !folds(second) => ContractionEnding::TwoLetters(*second),
                _ => ContractionEnding::Unknown,
            };
            let alone = endings[usize::from(first)] == ContractionEnding::None;
            let found = if alone { found } else { ContractionEnding::Unknown };
            endings[usize::from(first)] = found;
            if ignore_case {
                endings[usize::from(first.to_ascii_uppercase())] = found;
            }
            if folds(&first) {
                let (first, second) = if first == b's' { (0xC5, 0xBF) } else { (0xE2, 0x84) };
                endings[first] = ContractionEnding::UnknownIf(second);
            }
        }
        (contractions.place != ContractionPlace::Nowhere).then_some(Self {
            is_suffix: contractions.place == ContractionPlace::Suffix,
            ignore_case,
            endings,
        })
    }

    /// Returns whether a contraction belongs to the piece of the word before it, as `'s` does in
    /// o200k, and is no piece of its own.
    pub(crate) fn is_suffix(&self) -> bool {
        self.is_suffix
    }

    /// Removes the cuts within contractions from `cuts`, and adds the cuts behind them. Returns the
    /// apostrophes whose contraction is unknown.
    ///
    /// Contractions begin at apostrophes of `from`: behind a word, or at the start of a piece. A
    /// contraction that would end in front of a byte of `blocked` is unknown.
    /// `MaskAlgebra::find_cuts` calls it after all other rules.
    #[inline(always)]
    pub(crate) fn apply(
        &self,
        bytes: &[u8; 64],
        block: &AsciiMasks,
        from: u64,
        blocked: u64,
        cuts: &mut u64,
    ) -> u64 {
        let mut pending = from & block.apostrophes & ((block.letters | block.high) >> 1 | 1 << 63);
        let (mut unknown, mut end_before) = (0, u32::MAX);
        while pending != 0 {
            let at = pending.trailing_zeros();
            pending &= pending - 1;
            // The text behind a suffix is not behind a word.
            if self.is_suffix && at == end_before {
                continue;
            }
            match self.find_end(bytes, at) {
                Some(end) if end == at => (),
                Some(end) if end < 64 && blocked >> end & 1 == 0 => {
                    let first = at + u32::from(!self.is_suffix);
                    *cuts = *cuts & !(bits_below(end) & !bits_below(first)) | 1 << end;
                    end_before = end;
                }
                _ => unknown |= 1 << at,
            }
        }
        unknown
    }

    /// Returns the end of the contraction that begins at an apostrophe, or the apostrophe's own
    /// position if none does; `None` if the block does not tell.
    #[inline(always)]
    fn find_end(&self, bytes: &[u8; 64], at: u32) -> Option<u32> {
        let letter = |at: u32| bytes.get(at as usize).copied();
        match self.endings[usize::from(letter(at + 1)?)] {
            ContractionEnding::None => Some(at),
            ContractionEnding::Complete => Some(at + 2),
            ContractionEnding::TwoLetters(second) => {
                let found = letter(at + 2)?;
                let found = if self.ignore_case { found.to_ascii_lowercase() } else { found };
                Some(if found == second { at + 3 } else { at })
            }
            ContractionEnding::UnknownIf(second) => (letter(at + 2)? != second).then_some(at),
            ContractionEnding::Unknown => None,
        }
    }
}
