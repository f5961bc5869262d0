//! How far a long piece of work is, and a way to stop it, seen from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sys::error::Error;

/// Shared between a worker, which advances it, and a watcher, which reads it or asks to stop.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    stopped: AtomicBool,
    latest: Mutex<Vec<u8>>,
    measured: Mutex<Vec<(usize, u64)>>,
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

    /// Shows a token that was learned.
    pub fn show(&self, token: &[u8]) {
        let mut latest = self.held_latest();
        latest.clear();
        latest.extend_from_slice(token);
    }

    /// Returns the token that was shown last: none while there is none.
    #[must_use]
    pub fn latest(&self) -> Vec<u8> {
        self.held_latest().clone()
    }

    /// Tells how many tokens, after so many merges, what is held out has.
    pub fn measure(&self, merges: usize, tokens: u64) {
        self.held_measured().push((merges, tokens));
    }

    /// Returns what was measured so far: numbers of merges, rising, and of tokens.
    #[must_use]
    pub fn measured(&self) -> Vec<(usize, u64)> {
        self.held_measured().clone()
    }

    fn held_measured(&self) -> MutexGuard<'_, Vec<(usize, u64)>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_latest(&self) -> MutexGuard<'_, Vec<u8>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks now and then, as work gets done, whether to stop: every question takes as long as some work.
#[derive(Debug)]
pub(crate) struct Pace<'p> {
    progress: &'p Progress,
    work: usize,
}

/// Steps between two questions; the slowest are some hundred nanoseconds each.
const WORK_AT_ONCE: usize = 1 << 14;

impl<'p> Pace<'p> {
    pub(crate) fn new(progress: &'p Progress) -> Self {
        Self { progress, work: 0 }
    }

    /// Counts steps of work, of some nanoseconds each.
    ///
    /// # Errors
    ///
    /// When somebody asked to stop.
    #[inline(always)]
    pub(crate) fn work(&mut self, steps: usize) -> Result<(), Error> {
        self.work += steps;
        match self.work < WORK_AT_ONCE {
            true => Ok(()),
            false => self.ask(),
        }
    }

    #[cold]
    fn ask(&mut self) -> Result<(), Error> {
        self.work = 0;
        self.progress.advance(0)
    }
}
