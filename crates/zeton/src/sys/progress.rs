//! Progress of long work, and its cancellation from another thread.
//!
//! Counting and learning run on a worker thread. A watcher (in Python: the main thread, which draws
//! the progress bar and hears Ctrl-C) shares a [`Progress`] with it:
//!
//! ```text
//! worker   advance(4096) ──▶ Progress { done, stopped, latest token, validation }
//! watcher  done(), latest_token(), validation() ◀──┘     stop() sets `stopped`
//! ```
//!
//! After `stop()`, the worker's next `advance` returns [`Error::Stopped`], which ends the work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sys::error::Error;
use crate::sys::interrupt::StopGroup;

/// The state that a worker and its watcher share.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    stopped: Arc<AtomicBool>,
    latest_token: Mutex<Vec<u8>>,
    validation: Mutex<Vec<(usize, u64)>>,
}

impl Progress {
    /// Returns the amount of work done: bytes when counting, merges when learning. Another thread
    /// may read it while the worker goes on.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Asks the worker to stop. It notices within milliseconds and returns [`Error::Stopped`].
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Runs `work` on this thread, a worker, so that [`Progress::stop`] also ends steps that only
    /// poll for [interruption](super::interrupt), such as one match of the backtracking engine.
    pub fn run_as_worker<R>(&self, work: impl FnOnce() -> R) -> R {
        StopGroup::with_flag(self.stopped.clone()).run(true, work)
    }

    /// Adds to the amount of work done.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] after a call of [`Progress::stop`].
    pub fn advance(&self, more: u64) -> Result<(), Error> {
        self.done.fetch_add(more, Relaxed);
        match self.stopped.load(Relaxed) {
            true => Err(Error::Stopped),
            false => Ok(()),
        }
    }

    /// Copies the bytes of the token that was learned last, for the progress bar. The learner calls
    /// it; a short lock guards them.
    pub fn set_latest_token(&self, token: &[u8]) {
        let mut latest = self.lock_latest_token();
        latest.clear();
        latest.extend_from_slice(token);
    }

    /// Returns a copy of the bytes of the token that was learned last; empty before the first.
    #[must_use]
    pub fn latest_token(&self) -> Vec<u8> {
        self.lock_latest_token().clone()
    }

    /// Records that the validation corpus has `tokens` tokens after `merges` merges. The learner
    /// calls it after each measurement.
    pub fn record_validation(&self, merges: usize, tokens: u64) {
        self.lock_validation().push((merges, tokens));
    }

    /// Returns a copy of all recorded pairs (merges, tokens of the validation corpus), by rising
    /// merges.
    #[must_use]
    pub fn validation(&self) -> Vec<(usize, u64)> {
        self.lock_validation().clone()
    }

    fn lock_validation(&self) -> MutexGuard<'_, Vec<(usize, u64)>> {
        self.validation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_latest_token(&self) -> MutexGuard<'_, Vec<u8>> {
        self.latest_token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cheap check for cancellation inside a hot loop.
///
/// Reading the shared [`Progress`] at every step would cost about as much as the step. So the loop
/// counts its steps here and reads it once per 16,384 of them.
#[derive(Debug)]
pub(crate) struct StopCheck<'p> {
    progress: &'p Progress,
    steps: usize,
}

/// Steps between two reads of the shared state. The slowest steps take some hundred nanoseconds, so
/// a cancellation is noticed after a few milliseconds at most.
const STEPS_PER_CHECK: usize = 1 << 14;

impl<'p> StopCheck<'p> {
    pub(crate) fn new(progress: &'p Progress) -> Self {
        Self { progress, steps: 0 }
    }

    /// Counts `steps` steps of a few nanoseconds each, and checks for cancellation when due.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] after a call of [`Progress::stop`].
    #[inline(always)]
    pub(crate) fn count_steps(&mut self, steps: usize) -> Result<(), Error> {
        self.steps += steps;
        match self.steps < STEPS_PER_CHECK {
            true => Ok(()),
            false => self.check_now(),
        }
    }

    #[cold]
    fn check_now(&mut self) -> Result<(), Error> {
        self.steps = 0;
        self.progress.advance(0)
    }
}
