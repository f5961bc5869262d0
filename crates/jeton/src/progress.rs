//! How far a long piece of work is, and a way to stop it, seen from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::error::Error;

/// Shared between a worker, which advances it, and a watcher, which reads it or asks to stop.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    stopped: AtomicBool,
}

impl Progress {
    /// Returns how much is done: bytes when counting, merges when learning.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Asks the worker to stop; it does within milliseconds.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Adds to what is done.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    pub fn advance(&self, more: u64) -> Result<(), Error> {
        self.done.fetch_add(more, Relaxed);
        match self.stopped.load(Relaxed) {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }
}
