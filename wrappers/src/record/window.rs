//! A window of one-sided calls: which task stands behind each of its ranks.

use crate::comm::task_group;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use crate::record::communicator::OUTSIDE;
use libc::c_int;

/// A window that was used: the task of each rank of its group.
#[derive(Debug)]
pub struct Window {
    tasks: Box<[u32]>,
}

impl Window {
    /// Describes a window with what MPI reports about it; `None` after an MPI error.
    pub fn of<A: Abi>(win: A::Win) -> Option<Window> {
        let mpi = pmpi::<A>();
        let mut group = A::Group::from_bits(0);
        let mut size = 0;
        let mut tasks: Vec<c_int> = Vec::new();
        // SAFETY: the program is using the window in this very call; its group is freed.
        unsafe {
            if mpi.win_get_group(win, &raw mut group) != 0 {
                return None;
            }
            let _ = mpi.group_size(group, &raw mut size);
            let ranks: Vec<c_int> = (0..size).collect();
            tasks.resize(ranks.len(), A::UNDEFINED);
            if let Some(all) = task_group::get::<A>() {
                let (from, to) = (ranks.as_ptr(), tasks.as_mut_ptr());
                let _ = mpi.group_translate_ranks(group, size, from, all, to);
            }
            let _ = mpi.group_free(&raw mut group);
        }
        let tasks = tasks.into_iter().map(|task| u32::try_from(task).unwrap_or(OUTSIDE)).collect();
        Some(Window { tasks })
    }

    /// The task behind a rank. `None` for MPI_PROC_NULL, with which a call is allowed and moves nothing.
    pub fn task(&self, rank: c_int) -> Option<u32> {
        self.tasks.get(usize::try_from(rank).ok()?).copied()
    }
}
