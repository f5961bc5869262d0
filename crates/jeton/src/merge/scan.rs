//! Merging parts by scanning: find the lowest rank, join all its pairs in one pass, look again.

use super::pairs::Pairs;
use crate::vocab::Id;

/// Merges `parts` in place, in at most so many passes; returns whether nothing is left to merge.
pub(super) fn merge(
    pairs: &Pairs,
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
        match ranks.iter().copied().min() {
            None | Some(Id::MAX) => return true,
            Some(lowest) => pass(pairs, parts, ranks, lowest),
        }
    }
    false
}

/// Joins the pairs of one rank from left to right.
///
/// A pair that comes about by a join has another rank than the join itself. If it is lower, that
/// pair is next: the pass ends there, and the scan starts over.
fn pass(pairs: &Pairs, parts: &mut Vec<Id>, ranks: &mut Vec<Id>, lowest: Id) {
    let count = parts.len();
    let mut read = ranks.iter().position(|&rank| rank == lowest).unwrap_or(count);
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
