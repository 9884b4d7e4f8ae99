//! `rankweave check` and `rankweave compare` with a launcher that is a shell script: their conclusions
//! from runs whose outcome is known.

use crate::support::{Place, Run};
use rankweave::matrix::{CommMatrix, SparseMatrix, Traffic};
use rankweave::store::{Finding, Launch, Past, Placement, Record, Store};
use serde_json::Value;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

const PROGRAM: &str = "app-0badcafe";

/// What the library would have stored after a launch.
fn record(mode: &str, order: &[u32], seconds: f64) -> Record {
    let cell = Traffic { bytes: 1000, messages: 1 };
    let entries: Vec<_> = (0..4).map(|t| (t, (t + 1) % 4, cell)).collect();
    let launch = Launch {
        mode: mode.parse().unwrap(),
        process_of_task: order.to_vec(),
        placement: Placement::of_nodes(vec![0, 0, 1, 1], vec!["host-a".into(), "host-b".into()]),
        wall_seconds: seconds,
        internode_bytes: if order.is_empty() { 4000 } else { 1000 },
        predicted: if mode == "reorder" { (4000, 1000) } else { (0, 0) },
        ..Launch::default()
    };
    let past = Past {
        id: (seconds * 1e3) as u64,
        ended_at: 1,
        reordered: !order.is_empty(),
        wall_seconds: seconds,
        ..Past::default()
    };
    Record {
        key: format!("{PROGRAM}-n4"),
        program: "/opt/app".into(),
        command: vec!["./app".into()],
        mpi: "An MPI".into(),
        recorded_at: 1_700_000_000,
        matrix: CommMatrix::from_point_to_point(SparseMatrix::from_entries(4, &entries)),
        launch,
        baseline: None,
        unfinished: None,
        identity: PROGRAM.into(),
        history: vec![past],
        constructed: Vec::new(),
    }
}

/// A directory with a launcher. The shell script `body` stands for the program. It finds the mode of the
/// library in `mode` and the number of the run in `n`. Before it runs, the launcher puts into the store what
/// the library would store in this mode.
fn place(body: &str) -> Place {
    let place = Place::new();
    for (name, mode, order, seconds) in [
        ("record", "record", &[][..], 2.0),
        ("shuffle", "shuffle", &[0, 3, 2, 1], 2.0),
        ("reorder", "reorder", &[0, 2, 1, 3], 1.0),
    ] {
        let store = Store::open(place.path(name));
        store.save(&record(mode, order, seconds)).unwrap();
    }
    let here = place.path("").display().to_string();
    let script = format!(
        "#!/bin/sh\n\
         echo x >> {here}/runs\n\
         n=$(wc -l < {here}/runs)\n\
         mode=${{RANKWEAVE_MODE:-off}}\n\
         seed=${{RANKWEAVE_SEED:-0}}\n\
         if [ \"$mode\" != off ] && [ -d \"$RANKWEAVE_STORE\" ] && [ ! -e {here}/blind ]; then\n\
             cp {here}/$mode/*.rkw \"$RANKWEAVE_STORE\"/\n\
         fi\n\
         {body}\n"
    );
    let launcher = place.file("launcher", script);
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.file("librankweave.so", "");
    place
}

fn run(place: &Place, command: &str, options: &[&str]) -> Run {
    let mut all = vec![command];
    all.extend(options);
    all.extend(["--", "./launcher", "-n", "4", "./app"]);
    let mut command = place.command(&all);
    command.env("RANKWEAVE_LIBRARY", place.path("librankweave.so"));
    crate::support::of(command.output().expect("run the command"))
}

fn check(body: &str, options: &[&str]) -> (Run, Value) {
    let place = place(body);
    checked(&place, options)
}

fn checked(place: &Place, options: &[&str]) -> (Run, Value) {
    let text = run(place, "check", options);
    let verdict = text.out.split(':').next().unwrap_or_default().to_string();
    let _ = std::fs::remove_file(place.path("runs"));
    let json = run(place, "check", &[options, &["--json"]].concat());
    assert_eq!(text.code, json.code, "{text:?} {json:?}");
    let value: Value = serde_json::from_str(&json.out).unwrap_or_default();
    if text.code != Some(2) {
        assert_eq!(value["schema"], 1);
        assert_eq!(value["verdict"], verdict.as_str(), "{text:?}");
    }
    let left: Vec<_> = std::fs::read_dir(place.path("store"))
        .unwrap()
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.') && !name.starts_with(".marks-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    (text, value)
}

#[test]
fn safe_programs() {
    let place = place("echo \"sum 1.00000$n\"; echo \"took $n.5 s on host-a\"");
    let (text, json) = checked(&place, &["--tolerance", "1e-3"]);
    assert_eq!(text.code, Some(0), "{text:?}");
    assert!(text.out.contains("seeds 1, 2, 3") && text.out.contains("2 lines"), "{}", text.out);
    assert_eq!((&json["tasks"], &json["identity"]), (&4.into(), &PROGRAM.into()));
    assert_eq!(json["plain_runs"], 2);
    let verdicts = Store::open(place.path("store")).verdicts(PROGRAM).unwrap();
    assert_eq!(verdicts.len(), 1);
    assert_eq!(
        (verdicts[0].finding, verdicts[0].seeds.as_slice()),
        (Finding::Safe, &[1, 2, 3][..])
    );
    // The user's record does not change.
    assert!(Store::open(place.path("store")).list().unwrap().is_empty());
}

#[test]
fn programs_that_differ() {
    let body =
        "echo head; if [ $mode$seed = shuffle2 ]; then echo 'sum 2.0'; else echo 'sum 1.0'; fi";
    let place = place(body);
    let (text, json) = checked(&place, &[]);
    assert_eq!(text.code, Some(1), "{text:?}");
    for part in ["seed 2", "line 2: sum 1.0", "line 2: sum 2.0", "run --mode shuffle --seed 2 --"] {
        assert!(text.out.contains(part), "{part} in {}", text.out);
    }
    assert_eq!(json["difference"]["other"]["text"], "sum 2.0");
    assert_eq!(json["difference"]["plain"]["line"], 2);
    let store = Store::open(place.path("store"));
    assert!(store.objection(PROGRAM).unwrap().unwrap().reason.contains("seed 2"));
    store.save(&record("record", &[], 2.0)).unwrap();
    assert!(place.ok(&["list"]).contains("differs"));
    assert!(place.ok(&["show", "--no-map"]).contains("check       differs with 4 ranks"));

    // Only in the files that are compared.
    assert_eq!(checked(&place, &["--seeds", "1,3", "--forget"]).0.code, Some(0));
    assert!(store.objection(PROGRAM).unwrap().is_some(), "--forget changes nothing");
    assert_eq!(checked(&place, &["--ignore", "^sum"]).0.code, Some(0));
    assert_eq!(store.objection(PROGRAM).unwrap(), None);
}

#[test]
fn other_ways_to_differ() {
    let (text, json) = check("[ $mode = shuffle ] && exit 3; exit 0", &[]);
    assert!(text.out.contains("exit code 3"), "{text:?}");
    assert_eq!((&json["verdict"], &json["difference"]["what"]), (&"differs".into(), &"end".into()));
    let (text, _) = check("[ $mode = shuffle ] && sleep 60; exit 0", &["--timeout", "1"]);
    assert!(text.out.starts_with("differs") && text.out.contains("time limit"), "{text:?}");
    // Already the library itself.
    let (text, json) = check("[ $mode = record ] && echo seen; exit 0", &[]);
    assert!(text.out.starts_with("differs: recorded"), "{text:?}");
    assert!(json["again"].as_str().unwrap().contains("--mode record"), "{json}");
    // Standard error only when asked.
    let body = "echo $mode >&2";
    assert_eq!(check(body, &["--seeds", "1"]).0.code, Some(0));
    assert_eq!(check(body, &["--stderr", "--seeds", "1"]).0.code, Some(1));
}

#[test]
fn files_are_compared_and_put_back() {
    let body = "cat log 2>/dev/null; [ $mode = shuffle ] && echo 2 >> log || echo 1 >> log";
    let place = place(body);
    place.file("log", "0\n");
    assert_eq!(checked(&place, &["--seeds", "1"]).0.code, Some(1), "it grows");
    std::fs::write(place.path("log"), "0\n").unwrap();
    let (text, json) = checked(&place, &["--seeds", "1", "--file", "log"]);
    assert_eq!(text.code, Some(1), "{text:?}");
    assert!(text.out.contains("log differs in line 2"), "{text:?}");
    assert_eq!(json["difference"]["what"], "log");
    assert_eq!(std::fs::read_to_string(place.path("log")).unwrap(), "0\n");
    let (text, _) = checked(&place, &["--file", "absent"]);
    assert!(text.out.contains("does not write absent"), "{text:?}");
}

#[test]
fn orders_of_lines() {
    // Plain runs differ in their order.
    let (text, json) =
        check("if [ $((n % 2)) = 0 ]; then echo a; echo b; else echo b; echo a; fi", &[]);
    assert_eq!((text.code, &json["order"]), (Some(0), &"sorted".into()), "{text:?}");
    assert!(text.out.contains("compared sorted: plain runs"), "{text:?}");
    // Only permuted runs differ.
    let body = "if [ $mode = shuffle ]; then echo b; echo a; else echo a; echo b; fi";
    let (text, json) = check(body, &[]);
    assert_eq!((text.code, &json["difference"]["only_order"]), (Some(1), &true.into()), "{text:?}");
    assert!(text.out.contains("same lines in another order") && text.out.contains("--sorted"));
    assert_eq!(check(body, &["--sorted"]).0.code, Some(0));
}

#[test]
fn what_cannot_be_compared() {
    for (body, options, part) in [
        ("echo $n", &[][..], "plain runs differ among themselves"),
        ("echo trouble >&2; exit 5", &[], "fails by itself: exit code 5 (trouble)"),
        ("sleep 60", &["--timeout", "1"], "fails by itself: time limit"),
        ("[ $n = 5 ] && echo once; [ $mode = shuffle ] && echo odd; exit 0", &[], "differ"),
    ] {
        let (text, json) = check(body, options);
        assert_eq!(text.code, Some(1), "{text:?}");
        assert!(text.out.contains(part), "{part} in {text:?}");
        let known = ["not comparable", "differs"].contains(&json["verdict"].as_str().unwrap());
        assert!(known, "{json}");
    }
    let blind = place("echo 1");
    blind.file("blind", "");
    let (text, _) = checked(&blind, &[]);
    assert!(text.out.contains("recorded nothing"), "{text:?}");
    // A launch whose ranks did not move proves nothing.
    let still = place("echo 1");
    std::fs::remove_dir_all(still.path("shuffle")).unwrap();
    Store::open(still.path("shuffle")).save(&record("shuffle", &[], 2.0)).unwrap();
    let (text, _) = checked(&still, &[]);
    assert!(text.out.contains("could not be permuted"), "{text:?}");
}

#[test]
fn a_program_that_varies_once_in_a_while_is_no_proof() {
    // The fourth run is plain, and the first after one that differs.
    let body = "[ $mode = shuffle ] && echo odd; [ $n = 4 ] && echo even; exit 0";
    let place = place(body);
    let text = run(&place, "check", &[]);
    assert!(text.out.starts_with("not comparable: plain runs sometimes differ"), "{text:?}");
}

#[test]
fn wrong_requests_are_refused() {
    let place = place("echo 1");
    for options in [
        &["--ignore", "("][..],
        &["--seeds", "x"],
        &["--tolerance", "-1"],
        &["--plain", "1"],
        &["--fix", "x"],
        &["--file", "store"],
    ] {
        std::fs::create_dir_all(place.path("store")).unwrap();
        let text = run(&place, "check", options);
        assert_eq!((text.code, text.out.as_str()), (Some(2), ""), "{options:?} {text:?}");
    }
    assert!(!place.path("runs").exists(), "nothing was run");
    for options in [&["--figure", "("][..], &["--confidence", "100"], &["--runs", "0"]] {
        assert_eq!(run(&place, "compare", options).code, Some(2), "{options:?}");
    }
    assert_eq!(run(&place, "compare", &["--figure", "t=([0-9])"]).code, Some(2), "no such figure");
}

/// Runs whose figure is `given` or `reordered`, in turn from these lists.
fn figures(given: &str, reordered: &str) -> Place {
    place(&format!(
        "case $mode in reorder) list='{reordered}';; *) list='{given}';; esac\n\
         set -- $list; shift $(((n - 1) / 2 % $#)); echo \"figure $1\""
    ))
}

fn compare(place: &Place, options: &[&str]) -> (Run, Value) {
    let all = [&["--figure", "figure ([0-9.]+)"], options].concat();
    let text = run(place, "compare", &all);
    let json = run(place, "compare", &[&all[..], &["--json"]].concat());
    (text, serde_json::from_str(&json.out).unwrap_or_default())
}

#[test]
fn comparisons() {
    let noise = ("10 11 10 12 11 10", "7 8 7.5 7 8 7");
    let place = figures(noise.0, noise.1);
    let (text, json) = compare(&place, &[]);
    assert_eq!(text.code, Some(0), "{text:?}");
    assert!(text.out.starts_with("faster: ratio 0."), "{text:?}");
    assert!(text.err.contains("nothing was stored yet: recorded"), "{text:?}");
    assert_eq!(
        (&json["schema"], &json["pairs"], &json["verdict"]),
        (&1.into(), &6.into(), &"faster".into())
    );
    assert_eq!(json["given"].as_array().unwrap().len(), 6);
    assert!(json["interval"][1].as_f64().unwrap() < 1.0, "{json}");
    assert!(json["coverage"].as_f64().unwrap() > 0.95);
    assert_eq!(json["internode_bytes"]["reordered"], 1000);
    // The runs are in the history of the record: here the last one, which is reordered.
    compare(&place, &["--runs", "1"]);
    let record = Store::open(place.path("store")).load(&format!("{PROGRAM}-n4")).unwrap().unwrap();
    assert!(record.history.iter().any(|p| p.reordered), "{:?}", record.history);
    assert!(!record.launch.is_reordered(), "the record itself stays");

    let (text, json) = compare(&figures(noise.1, noise.0), &[]);
    assert_eq!((text.code, &json["verdict"]), (Some(1), &"slower".into()), "{text:?}");
    let (text, _) = compare(&figures(noise.1, noise.0), &["--higher-is-better"]);
    assert!(text.out.starts_with("faster"), "{text:?}");
    let (text, _) = compare(&figures("10 12 9", "11 9 12 10"), &[]);
    assert!(text.out.starts_with("no difference shown"), "{text:?}");
    let (text, json) = compare(&figures(noise.0, noise.1), &["--runs", "3"]);
    assert_eq!(text.code, Some(1), "too few pairs: {text:?}");
    assert!(text.out.contains("75.0 % at best"), "{text:?}");
    assert_eq!(json["pairs"], 3);
    // A pair that would not end in time is not begun.
    let slow = place_of_sleepers();
    let text = run(&slow, "compare", &["--time-limit", "500ms", "--runs", "50"]);
    assert!(text.err.contains("the time limit is reached"), "{text:?}");
}

fn place_of_sleepers() -> Place {
    place("sleep 0.1")
}

#[test]
fn what_is_not_reordered_is_not_compared() {
    let place = place("echo 1");
    std::fs::remove_dir_all(place.path("reorder")).unwrap();
    let mut alone = record("reorder", &[], 2.0);
    alone.launch.decision = "the launcher's order is kept: nothing to gain".into();
    Store::open(place.path("reorder")).save(&alone).unwrap();
    let text = run(&place, "compare", &[]);
    assert_eq!(text.code, Some(1), "{text:?}");
    assert!(
        text.out.contains("not reordered: the launcher's order is kept: nothing to gain"),
        "{text:?}"
    );
    let runs = std::fs::read_to_string(place.path("runs")).unwrap().lines().count();
    assert_eq!(runs, 2, "no pairs were run");
    let failing = self::place("exit 4");
    let text = run(&failing, "compare", &[]);
    assert_eq!(text.code, Some(2), "{text:?}");
    assert!(text.err.contains("exit code 4"), "{text:?}");
}

#[test]
fn a_difference_is_not_forgotten_after_a_check_that_compares_less() {
    let place = place(
        "if [ $mode = shuffle ] && [ ! -e corrected ]; then echo 2 > log; else echo 1 > log; fi",
    );
    let store = Store::open(place.path("store"));
    let (text, _) = checked(&place, &["--file", "log", "--seeds", "1-2"]);
    assert_eq!(text.code, Some(1), "{text:?}");
    let (text, json) = checked(&place, &[]);
    assert_eq!(text.code, Some(0), "{text:?}");
    for part in
        ["stays in force (4 ranks: with permuted ranks (seed 1)", "check --seeds 1-3 --file /"]
    {
        assert!(text.err.contains(part), "{part} in {}", text.err);
    }
    assert_eq!(json["still_differs"][0]["launch"][0], "./launcher", "{json}");
    assert!(store.objection(PROGRAM).unwrap().is_some());
    // The command that the message names settles it.
    place.file("corrected", "");
    let (text, json) = checked(&place, &["--file", "log"]);
    assert!(!text.err.contains("stays in force"), "{text:?}");
    assert_eq!(json["still_differs"].as_array().map(Vec::len), Some(0), "{json}");
    assert_eq!(store.objection(PROGRAM).unwrap(), None);
}

#[test]
fn a_comparison_never_gives_an_empty_reason() {
    for (body, said) in [
        ("echo 1", "the library gave no reason"),
        ("touch blind; echo 1", "the library recorded nothing in a run that was to be reordered"),
    ] {
        let place = place(body);
        std::fs::remove_dir_all(place.path("reorder")).unwrap();
        Store::open(place.path("reorder")).save(&record("reorder", &[], 2.0)).unwrap();
        let json = run(&place, "compare", &["--json"]);
        let value: Value = serde_json::from_str(&json.out).unwrap();
        assert!(value["decision"].as_str().unwrap().starts_with(said), "{json:?}");
    }
}

#[test]
fn a_comparison_uses_no_record_of_other_arguments() {
    let place = figures("10", "7");
    let store = Store::open(place.path("store"));
    let cell = Traffic { bytes: 1_000_000, messages: 1 };
    let entries: Vec<_> = (0..4).map(|t| (t, (t + 1) % 4, cell)).collect();
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(4, &entries));
    let command = vec!["./app".to_string(), "large".to_string()];
    let large = Record { matrix, command, ..record("record", &[], 2.0) };
    store.save(&large).unwrap();
    let (text, json) = compare(&place, &["--runs", "1"]);
    assert!(text.err.contains("nothing was stored yet for these arguments: recorded"), "{text:?}");
    assert_eq!(json["pairs"], 1, "{json}");
    let in_use = store.load(&large.key).unwrap().unwrap();
    assert_eq!(in_use.command, large.command, "the richer record stays in use");
    assert!(in_use.history.iter().any(|past| past.reordered), "{:?}", in_use.history);
    // The second comparison found the record of the first.
    let again = run(&place, "compare", &["--runs", "1"]);
    assert!(!again.err.contains("nothing was stored yet"), "{again:?}");
}

/// The program of such a launch is a shell script that prints its last argument.
#[test]
fn an_argument_that_is_not_utf_8_is_passed_on_byte_for_byte() {
    let place = place("for word; do last=$word; done; printf '%s\\n' \"$last\"");
    let word = std::ffi::OsStr::from_bytes(b"caf\xe9.inp");
    for command in ["run", "check", "compare"] {
        let mut options = vec![command];
        if command == "compare" {
            options.extend(["--runs", "1", "--figure", "no such figure"]);
        }
        options.extend(["--", "./launcher", "-n", "4", "./app"]);
        let mut made = place.command(&options);
        made.arg(word).env("RANKWEAVE_LIBRARY", place.path("librankweave.so"));
        let output = made.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if command == "compare" {
            // The program prints no figure, and the error comes after the run.
            assert!(said.contains("matches 'no such figure'"), "{said}");
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{said}");
        if command == "run" {
            assert_eq!(output.stdout, b"caf\xe9.inp\n");
        }
    }
    let verdicts = Store::open(place.path("store")).verdicts(PROGRAM).unwrap();
    assert_eq!(verdicts[0].launch.last().unwrap(), "caf\u{fffd}.inp", "it is shown");
    let mut shown = place.command(&["run", "--dry-run", "--", "./launcher"]);
    shown.arg(word).env("RANKWEAVE_LIBRARY", place.path("librankweave.so"));
    let shown = String::from_utf8(shown.output().unwrap().stdout).unwrap();
    assert!(shown.trim_end().ends_with(r"$'caf\351.inp'"), "{shown}");
}
