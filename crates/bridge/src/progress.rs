//! Long calls: work on another thread, with progress reports and Ctrl-C.
//!
//! ```text
//! this thread      spawn ── wait 100 ms ── signals? report ── wait 100 ms ── … ── report ── return
//! worker thread      └───── work, without the GIL; checks for a stop now and then ──┘
//! ```
//!
//! Training, counting and files of counts run this way, so that a long call stays interruptible.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeton::{Error, Progress};

use crate::errors::raise;

/// Returns freed memory to the system before a new stage. Each thread of the stage before has freed
/// memory of its own, which the next stage does not reuse.
pub(crate) fn trim_memory(py: Python<'_>) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    py.detach(|| {
        // SAFETY: `malloc_trim` may be called at any time, from any thread, and touches free memory
        // only.
        unsafe { libc::malloc_trim(0) };
    });
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = py;
}

/// The time between two reports and checks for signals. Not measured; it is short for a person.
const TICK: Duration = Duration::from_millis(100);

/// Runs `work` on a thread of its own, without the GIL.
///
/// `report` is called every [`TICK`] and at the end, with the steps done, the latest token, and all
/// measurements. A signal, or an exception of `report`, stops the work.
pub(crate) fn run_with_progress<T: Send>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let report = report.map(|report| report.clone().unbind());
    let call_report = |py: Python<'_>| match &report {
        Some(report) => {
            let latest = PyBytes::new(py, &progress.latest_token());
            report.call1(py, (progress.done(), latest, progress.validation())).map(drop)
        }
        None => Ok(()),
    };
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let progress = &progress;
            let run = move || sender.send(progress.run_as_worker(|| work(progress)));
            let worker = thread::Builder::new().spawn_scoped(scope, run);
            if worker.is_err() {
                return Ok(Err(Error::NoThread));
            }
            loop {
                match receiver.recv_timeout(TICK) {
                    Ok(result) => return Ok(result),
                    Err(RecvTimeoutError::Disconnected) => unreachable!("the worker always sends"),
                    Err(RecvTimeoutError::Timeout) => {
                        let checked =
                            Python::attach(|py| py.check_signals().and_then(|()| call_report(py)));
                        if let Err(failure) = checked {
                            progress.stop();
                            return Err(failure);
                        }
                    }
                }
            }
        })
    })?;
    call_report(py)?;
    result.map_err(|error| raise(py, &error))
}
