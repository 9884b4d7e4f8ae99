//! The order of this launch: kept from an earlier launch that asked the same, or searched for, by rank 0
//! alone or (large jobs) by several processes.
//!
//! What the order depends on is put into three signatures: the bytes between tasks, the places of the
//! processes (not the nodes' names, so that another allocation of the same shape counts as the same),
//! and the options. Rank 0 looks a kept order up and keeps a new one; the others only hear the result.

use crate::comm::private::PrivateComm;
use crate::job::keeper::Keeper;
use crate::job::locate::{Step, locate};
use crate::job::places::Locations;
use crate::job::shared_search::{self, Call};
use crate::mpi::abi::Abi;
use crate::sys::message;
use crate::sys::panic_barrier::guarded;
use crate::sys::step_timer::Clock;
use crate::sys::worker_thread::Failure;
use rw::decide::{self, Decision, Network};
use rw::matrix::CommMatrix;
use rw::options::Settings;
use rw::store::{KeptOrder, Placement, Signature, Store};
use rw::topology::Topology;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// From how many tasks on several processes share the search, if nobody says otherwise: below, sharing
/// it takes longer than it saves.
const SHARED_FROM: usize = 1024;
/// How many then search for nodes.
const SEARCHERS: usize = 4;

/// What is asked.
pub struct Question {
    pub matrix: CommMatrix,
    pub topology: Arc<dyn Topology>,
    /// Slot of each process.
    pub slots: Vec<usize>,
    /// Node of each process.
    pub nodes: Vec<u32>,
    pub options: decide::Options,
    /// Signature of the topology and the slots.
    pub places: u64,
    /// How many processes search, if the user says.
    pub searchers: Option<usize>,
    pub store: Option<Store>,
    pub key: String,
}

/// What rank 0 tells the others once it knows where they are.
#[derive(Debug, Serialize, Deserialize)]
pub enum Word {
    /// Process of each task; empty to leave all as they are.
    Order(Vec<u32>),
    /// Help to find an order.
    Search(Call),
}

/// How far rank 0 gets by itself.
enum Stage {
    Done(Vec<u32>),
    Shared(Box<Shared>),
}

/// A search that others help with.
struct Shared {
    question: Question,
    call: Call,
    network: Arc<Network>,
    asked: KeptOrder,
}

/// Rank 0, which alone knows what is asked.
pub struct Leader<'a> {
    keeper: &'a mut Keeper,
    settings: &'a Settings,
    /// Of the job's start.
    pub clock: &'a mut Clock,
    /// Where the processes are, once that is known.
    pub places: Option<Placement>,
    shared: Option<Shared>,
}

impl<'a> Leader<'a> {
    /// Knows nothing of the places yet.
    pub fn new(keeper: &'a mut Keeper, settings: &'a Settings, clock: &'a mut Clock) -> Self {
        Leader { keeper, settings, clock, places: None, shared: None }
    }

    /// The first step, given what the processes know of their places.
    pub fn first(&mut self, locations: &Locations) -> Step<Word> {
        Step::of(locations, |places| self.answer(places))
    }

    /// What to do, given where the processes are.
    fn answer(&mut self, places: Option<Placement>) -> Word {
        self.places = places;
        self.clock.step("places");
        self.decide()
    }

    /// An order, or a call for help to find one.
    fn decide(&mut self) -> Word {
        let places = self.places.as_ref();
        let stage = guarded(|| Some(begin(self.keeper, self.settings, places, self.clock)));
        match stage.unwrap_or(Stage::Done(Vec::new())) {
            Stage::Done(order) => Word::Order(order),
            Stage::Shared(shared) => {
                let call = shared.call.clone();
                self.shared = Some(*shared);
                Word::Search(call)
            }
        }
    }

    /// The order that comes of the search that was called for.
    fn lead<A: Abi>(&mut self, job: &PrivateComm<A>) -> Vec<u32> {
        let Some(Shared { question, call, network, asked }) = self.shared.take() else {
            return Vec::new();
        };
        let (topology, slots) = (question.topology.as_ref(), &question.slots);
        let order = guarded(|| {
            let answer = shared_search::lead(job, &call, network.clone(), topology, slots);
            self.clock.step("search");
            Some(conclude(self.keeper, &question, network.graph(), answer, asked))
        });
        order.unwrap_or_default()
    }
}

/// The process of each task in this launch; empty to leave all as they are. Collective over `job`,
/// whose processes have heard the first `step`.
pub fn find<A: Abi>(
    job: &PrivateComm<A>,
    step: Step<Word>,
    mut leader: Option<&mut Leader>,
) -> Vec<u32> {
    let answer = leader.as_mut().map(|leader| |places| leader.answer(places));
    match locate(job, step, answer) {
        Some(Word::Order(order)) => order,
        Some(Word::Search(call)) => {
            let order = match leader {
                Some(leader) => Some(leader.lead(job)),
                None => {
                    shared_search::help(job, &call);
                    None
                }
            };
            job.broadcast_value(order.as_ref()).unwrap_or_default()
        }
        None => Vec::new(),
    }
}

/// Looks for a kept order, or searches, or finds that others are needed for that.
fn begin(
    keeper: &mut Keeper,
    settings: &Settings,
    places: Option<&Placement>,
    clock: &mut Clock,
) -> Stage {
    let mut question = match keeper.question(settings, places) {
        Ok(Some(question)) => question,
        Ok(None) => return Stage::Done(Vec::new()),
        Err(error) => {
            keeper.gave_up(&error.to_string());
            return Stage::Done(Vec::new());
        }
    };
    clock.step("question");
    let asked = question.asked();
    let limit = question.options.time_limit;
    let kept = question.store.as_ref().and_then(|store| {
        // Whatever is wrong with it, a new one is found and takes its place.
        store.order(&question.key, &asked, limit.as_millis() as u64).unwrap_or_default()
    });
    clock.step("kept order");
    if let Some(kept) = kept {
        return Stage::Done(keeper.settle(question.known(kept)));
    }
    let tasks = question.matrix.tasks();
    if question.searchers() > 1 {
        let graph = question.matrix.affinity();
        let edges = graph.edges();
        let network = Network::new(
            graph,
            question.topology.as_ref(),
            &question.slots,
            &question.nodes,
            &question.options.fixed,
            decide::preset_for(tasks),
        );
        if let Some(network) = network.filter(|_| shared_search::has_room(0, tasks, edges)) {
            let call = Call::new(&network, question.searchers(), question.options.seed, limit);
            // The graph is all that is needed from here on.
            question.matrix = CommMatrix::empty(0);
            clock.step("affinity");
            let network = Arc::new(network);
            return Stage::Shared(Box::new(Shared { question, call, network, asked }));
        }
    }
    let pairs = rw::matrix::Kind::ALL.map(|kind| question.matrix.layer(kind).pairs());
    if !shared_search::has_room(0, tasks, pairs.iter().sum()) {
        keeper.gave_up("there is too little memory to search for an order");
        return Stage::Done(Vec::new());
    }
    let Question { matrix, topology, slots, options, store, key, .. } = question;
    let decided = shared_search::careful(0, limit, move || {
        Some(decide::decide(&matrix, topology.as_ref(), &slots, &options))
    });
    clock.step("search");
    Stage::Done(match decided {
        Ok(Ok(decision)) => {
            keep(store, key, asked, &decision, limit);
            keeper.settle(decision)
        }
        Ok(Err(error)) => {
            keeper.gave_up(&error.to_string());
            Vec::new()
        }
        Err(failure) => {
            keeper.gave_up(&words(&failure, limit));
            Vec::new()
        }
    })
}

/// What comes of a shared search.
fn conclude(
    keeper: &mut Keeper,
    question: &Question,
    graph: &rw::matrix::Graph,
    answer: Result<shared_search::Answer, Failure>,
    asked: KeptOrder,
) -> Vec<u32> {
    let limit = question.options.time_limit;
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => {
            keeper.gave_up(&words(&failure, limit));
            return Vec::new();
        }
    };
    if answer.failed > 0 {
        message::line(&format!(
            "{} of the processes that search for an order had no answer; that of the others is used",
            answer.failed
        ));
    }
    let judged = decide::judge(
        graph,
        question.topology.as_ref(),
        &question.slots,
        answer.process_of_task,
        &question.options,
    );
    match judged {
        Ok(decision) => {
            let decision = Decision { cut: answer.cut, ..decision };
            // An answer with a share left out is not what the next launch would find.
            if answer.failed == 0 {
                keep(question.store.clone(), question.key.clone(), asked, &decision, limit);
            }
            keeper.settle(decision)
        }
        Err(error) => {
            keeper.gave_up(&error.to_string());
            Vec::new()
        }
    }
}

/// Keeps an order for later launches, beside the job's start: the file system may be slow. That it
/// cannot be kept is no news: it is found again.
fn keep(store: Option<Store>, key: String, asked: KeptOrder, decision: &Decision, limit: Duration) {
    let Some(store) = store else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let order = KeptOrder {
        process_of_task: if decision.changed { decision.process_of_task.clone() } else { vec![] },
        cost_before: decision.cost_before,
        cost_after: decision.cost_after,
        reason: decision.reason.clone(),
        cut_after: decision.cut.then_some(limit.as_millis() as u64),
        found_at: now.map_or(0, |d| d.as_secs()),
        ..asked
    };
    crate::sys::worker_thread::beside(move || {
        let _ =
            crate::sys::signal::without_signal(libc::SIGXFSZ, || store.keep_order(&key, &order));
    });
}

fn words(failure: &Failure, limit: Duration) -> String {
    match failure {
        Failure::TooLong => {
            format!("{failure} ({} s, RANKWEAVE_TIME_LIMIT)", limit.as_secs_f64())
        }
        _ => failure.to_string(),
    }
}

impl Question {
    /// How many processes search.
    fn searchers(&self) -> usize {
        let usual = if self.matrix.tasks() >= SHARED_FROM { SEARCHERS } else { 1 };
        self.searchers.unwrap_or(usual).max(1)
    }

    /// The question as signatures.
    fn asked(&self) -> KeptOrder {
        let options = &self.options;
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        KeptOrder {
            matrix: Signature::new().matrix(&self.matrix).value(),
            places: self.places,
            options: Signature::new()
                .bytes(decide::ENGINE_VERSION.as_bytes())
                .bytes(version)
                .word(options.seed)
                .word(options.min_gain_percent.to_bits())
                .words(options.fixed.iter().map(|&task| u64::from(task)))
                .word(self.searchers() as u64)
                .value(),
            tasks: self.matrix.tasks() as u32,
            ..KeptOrder::default()
        }
    }

    /// The decision that a kept order stands for.
    fn known(&self, kept: KeptOrder) -> Decision {
        let changed = !kept.process_of_task.is_empty();
        Decision {
            changed,
            process_of_task: kept.process_of_task,
            cost_before: kept.cost_before,
            cost_after: kept.cost_after,
            reason: format!("{}, as found in an earlier launch", kept.reason),
            cut: kept.cut_after.is_some(),
        }
    }
}

/// Signature of places that were discovered.
pub fn discovered(places: &Placement) -> u64 {
    let numbers = |list: &[u32]| list.iter().map(|&n| u64::from(n)).collect::<Vec<u64>>();
    let start = Signature::new().words(numbers(&places.node_of_process));
    let paths = places.place_of_process.iter();
    paths
        .fold(start, |signature, path| signature.words(numbers(path)))
        .words(places.level_costs.iter().copied())
        .value()
}

/// Signature of a topology that the user gave: what it is called, the files it comes from, and, should
/// it come from elsewhere too, some of its distances.
pub fn given(settings: &Settings, topology: &dyn Topology, slots: &[usize]) -> u64 {
    const SAMPLES: usize = 1024;
    let spec = settings.topology.as_deref().unwrap_or_default();
    let mut signature = Signature::new()
        .bytes(spec.as_bytes())
        .bytes(topology.name().as_bytes())
        .words(slots.iter().map(|&slot| slot as u64));
    let rest = spec.split_once(':').map_or("", |(_, rest)| rest);
    for part in rest.split(['@', ',', ';']).chain([rest]) {
        if let Ok(content) = std::fs::read(part) {
            signature = signature.bytes(&content);
        }
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
