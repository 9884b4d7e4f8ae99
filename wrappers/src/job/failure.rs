//! A program that fails and finalises MPI all the same. If it calls MPI_Abort before, its record says so. If it
//! fails after MPI_Finalize, its record is stored by then, and is marked as that of a failed run.

use crate::sys::exit_code;
use crate::sys::message;
use crate::sys::signal::without_signal;
use libc::c_int;
use rw::store::StoredRun;
use rw::store::spill::JobDescription;
use std::sync::OnceLock;

/// The error code that the program gave to MPI_Abort in this process.
static ABORTED: OnceLock<c_int> = OnceLock::new();

/// Notes that the program calls MPI_Abort. Only the first call counts.
pub fn aborting(code: c_int) {
    let _ = ABORTED.set(code);
}

/// The error code that the program gave to MPI_Abort; `None` if it did not call it.
pub fn abort_code() -> Option<c_int> {
    ABORTED.get().copied()
}

/// The record of this launch in the store.
static STORED: OnceLock<StoredRun> = OnceLock::new();

/// The record of a job is in the store. Called in every process, since any of them may fail.
pub fn watch(job: &JobDescription) {
    if !job.store.is_empty() && STORED.set(StoredRun::new(&job.store, &job.key, job.id)).is_ok() {
        exit_code::on_failure(mark_failed);
    }
}

fn mark_failed(code: c_int) {
    let Some(stored) = STORED.get() else { return };
    if let Err(error) = without_signal(libc::SIGXFSZ, || stored.mark_failed(code)) {
        message::line(&format!(
            "{error}; the record of this launch counts as that of a complete \
                                run, although the program failed"
        ));
    }
}
