//! Gives every input in fuzz/seeds to its fuzz target, without libFuzzer.
//!
//! The seeds are the smallest inputs that together reach all code that earlier runs of `scripts/fuzz`
//! reached, and the inputs of every failure that these runs found. The functions of the targets are
//! in fuzz/src, which is a module here, so this test and the fuzz targets cannot differ. A seed fails
//! if its target panics, takes longer than a second of processor time, or needs more than 64 MiB.

#[path = "../../fuzz/src/lib.rs"]
mod targets;

use crate::support::repository;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use targets::{TARGETS, limits};

/// An input that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of one seed, and of all seeds together.
const MOST_BYTES: (u64, u64) = (16 << 10, 1 << 20);

/// The files of a folder of the repository, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// A message of the thread that checks the inputs.
enum Report {
    Begins(PathBuf),
    Fails(PathBuf),
}

#[test]
fn every_seed_is_survived() {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for (name, _) in TARGETS {
            for path in files(&format!("fuzz/seeds/{name}")) {
                let bytes = std::fs::read(&path).expect("a file of the repository");
                let _ = tell.send(Report::Begins(path.clone()));
                if catch_unwind(|| targets::check(name, &bytes)).is_err() {
                    let _ = tell.send(Report::Fails(path));
                }
            }
        }
    });
    let mut present = PathBuf::new();
    let mut failed = Vec::new();
    loop {
        match told.recv_timeout(PATIENCE) {
            Ok(Report::Begins(path)) => present = path,
            Ok(Report::Fails(path)) => failed.push(path),
            Err(RecvTimeoutError::Timeout) => panic!("{} hangs", present.display()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    assert!(present.starts_with(repository("fuzz/seeds")), "there are seeds");
    assert!(failed.is_empty(), "the messages above are about {failed:#?}");
}

#[test]
fn every_target_has_a_program_and_seeds() {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = TARGETS.iter().map(|(name, _)| (*name).into()).collect();
    let programs: Vec<String> = files("fuzz/fuzz_targets").iter().map(stem).collect();
    let seeds: Vec<String> = files("fuzz/seeds").iter().map(stem).collect();
    assert_eq!(programs, names, "fuzz/fuzz_targets, and TARGETS in fuzz/src/lib.rs");
    assert_eq!(seeds, names, "fuzz/seeds, and TARGETS in fuzz/src/lib.rs");
    for program in files("fuzz/fuzz_targets") {
        let source = std::fs::read_to_string(&program).expect("a source");
        let call = "rankweave_fuzz::check(env!(\"CARGO_BIN_NAME\"), bytes);";
        assert!(source.contains(call), "{} calls the function", program.display());
    }
}

#[test]
fn seeds_are_small() {
    let size = |path: &Path| std::fs::metadata(path).expect("a file of the repository").len();
    let mut all = 0;
    for (name, _) in TARGETS {
        for path in files(&format!("fuzz/seeds/{name}")) {
            assert!(size(&path) <= MOST_BYTES.0, "{} is large", path.display());
            all += size(&path);
        }
    }
    assert!(all <= MOST_BYTES.1, "all seeds together have {all} bytes; scripts/fuzz --seeds");
}

#[test]
fn limits_are_noticed() {
    let exceeds = |seconds, memory, run: fn()| {
        catch_unwind(|| limits::Limits { seconds, memory }.hold(run)).is_err()
    };
    let allocate = || drop(std::hint::black_box(vec![1u8; 2 << 20]));
    let work = || {
        let begin = std::time::Instant::now();
        while begin.elapsed() < Duration::from_millis(200) {
            std::hint::black_box(0);
        }
    };
    assert!(exceeds(1.0, 1 << 20, allocate));
    assert!(!exceeds(1.0, 3 << 20, allocate));
    assert!(exceeds(0.001, 1 << 20, work));
    assert!(!exceeds(1.0, 1 << 20, work));
    assert!(exceeds(1.0, 1 << 20, || panic!("as a mistake does")));
}
