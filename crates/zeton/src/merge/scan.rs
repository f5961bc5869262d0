//! Merges a short piece by scanning: find the lowest rank, merge all its pairs in one pass, repeat.
//!
//! For example, cl100k merges ` zeton` as follows:
//!
//! ```text
//!  parts                  ranks of the pairs             lowest
//!  220 89 68 83 78 77     1167 3059   295   998   263    263, `on`
//!  220 89 68 83 263       1167 3059   295   783          295, `et`
//!  220 89 295 263         1167 61828 35794               1167, ` z`
//!  1167 295 263           none 35794                     35794, `eton`
//!  1167 35794             none                           done
//! ```
//!
//! Each merge costs two lookups in the pair table, for the two pairs it creates. Finding the lowest
//! rank is a loop over a flat array, which is faster than a heap for the few parts of a typical
//! piece.

use super::pair_table::PairTable;
use crate::vocab::Id;

/// Merges `parts` in place, in at most `passes_max` passes. Returns whether merging is complete.
///
/// `ranks` is a scratch buffer. The time grows with the number of parts times the number of passes.
pub(super) fn merge(
    pairs: &PairTable,
    parts: &mut Vec<Id>,
    ranks: &mut Vec<Id>,
    passes_max: usize,
) -> bool {
    // `ranks[i]` is the rank of the pair `(parts[i], parts[i + 1])`. The last part has no pair.
    ranks.clear();
    ranks.extend(parts.windows(2).map(|pair| pairs.rank(pair[0], pair[1])));
    ranks.push(Id::MAX);
    ranks.truncate(parts.len());
    for _ in 0..passes_max {
        match find_lowest(ranks) {
            (_, Id::MAX) => return true,
            (at, rank) => merge_rank(pairs, parts, ranks, at, rank),
        }
    }
    false
}

/// Returns the position of the lowest rank in `ranks`, the leftmost of equal ones, and the rank. It
/// is `Id::MAX` if no pair merges.
fn find_lowest(ranks: &[Id]) -> (usize, Id) {
    let (mut best_at, mut best) = (0, Id::MAX);
    for (at, &rank) in ranks.iter().enumerate() {
        if rank < best {
            (best_at, best) = (at, rank);
        }
    }
    (best_at, best)
}

/// Merges all pairs of rank `lowest` from left to right; `read` is the position of the first.
///
/// Each merge creates two new pairs. If one of them has a rank below `lowest`, it has to merge
/// next. The pass then copies the remaining parts unmerged, and the caller scans again.
fn merge_rank(
    pairs: &PairTable,
    parts: &mut Vec<Id>,
    ranks: &mut Vec<Id>,
    mut read: usize,
    lowest: Id,
) {
    let count = parts.len();
    let (mut written, mut found_lower) = (read, false);
    while read < count {
        if ranks[read] != lowest || found_lower {
            (parts[written], ranks[written]) = (parts[read], ranks[read]);
            (read, written) = (read + 1, written + 1);
            continue;
        }
        read += 2;
        parts[written] = lowest;
        ranks[written] = match parts[read.min(count)..].first() {
            Some(&next) => pairs.rank(lowest, next),
            None => Id::MAX,
        };
        found_lower = ranks[written] < lowest;
        if written > 0 {
            ranks[written - 1] = pairs.rank(parts[written - 1], lowest);
            found_lower |= ranks[written - 1] < lowest;
        }
        written += 1;
    }
    parts.truncate(written);
    ranks.truncate(written);
}
