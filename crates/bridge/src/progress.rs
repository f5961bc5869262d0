//! Long work, watched: it runs without the GIL while this thread shows progress and hears Ctrl-C.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeton::{Error, Progress};

use crate::errors::raise;

/// Gives back to the system what was freed: each thread had memory of its own, which the next stage
/// does not use.
pub(crate) fn give_back(py: Python<'_>) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    py.detach(|| {
        // SAFETY: it may be called at any time, from any thread, and touches what is free only.
        unsafe { libc::malloc_trim(0) };
    });
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = py;
}

/// How often progress is shown and signals are heard.
const TICK: Duration = Duration::from_millis(100);

/// Runs `work` on a thread of its own; calls `report` with what is done, the latest token and all that
/// was measured, now and then and at the end.
pub(crate) fn watch<T: Send>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let report = report.map(|report| report.clone().unbind());
    let tell = |py: Python<'_>| match &report {
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
            let started =
                thread::Builder::new().spawn_scoped(scope, move || sender.send(work(progress)));
            if started.is_err() {
                return Ok(Err(Error::NoThread));
            }
            loop {
                match receiver.recv_timeout(TICK) {
                    Ok(result) => return Ok(result),
                    Err(RecvTimeoutError::Disconnected) => unreachable!("the worker always sends"),
                    Err(RecvTimeoutError::Timeout) => {
                        let heard = Python::attach(|py| py.check_signals().and_then(|()| tell(py)));
                        if let Err(failure) = heard {
                            progress.stop();
                            return Err(failure);
                        }
                    }
                }
            }
        })
    })?;
    tell(py)?;
    result.map_err(|error| raise(py, &error))
}
