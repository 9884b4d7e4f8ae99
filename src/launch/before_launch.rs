//! The rank order that a launcher is told before the launch.
//!
//! It is the order that the library would give inside the launch: the same record, the same mapping problem, the
//! same thresholds, and the same rule about earlier launches that were slower. Two things differ. First, no process
//! changes its rank while the program runs, so programs whose results depend on a change of ranks are safe here, and
//! verdicts of `rankweave check` do not count. Second, a launcher chooses the node of each rank, but not its place
//! inside the node: the ranks of a node get its places in ascending order. What only a change of places inside nodes
//! would gain is therefore no reason to place anything.

use super::{Action, Known, LaunchRecorder, MappingProblem, Message, PlacedRanks, Policy, Reason};
use crate::base::error::Result;
use crate::decide::{self, Decision};
use crate::metrics;
use crate::options::Settings;
use crate::store::Placement;

/// What is decided before a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeLaunch {
    /// The launcher is to place the ranks so. The sentence is the reason.
    Place(PlacedRanks, String),
    /// Nothing is stored from which an order could be found.
    NothingStored,
    /// The launcher's own order stays, for this reason, perhaps with advice.
    Keep(Message),
}

impl BeforeLaunch {
    /// Decides for a launch whose processes would be at `placement` in the launcher's own order. An order that is
    /// found by a search is kept in the store for later launches; `now` is in seconds since 1970-01-01 UTC.
    ///
    /// Errors: the topology that the user gave cannot be read, sizes that do not fit together, a fixed task that
    /// does not exist.
    pub fn decide(
        mut known: Known,
        settings: &Settings,
        placement: &Placement,
        now: u64,
    ) -> Result<BeforeLaunch> {
        // No process changes its rank.
        known.facts.check = super::Check::NoObjection;
        let policy = Policy::of(&known.facts);
        match (&policy.action, &policy.reason) {
            (Action::Reorder, _) => {}
            (_, Reason::NoMatrix { .. } | Reason::NoStore) => {
                return Ok(BeforeLaunch::NothingStored);
            }
            (_, Reason::OnlyRecords | Reason::SwitchedOff | Reason::Shuffles) => {
                let mode = settings.mode.name();
                let why = "no rank order is computed before the launch, because the mode is";
                return Ok(BeforeLaunch::Keep(Message::new(format!("{why} {mode}"))));
            }
            _ => return Ok(BeforeLaunch::Keep(Message::new(policy.sentence()))),
        }
        let mut recorder = LaunchRecorder::new(known, &policy, settings);
        let sources = recorder.unasked_sources();
        let Some(problem) = recorder.problem(Some(placement), sources)? else {
            return Ok(BeforeLaunch::NothingStored);
        };
        let decision = match problem.kept.find() {
            Some(decision) => decision,
            None => {
                let decision = decide::decide(
                    &problem.matrix,
                    problem.topology.as_ref(),
                    &problem.slots,
                    &problem.options,
                )?;
                problem.kept.keep(&decision, now);
                decision
            }
        };
        if !decision.changed {
            return Ok(BeforeLaunch::Keep(Message::new(decision.reason)));
        }
        let order = by_node(&decision.process_of_task, &placement.node_of_process);
        let decision = judged(&problem, order, decision)?;
        if !decision.changed {
            let why = Message::new(
                "another order would only save traffic inside the nodes, where the launcher chooses the cores",
            );
            return Ok(BeforeLaunch::Keep(
                why.advice("use --place library, which chooses them, too"),
            ));
        }
        let (predicted, reason) =
            ((decision.cost_before, decision.cost_after), decision.reason.clone());
        let settled = recorder.settle(Decision { reason: String::new(), ..decision });
        if settled.process_of_task.is_empty() {
            let why = settled.messages.into_iter().next_back();
            return Ok(BeforeLaunch::Keep(why.unwrap_or_else(|| {
                Message::new("the times of earlier launches speak against it")
            })));
        }
        let placed = PlacedRanks::new(
            &settled.process_of_task,
            &placement.node_of_process,
            &placement.node_names,
            predicted,
        );
        Ok(BeforeLaunch::Place(placed, reason))
    }
}

/// An order with the same tasks on each node, in which the tasks of a node have its processes in ascending order.
/// A launcher that gets the node of each rank makes this order.
pub fn by_node(process_of_task: &[u32], node_of_process: &[u32]) -> Vec<u32> {
    let nodes = node_of_process.iter().max().map_or(0, |&most| most as usize + 1);
    let mut processes: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for (process, &node) in node_of_process.iter().enumerate().rev() {
        processes[node as usize].push(process as u32);
    }
    let node_of = |&process: &u32| node_of_process.get(process as usize).copied().unwrap_or(0);
    let next = |process: &u32| {
        processes.get_mut(node_of(process) as usize).and_then(Vec::pop).unwrap_or(*process)
    };
    process_of_task.iter().map(next).collect()
}

/// The decision for the order that the launcher makes. Its cost can differ from that of the order that was found.
/// If the two are the same order, the decision stays.
fn judged(problem: &MappingProblem, order: Vec<u32>, decision: Decision) -> Result<Decision> {
    if order == decision.process_of_task {
        return Ok(decision);
    }
    let graph = problem.matrix.affinity();
    let (topology, slots) = (problem.topology.as_ref(), &problem.slots);
    let traffic = decide::traffic_of_rails(&problem.matrix, topology);
    let timed = decide::traffic_of_time(&problem.matrix, topology, &problem.options);
    let slot_of = |&process: &u32| slots[process as usize];
    let moved: Vec<usize> = order.iter().map(slot_of).collect();
    let found: Vec<usize> = decision.process_of_task.iter().map(slot_of).collect();
    let hop_bytes = |slots: &[usize]| metrics::hop_bytes(&graph, topology, slots);
    // A launcher does not choose the rail of a rank.
    if traffic.is_none() && hop_bytes(&moved) == hop_bytes(&found) {
        return Ok(Decision { process_of_task: order, ..decision });
    }
    // Fixed tasks keep their node, but may get another place on it.
    let options = decide::Options { fixed: Vec::new(), ..problem.options.clone() };
    let (traffic, timed, options) = (traffic.as_ref(), timed.as_ref(), &options);
    let slot_of_process = slots;
    let graph = &graph;
    let question = decide::Question { graph, traffic, timed, topology, slot_of_process, options };
    question.judge(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Processes, Program};
    use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
    use crate::store::{Finding, Record, Store, Verdict};
    use proptest::prelude::*;

    const TASKS: usize = 8;

    fn known(store: &Store, settings: &Settings) -> Known {
        let processes = Processes { complete: true, one_program: true, spawned: false };
        let program = Program {
            executable: "/bin/app".into(),
            identity: "app-0badcafe".into(),
            name: "app".into(),
            ..Program::default()
        };
        Known::read(settings, program, Ok(store.clone()), TASKS, processes, None)
    }

    /// Tasks talk in pairs (t, t + 4).
    fn stored(store: &Store) {
        let cell = Traffic { bytes: 1000, messages: 1 };
        let entries: Vec<_> = (0..4).map(|t| (t, t + 4, cell)).collect();
        let matrix = SparseMatrix::from_entries(TASKS, &entries);
        let matrix = CommMatrix::from_point_to_point(matrix);
        store.save(&Record::of_matrix("app-0badcafe-n8", matrix)).unwrap();
    }

    fn placement() -> Placement {
        let names = ["n0", "n1"].map(String::from).to_vec();
        let mut placement = Placement::of_nodes((0..8).map(|p| p / 4).collect(), names);
        placement.level_names = vec!["node".into()];
        placement.level_costs = vec![100];
        placement
    }

    #[test]
    fn the_order_is_that_of_the_launch_with_the_ranks_of_nodes_ascending() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path());
        let settings = Settings::default();
        let decide = |settings: &Settings| {
            BeforeLaunch::decide(known(&store, settings), settings, &placement(), 5).unwrap()
        };
        assert_eq!(decide(&settings), BeforeLaunch::NothingStored);
        stored(&store);
        let BeforeLaunch::Place(placed, reason) = decide(&settings) else { panic!("not placed") };
        assert!(reason.contains("found: predicted hop-bytes"), "{reason}");
        let node = |task: usize| placed.process_of_task[task] / 4;
        assert!((0..4).all(|task| node(task) == node(task + 4)), "{placed:?}");
        assert_eq!(placed.process_of_task[0], 0);
        assert_eq!(
            by_node(&placed.process_of_task, &placement().node_of_process),
            placed.process_of_task
        );
        // The second time, the order is read from the store.
        let BeforeLaunch::Place(again, reason) = decide(&settings) else { panic!("not placed") };
        assert_eq!(again, placed);
        assert!(reason.contains("as found in an earlier launch"), "{reason}");
        // A program whose results depend on a change of ranks is safe.
        let verdict = Verdict {
            program: "app".into(),
            launch: vec![],
            tasks: 8,
            checked_at: 1,
            seeds: vec![],
            finding: Finding::Differs,
            reason: "line 3".into(),
            compared: None,
        };
        store.keep_verdict("app-0badcafe", &verdict).unwrap();
        assert!(matches!(decide(&settings), BeforeLaunch::Place(..)));
        for (name, value, why) in [
            ("mode", "record", "the mode is record"),
            ("deny", "app", "--deny"),
            ("min-gain", "99.5", "the threshold (--min-gain) is 99.5 %"),
        ] {
            let mut other = Settings::default();
            other.set(name, value).unwrap();
            let BeforeLaunch::Keep(said) = decide(&other) else { panic!("{name} is ignored") };
            let said = said.to_string();
            assert!(said.contains(why) && !said.contains("kept: the mode"), "{said}");
        }
    }

    #[test]
    fn gains_inside_nodes_are_not_for_the_launcher() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path());
        stored(&store);
        let mut placement = placement();
        // All tasks on one node of four pairs of cores; the launcher numbers the cores by itself.
        placement.node_of_process = vec![0; TASKS];
        placement.node_names.truncate(1);
        placement.place_of_process = (0..8).map(|p| vec![p / 2]).collect();
        placement.level_names.push("core".into());
        placement.level_costs = vec![100, 10, 1];
        let settings = Settings::default();
        let decided = BeforeLaunch::decide(known(&store, &settings), &settings, &placement, 5);
        let BeforeLaunch::Keep(said) = decided.unwrap() else { panic!("placed") };
        let said = said.to_string();
        assert!(said.contains("inside the nodes") && said.contains("try: use --place"), "{said}");
    }

    proptest! {
        #[test]
        fn every_node_keeps_its_number_of_ranks(
            order in Just((0u32..24).collect::<Vec<_>>()).prop_shuffle(),
            nodes in prop::collection::vec(0u32..5, 24)
        ) {
            let sorted = by_node(&order, &nodes);
            prop_assert!(crate::base::permutation::is_permutation(&sorted));
            for (&a, &b) in order.iter().zip(&sorted) {
                prop_assert_eq!(nodes[a as usize], nodes[b as usize]);
            }
            for node in 0..5 {
                let on: Vec<u32> =
                    sorted.iter().copied().filter(|&p| nodes[p as usize] == node).collect();
                prop_assert!(on.is_sorted());
            }
        }
    }
}
