//! Commands for a store that many launches fill: filters of lists, removal of old records, the epilog of killed jobs.

use crate::support::{Place, of, repository};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

const RING: &str = "src,dst,bytes,messages\n0,1,4096,4\n1,2,1024,4\n2,3,4096,4\n3,0,1024,4\n";
const PAIR: &str = "src,dst,bytes,messages\n0,1,4096,4\n1,0,4096,4\n";

/// A store with records of two programs.
fn place() -> Place {
    let place = Place::new();
    place.file("ring.csv", RING);
    place.file("pair.csv", PAIR);
    for (key, file) in [("lmp-1", "ring.csv"), ("lmp-2", "pair.csv"), ("a,b", "pair.csv")] {
        place.ok(&["import", "--key", key, file]);
    }
    place
}

fn keys(csv: &str) -> Vec<String> {
    let mut keys: Vec<String> =
        csv.lines().skip(1).map(|line| line.rsplitn(8, ',').last().unwrap().into()).collect();
    keys.sort();
    keys
}

#[test]
fn lists_have_filters() {
    let place = place();
    let csv = |args: &[&str]| place.ok(&[&["list", "--csv"], args].concat());
    let all = csv(&[]);
    assert!(all.starts_with("key,program,tasks,recorded_at,file,size_bytes,verdict,problem\n"));
    assert_eq!(keys(&all), ["\"a,b\"", "lmp-1", "lmp-2"]);
    assert_eq!(keys(&csv(&["--program", "lmp-*"])), ["lmp-1", "lmp-2"]);
    assert_eq!(keys(&csv(&["--tasks", "3-8"])), ["lmp-1"]);
    assert_eq!(keys(&csv(&["--since", "1h", "--program", "lmp-2"])), ["lmp-2"]);
    assert_eq!(csv(&["--most", "2"]).lines().count(), 3);
    let none = place.run(&["list", "--before", "2020-01-01"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(none.err.contains("no record is of this kind"), "{}", none.err);
    for (args, said) in [
        (["list", "--since", "yesterday"], "'yesterday' is not an age; try: give a number"),
        (
            ["list", "--tasks", "8-4"],
            "'8-4' is not a number of tasks; try: give a number or a range",
        ),
        (["gc", "--most-bytes", "1X"], "'1X' is not a size; try: give a number of bytes"),
    ] {
        let run = place.run(&args);
        assert!(run.code == Some(2) && run.err.contains(said), "{args:?}: {}", run.err);
    }
}

#[test]
fn damaged_records_are_found() {
    let place = place();
    let sound = place.run(&["list", "--verify"]);
    assert_eq!((sound.code, sound.out.as_str()), (Some(0), ""));
    assert!(sound.err.contains("all 3 records can be read to their end"), "{}", sound.err);
    let file = place.path("store/lmp-2.rkw");
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert!(!place.ok(&["list"]).contains("unreadable"), "the beginning is sound");
    let damaged = place.run(&["list", "--verify"]);
    assert_eq!(damaged.code, Some(2));
    assert!(damaged.out.contains("lmp-2") && !damaged.out.contains("lmp-1"), "{}", damaged.out);
    assert!(damaged.err.contains("1 of 3 records cannot be read"), "{}", damaged.err);
}

#[test]
fn the_oldest_records_are_removed() {
    let place = place();
    let nothing = place.run(&["gc", "--older-than", "1d"]);
    assert_eq!(nothing.code, Some(1), "{}", nothing.err);
    let asked = place.run(&["gc", "--most-records", "0", "--program", "lmp*", "--dry-run"]);
    assert_eq!((asked.code, asked.out.lines().count()), (Some(0), 2));
    assert!(asked.err.contains("would remove 2 records"), "{}", asked.err);
    assert_eq!(place.ok(&["list", "--csv"]).lines().count(), 4);
    let json = place.ok(&["gc", "--most-records", "1", "--program", "lmp*", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["removed_records"], 1, "{json}");
    let bytes = |name: &str| json[name].as_u64().unwrap();
    let parts = ["removed_bytes", "removed_bytes_beside", "leftover_bytes"];
    assert_eq!(bytes("freed_bytes"), parts.map(bytes).iter().sum::<u64>(), "{json}");
    assert!(bytes("removed_bytes") > 0, "{json}");
    assert_eq!(place.ok(&["list", "--csv"]).lines().count(), 3);
}

/// The epilog starts the command only if the user has files on the node, ends in time, and never fails.
#[test]
fn the_epilog_recovers_and_never_fails() {
    let place = Place::new();
    let epilog = repository("scripts/packaging/epilog");
    let name = |flag: &str| {
        let output = Command::new("id").arg(flag).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    let (user, uid) = (name("-un"), name("-u"));
    let stub = |script: &str| {
        let path = place.file("rankweave", format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let run = |user: &str, command: &str| {
        let mut epilog = Command::new(&epilog);
        epilog.args(["17", user]).env_remove("SLURM_JOB_USER").env("TMPDIR", place.path(""));
        epilog.env("RANKWEAVE_COMMAND", command).env("RANKWEAVE_EPILOG_SECONDS", "1");
        of(epilog.output().unwrap())
    };
    let calls = place.path("calls").display().to_string();
    let command = stub(&format!("echo \"$@\" >>{calls}; echo text; echo error >&2; exit 3"));
    let silent = |run: crate::support::Run| {
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""));
    };
    place.file(&format!("rankweave-{uid}-0000000000000007-0-99.spill"), "x");
    silent(run(&user, &command));
    assert_eq!(std::fs::read_to_string(&calls).unwrap(), "recover --here\n");
    silent(run("no-such-user", &command));
    silent(run("", &command));
    silent(run(&user, "/no/such/command"));
    let started = Instant::now();
    silent(run(&user, &stub("sleep 60")));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(std::fs::read_to_string(&calls).unwrap(), "recover --here\n");
}
