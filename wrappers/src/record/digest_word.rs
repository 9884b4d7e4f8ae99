//! The word of a communicator's [digest](crate::record::digest): how a send finds the task of a rank.
//!
//! A counter lies at an address that follows from the task. If the task has to be read from memory, the processor
//! knows this address late, and lets loads of the MPI library wait for it: up to 8 ns for a message on one of 64
//! communicators. Most communicators need no such access: duplicates of the world, communicators of one process, and
//! rows and columns of a grid of processes have tasks that are an arithmetic progression.
//!
//! A word has 16 bits for the number of ranks, at the lower end, and above them one of these:
//! - [`OWN`]: there is one rank, the task [`PROCESS`], which mostly is this process;
//! - [`IDENTITY`]: the task is the rank;
//! - the first task (23 bits), and the difference of two tasks (24 bits, at the lower end);
//! - the address of the tasks (47 bits), and the highest bit of the word, which is set.
//!
//! Limits: a communicator without ranks or with more than 65 535, and the replaced world, get no digest. A progression
//! has tasks below 2^23 in ascending order.

use crate::record::communicator;
use crate::record::slot::Slot;
use std::sync::atomic::{AtomicU32, Ordering};

/// The bits of the number of ranks.
pub const SIZE_BITS: u32 = 16;
/// The bits of the difference of two tasks.
pub const STEP_BITS: u32 = 24;
/// The bits of the first task of a progression, and its largest task.
const FIRST_BITS: u32 = 23;
/// The upper part of a word: there is one rank, the task [`PROCESS`].
const OWN: u64 = 0;
/// The upper part of a word: the task is the rank, a progression from 0 in steps of 1.
pub const IDENTITY: u64 = 1;
/// The bit of a word with the address of the tasks.
const ADDRESS: u64 = 1 << 63;

/// The task of communicators with the word [`OWN`]: that of the first communicator of one rank that got a digest. This is
/// the process itself, unless it was an intercommunicator.
pub static PROCESS: AtomicU32 = AtomicU32::new(communicator::OUTSIDE);

/// The word for the communicator of this handle. `None` if it gets no digest. To be called under the lock of the table.
pub fn of(slot: &Slot, bits: u64) -> Option<u64> {
    if slot.effective.load(Ordering::Relaxed) != bits {
        return None;
    }
    let (size, tasks) = (slot.size.load(Ordering::Relaxed), slot.tasks.load(Ordering::Relaxed));
    if size == 0 || size >> SIZE_BITS != 0 {
        return None;
    }
    // SAFETY: the table of tasks has `size` entries. The communicator is in the table, which is locked.
    let all = unsafe { std::slice::from_raw_parts(tasks.cast_const(), size as usize) };
    let address = || {
        let address = tasks.expose_provenance() as u64;
        (address >> (63 - SIZE_BITS) == 0).then_some(ADDRESS >> SIZE_BITS | address)
    };
    let upper = if is_process(all) { Some(OWN) } else { progression(all).or_else(address) };
    Some(upper? << SIZE_BITS | u64::from(size))
}

/// Whether there is one task, which is [`PROCESS`], or becomes it because there was none.
fn is_process(tasks: &[AtomicU32]) -> bool {
    let [task] = tasks else { return false };
    let task = task.load(Ordering::Relaxed);
    if task >= communicator::OUTSIDE {
        return false;
    }
    let none = communicator::OUTSIDE;
    let before = PROCESS.compare_exchange(none, task, Ordering::Relaxed, Ordering::Relaxed);
    before.is_ok() || before == Err(task)
}

/// The upper part of a word for tasks that are a progression. Tasks that are not known yet are none.
fn progression(tasks: &[AtomicU32]) -> Option<u64> {
    let task = |rank: usize| tasks.get(rank).map(|task| task.load(Ordering::Relaxed));
    let first = task(0)?;
    // One rank: a step of 1 makes it differ from `OWN`.
    let step = task(1).map_or(Some(1), |second| second.checked_sub(first))?;
    let is = |(rank, task): (u32, &AtomicU32)| {
        let expected = u64::from(first) + u64::from(step) * u64::from(rank);
        expected >> FIRST_BITS == 0 && u64::from(task.load(Ordering::Relaxed)) == expected
    };
    let all = step > 0 && (0..).zip(tasks).all(is);
    all.then_some(u64::from(first) << STEP_BITS | u64::from(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(all: &[u32]) -> Vec<AtomicU32> {
        all.iter().map(|&task| AtomicU32::new(task)).collect()
    }

    #[test]
    fn rows_and_columns_are_progressions() {
        let upper = |all: &[u32]| progression(&tasks(all));
        assert_eq!(upper(&[0, 1, 2, 3]), Some(IDENTITY));
        assert_eq!(upper(&[0]), Some(IDENTITY));
        assert_eq!(upper(&[7]), Some(7 << STEP_BITS | 1));
        assert_eq!(upper(&[3, 11, 19]), Some(3 << STEP_BITS | 8));
        let most = (1 << FIRST_BITS) - 1;
        assert_eq!(upper(&[0, most]), Some(u64::from(most)));
        assert_eq!(upper(&[most]), Some(u64::from(most) << STEP_BITS | 1));
    }

    #[test]
    fn other_tasks_are_none() {
        for all in [
            &[0, 2, 3][..],
            &[3, 2, 1],
            &[4, 4],
            &[0, 1 << FIRST_BITS],
            &[1 << FIRST_BITS],
            &[communicator::OUTSIDE],
            &[0, communicator::OUTSIDE],
            &[communicator::OUTSIDE, communicator::UNKNOWN],
            &[0, 1, communicator::UNKNOWN],
            &[],
        ] {
            assert_eq!(progression(&tasks(all)), None, "{all:?}");
        }
    }

    /// What the assembler of the fast path makes of a word, and the table of tasks.
    #[test]
    fn a_word_gives_the_tasks_of_its_slot() {
        let found = |word: u64, rank: u64| {
            assert!(rank < word & ((1 << SIZE_BITS) - 1));
            let upper = word << 1 >> 1 >> SIZE_BITS;
            if word & ADDRESS != 0 {
                let tasks = std::ptr::with_exposed_provenance::<AtomicU32>(upper as usize);
                // SAFETY: the tasks of the slot below.
                return unsafe { (*tasks.add(rank as usize)).load(Ordering::Relaxed) };
            }
            match upper {
                OWN => PROCESS.load(Ordering::Relaxed),
                IDENTITY => rank as u32,
                _ => ((upper >> STEP_BITS) + (upper & ((1 << STEP_BITS) - 1)) * rank) as u32,
            }
        };
        let outside = communicator::OUTSIDE;
        for all in [&[5][..], &[6], &[0, 1], &[2, 9, 16], &[9, 2, 16], &[0, outside], &[outside]] {
            let slot = Slot::default();
            slot.fill_few(1, 77, all);
            let word = of(&slot, 77).expect("a digest");
            assert_ne!(word, 0);
            for (rank, &task) in (0..).zip(all) {
                assert_eq!(found(word, rank), task, "{all:?}");
            }
            assert_eq!(of(&slot, 78), None, "another handle is to be used");
        }
        let none = Slot::default();
        none.fill_few(1, 77, &[]);
        assert_eq!(of(&none, 77), None);
    }
}
