//! The receiver of a text's ids: a `Vec<Id>` keeps them, a `usize` counts them.
//!
//! Encoding is generic over the receiver, so that counting runs the code of encoding without a list
//! of ids.

use super::policy::TEXT_BYTES_PER_ID;
use crate::merge::PaddedIds;
use crate::vocab::Id;

/// Receives the ids of a text in their order, and keeps or counts them.
pub(crate) trait IdSink {
    /// Receives the ids of the next pieces of the text; a list appends them, a counter only counts
    /// them.
    fn push_ids(&mut self, ids: PaddedIds);
    /// Receives one id, such as the id of a special between two pieces.
    fn push_id(&mut self, id: Id);
    /// Calls `append` with a list, and receives the ids that it appends. A sink that is a list is
    /// passed itself, so nothing is copied.
    fn append_with(&mut self, append: impl FnOnce(&mut Vec<Id>));
    /// Returns an empty sink with room for the ids of a text of `text_bytes` bytes, as most texts
    /// have.
    fn with_room_for(text_bytes: usize) -> Self;
}

impl IdSink for Vec<Id> {
    #[inline(always)]
    fn push_ids(&mut self, ids: PaddedIds) {
        ids.append_to(self);
    }

    #[inline(always)]
    fn push_id(&mut self, id: Id) {
        self.push(id);
    }

    #[inline(always)]
    fn append_with(&mut self, append: impl FnOnce(&mut Vec<Id>)) {
        append(self);
    }

    fn with_room_for(text_bytes: usize) -> Self {
        Self::with_capacity(text_bytes / TEXT_BYTES_PER_ID)
    }
}

impl IdSink for usize {
    #[inline(always)]
    fn push_ids(&mut self, ids: PaddedIds) {
        *self += ids.len();
    }

    #[inline(always)]
    fn push_id(&mut self, _: Id) {
        *self += 1;
    }

    fn append_with(&mut self, append: impl FnOnce(&mut Vec<Id>)) {
        let mut ids = Vec::new();
        append(&mut ids);
        *self += ids.len();
    }

    fn with_room_for(_: usize) -> Self {
        0
    }
}
