//! The permutation of this launch: one that an earlier launch with the same mapping problem found, or the
//! result of a search.
//!
//! Rank 0 searches alone, or together with other processes in large jobs. Rank 0 looks up kept
//! permutations and keeps new ones. The other processes receive the result.

use crate::comm::private::PrivateComm;
use crate::job::constructed::SAID;
use crate::job::locate::{Step, locate};
use crate::job::places::Locations;
use crate::job::rank_zero::{now, say};
use crate::job::shared_search::{self, Call};
use crate::job::survey::{self, SurveyCall};
use crate::mpi::abi::Abi;
use crate::sys::message;
use crate::sys::panic_barrier::guarded;
use crate::sys::signal::without_signal;
use crate::sys::step_timer::StepTimer;
use crate::sys::worker_thread::{self, Failure};
use rw::decide::{self, Decision, Network, Question};
use rw::launch::{AskedSources, KeptOrders, LaunchRecorder, MappingProblem, Message};
use rw::mapping::Objective;
use rw::matrix::{CommMatrix, Kind, SparseMatrix, TrafficSketch};
use rw::store::Placement;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What rank 0 broadcasts once it knows where the processes are.
#[derive(Debug, Serialize, Deserialize)]
pub enum SearchReply {
    /// The process of each task; empty for the launcher's order.
    Order(Vec<u32>),
    /// Several processes search together.
    Search(Call),
    /// The network between the nodes is measured first. Another reply follows.
    Survey(SurveyCall),
}

/// A search that several processes share.
struct SharedProblem {
    problem: MappingProblem,
    call: Call,
    network: Arc<Network>,
    /// The traffic by direction, if nodes have several rails.
    traffic: Option<SparseMatrix>,
}

/// Rank 0, which alone has the mapping problem.
pub struct RankZeroSearch<'a> {
    recorder: &'a mut LaunchRecorder,
    /// The timer of the steps of the job's start.
    pub clock: &'a mut StepTimer,
    /// Where the processes are, once that is known.
    pub places: Option<Placement>,
    shared: Option<SharedProblem>,
}

impl<'a> RankZeroSearch<'a> {
    /// The search before the places of the processes are known.
    pub fn new(recorder: &'a mut LaunchRecorder, clock: &'a mut StepTimer) -> Self {
        RankZeroSearch { recorder, clock, places: None, shared: None }
    }

    /// The first step, given the locations of the processes.
    pub fn first(&mut self, locations: &Locations) -> Step<SearchReply> {
        Step::of(locations, |places| self.answer(places))
    }

    /// What rank 0 broadcasts, given the places of the processes: a rank order, or a call for a shared search.
    fn answer(&mut self, places: Option<Placement>) -> SearchReply {
        self.places = places;
        self.clock.step("places");
        let measuring = guarded(|| Some(self.recorder.measuring(self.places.as_ref())));
        say(measuring.as_ref().and_then(|measuring| self.recorder.why_not_measured(measuring)));
        if measuring.as_ref().is_some_and(|measuring| measuring.objection.is_none())
            && let Some(call) = guarded(|| self.survey_call())
        {
            return SearchReply::Survey(call);
        }
        let sources = measuring.map_or_else(|| self.recorder.unasked_sources(), |m| m.sources);
        guarded(|| Some(self.look(sources))).unwrap_or(SearchReply::Order(Vec::new()))
    }

    /// The call for a survey of the network.
    fn survey_call(&self) -> Option<SurveyCall> {
        let places = self.places.as_ref();
        let mut leaders = vec![u32::MAX; places?.node_names.len()];
        for (process, &node) in (0u32..).zip(&places?.node_of_process) {
            let leader = leaders.get_mut(node as usize)?;
            *leader = process.min(*leader);
        }
        Some(SurveyCall { leaders })
    }

    /// Conducts a survey, keeps its result, and returns what rank 0 broadcasts next.
    fn survey<A: Abi>(&mut self, job: &PrivateComm<A>, call: &SurveyCall) -> SearchReply {
        let surveyed = survey::lead(job, call, self.recorder.seed());
        self.clock.step("survey");
        let kept = || guarded(|| Some(self.recorder.keep_survey(&surveyed, self.places.as_ref())));
        say(without_signal(libc::SIGXFSZ, kept).unwrap_or_default());
        let sources = self.recorder.unasked_sources();
        guarded(|| Some(self.look(sources))).unwrap_or(SearchReply::Order(Vec::new()))
    }

    /// Looks for a kept order for the problem of this launch, with what the sources of the network said. If there is
    /// none, searches, or calls for a shared search.
    fn look(&mut self, sources: AskedSources) -> SearchReply {
        let problem = match self.recorder.problem(self.places.as_ref(), sources) {
            Ok(Some(problem)) => problem,
            Ok(None) => return SearchReply::Order(Vec::new()),
            Err(error) => return SearchReply::Order(self.give_up(Message::from(&error))),
        };
        if let Some(places) = &self.places {
            SAID.keep(places, problem.choice.as_ref());
        }
        self.clock.step("question");
        let kept = problem.kept.find();
        self.clock.step("kept order");
        if let Some(decision) = kept {
            return SearchReply::Order(self.settle(decision));
        }
        let problem = match self.adapt(problem) {
            Ok(decision) => return SearchReply::Order(self.settle(decision)),
            Err(problem) => *problem,
        };
        match self.share(problem) {
            Ok(call) => SearchReply::Search(call),
            Err(problem) => SearchReply::Order(self.search_alone(*problem)),
        }
    }

    /// The decision from the order of an earlier launch, if the traffic changed little since then. Else returns the
    /// problem.
    fn adapt(&mut self, mut problem: MappingProblem) -> Result<Decision, Box<MappingProblem>> {
        // Only hop-bytes can be lowered from an earlier order.
        if problem.aim.objective != Objective::HopBytes {
            return Err(Box::new(problem));
        }
        let pairs = Kind::ALL.map(|kind| problem.matrix.layer(kind).pairs());
        let has_room = || shared_search::has_room(0, problem.matrix.tasks(), pairs.iter().sum());
        let Some(earlier) = problem.kept.earlier().filter(|_| has_room()) else {
            return Err(Box::new(problem));
        };
        let graph = problem.matrix.affinity();
        let traffic = decide::traffic_of_rails(&problem.matrix, problem.topology.as_ref());
        let (topology, slots) = (problem.topology.clone(), problem.slots.clone());
        let options = problem.options.clone();
        let searched = earlier.searched.clone();
        let limit = options.time_limit;
        let decided = shared_search::careful(0, limit, move || {
            let question = Question {
                graph: &graph,
                traffic: traffic.as_ref(),
                timed: None,
                topology: topology.as_ref(),
                slot_of_process: &slots,
                options: &options,
            };
            Some(question.adapted(&earlier))
        });
        self.clock.step("earlier order");
        let Ok(Some(decision)) = decided else { return Err(Box::new(problem)) };
        problem.kept.searched_for(searched);
        keep(problem.kept, decision.clone());
        Ok(decision)
    }

    /// Makes the call for a shared search. Returns the problem if rank 0 is to solve it alone.
    fn share(&mut self, mut problem: MappingProblem) -> Result<Call, Box<MappingProblem>> {
        // A shared search works on the tree of the nodes, and knows no links.
        if problem.searchers <= 1 || problem.aim.objective != Objective::HopBytes {
            return Err(Box::new(problem));
        }
        let tasks = problem.matrix.tasks();
        let graph = problem.matrix.affinity();
        let edges = graph.edges();
        let network = Network::new(
            graph,
            problem.topology.as_ref(),
            &problem.slots,
            &problem.nodes,
            &problem.options.fixed,
            decide::preset_for(tasks),
        );
        let Some(network) = network.filter(|_| shared_search::has_room(0, tasks, edges)) else {
            return Err(Box::new(problem));
        };
        let (seed, limit) = (problem.options.seed, problem.options.time_limit);
        let call = Call::new(&network, problem.searchers, seed, limit);
        problem.kept.searched_for(TrafficSketch::new(network.graph()));
        // The graph is all that is needed from here on, except for rails.
        let traffic = decide::traffic_of_rails(&problem.matrix, problem.topology.as_ref());
        problem.matrix = CommMatrix::empty(0);
        self.clock.step("affinity");
        let network = Arc::new(network);
        self.shared = Some(SharedProblem { problem, call: call.clone(), network, traffic });
        Ok(call)
    }

    /// The rank order that rank 0 finds alone.
    fn search_alone(&mut self, problem: MappingProblem) -> Vec<u32> {
        let pairs = Kind::ALL.map(|kind| problem.matrix.layer(kind).pairs());
        if !shared_search::has_room(0, problem.matrix.tasks(), pairs.iter().sum()) {
            return self
                .give_up(Message::new("there is too little memory to search for a rank order"));
        }
        let MappingProblem { matrix, topology, slots, options, mut kept, .. } = problem;
        let limit = options.time_limit;
        let decided = shared_search::careful(0, limit, move || {
            let decision = decide::decide(&matrix, topology.as_ref(), &slots, &options);
            Some(decision.map(|decision| (decision, TrafficSketch::new(&matrix.affinity()))))
        });
        self.clock.step("search");
        match decided {
            Ok(Ok((decision, searched))) => {
                kept.searched_for(searched);
                keep(kept, decision.clone());
                self.settle(decision)
            }
            Ok(Err(error)) => self.give_up(Message::from(&error)),
            Err(failure) => self.give_up(message_of(&failure, limit)),
        }
    }

    /// The rank order from a shared search.
    fn lead<A: Abi>(&mut self, job: &PrivateComm<A>) -> Vec<u32> {
        let Some(shared) = self.shared.take() else { return Vec::new() };
        let order = guarded(|| {
            let (topology, slots) = (shared.problem.topology.as_ref(), &shared.problem.slots);
            let network = shared.network.clone();
            let answer = shared_search::lead(job, &shared.call, network, topology, slots);
            self.clock.step("search");
            Some(self.conclude(shared, answer))
        });
        order.unwrap_or_default()
    }

    /// The decision from a shared search.
    fn conclude(
        &mut self,
        shared: SharedProblem,
        answer: Result<shared_search::SearchAnswer, Failure>,
    ) -> Vec<u32> {
        let SharedProblem { problem, network, traffic, .. } = shared;
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => return self.give_up(message_of(&failure, problem.options.time_limit)),
        };
        if answer.failed > 0 {
            message::line(&format!(
                "{} of the processes that search for a rank order gave no answer; the answers of \
                 the others are used",
                answer.failed
            ));
        }
        let question = Question {
            graph: network.graph(),
            traffic: traffic.as_ref(),
            timed: None,
            topology: problem.topology.as_ref(),
            slot_of_process: &problem.slots,
            options: &problem.options,
        };
        let order = question.spread(answer.process_of_task);
        match question.judge(order) {
            Ok(decision) => {
                let decision = Decision { cut: answer.cut, ..decision };
                // If a process gave no answer, the next launch might find a better order. The decision is then
                // not kept.
                if answer.failed == 0 {
                    keep(problem.kept, decision.clone());
                }
                self.settle(decision)
            }
            Err(error) => self.give_up(Message::from(&error)),
        }
    }

    /// The rank order of this launch, given a decision.
    fn settle(&mut self, decision: Decision) -> Vec<u32> {
        let settled = self.recorder.settle(decision);
        say(settled.messages);
        settled.process_of_task
    }

    /// Keeps the launcher's order, and prints why.
    fn give_up(&mut self, why: Message) -> Vec<u32> {
        say([self.recorder.gave_up(why)]);
        Vec::new()
    }
}

/// The process of each task in this launch; empty for the launcher's order. Collective over `job`, whose
/// processes all know the first `step`.
pub fn find<A: Abi>(
    job: &PrivateComm<A>,
    step: Step<SearchReply>,
    mut leader: Option<&mut RankZeroSearch>,
) -> Vec<u32> {
    let answer = leader.as_mut().map(|leader| |places| leader.answer(places));
    let mut reply = locate(job, step, answer);
    if let Some(SearchReply::Survey(call)) = &reply {
        let next = match &mut leader {
            Some(leader) => Some(leader.survey(job, call)),
            None => {
                survey::take_part(job, call);
                None
            }
        };
        reply = job.broadcast_value(next.as_ref());
    }
    match reply {
        Some(SearchReply::Order(order)) => order,
        Some(SearchReply::Search(call)) => {
            let order = match leader {
                Some(leader) => Some(leader.lead(job)),
                None => {
                    shared_search::help(job, &call);
                    None
                }
            };
            job.broadcast_value(order.as_ref()).unwrap_or_default()
        }
        Some(SearchReply::Survey(_)) | None => Vec::new(),
    }
}

/// Keeps a decision for later launches, in a thread of its own, because the file system may be slow.
fn keep(kept: KeptOrders, decision: Decision) {
    worker_thread::beside(move || {
        without_signal(libc::SIGXFSZ, || kept.keep(&decision, now()));
    });
}

/// Why there is no answer of a search.
fn message_of(failure: &Failure, limit: Duration) -> Message {
    match failure {
        Failure::TooLong => {
            Message::new(format!("{failure} ({} s, RANKWEAVE_TIME_LIMIT)", limit.as_secs_f64()))
        }
        _ => Message::new(failure.to_string()),
    }
}
