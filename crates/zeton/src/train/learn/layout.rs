//! Where each piece will lie: the more frequent, the further in front.

use std::collections::BTreeMap;

use super::tokens::Tokens;
use super::{Goal, Pieces};
use crate::sys::error::Error;
use crate::sys::progress::Pace;

/// What a first look at all pieces finds.
pub(super) struct Layout {
    /// The cells that pieces of each count take, and after [`Layout::steps`] where the next one goes.
    by_count: ByCount,
    /// The cells of all pieces, and one in front.
    pub(super) cells: u64,
    /// How often pairs of bytes occur, about.
    pub(super) occurrences: u64,
    /// How many pieces are learned from.
    pub(super) pieces: usize,
    /// How many are too rare, and how often they occur.
    pub(super) left_out: (usize, u64),
    piece_count_min: u64,
}

impl Layout {
    /// Looks at all pieces.
    ///
    /// # Errors
    ///
    /// When 32 bits do not number the cells, or 64 bits not the occurrences; or somebody asked to stop.
    pub(super) fn of(
        pieces: &impl Pieces,
        goal: &Goal<'_>,
        tokens: &Tokens<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<Self, Error> {
        let mut layout = Self {
            by_count: ByCount { rare: vec![0; COUNT_RARE_MAX], common: BTreeMap::new() },
            cells: 1,
            occurrences: 0,
            pieces: 0,
            left_out: (0, 0),
            piece_count_min: goal.piece_count_min.max(1),
        };
        pieces.each(&mut |piece, count| {
            pace.work(PIECE_WORK + piece.len())?;
            if count < layout.piece_count_min {
                layout.left_out.0 += 1;
                layout.left_out.1 = layout.left_out.1.saturating_add(count);
                return Ok(());
            }
            layout.pieces += 1;
            if tokens.holds(piece) {
                return Ok(());
            }
            let cells = piece.len() as u64 + 1;
            *layout.by_count.of(count) += cells;
            layout.cells += cells;
            layout.occurrences = (piece.len() as u64)
                .checked_mul(count)
                .and_then(|more| layout.occurrences.checked_add(more))
                .ok_or(Error::CountsTooLarge)?;
            Ok(())
        })?;
        match layout.cells <= CELLS_MAX {
            true => Ok(layout),
            false => Err(Error::CorpusTooLarge),
        }
    }

    /// Gives every count its place; returns where the pieces of each count begin, by falling count.
    pub(super) fn steps(&mut self) -> Vec<(u32, u64)> {
        let (mut next, mut steps) = (1, Vec::new());
        for (count, place) in self.by_count.falling() {
            steps.push((next as u32, count));
            next += std::mem::replace(place, next);
        }
        steps
    }

    /// Returns where a piece goes, if it is learned from.
    pub(super) fn place(&mut self, piece: &[u8], count: u64, tokens: &Tokens<'_>) -> Option<usize> {
        if count < self.piece_count_min || tokens.holds(piece) {
            return None;
        }
        let place = self.by_count.of(count);
        let start = *place;
        *place += piece.len() as u64 + 1;
        Some(start as usize)
    }
}

/// Places have 32 bits; some numbers are left for what no place is.
const CELLS_MAX: u64 = u32::MAX as u64 - 16;

/// The work of taking a piece, besides its bytes.
pub(super) const PIECE_WORK: usize = 16;

/// A number for each count: nearly all counts are small.
struct ByCount {
    rare: Vec<u64>,
    common: BTreeMap<u64, u64>,
}

const COUNT_RARE_MAX: usize = if cfg!(test) { 3 } else { 1 << 16 };

impl ByCount {
    fn of(&mut self, count: u64) -> &mut u64 {
        match count < COUNT_RARE_MAX as u64 {
            true => &mut self.rare[count as usize],
            false => self.common.entry(count).or_default(),
        }
    }

    /// Returns the counts that have a number, falling.
    fn falling(&mut self) -> impl Iterator<Item = (u64, &mut u64)> {
        let common = self.common.iter_mut().rev().map(|(&count, number)| (count, number));
        let rare = self.rare.iter_mut().enumerate().rev();
        let rare = rare.map(|(count, number)| (count as u64, number));
        common.chain(rare).filter(|(_, number)| **number > 0)
    }
}
