//! The group of all tasks, kept for the translation of ranks.
//!
//! When a communicator or a window is used for the first time, its ranks are translated to tasks with this
//! group. The group is kept, because it takes long to make and free the group of a large world: Open MPI then
//! changes a counter of each process in the group.
//!
//! Limits: if the world is replaced after the group was made, the old group is freed at the end of the job
//! only.

use crate::comm::world;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use libc::c_int;
use parking_lot::Mutex;

/// Only the last entry is in use. The earlier ones are of worlds that were replaced.
static GROUPS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, Copy)]
struct Known {
    /// The bits of a communicator whose ranks are the tasks, and the bits of its group.
    comm: u64,
    group: u64,
    /// The rank of this process; negative if the process is not in the group.
    rank: c_int,
}

/// The group whose ranks are the tasks. The caller must not free this group. `None` after an MPI error.
pub fn get<A: Abi>() -> Option<A::Group> {
    known::<A>().map(|known| A::Group::from_bits(known.group))
}

/// The task that this process is; `None` if it is none, or after an MPI error.
pub fn own_task<A: Abi>() -> Option<u32> {
    u32::try_from(known::<A>()?.rank).ok()
}

fn known<A: Abi>() -> Option<Known> {
    let comm = world::tasks::<A>();
    let known = |groups: &[Known]| groups.last().filter(|last| last.comm == comm.bits()).copied();
    let last = known(&GROUPS.lock());
    if last.is_some() {
        return last;
    }
    let (mut group, mut rank) = (A::Group::from_bits(0), -1);
    // SAFETY: MPI is initialised, and the communicator lives until the end of the job. No lock is held.
    unsafe {
        let mpi = pmpi::<A>();
        // In an intercommunicator, the rank is that in the local group, as the group is.
        if mpi.comm_group(comm, &raw mut group) != 0 || mpi.comm_rank(comm, &raw mut rank) != 0 {
            return None;
        }
    }
    let made = Known { comm: comm.bits(), group: group.bits(), rank };
    let mut groups = GROUPS.lock();
    let other = known(&groups);
    if other.is_none() {
        groups.push(made);
    }
    drop(groups);
    if other.is_some() {
        // SAFETY: the group was made above. Another thread was faster.
        let _ = unsafe { pmpi::<A>().group_free(&raw mut group) };
    }
    other.or(Some(made))
}

/// Gives the groups back. To be called when nothing is recorded any more.
pub fn free<A: Abi>() {
    for known in std::mem::take(&mut *GROUPS.lock()) {
        let mut group = A::Group::from_bits(known.group);
        // SAFETY: a group that `get` made; MPI is still there.
        let _ = unsafe { pmpi::<A>().group_free(&raw mut group) };
    }
}
