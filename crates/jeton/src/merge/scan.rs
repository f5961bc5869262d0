//! Merging a few parts: look at all pairs for the lowest rank, join it, look again.

use super::pairs::Pairs;
use crate::vocab::Id;

/// Merges `parts` in place.
pub(super) fn merge(pairs: &Pairs, parts: &mut Vec<Id>, ranks: &mut Vec<Id>) {
    // ranks[i] is the rank of parts[i] joined with parts[i + 1].
    ranks.clear();
    ranks.extend(parts.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
    while let Some((at, rank)) = lowest(ranks) {
        parts[at] = rank;
        parts.remove(at + 1);
        ranks.remove(at);
        if at > 0 {
            ranks[at - 1] = pairs.rank(parts[at - 1], rank);
        }
        if at < ranks.len() {
            ranks[at] = pairs.rank(rank, parts[at + 1]);
        }
    }
}

/// The leftmost of the lowest ranks, unless no pair merges.
fn lowest(ranks: &[Id]) -> Option<(usize, Id)> {
    let rank = ranks.iter().copied().min().filter(|rank| *rank != Id::MAX)?;
    ranks.iter().position(|&other| other == rank).map(|at| (at, rank))
}
