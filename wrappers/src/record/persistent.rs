//! Persistent requests: what each start of them sends.
//!
//! The call that makes a persistent request sends nothing. Every MPI_Start of the request sends. The
//! receivers and the bytes are worked out once, when the request is made, and counted at each start.
//! Requests are few, and starts are rare compared with sends, so that one lock and one hash lookup at
//! each start are acceptable.

use crate::mpi::abi::{Abi, Handle};
use crate::record::{counters, message};
use crate::sys::panic_barrier::guarded;
use libc::c_int;
use parking_lot::Mutex;
use rw::matrix::Kind;
use std::collections::HashMap;
use std::sync::Arc;

/// One part of what a start sends.
#[derive(Debug, Clone, Copy)]
pub struct PlannedSend {
    pub kind: Kind,
    pub task: u32,
    pub bytes: u64,
    pub messages: u64,
}

/// What one start of a request sends; for partitioned sends, one partition.
#[derive(Debug, Clone, Default)]
pub struct PersistentSends {
    pub sends: Vec<PlannedSend>,
    /// True for a partitioned send: counted by MPI_Pready, not by MPI_Start.
    pub partitioned: bool,
}

static PLANS: Mutex<Option<HashMap<u64, Arc<PersistentSends>>>> = Mutex::new(None);

/// Plans one message per start.
pub unsafe fn send<A: Abi>(
    plan: &mut PersistentSends,
    comm: A::Comm,
    dest: c_int,
    count: i64,
    datatype: A::Datatype,
) -> A::Comm {
    message::<A>(comm, dest, count, datatype, |task, bytes| {
        plan.sends.push(PlannedSend { kind: Kind::PointToPoint, task, bytes, messages: 1 });
        Some(())
    })
}

/// Keeps the plan of a request that was just made.
///
/// # Safety
/// `request` is the output argument of a call that returned `code`.
pub unsafe fn keep<A: Abi>(code: c_int, request: *const A::Request, plan: PersistentSends) {
    if code != 0 || plan.sends.is_empty() || request.is_null() || counters::tasks() == 0 {
        return;
    }
    // SAFETY: the call succeeded, so the request is set.
    let bits = unsafe { *request }.bits();
    PLANS.lock().get_or_insert_default().insert(bits, Arc::new(plan));
}

/// Counts a start of `request`, if there is a plan for it.
pub fn started<A: Abi>(request: A::Request) {
    count(request.bits(), 1, false);
}

/// Counts partitions of a partitioned send that became ready.
pub fn ready<A: Abi>(request: A::Request, partitions: u64) {
    count(request.bits(), partitions, true);
}

fn count(request: u64, times: u64, partitioned: bool) {
    guarded(|| {
        let plan = PLANS.lock().as_ref()?.get(&request)?.clone();
        if plan.partitioned == partitioned {
            let block = counters::mine()?;
            for step in &plan.sends {
                block.add(step.kind, step.task, step.bytes * times, step.messages * times);
            }
        }
        Some(())
    });
}

/// Forgets a request that is being freed: its handle may be reused.
pub fn forget<A: Abi>(request: A::Request) {
    if let Some(plans) = PLANS.lock().as_mut() {
        plans.remove(&request.bits());
    }
}
