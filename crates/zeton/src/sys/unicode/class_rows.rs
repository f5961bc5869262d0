//! Character classes as bit masks, a row per 64 code points.
//!
//! The code points of a row differ only in the last byte of their UTF-8. So a SIMD kernel looks up
//! all characters of a block at once that share their leading bytes (`split/family/classify`).
//!
//! Each class is a number of three bits, and a row holds one mask per bit. Bit *n* of a mask
//! belongs to the code point whose low six bits are *n*. For example, the row of U+00C0 to U+00FF:
//!
//! ```text
//! bit          63   55   41   31   23    0
//! character     ÿ … ÷  … é  … ß  … ×  … À
//! mask 0        1   0    1    1    0    1
//! mask 1        0   0    0    0    0    1
//! mask 2        0   0    0    0    0    0
//! class        Low Oth  Low  Low  Oth  Upp
//!
//! mask:    0 1 2                       0 1 2
//! Lower    1 0 0               Number  0 1 0
//! Upper    1 1 0               White   0 0 1
//! Letter   1 0 1               Other   0 0 0
//! Mark     1 1 1
//! ```
//!
//! Three masks are better than one per class: with six of them the compiler packed the masks into
//! vector registers and unpacked them (`docs/notes/splitting.md`).

use super::Class;
use super::tables::{BLOCKS, INDEX};

/// The classes of 64 characters, as three masks of one bit each per character.
///
/// The first mask is set for letters and marks; the module's header has the codes of all classes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct ClassRow(pub(crate) [u64; 3]);

/// Two rows of 64 code points for each of [`BLOCKS`], which have 128.
static ROWS: [ClassRow; BLOCKS.len() * 2] = make_rows();

/// Returns the row of the 64 code points from `number * 64` on, or `None` above U+10FFFF. SIMD
/// kernels of the splitter call it once for each distinct row of a block.
#[inline]
pub(crate) fn class_row(number: u32) -> Option<&'static ClassRow> {
    let block = *INDEX.get((number >> 1) as usize)?;
    ROWS.get(usize::from(block) * 2 + (number & 1) as usize)
}

impl ClassRow {
    /// Returns the mask of the characters of the row that are letters of [`Class::Upper`],
    /// [`Class::Lower`] or [`Class::Letter`].
    pub(crate) fn letters(&self) -> u64 {
        let [word, a, b] = self.0;
        word & !(a & b)
    }

    /// Returns the mask of the characters of the row in [`Class::Upper`].
    pub(crate) fn capitals(&self) -> u64 {
        let [word, a, b] = self.0;
        word & a & !b
    }

    /// Returns the mask of the characters of the row in [`Class::Letter`], the letters without
    /// case.
    pub(crate) fn caseless(&self) -> u64 {
        let [word, a, b] = self.0;
        word & !a & b
    }

    /// Returns the mask of the characters of the row in [`Class::Mark`].
    pub(crate) fn marks(&self) -> u64 {
        let [word, a, b] = self.0;
        word & a & b
    }

    /// Returns the mask of the characters of the row in [`Class::Number`].
    pub(crate) fn numbers(&self) -> u64 {
        let [word, a, _] = self.0;
        !word & a
    }

    /// Returns the mask of the characters of the row in [`Class::White`].
    pub(crate) fn white(&self) -> u64 {
        let [word, _, b] = self.0;
        !word & b
    }
}

/// Returns the three-bit code of the class with this letter; bit *i* goes to mask *i*.
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

const fn make_rows() -> [ClassRow; BLOCKS.len() * 2] {
    let mut rows = [ClassRow([0; 3]); BLOCKS.len() * 2];
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
            let row = class_row(point >> 6).unwrap();
            let has = |mask: u64| mask >> (point & 63) & 1 == 1;
            let letter = class_letter(point);
            assert_eq!(has(row.letters()), b"Ulo".contains(&letter), "{point:#x}");
            assert_eq!(has(row.capitals()), letter == b'U', "{point:#x}");
            assert_eq!(has(row.caseless()), letter == b'o', "{point:#x}");
            assert_eq!(has(row.marks()), letter == b'm', "{point:#x}");
            assert_eq!(has(row.numbers()), letter == b'n', "{point:#x}");
            assert_eq!(has(row.white()), letter == b's', "{point:#x}");
        }
        assert_eq!(class_row(0x11_0000 >> 6), None);
    }
}
