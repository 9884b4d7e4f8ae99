//! The job that runs in this process, between its start and its end.

use parking_lot::Mutex;
use rw::launch::{Instructions, LaunchRecorder};
use rw::store::Placement;
use std::time::Instant;

/// A job between start and finish.
#[derive(Debug)]
pub struct RunningJob {
    /// Handle of the private communicator; `None` in a job whose MPI_Init passed by unseen.
    pub comm: Option<u64>,
    /// When it was known what to do.
    pub started: Instant,
    /// What all processes do.
    pub instructions: Instructions,
    /// Known on rank 0 if they were needed at the start.
    pub places: Option<Placement>,
    /// Kept on rank 0 only.
    pub recorder: Option<LaunchRecorder>,
    /// There is no world: the program uses sessions.
    pub sessions: bool,
}

static JOB: Mutex<Option<RunningJob>> = Mutex::new(None);

/// The job begins to run.
pub fn set(job: RunningJob) {
    *JOB.lock() = Some(job);
}

/// The job, for its end; `None` where there is none, or if it was taken already.
pub fn take() -> Option<RunningJob> {
    JOB.lock().take()
}

/// Whether a job runs that uses sessions only.
pub fn uses_sessions() -> bool {
    JOB.lock().as_ref().is_some_and(|job| job.sessions)
}
