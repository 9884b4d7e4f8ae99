//! The group of all tasks, kept for the translation of ranks.
//!
//! Each communicator and window that is used for the first time asks which tasks stand behind its ranks. MPI counts the
//! users of a group: Open MPI does so in each of its processes, so that making and freeing the group of a large
//! world takes long.
//!
//! Limits: the group of a world that was replaced later is given back at the end of MPI, not before.

use crate::comm::world;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use parking_lot::Mutex;

/// The bits of a communicator and of its group. The last one is that of the tasks.
static GROUPS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// The group that has the tasks as its ranks, not to be freed; `None` after an MPI error.
pub fn get<A: Abi>() -> Option<A::Group> {
    let comm = world::tasks::<A>();
    let known = |groups: &[(u64, u64)]| {
        let last = groups.last().filter(|group| group.0 == comm.bits());
        last.map(|group| A::Group::from_bits(group.1))
    };
    if let Some(group) = known(&GROUPS.lock()) {
        return Some(group);
    }
    let mut group = A::Group::from_bits(0);
    // SAFETY: MPI is initialised, and the communicator lives until the end of the job. No lock is held.
    if unsafe { pmpi::<A>().comm_group(comm, &raw mut group) } != 0 {
        return None;
    }
    let mut groups = GROUPS.lock();
    let other = known(&groups);
    if other.is_none() {
        groups.push((comm.bits(), group.bits()));
    }
    drop(groups);
    if other.is_some() {
        // SAFETY: the group was made above. Another thread was faster.
        let _ = unsafe { pmpi::<A>().group_free(&raw mut group) };
    }
    other.or(Some(group))
}

/// Gives the groups back. To be called when nothing is recorded any more.
pub fn free<A: Abi>() {
    for (_, bits) in std::mem::take(&mut *GROUPS.lock()) {
        let mut group = A::Group::from_bits(bits);
        // SAFETY: a group that `get` made; MPI is still there.
        let _ = unsafe { pmpi::<A>().group_free(&raw mut group) };
    }
}
