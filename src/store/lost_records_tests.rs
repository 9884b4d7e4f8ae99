//! Sequences of launches in which a good record was lost, or a wrong one was used.

use super::tests::{run, store, used};
use super::*;
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use crate::store::failed_run::StoredRun;
use crate::store::{Fit, LaunchMode, Past, RefusedRecords};
use Completeness::{Interrupted, Whole};

const KEY: &str = "app-n4";

/// A whole run that is in its own history as launch `at`.
fn launch(argument: &str, bytes: u64, at: u64) -> Record {
    let mut record = run(argument, bytes, Whole, at);
    record.launch.wall_seconds = at as f64;
    record.launch.total_bytes = bytes;
    let work = Standing::of(&record).kind;
    let past = Past { id: at, ended_at: at, work, wall_seconds: at as f64, ..Past::default() };
    record.history = vec![Past { total_bytes: bytes, ..past }];
    record
}

fn bytes(store: &Store) -> Vec<u64> {
    store.runs(KEY).iter().map(|run| run.standing.bytes).collect()
}

#[test]
fn a_rich_interrupted_run_outlives_a_poor_whole_one() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 9000, Interrupted, 1)).unwrap();
    store.save_soon(&run("a", 40, Whole, 2)).unwrap();
    store.save_soon(&run("b", 8000, Whole, 3)).unwrap();
    assert_eq!(used(&store, "a"), Some((9000, Fit::SameKind)));
    assert!(bytes(&store).contains(&9000) && bytes(&store).contains(&40));
}

#[test]
fn what_the_user_chose_stays_chosen() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 4000, Whole, 1)).unwrap();
    store.save_soon(&run("a", 3000, Whole, 2)).unwrap();
    let runs = store.runs(KEY);
    let wanted = runs.iter().find(|run| run.standing.bytes == 3000).unwrap().name(&runs);
    store.choose_run(KEY, Some(&wanted)).unwrap();
    for at in 3..9 {
        store.save_soon(&run("a", 4000 + 1000 * at, Whole, at)).unwrap();
        assert_eq!(used(&store, "a"), Some((3000, Fit::Chosen)), "{at}");
    }
}

#[test]
fn another_number_of_tasks_is_refused() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 4000, Whole, 1)).unwrap();
    let entries = [(0, 1, Traffic { bytes: 4, messages: 1 })];
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &entries));
    let error = store.save_soon(&Record::of_matrix(KEY, matrix)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("with 2 tasks is not saved, because the record in the store has 4"),
        "{error}"
    );
    assert_eq!(used(&store, "a"), Some((4000, Fit::SameKind)));
}

#[test]
fn a_file_that_cannot_be_read_gives_way_to_the_next() {
    let (_dir, store) = store();
    for (at, argument, sent) in [(1, "a", 9000), (2, "a", 9004), (3, "b", 9000)] {
        store.save_soon(&run(argument, sent, Whole, at)).unwrap();
    }
    let best = store.runs(KEY).into_iter().find(|run| run.standing.bytes == 9004).unwrap().path;
    // Power was lost before the file was on disk; or it is damaged.
    for content in [&b""[..], b"damaged"] {
        // The record in use may be another name of the same file.
        fs::remove_file(&best).unwrap();
        fs::write(&best, content).unwrap();
        assert_eq!(used(&store, "a"), Some((9000, Fit::SameKind)));
    }
}

#[test]
fn leftovers_of_interrupted_saves_go() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 9000, Whole, 1)).unwrap();
    store.save_soon(&run("a", 9004, Whole, 2)).unwrap();
    let left = store.runs_folder(KEY).join(".x.rkw.1-2-3.tmp");
    fs::write(&left, b"part").unwrap();
    let month = std::time::Duration::from_secs(30 * 86400);
    let old = std::time::SystemTime::now() - month;
    fs::File::options().write(true).open(&left).unwrap().set_modified(old).unwrap();
    store.save_soon(&run("a", 9008, Whole, 3)).unwrap();
    assert!(!left.exists());
}

#[test]
fn a_poor_record_that_waits_does_not_replace_a_rich_one() {
    let dir = tempfile::tempdir().unwrap();
    // SAFETY: no preconditions.
    let place = RefusedRecords::of(dir.path(), unsafe { libc::geteuid() });
    let store = Store::open(dir.path().join("full"));
    place.keep(&run("a", 400_000, Whole, 1), &store).unwrap();
    place.keep(&run("-help", 0, Whole, 2), &store).unwrap();
    let (held, _) = place.list();
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].read().unwrap().0.matrix.total_bytes(), 400_000);
}

#[test]
fn a_failed_launch_changes_no_record_of_the_same_second() {
    let (_dir, store) = store();
    store.save_soon(&launch("a", 4000, 1)).unwrap();
    let mut failed = launch("a", 4000, 11);
    let mut fine = launch("b", 9000, 22);
    for record in [&mut failed, &mut fine] {
        record.recorded_at = 5;
        record.history[0].ended_at = 5;
        store.save_soon(record).unwrap();
    }
    StoredRun::new(store.directory(), KEY, 11).mark_failed(1).unwrap();
    assert_eq!(used(&store, "b"), Some((9000, Fit::SameKind)));
    assert!(store.load(KEY).unwrap().unwrap().unfinished.is_none());
    assert_eq!(used(&store, "a"), Some((4000, Fit::SameKind)));
}

#[test]
fn jobs_and_readers_at_the_same_time_lose_no_record() {
    for _ in 0..100 {
        let (_dir, store) = store();
        store.save_soon(&run("a", 4000, Whole, 1)).unwrap();
        std::thread::scope(|scope| {
            for job in 0..4u64 {
                let store = &store;
                scope.spawn(move || {
                    store.load(KEY).unwrap();
                    store.save_soon(&run(&job.to_string(), 40, Whole, 2)).unwrap();
                });
            }
        });
    }
}

#[test]
fn an_imported_matrix_is_used() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 4000, Whole, 1)).unwrap();
    let mut imported = Record::of_matrix(KEY, run("a", 8000, Whole, 9).matrix);
    imported.launch.mode = LaunchMode::Import;
    imported.recorded_at = 9;
    store.save(&imported).unwrap();
    assert_eq!(used(&store, "a"), Some((8000, Fit::Chosen)));
    // Launches after it change nothing, until the user says so.
    store.save_soon(&run("a", 7000, Whole, 10)).unwrap();
    store.save_soon(&run("b", 9000, Whole, 11)).unwrap();
    assert_eq!(used(&store, "a"), Some((8000, Fit::Chosen)));
    store.choose_run(KEY, None).unwrap();
    assert_eq!(used(&store, "a"), Some((7000, Fit::SameKind)));
    assert_eq!(used(&store, "b"), Some((9000, Fit::SameKind)));
}

#[test]
fn a_choice_against_an_imported_matrix_in_use_counts() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 4000, Whole, 1)).unwrap();
    let mut imported = Record::of_matrix(KEY, run("a", 8000, Whole, 9).matrix);
    imported.launch.mode = LaunchMode::Import;
    imported.recorded_at = 9;
    store.save(&imported).unwrap();
    store.choose_run(KEY, None).unwrap();
    assert_eq!(used(&store, "a"), Some((4000, Fit::SameKind)));
}

#[test]
fn a_chosen_run_whose_program_failed_stays_chosen() {
    let (_dir, store) = store();
    store.save_soon(&launch("b", 9000, 1)).unwrap();
    store.save_soon(&launch("a", 400, 2)).unwrap();
    let runs = store.runs(KEY);
    store.choose_run(KEY, Some(&runs[0].name(&runs))).unwrap();
    StoredRun::new(store.directory(), KEY, 2).mark_failed(1).unwrap();
    assert_eq!(used(&store, "b"), Some((400, Fit::Chosen)));
}

#[test]
fn a_damaged_record_in_use_gives_way_to_the_runs() {
    let (_dir, store) = store();
    for (at, argument, sent) in [(1, "a", 9000), (2, "a", 9004), (3, "b", 9000)] {
        store.save_soon(&run(argument, sent, Whole, at)).unwrap();
    }
    fs::write(store.path_of(KEY), b"damaged").unwrap();
    assert_eq!(used(&store, "a"), Some((9004, Fit::SameKind)));
    store.save_soon(&run("a", 40, Whole, 4)).unwrap();
    assert_eq!(store.load(KEY).unwrap().unwrap().matrix.total_bytes(), 9004);
    assert_eq!(used(&store, "a"), Some((9004, Fit::SameKind)));
}

#[test]
fn a_damaged_run_is_no_reason_to_remove_another() {
    let (_dir, store) = store();
    for (at, sent) in [(1, 4000), (2, 9000)] {
        store.save_soon(&run("a", sent, Whole, at)).unwrap();
    }
    store.save_soon(&run("b", 90_000, Whole, 3)).unwrap();
    let rich = store.runs(KEY).into_iter().find(|run| run.standing.bytes == 9000).unwrap();
    fs::write(&rich.path, b"damaged").unwrap();
    for at in 4..8 {
        store.save_soon(&run("a", 2100, Whole, at)).unwrap();
    }
    assert!(bytes(&store).contains(&4000), "{:?}", store.runs(KEY));
}

#[test]
fn a_clock_that_goes_backwards_loses_nothing_to_a_failed_run() {
    let (_dir, store) = store();
    for (at, sent) in [(3, 6000), (10, 4000), (5, 8000)] {
        store.save_soon(&launch("a", sent, at)).unwrap();
    }
    StoredRun::new(store.directory(), KEY, 5).mark_failed(1).unwrap();
    let whole = |run: &Run| run.standing.completeness == Whole && run.standing.bytes == 6000;
    assert!(store.runs(KEY).iter().any(whole), "{:?}", store.runs(KEY));
}

#[test]
fn a_failed_run_gives_way_to_a_rich_one() {
    let (_dir, store) = store();
    for (at, sent) in [(1, 40), (2, 0), (3, 400)] {
        store.save_soon(&launch("a", sent, at)).unwrap();
    }
    StoredRun::new(store.directory(), KEY, 3).mark_failed(1).unwrap();
    assert_eq!(store.load(KEY).unwrap().unwrap().matrix.total_bytes(), 40);
    assert_eq!(used(&store, "a"), Some((40, Fit::SameKind)));
}

#[test]
fn an_older_record_of_another_kind_is_kept_beside_a_newer_one() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 4000, Whole, 9)).unwrap();
    let newer = |before: &Record| before.recorded_at > 5;
    assert!(store.save_unless(&run("a", 9000, Interrupted, 5), newer).unwrap().is_none());
    assert!(store.save_unless(&run("b", 9000, Interrupted, 5), newer).unwrap().is_some());
    assert_eq!(used(&store, "b"), Some((9000, Fit::SameKind)));
    assert_eq!(used(&store, "a"), Some((4000, Fit::SameKind)));
}

#[test]
fn failing_launches_leave_the_richest_whole_run() {
    let (_dir, store) = store();
    store.save_soon(&launch("a", 4000, 1)).unwrap();
    store.save_soon(&launch("a", 2100, 2)).unwrap();
    for at in [3, 5, 7] {
        store.save_soon(&launch("a", 8000, at)).unwrap();
        StoredRun::new(store.directory(), KEY, at).mark_failed(1).unwrap();
        store.save_soon(&launch("a", 2100, at + 1)).unwrap();
        let is_whole = |run: &&Run| run.standing.completeness == Whole;
        let most = store.runs(KEY).iter().filter(is_whole).map(|run| run.standing.bytes).max();
        assert_eq!(most, Some(4000), "{at}");
    }
}

#[test]
fn launches_of_a_chosen_run_are_remembered() {
    let (_dir, store) = store();
    store.save_soon(&launch("a", 4000, 1)).unwrap();
    store.save_soon(&launch("a", 3000, 2)).unwrap();
    let runs = store.runs(KEY);
    let name = runs.iter().find(|run| run.standing.bytes == 4000).unwrap().name(&runs);
    store.choose_run(KEY, Some(&name)).unwrap();
    store.save_soon(&launch("a", 3000, 3)).unwrap();
    let kind = Standing::of(&launch("a", 0, 1)).kind;
    let fitting = store.fitting(KEY, 4, kind).unwrap().unwrap();
    let known: Vec<u64> = fitting.record.history.iter().map(|past| past.id).collect();
    assert_eq!((fitting.fit, known), (Fit::Chosen, vec![1, 2, 3]));
}
