//! Interruption: a signal, for example Ctrl-C, ends long work.
//!
//! Long work calls [`poll`] now and then. At most once every [`POLL_EVERY`] the poll asks the
//! program's [check](set_check) whether a signal has come; if so, the work ends with
//! [`Error::Stopped`]. For example, a text of 100 MB is encoded in parts of 4 MiB:
//!
//! ```text
//! caller's thread   part ── poll ── part ── poll: a signal ──▶ Error::Stopped
//! worker threads    part ── poll ── part ── poll: the caller was stopped ──▶ Error::Stopped
//! ```
//!
//! Only the caller's thread runs the check, because Python handles signals on its main thread. The
//! workers of one call share a flag with it. Without a check, as in a program of Rust alone, a poll
//! only reads the clock.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::error::Error;

/// The least time between two checks of one thread. Not measured; it is short for a person, and a
/// check takes less than a microsecond.
pub(crate) const POLL_EVERY: Duration = Duration::from_millis(50);

/// The program's check for signals.
static CHECK: OnceLock<fn() -> bool> = OnceLock::new();

thread_local! {
    static CHECKED_AT: Cell<Option<Instant>> = const { Cell::new(None) };
    static GROUP: RefCell<Option<Group>> = const { RefCell::new(None) };
}

/// The threads of one call.
#[derive(Clone)]
struct Group {
    is_stopped: Arc<AtomicBool>,
    is_worker: bool,
}

/// Sets the check that tells whether work shall end, once for the program. Later calls have no
/// effect. The bridge passes Python's check for signals.
pub fn set_check(check: fn() -> bool) {
    let _ = CHECK.set(check);
}

/// Returns an error if a signal shall end the work of this thread.
///
/// It reads the clock, which takes about 25 ns, so a loop calls it every few microseconds at most.
///
/// # Errors
///
/// [`Error::Stopped`].
pub fn poll() -> Result<(), Error> {
    let now = Instant::now();
    let is_due = CHECKED_AT.with(|checked_at| {
        let is_due = checked_at.get().is_none_or(|at| now.duration_since(at) >= POLL_EVERY);
        if is_due {
            checked_at.set(Some(now));
        }
        is_due
    });
    match is_due && is_interrupted() {
        true => Err(Error::Stopped),
        false => Ok(()),
    }
}

/// Asks the flag of the group, and on the caller's thread the check. A signal stops the group.
fn is_interrupted() -> bool {
    let group = GROUP.with(|group| group.borrow().clone());
    let run_check = || CHECK.get().is_some_and(|check| check());
    match group {
        None => run_check(),
        Some(Group { is_stopped, is_worker }) => {
            if !is_worker && !is_stopped.load(Relaxed) && run_check() {
                is_stopped.store(true, Relaxed);
            }
            is_stopped.load(Relaxed)
        }
    }
}

/// The threads of one call, which stop together. The caller's thread makes it before it starts
/// workers.
pub(crate) struct StopGroup(Arc<AtomicBool>);

impl StopGroup {
    /// Makes a group. On a worker thread it is part of that worker's group.
    pub(crate) fn new() -> Self {
        Self(GROUP.with(|group| {
            group.borrow().as_ref().map_or_else(Arc::default, |group| group.is_stopped.clone())
        }))
    }

    /// Makes a group with a flag that another thread sets ([`Progress::stop`]).
    ///
    /// [`Progress::stop`]: super::progress::Progress::stop
    pub(crate) fn with_flag(is_stopped: Arc<AtomicBool>) -> Self {
        Self(is_stopped)
    }

    /// Runs `work` on this thread as a member of the group: a worker, or the thread that started
    /// the workers.
    pub(crate) fn run<R>(&self, is_worker: bool, work: impl FnOnce() -> R) -> R {
        let _restored = OuterGroup(GROUP.with(|group| {
            let is_worker =
                is_worker || group.borrow().as_ref().is_some_and(|outer| outer.is_worker);
            group.replace(Some(Group { is_stopped: self.0.clone(), is_worker }))
        }));
        work()
    }
}

/// The group that a thread was in before [`StopGroup::run`]. Its drop restores it, also if the work
/// unwinds.
struct OuterGroup(Option<Group>);

impl Drop for OuterGroup {
    fn drop(&mut self) {
        let outer = self.0.take();
        GROUP.with(|group| group.replace(outer));
    }
}

/// Polls in a loop whose steps take from nanoseconds to seconds. It reads the clock at every step
/// while steps are slow, and every [`STEPS_MAX`] steps while they are fast.
#[derive(Debug)]
pub(crate) struct PollPace {
    left: Cell<u32>,
    interval: Cell<u32>,
    polled_at: Cell<Instant>,
}

/// Steps between two polls at most. Not measured: a poll of 25 ns is then 0.1 ns a step.
const STEPS_MAX: u32 = 1 << 8;

/// The time between two polls of a [`PollPace`] that is short, and the time that is long. Not
/// measured: both are short for a person.
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(5);

impl PollPace {
    pub(crate) fn new() -> Self {
        let polled_at = Cell::new(Instant::now());
        Self { left: Cell::new(1), interval: Cell::new(1), polled_at }
    }

    /// Counts a step, and polls when due.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`].
    #[inline(always)]
    pub(crate) fn step(&self) -> Result<(), Error> {
        let left = self.left.get() - 1;
        self.left.set(left);
        match left {
            0 => self.poll(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn poll(&self) -> Result<(), Error> {
        let now = Instant::now();
        let elapsed = now.duration_since(self.polled_at.replace(now));
        let interval = match self.interval.get() {
            interval if elapsed < SHORT => (interval * 2).min(STEPS_MAX),
            _ if elapsed > LONG => 1,
            interval => interval,
        };
        self.interval.set(interval);
        self.left.set(interval);
        poll()
    }
}
