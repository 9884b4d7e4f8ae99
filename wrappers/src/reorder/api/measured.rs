//! What this process sent since the program last called RANKWEAVE_Reset.
//!
//! The counters continue, because the record of the launch contains all traffic. A reset stores the
//! sums of that moment, and they are subtracted from later sums.
//!
//! Traffic that was fetched from a task (MPI_Get) counts as sent to it, because distances are the same
//! in both directions. Counts only grow, so a call which another thread makes at the same time is
//! either before or after the reset. Sums are not taken while the counts of a communicator are being
//! moved into the rows ([`communicators::MOVES`]).

use super::{NOT_NOW, OK};
use crate::mpi::abi::Abi;
use crate::record::communicator;
use crate::record::communicators;
use crate::record::counters;
use crate::record::expansion;
use crate::sys::panic_barrier::shielded;
use libc::c_int;
use parking_lot::Mutex;
use rw::matrix::Kind;
use std::collections::BTreeMap;

/// Bytes to each task.
type Sums = BTreeMap<u32, u64>;

static BASELINE: Mutex<Sums> = Mutex::new(Sums::new());

/// Bytes between this process and each task since the launch began. Each byte counts once, even if other
/// threads free communicators at the same time.
fn total<A: Abi>() -> Sums {
    communicators::MOVES.between(sum::<A>)
}

fn sum<A: Abi>() -> Sums {
    let mut sums = Sums::new();
    let mut add = |task: u32, bytes: u64| {
        if bytes > 0 && task < communicator::OUTSIDE {
            let sum = sums.entry(task).or_default();
            *sum = sum.saturating_add(bytes);
        }
    };
    counters::for_each_block(|block| {
        communicators::look_at_each(|communicator| {
            expansion::pending::<A>(block, communicator, &mut add);
        });
    });
    let rows = Kind::ALL.into_iter().flat_map(counters::row).chain(counters::fetched());
    for (task, traffic) in rows {
        add(task, traffic.bytes);
    }
    sums
}

/// The bytes that `now` has more than `before`, for each task with more.
fn less(now: Sums, before: &Sums) -> Vec<(u32, u64)> {
    now.into_iter()
        .map(|(task, bytes)| (task, bytes.saturating_sub(before.get(&task).copied().unwrap_or(0))))
        .filter(|&(_, bytes)| bytes > 0)
        .collect()
}

/// `(task, bytes)` since the last reset, ascending; empty while nothing is recorded.
pub fn since_reset<A: Abi>() -> Vec<(u32, u64)> {
    let now = shielded(|| Some(total::<A>())).unwrap_or_default();
    less(now, &BASELINE.lock())
}

/// Stores the present sums. Later calls of [`since_reset`] give only what was sent after this call.
pub fn reset<A: Abi>() -> c_int {
    if counters::tasks() == 0 {
        return NOT_NOW;
    }
    let Some(now) = shielded(|| Some(total::<A>())) else { return NOT_NOW };
    *BASELINE.lock() = now;
    OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_later_counts() {
        let before = Sums::from([(1, 10), (3, 5), (4, 9)]);
        let now = Sums::from([(0, 7), (1, 30), (3, 5), (4, 8)]);
        assert_eq!(
            less(now, &before),
            [(0, 7), (1, 20)],
            "a sum that became smaller counts as no traffic"
        );
    }
}
