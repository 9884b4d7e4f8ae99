//! Tests of the runs of a key.

use super::*;
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use crate::store::{Fit, Unfinished};
use proptest::prelude::*;

const TASKS: usize = 4;

/// A record of a run with an argument, of `bytes` in all.
pub(in crate::store) fn run(
    argument: &str,
    bytes: u64,
    completeness: Completeness,
    at: u64,
) -> Record {
    let entries: Vec<_> = (0..TASKS as u32)
        .map(|t| (t, (t + 1) % TASKS as u32, Traffic { bytes: bytes / 4, messages: 1 }))
        .filter(|entry| entry.2.bytes > 0)
        .collect();
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(TASKS, &entries));
    let mut record = Record::of_matrix("app-n4", matrix);
    record.command = vec!["app".into(), argument.into()];
    record.recorded_at = at;
    record.unfinished = match completeness {
        Completeness::Whole => None,
        Completeness::Interrupted => Some(Unfinished::default()),
        Completeness::Partial => Some(Unfinished { missing: vec![3], ..Unfinished::default() }),
    };
    record
}

fn kind(argument: &str) -> u32 {
    Standing::of(&run(argument, 0, Completeness::Whole, 0)).kind
}

pub(in crate::store) fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("store"));
    (dir, store)
}

/// The bytes of the record that a launch with this argument would use, and why.
pub(in crate::store) fn used(store: &Store, argument: &str) -> Option<(u64, Fit)> {
    let found = store.fitting("app-n4", TASKS, kind(argument)).unwrap()?;
    Some((found.record.matrix.total_bytes(), found.fit))
}

#[test]
fn a_run_that_sends_nothing_does_not_replace_a_good_record() {
    let (_dir, store) = store();
    store.save_soon(&run("melt", 4000, Completeness::Whole, 1)).unwrap();
    store.save_soon(&run("-help", 0, Completeness::Whole, 2)).unwrap();
    assert_eq!(store.load("app-n4").unwrap().unwrap().matrix.total_bytes(), 4000);
    assert_eq!(used(&store, "melt"), Some((4000, Fit::SameKind)));
    assert_eq!(used(&store, "-help"), Some((0, Fit::SameKind)));
    assert_eq!(used(&store, "other"), Some((4000, Fit::OtherKind)));
    // The other way round, too.
    store.save_soon(&run("large", 40_000, Completeness::Whole, 3)).unwrap();
    assert_eq!(used(&store, "melt"), Some((4000, Fit::SameKind)));
    assert_eq!(used(&store, "other"), Some((40_000, Fit::OtherKind)));
}

#[test]
fn what_is_incomplete_replaces_nothing_complete() {
    let (_dir, store) = store();
    store.save_soon(&run("in", 4000, Completeness::Whole, 1)).unwrap();
    store.save_soon(&run("in", 9000, Completeness::Partial, 2)).unwrap();
    store.save_soon(&run("in", 9000, Completeness::Interrupted, 3)).unwrap();
    assert_eq!(store.load("app-n4").unwrap().unwrap().recorded_at, 1);
    assert_eq!(used(&store, "in"), Some((4000, Fit::SameKind)));
    // A whole one takes the place of a partial one, and of an interrupted one that is no richer.
    let (_dir, store) = self::store();
    store.save_soon(&run("in", 9000, Completeness::Partial, 1)).unwrap();
    assert_eq!(used(&store, "in"), None);
    store.save_soon(&run("in", 400, Completeness::Whole, 2)).unwrap();
    assert_eq!(used(&store, "in"), Some((400, Fit::SameKind)));
}

#[test]
fn the_newest_is_used_unless_it_is_much_poorer() {
    let (_dir, store) = store();
    store.save_soon(&run("in", 4000, Completeness::Whole, 1)).unwrap();
    store.save_soon(&run("in", 3000, Completeness::Whole, 2)).unwrap();
    assert_eq!(used(&store, "in"), Some((3000, Fit::SameKind)));
    store.save_soon(&run("in", 40, Completeness::Whole, 3)).unwrap();
    assert_eq!(used(&store, "in"), Some((3000, Fit::SameKind)));
    assert!(store.runs("app-n4").iter().any(|run| run.standing.bytes == 4000), "the richest stays");
}

#[test]
fn a_user_can_choose() {
    let (_dir, store) = store();
    store.save_soon(&run("a", 4000, Completeness::Whole, 1)).unwrap();
    store.save_soon(&run("b", 40, Completeness::Whole, 2)).unwrap();
    let runs = store.runs("app-n4");
    let name = runs[0].name(&runs);
    store.choose_run("app-n4", Some(&name)).unwrap();
    assert_eq!(used(&store, "a"), Some((40, Fit::Chosen)));
    assert_eq!(store.find(Some(&format!("app-n4@{name}"))).unwrap().matrix.total_bytes(), 40);
    store.choose_run("app-n4", None).unwrap();
    store.choose_run("app-n4", None).unwrap();
    assert_eq!(used(&store, "a"), Some((4000, Fit::SameKind)));
    assert!(store.choose_run("app-n4", Some("nothing")).is_err());
    store.remove(&format!("app-n4@{name}")).unwrap();
    assert_eq!(store.load("app-n4").unwrap().unwrap().matrix.total_bytes(), 4000);
    store.remove("app-n4").unwrap();
    assert!(store.runs("app-n4").is_empty() && store.load("app-n4").unwrap().is_none());
}

#[test]
fn jobs_that_end_together_lose_no_record() {
    for _ in 0..10 {
        let (_dir, store) = store();
        std::thread::scope(|scope| {
            for job in 0..32u64 {
                let store = &store;
                scope.spawn(move || {
                    let record = run(&format!("{}", job % 4), 4 << job, Completeness::Whole, job);
                    store.save_soon(&record).unwrap();
                });
            }
        });
        for argument in 0..4u64 {
            let most = 4 << (28 + argument);
            let in_use = store.load("app-n4").unwrap().unwrap().matrix.total_bytes();
            let mut kept = store.runs("app-n4").into_iter().map(|run| run.standing.bytes);
            assert!(in_use == most || kept.any(|bytes| bytes == most), "{argument}");
        }
    }
}

#[test]
fn names_of_files_say_how_runs_stand() {
    let record = run("x", 4000, Completeness::Interrupted, 77);
    let standing = Standing::of(&record);
    let run = Run::parse(PathBuf::from("/s").join(file_of(&standing, b"bytes"))).unwrap();
    assert_eq!(run.standing, standing);
    for name in ["a.rkw", "1-2-3-4-whole-5", "1-2-3-4-odd-5.rkw", "g-2-3-4-whole-5.rkw", "chosen"] {
        assert_eq!(Run::parse(PathBuf::from(name)), None, "{name}");
    }
}

fn any_run() -> impl Strategy<Value = (u8, u64, Completeness)> {
    let completeness = prop::sample::select(Completeness::ALL.to_vec());
    (0u8..4, prop::sample::select(vec![0u64, 4, 40, 400, 4000, 4004]), completeness)
}

proptest! {
    /// After any sequence of launches the richest whole record of each kind is there, and a launch of that
    /// kind uses a whole one that is not much poorer.
    #[test]
    fn no_sequence_loses_the_richest(launches in prop::collection::vec(any_run(), 1..20)) {
        let (_dir, store) = store();
        for (at, &(argument, bytes, completeness)) in launches.iter().enumerate() {
            let before = store.load("app-n4").unwrap();
            store.save_soon(&run(&argument.to_string(), bytes, completeness, at as u64)).unwrap();
            let after = store.load("app-n4").unwrap().unwrap();
            if before.is_some_and(|before| before.unfinished.is_none()) {
                prop_assert!(after.unfinished.is_none(), "complete stays complete");
            }
        }
        for argument in 0u8..4 {
            let whole = launches.iter().filter(|l| l.0 == argument && l.2 == Completeness::Whole);
            let Some(most) = whole.map(|l| l.1 / 4 * 4).max() else { continue };
            let in_use = store.load("app-n4").unwrap().unwrap();
            let is_in_use = in_use.unfinished.is_none() && in_use.matrix.total_bytes() == most;
            let is_kept = store.runs("app-n4").iter().any(|run| {
                run.standing.bytes == most && run.standing.completeness == Completeness::Whole
            });
            prop_assert!(is_in_use || is_kept, "{argument}: {most}");
            let (bytes, fit) = used(&store, &argument.to_string()).unwrap();
            prop_assert_eq!(fit, Fit::SameKind);
            prop_assert!(bytes * 2 >= most, "{} of {}", bytes, most);
        }
    }
}
