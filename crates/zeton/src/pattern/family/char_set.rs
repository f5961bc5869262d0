//! Sets of characters: the operands of a [`Grammar`](super::Grammar).
//!
//! A set is a union of 14 *atoms*, and an atom is a class of characters that no pattern of the
//! family divides. For example, `[^\s\p{L}\p{N}]` is the union of `MARK`, `APOSTROPHE`, `SLASH` and
//! `OTHER`. A set is a bit mask, so that union, intersection and complement are one instruction:
//!
//! ```text
//! bit   13    12    11         10    9  8  7     6 5 4  3  2  1  0
//!       other slash apostrophe white LF CR blank N M Lo Lm Ll Lt Lu
//! ```

use std::ops::{BitAnd, BitOr, Not};

/// A set of characters, as a union of atoms. For example, `\s` is [`CharSet::SPACE`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct CharSet(u16);

impl CharSet {
    /// No character.
    pub const NONE: Self = Self(0);
    /// `\p{Lu}`: capital letters, such as `A`.
    pub const LU: Self = Self(1 << 0);
    /// `\p{Lt}`: title-case letters, such as `ǅ`.
    pub const LT: Self = Self(1 << 1);
    /// `\p{Ll}`: small letters, such as `a`.
    pub const LL: Self = Self(1 << 2);
    /// `\p{Lm}`: modifier letters, such as `ʰ`.
    pub const LM: Self = Self(1 << 3);
    /// `\p{Lo}`: letters without case, such as `中`.
    pub const LO: Self = Self(1 << 4);
    /// `\p{M}`: combining marks, such as U+0301.
    pub const MARK: Self = Self(1 << 5);
    /// `\p{N}`: digits and other numbers, such as `1` and `½`.
    pub const NUMBER: Self = Self(1 << 6);
    /// U+0020, the space.
    pub const BLANK: Self = Self(1 << 7);
    /// U+000D, carriage return.
    pub const CR: Self = Self(1 << 8);
    /// U+000A, line feed.
    pub const LF: Self = Self(1 << 9);
    /// White space other than `BLANK`, `CR` and `LF`, such as tab and U+00A0.
    pub const WHITE: Self = Self(1 << 10);
    /// `'`, which begins contractions.
    pub const APOSTROPHE: Self = Self(1 << 11);
    /// `/`, which o200k lets follow punctuation.
    pub const SLASH: Self = Self(1 << 12);
    /// Each remaining character, such as `!`, and each byte that is not UTF-8.
    pub const OTHER: Self = Self(1 << 13);

    /// Every character: all 14 atoms.
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

    /// Returns whether the two sets have a character in common, by their bit masks of atoms.
    /// Patterns are recognised and their tables are built with it, and `explain` names rules by it;
    /// no split calls it.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether every character of `other` is in this set. It compares two bit masks of
    /// atoms.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the names of the atoms in the set, which Python's `grammar()` shows: Unicode's
    /// general categories, or words. For example, `\s` is `["blank", "CR", "LF", "white"]`.
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

    /// Returns whether the set has no character.
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
