//! Random sequences of events in a store: launches that end in every way, records that the user imports,
//! chooses and removes, damaged files, clocks that go backwards. After each step an oracle says which records
//! have to be there and which record a launch has to use.

use super::tests::{run, store};
use super::*;
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use crate::store::failed_run::StoredRun;
use crate::store::{Fit, Fitting, LaunchMode, Past, read_file};
use Completeness::{Interrupted, Partial, Whole};
use proptest::prelude::*;
use std::collections::BTreeMap;

const KEY: &str = "app-n4";
const TASKS: usize = 4;
const KINDS: u8 = 4;
/// Bytes of a run: some runs are as rich as others, and some are much poorer.
const SENT: [u64; 6] = [0, 40, 400, 4000, 4004, 9000];
/// The most steps of a sequence.
const STEPS: usize = 14;

/// About a thousand sequences, always the same; with the variable PROPTEST_CASES four times as many as it says, and
/// others each time.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.rng_seed = proptest::test_runner::RngSeed::Fixed(16);
    }
    config.cases = config.cases.saturating_mul(4);
    config
}

#[derive(Debug, Clone)]
enum Step {
    /// A launch that came to its end; its process fails after that, or not.
    Launch {
        argument: u8,
        bytes: u64,
        fails: bool,
    },
    /// The record that is recovered from a killed or flushed launch.
    Recover {
        argument: u8,
        bytes: u64,
        completeness: Completeness,
    },
    Import {
        bytes: u64,
    },
    /// The user chooses a run, or lets each launch choose.
    Use(Option<usize>),
    RemoveRun(usize),
    RemoveAll,
    OtherRanks,
    /// Damages a run, or the record in use.
    Damage(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let sent = || prop::sample::select(SENT.to_vec());
    let launch = (0..KINDS, sent(), prop::bool::weighted(0.2));
    let left = (0..KINDS, sent(), prop::sample::select(vec![Partial, Interrupted]));
    prop_oneof![
        12 => launch.prop_map(|(argument, bytes, fails)| Step::Launch { argument, bytes, fails }),
        4 => left.prop_map(|(argument, bytes, completeness)| Step::Recover {
            argument, bytes, completeness
        }),
        2 => sent().prop_map(|bytes| Step::Import { bytes }),
        2 => prop::option::weighted(0.7, 0usize..8).prop_map(Step::Use),
        1 => (0usize..8).prop_map(Step::RemoveRun),
        1 => Just(Step::RemoveAll),
        1 => Just(Step::OtherRanks),
        2 => (0usize..8).prop_map(Step::Damage),
    ]
}

/// The records that have to be in the store.
#[derive(Debug, Default)]
struct Oracle {
    /// The bytes of the richest whole record of each kind.
    richest: BTreeMap<u32, u64>,
    /// The kind, bytes and time of the record that the user chose or imported.
    chosen: Option<(u32, u64, u64)>,
    /// One whose file was damaged: it may come back, because the record in use may be a copy of it.
    damaged: Option<(u32, u64, u64)>,
}

fn told(record: &Record) -> (u32, u64, u64) {
    let Standing { kind, bytes, recorded_at, .. } = Standing::of(record);
    (kind, bytes, recorded_at)
}

/// The records of the key that can be read.
fn readable(store: &Store) -> Vec<Record> {
    let runs = store.runs(KEY).into_iter().map(|run| run.path);
    runs.chain([store.path_of(KEY)]).filter_map(|path| read_file(&path).ok()).collect()
}

impl Oracle {
    fn add(&mut self, record: &Record) {
        let standing = Standing::of(record);
        if standing.completeness == Whole {
            let most = self.richest.entry(standing.kind).or_default();
            *most = standing.bytes.max(*most);
        }
    }

    /// After files were removed or damaged: what is left.
    fn look(&mut self, store: &Store) {
        self.richest.clear();
        let left = readable(store);
        left.iter().for_each(|record| self.add(record));
        let beside = || store.runs(KEY).into_iter().filter_map(|run| read_file(&run.path).ok());
        self.chosen = self.chosen.filter(|chosen| beside().any(|record| told(&record) == *chosen));
    }

    fn check(&self, store: &Store) -> std::result::Result<(), TestCaseError> {
        let there = readable(store);
        for (&kind, &bytes) in &self.richest {
            let is_it = |record: &Record| {
                let standing = Standing::of(record);
                (standing.kind, standing.completeness, standing.bytes) == (kind, Whole, bytes)
            };
            prop_assert!(there.iter().any(is_it), "{kind:08x} with {bytes} B is lost");
        }
        for argument in 0..KINDS {
            let kind = Standing::of(&run(&argument.to_string(), 0, Whole, 0)).kind;
            let fitting = store.fitting(KEY, TASKS, kind);
            let usable = there.iter().any(Record::has_all_tasks);
            prop_assert!(fitting.is_ok() || !usable, "{:?}", fitting.err());
            let Some(Fitting { record, fit, .. }) = fitting.ok().flatten() else {
                prop_assert!(!usable, "nothing is used for {argument}, but there are records");
                continue;
            };
            if let Some(chosen) = self.chosen {
                prop_assert_eq!((told(&record), fit), (chosen, Fit::Chosen));
            } else if fit == Fit::Chosen {
                prop_assert_eq!(Some(told(&record)), self.damaged);
            } else if let Some(&most) = self.richest.get(&kind) {
                prop_assert_eq!((Standing::of(&record).kind, fit), (kind, Fit::SameKind));
                let bytes = record.matrix.total_bytes();
                prop_assert!(bytes * 2 >= most, "{} of {}", bytes, most);
            }
        }
        Ok(())
    }
}

/// A record of launch `id`, which its history knows.
fn recorded(argument: u8, bytes: u64, completeness: Completeness, at: u64, id: u64) -> Record {
    let mut record = run(&argument.to_string(), bytes, completeness, at);
    record.launch.wall_seconds = id as f64;
    record.launch.total_bytes = bytes;
    let work = Standing::of(&record).kind;
    let past = Past { id, ended_at: at, work, wall_seconds: id as f64, ..Past::default() };
    record.history = vec![Past { total_bytes: bytes, ..past }];
    record
}

fn apply(store: &Store, oracle: &mut Oracle, step: &Step, at: u64, id: u64) {
    match *step {
        Step::Launch { argument, bytes, fails } => {
            let record = recorded(argument, bytes, Whole, at, id);
            store.save_soon(&record).unwrap();
            match fails {
                true => {
                    StoredRun::new(store.directory(), KEY, id).mark_failed(1).unwrap();
                }
                false => oracle.add(&record),
            }
        }
        Step::Recover { argument, bytes, completeness } => {
            let record = recorded(argument, bytes, completeness, at, id);
            let newer = |before: &Record| before.recorded_at > at;
            store.save_unless(&record, newer).unwrap();
        }
        Step::Import { bytes } => {
            let mut record = run("", bytes, Whole, at);
            record.command.clear();
            record.launch.mode = LaunchMode::Import;
            store.save(&record).unwrap();
            oracle.add(&record);
            oracle.chosen = Some(told(&record));
        }
        Step::Use(None) => {
            let is_there = store.path_of(KEY).exists() || !store.runs(KEY).is_empty();
            if is_there {
                store.choose_run(KEY, None).unwrap();
                (oracle.chosen, oracle.damaged) = (None, None);
            }
        }
        Step::Use(Some(index)) => {
            let runs = store.runs(KEY);
            let Some(chosen) = runs.get(index % runs.len().max(1)) else { return };
            let record = read_file(&chosen.path).ok().filter(Record::has_all_tasks);
            if let Some(record) = record {
                store.choose_run(KEY, Some(&chosen.name(&runs))).unwrap();
                oracle.chosen = Some(told(&record));
            }
        }
        Step::RemoveRun(index) => {
            let runs = store.runs(KEY);
            let Some(gone) = runs.get(index % runs.len().max(1)) else { return };
            if store.remove(&format!("{KEY}@{}", gone.name(&runs))).is_ok() {
                oracle.look(store);
            }
        }
        Step::RemoveAll => {
            if store.remove(KEY).is_ok() {
                *oracle = Oracle::default();
            }
        }
        Step::OtherRanks => {
            let entries = [(0, 1, Traffic { bytes: 99_000, messages: 1 })];
            let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &entries));
            let other = Record { recorded_at: at, ..Record::of_matrix(KEY, matrix) };
            if store.load(KEY).ok().flatten().is_some() {
                assert!(store.save_soon(&other).is_err());
            }
        }
        Step::Damage(index) => {
            let runs = store.runs(KEY).into_iter().map(|run| run.path);
            let files: Vec<_> = runs.chain([store.path_of(KEY)]).filter(|p| p.exists()).collect();
            let Some(path) = files.get(index % files.len().max(1)) else { return };
            // The record in use may be another name of the same file.
            fs::write(path, b"damaged").unwrap();
            let chosen = oracle.chosen;
            oracle.look(store);
            oracle.damaged = chosen.filter(|_| oracle.chosen.is_none()).or(oracle.damaged);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_sequence_loses_a_good_record(
        steps in prop::collection::vec((step(), 1u64..20), 1..STEPS),
    ) {
        let (_dir, store) = store();
        let mut oracle = Oracle::default();
        for (number, (step, at)) in steps.iter().enumerate() {
            apply(&store, &mut oracle, step, *at, number as u64 + 1);
            oracle.check(&store).map_err(|e| TestCaseError::fail(format!("step {number}: {e}")))?;
        }
    }
}
