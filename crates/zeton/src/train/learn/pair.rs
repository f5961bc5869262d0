//! Two neighbours, and what joining them does to those around.

/// Two tokens, left and right; of two pairs, that of the smaller tokens is the smaller.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Pair(u64);

impl Pair {
    #[inline]
    pub(super) fn of(left: u32, right: u32) -> Self {
        Self(u64::from(left) << 32 | u64::from(right))
    }

    #[inline]
    pub(super) fn left(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn right(self) -> u32 {
        self.0 as u32
    }
}

/// A pair, and the token that it becomes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub(super) pair: Pair,
    pub(super) joined: u32,
}

/// A side of a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Join {
    /// Returns the pair that comes about where this token is beside, and the one that is no more.
    ///
    /// Of two new tokens in a row, which stood as `abab`, one is to the right of the other: (b, a) is
    /// no more.
    #[inline]
    pub(super) fn pairs(self, side: Side, beside: u32) -> (Pair, Pair) {
        let (left, right, joined) = (self.pair.left(), self.pair.right(), self.joined);
        let was = if beside == joined { left } else { beside };
        match side {
            Side::Left => (Pair::of(beside, joined), Pair::of(beside, left)),
            Side::Right => (Pair::of(joined, beside), Pair::of(right, was)),
        }
    }
}

/// A share of all pairs, for when not all can be counted at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// The hashes of its pairs begin with so many bits ...
    bits: u32,
    /// ... which are these.
    first: u64,
}

const SHARE_BITS_MAX: u32 = 16;

impl Share {
    #[inline]
    pub(super) fn holds(self, pair: Pair) -> bool {
        let hash = pair.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.bits == 0 || hash >> (64 - self.bits) == self.first
    }

    /// Gives away a half, and returns it; nothing if the share is as small as they get.
    pub(super) fn halve(&mut self) -> Option<Self> {
        if self.bits == SHARE_BITS_MAX {
            return None;
        }
        *self = Self { bits: self.bits + 1, first: self.first * 2 };
        Some(Self { first: self.first + 1, ..*self })
    }
}
