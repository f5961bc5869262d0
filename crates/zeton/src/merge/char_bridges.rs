//! The table of characters that tokens bridge: a piece is cut between two characters where no token
//! does, and each part is merged alone.
//!
//! A token *bridges* two adjacent characters if it contains bytes of both. A merge spells a token,
//! so that it crosses a border between two characters only if some token bridges them. Where none
//! does, both sides merge as they do alone. Chinese, Japanese and Thai need no spaces between
//! words: their pieces are long, and few borders are bridged. For example, the piece `我们是学生` (15
//! bytes) with cl100k:
//!
//! ```text
//!  characters      我      们      是      学      生
//!  bridged?            yes     no      no      no          only `我们` lies in a token
//!  parts          [我      们]    [是]    [学]    [生]
//!  ids              98739        21043   48864   21990
//! ```
//!
//! A second use: merging begins with characters instead of bytes, if that is exact. In the example
//! it begins with the ids 37046 80578 21043 48864 21990 instead of 15 bytes. Two conditions make it
//! exact:
//!
//! - Ranks rise from the parts of every token to the token, as in training. Merges then happen in
//!   the order of their ranks.
//! - The character is a token, and it ranks below every token that crosses one of its two borders
//!   and splits a character there.
//!
//! Then no merge up to the character's rank crosses its borders. A merge that does cross one, and
//! keeps the character whole, joins two parts. One of them contains the whole character, so that
//! the merge ranks above it. So the bytes of the character merge first, as they do alone. Where
//! ranks do not rise this is wrong: with the tokens `中文`, `A中`, `中`, `文` in this order, `A中文`
//! merges to `A中` and `文`.
//!
//! A border is a position between two characters of valid UTF-8, at least one of them beyond ASCII.
//!
//! Cost: two loads per border, without a branch. Cold text of Thai gained 29 → 39 MB/s with o200k
//! when characters of low rank were no longer split.

use crate::sys::huge_buffer::HugeBuffer;
use crate::sys::sections::{SectionReader, SectionWriter};
use crate::sys::unicode::read_char;
use crate::vocab::Id;

/// The borders of characters that lie within tokens.
#[derive(Clone, Debug)]
pub(crate) struct CharBridges {
    /// The lowest id of the tokens that split a character at a border, by the two bytes left and
    /// right of the border; `Id::MAX` if there is none. The index is `left << 8 | right`.
    partial_min_ids: HugeBuffer<Id>,
    /// A Bloom filter with one hash function: the pairs of characters that some token contains
    /// whole. A false positive keeps a piece uncut, which costs time and is still exact. There are
    /// no false negatives.
    bridged_pairs: HugeBuffer<u64>,
    /// Whether merging reaches every token. Otherwise a piece may be an unreachable token, and is
    /// not cut.
    every_token_reachable: bool,
    /// The id of each character of two or three bytes, by its code point; `Id::MAX` if it is no
    /// token. Empty if some token is unreachable, or ranks do not rise.
    char_ids: HugeBuffer<Id>,
}

/// Bits of the filter for each border of a token, before rounding up to a power of two. At most one
/// bit in 16 is set, so that few pieces stay uncut by mistake. No measurement chose 16.
const BITS_PER_BORDER: usize = 16;
/// The most bits of the filter: 1 MiB. The limit bounds memory and cache misses for huge
/// vocabularies, at the price of more false positives.
const BITS_MAX: usize = 1 << 23;

impl CharBridges {
    /// Collects the borders between characters within all tokens, in new tables. They are not yet
    /// of use: no piece is cut before [`CharBridges::with_vocab_properties`] is called.
    pub(crate) fn from_tokens<'t>(tokens: impl Iterator<Item = (Id, &'t [u8])> + Clone) -> Self {
        // ASCII text has no borders.
        let tokens = tokens.filter(|(_, token)| !token.is_ascii());
        let borders = |(id, token): (Id, &'t [u8])| {
            (1..token.len()).filter(|&at| is_border(token, at)).map(move |at| (id, token, at))
        };
        let count = tokens.clone().flat_map(borders).count();
        let bits = (count * BITS_PER_BORDER).next_power_of_two().clamp(64, BITS_MAX);
        let mut bridges = Self {
            partial_min_ids: HugeBuffer::zeros(1 << 16),
            bridged_pairs: HugeBuffer::zeros(bits / 64),
            every_token_reachable: false,
            char_ids: HugeBuffer::zeros(1 << 16),
        };
        bridges.partial_min_ids.fill(Id::MAX);
        bridges.char_ids.fill(Id::MAX);
        for (id, token, at) in tokens.clone().flat_map(borders) {
            match (char_before(token, at), char_after(token, at)) {
                (Some(left), Some(right)) => {
                    let (word, bit) = bridges.bit_position(left, right);
                    bridges.bridged_pairs[word] |= 1 << bit;
                }
                _ => {
                    let lowest =
                        &mut bridges.partial_min_ids[index_of_bytes(token[at - 1], token[at])];
                    *lowest = id.min(*lowest);
                }
            }
        }
        for (id, token) in tokens {
            if let Some((point @ 0x80.., length)) = read_char(token)
                && length == token.len()
                && let Some(char_id) = bridges.char_ids.get_mut(point as usize)
            {
                *char_id = id;
            }
        }
        bridges
    }

    /// Sets whether merging reaches every token, and whether ranks rise from parts to wholes.
    ///
    /// `BpeModel::new` calls it once, when all pairs are known. Unless both hold, it drops
    /// `char_ids`, and merging begins with bytes.
    pub(crate) fn with_vocab_properties(
        mut self,
        every_token_reachable: bool,
        ranks_rise: bool,
    ) -> Self {
        self.every_token_reachable = every_token_reachable;
        if !(every_token_reachable && ranks_rise) {
            self.char_ids = HugeBuffer::zeros(0);
        }
        self
    }

    /// Appends the tables to the sections of an image; they are borrowed until it is written.
    pub(crate) fn write_image<'v>(&'v self, image: &mut SectionWriter<'v>) {
        image.put_number(self.every_token_reachable.into());
        image.put_array(&self.partial_min_ids);
        image.put_array(&self.bridged_pairs);
        image.put_array(&self.char_ids);
    }

    /// Reads the tables from an image. Returns `None` if their sizes are impossible. The arrays
    /// stay in the mapped memory.
    pub(crate) fn try_from_image(image: &mut SectionReader) -> Option<Self> {
        let every_token_reachable = image.next_number()? == 1;
        let (partial_min_ids, bridged_pairs, char_ids) =
            (image.next_table()?, image.next_table()?, image.next_array()?);
        (partial_min_ids.len() == 1 << 16).then_some(Self {
            partial_min_ids,
            bridged_pairs,
            every_token_reachable,
            char_ids,
        })
    }

    /// Calls `visit` with the position of each border, and whether the piece may be cut there.
    ///
    /// The decision is an argument and not a branch, because it is unpredictable.
    #[inline]
    pub(crate) fn for_each_border(&self, piece: &[u8], mut visit: impl FnMut(usize, bool)) {
        if !self.every_token_reachable || piece.is_ascii() {
            return;
        }
        let (mut at, mut before) = (0, None);
        while at < piece.len() {
            // Most borders lie between characters of three bytes, so they have a loop of their own.
            if let Some(mut left) = before {
                while let Some(right) = read_three_bytes(&piece[at..]) {
                    visit(at, !self.may_be_crossed(left, right, piece[at - 1]));
                    (left, at) = (right, at + 3);
                }
                before = Some(left);
            }
            let right = char_after(piece, at);
            if let (Some(left), Some(right)) = (before, right)
                && left.0 | right.0 >= 0x80
            {
                visit(at, !self.may_be_crossed(left, right, piece[at - 1]));
            }
            before = right;
            at += right.map_or(1, PackedChar::len);
        }
    }

    /// Calls `visit` with each id that merging may begin with: a character where its bytes merge
    /// first, otherwise a byte.
    #[inline]
    pub(crate) fn for_each_part(
        &self,
        piece: &[u8],
        byte_ids: &[Id; 256],
        mut visit: impl FnMut(Id),
    ) {
        let mut at = 0;
        while at < piece.len() {
            if piece[at] >= 0xC0
                && let Some((id, length)) = self.char_at(&piece[at..])
                && id
                    < self
                        .lowest_partial_id(piece, at)
                        .min(self.lowest_partial_id(piece, at + length))
            {
                visit(id);
                at += length;
            } else {
                visit(byte_ids[usize::from(piece[at])]);
                at += 1;
            }
        }
    }

    /// Returns the id and the length of the character of two or three bytes at the start, if it is
    /// a token.
    #[inline]
    fn char_at(&self, bytes: &[u8]) -> Option<(Id, usize)> {
        let (point, length) = read_char(bytes)?;
        let id = *self.char_ids.get(point as usize)?;
        (id != Id::MAX).then_some((id, length))
    }

    /// Returns the lowest id of the tokens that may cross position `at`, at the edge of a
    /// character, and split a character there.
    #[inline]
    fn lowest_partial_id(&self, piece: &[u8], at: usize) -> Id {
        match piece.get(at) {
            // A stray continuation byte is next to no known border, so that every id must be
            // assumed.
            Some(byte) if byte & 0xC0 == 0x80 => 0,
            Some(&first) if at > 0 => self.partial_min_ids[index_of_bytes(piece[at - 1], first)],
            _ => Id::MAX,
        }
    }

    /// Returns whether a token may cross the border between two characters. `last` is the byte
    /// before the border.
    #[inline(always)]
    fn may_be_crossed(&self, left: PackedChar, right: PackedChar, last: u8) -> bool {
        let (word, bit) = self.bit_position(left, right);
        (self.bridged_pairs[word] >> bit & 1 != 0) | self.is_crossed_partially(last, right.0 as u8)
    }

    /// Returns whether some token crosses a border with these two bytes and splits one of the two
    /// characters.
    #[inline(always)]
    fn is_crossed_partially(&self, last: u8, first: u8) -> bool {
        self.partial_min_ids[index_of_bytes(last, first)] != Id::MAX
    }

    /// Returns the place of a pair of characters in the filter `bridged_pairs`: the index of a word
    /// and the number of a bit in it. Other pairs may share the bit.
    #[inline(always)]
    fn bit_position(&self, left: PackedChar, right: PackedChar) -> (usize, u32) {
        let key = u64::from(left.0) << 32 | u64::from(right.0);
        let product = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // Bits 40 to 45 of the product select the bit, the bits from 46 on the word. The number of
        // words is a power of two.
        let (word, bit) = ((product >> 46) as usize, (product >> 40) as u32 & 63);
        (word & (self.bridged_pairs.len() - 1), bit)
    }
}

/// Returns the index in `partial_min_ids` of the byte before a border, `last`, and the byte behind
/// it, `first`.
#[inline(always)]
fn index_of_bytes(last: u8, first: u8) -> usize {
    usize::from(last) << 8 | usize::from(first)
}

/// The UTF-8 bytes of a character as one number, the first byte lowest: `中` (E4 B8 AD) is
/// `0xADB8E4`.
#[derive(Clone, Copy)]
struct PackedChar(u32);

impl PackedChar {
    /// Packs a character's UTF-8, one to four bytes, into one integer, the first byte lowest.
    fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    /// Returns the length of the character in bytes.
    fn len(self) -> usize {
        4 - (self.0 | 1).leading_zeros() as usize / 8
    }
}

/// Returns the character of three bytes at the start, if at least four bytes are left to load.
///
/// An overlong form or a surrogate passes as a character. That is exact, because a token that
/// contains them has its borders recorded by bytes.
#[inline(always)]
fn read_three_bytes(bytes: &[u8]) -> Option<PackedChar> {
    let number = u32::from_le_bytes(*bytes.first_chunk()?) & 0xFF_FFFF;
    (number & 0xC0_C0F0 == 0x80_80E0).then_some(PackedChar(number))
}

/// Returns the character of `bytes` that begins at byte `at`, or `None` if no whole character
/// begins there.
fn char_after(bytes: &[u8], at: usize) -> Option<PackedChar> {
    let (_, length) = read_char(&bytes[at..])?;
    Some(PackedChar::from_bytes(&bytes[at..at + length]))
}

/// Returns the character of `bytes` that ends at byte `at`, or `None` if no whole character ends
/// there.
fn char_before(bytes: &[u8], at: usize) -> Option<PackedChar> {
    let start = (at.saturating_sub(4)..at).rev().find(|&start| bytes[start] & 0xC0 != 0x80)?;
    char_after(&bytes[..at], start).filter(|char| start + char.len() == at)
}

/// Returns whether a character may begin at `at`, which is not the first byte, and whether that
/// character or the one before is beyond ASCII.
fn is_border(bytes: &[u8], at: usize) -> bool {
    bytes[at] >= 0xC0 || bytes[at] < 0x80 && bytes[at - 1] >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn never_cuts_within_a_token() {
        let letters = ["a", "é", "中", "文", "語", "😀"];
        let mut random = Random(3);
        let mut random_bytes = |chars_max: usize| -> Vec<u8> {
            let count = 1 + random.below(chars_max);
            let text: String = (0..count).map(|_| letters[random.below(letters.len())]).collect();
            // Tokens may begin and end within characters.
            let bytes = text.into_bytes();
            let from = random.below(3.min(bytes.len()));
            let to = bytes.len() - random.below(3.min(bytes.len() - from));
            bytes[from..to].to_vec()
        };
        let mut partial_crossings = 0;
        for _ in 0..3000 {
            let tokens: Vec<Vec<u8>> = (0..5).map(|_| random_bytes(3)).collect();
            let bridges = CharBridges::from_tokens((0..).zip(tokens.iter().map(Vec::as_slice)))
                .with_vocab_properties(true, true);
            let piece = random_bytes(12);
            bridges.for_each_border(&piece, |at, can_cut| {
                // For each token that crosses the border: its bytes to the left and to the right.
                let crossing = tokens.iter().flat_map(|token| {
                    let starts = (1..token.len()).filter_map(|inside| at.checked_sub(inside));
                    let found = starts.filter(|&start| piece[start..].starts_with(token));
                    found.map(|start| (at - start, start + token.len() - at)).collect::<Vec<_>>()
                });
                let (last, first) = (piece[at - 1], piece[at]);
                let [left, right] = [char_before(&piece, at), char_after(&piece, at)]
                    .map(|char| char.expect("borders are between characters").len());
                for (before, after) in crossing {
                    assert!(!can_cut, "{piece:?} at {at}: {tokens:?}");
                    if before < left || after < right {
                        partial_crossings += 1;
                        assert!(
                            bridges.is_crossed_partially(last, first),
                            "{piece:?} {at}: {tokens:?}"
                        );
                    }
                }
            });
        }
        assert!(partial_crossings > 100);
    }

    #[test]
    fn cuts_where_no_token_bridges() {
        let tokens = ["中文".as_bytes(), "文".as_bytes()];
        let bridges = CharBridges::from_tokens((0..).zip(tokens)).with_vocab_properties(true, true);
        let (mut cuts, mut parts) = (Vec::new(), Vec::new());
        bridges.for_each_border("中文中".as_bytes(), |at, can_cut| cuts.push((at, can_cut)));
        assert_eq!(cuts, [(3, false), (6, true)]);
        let byte_ids = std::array::from_fn(|byte| byte as Id + 1000);
        bridges.for_each_part("中文é".as_bytes(), &byte_ids, |id| parts.push(id));
        assert_eq!(parts, [1228, 1184, 1173, 1, 1195, 1169]);
    }

    #[test]
    fn begins_with_characters_that_rank_below_every_partial_crossing() {
        let (left, right) = ("中".as_bytes(), "文".as_bytes());
        let crossing = [left, &right[..2]].concat();
        let parts_of = |tokens: [&[u8]; 3]| {
            let bridges =
                CharBridges::from_tokens((0..).zip(tokens)).with_vocab_properties(true, true);
            let byte_ids = std::array::from_fn(|byte| byte as Id + 1000);
            let mut parts = Vec::new();
            bridges.for_each_part("中文".as_bytes(), &byte_ids, |id| parts.push(id));
            parts
        };
        assert_eq!(parts_of([left, right, &crossing]), [0, 1]);
        assert_eq!(parts_of([left, &crossing, right]), [0, 1230, 1150, 1135]);
        assert_eq!(parts_of([&crossing, left, right]), [1228, 1184, 1173, 1230, 1150, 1135]);
    }
}
