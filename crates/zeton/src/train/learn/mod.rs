//! Counts become merges: join the most frequent pair, over and over.
//!
//! ```text
//! pieces --layout--> cells --listing--> lists --learner--> merges
//! ```
//!
//! Pieces lie in cells, one a byte, and every pair that is frequent enough has a list of the places
//! where it occurs. So a merge costs as much as the pair has places, and no more.

mod born;
mod cells;
mod floor;
mod growing;
mod layout;
mod learner;
mod listed;
mod listing;
mod lists;
mod pair;
mod steps;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt::Debug;

use crate::merge::BpeModel;
use crate::sys::error::Error;
use crate::sys::progress::{Pace, Progress};
use crate::vocab::Id;
use cells::{Cell, Cells};
use floor::Floor;
use growing::Growing;
use layout::Layout;
use learner::Learner;
use tokens::Tokens;

/// Pieces and how often each occurs: handed over in an order that is the same every time.
pub trait Pieces: Debug {
    /// Calls `take` with every distinct piece and its count.
    ///
    /// # Errors
    ///
    /// When `take` fails, or the pieces cannot be read.
    #[allow(clippy::type_complexity, reason = "a name for it would tell less")]
    fn each(&self, take: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>) -> Result<(), Error>;
}

/// What is to be learned, and within which bounds.
#[derive(Clone, Copy, Debug)]
pub struct Goal<'v> {
    /// No more merges are learned.
    pub merges_max: usize,
    /// Pieces rarer than that are left out (1 = none).
    pub piece_count_min: u64,
    /// Longer tokens are not made.
    pub token_bytes_max: usize,
    /// Bytes that the learner may take, about; `None` for no bound. It takes what the pieces need.
    pub memory_max: Option<usize>,
    /// A vocabulary to go on from, and the first id of a new token, which is higher than all of its.
    ///
    /// Pieces are first merged by it. No token is made that is there already.
    pub initial: Option<(&'v BpeModel, Id)>,
    /// What is measured as the vocabulary grows; [`Progress::measured`] tells it.
    pub held_out: Option<HeldOut<'v>>,
}

/// Pieces that are not learned from.
#[derive(Clone, Copy, Debug)]
pub struct HeldOut<'p> {
    /// Which they are.
    pub pieces: &'p (dyn Pieces + Sync),
    /// After how many merges their tokens are counted, rising. They are counted after the last, too.
    pub merges: &'p [usize],
}

impl Goal<'_> {
    /// Makes the plain goal: so many merges, without any other bound.
    #[must_use]
    pub fn merges(merges_max: usize) -> Self {
        Self {
            merges_max,
            piece_count_min: 1,
            token_bytes_max: usize::MAX,
            memory_max: None,
            initial: None,
            held_out: None,
        }
    }
}

/// Two ids that become one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Merge {
    /// The id to the left.
    pub left: Id,
    /// The id to the right.
    pub right: Id,
    /// How often they were neighbours when they were joined.
    pub count: u64,
}

/// What was learned.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Learned {
    /// The merges, in the order they were learned: the first makes the first new id.
    pub merges: Vec<Merge>,
    /// Merges that were chosen among several pairs of the same count, by the rule.
    pub ties: usize,
    /// Distinct pieces that were learned from.
    pub pieces: usize,
    /// Distinct pieces that were too rare, and how often they occur in all.
    pub left_out: (usize, u64),
}

impl Learned {
    /// Returns the pairs of ids alone, as [`crate::Vocab::try_from_merges`] takes them.
    #[must_use]
    pub fn pairs(&self) -> Vec<(Id, Id)> {
        self.merges.iter().map(|merge| (merge.left, merge.right)).collect()
    }
}

/// Learns merges; the first makes id 256, unless there is a vocabulary to go on from.
///
/// The pair with the highest count goes first; of equal counts, the smallest pair of ids. There are
/// fewer merges than asked for when no pair is left.
///
/// # Errors
///
/// When there are too many pieces or tokens, their counts are too high, or somebody asked to stop.
pub fn learn(pieces: &impl Pieces, goal: &Goal<'_>, progress: &Progress) -> Result<Learned, Error> {
    progress.advance(0)?;
    let tokens = Tokens::new(goal)?;
    let layout = Layout::of(pieces, goal, &tokens, &mut Pace::new(progress))?;
    // A merge takes a token away at least once.
    let merges_max = goal.merges_max.min(layout.cells as usize);
    let floor = Floor::new(layout.occurrences, tokens.len(), merges_max);
    match tokens.len() + merges_max <= usize::from(u16::MAX) + 1 {
        true => learn_in::<u16>(pieces, layout, tokens, floor, goal, progress),
        false => learn_in::<u32>(pieces, layout, tokens, floor, goal, progress),
    }
}

/// Learns in cells of a width that all tokens but the last fit.
fn learn_in<C: Cell>(
    pieces: &impl Pieces,
    layout: Layout,
    tokens: Tokens<'_>,
    floor: Floor,
    goal: &Goal<'_>,
    progress: &Progress,
) -> Result<Learned, Error> {
    let (found, left_out) = (layout.pieces, layout.left_out);
    let cells: Cells<C> = Cells::of(pieces, layout, &tokens, &mut Pace::new(progress))?;
    let mut measure = match &goal.held_out {
        None => None,
        Some(held_out) => {
            let growing = Growing::of(held_out.pieces, &tokens, &mut Pace::new(progress))?;
            Some((growing, held_out.merges))
        }
    };
    let growing_bytes = measure.as_ref().map_or(0, |(growing, _)| growing.bytes());
    let tokens_bytes = (tokens.len() + floor.merges_max()) * TOKEN_BYTES;
    let rest = cells.bytes() + growing_bytes + REST_BYTES + tokens_bytes;
    let room_min = ROOM_MIN.max(cells.bytes() / ROOM_SHARE);
    let room = goal.memory_max.map_or(ROOM_MAX, |memory| memory.saturating_sub(rest).max(room_min));
    let learner = Learner::new(cells, tokens, floor, room.min(ROOM_MAX), progress)?;
    Ok(Learned { pieces: found, left_out, ..learner.learn(floor.merges_max(), measure.as_mut())? })
}

/// Lists take no more at any rate: 32 bits number their places, and as many as one join adds.
const ROOM_MAX: usize = (u32::MAX / 2) as usize * size_of::<u32>();

/// What lists get at least, however large the cells are: so many bytes, or a share of the cells'.
const ROOM_MIN: usize = 1 << 22;
const ROOM_SHARE: usize = 8;

/// Bytes of what is neither cells nor lists, and of each token.
const REST_BYTES: usize = 1 << 20;
const TOKEN_BYTES: usize = 48;

/// Fills a vector up to a length, with questions whether to stop.
fn fill<T: Clone>(
    values: &mut Vec<T>,
    len: usize,
    value: T,
    pace: &mut Pace<'_>,
) -> Result<(), Error> {
    while values.len() < len {
        values.resize(len.min(values.len() + FILLED_AT_ONCE), value.clone());
        pace.work(FILLED_AT_ONCE)?;
    }
    Ok(())
}

/// Values that are filled without a question whether to stop.
const FILLED_AT_ONCE: usize = 1 << 20;
