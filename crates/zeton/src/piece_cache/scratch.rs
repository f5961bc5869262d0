//! The memory that encoding reuses: a piece cache with its buffers, and a pool that keeps both.
//!
//! Each call of a tokenizer takes a [`Scratch`] from the pool and returns it at the end. So the
//! cache is warm for the next call. For example, the second encoding of a text finds all its
//! pieces. A thread owns its scratch while it encodes, so look-ups need no lock.

use std::sync::Mutex;

use super::batch::LookupBatch;
use super::policy::SCRATCHES_KEPT;
use super::{PieceCache, hash_piece};
use crate::merge::{BpeModel, MergeBuffers, PaddedIds, RETAINED_PARTS, merge_non_token};
use crate::vocab::Id;
use crate::vocab::short_key::Key;

/// A piece cache with the buffers of merging and of batches. A new one allocates next to nothing.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) buffers: MergeBuffers,
    pub(super) cache: PieceCache,
    /// The buffers of a batch, while no encoder uses them.
    pub(super) batch: Option<Box<LookupBatch>>,
}

impl Scratch {
    /// Appends the ids of one piece: the id of a token, cached ids, or the ids that merging finds.
    #[inline]
    pub fn merge(&mut self, model: &BpeModel, piece: &[u8], ids: &mut Vec<Id>) {
        match model.vocab().find(piece) {
            Some(id) => ids.push(id),
            None => self.merge_non_token(model, piece, ids),
        }
    }

    /// Appends the ids of a piece that is no token, and caches them. Texts that are too short for a
    /// batch take this way.
    pub(crate) fn merge_non_token(&mut self, model: &BpeModel, piece: &[u8], ids: &mut Vec<Id>) {
        if piece.is_empty() || self.cache.append_if_cached(piece, ids) {
            return;
        }
        let first = ids.len();
        merge_non_token(model, piece, &mut self.buffers, ids);
        let key = Key::from_piece(piece, 0, piece.len());
        self.cache.insert(piece, key, hash_piece(piece), PaddedIds::from(&ids[first..]));
    }

    /// Frees buffers that are larger than most texts need. The cache is bounded and stays.
    fn trim(&mut self) {
        self.buffers.trim();
        if let Some(batch) = &mut self.batch {
            batch.trim(RETAINED_PARTS);
        }
    }
}

/// The scratches that no call uses at the moment, [`SCRATCHES_KEPT`] at most.
///
/// A pool never affects results: all pools are equal, and a clone is empty.
#[derive(Debug, Default)]
pub(crate) struct ScratchPool(Mutex<Vec<Scratch>>);

impl ScratchPool {
    /// Returns a guard that takes a scratch at its first use, because most short texts need none.
    pub(crate) fn acquire(&self) -> ScratchGuard<'_> {
        ScratchGuard { pool: self, scratch: None }
    }
}

impl Clone for ScratchPool {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for ScratchPool {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ScratchPool {}

/// A scratch that returns to its pool when the guard is dropped.
pub(crate) struct ScratchGuard<'p> {
    pool: &'p ScratchPool,
    scratch: Option<Scratch>,
}

impl ScratchGuard<'_> {
    /// Returns the scratch, at the first call from the pool.
    ///
    /// It never blocks. If the lock is taken, perhaps by a thread that a fork did not copy, a new
    /// scratch is used instead.
    pub(crate) fn get(&mut self) -> &mut Scratch {
        self.scratch.get_or_insert_with(|| {
            let kept = self.pool.0.try_lock().ok().and_then(|mut kept| kept.pop());
            kept.unwrap_or_default()
        })
    }
}

impl Drop for ScratchGuard<'_> {
    fn drop(&mut self) {
        if let Some(mut scratch) = self.scratch.take()
            && let Ok(mut kept) = self.pool.0.try_lock()
            && kept.len() < SCRATCHES_KEPT
        {
            scratch.trim();
            kept.push(scratch);
        }
    }
}
