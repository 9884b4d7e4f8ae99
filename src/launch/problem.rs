//! The mapping problem of a launch, whose answer is a permutation of its ranks.
//!
//! Three signatures contain everything that the answer depends on: the bytes between tasks, the places of the
//! processes, and the options. The names of the nodes are not part of the places, so that another allocation of
//! the same shape has the same signature. A launch with the same signatures finds the answer in the store.

use super::AskedSources;
use super::machine::LaunchMachine;
use crate::base::error::Result;
use crate::base::file;
use crate::decide::{self, ChosenAim, Decision, EarlierOrder};
use crate::mapping::{Objective, rails};
use crate::matrix::{CommMatrix, TrafficSketch};
use crate::options::Settings;
use crate::sources::Choice;
use crate::store::{KeptOrder, Placement, Signature, Store};
use crate::topology::{Rails, Topology};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Jobs of at least this many tasks share the search among several processes, unless the user says
/// otherwise. In smaller jobs sharing takes longer than it saves.
const SHARED_FROM: usize = 1024;
/// Number of processes that then search for nodes.
const SEARCHERS: usize = 4;
/// Pairs of slots whose distances are part of the signature of a topology.
const SAMPLES: usize = 1024;

/// The question which process takes over which task.
pub struct MappingProblem {
    /// What the tasks send each other.
    pub matrix: CommMatrix,
    /// The machine.
    pub topology: Arc<dyn Topology>,
    /// Slot of each process.
    pub slots: Vec<usize>,
    /// Node of each process.
    pub nodes: Vec<u32>,
    /// What is known of the network above the nodes.
    pub choice: Option<Choice>,
    /// The nodes are hosts of the topology that the user gave.
    pub by_host_name: bool,
    /// What the user allows.
    pub options: decide::Options,
    /// What is minimised.
    pub aim: ChosenAim,
    /// How many processes search.
    pub searchers: usize,
    /// The answers to this problem that are in the store.
    pub kept: KeptOrders,
}

/// The answers to one problem that earlier launches kept in the store.
#[derive(Debug, Clone)]
pub struct KeptOrders {
    store: Option<Store>,
    key: String,
    question: KeptOrder,
    limit: Duration,
    /// The traffic of the search that the next answer comes from.
    searched: Option<TrafficSketch>,
}

impl MappingProblem {
    /// The problem of a matrix on the machine of the settings, else on the one that was discovered.
    /// `sources` is what is known of the network. `kept_in` is the store and the key of the answers.
    ///
    /// Errors: the topology of the machine is not known, or the given description is not a valid topology.
    pub fn new(
        matrix: CommMatrix,
        settings: &Settings,
        placement: Option<&Placement>,
        sources: AskedSources,
        kept_in: (Option<Store>, &str),
    ) -> Result<MappingProblem> {
        let tasks = matrix.tasks();
        let machine = LaunchMachine::of(settings, placement, sources, tasks)?;
        let places = match placement.filter(|_| settings.topology.is_none() || machine.by_host_name)
        {
            Some(placement) => signature_of_found(placement, &machine),
            None => signature_of_given(settings, machine.topology.as_ref(), &machine.slots),
        };
        let options = decide::Options::of(settings);
        let aim = ChosenAim::of(options.objective, machine.topology.as_ref());
        let usual = if tasks >= SHARED_FROM { SEARCHERS } else { 1 };
        let searchers = settings.searchers.unwrap_or(usual).max(1);
        let question = KeptOrder {
            matrix: Signature::new().matrix(&matrix).value(),
            places,
            options: signature_of_options(&options, searchers, aim),
            tasks: tasks as u32,
            ..KeptOrder::default()
        };
        let (store, key) = kept_in;
        let kept = KeptOrders {
            store,
            key: key.into(),
            question,
            limit: options.time_limit,
            searched: None,
        };
        let LaunchMachine { topology, slots, nodes, choice, by_host_name, .. } = machine;
        let topology = topology.into();
        let problem = MappingProblem {
            matrix,
            topology,
            slots,
            nodes,
            choice,
            by_host_name,
            options,
            aim,
            searchers,
            kept,
        };
        Ok(problem)
    }
}

impl KeptOrders {
    /// The decision of an earlier launch with the same problem. If its file cannot be used, the result is
    /// `None`, and a new answer replaces the file.
    pub fn find(&self) -> Option<Decision> {
        let limit = self.limit.as_millis() as u64;
        let kept = self.store.as_ref()?.order(&self.key, &self.question, limit).ok()??;
        Some(Decision {
            changed: !kept.process_of_task.is_empty(),
            process_of_task: kept.process_of_task,
            cost_before: kept.cost_before,
            cost_after: kept.cost_after,
            reason: format!("{}, as found in an earlier launch", kept.reason),
            cut: kept.cut_after.is_some(),
        })
    }

    /// The order of an earlier launch with other traffic, which can be adapted.
    pub fn earlier(&self) -> Option<EarlierOrder> {
        let kept = self.store.as_ref()?.earlier_order(&self.key, &self.question)?;
        Some(EarlierOrder { process_of_task: kept.process_of_task, searched: kept.searched? })
    }

    /// The traffic of the search that the answer of this launch comes from; it is kept with the answer.
    pub fn searched_for(&mut self, traffic: TrafficSketch) {
        self.searched = Some(traffic);
    }

    /// Keeps a decision for later launches. If the store refuses it, they find it again themselves.
    /// `now` is in seconds since 1970-01-01 UTC.
    pub fn keep(&self, decision: &Decision, now: u64) {
        let Some(store) = &self.store else { return };
        let process_of_task = match decision.changed {
            true => decision.process_of_task.clone(),
            false => Vec::new(),
        };
        let order = KeptOrder {
            process_of_task,
            cost_before: decision.cost_before,
            cost_after: decision.cost_after,
            reason: decision.reason.clone(),
            cut_after: decision.cut.then_some(self.limit.as_millis() as u64),
            found_at: now,
            searched: self.searched.clone(),
            ..self.question.clone()
        };
        let _ = store.keep_order(&self.key, &order);
    }
}

fn signature_of_options(options: &decide::Options, searchers: usize, aim: ChosenAim) -> u64 {
    let signature = Signature::new()
        .bytes(decide::ENGINE_VERSION.as_bytes())
        .bytes(env!("CARGO_PKG_VERSION").as_bytes())
        .word(options.seed)
        .word(options.min_gain_percent.to_bits())
        .words(options.fixed.iter().map(|&task| u64::from(task)))
        .word(searchers as u64);
    // Orders for hop-bytes that were kept before there was a choice are found again.
    match aim.objective {
        Objective::HopBytes => signature.value(),
        other => signature.bytes(other.name().as_bytes()).value(),
    }
}

/// Signature of places that were discovered, and of the network between their nodes. Rails belong to it where a
/// node has several, and the version of the method where the tasks are spread over them.
fn signature_of_found(placement: &Placement, machine: &LaunchMachine) -> u64 {
    let numbers = |list: &[u32]| list.iter().map(|&n| u64::from(n)).collect::<Vec<u64>>();
    let start = Signature::new().words(numbers(&placement.node_of_process));
    let paths = placement.place_of_process.iter();
    let signature = paths
        .fold(start, |signature, path| signature.words(numbers(path)))
        .words(placement.level_costs.iter().copied());
    let signature = match placement.devices.has_several_rails() {
        true => signature.words(numbers(&placement.devices.rail_of_process)),
        false => signature,
    };
    let signature = match machine.topology.rails() {
        Some(_) => signature.word(rails::VERSION),
        None => signature,
    };
    let network = machine.network_signature;
    // Orders that were kept when no network was known are found again.
    if network == 0 { signature.value() } else { signature.word(network).value() }
}

/// The largest file of a topology whose content is part of its signature.
const LARGEST: u64 = 4 << 30;

/// Signature of a topology that the user gave: its name, the content of its files, and some of its distances,
/// in case it depends on anything else.
fn signature_of_given(settings: &Settings, topology: &dyn Topology, slots: &[usize]) -> u64 {
    let specification = settings.topology.as_deref().unwrap_or_default();
    let mut signature = Signature::new()
        .bytes(specification.as_bytes())
        .bytes(topology.name().as_bytes())
        .words(slots.iter().map(|&slot| slot as u64));
    let rest = specification.split_once(':').map_or("", |(_, rest)| rest);
    let behind_count = rest.split_once(':').map(|(_, file)| file);
    for part in rest.split(['@', ',', ';']).chain([rest]).chain(behind_count) {
        if let Ok(content) = file::read(Path::new(part), LARGEST) {
            signature = signature.bytes(&content);
        }
    }
    if topology.rails().is_some_and(Rails::have_choice) {
        signature = signature.word(rails::VERSION);
    }
    if slots.is_empty() {
        return signature.value();
    }
    // Pairs that a fixed rule picks, spread over all.
    let pair = |k: usize| {
        let mixed = (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = |n: u64| slots[(n % slots.len() as u64) as usize];
        (at(mixed >> 32), at(mixed & 0xffff_ffff))
    };
    let distances = (0..SAMPLES).map(pair).map(|(a, b)| topology.distance(a, b));
    signature.words(distances).value()
}
