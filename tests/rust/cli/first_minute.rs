//! The mistakes of the first minute: what `rankweave run` says, and its exit code.
//!
//! The messages are in tests/snapshots/first-minute.txt, so that a reader can judge them side by side.

use super::doctor::Bench;
use crate::support::{of, same_as_file};
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// The words of a command line behind `rankweave`, and variables of its environment.
type Line<'a> = (&'a str, &'static [(&'static str, &'static str)]);

const LINES: [Line<'static>; 39] = [
    // What is right says nothing.
    ("run -- mpirun -n 2 ./app", &[]),
    ("run mpirun -n 2 ./app", &[]),
    ("run --verbose 2 -- mpirun -n 2 ./app", &[]),
    ("run -- sh job.sh", &[]),
    ("run -- mpirun", &[]),
    ("run -- ./app", &[("PMI_RANK", "1")]),
    // The launch.
    ("run", &[]),
    ("run -- ./app input", &[]),
    ("run -- ./plain", &[]),
    ("run -- mpirum -n 2 ./app", &[]),
    ("run -- mpirun -n 2 ./plain", &[]),
    ("run -- mpirun -n 2 ./static", &[]),
    ("run -- mpirun -n 2 ./app12", &[]),
    ("run -- mpirun -n 1 ./app", &[]),
    ("run -- mpirun -n 2 env -u LD_PRELOAD ./app", &[]),
    ("run -n 2 ./app", &[]),
    ("run -n2 ./app", &[]),
    ("run --ntasks 2 ./app", &[]),
    ("run -- ./plain.c", &[]),
    ("run -- ./plain.sh", &[]),
    ("run -- ./path", &[]),
    ("run -- ./absent", &[]),
    // Options and variables.
    ("rum -- mpirun -n 2 ./app", &[]),
    ("run --mod record -- mpirun -n 2 ./app", &[]),
    ("run --mode recrod -- mpirun -n 2 ./app", &[]),
    ("run --store-bound older=1d -- mpirun -n 2 ./app", &[]),
    ("run -- mpirun -n 2 ./app", &[("RANKWEAVE_STORE_BOUND", "most-bytes=2Q")]),
    ("run --topology toruss:2x2 -- mpirun -n 2 ./app", &[]),
    ("run --topology slurm:none -- mpirun -n 2 ./app", &[]),
    ("run --slots some -- mpirun -n 2 ./app", &[]),
    ("run --fix one -- mpirun -n 2 ./app", &[]),
    ("run --topology tree:2:2 --slots 3,99 -- mpirun -n 2 ./app", &[]),
    ("run --topology tree:2:2 --slots 3 -- mpirun -n 2 ./app", &[]),
    ("run --fix 0,9 -- mpirun -n 2 ./app", &[]),
    ("run --verbose 3 -- mpirun -n 2 ./app", &[]),
    ("run -- --mode record mpirun -n 2 ./app", &[]),
    ("run -- mpirun -n 2 ./app", &[("RANKWEAVE_MOD", "record")]),
    ("run -- mpirun -n 2 ./app", &[("RANKWEAVE_FOO", "record")]),
    ("run -- mpirun -n 2 ./app", &[("RANKWEAVE_MODE", "recrod")]),
];

/// [`next_command`], which says nothing of the lines before it: the launcher of the bench records nothing.
fn command(bench: &Bench, line: Line<'_>) -> Command {
    let notes = bench.place.path("store/launches");
    if notes.exists() {
        std::fs::remove_dir_all(notes).unwrap();
    }
    next_command(bench, line)
}

/// The command in the directory of the bench, with only the launcher of its fake Open MPI in PATH.
fn next_command(bench: &Bench, (line, variables): Line<'_>) -> Command {
    let mut command = bench.place.command(&line.split(' ').collect::<Vec<_>>());
    for name in ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "SLURM_PROCID"]
    {
        command.env_remove(name);
    }
    let path = format!("{}:/usr/bin:/bin", bench.place.path("path").display());
    command.env("PATH", path).envs(variables.iter().copied());
    command.env("RANKWEAVE_LIBRARY", bench.place.path("rw/librankweave.so"));
    command.env("RANKWEAVE_SPILL", bench.place.path("spill"));
    command
}

/// The fake Open MPI of the bench, with a launcher that does nothing, and programs that are not recorded.
fn bench() -> Bench {
    let bench = Bench::new();
    for directory in ["path", "spill"] {
        std::fs::create_dir(bench.place.path(directory)).unwrap();
    }
    bench.script(
        "path/mpirun",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'mpirun (Open MPI) 4.9.1'\nexit 0\n",
    );
    bench.script("job.sh", "#!/bin/sh\nexit 0\n");
    bench.place.file("plain.sh", "#!/bin/sh\nexit 0\n");
    bench.place.file("plain.c", "int main(void) { return 0; }\n");
    bench.cc(&["-o", "plain", "plain.c"]);
    bench.cc(&["-static", "-o", "static", "app.c", "mpi.c", "-DVERSION_TEXT=\"\""]);
    bench
}

#[test]
fn mistakes_of_the_first_minute() {
    let bench = bench();
    let directory = bench.place.path("").display().to_string();
    let mut text = String::new();
    for line in LINES {
        let run = of(command(&bench, line).output().unwrap());
        assert_eq!(run.out, "", "{line:?}");
        let variables: String =
            line.1.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        writeln!(text, "$ {variables}rankweave {}", line.0).unwrap();
        text.push_str(&run.err.replace(&directory, "DIR/"));
        writeln!(text, "exit code {}\n", run.code.map_or("none".into(), |code| code.to_string()))
            .unwrap();
    }
    same_as_file("tests/snapshots/first-minute.txt", &text);
}

/// The bound of a store is applied in the background, once a day, and nothing is said.
#[test]
fn a_launch_bounds_the_store_once_a_day() {
    let bench = bench();
    bench.place.file("ring.csv", "src,dst,bytes,messages\n0,1,4096,4\n");
    let import = |key: &str| {
        let run = of(bench.place.command(&["import", "--key", key, "ring.csv"]).output().unwrap());
        assert_eq!(run.code, Some(0), "{}", run.err);
        bench.place.path(&format!("store/{key}.rkw"))
    };
    let records = [import("one"), import("two")];
    let run = |line: &str| of(command(&bench, (line, &[])).output().unwrap());
    let left = || records.iter().filter(|path| path.exists()).count();
    let wait = |wanted: usize| {
        let begun = std::time::Instant::now();
        while left() != wanted && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(left(), wanted);
    };
    let days = || {
        let files = std::fs::read_dir(bench.place.path("store")).unwrap().flatten();
        files.filter(|f| f.file_name().to_string_lossy().starts_with(".collected-")).count()
    };
    for line in ["run --mode off", "run --dry-run", "run"] {
        let bound = if line == "run" { "" } else { " --store-bound most-records=1" };
        run(&format!("{line}{bound} -- mpirun -n 2 ./app"));
    }
    // What was started in the background by mistake would be done by then.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!((left(), days()), (2, 0));
    let said = run("run --store-bound most-records=1 -- mpirun -n 2 ./app");
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), "", ""));
    wait(1);
    assert_eq!(days(), 1);
    run("run --store-bound most-records=0 -- mpirun -n 2 ./app");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!((left(), days()), (1, 1), "a second time on the same day");
}

/// A launch that was killed leaves a file whose process does not run, and the next launch says so.
#[test]
fn a_killed_launch_is_named() {
    let bench = bench();
    let run = || of(command(&bench, ("run -- mpirun -n 2 ./app", &[])).output().unwrap());
    assert_eq!(run().err, "");
    let user = std::fs::metadata(bench.place.path("spill")).unwrap().uid();
    let left = format!("spill/rankweave-{user}-00000000000000ab-0-1.spill");
    bench.place.file(&left, "RKSPILL\n");
    let said = run();
    assert_eq!(said.code, Some(0));
    assert!(said.err.starts_with("rankweave: an earlier launch ended"), "{}", said.err);
    assert!(said.err.contains("'rankweave recover'"), "{}", said.err);
    // The process runs: it holds the lock of its file.
    let held = std::fs::File::open(bench.place.path(&left)).unwrap();
    held.lock().unwrap();
    assert_eq!(run().err, "");
}

/// A launch that recorded nothing is named once, by the next launch or by a list.
#[test]
fn a_launch_that_recorded_nothing_is_named() {
    let bench = bench();
    let say = |line| of(next_command(&bench, (line, &[])).output().unwrap()).err;
    assert_eq!(say("run -- sh job.sh"), "");
    let said = say("run -- mpirun -n 2 ./app");
    assert!(said.starts_with("rankweave: nothing was recorded of the launch of "), "{said}");
    assert!(said.ends_with("; try: rankweave doctor -- sh job.sh\n"), "{said}");
    assert_eq!(say("list --csv"), "");
    let said = say("list");
    assert!(said.contains("rankweave doctor -- mpirun -n 2 ./app"), "{said}");
    assert!(!say("list").contains("nothing was recorded"));
    // The user knows it already, or asked for nothing.
    for line in ["run -- mpirun -n 2 ./static", "run --mode off -- mpirun -n 2 ./app"] {
        say(line);
        assert!(!say("list").contains("nothing was recorded"), "{line}");
    }
}

/// The files of a launch with another setting are in another directory, which the user did not name.
#[test]
fn recover_searches_no_other_directory_than_the_one_that_the_variable_names() {
    let bench = bench();
    std::fs::create_dir_all(bench.place.path("other")).unwrap();
    let user = std::fs::metadata(bench.place.path("spill")).unwrap().uid();
    let left = format!("other/rankweave-{user}-00000000000000ab-0-1.spill");
    bench.place.file(&left, "no spill file");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = std::fs::File::options().write(true).open(bench.place.path(&left)).unwrap();
    file.set_modified(old).unwrap();
    drop(file);
    let recover = |options: &[&str], spill: &str| {
        let mut command = bench.place.command(&[&["recover"], options].concat());
        command.env("TMPDIR", bench.place.path("other"));
        of(command.env("RANKWEAVE_SPILL", spill).output().unwrap())
    };
    let named = bench.place.path("spill").display().to_string();
    for options in [&["--list"][..], &["--discard"], &[]] {
        let said = recover(options, &named);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{options:?}: {}", said.err);
    }
    assert!(bench.place.path(&left).exists(), "nothing was removed");
    let all = recover(&["--list"], "auto");
    assert!(all.out.contains("00000000000000ab"), "{} {}", all.out, all.err);
}
