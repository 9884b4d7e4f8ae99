//! `rankweave_reorder_roles` and `rankweave_move`: after a new rank order, which process takes over the work of
//! which other process, and the move of the data of this work.
//!
//! Two communicators of the same processes in different orders are compared. A role is a rank as a part of the
//! work: role k belongs to the process of rank k, in the first communicator before the new order, and in the
//! second communicator after it. All ranks given here are ranks of the first communicator, so one exchange
//! on it moves the data.

use super::{BAD_ARGUMENT, MPI_FAILED, OK, is_no_communicator};
use crate::comm::exchange::send_receive;
use crate::comm::handle::quietly;
use crate::comm::private::PrivateComm;
use crate::comm::request::{begun, cancel_receive, wait};
use crate::comm::world;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::pmpi::pmpi;
use crate::sys::panic_barrier::shielded;
use libc::c_int;

/// Largest single message, below what an `int` count can say.
const CHUNK: usize = 1 << 29;
const TAG: c_int = 11;

/// Ranks of the first communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Roles {
    /// The process that had, in the first communicator, the role that the caller has in the second one.
    takes: c_int,
    /// The process that has, in the second communicator, the role that the caller had in the first one.
    taker: c_int,
}

/// Writes the ranks of both processes to the addresses that the program gave.
///
/// # Safety
/// The pointers are null or addresses of ints.
pub unsafe fn report<A: Abi>(
    comm: A::Comm,
    out: A::Comm,
    takes: *mut c_int,
    taker: *mut c_int,
) -> c_int {
    let Some(roles) = shielded(|| between::<A>(comm, out)) else { return BAD_ARGUMENT };
    for (place, value) in [(takes, roles.takes), (taker, roles.taker)] {
        if !place.is_null() {
            // SAFETY: not null, and then the caller says that it is the address of an int.
            unsafe { *place = value };
        }
    }
    OK
}

/// The roles of the caller. `None` unless both communicators have the same number of processes and the caller's
/// rank in the second one belongs to a process of the first. Local.
fn between<A: Abi>(comm: A::Comm, out: A::Comm) -> Option<Roles> {
    if is_no_communicator::<A>(comm) || is_no_communicator::<A>(out) {
        return None;
    }
    let (comm, out) = (world::effective::<A>(comm), world::effective::<A>(out));
    let mpi = pmpi::<A>();
    let (mut old, mut new) = (A::Group::from_bits(0), A::Group::from_bits(0));
    let (mut sizes, mut ranks) = ([0, 0], [A::UNDEFINED; 2]);
    let mut taker = A::UNDEFINED;
    // SAFETY: communicators of the program; both groups are freed again.
    unsafe {
        if mpi.comm_group(comm, &raw mut old) != 0 {
            return None;
        }
        let mut code = mpi.comm_group(out, &raw mut new);
        if code == 0 {
            code = mpi.group_size(old, &raw mut sizes[0])
                | mpi.group_size(new, &raw mut sizes[1])
                | mpi.group_rank(old, &raw mut ranks[0])
                | mpi.group_rank(new, &raw mut ranks[1]);
            if code == 0 && sizes[0] == sizes[1] && ranks.iter().all(|&r| r >= 0) {
                let mine = &raw const ranks[0];
                code = mpi.group_translate_ranks(new, 1, mine, old, &raw mut taker);
            }
            let _ = mpi.group_free(&raw mut new);
        }
        let _ = mpi.group_free(&raw mut old);
        (code == 0 && taker >= 0).then_some(Roles { takes: ranks[1], taker })
    }
}

/// Moves the data of all roles at once. Every process sends all the data of its old role. Nothing is moved
/// unless the buffer of every process is exactly as large as the data that it receives. Collective over `comm`.
///
/// # Safety
/// `mine` has `bytes` bytes and `taken` has `room` bytes, and they do not overlap. Both handles are
/// communicators of the program.
pub unsafe fn exchange<A: Abi>(
    comm: A::Comm,
    out: A::Comm,
    mine: *const u8,
    bytes: usize,
    taken: *mut u8,
    room: usize,
) -> c_int {
    if is_no_communicator::<A>(comm) {
        return BAD_ARGUMENT;
    }
    let good = !(mine.is_null() && bytes > 0 || taken.is_null() && room > 0);
    let roles = shielded(|| between::<A>(comm, out)).filter(|_| good);
    // From here on all processes take the same steps.
    let Some(private) = shielded(|| private::<A>(comm)) else { return MPI_FAILED };
    let code = shielded(|| {
        let alone = Roles { takes: private.rank as c_int, taker: private.rank as c_int };
        let answered = private.allgather(u64::from(roles.is_some()))?;
        if answered.contains(&0) {
            return Some(BAD_ARGUMENT);
        }
        let roles = roles.unwrap_or(alone);
        let length = send_receive(
            &private,
            roles.taker as u32,
            &(bytes as u64).to_le_bytes(),
            roles.takes as u32,
        )?;
        let fits = length == (room as u64).to_le_bytes();
        if private.allgather(u64::from(fits))?.contains(&0) {
            return Some(BAD_ARGUMENT);
        }
        // SAFETY: the caller's buffers have these lengths and do not overlap; what comes was just found to
        // be as long as `room`, here and everywhere.
        Some(if unsafe { swap(&private, roles, mine, bytes, taken, room) } {
            OK
        } else {
            MPI_FAILED
        })
    });
    private.free();
    code.unwrap_or(MPI_FAILED)
}

/// # Safety
/// As for [`exchange`]. The data that this process receives has `room` bytes.
unsafe fn swap<A: Abi>(
    private: &PrivateComm<A>,
    roles: Roles,
    mine: *const u8,
    bytes: usize,
    taken: *mut u8,
    room: usize,
) -> bool {
    let mpi = pmpi::<A>();
    let (comm, byte) = (private.comm, A::byte());
    let mut good = true;
    for start in (0..bytes.max(room)).step_by(CHUNK) {
        let (mut outgoing, mut incoming) = (A::request_null(), A::request_null());
        let part = |all: usize| all.saturating_sub(start).min(CHUNK) as c_int;
        let (sends, receives) = (part(bytes), part(room));
        // SAFETY: parts of the buffers, which stay until both requests are done.
        unsafe {
            let receiving = receives > 0 && {
                let (to, from) = (taken.add(start).cast(), roles.takes);
                0 == begun(|| mpi.irecv(to, receives, byte, from, TAG, comm, &raw mut incoming))
            };
            let sending = sends > 0 && {
                let (from, to) = (mine.add(start).cast(), roles.taker);
                0 == begun(|| mpi.isend(from, sends, byte, to, TAG, comm, &raw mut outgoing))
            };
            good &= receiving == (receives > 0) && sending == (sends > 0);
            good &= !sending || wait::<A>(&mut outgoing, None);
            // If this process cannot send, the one that it receives from may have failed in the same way.
            let sent = sending || sends == 0;
            good &= !receiving
                || if sent {
                    wait::<A>(&mut incoming, None)
                } else {
                    cancel_receive::<A>(&mut incoming)
                };
        }
    }
    good
}

/// A private communicator for the processes of `comm`. Messages on it cannot match receives of the program.
fn private<A: Abi>(comm: A::Comm) -> Option<PrivateComm<A>> {
    let comm = world::effective::<A>(comm);
    let mpi = pmpi::<A>();
    let (mut rank, mut inter, mut made) = (0, 0, A::comm_null());
    // SAFETY: a communicator of the program, whose processes are all here.
    let code = unsafe {
        if mpi.comm_test_inter(comm, &raw mut inter) != 0 || inter != 0 {
            return None;
        }
        quietly::<A, _>(comm, || {
            mpi.comm_rank(comm, &raw mut rank) | mpi.comm_split(comm, 0, rank, &raw mut made)
        })
    };
    if code != 0 || made == A::comm_null() {
        return None;
    }
    PrivateComm::new(made)
}
