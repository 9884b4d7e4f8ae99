//! The job that runs in this process, between its start and its end.

use parking_lot::Mutex;
use rw::launch::{Instructions, LaunchRecorder};
use rw::store::Placement;
use std::time::Instant;

/// A job between start and finish.
#[derive(Debug)]
pub struct RunningJob {
    /// Handle of the private communicator; `None` in a job whose MPI_Init the library did not see.
    pub comm: Option<u64>,
    /// The time at which the program could go on after MPI_Init.
    pub started: Instant,
    /// What all processes do.
    pub instructions: Instructions,
    /// The places of the processes, on rank 0, if they were needed at the start.
    pub places: Option<Placement>,
    /// Makes the record at the end; on rank 0 only.
    pub recorder: Option<LaunchRecorder>,
    /// The program uses sessions and has no MPI_COMM_WORLD.
    pub sessions: bool,
}

static JOB: Mutex<Option<RunningJob>> = Mutex::new(None);

/// Keeps the job until its end.
pub fn set(job: RunningJob) {
    *JOB.lock() = Some(job);
}

/// Takes the job, for its end. `None` if no job is running, or if the job was taken already.
pub fn take() -> Option<RunningJob> {
    JOB.lock().take()
}

/// Whether a job runs: it has started, and its end has not begun. `false` if this cannot be known without waiting.
pub fn is_running() -> bool {
    JOB.try_lock().is_some_and(|job| job.is_some())
}

/// Whether a job runs that uses sessions only.
pub fn uses_sessions() -> bool {
    JOB.lock().as_ref().is_some_and(|job| job.sessions)
}
