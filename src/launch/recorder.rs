//! Rank 0 keeps what was decided from the start of a launch to its end. Together with what was measured it
//! becomes the record.

use super::program_history::ProgramHistory;
use super::whose_matrix::whose_matrix;
use super::{
    Action, AskedSources, Instructions, Known, MappingProblem, Message, PlacedRanks, Policy,
    Program, RanksFound, Storage, Unasked, UserList, UserTopology,
};
use crate::base::error::{Error, Result};
use crate::base::quantity::{bytes, seconds, whole_percent};
use crate::decide::mixed_ranks::Tallies;
use crate::decide::{Decision, kept};
use crate::matrix::{Collected, CommMatrix, Kind};
use crate::options::{Settings, Spill};
use crate::store::{
    self, Constructed, Finding, Fitting, InMpi, Launch, LaunchMode, Placement, Record, Unfinished,
    Verdict, spill,
};
use std::time::Duration;

/// What rank 0 knows of this launch, for its record.
#[derive(Debug)]
pub struct LaunchRecorder {
    pub(super) settings: Settings,
    program: Program,
    pub(super) key: String,
    pub(super) storage: Storage,
    /// What is needed to ask the sources of the network.
    pub(super) sources: Unasked,
    history: ProgramHistory,
    /// The matrix of the record in place, until [`Self::problem`] takes it.
    pub(super) matrix: Option<CommMatrix>,
    /// The launch of the record in place, and the one that it was compared with.
    before: Option<(Launch, Option<Launch>)>,
    /// The program is in the list of `--allow`.
    allowed: bool,
    /// What was decided about the ranks, and why: a sentence for the record, or empty.
    decision: String,
    /// Hop-bytes of the launcher's order and of the one used; both 0 without a prediction.
    predicted: (u128, u128),
    /// Node of each process in a topology that the user gave.
    given_nodes: Option<Vec<u32>>,
    /// The nodes are hosts of the topology that the user gave.
    by_host_name: bool,
    /// What is known of the network above the nodes, in one sentence.
    network: Option<String>,
    /// What the search minimises, and why, until it is printed.
    aim: Option<String>,
    /// Descriptions of the network that cannot be used, and why.
    network_problems: Vec<Error>,
    /// Hash of the places of this launch, for comparison with earlier ones.
    places: u32,
    /// The verbosity from which on the user is told whose matrix is used, and the sentence about it.
    source: Option<(u8, String)>,
    /// What the launcher was told about the places of the ranks.
    placed: Option<PlacedRanks>,
    /// Where the ranks were found, with their places by launcher rank, once that is known.
    found: Option<(RanksFound, Placement)>,
}

/// The message about a description of the network that cannot be used.
fn unused_description(error: &Error) -> Message {
    Message::from(error).beginning("a description of the network cannot be used: ").meaning(
        "this launch asks the next source; if no source knows the network, all nodes count as equally far from \
         each other",
    )
}

/// The ranks of a launch after a decision.
#[derive(Debug, PartialEq, Eq)]
pub struct Settled {
    /// Process of each task; empty for the launcher's order.
    pub process_of_task: Vec<u32>,
    /// What the user has to know.
    pub messages: Vec<Message>,
}

/// How a launch went.
#[derive(Debug)]
pub struct LaunchEnd<'a> {
    /// What rank 0 told its processes to do.
    pub instructions: &'a Instructions,
    /// Where they were, if that could be found.
    pub placement: Option<Placement>,
    /// What they sent.
    pub collected: Collected,
    /// From MPI_Init to MPI_Finalize on rank 0.
    pub wall: Duration,
    /// Time in MPI; `None` if it was not measured.
    pub in_mpi: Option<InMpi>,
    /// The permutations that constructors of topologies gave.
    pub constructed: Vec<Constructed>,
    /// The error code that the program gave to MPI_Abort before it finalised MPI; `None` if it did not call it.
    pub aborted: Option<i32>,
    /// When it ended, seconds since 1970-01-01 UTC.
    pub now: u64,
}

impl LaunchRecorder {
    /// A recorder for a launch that follows this policy.
    pub fn new(known: Known, policy: &Policy, settings: &Settings) -> LaunchRecorder {
        let Known { facts, program, storage, fitting, placed, .. } = known;
        let source = fitting.as_ref().map(whose_matrix);
        let counts = facts.is_left_to_us();
        let (history, matrix, before) = match fitting {
            // The times of other users' launches say nothing about this user's.
            Some(Fitting { record, other_store: Some(_), .. }) => {
                (Vec::new(), Some(record.matrix), None)
            }
            Some(Fitting { record, .. }) => {
                // What another input took says nothing about this launch.
                let is_same = store::work_of(&record.command, &record.mpi) == program.work;
                let before = is_same.then_some((record.launch, record.baseline));
                (record.history, Some(record.matrix), before)
            }
            None => (Vec::new(), None, None),
        };
        LaunchRecorder {
            settings: settings.clone(),
            history: ProgramHistory::new(history, program.work, counts),
            key: facts.key,
            program,
            sources: Unasked::new(settings, storage.store().cloned()),
            storage,
            matrix: matrix.filter(|_| policy.action == Action::Reorder),
            before,
            allowed: facts.listed == UserList::Allowed,
            decision: policy.sentence(),
            given_nodes: None,
            by_host_name: false,
            network: None,
            aim: None,
            network_problems: Vec::new(),
            places: 0,
            source,
            predicted: placed.as_ref().map_or((0, 0), |placed| placed.predicted),
            placed: placed.filter(|_| facts.placed && policy.action != Action::Shuffle),
            found: None,
        }
    }

    /// Notes that the start of this launch was not seen: nothing was decided, and its time cannot be
    /// compared.
    pub fn started_unseen(&mut self) {
        self.history.started_unseen();
        self.decision =
            "recorded from the first MPI call that the library saw, not from MPI_Init".into();
    }

    /// The predicted hop-bytes of the launcher's order and of the one used; for tests.
    #[cfg(test)]
    pub(super) fn predicted(&self) -> (u128, u128) {
        self.predicted
    }

    /// Seed of randomized algorithms.
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// Key of the record.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The description of this job for its spill files. `id` is a random number, `now` is in seconds
    /// since 1970-01-01 UTC.
    pub fn job(&self, id: u64, tasks: usize, action: Action, now: u64) -> spill::JobDescription {
        spill::JobDescription {
            id,
            tasks: tasks as u32,
            key: self.key.clone(),
            program: self.program.executable.clone(),
            command: self.program.command.clone(),
            mpi: self.program.mpi.clone(),
            mode: if self.placed.is_some() { LaunchMode::Place } else { action.launch_mode() },
            model: String::new(),
            store: self.storage.directory(),
            started_at: now,
        }
    }

    /// The rank order and the places, for the spill file of process 0.
    pub fn order(&self, process_of_task: &[u32], placement: Option<&Placement>) -> spill::Order {
        let (process_of_task, placement) = match self.as_placed() {
            Some((order, placement)) => (order, Some(placement)),
            None => (process_of_task.to_vec(), placement.cloned()),
        };
        spill::Order {
            process_of_task,
            placement: placement.unwrap_or_default(),
            decision: self.decision.clone(),
        }
    }

    /// Whether the launcher was told where to place the ranks.
    pub fn is_placed(&self) -> bool {
        self.placed.is_some()
    }

    /// Compares the places of the processes with what the launcher was told, at the start of the job or at its
    /// end. Returns a message if the launcher did not do it, the first time only.
    pub fn check_places(&mut self, placement: &Placement) -> Option<Message> {
        let placed = self.placed.as_ref()?;
        let found = placed.compare(placement);
        let is_new = self.found.as_ref().is_none_or(|(before, _)| *before != found);
        self.decision = found.sentence();
        let message = found.message().filter(|_| is_new);
        self.found = Some((found, placement.clone()));
        message
    }

    /// The rank order and the places of a launch whose ranks the launcher placed as it was told.
    fn as_placed(&self) -> Option<(Vec<u32>, Placement)> {
        let (placed, (found, placement)) = (self.placed.as_ref()?, self.found.as_ref()?);
        let is_placed = *found == RanksFound::AsMeant;
        is_placed.then(|| (placed.process_of_task.clone(), placed.in_launchers_order(placement)))
    }

    /// Removes the parts of the matrix that this job put into the store while it ran.
    fn forget_flushed(&self, job: u64) {
        if let Some(store) = self.storage.store() {
            // A part that cannot be removed is found again by 'rankweave recover'.
            let _ = spill::Waiting::of(store).remove(job);
        }
    }

    /// The mapping problem of this launch, with what the sources of the network said. `None` if there is no matrix, and
    /// at the second call.
    ///
    /// Errors: the topology of the machine is not known, or the given description is not a valid topology.
    pub fn problem(
        &mut self,
        placement: Option<&Placement>,
        sources: AskedSources,
    ) -> Result<Option<MappingProblem>> {
        let Some(matrix) = self.matrix.take() else { return Ok(None) };
        let (store, settings) = (self.storage.store().cloned(), &self.settings);
        let kept_in = (store, self.key.as_str());
        let problem = MappingProblem::new(matrix, settings, placement, sources, kept_in)?;
        self.by_host_name = problem.by_host_name;
        if self.settings.topology.is_some() && !problem.by_host_name {
            self.given_nodes = Some(problem.nodes.clone());
        }
        if let Some(choice) = &problem.choice {
            self.network = Some(choice.sentence());
            self.network_problems = choice.problems().cloned().collect();
        }
        self.aim = Some(problem.aim.sentence());
        let placement = self.placement(placement.cloned());
        self.places = store::places_of(&placement.node_of_process, &placement.node_names);
        Ok(Some(problem))
    }

    /// Notes that no permutation was found for this launch. `why` says what happened, perhaps with advice.
    pub fn gave_up(&mut self, why: Message) -> Message {
        self.decision = kept(why.happened());
        why.meaning("this launch keeps the launcher's order")
    }

    /// The ranks of this launch after a decision. The times of earlier launches can overrule it.
    pub fn settle(&mut self, decision: Decision) -> Settled {
        let mut messages = Vec::new();
        if let Some((from, source)) = &self.source
            && self.settings.verbose >= *from
        {
            messages.push(Message::new(format!("{}: {source}", self.key)));
        }
        messages.extend(std::mem::take(&mut self.network_problems).iter().map(unused_description));
        if self.settings.verbose >= 2 {
            let known = [self.network.take(), self.aim.take()].into_iter().flatten();
            messages.extend(known.map(|known| Message::new(format!("{}: {known}", self.key))));
            messages.push(Message::new(format!("{}: {}", self.key, decision.reason)));
        }
        self.predicted = (decision.cost_before, decision.cost_after);
        self.decision = decision.reason;
        let mut process_of_task = decision.process_of_task;
        if !decision.changed {
            process_of_task.clear();
        } else if let Some((objection, message)) = self.history.objection(self.places) {
            process_of_task.clear();
            self.predicted.1 = decision.cost_before;
            self.decision = objection;
            messages.push(message);
        }
        Settled { process_of_task, messages }
    }

    /// Judges whether the program mixes the ranks of topologies with those of other communicators, from
    /// what the processes say about constructors that gave them new ranks. If it does, keeps a verdict
    /// for later launches and returns a message.
    pub fn judge(&self, tallies: &Tallies, tasks: usize, now: u64) -> Option<Message> {
        let reason = tallies.verdict().filter(|_| !self.allowed)?;
        let known = self.storage.store().filter(|_| !self.program.identity.is_empty());
        let kept = known.map(|store| {
            let verdict = Verdict {
                program: self.program.executable.clone(),
                launch: self.program.command.clone(),
                tasks: tasks as u64,
                checked_at: now,
                seeds: Vec::new(),
                finding: Finding::MixesRanks,
                reason: reason.clone(),
                compared: None,
            };
            store.keep_mixed(&self.program.identity, &verdict)
        });
        let later = match kept {
            // 'rankweave check' found that its results do not change.
            Some(Ok(false)) => return None,
            Some(Ok(true)) => {
                "in later launches, constructors of topologies give no new ranks".to_string()
            }
            Some(Err(error)) => {
                format!("{}; this finding is not stored for later launches", error.problem())
            }
            None => "this finding is not stored for later launches".into(),
        };
        let happened = format!(
            "{reason}: the program seems to mix the ranks of the old and the new communicator, and \
             its results may be wrong"
        );
        Some(Message::new(happened).meaning(later).advice(format!(
            "ask each communicator for its own ranks; run 'rankweave check' to be sure; use --allow {} if \
             the program is right",
            self.program.list_name()
        )))
    }

    /// Makes the record of this launch and stores it. A record that the store refuses waits on the node, in a
    /// file of `user`. Returns the messages for the user, and whether the counters of the processes are not
    /// needed any more.
    pub fn keep(mut self, end: LaunchEnd<'_>, user: u32) -> (Vec<Message>, bool) {
        if end.collected.incomplete {
            let message = Message::new(
                "the matrix could not be gathered on rank 0 (an MPI error, or too little memory there)",
            )
            .meaning("nothing is stored");
            let said = match self.settings.spill {
                Spill::Off => message,
                _ => message.advice("run 'rankweave recover' on each node of the job"),
            };
            return (vec![said], false);
        }
        let job = end.instructions.job.id;
        let misplaced = end.placement.as_ref().and_then(|found| self.check_places(found));
        let record = self.record(end);
        let is_left_out = self.storage.leaves_out(&record, self.settings.shortest);
        let (problem, is_kept) = match is_left_out {
            true => (None, true),
            false => self.storage.keep(&record, &self.settings.spill, user),
        };
        let summary = (self.settings.verbose >= 1).then(|| Message::new(self.summary(&record)));
        let summary = summary.map(|line| match is_left_out {
            true => line.meaning("it is not stored, because it was shorter than --shortest"),
            false => line,
        });
        if is_kept {
            self.forget_flushed(job);
        }
        (misplaced.into_iter().chain(problem).chain(summary).collect(), is_kept)
    }

    fn record(&mut self, end: LaunchEnd<'_>) -> Record {
        let tasks = end.collected.tasks();
        let matrix = end.collected.matrix();
        let by_name = UserTopology::by_host_name(&self.settings, end.placement.as_ref());
        self.by_host_name |= by_name.is_some_and(|network| network.is_ok());
        if self.given_nodes.is_none() && !self.by_host_name {
            let given = UserTopology::read(&self.settings, tasks);
            self.given_nodes = given.and_then(|given| Some(given.ok()?.nodes));
        }
        let LaunchEnd { instructions, in_mpi, constructed, now, .. } = end;
        let placed = self.as_placed();
        let mode = match (&self.placed, &placed) {
            (None, _) => instructions.action.launch_mode(),
            (Some(_), Some(_)) => LaunchMode::Place,
            (Some(_), None) => LaunchMode::Misplaced,
        };
        if mode == LaunchMode::Misplaced {
            self.predicted = (0, 0);
        }
        let (process_of_task, placement) = match placed {
            Some((order, placement)) => (order, Some(placement)),
            None => (instructions.process_of_task.clone(), end.placement),
        };
        let mut launch = Launch {
            mode,
            process_of_task,
            placement: self.placement(placement),
            wall_seconds: end.wall.as_secs_f64(),
            in_mpi,
            predicted: self.predicted,
            decision: self.decision.clone(),
            ..Launch::default()
        };
        launch.total_bytes = matrix.total_bytes();
        launch.internode_bytes = matrix.bytes_between(|task| launch.node_of(task));
        let baseline = self.baseline(&launch, instructions.action);
        let mut record = Record {
            program: self.program.executable.clone(),
            command: self.program.command.clone(),
            mpi: self.program.mpi.clone(),
            recorded_at: now,
            launch,
            baseline,
            identity: self.program.identity.clone(),
            constructed,
            ..Record::of_matrix(&self.key, matrix)
        };
        match end.aborted {
            // The time of such a launch is not compared with that of others.
            Some(code) => {
                self.history.copy_to(&mut record);
                let how = format!("the program called MPI_Abort with error code {code}");
                record.unfinished = Some(Unfinished { how, ..Unfinished::default() });
            }
            None => self.history.add_to(&mut record, instructions.job.id, now),
        }
        record
    }

    /// The latest launch in the launcher's order before this one, for comparison; `None` if this launch
    /// only records.
    fn baseline(&mut self, launch: &Launch, action: Action) -> Option<Launch> {
        let (before, baseline) = self.before.take()?;
        if launch.process_of_task.is_empty() && action == Action::Record {
            None
        } else if before.process_of_task.is_empty() {
            Some(before)
        } else {
            baseline
        }
    }

    /// The places of the processes: in the topology that the user gave, else as discovered.
    fn placement(&self, found: Option<Placement>) -> Placement {
        let found = found.unwrap_or_default();
        match &self.given_nodes {
            Some(nodes) => Placement::of_nodes(nodes.clone(), UserTopology::node_names(nodes)),
            // The discovered paths inside nodes do not belong to the topology that the user gave.
            None if self.settings.topology.is_some() && !self.by_host_name => {
                Placement::of_nodes(found.node_of_process, found.node_names)
            }
            None => found,
        }
    }

    fn summary(&self, record: &Record) -> String {
        let launch = &record.launch;
        let order = match (launch.is_reordered(), launch.mode) {
            (false, _) => "launcher's order",
            (true, store::LaunchMode::Shuffle) => "ranks shuffled",
            (true, store::LaunchMode::Place) => "ranks placed by the launcher",
            (true, _) => "ranks reordered",
        };
        let modelled = match record.matrix.layer(Kind::Collective).total().bytes {
            0 => String::new(),
            some => format!(" ({} of it modelled for collective calls)", bytes(some)),
        };
        let mut text = format!(
            "{}: {order}, {} sent{modelled}, {} between nodes, {}",
            self.key,
            bytes(launch.total_bytes),
            bytes(launch.internode_bytes),
            seconds(launch.wall_seconds)
        );
        if let Some(in_mpi) = &launch.in_mpi {
            let percent = in_mpi.percent_of(launch.wall_seconds).unwrap_or(0.0);
            let mean = seconds(in_mpi.mean_seconds);
            let error = 100.0 * in_mpi.error_seconds / launch.wall_seconds.max(1e-9);
            let error = if error < 0.5 { String::new() } else { format!(" ± {error:.0}") };
            text.push_str(&format!(", {mean} of it in MPI ({}{error})", whole_percent(percent)));
        }
        if let Some(baseline) = record.baseline.as_ref().filter(|_| launch.is_reordered()) {
            text.push_str(&format!(
                " (launcher's order: {} between nodes, {})",
                bytes(baseline.internode_bytes),
                seconds(baseline.wall_seconds)
            ));
        }
        let effect = self.history.effect(record);
        let end = record.unfinished.as_ref().map_or("", |unfinished| unfinished.how.as_str());
        for part in [self.decision.as_str(), &effect, end].into_iter().filter(|p| !p.is_empty()) {
            text.push_str("; ");
            text.push_str(part);
        }
        text
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
