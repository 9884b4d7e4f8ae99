//! One-sided calls: bytes move from the origin to the target (put, accumulate) or back (get).
//!
//! A get moves bytes from the target to the caller: it belongs in the target's row of the matrix,
//! which this process does not own. Such traffic is kept apart as "received from" and turned round
//! when the rows are gathered.

use crate::abi::{Abi, Handle};
use crate::counters;
use crate::datatypes;
use crate::pmpi::pmpi;
use crate::record::guarded;
use crate::thread;
use crate::world;
use libc::{c_int, c_void};
use parking_lot::RwLock;
use rw::matrix::Kind;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Task of each rank of a window's group.
static WINDOWS: RwLock<Option<HashMap<u64, Arc<[u32]>>>> = RwLock::new(None);
static KEYVAL: AtomicI32 = AtomicI32::new(-1);

/// Makes the keyval whose delete callback tells that a window is gone.
pub fn start<A: Abi>() {
    let mut keyval = -1;
    let copy: unsafe extern "C" fn(
        A::Win,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_int,
    ) -> c_int = crate::attribute::never_copied::<A::Win>;
    let delete: unsafe extern "C" fn(A::Win, c_int, *mut c_void, *mut c_void) -> c_int =
        deleted::<A>;
    // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
    let code = unsafe {
        pmpi::<A>().win_create_keyval(
            copy as usize,
            delete as usize,
            &raw mut keyval,
            std::ptr::null_mut(),
        )
    };
    if code == 0 {
        KEYVAL.store(keyval, Ordering::Release);
        *WINDOWS.write() = Some(HashMap::new());
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    win: A::Win,
    _keyval: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    if let Some(windows) = WINDOWS.write().as_mut() {
        windows.remove(&win.bits());
    }
    0
}

fn tasks<A: Abi>(win: A::Win) -> Option<Arc<[u32]>> {
    if let Some(known) = WINDOWS.read().as_ref()?.get(&win.bits()) {
        return Some(known.clone());
    }
    let mpi = pmpi::<A>();
    let mut group = A::Group::from_bits(0);
    let mut world_group = A::Group::from_bits(0);
    let mut size = 0;
    let mut tasks: Vec<c_int> = Vec::new();
    // SAFETY: the program is using the window in this very call; both groups are freed.
    unsafe {
        if mpi.win_get_group(win, &raw mut group) != 0 {
            return None;
        }
        let _ = mpi.group_size(group, &raw mut size);
        let ranks: Vec<c_int> = (0..size).collect();
        tasks.resize(ranks.len(), A::UNDEFINED);
        let world = world::tasks::<A>();
        if mpi.comm_group(world, &raw mut world_group) == 0 {
            let _ = mpi.group_translate_ranks(
                group,
                size,
                ranks.as_ptr(),
                world_group,
                tasks.as_mut_ptr(),
            );
            let _ = mpi.group_free(&raw mut world_group);
        }
        let _ = mpi.group_free(&raw mut group);
    }
    let tasks: Arc<[u32]> =
        tasks.into_iter().map(|t| u32::try_from(t).unwrap_or(crate::comms::OUTSIDE)).collect();
    let keyval = KEYVAL.load(Ordering::Acquire);
    // SAFETY: a valid window and keyval; the value is never read.
    if unsafe { mpi.win_set_attr(win, keyval, std::ptr::null_mut()) } == 0 {
        WINDOWS.write().as_mut()?.insert(win.bits(), tasks.clone());
    }
    Some(tasks)
}

fn target<A: Abi>(win: A::Win, rank: c_int) -> Option<u32> {
    // MPI_PROC_NULL is allowed and moves nothing.
    let rank = usize::try_from(rank).ok()?;
    tasks::<A>(win)?.get(rank).copied()
}

fn sent<A: Abi>(win: A::Win, rank: c_int, bytes: u64) {
    guarded(|| {
        let block = counters::mine()?;
        block.add(Kind::OneSided, target::<A>(win, rank)?, bytes, 1);
        Some(())
    });
}

fn fetched<A: Abi>(win: A::Win, rank: c_int, bytes: u64) {
    guarded(|| {
        let block = counters::mine()?;
        block.add_fetched(target::<A>(win, rank)?, bytes, 1);
        Some(())
    });
}

fn bytes<A: Abi>(count: i64, datatype: A::Datatype) -> u64 {
    if count == 0 {
        return 0;
    }
    (count as u64).wrapping_mul(datatypes::size::<A>(thread::current(), datatype))
}

pub unsafe fn put<A: Abi>(win: A::Win, rank: c_int, count: i64, datatype: A::Datatype) {
    sent::<A>(win, rank, bytes::<A>(count, datatype));
}

pub unsafe fn get<A: Abi>(win: A::Win, rank: c_int, count: i64, datatype: A::Datatype) {
    fetched::<A>(win, rank, bytes::<A>(count, datatype));
}

/// Data goes there and the old value comes back; with MPI_NO_OP nothing goes there.
pub unsafe fn get_accumulate<A: Abi>(
    win: A::Win,
    rank: c_int,
    count: i64,
    datatype: A::Datatype,
    result_count: i64,
    result_datatype: A::Datatype,
    op: A::Op,
) {
    if op.bits() != A::op_no_op() {
        sent::<A>(win, rank, bytes::<A>(count, datatype));
    }
    fetched::<A>(win, rank, bytes::<A>(result_count, result_datatype));
}

pub unsafe fn fetch_and_op<A: Abi>(win: A::Win, rank: c_int, datatype: A::Datatype, op: A::Op) {
    // SAFETY: the same window and datatype.
    unsafe { get_accumulate::<A>(win, rank, 1, datatype, 1, datatype, op) };
}

/// Two elements go there (the value and the one to compare with), one comes back.
pub unsafe fn compare_and_swap<A: Abi>(win: A::Win, rank: c_int, datatype: A::Datatype) {
    sent::<A>(win, rank, bytes::<A>(2, datatype));
    fetched::<A>(win, rank, bytes::<A>(1, datatype));
}
