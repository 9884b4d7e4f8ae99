//! What the search for a rank order of a large job costs the process that does it, without MPI.
//!
//! `cargo bench --bench inmap [-- --tasks AxBxC --pattern NAME --topology T --node SLOTS --rails N --quick]`
//!
//! The rows of all tasks come in one by one through a pipe, encoded as in the job, from a child that
//! makes them up; so the memory of this process is that of rank 0. Then what rank 0 does in MPI_Init:
//! signature, affinity graph, network phase; the node phase of its own node (those of the others run on
//! their nodes at the same time; all are done here one after the other, and counted apart); joining and
//! judging. With rails, the slots of each node have so many, and its tasks are spread over them. At last the order is
//! kept and found again. Prints CPU seconds of each step and the most
//! memory so far (VmHWM), and fails if an answer is not a permutation.

use rankweave::decide::{self, Network, Options};
use rankweave::matrix::{Collected, Graph, Kind, Traffic, synthetic};
use rankweave::store::{KeptOrder, Signature, Store};
use rankweave::topology::{Rail, Rails, Topology, WithRails, parse};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a process sends to rank 0: `(task, traffic)` by kind, and what it fetched.
type Rows = ([Vec<(u32, Traffic)>; 3], Vec<(u32, Traffic)>);
type Failure = Box<dyn std::error::Error>;

const LIMIT: Duration = Duration::from_secs(600);

struct Arguments {
    tasks: String,
    pattern: String,
    topology: String,
    node: usize,
    rails: usize,
}

fn arguments() -> Arguments {
    let all: Vec<String> = std::env::args().collect();
    let quick = all.iter().any(|word| word == "--quick");
    let value = |name: &str, usual: &str| {
        let at = all.iter().position(|word| word == name);
        at.and_then(|at| all.get(at + 1)).map_or(usual.to_owned(), Clone::clone)
    };
    let (tasks, topology) =
        if quick { ("16x16x16", "tree:4:16:64") } else { ("64x32x32", "tree:4:16:16:64") };
    Arguments {
        tasks: value("--tasks", tasks),
        pattern: value("--pattern", "stencil27"),
        topology: value("--topology", topology),
        node: value("--node", "64").parse().unwrap_or(64),
        rails: value("--rails", "1").parse().unwrap_or(1),
    }
}

/// CPU seconds of this process so far, of all its threads.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a structure to be filled.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Most memory so far in MB.
fn peak() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) * 1024.0 / 1e6
}

/// Prints what each step costs.
struct Steps {
    last: f64,
    on_rank_0: f64,
}

impl Steps {
    fn done(&mut self, name: &str, here: bool) -> f64 {
        let now = cpu();
        let took = now - self.last;
        self.last = now;
        if here {
            self.on_rank_0 += took;
        }
        println!("{name:<46} {took:8.3} s CPU {:8.0} MB at most so far", peak());
        took
    }
}

/// Writes the rows of all tasks to standard output.
fn rows(arguments: &Arguments) -> Result<(), Failure> {
    let graph = synthetic::pattern(&format!("{}:{}", arguments.pattern, arguments.tasks))?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    out.write_all(&(graph.vertices() as u64).to_le_bytes())?;
    for task in 0..graph.vertices() {
        let sent: Vec<(u32, Traffic)> = graph
            .arcs(task)
            .map(|(to, weight)| (to, Traffic { bytes: 8192 * weight, messages: 100 }))
            .collect();
        // Reductions along a binomial tree, as the model of collectives gives them.
        let parent = (task & (task.wrapping_sub(1))) as u32;
        let reduced = vec![(parent, Traffic { bytes: 8000, messages: 1000 })];
        let rows: Rows = ([sent, if task > 0 { reduced } else { vec![] }, vec![]], vec![]);
        let bytes = postcard::to_allocvec(&rows)?;
        out.write_all(&(bytes.len() as u64).to_le_bytes())?;
        out.write_all(&bytes)?;
    }
    Ok(out.flush()?)
}

fn number(from: &mut impl Read) -> Result<usize, Failure> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(usize::try_from(u64::from_le_bytes(bytes))?)
}

/// The rows as they come in.
fn gather(arguments: &Arguments) -> Result<Collected, Failure> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--rows", "--tasks", &arguments.tasks, "--pattern", &arguments.pattern])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut from = child.stdout.take().ok_or("no pipe")?;
    let tasks = number(&mut from)?;
    let mut collected = Collected::new(tasks);
    let mut buffer = Vec::new();
    for task in 0..tasks {
        buffer.resize(number(&mut from)?, 0);
        from.read_exact(&mut buffer)?;
        let (sent, fetched): Rows = postcard::from_bytes(&buffer)?;
        collected.add(task, &sent, &fetched);
    }
    child.wait()?;
    Ok(collected)
}

fn edges_of(graph: &Graph) -> String {
    format!("{} tasks, {} pairs", graph.vertices(), graph.edges())
}

/// The topology; with several rails, each part of the slots of a node has one of them.
fn machine(arguments: &Arguments) -> Result<Box<dyn Topology>, Failure> {
    let (node, rails) = (arguments.node, arguments.rails);
    let topology = parse(&arguments.topology)?;
    if rails < 2 {
        return Ok(topology);
    }
    let tree = topology.as_tree().ok_or("rails need a tree")?;
    let slots = tree.slots();
    let nodes = slots / node;
    let level =
        (0..tree.levels()).find(|&level| tree.groups(level)[slots - 1] as usize + 1 == nodes);
    let tree = tree.clone().with_node_level(Some(level.ok_or("no level has such nodes")?));
    let rail = |k: usize| Rail {
        node: (k / rails) as u32,
        node_name: (k / rails).to_string(),
        name: (k % rails).to_string(),
    };
    let of_slot = (0..slots).map(|slot| Some(slot / node * rails + slot % node * rails / node));
    let price = tree.distance(0, node);
    let rails = Rails::new((0..nodes * rails).map(rail).collect(), of_slot.collect(), price)?;
    Ok(WithRails::on(Box::new(tree), Some(rails)))
}

fn simulate(arguments: &Arguments) -> Result<(), Failure> {
    let topology = machine(arguments)?;
    let mut steps = Steps { last: cpu(), on_rank_0: 0.0 };
    let collected = gather(arguments)?;
    steps.done("rows decoded and collected", true);
    let matrix = collected.matrix();
    let tasks = matrix.tasks();
    steps.done("sparse matrix", true);
    let pairs: usize = Kind::ALL.iter().map(|&kind| matrix.layer(kind).pairs()).sum();
    let signature = Signature::new().matrix(&matrix).value();
    steps.done(&format!("signature of {pairs} entries"), true);
    let slots: Vec<usize> = (0..tasks).collect();
    let nodes: Vec<u32> = slots.iter().map(|&slot| (slot / arguments.node) as u32).collect();
    let graph = matrix.affinity();
    let traffic = decide::traffic_of_rails(&matrix, topology.as_ref());
    drop(matrix);
    steps.done(&format!("affinity graph ({})", edges_of(&graph)), true);
    let options = Options { min_gain_percent: 0.0, ..Options::default() };
    let preset = decide::preset_for(tasks);
    let tree: &dyn Topology = topology.as_ref();
    let network = Network::new(graph, tree, &slots, &nodes, &options.fixed, preset)
        .ok_or("the topology cannot be cut into nodes")?;
    let found = network.search(options.seed, LIMIT)?;
    let name = format!("network phase ({} nodes, preset {})", network.nodes(), preset.name());
    steps.done(&name, true);
    if !network.accepts(&found) {
        return Err("the network phase gives no valid answer".into());
    }
    let mut answers = Vec::with_capacity(network.nodes());
    let mut placing = Vec::with_capacity(network.nodes());
    let before = cpu();
    for part in network.parts(&found, tree, &slots, options.seed) {
        let start = cpu();
        answers.push(part.place(LIMIT)?);
        placing.push(cpu() - start);
    }
    let cutting = cpu() - before - placing.iter().sum::<f64>();
    steps.done("node phase, all nodes and handing them out", false);
    let longest = placing.iter().copied().fold(0.0, f64::max);
    println!("  of that cutting the parts {cutting:.3} s, one node {longest:.4} s at most");
    steps.on_rank_0 += cutting + longest;
    let order = network.joined(answers.iter().map(Vec::as_slice)).ok_or("no permutation")?;
    let question = decide::Question {
        graph: network.graph(),
        traffic: traffic.as_ref(),
        timed: None,
        topology: tree,
        slot_of_process: &slots,
        options: &options,
    };
    let order = question.spread(order);
    if traffic.is_some() {
        steps.done("tasks spread over the rails", true);
    }
    let decision = question.judge(order)?;
    steps.done("joined and judged", true);
    println!("{}", decision.reason);
    println!(
        "the mapping process: {:.3} s CPU, {:.0} MB at most (network and node phase with several \
         searchers take the same on each)",
        steps.on_rank_0,
        peak()
    );
    kept(tasks, signature, &decision.process_of_task)
}

/// Keeps an order and finds it again.
fn kept(tasks: usize, signature: u64, process_of_task: &[u32]) -> Result<(), Failure> {
    let directory = std::env::temp_dir().join(format!("rankweave-inmap-{}", std::process::id()));
    let store = Store::open(&directory);
    let order = KeptOrder {
        matrix: signature,
        tasks: tasks as u32,
        process_of_task: process_of_task.to_vec(),
        ..KeptOrder::default()
    };
    let start = Instant::now();
    let saved = store.keep_order("inmap", &order);
    let keeping = start.elapsed();
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let start = Instant::now();
            let found = store.order("inmap", &order, 0);
            (found.is_ok_and(|found| found.is_some()), start.elapsed())
        })
        .filter_map(|(found, time)| found.then_some(time))
        .collect();
    times.sort_unstable();
    let removed = std::fs::remove_dir_all(&directory);
    saved?;
    removed?;
    let finding = times.get(4).ok_or("the kept order is not found again")?;
    println!(
        "order kept in {:.2} ms, found again in {:.2} ms (wall, median of 9)",
        1e3 * keeping.as_secs_f64(),
        1e3 * finding.as_secs_f64()
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments = arguments();
    if std::env::args().any(|word| word == "--rows") {
        return rows(&arguments);
    }
    simulate(&arguments)
}
