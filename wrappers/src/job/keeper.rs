//! What rank 0 keeps in mind from the start of a job to its end, and what it stores then.

use crate::job::given::{given_slots, nodes_of};
use crate::job::past::{Launched, Program};
use crate::job::plan::{Mode, Plan};
use crate::job::search::{self, Question};
use crate::sys::message;
use crate::sys::step_timer::Clock;
use rw::base::error::ErrorKind;
use rw::decide::Decision;
use rw::decide::mixed_ranks::Tallies;
use rw::matrix::{Collected, CommMatrix};
use rw::options::{Settings, Spill};
use rw::store::spill::candidates;
use rw::store::{
    self, Constructed, InMpi, Launch, Placement, Record, RefusedRecords, Store, spill,
};
use rw::topology::{self, Topology};
use std::time::{Duration, SystemTime};

/// What a launch came to.
#[derive(Debug)]
pub struct Measured {
    pub collected: Collected,
    /// From MPI_Init to MPI_Finalize on rank 0.
    pub wall: Duration,
    pub in_mpi: Option<InMpi>,
    /// The orders of topologies.
    pub constructed: Vec<Constructed>,
}

/// What rank 0 keeps until the end.
#[derive(Debug)]
pub struct Keeper {
    /// `None`: nothing can be stored there, and that was said.
    pub store: Option<Store>,
    /// Instead of `store`: one whose record in place could not be read and stays, and the problem. The
    /// record of this launch waits on the node.
    blocked: Option<(Store, String)>,
    /// Under which the record is stored.
    pub key: String,
    program: String,
    command: Vec<String>,
    mpi: String,
    verbose: u8,
    before: Option<Record>,
    /// What was decided about the ranks, and why: a sentence for the record, or nothing.
    pub decision: String,
    predicted: (u128, u128),
    /// Node of each process in a topology the user gave.
    given_nodes: Option<Vec<u32>>,
    /// What is known of the program from before.
    pub known: Program,
    /// Hash of the places of this launch, for comparison with earlier ones.
    places: u32,
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

/// The store refused the record: it waits on this node, where the user lets files be kept.
fn keep_elsewhere(record: &Record, store: &Store, problem: &str) {
    let spill = &crate::mpi::config::settings().0.spill;
    let directories = if *spill == Spill::Off { Vec::new() } else { candidates(spill.directory()) };
    // SAFETY: no preconditions.
    let user = unsafe { libc::geteuid() };
    let mut reason = "RANKWEAVE_SPILL is off".to_string();
    for directory in directories {
        // For a command that is typed anywhere.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let place = RefusedRecords::of(&directory, user);
        match crate::sys::signal::without_signal(libc::SIGXFSZ, || place.keep(record, store)) {
            Ok(path) => {
                message::line(&format!(
                    "{problem}; the matrix of this launch waits in {}; when the store can be \
                     written, on this node: rankweave recover {}",
                    path.display(),
                    directory.display()
                ));
                return;
            }
            Err(error) => reason = error.to_string(),
        }
    }
    message::line(&format!("{problem}; the matrix of this launch is not stored ({reason})"));
}

impl Keeper {
    /// For a launch of `size` tasks of this process's program; `mpi` is the MPI library's own description.
    pub fn new(settings: &Settings, size: usize, mpi: &str) -> Keeper {
        let exe = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        let command: Vec<String> = std::fs::read("/proc/self/cmdline")
            .unwrap_or_default()
            .split(|&b| b == 0)
            .filter(|a| !a.is_empty())
            .map(|a| String::from_utf8_lossy(a).into_owned())
            .collect();
        Keeper::of(settings, size, mpi, (exe, command), open_store(settings))
    }

    /// For a program with its command line.
    pub(super) fn of(
        settings: &Settings,
        size: usize,
        mpi: &str,
        (exe, command): (std::path::PathBuf, Vec<String>),
        store: Option<Store>,
    ) -> Keeper {
        let (known, name) = Program::new(settings, &exe, &command, mpi);
        let key = settings.key.clone().unwrap_or_else(|| format!("{name}-n{size}"));
        Keeper {
            store,
            blocked: None,
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
        }
    }

    /// Looks for a stored matrix; `true` if there is one for this number of tasks.
    pub fn load(&mut self, size: usize, spill: &Spill) -> bool {
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
                let store = if keeps { self.store.take() } else { None };
                let note = match (keeps, spill) {
                    (false, _) => "it is kept aside and this launch records anew",
                    (true, Spill::Off) => "nothing is stored in this launch",
                    (true, _) => {
                        self.blocked = store.map(|store| (store, error.to_string()));
                        "the record of this launch is to wait on this node"
                    }
                };
                message::line(&format!("{error}; {note}"));
                false
            }
        }
    }

    /// What happens to the record of this launch, in a word; for tests.
    #[cfg(test)]
    pub(super) fn stores(&self) -> &'static str {
        match (&self.store, &self.blocked) {
            (Some(_), _) => "stored",
            (None, Some(_)) => "waits on the node",
            (None, None) => "not stored",
        }
    }

    /// The order's costs as predicted; for tests.
    #[cfg(test)]
    pub(super) fn predicted(&self) -> (u128, u128) {
        self.predicted
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
            mode: plan.mode.name(),
            model: crate::mpi::config::model().name().into(),
            store: self.store.as_ref().map_or(String::new(), absolute),
            started_at: now.map_or(0, |d| d.as_secs()),
        }
    }

    /// What the spill file of process 0 says of the order and the places.
    pub fn order(&self, plan: &Plan, places: Option<&Placement>) -> spill::Order {
        spill::Order {
            process_of_task: plan.process_of_task.clone(),
            placement: places.cloned().unwrap_or_default(),
            decision: self.decision.clone(),
        }
    }

    /// Removes what a flush of this job left in the store.
    pub fn forget_flushed(&self, job: u64) {
        if let Some(store) = &self.store {
            // What stays is found again.
            let _ = spill::Waiting::of(store).remove(job);
        }
    }

    /// What there is to ask about the order of this launch; `None` without a matrix. Takes the matrix,
    /// which is not needed again.
    ///
    /// Errors: the machine is not known, or is not one.
    pub fn question(
        &mut self,
        settings: &Settings,
        places: Option<&Placement>,
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
                    let signature = search::given(settings, topology.as_ref(), &slots);
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
                    (Box::new(tree), (0..tasks).collect(), nodes, search::discovered(places))
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
            options: rw::decide::Options::of(settings),
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
    pub fn keep(mut self, plan: &Plan, places: Option<Placement>, measured: Measured) {
        let Measured { collected, wall, in_mpi, constructed } = measured;
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
        let given = crate::mpi::config::settings().0.topology.is_some();
        if given && self.given_nodes.is_none() {
            self.given_nodes = self.nodes_of_given(tasks);
        }
        let placement = match self.nodes(Some(&places)) {
            (nodes, names) if given => Placement::of_nodes(nodes, names),
            _ => places,
        };
        let mut launch = Launch {
            mode: plan.mode.name(),
            process_of_task: plan.process_of_task.clone(),
            placement,
            wall_seconds: wall.as_secs_f64(),
            in_mpi,
            predicted: self.predicted,
            decision: self.decision.clone(),
            ..Launch::default()
        };
        launch.internode_bytes = matrix.bytes_between(|task| launch.node_of(task));
        launch.total_bytes = matrix.total_bytes();
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
            constructed,
        };
        self.known.remember(&mut record, &history, plan.job.id);
        if let Some(store) = &self.store
            && let Err(error) =
                crate::sys::signal::without_signal(libc::SIGXFSZ, || store.save_soon(&record))
        {
            keep_elsewhere(&record, store, &error.to_string());
        }
        if let Some((store, problem)) = &self.blocked {
            keep_elsewhere(&record, store, problem);
        }
        if self.verbose >= 1 {
            message::line(&self.summary(&record));
        }
    }

    /// The node of each process, and the nodes' names: of the topology the user gave, else as found.
    fn nodes(&self, places: Option<&Placement>) -> (Vec<u32>, Vec<String>) {
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
        let settings = &crate::mpi::config::settings().0;
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
