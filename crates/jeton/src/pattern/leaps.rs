//! Two steps of an automaton by one look-up.
//!
//! A step waits for the one before it: its row is what that one found. Two at a time, half as many wait. A
//! text is a row of classes then, one a byte: a character's stands at its first byte, and the others have one
//! that does nothing.

use super::automaton::Step;

/// What two bytes do: a byte of bits for each of them, and above them the state that follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leap(u32);

impl Leap {
    /// A piece ends before this byte.
    pub(crate) const CUT: u8 = 1;
    /// A piece may end before this byte.
    pub(crate) const MARK: u8 = 2;
    /// No match goes on with this byte: see [`Step::BACK`].
    const BACK: u8 = 4;
    /// Before a piece, where another ends.
    pub(crate) const START: Self = Self(0);
    const ROW_BIT: u32 = 16;
    /// Rows begin at multiples of that.
    const ROW_UNIT: usize = 64;

    fn of(first: u8, second: u8, row: usize) -> Self {
        let bits = u16::from_le_bytes([first, second]);
        Self(((row / Self::ROW_UNIT) as u32) << Self::ROW_BIT | u32::from(bits))
    }

    /// The bits of both bytes.
    #[inline(always)]
    pub(crate) fn bits(self) -> [u8; 2] {
        (self.0 as u16).to_le_bytes()
    }

    /// The row of the state that follows, if it does not go back.
    #[inline(always)]
    fn row(self) -> usize {
        (self.0 >> Self::ROW_BIT) as usize * Self::ROW_UNIT
    }

    /// The number of bytes before the one with which no match goes on, if there is one.
    #[inline(always)]
    pub(crate) fn back(self) -> Option<usize> {
        let back = self.0 & u32::from_le_bytes([Self::BACK, Self::BACK, 0, 0]);
        (back != 0).then(|| back.trailing_zeros() as usize / 8)
    }

    /// Both, of which what follows is of no use.
    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A table of states × classes of the first byte × classes of the second.
#[derive(Clone, Debug)]
pub(crate) struct Leaps {
    table: Vec<Leap>,
    columns: usize,
}

/// Leaps that a table has at most: half a megabyte. Those of published patterns have some 20,000.
const LEAPS_MAX: usize = 1 << 17;

impl Leaps {
    /// Makes the table from that of single steps, unless it would be too large.
    pub(super) fn of(steps: &[Step], columns: usize) -> Option<Self> {
        let stride = (columns * columns).next_multiple_of(Leap::ROW_UNIT);
        let states = steps.len() / columns;
        if (states + 1) * stride > LEAPS_MAX {
            return None;
        }
        // The end of a text is no character of it: in its column stand bytes that do nothing.
        let inert = columns - 1;
        // The bits of a byte, and the state that follows.
        let step = |state: usize, class: usize| match steps[state * columns + class] {
            _ if class == inert => (0, state),
            Step::BACK => (Leap::BACK, state),
            step => {
                let cut = if step.cuts() == 1 { Leap::CUT } else { 0 };
                let mark = if step.marks() { Leap::MARK } else { 0 };
                (cut | mark, step.row() / columns)
            }
        };
        let mut table = vec![Leap::START; (states + 1) * stride];
        for (row, leaps) in table.chunks_mut(stride).enumerate() {
            // The first row is that of the start once more, with an end before it.
            let (state, cut) = if row == 0 { (0, Leap::CUT) } else { (row - 1, 0) };
            for (pair, leap) in leaps[..columns * columns].iter_mut().enumerate() {
                let (first, between) = step(state, pair / columns);
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

    /// Which two classes those are, for [`Leaps::leap`].
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
