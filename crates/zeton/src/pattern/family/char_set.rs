//! Sets of characters that a grammar can tell apart.

use std::ops::{BitAnd, BitOr, Not};

/// A set of characters, as a union of the atoms below.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct CharSet(u16);

impl CharSet {
    /// No character.
    pub const NONE: Self = Self(0);
    /// `\p{Lu}`.
    pub const LU: Self = Self(1 << 0);
    /// `\p{Lt}`.
    pub const LT: Self = Self(1 << 1);
    /// `\p{Ll}`.
    pub const LL: Self = Self(1 << 2);
    /// `\p{Lm}`.
    pub const LM: Self = Self(1 << 3);
    /// `\p{Lo}`.
    pub const LO: Self = Self(1 << 4);
    /// `\p{M}`.
    pub const MARK: Self = Self(1 << 5);
    /// `\p{N}`.
    pub const NUMBER: Self = Self(1 << 6);
    /// U+0020.
    pub const BLANK: Self = Self(1 << 7);
    /// Carriage return.
    pub const CR: Self = Self(1 << 8);
    /// Line feed.
    pub const LF: Self = Self(1 << 9);
    /// White space but for the three above.
    pub const WHITE: Self = Self(1 << 10);
    /// `'`.
    pub const APOSTROPHE: Self = Self(1 << 11);
    /// `/`.
    pub const SLASH: Self = Self(1 << 12);
    /// All other characters, and bytes that are not UTF-8.
    pub const OTHER: Self = Self(1 << 13);

    /// Every character.
    pub const ALL: Self = Self((1 << 14) - 1);
    /// `[\r\n]`.
    pub const NEWLINE: Self = Self(Self::CR.0 | Self::LF.0);
    /// `\s`.
    pub const SPACE: Self = Self(Self::BLANK.0 | Self::NEWLINE.0 | Self::WHITE.0);
    /// `[\p{Lu}\p{Lt}]`.
    pub const UPPER: Self = Self(Self::LU.0 | Self::LT.0);
    /// `[\p{Lm}\p{Lo}]`.
    pub const CASELESS: Self = Self(Self::LM.0 | Self::LO.0);
    /// `\p{L}`.
    pub const LETTER: Self = Self(Self::UPPER.0 | Self::LL.0 | Self::CASELESS.0);

    /// Returns whether the two have a character in common.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether all of `other` is in this set.
    #[must_use]
    pub fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the names of the atoms in the set: general categories, or words.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let names = [
            "Lu",
            "Lt",
            "Ll",
            "Lm",
            "Lo",
            "M",
            "N",
            "blank",
            "CR",
            "LF",
            "white",
            "apostrophe",
            "slash",
            "other",
        ];
        names
            .into_iter()
            .enumerate()
            .filter(|(at, _)| self.0 >> at & 1 == 1)
            .map(|(_, name)| name)
            .collect()
    }

    /// Returns whether there is no character in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for CharSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for CharSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for CharSet {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0 & Self::ALL.0)
    }
}
