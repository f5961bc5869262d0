//! Short pieces: up to 15 bytes and their number are one key of 16.

use std::hash::BuildHasher;

use bytemuck::{Pod, Zeroable};
use foldhash::fast::RandomState;

/// Bytes that a short piece has at most.
pub(crate) const SHORT_MAX: usize = 15;

/// A short piece as one number, never zero: its bytes, and their number in the highest byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Key(u128);

impl Key {
    /// No piece's key: an empty slot has it.
    pub(crate) const NONE: Self = Self(0);

    /// No piece's key either: it stands for one that is not short.
    pub(crate) const TOO_LONG: Self = Self(u128::MAX);

    /// The key of `text[start..start + length]`, which has from 1 to [`SHORT_MAX`] bytes.
    #[inline]
    pub(crate) fn of(text: &[u8], start: usize, length: usize) -> Self {
        // Sixteen bytes are read at once where there are so many, and what follows is masked off.
        let bytes = match text.get(start..start + 16).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => number_of(&text[start..start + length]),
        };
        Self(bytes & MASKS[length] | (length as u128) << 120)
    }

    /// The same for a piece of any length; [`Key::TOO_LONG`] if it is not short.
    #[inline(always)]
    pub(crate) fn within(text: &[u8], start: usize, length: usize) -> Self {
        let Form { mask, length } = FORMS[length.min(16)];
        match text.get(start..start + 16).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => Self(u128::from_le_bytes(*bytes) & mask | length),
            None => Self::at_the_end(&text[start..], mask, length),
        }
    }

    /// The same where fewer than sixteen bytes are left.
    #[cold]
    fn at_the_end(rest: &[u8], mask: u128, length: u128) -> Self {
        Self(number_of(rest) & mask | length)
    }

    /// The same with a mark: a slot with this key has ids elsewhere, and is not found by the key alone.
    #[inline]
    pub(crate) fn marked(self) -> Self {
        Self(self.0 | ELSEWHERE)
    }

    /// Without a mark.
    #[inline]
    pub(crate) fn plain(self) -> Self {
        Self(self.0 & !ELSEWHERE)
    }

    #[inline]
    pub(crate) fn is_marked(self) -> bool {
        self.0 & ELSEWHERE != 0
    }

    /// Returns a number whose highest bits depend on all bytes.
    #[inline(always)]
    pub(crate) fn mixed(self) -> u64 {
        mix_halves(self.0 as u64, (self.0 >> 64) as u64)
    }

    /// Returns a number whose bits all depend on all bytes, by seeds of somebody's own.
    #[inline(always)]
    pub(crate) fn mixed_by(self, seeds: [u64; 2]) -> u64 {
        mix(self.0, seeds)
    }
}

/// Returns up to [`SHORT_MAX`] bytes as one number, the first of them lowest.
///
/// Both ends are read, which overlap, and what both have is the same: a copy by its length is a call, and its
/// bytes would have to be written before they are read as one.
#[inline(always)]
fn number_of(bytes: &[u8]) -> u128 {
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

/// A bit that no number of bytes has.
const ELSEWHERE: u128 = 1 << 127;

/// Odd numbers without a pattern, for what need not be hidden from who makes the text.
pub(crate) const SEEDS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// Seeds that nobody knows before: no vocabulary can be made whose tokens all collide.
pub(crate) fn drawn_seeds() -> [u64; 2] {
    [1, 2].map(|number: u64| RandomState::default().hash_one(number))
}

#[inline(always)]
pub(crate) fn mix(key: u128, seeds: [u64; 2]) -> u64 {
    let product = u128::from(key as u64 ^ seeds[0]) * u128::from((key >> 64) as u64 ^ seeds[1]);
    product as u64 ^ (product >> 64) as u64
}

/// Returns what [`Key::mixed`] does, for the two halves of a key: by products that vectors have too.
#[inline(always)]
pub(crate) fn mix_halves(low: u64, high: u64) -> u64 {
    low.wrapping_mul(SEEDS[0]) ^ high.wrapping_mul(SEEDS[1])
}

/// The bits of so many bytes.
const MASKS: [u128; 17] = {
    let mut masks = [0; 17];
    let mut length = 1;
    while length <= 16 {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

/// What makes a key of sixteen bytes by the length of a piece: what is masked off, what is put in.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Form {
    pub(crate) mask: u128,
    pub(crate) length: u128,
}

pub(crate) static FORMS: [Form; 17] = {
    let mut forms = [Form { mask: 0, length: Key::TOO_LONG.0 }; 17];
    let mut length = 0;
    while length <= SHORT_MAX {
        forms[length] = Form { mask: MASKS[length], length: (length as u128) << 120 };
        length += 1;
    }
    forms
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_bytes_wherever_they_stand() {
        let text = b"the quick brown fox jumps over the lazy dog";
        for start in 0..text.len() {
            for length in 1..=SHORT_MAX.min(text.len() - start) {
                let alone = &text[start..start + length];
                assert_eq!(Key::of(text, start, length), Key::of(alone, 0, length));
                assert_ne!(Key::of(text, start, length), Key::NONE);
            }
        }
        assert_ne!(Key::of(b"\0", 0, 1), Key::of(b"\0\0", 0, 2));
        for start in 0..text.len() {
            for length in 1..=text.len() - start {
                let key = match length {
                    ..=SHORT_MAX => Key::of(text, start, length),
                    _ => Key::TOO_LONG,
                };
                assert_eq!(Key::within(text, start, length), key);
            }
        }
    }
}
