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
use parking_lot::Mutex;

/// Each entry has the bits of a communicator whose ranks are the tasks, and the bits of its group. Only the last
/// entry is in use. The earlier ones are of worlds that were replaced.
static GROUPS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// The group whose ranks are the tasks. The caller must not free this group. `None` after an MPI error.
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
