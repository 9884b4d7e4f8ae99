//! The spill file during a job. It is made when it is known what the job does. It is marked when the program
//! exits without MPI_Finalize, and removed when the matrix is in the store.

use crate::job::{failure, flush, running};
use crate::spill;
use crate::sys::message;
use crate::sys::node_rank::node_rank;
use rw::launch::Instructions;
use rw::options::{Settings, Spill};
use rw::store::spill::{About, DAYS_KEPT, Order, expire};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// The process of rank 0, which says what it means if the program exits without MPI_Finalize; 0 = another process is
/// rank 0. A child that this process forks has another number, and says nothing.
static SPEAKER: AtomicU32 = AtomicU32::new(0);

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
    if rank == 0 {
        SPEAKER.store(std::process::id(), Ordering::Relaxed);
        watch_exit();
    }
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
    if node_rank().map_or(rank == 0, |number| number == 0) {
        forget_old();
    }
    if rank != 0 {
        watch_exit();
    }
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

/// Whether this process has a job, so that its end means something.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Has the end of this process marked.
fn watch_exit() {
    IS_WATCHED.store(true, Ordering::Relaxed);
}

// The destructor of this object. It runs after the functions that the program has given to `atexit`, and after the
// destructors of its static objects: both may call MPI_Finalize. Miri has no objects of a process.
#[cfg(not(miri))]
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = exiting;

/// Marks the file of this process. Rank 0 says what it means that the program did not reach MPI_Finalize. After
/// MPI_Abort it says nothing: the MPI library has said what happened.
#[cfg_attr(miri, allow(dead_code))]
extern "C" fn exiting() {
    if !IS_WATCHED.load(Ordering::Relaxed) {
        return;
    }
    let is_in_file = spill::ending();
    let is_speaker = SPEAKER.load(Ordering::Relaxed) == std::process::id();
    if !is_speaker || failure::abort_code().is_some() {
        return;
    }
    let _ = std::panic::catch_unwind(|| {
        if running::is_running() {
            message::line(what_an_exit_means(is_in_file));
        }
    });
}

/// The message of rank 0 about a program that exits without MPI_Finalize.
fn what_an_exit_means(is_in_file: bool) -> &'static str {
    match is_in_file {
        true => {
            "the program ended without MPI_Finalize; the store has no complete record of this launch, and its counts are \
             in files on its nodes; try: 'rankweave recover' on each node makes a record of them, 'rankweave recover \
             --discard' removes them"
        }
        false => {
            "the program ended without MPI_Finalize; this launch leaves no record, because its counts were not kept in \
             files; try: --spill with a directory of the nodes, or end the program with MPI_Finalize"
        }
    }
}

/// Removes the file, because the matrix is in the store.
pub fn finish() {
    flush::stop();
    spill::finish();
}
