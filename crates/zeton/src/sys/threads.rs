//! Worker threads that end with the call that started them.
//!
//! No thread pool outlives a call, so a `fork` between two calls loses no worker. Each call pays
//! for starting its threads, which is why a thread needs at least [`BYTES_PER_THREAD`] of input.

use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread::{self, Thread};

use super::error::Error;
use super::interrupt::{POLL_EVERY, PollPace, StopGroup, poll};

/// The most threads of one call. A larger request is clamped, because it is more likely a mistake
/// than a machine of that size.
pub(crate) const THREADS_MAX: usize = 256;

/// The least input in bytes per thread. Warm English encodes at 450 MB/s, so 64 KiB are 150 µs of
/// work, which outweighs the start of a thread.
pub(crate) const BYTES_PER_THREAD: usize = 1 << 16;

/// Runs `run` on up to `threads` threads at once, the calling one included; returns all results.
///
/// Where the system refuses to start a thread, the running ones do all the work, because they
/// take it from a common counter. A signal stops all of them ([`super::interrupt`]): the calling
/// thread polls while it works, and while it waits for the others.
pub(crate) fn run_on_threads<R: Send>(threads: usize, run: impl Fn() -> R + Sync) -> Vec<R> {
    if threads < 2 {
        return vec![run()];
    }
    let (group, finished, caller) = (StopGroup::new(), AtomicUsize::new(0), thread::current());
    let run_as_worker = || {
        let _finished = FinishedGuard { finished: &finished, caller: &caller };
        group.run(true, &run)
    };
    thread::scope(|scope| {
        let others = (1..threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, run_as_worker).ok());
        let others: Vec<_> = others.collect();
        let own = group.run(false, || {
            let own = run();
            while finished.load(Acquire) < others.len() {
                thread::park_timeout(POLL_EVERY);
                // The poll stops the group; the workers' results tell it.
                let _ = poll();
            }
            own
        });
        let join = |worker: thread::ScopedJoinHandle<_>| worker.join().expect("no worker panics");
        others.into_iter().map(join).chain([own]).collect()
    })
}

/// Counts a worker as finished when it is dropped, also by a panic, and wakes the caller. Otherwise
/// the caller would wait for ever for a worker that panicked.
struct FinishedGuard<'a> {
    finished: &'a AtomicUsize,
    caller: &'a Thread,
}

impl Drop for FinishedGuard<'_> {
    fn drop(&mut self) {
        self.finished.fetch_add(1, Release);
        self.caller.unpark();
    }
}

/// Applies `work` to each item on up to `threads` threads; results are in the order of the items.
///
/// `size` is the bytes of an item, from which the number of threads follows. `state` makes the
/// scratch memory of one thread. For example, 40 texts on two threads are dealt out two at a time:
///
/// ```text
/// next ──▶ 0 2 4 6 8 …  38        thread A: 0–1, 4–5, 6–7, …   thread B: 2–3, 8–9, …
/// ```
pub(crate) fn map_in_parallel<T: Sync, S, R: Send>(
    items: &[T],
    size: impl Fn(&T) -> usize,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&T, &mut S) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let bytes: usize = items.iter().map(size).sum();
    let threads = threads.min(THREADS_MAX).min(bytes / BYTES_PER_THREAD).min(items.len());
    if threads < 2 {
        let (mut state, pace) = (state(), PollPace::new());
        return items
            .iter()
            .map(|item| pace.step().and_then(|()| work(item, &mut state)))
            .collect();
    }
    // Sixteen runs of items per thread, so that no thread idles long while another one finishes.
    let run_length = items.len().div_ceil(threads * 16);
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done, pace) = (state(), Vec::new(), PollPace::new());
        loop {
            let start = next.fetch_add(run_length, Relaxed);
            let Some(rest) = items.get(start..) else { return Ok(done) };
            let run = &rest[..rest.len().min(run_length)];
            let results: Result<Vec<R>, Error> =
                run.iter().map(|item| pace.step().and_then(|()| work(item, &mut state))).collect();
            done.push((start, results?));
        }
    };
    let done = run_on_threads(threads, run).into_iter().collect::<Result<Vec<_>, Error>>()?;
    let mut done: Vec<(usize, Vec<R>)> = done.into_iter().flatten().collect();
    done.sort_by_key(|(start, _)| *start);
    Ok(done.into_iter().flat_map(|(_, results)| results).collect())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_worker_that_panics_ends_the_call() {
        let caller = thread::current().id();
        let run = || assert!(thread::current().id() == caller, "a worker panics on purpose");
        let result = catch_unwind(AssertUnwindSafe(|| run_on_threads(3, run)));
        assert!(result.is_err());
    }
}
