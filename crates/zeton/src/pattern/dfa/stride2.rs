//! A table that advances the DFA by two bytes with one look-up.
//!
//! The row of a look-up is the result of the look-up before it. So a scan is bound by the latency
//! of a load, some eight cycles a byte. With a *stride* of two bytes there are half as many loads
//! in that chain of dependencies. With Kimi's pattern, English was split at 546 instead of 339 MB/s
//! (`docs/notes/splitting.md`, 2026-11-17).
//!
//! The input is a row of classes, one for each byte. The class of a character stands at its first
//! byte, and each further byte of it has the *padding class*, which does nothing. For example, `é `
//! has three bytes: letter, padding, blank. A row of the table is a chain of `no_rescan`, a column
//! is a pair of classes:
//!
//! ```text
//! table[row + first * columns + second] = both bytes' actions and the next row
//! ```
//!
//! Size: 4 bytes × (chains + 1) × classes², rows padded to a multiple of 64 entries. DeepSeek's
//! pattern has 9,984 entries and Kimi's 58,176 (233 KB), of which English touches a small part.

use super::DfaTransition;
use super::no_rescan::{ACCEPT_SLOTS, DfaAction, build_chain_table};

/// An entry of the table: the [actions](DfaAction) of two bytes, and the row of the next chain.
///
/// ```text
/// bit  31        16 15            8 7            0
///      next row / 64 second action   first action
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stride2Entry(u32);

impl Stride2Entry {
    /// The entry before a piece: its next row is the start, with a cut before the first byte.
    pub(crate) const START: Self = Self(0);
    const ROW_BIT: u32 = 16;
    /// Rows begin at multiples of this number of entries, because 16 bits cannot hold an index
    /// below [`ENTRIES_MAX`], but can hold a 64th of it.
    const ROW_UNIT: usize = 64;

    /// Packs the actions of two bytes and the start of the next row into an entry.
    fn new(first: u8, second: u8, row: usize) -> Self {
        let bits = u16::from_le_bytes([first, second]);
        Self(((row / Self::ROW_UNIT) as u32) << Self::ROW_BIT | u32::from(bits))
    }

    /// Returns the actions of the two bytes that the entry reads, in their order.
    #[inline(always)]
    pub(crate) fn actions(self) -> [u8; 2] {
        (self.0 as u16).to_le_bytes()
    }

    /// Returns the start of the next chain's row in the table; it has no meaning if a byte causes a
    /// rescan.
    #[inline(always)]
    fn row(self) -> usize {
        (self.0 >> Self::ROW_BIT) as usize * Self::ROW_UNIT
    }

    /// Returns which of the two bytes, 0 or 1, is the first that causes a rescan.
    #[inline(always)]
    pub(crate) fn rescan_byte(self) -> Option<usize> {
        let bits = self.rescan_bits();
        (bits != 0).then(|| bits.trailing_zeros() as usize / 8)
    }

    /// Returns the bits of `RESCAN` in both actions, so that several entries can be tested by one
    /// OR.
    #[inline(always)]
    pub(crate) fn rescan_bits(self) -> u32 {
        self.0 & u32::from_le_bytes([DfaAction::RESCAN, DfaAction::RESCAN, 0, 0])
    }
}

/// The table: chains × classes of the first byte × classes of the second.
#[derive(Clone, Debug)]
pub(crate) struct Stride2Table {
    table: Vec<Stride2Entry>,
    /// Number of classes, including the padding class, which is the last.
    columns: usize,
}

/// Maximum number of entries: half a megabyte, more than twice the largest of the known patterns
/// (Kimi's, 58,176 entries).
const ENTRIES_MAX: usize = 1 << 17;

impl Stride2Table {
    /// Builds the table of a DFA with as many accept slots as the size limit admits; `None` if even
    /// the table without slots is too large.
    pub(crate) fn try_from_dfa(table: &[DfaTransition], columns: usize) -> Option<Self> {
        (0..=ACCEPT_SLOTS).rev().find_map(|slots| Self::try_with_slots(table, columns, slots))
    }

    /// Builds the table with this number of accept slots, in new memory. Returns `None` if it is
    /// too large; then fewer slots are tried.
    pub(crate) fn try_with_slots(
        table: &[DfaTransition],
        columns: usize,
        slots: usize,
    ) -> Option<Self> {
        let stride = (columns * columns).next_multiple_of(Stride2Entry::ROW_UNIT);
        // The end of the text has no byte, so that its column is free for the padding class.
        let padding = columns - 1;
        let chains_max = (ENTRIES_MAX / stride).checked_sub(1)?;
        let chains = build_chain_table(table, padding, slots, chains_max)?;
        let step = |chain: usize, class: usize| match class {
            _ if class == padding => (0, chain),
            _ => chains[chain * padding + class],
        };
        let count = chains.len() / padding;
        let mut table = vec![Stride2Entry::START; (count + 1) * stride];
        for (row, entries) in table.chunks_mut(stride).enumerate() {
            // Row 0 is the start with a cut before the first byte; row `chain + 1` is a chain.
            let (chain, cut) = if row == 0 { (0, DfaAction::CUT) } else { (row - 1, 0) };
            for (pair, entry) in entries[..columns * columns].iter_mut().enumerate() {
                let (first, between) = step(chain, pair / columns);
                let (second, after) = step(between, pair % columns);
                *entry = Stride2Entry::new(first | cut, second, (after + 1) * stride);
            }
        }
        Some(Self { table, columns })
    }

    /// Returns the class that is read as padding behind the text. It is the largest class of the
    /// table.
    pub(crate) fn padding_class(&self) -> u8 {
        (self.columns - 1) as u8
    }

    /// Returns the column of a pair of classes, for [`Stride2Table::next_unchecked`].
    #[inline(always)]
    pub(crate) fn pair_of(&self, first: u8, second: u8) -> u16 {
        u16::from(first) * self.columns as u16 + u16::from(second)
    }

    /// Returns the entry of a pair of classes behind the entry `last`.
    ///
    /// # Safety
    ///
    /// `last` is [`Stride2Entry::START`] or an entry of this table, and `pair` is the result of
    /// [`Stride2Table::pair_of`] on two classes of this table.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) unsafe fn next_unchecked(&self, last: Stride2Entry, pair: u16) -> Stride2Entry {
        let place = last.row() + usize::from(pair);
        debug_assert!(place < self.table.len());
        // SAFETY: the caller guarantees that `last` is `START` or an entry of this table. Each of
        // them has the start of a row, which `try_with_slots` stored in it. The caller also
        // guarantees that `pair` is below `columns²`, and a row has an entry for each pair of
        // classes.
        unsafe { *self.table.get_unchecked(place) }
    }
}
