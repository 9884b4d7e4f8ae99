//! Neighbourhood collectives: one message to every neighbour that the communicator's topology names.

use crate::comm::world;
use crate::mpi::abi::Abi;
use crate::record::collective::{Out, bytes, element};
use crate::record::communicators;
use crate::record::counters;
use crate::record::{Counts, Types};
use crate::sys::panic_barrier::guarded;

/// Counts one message of `bytes(k)` bytes to the k-th neighbour. MPI_PROC_NULL neighbours get nothing.
fn each<A: Abi>(out: Out, comm: A::Comm, bytes: impl Fn(u32) -> u64) -> A::Comm {
    guarded(|| {
        communicators::with::<A, ()>(comm, |_, communicator| {
            let block = counters::mine()?;
            let mut out = out;
            for (k, &rank) in communicator.neighbours::<A>().iter().enumerate() {
                if rank >= 0 {
                    let (task, bytes) = (communicator.task::<A>(rank as u32), bytes(k as u32));
                    out.add(block, task, bytes, 1);
                }
            }
            Some(())
        })
    });
    world::effective::<A>(comm)
}

pub unsafe fn neighbor_allgather<A: Abi>(
    out: Out,
    comm: A::Comm,
    count: i64,
    datatype: A::Datatype,
) -> A::Comm {
    let bytes = bytes::<A>(count, datatype);
    each::<A>(out, comm, |_| bytes)
}

// MPI_Neighbor_allgather and MPI_Neighbor_alltoall both send a block of the same size to every neighbour.
pub use self::neighbor_allgather as neighbor_alltoall;

pub unsafe fn neighbor_alltoallv<A: Abi, C: Counts>(
    out: Out,
    comm: A::Comm,
    counts: C,
    datatype: A::Datatype,
) -> A::Comm {
    let size = element::<A>(datatype);
    // SAFETY: there is a count for every neighbour.
    each::<A>(out, comm, |k| (unsafe { counts.at(k) }.max(0) as u64).wrapping_mul(size))
}

pub unsafe fn neighbor_alltoallw<A: Abi, C: Counts, T: Types<A>>(
    out: Out,
    comm: A::Comm,
    counts: C,
    types: T,
) -> A::Comm {
    each::<A>(out, comm, |k| {
        // SAFETY: there is a count and a type for every neighbour.
        unsafe {
            match counts.at(k) {
                count if count > 0 => (count as u64).wrapping_mul(element::<A>(types.at(k))),
                _ => 0,
            }
        }
    })
}
