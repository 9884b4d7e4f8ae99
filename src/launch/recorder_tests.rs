use super::*;
use crate::decide::EarlierOrder;
use crate::decide::mixed_ranks::{Counts, Sign, Statement};
use crate::launch::{AskedSources, KeptOrders, Processes, Reason, Unasked};
use crate::matrix::{Graph, SparseMatrix, Traffic, TrafficSketch};
use crate::store::Store;

const TASKS: usize = 4;

fn user() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() }
}

fn program() -> Program {
    Program {
        executable: "/opt/app".into(),
        command: vec!["./app".into()],
        identity: "app-0badcafe".into(),
        name: "app".into(),
        work: store::work_of(&["./app".into()], ""),
        ..Program::default()
    }
}

fn settings() -> Settings {
    Settings { topology: Some("tree:2:2".into()), verbose: 1, ..Settings::default() }
}

fn recorder(store: &Store, settings: &Settings) -> (LaunchRecorder, Policy) {
    let processes = Processes { complete: true, one_program: true, spawned: false };
    let known = Known::read(settings, program(), Ok(store.clone()), TASKS, processes, None);
    let policy = Policy::of(&known.facts);
    (LaunchRecorder::new(known, &policy, settings), policy)
}

/// A launch in which task t sent to task t + 2.
fn end(instructions: &Instructions) -> LaunchEnd<'_> {
    let mut collected = Collected::new(TASKS);
    for task in 0..TASKS {
        let to = ((task + 2) % TASKS) as u32;
        let row = vec![(to, Traffic { bytes: 1 << 20, messages: 1 })];
        collected.add(task, &[row, Vec::new(), Vec::new()], &[]);
    }
    LaunchEnd {
        instructions,
        placement: None,
        collected,
        wall: Duration::from_secs(10),
        in_mpi: None,
        constructed: Vec::new(),
        aborted: None,
        now: 100,
    }
}

#[test]
fn a_launch_becomes_a_record_and_the_next_one_has_it_as_its_baseline() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let (recorder, policy) = self::recorder(&store, &settings());
    assert_eq!(policy.action, Action::Record);
    let mut instructions = Instructions::of(&policy, &settings(), TASKS);
    instructions.job.id = 7;
    let key = recorder.key().to_string();
    let (said, is_kept) = recorder.keep(end(&instructions), user());
    assert!(is_kept);
    assert_eq!(said.len(), 1, "{said:?}");
    let said = said[0].to_string();
    let wanted = format!("{key}: launcher's order, 4.00 MiB sent, 4.00 MiB between nodes, 10.0 s");
    assert_eq!(said, wanted);
    let first = store.load(&key).unwrap().unwrap();
    assert_eq!((first.launch.mode, first.recorded_at), (store::LaunchMode::Record, 100));
    assert_eq!(first.launch.placement.node_of_process, [0, 0, 1, 1]);
    assert_eq!((first.baseline, first.history.len(), first.history[0].id), (None, 1, 7));

    let (mut recorder, policy) = self::recorder(&store, &settings());
    assert_eq!(policy.action, Action::Reorder);
    let problem =
        recorder.problem(None, AskedSources::NotYet(Unasked::default())).unwrap().unwrap();
    assert_eq!(problem.matrix.tasks(), TASKS);
    assert!(
        recorder.problem(None, AskedSources::NotYet(Unasked::default())).unwrap().is_none(),
        "once"
    );
    let order = vec![0, 2, 1, 3];
    let settled = recorder.settle(decision(&order));
    assert_eq!((&settled.process_of_task, settled.messages.len()), (&order, 0));
    instructions.action = policy.action;
    instructions.process_of_task = settled.process_of_task;
    instructions.job.id = 8;
    let said = recorder.keep(end(&instructions), user()).0[0].to_string();
    assert!(
        said.contains(": ranks reordered, 4.00 MiB sent, 0 B between nodes, 10.0 s "),
        "{said}"
    );
    assert!(said.contains("(launcher's order: 4.00 MiB between nodes, 10.0 s); REASON"), "{said}");
    let second = store.load(&key).unwrap().unwrap();
    assert_eq!(second.launch.process_of_task, order);
    assert_eq!((second.launch.predicted, second.launch.internode_bytes), ((40, 20), 0));
    assert_eq!(second.baseline.as_ref().unwrap().internode_bytes, 4 << 20);
    assert_eq!(second.history.iter().map(|past| past.id).collect::<Vec<_>>(), [7, 8]);
}

/// The figures of a launch with another input were shown as those of the launcher's order.
#[test]
fn a_launch_with_other_arguments_is_no_baseline() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let launch = |arguments: &[&str], order: &[u32]| {
        let command: Vec<String> = arguments.iter().map(|word| (*word).to_string()).collect();
        let work = store::work_of(&command, "");
        let program = Program { command, work, ..program() };
        let processes = Processes { complete: true, one_program: true, spawned: false };
        let known = Known::read(&settings(), program, Ok(store.clone()), TASKS, processes, None);
        let policy = Policy::of(&known.facts);
        let recorder = LaunchRecorder::new(known, &policy, &settings());
        let mut instructions = Instructions::of(&policy, &settings(), TASKS);
        instructions.process_of_task = order.to_vec();
        let key = recorder.key().to_string();
        let said = recorder.keep(end(&instructions), user()).0[0].to_string();
        (said, store.load(&key).unwrap().unwrap().baseline.is_some())
    };
    assert!(!launch(&["./app", "small"], &[]).1);
    let (said, has_baseline) = launch(&["./app", "large"], &[0, 2, 1, 3]);
    assert!(!has_baseline && !said.contains("launcher's order:"), "{said}");
    let (said, has_baseline) = launch(&["./app", "small"], &[0, 2, 1, 3]);
    assert!(has_baseline && said.contains("launcher's order: 4.00 MiB between"), "{said}");
}

#[test]
fn a_short_launch_is_stored_only_if_its_program_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let launch = |id, shortest| {
        let settings = Settings { shortest: Some(Duration::from_secs(shortest)), ..settings() };
        let (recorder, policy) = self::recorder(&store, &settings);
        let mut instructions = Instructions::of(&policy, &settings, TASKS);
        instructions.job.id = id;
        let key = recorder.key().to_string();
        let (said, is_kept) = recorder.keep(end(&instructions), user());
        assert!(is_kept, "the counters of the processes are not needed any more");
        (said[0].to_string(), store.load(&key).unwrap().map(|record| record.history.len()))
    };
    let (said, stored) = launch(1, 11);
    assert!(said.contains("it is not stored, because it was shorter than --shortest"), "{said}");
    assert_eq!(stored, None);
    assert_eq!(launch(2, 10).1, Some(1));
    assert_eq!(launch(3, 11).1, Some(2));
}

fn decision(order: &[u32]) -> Decision {
    Decision {
        process_of_task: order.to_vec(),
        changed: true,
        cost_before: 40,
        cost_after: 20,
        reason: "REASON".into(),
        cut: false,
    }
}

#[test]
fn a_program_that_called_mpi_abort_and_finalised_did_not_come_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    for (id, aborted) in [(7, None), (8, Some(3))] {
        let (recorder, policy) = self::recorder(&store, &settings());
        let mut instructions = Instructions::of(&policy, &settings(), TASKS);
        instructions.job.id = id;
        let (said, _) = recorder.keep(LaunchEnd { aborted, ..end(&instructions) }, user());
        let said = said[0].to_string();
        assert_eq!(said.contains("called MPI_Abort with error code 3"), id == 8, "{said}");
    }
    let (recorder, _) = self::recorder(&store, &settings());
    let kept = store.load(recorder.key()).unwrap().unwrap();
    assert_eq!(kept.unfinished, None, "the record of the whole run stays in use");
    assert_eq!(kept.history.iter().map(|past| past.id).collect::<Vec<_>>(), [7]);
    let states: Vec<_> =
        store.runs(recorder.key()).iter().map(|r| r.standing.completeness).collect();
    assert_eq!(states, [store::Completeness::Interrupted]);
}

#[test]
fn without_the_rows_of_all_processes_nothing_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let (recorder, policy) = self::recorder(&store, &settings());
    let instructions = Instructions::of(&policy, &settings(), TASKS);
    let mut end = end(&instructions);
    end.collected.incomplete = true;
    let (said, is_kept) = recorder.keep(end, user());
    assert!(!is_kept);
    let advised = "nothing is stored; try: run 'rankweave recover' on each node of the job";
    assert!(said[0].to_string().ends_with(advised), "{said:?}");
    assert!(store.list().unwrap().is_empty());
    // Without spill files there is nothing to recover.
    let off = Settings { spill: crate::options::Spill::Off, ..settings() };
    let (recorder, policy) = self::recorder(&store, &off);
    let instructions = Instructions::of(&policy, &off, TASKS);
    let mut end = self::end(&instructions);
    end.collected.incomplete = true;
    let (said, _) = recorder.keep(end, user());
    assert!(said[0].to_string().ends_with("nothing is stored"), "{said:?}");
}

#[test]
fn the_advice_comes_last_and_is_no_part_of_the_decision() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let (mut recorder, policy) = self::recorder(&store, &settings());
    let kind = crate::base::error::ErrorKind::Infeasible;
    let error = crate::base::error::Error::new(kind, "a slot is missing").advise("add a slot");
    let said = recorder.gave_up(Message::from(&error)).to_string();
    assert_eq!(said, "a slot is missing; this launch keeps the launcher's order; try: add a slot");
    let instructions = Instructions::of(&policy, &settings(), TASKS);
    let record = recorder.record(end(&instructions));
    assert_eq!(record.launch.decision, "the launcher's order is kept: a slot is missing");
    let said = unused_description(&error).to_string();
    assert!(said.starts_with("a description of the network cannot be used: a slot is missing; "));
    assert!(said.ends_with("as equally far from each other; try: add a slot"), "{said}");
}

/// Statements of sixteen processes that all show the sign of a mistake.
fn mistaken() -> Tallies {
    let counts = Counts { met: 2, wrong: 2, wrong_met: 2, right: 2, right_met: 0 };
    let sign = Sign { partners: 2, others: 15, counts: [counts, Counts::default()] };
    let statement = Statement { id: 1, ordinal: 0, what: "MPI_Cart_create".into(), sign };
    let mut tallies = Tallies::default();
    (0..16).for_each(|_| tallies.add(std::slice::from_ref(&statement)));
    tallies
}

#[test]
fn a_program_that_mixes_ranks_gets_a_verdict_unless_it_is_known_to_be_safe() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let (recorder, _) = self::recorder(&store, &settings());
    assert_eq!(recorder.judge(&Tallies::default(), TASKS, 1), None);
    let said = recorder.judge(&mistaken(), TASKS, 1).unwrap().to_string();
    assert!(said.contains("the program seems to mix the ranks of the old and the new"), "{said}");
    assert!(said.contains("in later launches"), "{said}");
    assert!(said.contains("--allow app"), "{said}");
    let verdicts = store.verdicts("app-0badcafe").unwrap();
    assert_eq!((verdicts.len(), verdicts[0].finding), (1, Finding::MixesRanks));
    let safe = Verdict { finding: Finding::Safe, ..verdicts[0].clone() };
    store.keep_verdict("app-0badcafe", &safe).unwrap();
    assert_eq!(recorder.judge(&mistaken(), TASKS, 2), None, "the check overrules it");
    let mut allowed = settings();
    allowed.set("allow", "app").unwrap();
    let (recorder, _) = self::recorder(&store, &allowed);
    assert_eq!(recorder.judge(&mistaken(), TASKS, 3), None);
}

#[test]
fn without_a_store_later_launches_do_not_learn_of_mixed_ranks() {
    let processes = Processes { complete: true, one_program: true, spawned: false };
    let none = crate::base::error::Error::new(crate::base::error::ErrorKind::Usage, "no store");
    let known = Known::read(&settings(), program(), Err(none), TASKS, processes, None);
    let policy = Policy::of(&known.facts);
    let recorder = LaunchRecorder::new(known, &policy, &settings());
    let said = recorder.judge(&mistaken(), TASKS, 1).unwrap().to_string();
    assert!(said.contains("this finding is not stored for later launches"), "{said}");
}

#[test]
fn a_record_that_the_store_refuses_waits_on_the_node() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store");
    std::fs::write(&file, "not a directory").unwrap();
    let record = Record::of_matrix("k", CommMatrix::empty(TASKS));
    let store = Store::open(&file);
    let off = crate::options::Spill::Off;
    let (said, is_kept) = Storage::Store(store.clone()).keep(&record, &off, user());
    assert!(!is_kept);
    let said = said.unwrap().to_string();
    assert!(
        said.contains(
            "is not stored, and it cannot wait on this node, because --spill is off; try: "
        ),
        "{said}"
    );
    let here = crate::options::Spill::Directory(directory.path().into());
    let nowhere = crate::options::Spill::Directory(file);
    let (said_then, is_kept) = Storage::Store(store.clone()).keep(&record, &nowhere, user());
    let said_then = said_then.unwrap().to_string();
    assert!(!is_kept && said_then.contains("the spill files of its processes stay"), "{said_then}");
    let (said, is_kept) = Storage::Store(store).keep(&record, &here, user());
    assert!(is_kept);
    let said = said.unwrap().to_string();
    assert!(said.contains("waits on this node, in "), "{said}");
    assert!(said.contains(&format!("rankweave recover {}", directory.path().display())), "{said}");
    assert_eq!(Storage::Nowhere.keep(&record, &here, user()), (None, true));
}

#[test]
fn an_answer_is_kept_for_the_same_question_only() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let problem = |settings: &Settings, bytes: u64| -> KeptOrders {
        let entries = [(0, 2, Traffic { bytes, messages: 1 })];
        let matrix = SparseMatrix::from_entries(TASKS, &entries);
        let matrix = CommMatrix::from_point_to_point(matrix);
        let (sources, kept_in) =
            (AskedSources::NotYet(Unasked::default()), (Some(store.clone()), "k"));
        MappingProblem::new(matrix, settings, None, sources, kept_in).unwrap().kept
    };
    let kept = problem(&settings(), 10);
    assert_eq!(kept.find(), None);
    kept.keep(&decision(&[0, 2, 1, 3]), 5);
    let found = kept.find().unwrap();
    assert_eq!((found.process_of_task, found.changed, found.cut), (vec![0, 2, 1, 3], true, false));
    assert_eq!((found.cost_before, found.cost_after), (40, 20));
    assert_eq!(found.reason, "REASON, as found in an earlier launch");
    assert_eq!(problem(&settings(), 11).find(), None, "another matrix");
    assert_eq!(problem(&settings(), 11).earlier(), None, "its traffic is not known");
    let mut kept = kept;
    let sketch = TrafficSketch::new(&Graph::from_edges(TASKS, &[(0, 2, 10)]));
    kept.searched_for(sketch.clone());
    kept.keep(&decision(&[0, 2, 1, 3]), 5);
    let earlier = EarlierOrder { process_of_task: vec![0, 2, 1, 3], searched: sketch };
    assert_eq!(problem(&settings(), 11).earlier(), Some(earlier));
    for (name, value) in [("seed", "2"), ("topology", "tree:2:2@1:5"), ("min-gain", "9")] {
        let mut other = settings();
        other.set(name, value).unwrap();
        assert_eq!(problem(&other, 10).find(), None, "another {name}");
        assert_eq!(problem(&other, 11).earlier(), None, "another {name}");
    }
    // An order that was not changed is kept without a permutation; one that was cut short only
    // answers launches with the same limit or less.
    kept.keep(&Decision { changed: false, cut: true, ..decision(&[0, 1, 2, 3]) }, 6);
    let found = kept.find().unwrap();
    assert_eq!((found.process_of_task, found.changed, found.cut), (Vec::new(), false, true));
    let mut longer = settings();
    longer.set("time-limit", "20").unwrap();
    assert_eq!(problem(&longer, 10).find(), None);
}

/// A recorder for a launch whose ranks 1 and 2 the launcher was told to exchange.
fn placed_recorder(store: &Store) -> LaunchRecorder {
    let settings = Settings { verbose: 1, ..Settings::default() };
    let processes = Processes { complete: true, one_program: true, spawned: false };
    let names = ["n0", "n1"].map(String::from);
    let placed = PlacedRanks::new(&[0, 2, 1, 3], &[0, 0, 1, 1], &names, (40, 20));
    let known = Known::read(&settings, program(), Ok(store.clone()), TASKS, processes, None);
    let known = known.with_placed(Some(placed), TASKS);
    let policy = Policy::of(&known.facts);
    assert_eq!((policy.action, &policy.reason), (Action::Record, &Reason::Placed));
    LaunchRecorder::new(known, &policy, &settings)
}

#[test]
fn a_launch_that_the_launcher_placed_is_recorded_as_reordered() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let names = ["n0", "n1"].map(String::from).to_vec();
    let at = |nodes: &[u32]| Placement::of_nodes(nodes.to_vec(), names.clone());
    let instructions = Instructions { action: Action::Record, ..Instructions::default() };
    let keep = |mut recorder: LaunchRecorder, nodes: &[u32], now: u64| {
        let told = recorder.check_places(&at(nodes));
        let order = recorder.order(&[], None);
        let end = LaunchEnd { placement: Some(at(nodes)), now, ..end(&instructions) };
        let (said, _) = recorder.keep(end, user());
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        (store.load("app-0badcafe-n4").unwrap().unwrap(), told, order, said)
    };
    let (record, told, order, said) = keep(placed_recorder(&store), &[0, 1, 0, 1], 5);
    assert_eq!(told, None);
    assert_eq!(order.process_of_task, [0, 2, 1, 3], "for a job that does not reach its end");
    assert_eq!(record.launch.mode, LaunchMode::Place);
    assert_eq!(record.launch.process_of_task, [0, 2, 1, 3]);
    assert_eq!(record.launch.placement.node_of_process, [0, 0, 1, 1]);
    assert_eq!((record.launch.internode_bytes, record.launch.predicted), (0, (40, 20)));
    assert!(record.history.last().unwrap().reordered);
    assert!(said[0].contains("ranks placed by the launcher"), "{said:?}");

    let (record, told, order, said) = keep(placed_recorder(&store), &[0, 0, 1, 1], 6);
    assert!(told.unwrap().to_string().contains("2 ranks run on another host"));
    assert_eq!(said.len(), 1, "it is said once: {said:?}");
    assert!(order.process_of_task.is_empty());
    assert_eq!(record.launch.mode, LaunchMode::Misplaced);
    assert!(record.launch.process_of_task.is_empty() && !record.history.last().unwrap().reordered);
    assert_eq!(record.launch.predicted, (0, 0));
    assert!(
        record.launch.decision.contains("than they were meant for"),
        "{}",
        record.launch.decision
    );
}

#[test]
fn places_of_another_job_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path());
    let names = ["n0".to_string()];
    for (ranks, spawned) in [(3, false), (TASKS, true)] {
        let processes = Processes { complete: true, one_program: true, spawned };
        let known = Known::read(&settings(), program(), Ok(store.clone()), TASKS, processes, None);
        let order: Vec<u32> = (0..ranks as u32).collect();
        let placed = PlacedRanks::new(&order, &vec![0; ranks], &names, (0, 0));
        assert!(!known.with_placed(Some(placed), TASKS).facts.placed);
    }
}
