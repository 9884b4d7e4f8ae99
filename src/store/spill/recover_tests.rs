//! Jobs that did not reach MPI_Finalize become records.

use super::*;
use crate::matrix::Traffic;
use crate::store::spill::{About, layout};

const ME: &str = "n1";

fn user() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() }
}

/// Writes the spill file of one task of three, which sent `messages` to the next.
fn spill(directory: &Path, id: u64, task: u32, messages: u64) -> PathBuf {
    spill_of(directory, id, [task, 3], messages)
}

/// Writes the spill file of a task of a job with so many tasks.
fn spill_of(directory: &Path, id: u64, [task, tasks]: [u32; 2], messages: u64) -> PathBuf {
    let job = JobDescription {
        id,
        tasks,
        key: "k".into(),
        mode: LaunchMode::Record,
        model: "logical".into(),
        started_at: 100,
        ..JobDescription::default()
    };
    let about = About { job, task, process: task, host: ME.into(), ..About::default() };
    let mut bytes = layout::header(&about.encode());
    bytes.resize(bytes.len().next_multiple_of(layout::ALIGN), 0);
    let tasks = tasks as usize;
    let mut cells = vec![[0u64; 2]; tasks.next_multiple_of(4)];
    let length = 64 + 16 * cells.len() as u64;
    let head = layout::Head { tag: 1, length, count: cells.len() as u64, ..Default::default() };
    bytes.extend(head.to_bytes());
    cells[(task as usize + 1) % tasks] = [8 * messages, messages];
    bytes.extend(cells.iter().flatten().flat_map(|n| n.to_ne_bytes()));
    let path = directory.join(layout::file_name(user(), id, task, 1));
    std::fs::write(&path, bytes).unwrap();
    path
}

struct Place {
    _dir: tempfile::TempDir,
    spills: PathBuf,
    store: Store,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let spills = dir.path().join("spills");
        std::fs::create_dir(&spills).unwrap();
        Place { spills, store: Store::open(dir.path().join("store")), _dir: dir }
    }

    /// The only job, with all that waits.
    fn one(&self) -> LeftoverJob {
        self.found(Reach::AllParts)
    }

    fn found(&self, reach: Reach) -> LeftoverJob {
        let (mut jobs, strays, errors) =
            collect(std::slice::from_ref(&self.spills), Some(&self.store), user(), reach);
        assert!(strays.is_empty() && errors.is_empty(), "{strays:?} {errors:?}");
        assert_eq!(jobs.len(), 1);
        jobs.remove(0)
    }

    fn left(&self) -> usize {
        std::fs::read_dir(&self.spills).unwrap().count()
    }
}

#[test]
fn a_whole_job_becomes_a_record_and_its_files_go() {
    let place = Place::new();
    for task in 0..3 {
        spill(&place.spills, 7, task, 5);
    }
    let kept = Choice { keep: true, ..Choice::default() };
    place.one().recover(&place.store, ME, kept, 200).unwrap();
    assert_eq!(place.left(), 3);
    let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
    assert!(outcome.saved.is_some() && outcome.waiting.is_none());
    let record = place.store.load("k").unwrap().unwrap();
    assert_eq!(record, outcome.record);
    assert_eq!(record.matrix.sum().get(2, 0), Traffic { bytes: 40, messages: 5 });
    assert_eq!(place.left(), 0);
}

#[test]
fn parts_of_other_nodes_wait_in_the_store() {
    let place = Place::new();
    spill(&place.spills, 7, 0, 5);
    let outcome = place.one().recover(&place.store, "a", Choice::default(), 200).unwrap();
    assert!(outcome.saved.is_some() && outcome.waiting.is_some());
    assert!(!place.store.load("k").unwrap().unwrap().has_all_tasks());
    assert_eq!(place.left(), 0);
    spill(&place.spills, 7, 1, 5);
    spill(&place.spills, 7, 2, 5);
    let job = place.one();
    assert_eq!((job.found(), job.files.len()), (3, 2));
    job.recover(&place.store, "b", Choice::default(), 201).unwrap();
    let record = place.store.load("k").unwrap().unwrap();
    assert!(record.has_all_tasks());
    assert_eq!(record.matrix.sum().pairs(), 3);
    assert!(Waiting::of(&place.store).files(None).is_empty());
}

#[test]
fn nodes_that_recover_a_job_at_the_same_time_have_all_of_it() {
    let place = Place::new();
    // Each has looked before the other one kept its parts.
    let jobs: Vec<LeftoverJob> = [vec![0], vec![1, 2]]
        .into_iter()
        .map(|tasks| {
            let files: Vec<PathBuf> =
                tasks.into_iter().map(|task| spill(&place.spills, 7, task, 5)).collect();
            let job = place.one();
            files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
            job
        })
        .collect();
    assert_eq!(jobs.iter().map(LeftoverJob::found).collect::<Vec<_>>(), [1, 2]);
    for (job, host) in jobs.iter().zip(["a", "b"]) {
        job.recover(&place.store, host, Choice::default(), 200).unwrap();
    }
    assert!(place.store.load("k").unwrap().unwrap().has_all_tasks());
    assert!(Waiting::of(&place.store).files(None).is_empty());
}

#[test]
fn a_bad_file_of_parts_stops_nothing_and_names_no_store() {
    let place = Place::new();
    spill(&place.spills, 7, 0, 5);
    place.one().recover(&place.store, "a", Choice::default(), 200).unwrap();
    let waiting = Waiting::of(&place.store);
    let good = waiting.load(&waiting.files(Some(7))[0].1, user()).unwrap().remove(0);
    let mut outside = good.clone();
    (outside.about.job.id, outside.about.process) = (8, 99);
    let bad = waiting.keep("b", &[outside], true).unwrap();
    let mut elsewhere = good;
    elsewhere.about.job.id = 9;
    elsewhere.about.job.store = "/elsewhere".into();
    waiting.keep("c", &[elsewhere], true).unwrap();
    let (jobs, strays, _) = collect(&[], Some(&place.store), user(), Reach::OtherJobs);
    assert_eq!(strays.iter().map(|s| &s.path).collect::<Vec<_>>(), [&bad]);
    assert_eq!(jobs.iter().map(|j| j.job.id).collect::<Vec<_>>(), [7, 9]);
    assert_eq!(jobs[1].store(None).unwrap().directory(), place.store.directory());
    for job in &jobs {
        job.recover(&place.store, "a", Choice::default(), 300).unwrap();
    }
    let (jobs, strays, _) = collect(&[], Some(&place.store), user() + 1, Reach::AllParts);
    assert!(jobs.is_empty());
    assert_eq!(strays.len(), 3, "files of another user");
}

#[test]
fn better_records_stay() {
    let place = Place::new();
    for task in 0..3 {
        spill(&place.spills, 7, task, 5);
    }
    // A whole record of before the job is replaced, one of after it is not.
    let mut other = place.one().recover(&place.store, ME, Choice::default(), 50).unwrap().record;
    other.unfinished = None;
    place.store.save(&other).unwrap();
    spill(&place.spills, 8, 0, 1);
    let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
    assert!(outcome.saved.is_none() && outcome.waiting.is_some());
    assert!(place.store.load("k").unwrap().unwrap().unfinished.is_none());
    spill(&place.spills, 8, 1, 1);
    spill(&place.spills, 8, 2, 1);
    // Of the second in which the job began: stored at its own end, or by the job before it?
    for (wall, stays) in [(0.4, true), (2.5, false)] {
        other.recorded_at = place.one().job.started_at;
        other.launch.wall_seconds = wall;
        place.store.save(&other).unwrap();
        let keep = Choice { keep: true, ..Choice::default() };
        let outcome = place.one().recover(&place.store, ME, keep, 200).unwrap();
        assert_eq!(outcome.saved.is_none(), stays, "{wall}");
    }
    // The history says that another job stored it.
    other.launch.wall_seconds = 0.4;
    other.history = vec![Past { id: 9, ended_at: other.recorded_at, ..Past::default() }];
    place.store.save(&other).unwrap();
    let keep = Choice { keep: true, ..Choice::default() };
    let outcome = place.one().recover(&place.store, ME, keep, 200).unwrap();
    assert!(outcome.saved.is_some());
    other.recorded_at = 150;
    place.store.save(&other).unwrap();
    let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
    assert!(outcome.saved.is_none());
    assert_eq!(place.left(), 2, "what is not in the store stays");
    let force = Choice { force: true, ..Choice::default() };
    assert!(place.one().recover(&place.store, ME, force, 200).unwrap().saved.is_some());
    assert_eq!(place.left(), 0);
}

#[test]
fn a_killed_run_of_another_kind_is_kept_beside_a_newer_record() {
    let place = Place::new();
    for task in 0..3 {
        spill(&place.spills, 7, task, 5);
    }
    let keep = Choice { keep: true, ..Choice::default() };
    let other = place.one().recover(&place.store, ME, keep, 200).unwrap().record;
    let mut newer = Record { unfinished: None, recorded_at: 300, ..other };
    newer.command = vec!["app".into(), "other".into()];
    place.store.remove("k").unwrap();
    place.store.save(&newer).unwrap();
    let outcome = place.one().recover(&place.store, ME, Choice::default(), 200).unwrap();
    assert_eq!(crate::store::read_file(&outcome.saved.unwrap()).unwrap(), outcome.record);
    assert_eq!(place.store.load("k").unwrap().unwrap().recorded_at, 300);
    assert_eq!((place.store.runs("k").len(), place.left()), (1, 0));
}

#[test]
fn discarding_removes_everything() {
    let place = Place::new();
    spill(&place.spills, 7, 0, 5);
    let keep = Choice { keep: true, ..Choice::default() };
    place.one().recover(&place.store, ME, keep, 200).unwrap();
    place.one().discard(&place.store).unwrap();
    let (jobs, ..) =
        collect(std::slice::from_ref(&place.spills), Some(&place.store), user(), Reach::AllParts);
    assert!(jobs.is_empty() && place.left() == 0);
}

/// The jobs of nodes with one task each, as each node finds it before any of them stores its part.
fn nodes_with_one_task(place: &Place, nodes: u32) -> Vec<LeftoverJob> {
    let of = |task: u32| {
        let spills = place.spills.join(task.to_string());
        std::fs::create_dir(&spills).unwrap();
        spill_of(&spills, 7, [task, nodes], 5);
        let (mut jobs, ..) = collect(&[spills], Some(&place.store), user(), Reach::Node);
        jobs.remove(0)
    };
    (0..nodes).map(of).collect()
}

fn assert_whole(place: &Place, tasks: usize) {
    let record = place.store.load("k").unwrap().unwrap();
    assert!(record.has_all_tasks(), "{:?}", record.unfinished);
    assert_eq!(record.matrix.sum().pairs(), tasks);
    assert_eq!(std::fs::read_dir(Waiting::of(&place.store).directory()).unwrap().count(), 0);
}

#[test]
fn of_many_nodes_some_make_a_record_and_the_last_one_makes_the_whole_one() {
    let place = Place::new();
    let jobs = nodes_with_one_task(&place, 101);
    let mut saved = Vec::new();
    for (number, job) in (1..).zip(&jobs) {
        let host = format!("n{number}");
        let outcome = job.recover(&place.store, &host, Choice::default(), 200).unwrap();
        assert_eq!(outcome.left_to_others, outcome.saved.is_none());
        assert!(outcome.left.is_none() && job.files.iter().all(|file| !file.exists()));
        if outcome.saved.is_some() {
            saved.push(number);
        } else {
            assert_eq!(outcome.record.matrix.sum().pairs(), 1);
        }
    }
    let expected = (1..=32).chain((34..=64).step_by(2)).chain((68..=100).step_by(4)).chain([101]);
    assert_eq!(saved, expected.collect::<Vec<u32>>());
    assert_whole(&place, 101);
}

#[test]
fn many_nodes_at_the_same_time_make_one_whole_record() {
    for nodes in [2, 12, 60] {
        let place = Place::new();
        let jobs = nodes_with_one_task(&place, nodes);
        std::thread::scope(|scope| {
            for (number, job) in jobs.iter().enumerate() {
                let store = &place.store;
                scope.spawn(move || {
                    job.recover(store, &format!("n{number}"), Choice::default(), 200).unwrap();
                });
            }
        });
        assert_whole(&place, nodes as usize);
    }
}

#[test]
fn a_node_leaves_the_record_to_the_one_that_makes_it_now() {
    let place = Place::new();
    let jobs = nodes_with_one_task(&place, 3);
    std::fs::create_dir_all(Waiting::of(&place.store).directory()).unwrap();
    let turn = Waiting::of(&place.store).begin_joining(7);
    for (job, host) in jobs.iter().zip(["a", "b", "c"]).take(2) {
        let outcome = job.recover(&place.store, host, Choice::default(), 200).unwrap();
        assert!(outcome.left_to_others && outcome.waiting.unwrap().exists());
    }
    assert!(place.store.load("k").unwrap().is_none());
    let forced = Choice { force: true, ..Choice::default() };
    let outcome = jobs[1].recover(&place.store, "b", forced, 200).unwrap();
    assert_eq!(outcome.record.matrix.sum().pairs(), 2);
    drop(turn);
    jobs[2].recover(&place.store, "c", Choice::default(), 200).unwrap();
    assert_whole(&place, 3);
}

#[test]
fn what_waits_is_looked_at_as_far_as_asked() {
    let place = Place::new();
    spill(&place.spills, 7, 0, 5);
    place.one().recover(&place.store, "a", Choice::default(), 200).unwrap();
    spill(&place.spills, 7, 1, 5);
    for (reach, found) in [(Reach::Node, 1), (Reach::OtherJobs, 1), (Reach::AllParts, 2)] {
        assert_eq!(place.found(reach).found(), found, "{reach:?}");
    }
    let others = |reach| collect(&[], Some(&place.store), user(), reach).0.len();
    assert_eq!([Reach::Node, Reach::OtherJobs, Reach::AllParts].map(others), [0, 1, 1]);
}

#[test]
fn parts_of_one_node_that_come_later_are_added() {
    let place = Place::new();
    for task in [0, 1, 2] {
        spill(&place.spills, 7, task, 5);
        let outcome = place
            .found(Reach::OtherJobs)
            .recover(&place.store, ME, Choice::default(), 200)
            .unwrap();
        assert_eq!(outcome.tasks_found(), task as usize + 1);
    }
    assert_whole(&place, 3);
}

#[test]
fn the_last_node_makes_the_record_if_the_one_that_joins_was_killed() {
    let place = Place::new();
    let jobs = nodes_with_one_task(&place, 3);
    std::fs::create_dir_all(Waiting::of(&place.store).directory()).unwrap();
    let killed = Waiting::of(&place.store).begin_joining(7).unwrap();
    for (job, host) in jobs.iter().zip(["a", "b", "c"]) {
        job.recover(&place.store, host, Choice::default(), 200).unwrap();
    }
    drop(killed);
    assert_whole(&place, 3);
}

#[test]
fn a_partial_record_does_not_replace_the_whole_one_even_if_forced() {
    let place = Place::new();
    let jobs = nodes_with_one_task(&place, 3);
    for (job, host) in jobs.iter().zip(["a", "b", "c"]) {
        job.recover(&place.store, host, Choice::default(), 200).unwrap();
    }
    let forced = Choice { force: true, ..Choice::default() };
    assert!(jobs[0].recover(&place.store, "a", forced, 201).unwrap().saved.is_none());
    assert!(place.store.load("k").unwrap().unwrap().has_all_tasks());
}

#[test]
fn parts_of_running_processes_do_not_stand_for_the_last_ones() {
    let place = Place::new();
    let mut jobs = nodes_with_one_task(&place, 2);
    for job in &mut jobs {
        job.running = 1;
    }
    jobs[0].recover(&place.store, "a", Choice::default(), 200).unwrap();
    let outcome = jobs[1].recover(&place.store, "b", Choice::default(), 200).unwrap();
    assert!(outcome.record.has_all_tasks());
    // The job was killed. The first node has counted no more, and the second one has.
    for job in &mut jobs {
        job.running = 0;
    }
    spill_of(jobs[1].files[0].parent().unwrap(), 7, [1, 2], 9);
    let (second, ..) = collect(&[place.spills.join("1")], Some(&place.store), user(), Reach::Node);
    let first = jobs[0].recover(&place.store, "a", Choice::default(), 201).unwrap();
    assert_eq!(first.tasks_found(), 1);
    second[0].recover(&place.store, "b", Choice::default(), 201).unwrap();
    let record = place.store.load("k").unwrap().unwrap();
    assert!(record.has_all_tasks());
    assert_eq!(record.matrix.sum().get(1, 0).messages, 9);
}

#[test]
fn a_node_that_has_joined_for_long_joins_again_only_if_all_parts_are_there() {
    let of = |nodes| Census { nodes, tasks: Some(2 * nodes) };
    let again = |before, after, spent| joins_again([&of(before), &of(after)], spent, 20);
    let soon = Duration::from_secs(1);
    assert!(again(3, 5, soon) && again(9, 10, soon));
    assert!(!again(3, 5, 10 * soon), "others come later and have their turn");
    assert!(again(9, 10, 10 * soon), "no other comes any more");
    assert!(!again(5, 5, soon) && !again(10, 10, 10 * soon), "nobody came");
}
