//! A program that fails although it finalises MPI. If it calls MPI_Abort before MPI_Finalize, its record says
//! so. If it exits with an exit code of failure after MPI_Finalize, its record is already stored, and is marked
//! as the record of a failed run.

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

/// The error code that the program gave to MPI_Abort in this process. `None` if this process did not call MPI_Abort.
pub fn abort_code() -> Option<c_int> {
    ABORTED.get().copied()
}

/// The record of this launch in the store.
static STORED: OnceLock<StoredRun> = OnceLock::new();

/// To be called in every process when the record of the job is in the store, because any process may fail.
pub fn watch(job: &JobDescription) {
    if !job.store.is_empty() && STORED.set(StoredRun::new(&job.store, &job.key, job.id)).is_ok() {
        exit_code::on_failure(mark_failed);
    }
}

fn mark_failed(code: c_int) {
    let Some(stored) = STORED.get() else { return };
    if let Err(error) = without_signal(libc::SIGXFSZ, || stored.mark_failed(code)) {
        message::line(&format!(
            "{}; the program failed, but its record is still marked as one of a complete run; try: find the \
             record with `rankweave list --all`, and remove it with `rankweave rm`",
            error.problem()
        ));
    }
}
