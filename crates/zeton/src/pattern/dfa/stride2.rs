//! Two steps of an automaton by one look-up.
//!
//! A step waits for the one before it: its row is what that one found. Two at a time, half as many wait. A
//! text is a row of classes then, one a byte: a character's stands at its first byte, and the others have one
//! that does nothing.

use super::Step;
use super::no_rescan::{Does, MARKS, find_chains};

/// What two bytes do: what each [does](Does), and above them the chain that follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leap(u32);

impl Leap {
    /// Before a piece, where another ends.
    pub(crate) const START: Self = Self(0);
    const ROW_BIT: u32 = 16;
    /// Rows begin at multiples of that.
    const ROW_UNIT: usize = 64;

    fn of(first: u8, second: u8, row: usize) -> Self {
        let bits = u16::from_le_bytes([first, second]);
        Self(((row / Self::ROW_UNIT) as u32) << Self::ROW_BIT | u32::from(bits))
    }

    /// What both bytes do.
    #[inline(always)]
    pub(crate) fn does(self) -> [u8; 2] {
        (self.0 as u16).to_le_bytes()
    }

    /// The row of the chain that follows, if it does not go back.
    #[inline(always)]
    fn row(self) -> usize {
        (self.0 >> Self::ROW_BIT) as usize * Self::ROW_UNIT
    }

    /// The number of bytes before the one that goes back, if there is one.
    #[inline(always)]
    pub(crate) fn back(self) -> Option<usize> {
        let back = self.goes_back();
        (back != 0).then(|| back.trailing_zeros() as usize / 8)
    }

    /// The bits of those bytes that go back.
    #[inline(always)]
    pub(crate) fn goes_back(self) -> u32 {
        self.0 & u32::from_le_bytes([Does::BACK, Does::BACK, 0, 0])
    }
}

/// A table of chains × classes of the first byte × classes of the second.
#[derive(Clone, Debug)]
pub(crate) struct Leaps {
    table: Vec<Leap>,
    columns: usize,
}

/// Leaps that a table has at most: half a megabyte. Those of known patterns have 58,000 and fewer.
const LEAPS_MAX: usize = 1 << 17;

impl Leaps {
    /// Makes the table from that of single steps, with as many marks as it is not too large for.
    pub(crate) fn of(steps: &[Step], columns: usize) -> Option<Self> {
        (0..=MARKS).rev().find_map(|marks| Self::with_marks(steps, columns, marks))
    }

    /// The same with so many marks, unless it would be too large.
    pub(crate) fn with_marks(steps: &[Step], columns: usize, marks: usize) -> Option<Self> {
        let stride = (columns * columns).next_multiple_of(Leap::ROW_UNIT);
        // The end of a text is no character of it: in its column stand bytes that do nothing.
        let inert = columns - 1;
        let chains = find_chains(steps, inert, marks, (LEAPS_MAX / stride).checked_sub(1)?)?;
        let step = |chain: usize, class: usize| match class {
            _ if class == inert => (0, chain),
            _ => chains[chain * inert + class],
        };
        let count = chains.len() / inert;
        let mut table = vec![Leap::START; (count + 1) * stride];
        for (row, leaps) in table.chunks_mut(stride).enumerate() {
            // The first row is that of the start once more, with an end before it.
            let (chain, cut) = if row == 0 { (0, Does::CUT) } else { (row - 1, 0) };
            for (pair, leap) in leaps[..columns * columns].iter_mut().enumerate() {
                let (first, between) = step(chain, pair / columns);
                let (second, after) = step(between, pair % columns);
                *leap = Leap::of(first | cut, second, (after + 1) * stride);
            }
        }
        Some(Self { table, columns })
    }

    /// The class of the bytes that do nothing. All are below this or equal.
    pub(crate) fn inert(&self) -> u8 {
        (self.columns - 1) as u8
    }

    /// Which two classes those are, for [`Leaps::after`].
    #[inline(always)]
    pub(crate) fn pair(&self, first: u8, second: u8) -> u16 {
        u16::from(first) * self.columns as u16 + u16::from(second)
    }

    /// Two steps after others.
    ///
    /// # Safety
    ///
    /// The last leap is [`Leap::START`] or one of this table, and the pair is one of classes of it.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) unsafe fn after(&self, last: Leap, pair: u16) -> Leap {
        let place = last.row() + usize::from(pair);
        debug_assert!(place < self.table.len());
        // SAFETY: a row has a place for each pair of classes.
        unsafe { *self.table.get_unchecked(place) }
    }
}
