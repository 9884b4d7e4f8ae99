//! Persistent requests: the messages that each start of a request sends.
//!
//! The call that makes a persistent request sends nothing. Every MPI_Start of the request sends. The receivers
//! and the bytes are found once, when the request is made. They are counted at each start.

use crate::mpi::abi::{Abi, Handle};
use crate::record::registry::Registry;
use crate::record::{counters, message, thread};
use crate::sys::panic_barrier::guarded;
use libc::c_int;
use rw::matrix::Kind;
use std::sync::atomic::{AtomicU64, Ordering};

/// One part of what a start sends.
#[derive(Debug, Clone, Copy)]
pub struct PlannedSend {
    pub kind: Kind,
    pub task: u32,
    pub bytes: u64,
    pub messages: u64,
}

/// The messages of one start of a request; for a partitioned send, those of one partition.
#[derive(Debug, Clone, Default)]
pub struct PersistentSends {
    /// The first part, which needs no allocation. Most requests have no other part.
    first: Option<PlannedSend>,
    others: Vec<PlannedSend>,
    /// True for a partitioned send: counted by MPI_Pready, not by MPI_Start.
    partitioned: bool,
}

impl PersistentSends {
    /// A plan for a partitioned send, still empty.
    pub fn of_partitions() -> PersistentSends {
        PersistentSends { partitioned: true, ..PersistentSends::default() }
    }

    /// Adds a part.
    #[inline(always)]
    pub fn push(&mut self, send: PlannedSend) {
        match self.first {
            None => self.first = Some(send),
            Some(_) => self.others.push(send),
        }
    }

    /// Whether each start sends one point-to-point message.
    #[inline(always)]
    fn is_one_message(&self) -> bool {
        let one = |send: PlannedSend| send.kind == Kind::PointToPoint && send.messages == 1;
        self.others.is_empty() && !self.partitioned && self.first.is_some_and(one)
    }
}

/// What a start of a request sends, in one word, because programs may have a million requests: their table should
/// take few lines of the cache. An odd word is one message: its task is in the next [`TASK_BITS`] bits, and its
/// bytes in the others. The task is the index of a counter: all tasks outside the world share the last counter.
/// Other words are addresses of plans.
#[derive(Debug, Default)]
struct Planned(AtomicU64);

/// Bits of the number of a task in [`Planned`].
const TASK_BITS: u32 = 24;

/// The task and the bytes of one message, if the word is one.
#[inline(always)]
fn one_message(word: u64) -> Option<(u32, u64)> {
    let task = (word >> 1) as u32 & ((1 << TASK_BITS) - 1);
    (word & 1 == 1).then_some((task, word >> (1 + TASK_BITS)))
}

/// The word of one message; `None` if its numbers are too large.
#[inline(always)]
fn word(task: u32, bytes: u64) -> Option<u64> {
    let fits = task >> TASK_BITS == 0 && bytes >> (63 - TASK_BITS) == 0;
    fits.then_some(bytes << (1 + TASK_BITS) | u64::from(task) << 1 | 1)
}

/// The plan whose address the word is.
fn plan(word: u64) -> *mut PersistentSends {
    std::ptr::with_exposed_provenance_mut(if word & 1 == 1 { 0 } else { word as usize })
}

impl Planned {
    /// Takes the plan out, if the word is not one message.
    fn empty(&self) -> Option<Box<PersistentSends>> {
        let plan = plan(self.0.swap(0, Ordering::Relaxed));
        // SAFETY: made by `Box::into_raw` in `keep` and taken once.
        (!plan.is_null()).then(|| unsafe { Box::from_raw(plan) })
    }
}

static PLANS: Registry<Planned, true> = Registry::new();

/// The key of a request in the table. Requests that are made one after the other should get keys without large
/// gaps. For pointers, the lowest bits, which are equal in all requests, become the highest. MPICH numbers 1024
/// requests in each 4096: two bits are always zero there, and become high bits.
#[inline(always)]
fn key<A: Abi>(request: A::Request) -> u64 {
    let bits = request.bits();
    if A::NARROW {
        return (bits & 0x3ff) | (bits >> 12 << 10) | ((bits & 0xc00) << 40);
    }
    bits.rotate_right(A::REQUEST_DISTANCE)
}

/// Plans one message per start.
pub unsafe fn send<A: Abi>(
    plan: &mut PersistentSends,
    comm: A::Comm,
    dest: c_int,
    count: i64,
    datatype: A::Datatype,
) -> A::Comm {
    message::<A>(comm, dest, count, datatype, |task, bytes| {
        plan.push(PlannedSend { kind: Kind::PointToPoint, task, bytes, messages: 1 });
        Some(())
    })
}

/// Keeps the plan of a request that was just made.
///
/// # Safety
/// `request` is the output argument of a call that returned `code`.
pub unsafe fn keep<A: Abi>(code: c_int, request: *const A::Request, plan: PersistentSends) {
    if code != 0 || request.is_null() || counters::tasks() == 0 {
        return;
    }
    // SAFETY: the call succeeded, so the request is set.
    let bits = key::<A>(unsafe { *request });
    guarded(|| {
        let Some(first) = plan.first else {
            forget_key(bits);
            return Some(());
        };
        let task = (first.task as usize).min(counters::tasks()) as u32;
        let one = if plan.is_one_message() { word(task, first.bytes) } else { None };
        let made = one.unwrap_or_else(|| Box::into_raw(Box::new(plan)).expose_provenance() as u64);
        let fill = |planned: &Planned| planned.0.store(made, Ordering::Relaxed);
        if PLANS.insert(bits, fill).is_err() {
            // The table still has a request with this handle: the library did not see that it was freed.
            forget_key(bits);
            let _ = PLANS.insert(bits, fill);
        }
        Some(())
    });
}

/// Counts a start of `request`, if there is a plan for it.
pub fn started<A: Abi>(request: A::Request) {
    count(key::<A>(request), 1, false);
}

/// Counts partitions of a partitioned send that became ready.
pub fn ready<A: Abi>(request: A::Request, partitions: u64) {
    count(key::<A>(request), partitions, true);
}

#[inline(always)]
fn count(request: u64, times: u64, partitioned: bool) {
    let Some(node) = PLANS.find(request) else { return };
    let word = node.value.0.load(Ordering::Relaxed);
    let thread = thread::current();
    match one_message(word) {
        Some((task, bytes)) if !thread.block.load(Ordering::Relaxed).is_null() => {
            if !partitioned {
                // SAFETY: a thread with a block has its row of messages; the task is one of its counters.
                let cell = unsafe { &*thread.cells.load(Ordering::Relaxed).add(task as usize) };
                cell.add(bytes, 1);
            }
        }
        _ => count_slow(word, times, partitioned),
    }
}

/// Counts a start of a request with several parts, or in a thread that has no counters yet.
#[inline(never)]
fn count_slow(word: u64, times: u64, partitioned: bool) {
    guarded(|| {
        let block = counters::mine()?;
        // SAFETY: the plan of a request that the program starts right now, and that it must not free
        // meanwhile in another thread.
        match (one_message(word), unsafe { plan(word).as_ref() }) {
            (Some((task, bytes)), _) if !partitioned => {
                block.add(Kind::PointToPoint, task, bytes, 1);
            }
            (None, Some(plan)) if plan.partitioned == partitioned => {
                for step in plan.first.iter().chain(&plan.others) {
                    block.add(step.kind, step.task, step.bytes * times, step.messages * times);
                }
            }
            _ => {}
        }
        Some(())
    });
}

/// Forgets a request that is being freed: its handle may be reused.
pub fn forget<A: Abi>(request: A::Request) {
    forget_key(key::<A>(request));
}

fn forget_key(bits: u64) {
    if PLANS.find(bits).is_some() {
        drop(PLANS.remove(bits, |planned| Some(planned.empty())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::abi::{IntHandle, Mpich, OpenMpi, PointerHandle};
    use std::collections::HashSet;

    #[test]
    fn one_message_is_one_word() {
        for (task, bytes) in [(0, 0), (7, 8), ((1 << 24) - 1, (1 << 39) - 1)] {
            assert_eq!(word(task, bytes).and_then(one_message), Some((task, bytes)));
        }
        assert_eq!((word(1 << 24, 0), word(0, 1 << 39)), (None, None));
        assert_eq!(one_message(0), None);
        assert!(plan(0).is_null() && plan(1).is_null());
    }

    /// The number of steps to find this many requests, and the number of cache lines in which their chains
    /// begin.
    fn steps(requests: u64, mask: usize, key: impl Fn(u64) -> u64) -> (u32, usize) {
        let mut lengths = vec![0u32; mask + 1];
        let keys: HashSet<u64> = (0..requests).map(key).collect();
        assert_eq!(keys.len() as u64, requests, "requests have the same key");
        for key in keys {
            lengths[Registry::<Planned, true>::chain(key, mask)] += 1;
        }
        let lines = lengths.chunks(8).filter(|line| line.iter().any(|&n| n > 0)).count();
        (lengths.iter().map(|n| n * (n + 1) / 2).sum(), lines)
    }

    /// Requests that are made one after the other have neighbouring chains. With a million requests, each chain
    /// in a cache line of its own costs three accesses to memory in the life of a request. The requests of Open
    /// MPI are 896 bytes apart. Other distances make no long chains.
    #[test]
    fn requests_made_in_a_row_have_chains_in_a_row() {
        for distance in [896u64, 256, 512, 640, 1024, 1600, 4096, 1 << 16] {
            let address = |k| PointerHandle((0x5578_9dec_d500 + k * distance) as usize);
            let (steps, lines) = steps(10_000, (1 << 15) - 1, |k| key::<OpenMpi>(address(k)));
            assert!(steps < 30_000, "{distance}: {steps} steps to find 10000");
            assert!(distance > 896 || lines < 1200, "{distance}: {lines} lines");
        }
        // None of a hundred thousand requests shares a chain with a request whose number is far away.
        let address = |k| PointerHandle((0x5578_9dec_d500_u64 + k * 896) as usize);
        let (found, _) = steps(100_000, (1 << 18) - 1, |k| key::<OpenMpi>(address(k)));
        assert!(found < 113_000, "{found}");
        let number =
            |k: u64| IntHandle((0xec00_0000 + (k / 1024 * 4096) + k % 1024) as u32 as c_int);
        let (found, lines) = steps(100_000, (1 << 18) - 1, |k| key::<Mpich>(number(k)));
        assert!(found == 100_000 && lines < 13_000, "{found} steps, {lines} lines");
        // Other numbers have other keys.
        steps(8192, (1 << 15) - 1, |k| key::<Mpich>(IntHandle((0xac00_0000 + k) as u32 as c_int)));
    }
}
