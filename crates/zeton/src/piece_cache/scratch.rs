//! What merging has learned, handed from call to call.

use std::sync::Mutex;

use super::batch::LookupBatch;
use super::short_table::{PieceCache, hash};
use crate::merge::{BpeModel, MergeBuffers, PaddedIds, RETAINED_PARTS, merge_non_token};
use crate::vocab::Id;
use crate::vocab::short_key::Key;

/// Buffers of merging, and the piece cache.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) buffers: MergeBuffers,
    pub(super) learned: PieceCache,
    pub(super) chunk: Option<Box<LookupBatch>>,
}

impl Scratch {
    /// Appends the ids of one piece, from the cache if it was merged before.
    #[inline]
    pub fn merge(&mut self, model: &BpeModel, piece: &[u8], ids: &mut Vec<Id>) {
        match model.vocab().find(piece) {
            Some(id) => ids.push(id),
            None => self.merge_non_token(model, piece, ids),
        }
    }

    /// Appends the ids of a piece that is no token, from the cache if it was merged before.
    pub(crate) fn merge_non_token(&mut self, model: &BpeModel, piece: &[u8], ids: &mut Vec<Id>) {
        if piece.is_empty() || self.learned.get(piece, ids) {
            return;
        }
        let first = ids.len();
        merge_non_token(model, piece, &mut self.buffers, ids);
        let key = Key::from_piece(piece, 0, piece.len());
        self.learned.put(piece, key, hash(piece), PaddedIds::from(&ids[first..]));
    }

    /// Gives back memory beyond the needs of most texts.
    fn trim(&mut self) {
        self.buffers.trim();
        if let Some(chunk) = &mut self.chunk {
            chunk.trim(RETAINED_PARTS);
        }
    }
}

/// Scratches that are kept at most, of 26 MiB each once they are full.
const KEPT: usize = 8;

/// The scratches that no call uses at the moment. Two tokenizers do not differ by it.
#[derive(Debug, Default)]
pub(crate) struct ScratchPool(Mutex<Vec<Scratch>>);

impl ScratchPool {
    /// Lends a scratch, which is taken only when it is asked for: most short texts need none.
    pub(crate) fn lend(&self) -> ScratchGuard<'_> {
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

/// A scratch that goes back to its pool.
pub(crate) struct ScratchGuard<'p> {
    pool: &'p ScratchPool,
    scratch: Option<Scratch>,
}

impl ScratchGuard<'_> {
    /// Returns the scratch. Nobody waits for a lock: where it is held, also by a thread that a
    /// fork has left behind, a new scratch does.
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
            && kept.len() < KEPT
        {
            scratch.trim();
            kept.push(scratch);
        }
    }
}
