//! Merging parts by scanning: find the lowest rank, join all its pairs in one pass, look again.

use super::pair_table::PairTable;
use crate::vocab::Id;

/// Merges `parts` in place, in at most so many passes; returns whether nothing is left to merge.
pub(super) fn merge(
    pairs: &PairTable,
    parts: &mut Vec<Id>,
    ranks: &mut Vec<Id>,
    passes_max: usize,
) -> bool {
    // ranks[i] is the rank of parts[i] joined with parts[i + 1]; the last has none.
    ranks.clear();
    ranks.extend(parts.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
    ranks.push(Id::MAX);
    ranks.truncate(parts.len());
    for _ in 0..passes_max {
        match lowest(ranks) {
            (_, Id::MAX) => return true,
            (at, rank) => pass(pairs, parts, ranks, at, rank),
        }
    }
    false
}

/// The leftmost of the lowest ranks, and where it is.
fn lowest(ranks: &[Id]) -> (usize, Id) {
    let (mut best_at, mut best) = (0, Id::MAX);
    for (at, &rank) in ranks.iter().enumerate() {
        if rank < best {
            (best_at, best) = (at, rank);
        }
    }
    (best_at, best)
}

/// Joins the pairs of one rank, the first of which is at `read`, from left to right.
///
/// A pair that comes about by a join has another rank than the join itself. If it is lower, that
/// pair is next: the pass ends there, and the scan starts over.
fn pass(pairs: &PairTable, parts: &mut Vec<Id>, ranks: &mut Vec<Id>, mut read: usize, lowest: Id) {
    let count = parts.len();
    let (mut written, mut lower) = (read, false);
    while read < count {
        if ranks[read] != lowest || lower {
            (parts[written], ranks[written]) = (parts[read], ranks[read]);
            (read, written) = (read + 1, written + 1);
            continue;
        }
        read += 2;
        parts[written] = lowest;
        ranks[written] = match parts[read.min(count)..].first() {
            Some(&after) => pairs.rank(lowest, after),
            None => Id::MAX,
        };
        lower = ranks[written] < lowest;
        if written > 0 {
            ranks[written - 1] = pairs.rank(parts[written - 1], lowest);
            lower |= ranks[written - 1] < lowest;
        }
        written += 1;
    }
    parts.truncate(written);
    ranks.truncate(written);
}
