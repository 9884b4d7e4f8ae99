//! What a job does, decided by rank 0: record, reorder, shuffle or nothing.

use crate::job::facts::How;
use crate::job::keeper::Keeper;
use crate::sys::message;
use rw::options::{self, Collectives, Settings};
use rw::store::{LaunchMode, spill};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What all processes do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Nothing.
    #[default]
    Off,
    /// Record in the launcher's order.
    Record,
    /// Find the places, decide on an order, record.
    Reorder,
    /// Record in a random order.
    Shuffle,
}

impl Mode {
    /// What records say of it.
    pub fn name(self) -> LaunchMode {
        match self {
            Mode::Reorder => LaunchMode::Reorder,
            Mode::Shuffle => LaunchMode::Shuffle,
            _ => LaunchMode::Record,
        }
    }
}

/// What rank 0 tells everybody.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    pub mode: Mode,
    /// What constructors of topologies do.
    pub constructors: How,
    /// What the functions of rankweave.h do.
    pub asked: How,
    /// Collectives as their meaning instead of a model of the algorithms.
    pub logical: bool,
    /// Process of each task; empty while every task is on its own launcher rank.
    pub process_of_task: Vec<u32>,
    /// What spill files say of this job.
    pub job: spill::Job,
    /// How often the matrix so far goes into the store.
    pub flush: Option<Duration>,
}

impl Plan {
    /// How collectives are expanded.
    pub fn collectives(&self) -> Collectives {
        if self.logical { Collectives::Logical } else { Collectives::Model }
    }

    /// The task on each of `size` processes.
    pub fn task_of_process(&self, size: usize) -> Vec<usize> {
        let mut tasks: Vec<usize> = (0..size).collect();
        for (task, &process) in self.process_of_task.iter().enumerate() {
            if let Some(slot) = tasks.get_mut(process as usize) {
                *slot = task;
            }
        }
        tasks
    }
}

/// What the processes of the job have in common.
#[derive(Debug, Clone, Copy)]
pub struct Alike {
    /// All of them see every call of the program; else its ranks must not be reordered.
    pub complete: bool,
    /// All of them run the same program with the same arguments; else they cannot change places.
    pub one_program: bool,
    /// Another MPI program started them: its communicator to them is in the order of their world.
    pub spawned: bool,
}

/// A number for this process's program and its arguments (FNV-1a, 64 bits).
pub fn program_hash() -> u64 {
    let exe = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let arguments = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let bytes = exe.as_os_str().as_encoded_bytes().iter().chain(&[0]).chain(&arguments);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Says so if another tool takes calls before they get to this library.
fn overtaken(tool: Option<&str>) -> bool {
    let Some(tool) = tool else { return false };
    message::line(&format!(
        "{tool} takes MPI calls before they get here and hands them past this library: they are not \
         recorded, and the ranks are left alone; try: start the job with `rankweave run`, or this \
         library as the first in LD_PRELOAD"
    ));
    true
}

/// Decides what this launch does.
pub fn make(settings: &Settings, size: usize, mpi: &str, alike: Alike) -> (Plan, Keeper) {
    for error in &crate::mpi::config::settings().1 {
        message::line(&format!("{error}; its default is used"));
    }
    let keeper = Keeper::new(settings, size, mpi);
    decided(settings, size, alike, crate::job::hooks::overtaken(), keeper)
}

/// The same of a program, whose calls the tool `overtaken` takes before.
fn decided(
    settings: &Settings,
    size: usize,
    alike: Alike,
    overtaker: Option<&str>,
    mut keeper: Keeper,
) -> (Plan, Keeper) {
    let usable = keeper.load(size, &settings.spill);
    let mut plan = Plan {
        mode: Mode::Record,
        constructors: How::Plain,
        asked: How::Plain,
        logical: settings.collectives == Collectives::Logical,
        process_of_task: Vec::new(),
        job: spill::Job::default(),
        flush: settings.flush,
    };
    let reorders =
        settings.mode == options::Mode::Shuffle || usable && settings.mode != options::Mode::Record;
    if overtaken(overtaker) {
        keeper.decision = "left alone: another tool takes calls before".into();
        return (plan, keeper);
    }
    if alike.complete {
        // The program asks for these itself, whatever is known of the rest.
        plan.constructors = match settings.mode {
            options::Mode::Auto | options::Mode::Reorder => How::Map,
            options::Mode::Shuffle => How::Shuffle,
            options::Mode::Record | options::Mode::Off => How::Plain,
        };
        plan.asked = match settings.mode {
            options::Mode::Record if !keeper.known.is_denied() => How::Map,
            _ => plan.constructors,
        };
        if keeper.known.mixes_ranks(keeper.store.as_ref()) {
            plan.constructors = How::Plain;
        }
    }
    if reorders && !alike.complete {
        message::line(
            "the program loads its MPI library by itself and some of its calls pass by unseen; \
             its ranks are left alone; try: start the job with `rankweave run`",
        );
        keeper.decision = "left alone: not all MPI calls are seen".into();
        return (plan, keeper);
    }
    if reorders && alike.spawned {
        // Nobody asked for these to be moved, and the parent knows them by their ranks.
        keeper.decision = "left alone: started by another MPI program".into();
        return (plan, keeper);
    }
    if reorders && !alike.one_program {
        message::line(
            "the processes of this job run different programs or have different arguments, so that \
             none can take over another's task; the ranks are left alone",
        );
        keeper.decision = "left alone: the processes run different programs".into();
        return (plan, keeper);
    }
    if matches!(settings.mode, options::Mode::Auto | options::Mode::Reorder)
        && let Some(objection) = keeper.known.objection(keeper.store.as_ref())
    {
        keeper.decision = objection;
        plan.constructors = How::Plain;
        plan.asked = How::Plain;
        return (plan, keeper);
    }
    match settings.mode {
        options::Mode::Off => plan.mode = Mode::Off,
        options::Mode::Record => {}
        options::Mode::Shuffle => {
            plan.mode = Mode::Shuffle;
            plan.process_of_task = shuffled(size, settings);
            keeper.decision = format!("shuffled with seed {}", settings.seed);
        }
        options::Mode::Auto | options::Mode::Reorder if usable => plan.mode = Mode::Reorder,
        options::Mode::Auto => {}
        // Why nothing can be loaded was said already.
        options::Mode::Reorder if keeper.store.is_none() => {}
        options::Mode::Reorder => message::line(&format!(
            "nothing to reorder by is stored for {}; this launch records",
            keeper.key
        )),
    }
    (plan, keeper)
}

/// What rank 0 stores at the end of a job whose start was not seen.
pub fn late_keeper(settings: &Settings, size: usize, mpi: &str) -> Keeper {
    let settings = Settings { mode: options::Mode::Record, ..settings.clone() };
    let alike = Alike { complete: false, one_program: false, spawned: false };
    late(make(&settings, size, mpi, alike).1)
}

fn late(mut keeper: Keeper) -> Keeper {
    keeper.known.started_unseen();
    keeper.decision = "recorded from its first call that was seen, not from MPI_Init".into();
    keeper
}

/// A permutation that depends on the seed only; fixed tasks stay.
pub fn shuffled(size: usize, settings: &Settings) -> Vec<u32> {
    let movable: Vec<u32> = (0..size as u32).filter(|t| !settings.fix.contains(t)).collect();
    let mut processes = movable.clone();
    let mut state = settings.seed ^ 0x9e37_79b9_7f4a_7c15;
    for i in (1..processes.len()).rev() {
        // splitmix64 (Steele, Lea, Flood 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        processes.swap(i, (z % (i as u64 + 1)) as usize);
    }
    let mut order: Vec<u32> = (0..size as u32).collect();
    for (&task, &process) in movable.iter().zip(&processes) {
        order[task as usize] = process;
    }
    order
}

#[cfg(test)]
#[path = "plan_cases.rs"]
mod cases;

#[cfg(test)]
mod tests {
    use super::*;

    fn with(seed: u64, fix: Vec<u32>) -> Settings {
        Settings { seed, fix, ..Settings::default() }
    }

    #[test]
    fn shuffles_are_permutations_that_keep_fixed_tasks() {
        for size in [1, 2, 7, 64] {
            for seed in 0..5 {
                let order = shuffled(size, &with(seed, vec![0, 3]));
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..size as u32).collect::<Vec<_>>());
                assert_eq!(order[0], 0);
                assert!(size <= 3 || order[3] == 3);
                assert_eq!(order, shuffled(size, &with(seed, vec![0, 3])), "not deterministic");
            }
        }
        assert_ne!(shuffled(64, &with(1, vec![])), shuffled(64, &with(2, vec![])));
    }
}
