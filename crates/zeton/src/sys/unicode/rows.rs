//! The classes as bits: sixty-four code points a row, which differ in their last byte alone.

use super::Class;
use super::tables::{BLOCKS, INDEX};

/// What sixty-four characters are: three bits each, in three masks. The first says that it is of
/// a word (a letter or a mark); the others tell its class.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Row(pub(crate) [u64; 3]);

/// Two rows for each of [`BLOCKS`].
static ROWS: [Row; BLOCKS.len() * 2] = rows();

/// Returns the row of a code point, the number being all its bits but the last six; `None` if
/// there are no such code points.
#[inline]
pub(crate) fn row(number: u32) -> Option<&'static Row> {
    let block = *INDEX.get((number >> 1) as usize)?;
    ROWS.get(usize::from(block) * 2 + (number & 1) as usize)
}

impl Row {
    pub(crate) fn letters(&self) -> u64 {
        let [word, a, b] = self.0;
        word & !(a & b)
    }

    /// Those of [`Class::Upper`].
    pub(crate) fn capitals(&self) -> u64 {
        let [word, a, b] = self.0;
        word & a & !b
    }

    /// Those of [`Class::Letter`].
    pub(crate) fn caseless(&self) -> u64 {
        let [word, a, b] = self.0;
        word & !a & b
    }

    pub(crate) fn marks(&self) -> u64 {
        let [word, a, b] = self.0;
        word & a & b
    }

    pub(crate) fn numbers(&self) -> u64 {
        let [word, a, _] = self.0;
        !word & a
    }

    pub(crate) fn white(&self) -> u64 {
        let [word, _, b] = self.0;
        !word & b
    }
}

/// The three bits of a class, by its letter.
const fn bits_of(letter: u8) -> u8 {
    const CLASSES: [(Class, u8); 6] = [
        (Class::Lower, 0b001),
        (Class::Upper, 0b011),
        (Class::Letter, 0b101),
        (Class::Mark, 0b111),
        (Class::Number, 0b010),
        (Class::White, 0b100),
    ];
    let mut at = 0;
    while at < CLASSES.len() {
        if letter == CLASSES[at].0 as u8 {
            return CLASSES[at].1;
        }
        at += 1;
    }
    0
}

const fn rows() -> [Row; BLOCKS.len() * 2] {
    let mut rows = [Row([0; 3]); BLOCKS.len() * 2];
    let mut at = 0;
    while at < BLOCKS.len() * 128 {
        let bits = bits_of(BLOCKS[at / 128][at % 128]) as u64;
        let row = &mut rows[at / 64].0;
        row[0] |= (bits & 1) << (at % 64);
        row[1] |= (bits >> 1 & 1) << (at % 64);
        row[2] |= (bits >> 2) << (at % 64);
        at += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::unicode::class_letter;

    #[test]
    fn every_code_point_has_its_class_in_its_row() {
        for point in 0..0x11_0000 {
            let row = row(point >> 6).unwrap();
            let has = |mask: u64| mask >> (point & 63) & 1 == 1;
            let letter = class_letter(point);
            assert_eq!(has(row.letters()), b"Ulo".contains(&letter), "{point:#x}");
            assert_eq!(has(row.capitals()), letter == b'U', "{point:#x}");
            assert_eq!(has(row.caseless()), letter == b'o', "{point:#x}");
            assert_eq!(has(row.marks()), letter == b'm', "{point:#x}");
            assert_eq!(has(row.numbers()), letter == b'n', "{point:#x}");
            assert_eq!(has(row.white()), letter == b's', "{point:#x}");
        }
        assert_eq!(row(0x11_0000 >> 6), None);
    }
}
