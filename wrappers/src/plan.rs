//! What a job does, decided by rank 0: record, reorder, shuffle or nothing; and what rank 0 keeps
//! in mind until the end to store.

use crate::clock::Clock;
use crate::gather::internode_bytes;
use crate::given::nodes_of;
use crate::message;
use crate::order::{self, Question};
use crate::past::{Launched, Program};
use crate::places::Places;
use crate::rerank::How;
use rw::decide::Decision;
use rw::decide::mixed::Tallies;
use rw::error::ErrorKind;
use rw::matrix::{Collected, CommMatrix};
use rw::options::{self, Collectives, Settings};
use rw::store::{self, InMpi, Launch, Record, Store, spill};
use rw::topology::{self, Topology};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

pub use crate::given::given_slots;

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
    /// The name as given in records.
    fn name(self) -> &'static str {
        match self {
            Mode::Reorder => "reorder",
            Mode::Shuffle => "shuffle",
            _ => "record",
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

/// What rank 0 keeps until the end.
#[derive(Debug)]
pub struct Keeper {
    /// `None`: nothing can be stored, and that was said.
    store: Option<Store>,
    key: String,
    program: String,
    command: Vec<String>,
    mpi: String,
    verbose: u8,
    before: Option<Record>,
    decision: String,
    predicted: (u128, u128),
    /// Node of each process in a topology the user gave.
    given_nodes: Option<Vec<u32>>,
    /// What is known of the program from before.
    known: Program,
    /// Hash of the places of this launch, for comparison with earlier ones.
    places: u32,
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
fn overtaken() -> bool {
    let Some(tool) = crate::visible::overtaken() else { return false };
    message::line(&format!(
        "{tool} takes MPI calls before they get here and hands them past this library: they are not \
         recorded, and the ranks are left alone; try: start the job with `rankweave run`, or this \
         library as the first in LD_PRELOAD"
    ));
    true
}

/// Decides what this launch does.
pub fn make(settings: &Settings, size: usize, mpi: &str, alike: Alike) -> (Plan, Keeper) {
    for error in &crate::config::settings().1 {
        message::line(&format!("{error}; its default is used"));
    }
    let exe = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let command: Vec<String> = std::fs::read("/proc/self/cmdline")
        .unwrap_or_default()
        .split(|&b| b == 0)
        .filter(|a| !a.is_empty())
        .map(|a| String::from_utf8_lossy(a).into_owned())
        .collect();
    let (known, name) = Program::new(settings, &exe, &command, mpi);
    let key = settings.key.clone().unwrap_or_else(|| format!("{name}-n{size}"));
    let mut keeper = Keeper {
        store: open_store(settings),
        key,
        program: exe.to_string_lossy().into_owned(),
        command,
        mpi: mpi.to_string(),
        verbose: settings.verbose,
        before: None,
        decision: String::new(),
        predicted: (0, 0),
        given_nodes: None,
        known,
        places: 0,
    };
    let usable = keeper.load(size);
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
    if overtaken() {
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
    let mut keeper = make(&settings, size, mpi, alike).1;
    keeper.known.started_unseen();
    keeper.decision = "recorded from its first call that was seen, not from MPI_Init".into();
    keeper
}

fn open_store(settings: &Settings) -> Option<Store> {
    let directory = settings.store.clone().map_or_else(Store::default_dir, Ok);
    match directory {
        Ok(directory) => Some(Store::open(directory)),
        Err(error) => {
            message::line(&format!("{error}; nothing is stored"));
            None
        }
    }
}

/// The full path of a store.
fn absolute(store: &Store) -> String {
    let path = store.directory();
    std::path::absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
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

impl Keeper {
    /// Looks for a stored matrix; `true` if there is one for this number of tasks.
    fn load(&mut self, size: usize) -> bool {
        let Some(store) = &self.store else { return false };
        match store.load(&self.key) {
            Ok(None) => false,
            // Rows are missing: better to record anew.
            Ok(Some(record)) if record.matrix.tasks() == size && !record.has_all_tasks() => false,
            Ok(Some(record)) if record.matrix.tasks() == size => {
                self.before = Some(record);
                true
            }
            Ok(Some(record)) => {
                message::line(&format!(
                    "the matrix stored under {} (in {}) is of {} tasks, this job has {size}; it is \
                     left alone and nothing is stored; try: another key (RANKWEAVE_KEY), or none",
                    self.key,
                    store.path_of(&self.key).display(),
                    record.matrix.tasks()
                ));
                self.store = None;
                false
            }
            Err(error) => {
                let keeps = matches!(error.kind(), ErrorKind::NewerVersion | ErrorKind::Io);
                let note = if keeps {
                    "; nothing is stored in this launch"
                } else {
                    "; it is kept aside and this launch records anew"
                };
                message::line(&format!("{error}{note}"));
                if keeps {
                    self.store = None;
                }
                false
            }
        }
    }

    /// What this job's spill files say, in `mode` and with collectives expanded by `model`.
    pub fn job(&self, plan: &Plan, tasks: usize) -> spill::Job {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mut id =
            now.as_ref().map_or(0, |d| d.as_nanos() as u64) ^ u64::from(std::process::id()) << 40;
        // SAFETY: a buffer of this length; what is not filled stays the time.
        unsafe { libc::getrandom((&raw mut id).cast(), size_of::<u64>(), libc::GRND_NONBLOCK) };
        spill::Job {
            id,
            tasks: tasks as u32,
            key: self.key.clone(),
            program: self.program.clone(),
            command: self.command.clone(),
            mpi: self.mpi.clone(),
            mode: plan.mode.name().into(),
            model: crate::config::model().name().into(),
            store: self.store.as_ref().map_or(String::new(), absolute),
            started_at: now.map_or(0, |d| d.as_secs()),
        }
    }

    /// What the spill file of process 0 says of the order and the places.
    pub fn order(&self, plan: &Plan, places: Option<&Places>) -> spill::Order {
        let places = places.cloned().unwrap_or_default();
        spill::Order {
            process_of_task: plan.process_of_task.clone(),
            node_of_process: places.node_of_process,
            node_names: places.node_names,
            place_of_process: places.place_of_process,
            level_costs: places.level_costs,
            level_names: places.level_names,
            decision: self.decision.clone(),
        }
    }

    /// Removes what a flush of this job left in the store.
    pub fn forget_flushed(&self, job: u64) {
        if let Some(store) = &self.store {
            spill::Waiting::of(store).remove(job);
        }
    }

    /// What there is to ask about the order of this launch; `None` without a matrix. Takes the matrix,
    /// which is not needed again.
    ///
    /// Errors: the machine is not known, or is not one.
    pub fn question(
        &mut self,
        settings: &Settings,
        places: Option<&Places>,
    ) -> rw::Result<Option<Question>> {
        let Some(record) = &mut self.before else { return Ok(None) };
        let tasks = record.matrix.tasks();
        let matrix = std::mem::replace(&mut record.matrix, CommMatrix::empty(0));
        let (topology, slots, nodes, signature): (Box<dyn Topology>, Vec<usize>, _, _) =
            match &settings.topology {
                Some(spec) => {
                    let topology = topology::parse(spec)?;
                    let slots = given_slots(settings, tasks, topology.as_ref())?;
                    let nodes = nodes_of(topology.as_ref(), &slots);
                    let signature = order::given(settings, topology.as_ref(), &slots);
                    (topology, slots, nodes, signature)
                }
                None => {
                    let Some(places) = places else {
                        return Err(rw::Error::new(
                            ErrorKind::Infeasible,
                            "the places of the processes could not be found",
                        ));
                    };
                    let tree = topology::from_launch(
                        &places.node_of_process,
                        &places.place_of_process,
                        &places.level_costs,
                    )?;
                    let nodes = places.node_of_process.clone();
                    (Box::new(tree), (0..tasks).collect(), nodes, order::discovered(places))
                }
            };
        if settings.topology.is_some() {
            self.given_nodes = Some(nodes.clone());
        }
        let (known_nodes, names) = self.nodes(places);
        self.places = store::places_of(&known_nodes, &names);
        Ok(Some(Question {
            matrix,
            topology: topology.into(),
            slots,
            nodes,
            options: settings.decide_options(),
            places: signature,
            searchers: settings.searchers,
            store: self.store.clone(),
            key: self.key.clone(),
        }))
    }

    /// There is no order for this launch, for a reason that is said.
    pub fn gave_up(&mut self, why: &str) {
        self.decision = format!("left alone: {why}");
        message::line(&format!("{why}; the ranks are left as the launcher put them"));
    }

    /// The order that a decision means for this launch: process of each task, empty to leave all as
    /// they are.
    pub fn settle(&mut self, decision: Decision) -> Vec<u32> {
        if self.verbose >= 2 {
            message::line(&format!("{}: {}", self.key, decision.reason));
        }
        self.predicted = (decision.cost_before, decision.cost_after);
        self.decision = decision.reason;
        let history = self.before.as_ref().map_or(&[][..], |record| &record.history);
        if decision.changed
            && let Some(back) = self.known.turned_back(history, self.places)
        {
            self.predicted = (decision.cost_before, decision.cost_before);
            self.decision = back;
            return Vec::new();
        }
        if decision.changed { decision.process_of_task } else { Vec::new() }
    }

    /// Says where the time at the start went, if that was asked for.
    pub fn tell_time(&self, clock: &Clock) {
        if self.verbose >= 2 {
            message::line(&format!("{}: {}", self.key, clock.words()));
        }
    }

    /// Looks at what the processes say of constructors that gave them new ranks.
    pub fn judge(&self, tallies: &Tallies, tasks: usize) {
        if let Some(reason) = tallies.verdict() {
            let launch = Launched { program: &self.program, command: &self.command, tasks };
            self.known.found_mixed(self.store.as_ref(), launch, &reason);
        }
    }

    /// Builds the record of this launch, stores it and says what there is to say.
    pub fn keep(
        mut self,
        plan: &Plan,
        places: Option<Places>,
        collected: Collected,
        wall: Duration,
        in_mpi: Option<InMpi>,
    ) {
        let tasks = collected.tasks();
        if collected.incomplete {
            message::line(
                "the matrix could not be gathered on rank 0 (an MPI error, or too little memory \
                 there); nothing is stored; try: rankweave recover",
            );
            return;
        }
        let Some(matrix) = collected.matrix() else { return };
        let places = places.unwrap_or_default();
        let given = crate::config::settings().0.topology.is_some();
        if given && self.given_nodes.is_none() {
            self.given_nodes = self.nodes_of_given(tasks);
        }
        let (nodes, names) = self.nodes(Some(&places));
        let mut launch = Launch {
            mode: plan.mode.name().into(),
            process_of_task: plan.process_of_task.clone(),
            node_of_process: nodes,
            node_names: names,
            place_of_process: if given { Vec::new() } else { places.place_of_process },
            level_costs: if given { Vec::new() } else { places.level_costs },
            level_names: if given { Vec::new() } else { places.level_names },
            wall_seconds: wall.as_secs_f64(),
            in_mpi,
            predicted: self.predicted,
            decision: self.decision.clone(),
            ..Launch::default()
        };
        (launch.internode_bytes, launch.total_bytes) = internode_bytes(&matrix, &launch);
        let mut history = Vec::new();
        let baseline = self.before.take().and_then(|mut before| {
            history = std::mem::take(&mut before.history);
            if launch.process_of_task.is_empty() && plan.mode == Mode::Record {
                None
            } else if before.launch.process_of_task.is_empty() {
                Some(before.launch)
            } else {
                before.baseline
            }
        });
        let mut record = Record {
            key: self.key.clone(),
            program: std::mem::take(&mut self.program),
            command: std::mem::take(&mut self.command),
            mpi: std::mem::take(&mut self.mpi),
            recorded_at: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
            matrix,
            launch,
            baseline,
            unfinished: None,
            identity: String::new(),
            history: Vec::new(),
        };
        self.known.remember(&mut record, &history, plan.job.id);
        if let Some(store) = &self.store
            && let Err(error) =
                crate::signal::without_signal(libc::SIGXFSZ, || store.save_soon(&record))
        {
            message::line(&format!("{error}; the matrix of this launch is not stored"));
        }
        if self.verbose >= 1 {
            message::line(&self.summary(&record));
        }
    }

    /// The node of each process, and the nodes' names: of the topology the user gave, else as found.
    fn nodes(&self, places: Option<&Places>) -> (Vec<u32>, Vec<String>) {
        match (&self.given_nodes, places) {
            (Some(nodes), _) => {
                let count = nodes.iter().max().map_or(0, |&m| m as usize + 1);
                (nodes.clone(), (0..count).map(|i| format!("node{i}")).collect())
            }
            (None, Some(places)) => (places.node_of_process.clone(), places.node_names.clone()),
            (None, None) => (Vec::new(), Vec::new()),
        }
    }

    fn nodes_of_given(&self, tasks: usize) -> Option<Vec<u32>> {
        let settings = &crate::config::settings().0;
        let topology = topology::parse(settings.topology.as_ref()?).ok()?;
        let slots = given_slots(settings, tasks, topology.as_ref()).ok()?;
        Some(nodes_of(topology.as_ref(), &slots))
    }

    fn summary(&self, record: &Record) -> String {
        let launch = &record.launch;
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        let mut text = format!(
            "{}: {} launch, {:.1} MiB sent, {:.1} MiB between nodes, {:.1} s",
            self.key,
            launch.mode,
            mib(launch.total_bytes),
            mib(launch.internode_bytes),
            launch.wall_seconds
        );
        if let Some(in_mpi) = &launch.in_mpi {
            let percent = in_mpi.percent_of(launch.wall_seconds).unwrap_or(0.0);
            let mean = in_mpi.mean_seconds;
            text.push_str(&format!(", {mean:.1} s of it in MPI ({percent:.0} %)"));
        }
        if let Some(baseline) = &record.baseline {
            text.push_str(&format!(
                " (launcher's order: {:.1} MiB between nodes, {:.1} s)",
                mib(baseline.internode_bytes),
                baseline.wall_seconds
            ));
        }
        let helped = self.known.helped(record);
        for part in [self.decision.as_str(), &helped].into_iter().filter(|p| !p.is_empty()) {
            text.push_str("; ");
            text.push_str(part);
        }
        text
    }
}

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
