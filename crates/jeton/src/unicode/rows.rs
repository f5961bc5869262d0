//! The classes as bits: sixty-four code points a row, which differ in their last byte alone.

use super::Class;
use super::tables::{BLOCKS, INDEX};

/// Which of sixty-four code points are what; bit i stands for the i-th. Those in no mask are
/// [`Class::Other`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Row {
    /// Letters of any kind.
    pub(crate) letters: u64,
    /// Of these, [`Class::Upper`].
    pub(crate) capitals: u64,
    /// Of these, [`Class::Letter`].
    pub(crate) caseless: u64,
    pub(crate) marks: u64,
    pub(crate) numbers: u64,
    pub(crate) white: u64,
}

/// Two rows for each of [`BLOCKS`].
static ROWS: [Row; BLOCKS.len() * 2] = rows();

/// Returns the row of a code point, the number being all its bits but the last six; `None` if
/// there are no such code points.
#[inline]
pub(crate) fn row(number: u32) -> Option<&'static Row> {
    let block = *INDEX.get((number >> 1) as usize)?;
    ROWS.get(usize::from(block) * 2 + (number & 1) as usize)
}

const fn rows() -> [Row; BLOCKS.len() * 2] {
    const EMPTY: Row = Row { letters: 0, capitals: 0, caseless: 0, marks: 0, numbers: 0, white: 0 };
    let mut rows = [EMPTY; BLOCKS.len() * 2];
    let mut at = 0;
    while at < BLOCKS.len() * 128 {
        let letter = BLOCKS[at / 128][at % 128];
        let row = &mut rows[at / 64];
        let bit = 1 << (at % 64);
        if letter == Class::Upper as u8 {
            row.letters |= bit;
            row.capitals |= bit;
        } else if letter == Class::Lower as u8 {
            row.letters |= bit;
        } else if letter == Class::Letter as u8 {
            row.letters |= bit;
            row.caseless |= bit;
        } else if letter == Class::Mark as u8 {
            row.marks |= bit;
        } else if letter == Class::Number as u8 {
            row.numbers |= bit;
        } else if letter == Class::White as u8 {
            row.white |= bit;
        }
        at += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unicode::class_letter;

    #[test]
    fn every_code_point_has_its_class_in_its_row() {
        for point in 0..0x11_0000 {
            let row = row(point >> 6).unwrap();
            let has = |mask: u64| mask >> (point & 63) & 1 == 1;
            let found = match () {
                () if has(row.capitals) => b'U',
                () if has(row.caseless) => b'o',
                () if has(row.letters) => b'l',
                () if has(row.marks) => b'm',
                () if has(row.numbers) => b'n',
                () if has(row.white) => b's',
                () => b'.',
            };
            assert_eq!(found, class_letter(point), "{point:#x}");
        }
        assert_eq!(row(0x11_0000 >> 6), None);
    }
}
