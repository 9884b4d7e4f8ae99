//! Every case that rank 0 can meet when it decides what a launch does, as a table: `policy_cases.txt`.
//!
//! All combinations of the facts are generated. If a value makes no difference, it is a `*` in the table.
//! Values with the same result share a line.

use super::*;
use crate::base::error::{Error, ErrorKind};
use crate::decide::Decision;
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use crate::options::{Names, Settings, Spill};
use crate::store::{Finding, Past, Record, Store, Unfinished, Verdict};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/launch/policy_cases.txt");
const TASKS: usize = 4;

/// A fact that differs between cases, and its values.
type Dimension = (&'static str, &'static [&'static str]);

const NO_YES: &[&str] = &["no", "yes"];
const LISTS: &[&str] = &["none", "allow", "deny", "both"];

const POLICY: [Dimension; 8] = [
    ("overtaken", NO_YES),
    ("complete", NO_YES),
    ("mode", &["auto", "record", "reorder", "shuffle", "off"]),
    ("spawned", NO_YES),
    ("one program", NO_YES),
    ("stored", STORED),
    ("lists", LISTS),
    ("verdict", VERDICTS),
];

const PLACED: [Dimension; 5] = [
    ("overtaken", NO_YES),
    ("mode", &["auto", "record", "reorder", "shuffle", "off"]),
    ("spawned", NO_YES),
    ("lists", LISTS),
    ("verdict", VERDICTS),
];

const VERDICTS: &[&str] = &[
    "none",
    "program unknown",
    "safe",
    "not comparable",
    "differs",
    "mixes ranks",
    "differs and mixes ranks",
    "damaged",
    "newer version",
];

const STORED: &[&str] = &[
    "nothing",
    "whole",
    "unfinished, all tasks",
    "unfinished, tasks missing",
    "other number of tasks",
    "damaged",
    "newer version",
    "newer version, spill off",
    "unreadable",
    "unreadable, spill off",
    "no store",
];

const SETTLE: [Dimension; 5] = [
    ("changed", NO_YES),
    ("mode", &["auto", "reorder"]),
    ("lists", LISTS),
    ("history", &["none", "too few", "doubtful", "slower", "faster", "same", "slower elsewhere"]),
    ("verbose", &["0", "2"]),
];

/// Lines for all cases of the dimensions that are left: values with the same lines share one.
fn rows(
    dimensions: &[Dimension],
    chosen: &mut Vec<&'static str>,
    result: &mut impl FnMut(&[&'static str]) -> String,
) -> Vec<String> {
    let Some(((_, values), rest)) = dimensions.split_first() else { return vec![result(chosen)] };
    let mut groups: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for value in *values {
        chosen.push(value);
        let lines = rows(rest, chosen, result);
        chosen.pop();
        match groups.iter_mut().find(|(_, known)| *known == lines) {
            Some((values, _)) => values.push(value),
            None => groups.push((vec![value], lines)),
        }
    }
    let name = |group: &[&str]| match group.len() {
        n if n == values.len() => "*".to_string(),
        _ => group.join(" or "),
    };
    groups
        .iter()
        .flat_map(|(values, lines)| {
            lines.iter().map(move |line| format!("{} | {line}", name(values)))
        })
        .collect()
}

/// Messages by the number that the table gives them.
#[derive(Default)]
struct Messages(Vec<String>);

impl Messages {
    fn numbers(&mut self, lines: &[String]) -> String {
        let numbers = lines.iter().map(|line| {
            let known = self.0.iter().position(|message| message == line);
            let number = known.unwrap_or_else(|| {
                self.0.push(line.clone());
                self.0.len() - 1
            });
            format!("[{}]", number + 1)
        });
        numbers.collect::<Vec<_>>().join(" ")
    }
}

/// Stores with everything that makes a difference, one for each verdict and record.
struct World {
    directory: tempfile::TempDir,
    exe: PathBuf,
}

impl World {
    fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let exe = directory.path().join("app");
        std::fs::write(&exe, "a program").unwrap();
        let world = World { directory, exe };
        for stored in STORED {
            for verdict in VERDICTS {
                world.fill(stored, verdict);
            }
        }
        world
    }

    fn store(&self, stored: &str, verdict: &str) -> Option<Store> {
        let directory = self.directory.path().join(format!("{stored}.{verdict}.store"));
        (stored != "no store").then(|| Store::open(directory))
    }

    fn exe(&self, verdict: &str) -> PathBuf {
        if verdict == "program unknown" { "/nowhere/app".into() } else { self.exe.clone() }
    }

    fn fill(&self, stored: &str, verdict: &str) {
        let Some(store) = self.store(stored, verdict) else { return };
        std::fs::create_dir_all(store.directory()).unwrap();
        let program = self.program(verdict);
        let key = program.key(&Settings::default(), TASKS);
        let keep = |finding| {
            let verdict = Verdict {
                program: "app".into(),
                launch: vec!["app".into()],
                // One for each finding.
                tasks: finding as u64 + 2,
                checked_at: 1,
                seeds: vec![],
                finding,
                reason: "its output was different".into(),
                compared: None,
            };
            store.keep_verdict(&program.identity, &verdict).unwrap();
        };
        match verdict {
            "safe" => keep(Finding::Safe),
            "not comparable" => keep(Finding::NotComparable),
            "differs" => keep(Finding::Differs),
            "mixes ranks" => keep(Finding::MixesRanks),
            "differs and mixes ranks" => {
                keep(Finding::Differs);
                keep(Finding::MixesRanks);
            }
            "damaged" => std::fs::write(store.verdict_path(&program.identity), "damaged").unwrap(),
            "newer version" => {
                keep(Finding::Differs);
                newer(&store.verdict_path(&program.identity));
            }
            _ => {}
        }
        match stored {
            "whole" => drop(store.save(&record(&key, TASKS, vec![])).unwrap()),
            "unfinished, all tasks" => {
                let unfinished = Some(Unfinished { how: "killed".into(), ..Unfinished::default() });
                let record = Record { unfinished, ..record(&key, TASKS, vec![]) };
                store.save(&record).unwrap();
            }
            "unfinished, tasks missing" => {
                let unfinished = Unfinished { missing: vec![1], ..Unfinished::default() };
                let unfinished = Some(unfinished);
                let record = Record { unfinished, ..record(&key, TASKS, vec![]) };
                store.save(&record).unwrap();
            }
            "other number of tasks" => drop(store.save(&record(&key, 3, vec![])).unwrap()),
            "damaged" => std::fs::write(store.path_of(&key), "damaged").unwrap(),
            "newer version" | "newer version, spill off" => {
                store.save(&record(&key, TASKS, vec![])).unwrap();
                newer(&store.path_of(&key));
            }
            "unreadable" | "unreadable, spill off" => {
                std::fs::create_dir(store.path_of(&key)).unwrap();
            }
            _ => {}
        }
    }

    /// A line without the parts that differ from one run of the test to the next.
    fn plain(&self, line: &str) -> String {
        let directories = STORED.iter().flat_map(|s| VERDICTS.iter().map(move |v| (s, v)));
        let root = self.directory.path().to_string_lossy();
        let mut line = line.to_string();
        for (stored, verdict) in directories {
            line = line.replace(&format!("{root}/{stored}.{verdict}.store"), "STORE");
        }
        line.replace("unknown-n4", "KEY").replace(&format!("{}-n4", self.identity()), "KEY")
    }

    fn identity(&self) -> String {
        self.program("none").identity
    }

    fn program(&self, verdict: &str) -> Program {
        Program::new(&self.exe(verdict), vec!["./app".to_string()], "Some MPI 1.0")
    }

    fn known(
        &self,
        settings: &Settings,
        (stored, verdict): (&str, &str),
        processes: Processes,
        overtaken_by: Option<&str>,
    ) -> Known {
        let none = || Error::new(ErrorKind::Usage, "no directory for the store is known");
        let store = self.store(stored, verdict).ok_or_else(none);
        let program = self.program(verdict);
        Known::read(settings, program, store, TASKS, processes, overtaken_by)
    }

    fn lines(&self, messages: impl IntoIterator<Item = Message>) -> Vec<String> {
        messages.into_iter().map(|message| self.plain(&message.to_string())).collect()
    }
}

/// A file of a version that is not known here.
fn newer(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[8] = 99;
    std::fs::write(path, bytes).unwrap();
}

fn record(key: &str, tasks: usize, history: Vec<Past>) -> Record {
    let entries = [(0, 1, Traffic { bytes: 10, messages: 1 })];
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks, &entries));
    Record { history, ..Record::of_matrix(key, matrix) }
}

fn settings(mode: &str, lists: &str, stored: &str) -> Settings {
    let mut settings = Settings::default();
    settings.set("mode", mode).unwrap();
    if matches!(lists, "allow" | "both") {
        settings.allow = Names::parse("ap*");
    }
    if matches!(lists, "deny" | "both") {
        settings.deny = Names::parse("a?p");
    }
    if stored.ends_with("spill off") {
        settings.spill = Spill::Off;
    }
    settings
}

fn policy_rows(world: &World, messages: &mut Messages) -> Vec<String> {
    rows(&POLICY, &mut Vec::new(), &mut |case| {
        let [overtaken, complete, mode, spawned, one_program, stored, lists, verdict] = *case
        else {
            unreachable!()
        };
        let settings = settings(mode, lists, stored);
        let processes = Processes {
            complete: complete == "yes",
            one_program: one_program == "yes",
            spawned: spawned == "yes",
        };
        let tool = (overtaken == "yes").then_some("/opt/libtool.so");
        let known = world.known(&settings, (stored, verdict), processes, tool);
        let policy = Policy::of(&known.facts);
        let instructions = Instructions::of(&policy, &settings, TASKS);
        let lines = world.lines(policy.messages());
        let moved = if instructions.process_of_task.is_empty() { "" } else { ", ranks drawn" };
        format!(
            "{:?}{moved}, constructors {:?}, asked {:?} | {} | {}",
            instructions.action,
            instructions.constructors,
            instructions.requested,
            policy.sentence(),
            messages.numbers(&lines)
        )
    })
}

fn record_rows(world: &World, messages: &mut Messages) -> Vec<String> {
    rows(&[("stored", STORED)], &mut Vec::new(), &mut |case| {
        let settings = settings("record", "none", case[0]);
        let processes = Processes { complete: false, one_program: false, spawned: false };
        let mut known = world.known(&settings, (case[0], "none"), processes, None);
        let usable = if known.fitting.is_some() { "usable" } else { "not usable" };
        let storage = match &known.storage {
            Storage::Store(_) => "stored",
            Storage::Waits(..) => "waits on the node",
            Storage::Nowhere => "not stored",
        };
        let policy = Policy::of(&known.facts);
        assert_eq!(policy.messages(), []);
        let lines = world.lines(known.message.take());
        let mut recorder = LaunchRecorder::new(known, &policy, &settings);
        recorder.started_unseen();
        let decision = recorder.order(&[], None).decision;
        format!("{usable} | {storage} | {decision} | {}", messages.numbers(&lines))
    })
}

/// Launches of which the launcher was told where to place the ranks, with a matrix in the store.
fn placed_rows(world: &World, messages: &mut Messages) -> Vec<String> {
    rows(&PLACED, &mut Vec::new(), &mut |case| {
        let [overtaken, mode, spawned, lists, verdict] = *case else { unreachable!() };
        let settings = settings(mode, lists, "whole");
        let processes = Processes { complete: true, one_program: true, spawned: spawned == "yes" };
        let tool = (overtaken == "yes").then_some("/opt/libtool.so");
        let known = world.known(&settings, ("whole", verdict), processes, tool);
        let names = ["n0".to_string(), "n1".to_string()];
        let placed = PlacedRanks::new(&[0, 2, 1, 3], &[0, 0, 1, 1], &names, (40, 20));
        let known = known.with_placed(Some(placed), TASKS);
        let policy = Policy::of(&known.facts);
        let lines = world.lines(policy.messages());
        let placed = if policy.reason == Reason::Placed { ", placed" } else { "" };
        let (action, sentence) = (policy.action, policy.sentence());
        format!("{action:?}{placed} | {sentence} | {}", messages.numbers(&lines))
    })
}

/// Seconds in the launcher's order and reordered.
fn history(name: &str, work: u32) -> Vec<Past> {
    let (given, reordered): (&[f64], &[f64]) = match name {
        "too few" => (&[10.0], &[20.0]),
        "doubtful" => (&[10.0], &[20.0, 20.5]),
        "slower" | "slower elsewhere" => (&[10.0, 10.2], &[20.0, 20.5]),
        "faster" => (&[10.0, 10.2], &[8.0, 8.1]),
        "same" => (&[10.0, 12.0], &[12.5, 13.0]),
        _ => (&[], &[]),
    };
    let nodes: &[u32] = if name == "slower elsewhere" { &[0, 0, 0, 0] } else { &[0, 0, 1, 1] };
    let names: Vec<String> = (0..2).map(|node| format!("node{node}")).collect();
    let places = crate::store::places_of(nodes, &names);
    let all = given.iter().map(|s| (false, *s)).chain(reordered.iter().map(|s| (true, *s)));
    all.zip(1..)
        .map(|((reordered, wall_seconds), at)| Past {
            id: at,
            ended_at: at,
            reordered,
            work,
            places,
            wall_seconds,
            ..Past::default()
        })
        .collect()
}

fn settle_rows(world: &World, messages: &mut Messages) -> Vec<String> {
    rows(&SETTLE, &mut Vec::new(), &mut |case| {
        let [changed, mode, lists, past, verbose] = *case else { unreachable!() };
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path());
        let command = vec!["./app".to_string()];
        let work = crate::store::work_of(&command, "Some MPI 1.0");
        let key = format!("{}-n{TASKS}", world.identity());
        store.save(&record(&key, TASKS, history(past, work))).unwrap();
        let mut settings = settings(mode, lists, "");
        settings.verbose = verbose.parse().unwrap();
        settings.topology = Some("tree:2:2".into());
        let program = Program::new(&world.exe, command, "Some MPI 1.0");
        let processes = Processes { complete: true, one_program: true, spawned: false };
        let mut known = Known::read(&settings, program, Ok(store), TASKS, processes, None);
        assert_eq!(known.message.take(), None);
        // Here an order was found, whatever the policy says.
        let mut policy = Policy::of(&known.facts);
        policy.action = Action::Reorder;
        let mut recorder = LaunchRecorder::new(known, &policy, &settings);
        recorder
            .problem(None, crate::launch::AskedSources::NotYet(Default::default()))
            .unwrap()
            .unwrap();
        let changed = changed == "yes";
        let decision = Decision {
            process_of_task: if changed { vec![0, 2, 1, 3] } else { vec![0, 1, 2, 3] },
            changed,
            cost_before: 40,
            cost_after: if changed { 20 } else { 40 },
            reason: "REASON".into(),
            cut: false,
        };
        let settled = recorder.settle(decision);
        let order = if settled.process_of_task.is_empty() { "left" } else { "reordered" };
        let lines = world.lines(settled.messages);
        let (decision, predicted) = (recorder.order(&[], None).decision, recorder.predicted());
        format!("{order} | {decision} | {predicted:?} | {}", messages.numbers(&lines))
    })
}

fn table() -> String {
    let world = World::new();
    let mut messages = Messages::default();
    let mut text = String::new();
    let mut section = |title: &str, dimensions: &[Dimension], results: &str, rows: Vec<String>| {
        let names: Vec<&str> = dimensions.iter().map(|(name, _)| *name).collect();
        writeln!(text, "# {title}\n{} | {results}\n{}\n", names.join(" | "), rows.join("\n"))
            .unwrap();
    };
    let rows = record_rows(&world, &mut messages);
    let results = "matrix | record of this launch | decision if the start was not seen | messages";
    section("The record in place", &[("stored", STORED)], results, rows);
    let rows = policy_rows(&world, &mut messages);
    section("What the launch does", &POLICY, "mode | decision | further messages", rows);
    let rows = placed_rows(&world, &mut messages);
    section("Ranks that the launcher placed", &PLACED, "mode | decision | messages", rows);
    let rows = settle_rows(&world, &mut messages);
    let results = "ranks | decision | predicted | messages";
    section("An order that was found", &SETTLE, results, rows);
    writeln!(text, "# Messages").unwrap();
    for (number, message) in messages.0.iter().enumerate() {
        writeln!(text, "[{}] {message}", number + 1).unwrap();
    }
    text
}

#[test]
fn every_case_is_decided_as_the_table_says() {
    let table = table();
    if std::env::var_os("RANKWEAVE_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(TABLE, &table).unwrap();
    }
    let expected = std::fs::read_to_string(TABLE).unwrap();
    for (line, (found, expected)) in (1..).zip(table.lines().zip(expected.lines())) {
        assert_eq!(found, expected, "line {line} (RANKWEAVE_UPDATE_SNAPSHOTS=1 writes it anew)");
    }
    assert_eq!(table.len(), expected.len());
}
