//! Ids that are handed on, with what lies behind them.

use crate::vocab::Id;

/// Ids that are copied at once, whether there are as many or fewer.
pub(crate) const COPY_WIDTH: usize = 16;

/// The first ids of a row that may go on.
///
/// How many they are cannot be foretold, nor, then, could the end of a loop over them. Where there is
/// something behind them, it is copied along, and does not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaddedIds<'r> {
    ids: &'r [Id],
    count: usize,
}

impl<'r> From<&'r [Id]> for PaddedIds<'r> {
    fn from(ids: &'r [Id]) -> Self {
        Self { ids, count: ids.len() }
    }
}

impl<'r> PaddedIds<'r> {
    /// The first `count` of these ids, of which there are no fewer.
    #[inline(always)]
    pub(crate) fn new(ids: &'r [Id], count: usize) -> Self {
        debug_assert!(count <= ids.len());
        Self { ids, count }
    }

    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(crate) fn ids(self) -> &'r [Id] {
        &self.ids[..self.count]
    }

    /// So many of the row, whether they count or not; zeros where it ends.
    #[inline(always)]
    pub(crate) fn first<const N: usize>(self) -> [Id; N] {
        match self.ids.first_chunk() {
            Some(first) => *first,
            None => std::array::from_fn(|at| self.ids.get(at).copied().unwrap_or_default()),
        }
    }

    /// Appends the ids.
    #[inline(always)]
    pub(crate) fn append_to(self, to: &mut Vec<Id>) {
        match self.ids.first_chunk::<COPY_WIDTH>() {
            Some(few) if self.count <= COPY_WIDTH => {
                let end = to.len() + self.count;
                to.extend_from_slice(few);
                to.truncate(end);
            }
            _ => to.extend_from_slice(self.ids()),
        }
    }

    /// Writes the ids to a place that has no fewer; what is behind them there may be overwritten, up to [`COPY_WIDTH`]
    /// values in all.
    #[inline(always)]
    pub(crate) fn write_to(self, to: &mut [Id]) {
        match (self.ids.first_chunk::<COPY_WIDTH>(), to.first_chunk_mut::<COPY_WIDTH>()) {
            (Some(few), Some(to)) if self.count <= COPY_WIDTH => *to = *few,
            _ => to[..self.count].copy_from_slice(self.ids()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_is_not_handed_on() {
        let all: Vec<Id> = (1..=600).collect();
        for count in (0..70).chain([255, 256, 257, 599, 600]) {
            for length in [count, count + 1, count + 15, count + 16, 600] {
                let row = PaddedIds::new(&all[..length.clamp(count, 600)], count);
                assert_eq!((row.len(), row.ids()), (count, &all[..count]));
                let mut ids = vec![7, 8];
                row.append_to(&mut ids);
                assert_eq!(ids, [&[7, 8], &all[..count]].concat());
                for behind in [3, 40] {
                    let mut place = vec![0; count + behind];
                    row.write_to(&mut place);
                    assert_eq!(place[..count], all[..count]);
                    assert!(place.iter().skip(count.max(COPY_WIDTH)).all(|&id| id == 0));
                }
                let first: [Id; 3] = row.first();
                assert_eq!(first[..count.min(3)], all[..count.min(3)]);
            }
        }
    }
}
