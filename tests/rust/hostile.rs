//! Hostile inputs: every reader against every kind of broken, lying or odd file.
//!
//! Each case runs in a process of its own. It has to end within a second of processor time, within 64 MiB
//! more than the valid file of the same reader takes, with an answer or with an error; never by a panic or a
//! signal. The test prints the worst case of each reader. `RANKWEAVE_TEST_FULL=1` tries every byte of the
//! valid files; without it a few of them.

use crate::support::Place;
use rankweave::formats::{Export, FORMATS};
use rankweave::matrix::{CommMatrix, Kind, SparseMatrix, Traffic};
use rankweave::store::spill::{About, JobDescription, Part, encode_parts, layout};
use rankweave::store::{Finding, KeptOrder, MeasuredNetwork, Record, Store, Verdict, encode};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Seconds of processor time of a case, and bytes of memory beyond those of the valid file.
const MOST: (f64, u64) = (1.0, 64 << 20);
/// A case that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(30);
const KEY: &str = "app-n4";
/// How a reader of the library is chosen in a process of this test.
const READER: &str = "RANKWEAVE_TEST_READER";

/// One reader.
struct Reader {
    name: String,
    /// A valid file, small.
    valid: Vec<u8>,
    /// The file, in the directory of a case.
    file: String,
    /// What reads it.
    action: Action,
}

enum Action {
    /// The command with these arguments.
    Command(Vec<String>),
    /// The function of this name in [`reader_of_the_library`].
    Library(&'static str),
}

/// What a case did.
struct Outcome {
    status: ExitStatus,
    hung: bool,
    seconds: f64,
    memory: u64,
    said: String,
}

fn matrix() -> CommMatrix {
    let entries: Vec<_> =
        (0..4u32).map(|t| (t, (t + 1) % 4, Traffic { bytes: 1000, messages: 7 })).collect();
    CommMatrix::from_point_to_point(SparseMatrix::from_entries(4, &entries))
}

fn record() -> Record {
    let mut record = Record::of_matrix(KEY, matrix());
    record.command = vec!["./app".into(), "-in".into(), "melt".into()];
    record.launch.process_of_task = vec![0, 2, 1, 3];
    record
}

fn order() -> KeptOrder {
    let process_of_task = vec![0, 2, 1, 3];
    KeptOrder {
        matrix: 1,
        tasks: 4,
        process_of_task,
        reason: "REASON".into(),
        ..KeptOrder::default()
    }
}

fn verdict() -> Verdict {
    Verdict {
        program: "./app".into(),
        launch: vec!["./app".into()],
        tasks: 4,
        checked_at: 1,
        seeds: vec![1, 2],
        finding: Finding::Safe,
        reason: String::new(),
        compared: None,
    }
}

fn hosts() -> Vec<String> {
    (0..4).map(|host| format!("n{host}")).collect()
}

fn network() -> MeasuredNetwork {
    MeasuredNetwork {
        level_names: vec!["leaf".into()],
        group_of_host: vec![vec![0], vec![0], vec![1], vec![1]],
        bandwidths: vec![2e9, 1e9],
        measured_at: 1,
        ..MeasuredNetwork::default()
    }
}

fn about() -> About {
    let job = JobDescription { id: 1, tasks: 4, key: KEY.into(), ..JobDescription::default() };
    About { job, task: 1, process: 1, ..About::default() }
}

fn spill_file() -> Vec<u8> {
    let mut file = layout::header(&about().encode());
    file.resize(file.len().next_multiple_of(layout::ALIGN) + 256, 0);
    file
}

fn formats() -> impl Iterator<Item = Reader> {
    FORMATS.iter().filter(|format| format.reads()).map(|format| {
        let mut valid = Vec::new();
        if format.writes() {
            let record = record();
            format.write(&Export::new(&record, &Kind::ALL), &mut valid).unwrap();
        } else {
            valid = b"I\t0\t1\t1000 bytes\t7 msgs sent\t0,0,0,7\n".repeat(3);
        }
        let words = ["import", "--key", "imported", "--from", format.name, "file"];
        reader(&format!("format {}", format.name), valid, "file", &words)
    })
}

fn topologies() -> impl Iterator<Item = Reader> {
    let xml = fs::read(crate::support::repository("tests/machines/1package-2core.xml")).unwrap();
    let fabric = "Switch\t4 \"S-a1\"\t# \"leaf1\" base port 0 lid 1 lmc 0\n\
                  [1]\t\"H-1\"[1](1)\t# \"n1 HCA-1\" lid 3 4xHDR\n[2]\t\"H-2\"[1](2)\t# \"n2 HCA-1\" lid 4 4xHDR\n\n\
                  Ca\t1 \"H-1\"\t# \"n1 HCA-1\"\n[1](1)\t\"S-a1\"[1]\t# lid 3 lmc 0 \"leaf1\" lid 1 4xHDR\n\n\
                  Ca\t1 \"H-2\"\t# \"n2 HCA-1\"\n[1](2)\t\"S-a1\"[2]\t# lid 4 lmc 0 \"leaf1\" lid 1 4xHDR\n";
    let fixture = |name: &str| {
        fs::read(crate::support::repository("tests/machines/fabrics").join(name)).unwrap()
    };
    let files: [(&str, Vec<u8>); 17] = [
        ("hwloc", xml.clone()),
        ("hwloc-cores", xml.clone()),
        ("scotch", b"tleaf 3 2 100 2 10 2 1\n".to_vec()),
        ("slurm", b"SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top Switches=s[0-1]\n".to_vec()),
        ("ib", fabric.into()),
        ("graph", b"4 4\n2 4\n1 3\n2 4\n3 1\n".to_vec()),
        ("dist", b"0 1 2\n1 0 2\n2 2 0\n".to_vec()),
        ("slurm", b"- topology: t\n  cluster_default: true\n  block:\n    block_sizes: [2]\n    blocks:\n      - block: b1\n        nodes: n[1-2]\n".to_vec()),
        ("ibsim", fixture("ibsim-two-switches.net")),
        ("topograph", fixture("topograph-model.yaml")),
        ("cabling", fixture("cabling-slingshot-routers.csv")),
        ("cabling", fixture("cabling-rails.txt")),
        ("simgrid", fixture("simgrid-stars.xml")),
        ("simgrid", fixture("simgrid-dragonfly.xml")),
        ("fabric", fixture("slurm-torus-regions.yaml")),
        ("fabric", fixture("ib-full-information.txt")),
        ("nodes:2", xml),
    ];
    files.into_iter().enumerate().map(|(number, (kind, valid))| {
        let file = if number == 7 { "file.yaml" } else { "file" };
        let words = ["topo", "--topology", &format!("{kind}:{file}")];
        reader(&format!("topology {kind}{} {number}", &file[4..]), valid, file, &words)
    })
}

fn reader(name: &str, valid: impl Into<Vec<u8>>, file: &str, words: &[&str]) -> Reader {
    let words = words.iter().map(ToString::to_string).collect();
    Reader {
        name: name.into(),
        valid: valid.into(),
        file: file.into(),
        action: Action::Command(words),
    }
}

fn readers() -> Vec<Reader> {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    let kept = |path: PathBuf| {
        let file = path.strip_prefix(dir.path()).unwrap().display().to_string();
        (fs::read(&path).unwrap(), format!("store/{file}"))
    };
    let library = |name: &'static str, (valid, file): (Vec<u8>, String)| Reader {
        name: name.into(),
        valid,
        file,
        action: Action::Library(name),
    };
    // SAFETY: no preconditions.
    let user = unsafe { libc::getuid() };
    let record = encode(&record()).unwrap();
    let parts = encode_parts(&[Part { about: about(), ..Part::default() }]).unwrap();
    let map = ["eval", "--matrix", "matrix.csv", "--topology", "tree:2:2"];
    let with = |option: &'static str| [&map[..], &[option, "file"]].concat();
    let mut all = vec![
        reader("record", record.clone(), "file", &["show", "./file"]),
        reader("record in the store", record, &format!("store/{KEY}.rkw"), &["show", KEY]),
        library("kept order", kept(store.keep_order(KEY, &order()).unwrap())),
        library(
            "measured network",
            kept(store.keep_measured_network(&hosts(), &network()).unwrap()),
        ),
        library("verdict", kept(store.keep_verdict("app", &verdict()).unwrap())),
        reader(
            "spill file",
            spill_file(),
            &format!("spill/rankweave-{user}-0000000000000001-1-99999999.spill"),
            &["recover", "spill"],
        ),
        reader(
            "waiting parts",
            parts,
            "store/unfinished/0000000000000001.host.parts",
            &["recover", "spill"],
        ),
        reader("mapping", "0\n1\n2\n3\n", "file", &with("--mapping")),
        reader("slots", "0\n1\n2\n3\n", "file", &with("--slots")),
        reader(
            "weights",
            "1\n1\n2\n1\n",
            "file",
            &[&["map"], &map[1..], &["--weights", "file"]].concat(),
        ),
    ];
    all.extend(formats());
    all.extend(topologies());
    all
}

/// Not a test: the reader of the library that a case asks for.
#[test]
fn reader_of_the_library() {
    let Ok(name) = std::env::var(READER) else { return };
    let store = Store::open("store");
    let answer = match name.as_str() {
        "kept order" => store.order(KEY, &order(), 0).map(|_| ()),
        "measured network" => store.measured_network(&hosts(), 1).map(|_| ()),
        "verdict" => store.verdicts("app").map(|_| ()),
        other => panic!("no reader {other}"),
    };
    if let Err(error) = &answer {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(answer.is_err()));
}

/// A kind of hostile file: its name, and what makes it at a path.
type Hostile = (String, Box<dyn Fn(&Path)>);

fn kinds(valid: &[u8], other: &Path) -> Vec<Hostile> {
    let full = std::env::var_os("RANKWEAVE_TEST_FULL").is_some();
    let mut all: Vec<Hostile> = Vec::new();
    let content = |name: String, bytes: Vec<u8>| -> Hostile {
        (name, Box::new(move |path| fs::write(path, &bytes).unwrap()))
    };
    all.push(content("valid".into(), valid.to_vec()));
    let step = |most: usize| valid.len().div_ceil(if full { 100 * most } else { most }).max(1);
    for length in (0..valid.len()).step_by(step(6)) {
        all.push(content(format!("first {length} bytes"), valid[..length].to_vec()));
    }
    for (k, at) in (0..valid.len()).step_by(step(8)).enumerate() {
        let mut bytes = valid.to_vec();
        bytes[at] ^= 1 << (k % 8);
        all.push(content(format!("a bit of byte {at}"), bytes));
    }
    all.extend(lies(valid, if full { 200 } else { 6 }).map(|(name, bytes)| content(name, bytes)));
    let bytes = valid.to_vec();
    all.push((
        "sparse giant".into(),
        Box::new(move |path| {
            fs::write(path, &bytes).unwrap();
            fs::File::options().write(true).open(path).unwrap().set_len(4 << 30).unwrap();
        }),
    ));
    all.push((
        "pipe".into(),
        Box::new(|path| {
            let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: a C string.
            assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        }),
    ));
    all.push(("directory".into(), Box::new(|path| fs::create_dir(path).unwrap())));
    let bytes = valid.to_vec();
    all.push((
        "file of another user".into(),
        Box::new(move |path| {
            fs::write(path, &bytes).unwrap();
            // Only root can give it away; for others it is a valid file.
            let _ = std::os::unix::fs::chown(path, Some(54_321), Some(54_321));
        }),
    ));
    for (name, target) in [
        ("device", PathBuf::from("/dev/zero")),
        ("link to itself", PathBuf::from("file")),
        ("link to nothing", PathBuf::from("nothing-there")),
        ("link to a valid file", other.to_path_buf()),
        ("link to /proc/self/mem", PathBuf::from("/proc/self/mem")),
    ] {
        let make = move |path: &Path| std::os::unix::fs::symlink(&target, path).unwrap();
        all.push((name.into(), Box::new(make)));
    }
    all
}

/// Valid files in which one number is huge: a number in a text, or bytes behind the seal of a sealed file.
fn lies(valid: &[u8], most: usize) -> impl Iterator<Item = (String, Vec<u8>)> {
    const SEAL: usize = 24;
    let mut all = Vec::new();
    if let Ok(text) = std::str::from_utf8(valid)
        && valid.is_ascii()
        && !valid.contains(&0)
    {
        let digits = |c: char| c.is_ascii_digit();
        let starts =
            text.char_indices().filter(|&(at, c)| digits(c) && !text[..at].ends_with(digits));
        for (at, _) in starts {
            let rest = text[at..].trim_start_matches(digits);
            for number in ["99999999999", "4000000000", "0"] {
                all.push((
                    format!("{number} at byte {at}"),
                    format!("{}{number}{rest}", &text[..at]).into(),
                ));
            }
        }
    } else if valid.len() > SEAL {
        for at in SEAL..valid.len() {
            let mut bytes = valid.to_vec();
            let end = (at + 5).min(bytes.len());
            bytes[at..end].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f][..end - at]);
            let sum = crc32fast::hash(&bytes[SEAL..]);
            bytes[SEAL - 4..SEAL].copy_from_slice(&sum.to_le_bytes());
            all.push((format!("a huge number at byte {at}, sealed"), bytes));
        }
    }
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step)
}

// `wait` waits for the process by its number, because only wait4 tells its memory.
#[allow(clippy::zombie_processes)]
fn run(reader: &Reader, make: &dyn Fn(&Path)) -> Outcome {
    let place = Place::new();
    for folder in ["store/orders", "store/networks", "store/unfinished", "spill"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.file("matrix.csv", "src,dst,bytes,messages\n0,1,10,1\n1,2,10,1\n2,3,10,1\n");
    make(&place.path(&reader.file));
    let mut command = match &reader.action {
        Action::Command(words) => {
            place.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Action::Library(name) => {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["hostile::reader_of_the_library", "--exact", "--nocapture"]);
            command.env(READER, name).current_dir(place.path("")).stdin(Stdio::null());
            command
        }
    };
    let said = fs::File::create(place.path("said")).unwrap();
    let child = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
    let (status, hung, seconds, memory) = wait(child.id());
    Outcome {
        status,
        hung,
        seconds,
        memory,
        said: fs::read_to_string(place.path("said")).unwrap_or_default(),
    }
}

/// Waits for a process, and ends one that hangs: its status, whether it hung, its seconds of processor time,
/// and the largest memory that it had.
fn wait(id: u32) -> (ExitStatus, bool, f64, u64) {
    let (begun, id) = (Instant::now(), id as libc::pid_t);
    let mut hung = false;
    loop {
        let mut status = 0;
        // SAFETY: zero is a valid value of this structure of numbers.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: a child of this process that nothing else waits for; both are written to.
        if unsafe { libc::wait4(id, &raw mut status, libc::WNOHANG, &raw mut used) } == id {
            let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
            let time = seconds(used.ru_utime) + seconds(used.ru_stime);
            return (ExitStatus::from_raw(status), hung, time, used.ru_maxrss as u64 * 1024);
        }
        if begun.elapsed() > PATIENCE && !hung {
            hung = true;
            // SAFETY: the number of our own child, which was not waited for yet.
            unsafe { libc::kill(id, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What is wrong with an outcome.
fn problem(outcome: &Outcome, memory_of_valid: u64) -> Option<String> {
    let Outcome { status, hung, seconds, memory, said } = outcome;
    let memory_limit = memory_of_valid + MOST.1;
    match () {
        () if *hung => Some("it hangs".into()),
        () if status.signal().is_some() || said.contains("panicked") => {
            Some(format!("{status}: {said}"))
        }
        () if *seconds > MOST.0 => Some(format!("{seconds:.2} s")),
        () if *memory > memory_limit => Some(format!("{} MiB", memory >> 20)),
        () if status.code() != Some(0) && said.trim().is_empty() => {
            Some(format!("{status} without a message"))
        }
        () => None,
    }
}

/// The columns of the table, with what the names of their kinds begin with.
const COLUMNS: [(&str, &[&str]); 8] = [
    ("cut", &["first "]),
    ("bit", &["a bit "]),
    ("number", &["a huge ", "9999", "4000000", "0 at"]),
    ("giant", &["sparse"]),
    ("pipe", &["pipe"]),
    ("no file", &["directory", "device"]),
    ("link", &["link "]),
    ("another's", &["file of"]),
];

/// The worst seconds and MiB of each column.
#[derive(Default)]
struct Row([(f64, u64); COLUMNS.len()]);

impl Row {
    fn add(&mut self, kind: &str, outcome: &Outcome) {
        let is_in = |begins: &[&str]| begins.iter().any(|begin| kind.starts_with(begin));
        if let Some(column) = COLUMNS.iter().position(|(_, begins)| is_in(begins)) {
            let worst = &mut self.0[column];
            *worst = (worst.0.max(outcome.seconds), worst.1.max(outcome.memory >> 20));
        }
    }

    fn text(&self) -> String {
        self.0.iter().map(|(seconds, memory)| format!(" {seconds:7.3}/{memory:<3}")).collect()
    }
}

/// The variable of the process that starts the readers.
const ALONE: &str = "RANKWEAVE_HOSTILE_ALONE";

/// The readers are started by a process that does nothing else. The system counts the memory of the process that
/// starts a program as memory of the program, and the other tests here need much memory.
#[test]
fn no_file_can_do_harm() {
    if std::env::var_os(ALONE).is_some() {
        return every_reader_with_every_kind();
    }
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["hostile::no_file_can_do_harm", "--exact", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    println!("{}", said[0]);
    assert!(done.status.success(), "{}", said[1]);
}

fn every_reader_with_every_kind() {
    let valid_elsewhere = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    let mut cases = 0;
    let head: String = COLUMNS.iter().map(|(name, _)| format!(" {name:>11}")).collect();
    println!("Worst seconds/MiB\n{:22} {:>6}{head}", "reader", "cases");
    for reader in readers() {
        let other = valid_elsewhere.path().join("valid");
        fs::write(&other, &reader.valid).unwrap();
        let (mut row, mut number, mut valid) = (Row::default(), 0, 0);
        for (kind, make) in kinds(&reader.valid, &other) {
            let outcome = run(&reader, make.as_ref());
            if kind == "valid" {
                valid = outcome.memory;
                if outcome.status.code() != Some(0) {
                    problems.push(format!("{}: the valid file: {}", reader.name, outcome.said));
                }
            }
            // On a busy machine a process may need more time than its work does.
            let again = |found: Option<String>| {
                found.and_then(|_| problem(&run(&reader, make.as_ref()), valid))
            };
            let found = again(again(problem(&outcome, valid)));
            problems.extend(found.map(|found| format!("{}: {kind}: {found}", reader.name)));
            number += 1;
            row.add(&kind, &outcome);
        }
        cases += number;
        println!("{:22} {number:6}{}", reader.name, row.text());
    }
    println!("{cases} cases, {} beyond their bounds", problems.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
