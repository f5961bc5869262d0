//! Which tokens bridge two characters: where none does, a piece is cut and each part merged alone.
//!
//! A merge joins what its token spells. If no token has the characters around a border, whole or in
//! part, no merge ever crosses that border, and both sides come out as they would alone. Chinese,
//! Japanese and Thai are written without spaces: their pieces are long, and few borders are bridged.
//!
//! If ranks rise from the parts of a token to the token, as training makes them, merges happen in the
//! order of their ranks. Take a character that is a token, and no token ranks below it that crosses one of
//! its two borders and holds a character there in part. Then no merge up to its rank crosses these
//! borders: one that makes a token with the character whole joins parts of lower ranks, of which one holds
//! the character whole, and ranks above it, or crosses a border of it in part. So its bytes merge among
//! themselves first, as they do alone, and merging may begin with the character. Where ranks do not rise,
//! it may not: with `中文`, `A中`, `中` and `文` in this order, `A中文` is `A中` and `文`.
//!
//! Borders are those between two characters of valid UTF-8 of which one at least is beyond ASCII.

use crate::sys::huge_buffer::HugeBuffer;
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::sys::unicode::read_char;
use crate::vocab::Id;

/// The borders between characters within tokens.
#[derive(Clone, Debug)]
pub(crate) struct CharBridges {
    /// The lowest id, by the bytes left and right of a border, of the tokens that hold a character there in
    /// part; `Id::MAX` where there is none.
    partial: HugeBuffer<Id>,
    /// A bit by hash for two characters that a token holds whole. Two may seem bridged that are
    /// not, never the other way round.
    whole: HugeBuffer<u64>,
    /// Whether every token is reached by merges: else one that is a whole piece may not be cut.
    all_reached: bool,
    /// The id of each character of two or three bytes, `Id::MAX` where it is no token. Empty if
    /// some token is not reached, or ranks do not rise.
    chars: HugeBuffer<Id>,
}

/// Bits for each border, and at most: a megabyte of them.
const BITS_EACH: usize = 16;
const BITS_MAX: usize = 1 << 23;

impl CharBridges {
    /// Collects the borders of tokens. Until more is said of them, no piece is cut.
    pub(crate) fn of<'t>(tokens: impl Iterator<Item = (Id, &'t [u8])> + Clone) -> Self {
        // ASCII has no borders.
        let tokens = tokens.filter(|(_, token)| !token.is_ascii());
        let borders = |(id, token): (Id, &'t [u8])| {
            (1..token.len()).filter(|&at| is_border(token, at)).map(move |at| (id, token, at))
        };
        let count = tokens.clone().flat_map(borders).count();
        let bits = (count * BITS_EACH).next_power_of_two().clamp(64, BITS_MAX);
        let mut bridges = Self {
            partial: HugeBuffer::zeros(1 << 16),
            whole: HugeBuffer::zeros(bits / 64),
            all_reached: false,
            chars: HugeBuffer::zeros(1 << 16),
        };
        bridges.partial.fill(Id::MAX);
        bridges.chars.fill(Id::MAX);
        for (id, token, at) in tokens.clone().flat_map(borders) {
            match (char_before(token, at), char_after(token, at)) {
                (Some(left), Some(right)) => {
                    let (word, bit) = bridges.place(left, right);
                    bridges.whole[word] |= 1 << bit;
                }
                _ => {
                    let lowest = &mut bridges.partial[place_of_bytes(token[at - 1], token[at])];
                    *lowest = id.min(*lowest);
                }
            }
        }
        for (id, token) in tokens {
            if let Some((point @ 0x80.., length)) = read_char(token)
                && length == token.len()
                && let Some(char_id) = bridges.chars.get_mut(point as usize)
            {
                *char_id = id;
            }
        }
        bridges
    }

    /// Says whether all tokens are reached by merges, and whether their ranks rise from parts to wholes.
    pub(crate) fn of_vocab(mut self, all_reached: bool, rising: bool) -> Self {
        self.all_reached = all_reached;
        if !(all_reached && rising) {
            self.chars = HugeBuffer::zeros(0);
        }
        self
    }

    /// Puts the borders into an image.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        image.number(self.all_reached.into());
        image.row(&self.partial);
        image.row(&self.whole);
        image.row(&self.chars);
    }

    /// Takes the borders out of an image.
    pub(crate) fn from_image(image: &mut SectionReader) -> Option<Self> {
        let all_reached = image.number()? == 1;
        let (partial, whole, chars) = (image.table()?, image.table()?, image.row()?);
        (partial.len() == 1 << 16).then_some(Self { partial, whole, all_reached, chars })
    }

    /// Calls `each` with every border between two characters, and whether a piece may be cut there.
    ///
    /// Whether it may cannot be foretold, so that nothing here depends on it.
    #[inline]
    pub(crate) fn cuts(&self, piece: &[u8], mut each: impl FnMut(usize, bool)) {
        if !self.all_reached || piece.is_ascii() {
            return;
        }
        let (mut at, mut before) = (0, None);
        while at < piece.len() {
            // Mostly there are characters of three bytes side by side.
            if let Some(mut left) = before {
                while let Some(right) = three_bytes(&piece[at..]) {
                    each(at, !self.crosses(left, right, piece[at - 1]));
                    (left, at) = (right, at + 3);
                }
                before = Some(left);
            }
            let right = char_after(piece, at);
            if let (Some(left), Some(right)) = (before, right)
                && left.0 | right.0 >= 0x80
            {
                each(at, !self.crosses(left, right, piece[at - 1]));
            }
            before = right;
            at += right.map_or(1, Char::len);
        }
    }

    /// Calls `each` with the parts that merging a piece may begin with: characters where their bytes
    /// merge among themselves first, else bytes.
    #[inline]
    pub(crate) fn parts(&self, piece: &[u8], byte_ids: &[Id; 256], mut each: impl FnMut(Id)) {
        let mut at = 0;
        while at < piece.len() {
            if piece[at] >= 0xC0
                && let Some((id, length)) = self.char_at(&piece[at..])
                && id < self.lowest_partly(piece, at).min(self.lowest_partly(piece, at + length))
            {
                each(id);
                at += length;
            } else {
                each(byte_ids[usize::from(piece[at])]);
                at += 1;
            }
        }
    }

    /// The id of the character of two or three bytes that begins here, and its length, if it is a token.
    #[inline]
    fn char_at(&self, bytes: &[u8]) -> Option<(Id, usize)> {
        let (point, length) = read_char(bytes)?;
        let id = *self.chars.get(point as usize)?;
        (id != Id::MAX).then_some((id, length))
    }

    /// The lowest id of the tokens that may cross a place next to a character and hold a character in part.
    #[inline]
    fn lowest_partly(&self, piece: &[u8], at: usize) -> Id {
        match piece.get(at) {
            // A byte that continues a character and stands alone is next to no border that is known.
            Some(byte) if byte & 0xC0 == 0x80 => 0,
            Some(&first) if at > 0 => self.partial[place_of_bytes(piece[at - 1], first)],
            _ => Id::MAX,
        }
    }

    /// Returns whether a token may cross the border between two characters; `last` is the byte before it.
    #[inline(always)]
    fn crosses(&self, left: Char, right: Char, last: u8) -> bool {
        let (word, bit) = self.place(left, right);
        (self.whole[word] >> bit & 1 != 0) | self.crosses_partly(last, right.0 as u8)
    }

    /// Returns whether a token may cross a border that holds one of the two characters in part.
    #[inline(always)]
    fn crosses_partly(&self, last: u8, first: u8) -> bool {
        self.partial[place_of_bytes(last, first)] != Id::MAX
    }

    /// The word and the bit of two characters.
    #[inline(always)]
    fn place(&self, left: Char, right: Char) -> (usize, u32) {
        let key = u64::from(left.0) << 32 | u64::from(right.0);
        let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // The number of words is a power of two.
        let (word, bit) = ((mixed >> 46) as usize, (mixed >> 40) as u32 & 63);
        (word & (self.whole.len() - 1), bit)
    }
}

#[inline(always)]
fn place_of_bytes(last: u8, first: u8) -> usize {
    usize::from(last) << 8 | usize::from(first)
}

/// The bytes of a character as one number, the first of them lowest.
#[derive(Clone, Copy)]
struct Char(u32);

impl Char {
    fn of(bytes: &[u8]) -> Self {
        Self(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    fn len(self) -> usize {
        4 - (self.0 | 1).leading_zeros() as usize / 8
    }
}

/// The character of three bytes that begins here; none where fewer than four are left.
///
/// What looks like one and is none (too long, or a surrogate) is taken for one. That is as good: where
/// a token holds such bytes, borders next to them are known by their bytes.
#[inline(always)]
fn three_bytes(bytes: &[u8]) -> Option<Char> {
    let number = u32::from_le_bytes(*bytes.first_chunk()?) & 0xFF_FFFF;
    (number & 0xC0_C0F0 == 0x80_80E0).then_some(Char(number))
}

/// The character that begins at a byte.
fn char_after(bytes: &[u8], at: usize) -> Option<Char> {
    let (_, length) = read_char(&bytes[at..])?;
    Some(Char::of(&bytes[at..at + length]))
}

/// The character that ends before a byte, if it is there whole.
fn char_before(bytes: &[u8], at: usize) -> Option<Char> {
    let start = (at.saturating_sub(4)..at).rev().find(|&start| bytes[start] & 0xC0 != 0x80)?;
    char_after(&bytes[..at], start).filter(|char| start + char.len() == at)
}

/// Whether a character may begin at a byte that is not the first, and it or the one before is
/// beyond ASCII.
fn is_border(bytes: &[u8], at: usize) -> bool {
    bytes[at] >= 0xC0 || bytes[at] < 0x80 && bytes[at - 1] >= 0x80
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
        let mut partly = 0;
        for _ in 0..3000 {
            let tokens: Vec<Vec<u8>> = (0..5).map(|_| spell(3)).collect();
            let bridges =
                CharBridges::of((0..).zip(tokens.iter().map(Vec::as_slice))).of_vocab(true, true);
            let piece = spell(12);
            bridges.cuts(&piece, |at, may_be_cut| {
                // How far each token that crosses the border goes to the left and to the right.
                let crossing = tokens.iter().flat_map(|token| {
                    let starts = (1..token.len()).filter_map(|inside| at.checked_sub(inside));
                    let found = starts.filter(|&start| piece[start..].starts_with(token));
                    found.map(|start| (at - start, start + token.len() - at)).collect::<Vec<_>>()
                });
                let (last, first) = (piece[at - 1], piece[at]);
                let [left, right] = [char_before(&piece, at), char_after(&piece, at)]
                    .map(|char| char.expect("borders are between characters").len());
                for (before, after) in crossing {
                    assert!(!may_be_cut, "{piece:?} at {at}: {tokens:?}");
                    if before < left || after < right {
                        partly += 1;
                        assert!(bridges.crosses_partly(last, first), "{piece:?} {at}: {tokens:?}");
                    }
                }
            });
        }
        assert!(partly > 100);
    }

    #[test]
    fn what_no_token_bridges_is_cut() {
        let tokens = ["中文".as_bytes(), "文".as_bytes()];
        let bridges = CharBridges::of((0..).zip(tokens)).of_vocab(true, true);
        let (mut cuts, mut parts) = (Vec::new(), Vec::new());
        bridges.cuts("中文中".as_bytes(), |at, may_be_cut| cuts.push((at, may_be_cut)));
        assert_eq!(cuts, [(3, false), (6, true)]);
        let byte_ids = std::array::from_fn(|byte| byte as Id + 1000);
        bridges.parts("中文é".as_bytes(), &byte_ids, |id| parts.push(id));
        assert_eq!(parts, [1228, 1184, 1173, 1, 1195, 1169]);
    }

    #[test]
    fn merging_begins_with_characters_that_rank_below_what_crosses_them_partly() {
        let (left, right) = ("中".as_bytes(), "文".as_bytes());
        let crossing = [left, &right[..2]].concat();
        let parts_of = |tokens: [&[u8]; 3]| {
            let bridges = CharBridges::of((0..).zip(tokens)).of_vocab(true, true);
            let byte_ids = std::array::from_fn(|byte| byte as Id + 1000);
            let mut parts = Vec::new();
            bridges.parts("中文".as_bytes(), &byte_ids, |id| parts.push(id));
            parts
        };
        assert_eq!(parts_of([left, right, &crossing]), [0, 1]);
        assert_eq!(parts_of([left, &crossing, right]), [0, 1230, 1150, 1135]);
        assert_eq!(parts_of([&crossing, left, right]), [1228, 1184, 1173, 1230, 1150, 1135]);
    }
}
