//! Ids leave: they are kept, or only counted.

use crate::merge::PaddedIds;
use crate::vocab::Id;

/// Who takes the ids of a text: they are kept, or only counted.
pub(crate) trait IdSink {
    fn take(&mut self, ids: PaddedIds);
    fn take_one(&mut self, id: Id);
    /// Takes what `append` appends.
    fn take_new(&mut self, append: impl FnOnce(&mut Vec<Id>));
    /// Makes room for what a text of so many bytes most likely has.
    fn with_room(bytes: usize) -> Self;
}

impl IdSink for Vec<Id> {
    #[inline(always)]
    fn take(&mut self, ids: PaddedIds) {
        ids.append_to(self);
    }

    #[inline(always)]
    fn take_one(&mut self, id: Id) {
        self.push(id);
    }

    #[inline(always)]
    fn take_new(&mut self, append: impl FnOnce(&mut Vec<Id>)) {
        append(self);
    }

    fn with_room(bytes: usize) -> Self {
        Self::with_capacity(bytes / 3)
    }
}

impl IdSink for usize {
    #[inline(always)]
    fn take(&mut self, ids: PaddedIds) {
        *self += ids.len();
    }

    #[inline(always)]
    fn take_one(&mut self, _: Id) {
        *self += 1;
    }

    fn take_new(&mut self, append: impl FnOnce(&mut Vec<Id>)) {
        let mut ids = Vec::new();
        append(&mut ids);
        *self += ids.len();
    }

    fn with_room(_: usize) -> Self {
        0
    }
}
