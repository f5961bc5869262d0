//! Which tokens bridge two characters: where none does, a piece is cut and each part merged alone.
//!
//! A merge joins what its token spells. If no token has the bytes around a border, whatever else it
//! has, no merge ever crosses that border, and both sides come out as they would alone. Chinese,
//! Japanese and Thai are written without spaces: their pieces are long, and few borders are bridged.

use crate::huge::Huge;
use crate::image::{Reader, Writer};

/// The bytes around every border between characters within tokens, where the right one is beyond
/// ASCII. As bits by hash: a border may seem bridged that is not, never the other way round.
#[derive(Clone, Debug)]
pub(crate) struct Bridges {
    bits: Huge<u64>,
}

/// Bits for each border, and at most: a megabyte of them.
const BITS_EACH: usize = 16;
const BITS_MAX: usize = 1 << 23;

/// How much of a token is around a border: one byte on a side, or more.
#[derive(Clone, Copy)]
enum Sides {
    One = 0,
    OneAndMore = 1,
    MoreAndOne = 2,
    More = 3,
}

impl Bridges {
    /// Collects the borders of tokens.
    pub(crate) fn of<'t>(tokens: impl Iterator<Item = &'t [u8]> + Clone) -> Self {
        let borders = |token: &'t [u8]| {
            (1..token.len()).filter(|&at| is_border(token[at])).map(move |at| (token, at))
        };
        let count = tokens.clone().flat_map(borders).count();
        let bits = (count * BITS_EACH).next_power_of_two().clamp(64, BITS_MAX);
        let mut bridges = Self { bits: Huge::zeros(bits / 64) };
        for (token, at) in tokens.flat_map(borders) {
            let sides = match (at > 1, at + 1 < token.len()) {
                (false, false) => Sides::One,
                (false, true) => Sides::OneAndMore,
                (true, false) => Sides::MoreAndOne,
                (true, true) => Sides::More,
            };
            let (word, bit) = bridges.place(token, at, sides);
            bridges.bits[word] |= bit;
        }
        bridges
    }

    /// Puts the borders into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut Writer<'v>) {
        image.row(&self.bits);
    }

    /// Takes the borders out of an image.
    pub(crate) fn from_image(image: &mut Reader) -> Option<Self> {
        Some(Self { bits: image.table()? })
    }

    /// Returns whether a token may cross the border before byte `at`, which is not the first.
    #[inline]
    pub(crate) fn crosses(&self, piece: &[u8], at: usize) -> bool {
        let has = |sides: Sides| {
            let (word, bit) = self.place(piece, at, sides);
            self.bits[word] & bit != 0
        };
        let more_before = at > 1;
        let more_after = at + 1 < piece.len();
        has(Sides::One)
            || more_after && has(Sides::OneAndMore)
            || more_before && has(Sides::MoreAndOne)
            || more_before && more_after && has(Sides::More)
    }

    /// The bit of the bytes around a border; the sides say how many of them count.
    #[inline]
    fn place(&self, bytes: &[u8], at: usize, sides: Sides) -> (usize, u64) {
        let (left, right) = (bytes[at - 1], bytes[at]);
        let (before, after) = match sides {
            Sides::One => (0, 0),
            Sides::OneAndMore => (0, bytes[at + 1]),
            Sides::MoreAndOne => (bytes[at - 2], 0),
            Sides::More => (bytes[at - 2], bytes[at + 1]),
        };
        let key = u64::from(u32::from_le_bytes([before, left, right, after])) << 2 | sides as u64;
        let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bit = (mixed >> 40) as usize & (self.bits.len() * 64 - 1);
        (bit / 64, 1 << (bit % 64))
    }
}

/// Whether a byte begins a character beyond ASCII.
#[inline]
pub(crate) fn is_border(byte: u8) -> bool {
    byte >= 0xC0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn no_token_within_a_piece_is_missed() {
        let letters = ["a", "é", "中", "文", "語", "😀"];
        let mut random = Random(3);
        let mut spell = |most: usize| -> Vec<u8> {
            let count = 1 + random.below(most);
            let text: String = (0..count).map(|_| letters[random.below(letters.len())]).collect();
            // Tokens may begin and end within characters.
            let bytes = text.into_bytes();
            let from = random.below(3.min(bytes.len()));
            let to = bytes.len() - random.below(3.min(bytes.len() - from));
            bytes[from..to].to_vec()
        };
        for _ in 0..300 {
            let tokens: Vec<Vec<u8>> = (0..5).map(|_| spell(3)).collect();
            let bridges = Bridges::of(tokens.iter().map(Vec::as_slice));
            let piece = spell(12);
            for at in (1..piece.len()).filter(|&at| is_border(piece[at])) {
                let crossed = tokens.iter().any(|token| {
                    (1..token.len()).any(|inside| {
                        let start = at.checked_sub(inside);
                        start.is_some_and(|start| piece[start..].starts_with(token))
                    })
                });
                assert!(!crossed || bridges.crosses(&piece, at), "{piece:?} at {at}: {tokens:?}");
            }
        }
    }

    #[test]
    fn what_no_token_bridges_is_cut() {
        let tokens = ["中文".as_bytes(), "文".as_bytes()];
        let bridges = Bridges::of(tokens.into_iter());
        let piece = "中文中".as_bytes();
        assert!(bridges.crosses(piece, 3));
        assert!(!bridges.crosses(piece, 6));
    }
}
