//! Contractions within a block.

use super::classify::{Block, below};
use crate::pattern::{self, ContractionPlace};

/// The contractions of a grammar.
#[derive(Clone, Debug)]
pub(crate) struct Contractions {
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

impl Contractions {
    /// Reads a grammar's; `None` if it has none.
    pub(crate) fn of(contractions: &pattern::ContractionRule) -> Option<Self> {
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
        (contractions.place != ContractionPlace::Nowhere).then_some(Self {
            end_words: contractions.place == ContractionPlace::Suffix,
            ignore_case,
            endings,
        })
    }

    /// Returns whether they end a word and belong to it.
    pub(crate) fn end_words(&self) -> bool {
        self.end_words
    }

    /// Takes cuts within contractions out and puts those after them in; returns the apostrophes at
    /// which that is in doubt.
    ///
    /// An apostrophe of `from` is after a word, or else begins a piece. One that would end at an
    /// `unfit` place is in doubt.
    #[inline(always)]
    pub(crate) fn settle(
        &self,
        bytes: &[u8; 64],
        block: &Block,
        from: u64,
        unfit: u64,
        cuts: &mut u64,
    ) -> u64 {
        let mut asked = from & block.apostrophes & ((block.letters | block.high) >> 1 | 1 << 63);
        let (mut doubts, mut end_before) = (0, u32::MAX);
        while asked != 0 {
            let at = asked.trailing_zeros();
            asked &= asked - 1;
            // What is after a contraction is not after a word.
            if self.end_words && at == end_before {
                continue;
            }
            match self.end(bytes, at) {
                Some(end) if end == at => (),
                Some(end) if end < 64 && unfit >> end & 1 == 0 => {
                    let first = at + u32::from(!self.end_words);
                    *cuts = *cuts & !(below(end) & !below(first)) | 1 << end;
                    end_before = end;
                }
                _ => doubts |= 1 << at,
            }
        }
        doubts
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
