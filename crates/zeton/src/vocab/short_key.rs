//! A piece of up to 15 bytes as one 128-bit number: two pieces are equal if and only if their keys
//! are.
//!
//! ```text
//!  bit 127        126     120 119                                     0
//!      ┌───────────┬─────────┬─────────────────────────────────────────┐
//!      │ indirect  │ length  │   bytes, the first one lowest, then 0   │
//!      └───────────┴─────────┴─────────────────────────────────────────┘
//!          1 bit      7 bits                  15 × 8 bits
//! ```
//!
//! For example, the key of `ab` is `0x02000000_00000000_00000000_00006261`. The length keeps `"\0"`
//! and `"\0\0"` apart. It also makes every key non-zero, so that zero marks an empty slot. The
//! vocabulary, the piece cache and its SIMD kernels all use this key.
//!
//! Cost: one unaligned load of 16 bytes, a mask and an OR, where the text has 16 bytes left. 99 %
//! of the pieces of English fit a key.

use std::hash::BuildHasher;

use bytemuck::{Pod, Zeroable};
use foldhash::fast::RandomState;

/// The most bytes of a short piece: a key of 16 bytes has one for the length and the flag.
pub(crate) const SHORT_MAX: usize = 15;

/// A short piece as one number, in the layout of the module's header. Never zero for a piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Key(u128);

impl Key {
    /// The key of an empty slot, and of no piece.
    pub(crate) const NONE: Self = Self(0);

    /// The key that stands for every piece of more than [`SHORT_MAX`] bytes.
    pub(crate) const TOO_LONG: Self = Self(u128::MAX);

    /// Returns the key of `text[start..start + length]`, which has from 1 to [`SHORT_MAX`] bytes.
    #[inline]
    pub(crate) fn from_short(text: &[u8], start: usize, length: usize) -> Self {
        // If the text goes on, 16 bytes are loaded at once and the excess is masked off.
        let bytes = match text.get(start..start + 16).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => read_short(&text[start..start + length]),
        };
        Self(bytes & LENGTH_MASKS[length] | (length as u128) << 120)
    }

    /// Returns the key of `text[start..start + length]`, of any length: [`Key::TOO_LONG`] if it is
    /// not short.
    #[inline(always)]
    pub(crate) fn from_piece(text: &[u8], start: usize, length: usize) -> Self {
        let KeyForm { mask, length } = KEY_FORMS[length.min(16)];
        match text.get(start..start + 16).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => Self(u128::from_le_bytes(*bytes) & mask | length),
            None => Self::from_text_end(&text[start..], mask, length),
        }
    }

    /// Returns the key of a piece with fewer than 16 bytes of text left. `rest` is the text from
    /// the start of the piece on; `mask` and `length` are the piece's [`KeyForm`].
    #[cold]
    fn from_text_end(rest: &[u8], mask: u128, length: u128) -> Self {
        Self(read_short(rest) & mask | length)
    }

    /// Returns the key with the indirect flag: the slot of this key holds a reference to its ids,
    /// and an equality test against the plain key fails.
    #[inline]
    pub(crate) fn with_indirect_flag(self) -> Self {
        Self(self.0 | INDIRECT_FLAG)
    }

    /// Returns the key without the indirect flag: the key of the piece itself. The short table
    /// compares it when it probes a group or moves an entry.
    #[inline]
    pub(crate) fn without_indirect_flag(self) -> Self {
        Self(self.0 & !INDIRECT_FLAG)
    }

    /// Returns whether the key is of an entry of the piece cache whose ids lie in the ring. Keys of
    /// pieces and tokens never have the flag.
    #[inline]
    pub(crate) fn is_indirect(self) -> bool {
        self.0 & INDIRECT_FLAG != 0
    }

    /// Returns a hash whose highest bits depend on all bytes. It is the hash of the piece cache.
    #[inline(always)]
    pub(crate) fn hash(self) -> u64 {
        mix_halves(self.0 as u64, (self.0 >> 64) as u64)
    }

    /// Returns a hash whose bits all depend on all bytes and on secret seeds. It is the hash of the
    /// vocabulary, which an attacker may have written.
    #[inline(always)]
    pub(crate) fn hash_with(self, seeds: [u64; 2]) -> u64 {
        mix(self.0, seeds)
    }
}

/// Returns up to [`SHORT_MAX`] bytes as one number, the first byte lowest.
///
/// The two ends are loaded at fixed sizes, and overlap. A copy of variable length would be a call,
/// and the load behind it would stall until its bytes are written.
#[inline(always)]
fn read_short(bytes: &[u8]) -> u128 {
    let length = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let [first, last] = [first, last].map(|eight| u128::from(u64::from_le_bytes(*eight)));
        first | last << (8 * (length - 8))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let [first, last] = [first, last].map(|four| u128::from(u32::from_le_bytes(*four)));
        first | last << (8 * (length - 4))
    } else {
        let byte = |at: usize| bytes.get(at).map_or(0, |&byte| u128::from(byte) << (8 * at));
        byte(0) | byte(1) | byte(2)
    }
}

/// The highest bit, which no length sets.
const INDIRECT_FLAG: u128 = 1 << 127;

/// Two odd constants without a pattern: 2⁶⁴ divided by the golden ratio, and the multiplier of a
/// known integer hash. They serve the piece cache, where a collision only evicts an entry.
pub(crate) const SEEDS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// Draws two random seeds for the hashes of a new table, so that nobody can craft a vocabulary
/// whose tokens all collide.
pub(crate) fn draw_seeds() -> [u64; 2] {
    [1, 2].map(|number: u64| RandomState::default().hash_one(number))
}

/// Hashes a number of 128 bits: the 128-bit product of its two halves, each XORed with a seed, is
/// folded.
#[inline(always)]
pub(crate) fn mix(key: u128, seeds: [u64; 2]) -> u64 {
    let product = u128::from(key as u64 ^ seeds[0]) * u128::from((key >> 64) as u64 ^ seeds[1]);
    product as u64 ^ (product >> 64) as u64
}

/// Returns [`Key::hash`] of the two halves of a key. It uses products of 64 bits, because vectors
/// have them.
#[inline(always)]
pub(crate) fn mix_halves(low: u64, high: u64) -> u64 {
    low.wrapping_mul(SEEDS[0]) ^ high.wrapping_mul(SEEDS[1])
}

/// The mask of the first `length` bytes, by length.
const LENGTH_MASKS: [u128; 17] = {
    let mut masks = [0; 17];
    let mut length = 1;
    while length <= 16 {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

/// The mask and the length bits that turn 16 loaded bytes into a key. The alignment keeps both in
/// one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct KeyForm {
    /// The bits of the piece's bytes.
    pub(crate) mask: u128,
    /// The length, at bits 120 to 126; all ones if the piece is too long.
    pub(crate) length: u128,
}

/// The form of each length; the last one stands for every length above [`SHORT_MAX`].
pub(crate) static KEY_FORMS: [KeyForm; 17] = {
    let mut forms = [KeyForm { mask: 0, length: Key::TOO_LONG.0 }; 17];
    let mut length = 0;
    while length <= SHORT_MAX {
        forms[length] = KeyForm { mask: LENGTH_MASKS[length], length: (length as u128) << 120 };
        length += 1;
    }
    forms
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_the_bytes_and_not_on_their_position() {
        let text = b"the quick brown fox jumps over the lazy dog";
        for start in 0..text.len() {
            for length in 1..=SHORT_MAX.min(text.len() - start) {
                let alone = &text[start..start + length];
                assert_eq!(Key::from_short(text, start, length), Key::from_short(alone, 0, length));
                assert_ne!(Key::from_short(text, start, length), Key::NONE);
            }
        }
        assert_ne!(Key::from_short(b"\0", 0, 1), Key::from_short(b"\0\0", 0, 2));
        for start in 0..text.len() {
            for length in 1..=text.len() - start {
                let key = match length {
                    ..=SHORT_MAX => Key::from_short(text, start, length),
                    _ => Key::TOO_LONG,
                };
                assert_eq!(Key::from_piece(text, start, length), key);
            }
        }
    }
}
