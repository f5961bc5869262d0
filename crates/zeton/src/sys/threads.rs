//! Work shared by threads that live no longer than the call.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use super::error::Error;

/// Threads that are started at most, whatever is asked for.
pub(crate) const THREADS_MAX: usize = 256;

/// Bytes that are worth a thread of their own.
pub(crate) const BYTES_PER_THREAD: usize = 1 << 16;

/// Runs something on so many threads at once; returns what each comes to.
///
/// Threads live as long as the call: nothing is left behind for a fork to lose.
pub(crate) fn by_threads<R: Send>(threads: usize, run: impl Fn() -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        // This thread works too, so a system that gives no more threads makes it slower only.
        let others =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, &run).ok());
        let others: Vec<_> = others.collect();
        let own = run();
        let join = |worker: thread::ScopedJoinHandle<_>| worker.join().expect("no worker panics");
        others.into_iter().map(join).chain([own]).collect()
    })
}

/// Applies `work` to each item on up to `threads` threads, and keeps the order.
pub(crate) fn in_parallel<T: Sync, S, R: Send>(
    items: &[T],
    size: impl Fn(&T) -> usize,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&T, &mut S) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let bytes: usize = items.iter().map(size).sum();
    let threads = threads.min(THREADS_MAX).min(bytes / BYTES_PER_THREAD).min(items.len());
    if threads < 2 {
        let mut state = state();
        return items.iter().map(|item| work(item, &mut state)).collect();
    }
    // Each thread takes the next few items that nobody has taken.
    let chunk = items.len().div_ceil(threads * 16);
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done) = (state(), Vec::new());
        loop {
            let start = next.fetch_add(chunk, Relaxed);
            let Some(rest) = items.get(start..) else { return Ok(done) };
            let taken = &rest[..rest.len().min(chunk)];
            let results: Result<Vec<R>, Error> =
                taken.iter().map(|item| work(item, &mut state)).collect();
            done.push((start, results?));
        }
    };
    let done = by_threads(threads, run).into_iter().collect::<Result<Vec<_>, Error>>()?;
    let mut done: Vec<(usize, Vec<R>)> = done.into_iter().flatten().collect();
    done.sort_by_key(|(start, _)| *start);
    Ok(done.into_iter().flat_map(|(_, results)| results).collect())
}
