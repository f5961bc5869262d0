//! A slice of ids with readable padding behind it, of which only the first `count` are valid.
//!
//! The number of ids of a piece is small and unpredictable. A loop over it mispredicts its exit,
//! and `memcpy` by length took 8 % of the time of warm multilingual text. So up to
//! [`COPY_WIDTH`] ids are copied by one move of fixed size, and the length of the target is set
//! afterwards:
//!
//! ```text
//! source   41  7  9 | ?  ?  ?  ?  …        count 3, then any ids: the padding
//!          +------- 16 ids copied ------+
//! target   …  41  7  9 | ?  ?  ?  ?  …     length + 3: the next copy overwrites the rest
//! ```

use crate::vocab::Id;

/// Ids that one move of fixed size copies: 64 bytes, one register of AVX-512.
///
/// Together with a smaller table of pairs it took cold multilingual text from 69 to 75 MB/s,
/// warm text from 178 to 199. One way of copying for all callers then saved a tenth of the branch
/// mispredictions of cold text: 375 → 335 a kB. Moves of 16 ids up to 256 in place of `memcpy` for
/// longer slices saved nothing.
pub(crate) const COPY_WIDTH: usize = 16;

/// Some ids and the padding behind them, which copies may read. For example, `[41, 7, 9, 0, 0]`
/// with count 3 holds the ids 41, 7 and 9.
///
/// Padding is not required: a slice with fewer than [`COPY_WIDTH`] ids is copied by its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaddedIds<'r> {
    /// The valid ids and their padding.
    padded: &'r [Id],
    count: usize,
}

impl<'r> From<&'r [Id]> for PaddedIds<'r> {
    fn from(ids: &'r [Id]) -> Self {
        Self { padded: ids, count: ids.len() }
    }
}

impl<'r> PaddedIds<'r> {
    /// Borrows a slice whose first `count` ids are valid; the rest of it is padding, which copies
    /// may read.
    #[inline(always)]
    pub(crate) fn new(padded: &'r [Id], count: usize) -> Self {
        debug_assert!(count <= padded.len());
        Self { padded, count }
    }

    /// Returns the number of valid ids.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.count
    }

    /// Returns the valid ids.
    #[inline(always)]
    pub(crate) fn ids(self) -> &'r [Id] {
        &self.padded[..self.count]
    }

    /// Returns the first `N` ids, valid or padding, and zeros where the slice is shorter.
    #[inline(always)]
    pub(crate) fn first_padded<const N: usize>(self) -> [Id; N] {
        match self.padded.first_chunk() {
            Some(first) => *first,
            None => std::array::from_fn(|at| self.padded.get(at).copied().unwrap_or_default()),
        }
    }

    /// Appends the valid ids to a list. Up to [`COPY_WIDTH`] ids are one copy of fixed size, which
    /// may reserve room for the padding too.
    #[inline(always)]
    pub(crate) fn append_to(self, to: &mut Vec<Id>) {
        match self.padded.first_chunk::<COPY_WIDTH>() {
            Some(chunk) if self.count <= COPY_WIDTH => {
                let end = to.len() + self.count;
                to.extend_from_slice(chunk);
                to.truncate(end);
            }
            _ => to.extend_from_slice(self.ids()),
        }
    }

    /// Writes the valid ids to the start of `to`, which has room for them.
    ///
    /// The first [`COPY_WIDTH`] values of `to` may be overwritten, valid or not.
    #[inline(always)]
    pub(crate) fn write_to(self, to: &mut [Id]) {
        match (self.padded.first_chunk::<COPY_WIDTH>(), to.first_chunk_mut::<COPY_WIDTH>()) {
            (Some(chunk), Some(to)) if self.count <= COPY_WIDTH => *to = *chunk,
            _ => to[..self.count].copy_from_slice(self.ids()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_never_part_of_a_copy() {
        let all: Vec<Id> = (1..=600).collect();
        for count in (0..70).chain([255, 256, 257, 599, 600]) {
            for length in [count, count + 1, count + 15, count + 16, 600] {
                let padded = PaddedIds::new(&all[..length.clamp(count, 600)], count);
                assert_eq!((padded.len(), padded.ids()), (count, &all[..count]));
                let mut ids = vec![7, 8];
                padded.append_to(&mut ids);
                assert_eq!(ids, [&[7, 8], &all[..count]].concat());
                for room in [3, 40] {
                    let mut target = vec![0; count + room];
                    padded.write_to(&mut target);
                    assert_eq!(target[..count], all[..count]);
                    assert!(target.iter().skip(count.max(COPY_WIDTH)).all(|&id| id == 0));
                }
                let first: [Id; 3] = padded.first_padded();
                assert_eq!(first[..count.min(3)], all[..count.min(3)]);
            }
        }
    }
}
