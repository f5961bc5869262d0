//! Two steps of an automaton by one look-up, where both characters are ASCII.
//!
//! A step waits for the one before it: its row is what that one found. Two at a time, half as many wait.

use super::automaton::Step;

/// What two characters do.
#[derive(Clone, Copy, Debug)]
struct Leap(u32);

impl Leap {
    /// Not to be taken: one of the characters is no ASCII, or no match goes on.
    const NONE: Self = Self(1 << 4);
    const ROW_BIT: u32 = 5;

    fn of(first: Step, second: Step, row: usize) -> Self {
        let cuts = first.cuts() | second.cuts() << 1;
        let marks = usize::from(first.marks()) | usize::from(second.marks()) << 1;
        Self((row << Self::ROW_BIT | marks << 2 | cuts) as u32)
    }

    #[inline]
    fn is_none(self) -> bool {
        self.0 & Self::NONE.0 != 0
    }

    /// A bit for each of the two before which a piece ends.
    #[inline]
    fn cuts(self) -> u64 {
        u64::from(self.0 & 3)
    }

    /// A bit for each of the two before which a piece may end.
    #[inline]
    fn marks(self) -> u64 {
        u64::from(self.0 >> 2 & 3)
    }

    #[inline]
    fn row(self) -> usize {
        (self.0 >> Self::ROW_BIT) as usize
    }
}

/// A table of states × classes of the first character × classes of the second.
#[derive(Clone, Debug)]
pub(crate) struct Leaps {
    table: Vec<Leap>,
    columns: usize,
    /// For each byte, what it adds to a place in the table as the first, and as the second.
    firsts: [u32; 256],
    seconds: [u32; 256],
}

/// What was read by leaps.
pub(crate) struct Read {
    /// A bit for each byte before which a piece ends.
    pub(crate) cuts: u64,
    /// A bit for each byte before which a piece may end.
    pub(crate) marks: u64,
    pub(crate) length: usize,
    /// The row of the state that follows.
    pub(crate) row: usize,
}

/// Leaps that a table has at most: half a megabyte. Those of published patterns have some 20,000.
const LEAPS_MAX: usize = 1 << 17;

impl Leaps {
    /// Bytes that are read at once at most, as many as a word has bits.
    pub(crate) const BYTES: usize = 64;

    /// Makes the table from that of single steps, unless it would be too large.
    pub(super) fn of(
        steps: &[Step],
        columns: usize,
        class_of_ascii: impl Fn(u8) -> u8,
    ) -> Option<Self> {
        if steps.len() * columns > LEAPS_MAX {
            return None;
        }
        // No character of a text is of the class of its end: what is no ASCII stands in its column.
        let end = columns - 1;
        let leap = |first: Step, second: usize| {
            if first == Step::BACK || second == end {
                return Leap::NONE;
            }
            match steps[first.row() + second] {
                Step::BACK => Leap::NONE,
                step => Leap::of(first, step, step.row() * columns),
            }
        };
        let table = steps
            .iter()
            .enumerate()
            .flat_map(|(number, &first)| {
                (0..columns).map(move |second| match number % columns == end {
                    true => Leap::NONE,
                    false => leap(first, second),
                })
            })
            .collect();
        let class_of = |byte: usize| match byte as u8 {
            byte @ 0..128 => u32::from(class_of_ascii(byte)),
            _ => end as u32,
        };
        let firsts = std::array::from_fn(|byte| class_of(byte) * columns as u32);
        Some(Self { table, columns, firsts, seconds: std::array::from_fn(class_of) })
    }

    /// Reads up to [`Leaps::BYTES`] from the state of a row on, as far as leaps go.
    #[inline(always)]
    pub(crate) fn read(&self, row: usize, bytes: &[u8]) -> Read {
        let (mut cuts, mut marks, mut length) = (0, 0, 0);
        let mut row = row * self.columns;
        for &[first, second] in bytes.as_chunks().0.iter().take(Self::BYTES / 2) {
            let place = self.firsts[usize::from(first)] + self.seconds[usize::from(second)];
            let leap = self.table[row + place as usize];
            if leap.is_none() {
                break;
            }
            cuts |= leap.cuts() << length;
            marks |= leap.marks() << length;
            row = leap.row();
            length += 2;
        }
        Read { cuts, marks, length, row: row / self.columns }
    }
}
