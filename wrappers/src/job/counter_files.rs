//! The spill file during a job. It is made when it is known what the job does. It is marked when the program
//! exits without MPI_Finalize, and removed when the matrix is in the store.

use crate::job::flush;
use crate::spill;
use crate::sys::message;
use rw::launch::Instructions;
use rw::options::{Settings, Spill};
use rw::store::spill::{About, DAYS_KEPT, Order, expire};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// True on rank 0 if the user wants messages. If the program exits without MPI_Finalize, this process then prints
/// how to get the matrix.
static TELL: AtomicBool = AtomicBool::new(false);

/// Puts the counters of process `rank` of `size` into a spill file, unless spill files are switched off.
/// `order` is `None` except on rank 0. `leads` is true in one process of each node.
pub fn start(
    settings: &Settings,
    instructions: &Instructions,
    rank: usize,
    size: usize,
    order: Option<Order>,
    leads: bool,
) -> Option<()> {
    if settings.spill == Spill::Off {
        return None;
    }
    let about = About {
        job: instructions.job.clone(),
        task: instructions.task_of_process(size).get(rank).copied()? as u32,
        process: rank as u32,
        pid: std::process::id(),
        host: crate::sys::node::host_name(),
        order,
    };
    let asked = settings.spill.directory();
    if let Err(problem) = spill::start(asked, &about) {
        if rank == 0 && (asked.is_some() || settings.verbose >= 2) {
            spill::complain(&problem);
        }
        return None;
    }
    if leads {
        forget_old();
    }
    TELL.store(rank == 0 && settings.verbose >= 1, Ordering::Relaxed);
    // SAFETY: a function without arguments that does not unwind. Should it not be registered, the
    // file only lacks the remark that the program exited.
    unsafe { libc::atexit(exiting) };
    let is_flushed = instructions.flush.is_some() || settings.flush_signal.is_some();
    if rank == 0 && is_flushed && !flush::finds_command() {
        message::line(
            "the command `rankweave` is neither beside the library nor in PATH; this launch stores its \
             matrix at MPI_Finalize and not while it runs; try: add the directory of the command to PATH",
        );
    }
    flush::start(settings, instructions.job.id, &instructions.job.store, instructions.flush, leads)
}

/// Removes the files of this user that nobody has recovered for a week: one process of each node, beside its own file.
fn forget_old() {
    let age = Duration::from_secs(DAYS_KEPT * 24 * 3600);
    if let Some(directory) = spill::directory() {
        expire(&directory, rw::base::file::user(), age);
    }
}

extern "C" fn exiting() {
    if spill::ending() && TELL.load(Ordering::Relaxed) {
        let _ = std::panic::catch_unwind(|| {
            message::line(
                "the program exits without MPI_Finalize; `rankweave recover` can make a record of the \
                 messages that were sent so far",
            );
        });
    }
}

/// Removes the file, because the matrix is in the store.
pub fn finish() {
    flush::stop();
    spill::finish();
}
