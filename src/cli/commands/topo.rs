//! `rankweave topo`: shows a topology, or this machine's.

use super::{kept_networks, launch_network};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::base::nouns;
use crate::cli::arguments::launch_word;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::arguments::time_limit;
use crate::cli::console::{Exit, output};
use crate::cli::trial::PROBE_LIMIT;
use crate::report::MachineDevices;
use crate::topology::{self, GpuSystem, Machine, Topology, Tree, costs};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  rankweave topo                                    this machine
  rankweave topo --xml machine.xml                  another one, from 'lstopo --of xml'
  rankweave topo --topology tree:2:16:32@1:10:100   what the description means
  rankweave topo --topology slurm:/etc/slurm/topology.conf
  rankweave topo --topology torus:8x8x8 --json
  rankweave topo -- mpirun -n 64 ./app              the network between the nodes of a launch, and who knows it
  rankweave topo --measure -- mpirun -n 64 ./app    measures this network first
  rankweave topo --kept                             the networks that the store knows
  rankweave topo --forget                           removes them, so that they are found anew";

/// The largest number of slots whose distances are printed.
const SHOWN: usize = 16;
/// The largest number of slots whose distances are all counted. With more slots, a sample is counted.
const COUNTED: usize = 4096;

/// The kinds of topologies, for the help.
pub(in crate::cli) fn kinds() -> String {
    let lines: String = topology::examples().map(|example| format!("  {example}\n")).collect();
    format!(
        "Topologies (--topology T):\n{lines}  4:8:8/1:10:100 (the same as tree:)\n\nThe name of a file begins at the \
         working directory; in a settings file, it begins at the folder of that file."
    )
}

/// Show a topology: its levels and distances
///
/// With a launch behind --, it starts the launcher once, with 'rankweave' in place of the program, and shows which
/// sources know the network between the nodes of this launch. A source is what may know this network: the site file,
/// the scheduler, the names of the nodes, files of the fabric, earlier measurements. --network, --site and --store say
/// which ones may be asked. The exit code is 1 if none knows it.
///
/// The exit code is also 1 if the file that --topology names is right, but says that the network is flat: there is
/// nothing to show. It is 2 if a description cannot be used.
///
/// Without options, it shows this machine. On a cluster, run it on a compute node, because the login
/// node is often another kind of machine.
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, after_long_help = kinds())]
pub struct Args {
    /// The topology; the end of this help lists the kinds
    ///
    /// With a launch behind --: the topology that the launch is given.
    #[arg(long, short, value_name = "T")]
    topology: Option<String>,

    /// The machine in this file: XML of hwloc or of NCCL and RCCL, or a listing of /sys (gather-machine)
    ///
    /// 'lstopo --of xml FILE' writes the XML of hwloc, and a program with NCCL_TOPO_DUMP_FILE=FILE that of NCCL.
    #[arg(long, value_name = "FILE", conflicts_with = "topology")]
    xml: Option<String>,

    /// Print the topology as JSON; with at most 64 slots, also the distances of all pairs
    #[arg(long)]
    json: bool,

    /// Before that, run the whole launch, really with its program, and measure the network
    ///
    /// The measurement takes a few seconds at most, when the program initialises MPI. It is kept in the store, and
    /// later launches on these nodes use it. The output of the program goes to standard error.
    #[arg(long, requires = "launch")]
    measure: bool,

    /// With a launch: time after which the launcher and its processes are ended; the launch of --measure has no limit
    #[arg(long, value_name = "SECONDS", value_parser = time_limit, default_value = PROBE_LIMIT)]
    timeout: Duration,

    /// With a launch: the file in which the site describes its clusters; none: no such file [env: RANKWEAVE_SITE]
    #[arg(long, value_name = "FILE", requires = "launch")]
    site: Option<String>,

    /// With a launch: where the network may be learned from, as 'rankweave run --network' [env: RANKWEAVE_NETWORK]
    #[arg(long, value_name = "SOURCE", requires = "launch")]
    network: Option<String>,

    /// List the networks that are kept in the store: measured ones, and extracts of large network descriptions
    ///
    /// The exit code is 1 if none is kept.
    #[arg(long, conflicts_with_all = ["topology", "xml", "launch", "forget"])]
    kept: bool,

    /// Remove the networks that are kept in the store
    ///
    /// Later launches measure the network, or read its description, again. The exit code is 1 if none was kept.
    #[arg(long, conflicts_with_all = ["topology", "xml", "launch"])]
    forget: bool,

    #[command(flatten)]
    store: StoreArgs,

    /// A launch whose network is to be shown: mpirun, mpiexec, srun or another launcher, with all its arguments
    #[arg(value_name = "LAUNCHER", trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(conflicts_with = "xml", value_parser = launch_word())]
    launch: Vec<String>,
}

/// One level of a tree.
#[derive(Serialize)]
struct TopologyLevel {
    name: Option<String>,
    groups: usize,
    distance: u64,
}

/// A topology for scripts; field names are those of the JSON.
#[derive(Serialize)]
struct TopologySummary {
    schema: u32,
    name: String,
    slots: usize,
    nodes: usize,
    dims: Option<Vec<usize>>,
    levels: Vec<TopologyLevel>,
    links: Option<usize>,
    max_distance: u64,
    mean_distance: f64,
    slot_names: Option<Vec<String>>,
    /// For each slot that is listed, the names of the switches above it, from the root down; `None` if no switch has one.
    switch_names: Option<Vec<Vec<Option<String>>>>,
    distances: Option<Vec<Vec<u64>>>,
    /// GPUs, network adapters and rails; `None` if the topology is not read from a machine.
    devices: Option<MachineDevices>,
    /// What the description does not tell; `None` if nothing is missing.
    missing: Option<String>,
}

/// The largest description of a machine that is read.
const LARGEST: u64 = 4 << 30;

/// A topology with the names of its levels, and the devices if it is a machine.
struct Shown {
    topology: Box<dyn Topology>,
    names: Vec<String>,
    devices: Option<MachineDevices>,
    missing: Option<String>,
}

/// A machine that was read from a file.
struct ReadMachine {
    machine: Machine,
    /// The kind of the file.
    kind: &'static str,
    /// What the file does not tell.
    missing: Option<String>,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        if self.forget {
            return kept_networks::forget(&self.store.open()?);
        }
        if self.kept {
            return kept_networks::list(&self.store.open()?, self.json);
        }
        if !self.launch.is_empty() {
            let store = self.store.typed();
            let Args { measure, timeout, json, site, network, topology, .. } = self;
            let options = [("site", site), ("network", network), ("topology", topology)];
            let options = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
            let wanted = launch_network::Wanted {
                measure,
                timeout,
                store,
                options: options.collect(),
                json,
            };
            return launch_network::show(&self.launch, &wanted);
        }
        let shown = match (&self.topology, &self.xml) {
            (Some(spec), _) => {
                let topology = topology::parse(spec)?;
                let missing = not_shown(topology.as_ref());
                Shown { topology, names: Vec::new(), devices: None, missing }
            }
            (None, Some(file)) => {
                let ReadMachine { machine, kind, missing } = read_machine(file)?;
                let shown = shown_machine(&machine, file, |_| format!("{kind}:{file}"))?;
                Shown { missing, ..shown }
            }
            (None, None) => {
                let machine = Machine::from_sysfs(Path::new("/sys"))?;
                shown_machine(&machine, "/sys/devices/system/cpu", |machine| {
                    format!("this machine: {}", machine.describe())
                })?
            }
        };
        let topology = shown.topology.as_ref();
        let counted = count(topology);
        let answer = answer(&shown, &counted);
        output::print_as(self.json, || &answer, || text(topology, &answer, &counted))?;
        Ok(Exit::Done)
    }
}

/// The machine in a file, and the kind of the file: XML of hwloc, or a listing of /sys.
fn read_machine(path: &str) -> Result<ReadMachine> {
    let bytes = file::read_given(Path::new(path), LARGEST, |_| true)
        .map_err(|e| Error::io("cannot read the machine", Path::new(path), &e))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Error::new(ErrorKind::Format, "the description of the machine is not text")
            .at(path)
            .advise("give a file from 'lstopo --of xml FILE'")
    })?;
    let is_listing = text.lines().any(|line| line.starts_with("devices/system/cpu/"));
    let of_kind = |machine, kind, missing| ReadMachine { machine, kind, missing };
    let machine = match is_listing {
        true => Machine::from_sys_listing(&text).map(|machine| of_kind(machine, "sys", None)),
        false if GpuSystem::is_one(&text) => GpuSystem::parse(&text).and_then(|system| {
            let missing = system.missing();
            Ok(of_kind(system.machine()?, "gpu-system", missing))
        }),
        false => Machine::from_hwloc_xml(&text).map(|machine| of_kind(machine, "hwloc", None)),
    };
    machine.map_err(|e| {
        let line = e.place().map_or(String::new(), |place| format!(", {place}"));
        e.at(format!("{path}{line}"))
    })
}

/// What the description of a network does not tell, or has beside what is shown.
fn not_shown(topology: &dyn Topology) -> Option<String> {
    let nameless = "the file names no host: adapters are called by their identifiers, and no node of a launch is found \
                    in it (try: descriptions by rdma-ndd, or ibnetdiscover --node-name-map)";
    let nameless = topology.nameless().then_some(nameless);
    let all: Vec<&str> = topology.left_out().into_iter().chain(nameless).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// A machine with one slot for each PU. `place` is where it was read.
fn shown_machine(
    machine: &Machine,
    place: &str,
    label: impl Fn(&Machine) -> String,
) -> Result<Shown> {
    let mut names = machine.level_names().to_vec();
    let paths: Vec<Vec<u32>> = (0..machine.pus().len())
        .map(|k| (0..names.len()).map(|level| machine.groups(level)[k]).collect())
        .collect();
    let slots = machine.pus().iter().map(|pu| format!("pu {pu}")).collect();
    let tree = Tree::from_paths(&paths, &costs::of_levels(&names)).ok_or_else(|| {
        Error::new(ErrorKind::Format, "the levels of this machine do not form a tree")
            .at(place)
            .advise("use --xml with the output of lstopo --of xml")
    })?;
    let tree = tree.with_node_level(None).with_label(label(machine)).with_slot_names(slots);
    names.push("slot".into());
    let devices = Some(MachineDevices::new(machine));
    Ok(Shown { topology: Box::new(tree), names, devices, missing: None })
}

/// The distances of pairs: how often each distance occurs, and whether all pairs were counted.
struct Counted {
    pairs: BTreeMap<u64, u64>,
    complete: bool,
}

fn count(topology: &dyn Topology) -> Counted {
    let slots = topology.slots();
    let mut pairs = BTreeMap::new();
    // If there are too many pairs, only pairs of evenly spread slots are counted.
    let step = slots.div_ceil(COUNTED).max(1);
    let sample: Vec<usize> = (0..slots).step_by(step).collect();
    for (k, &a) in sample.iter().enumerate() {
        for &b in &sample[k + 1..] {
            *pairs.entry(topology.distance(a, b)).or_insert(0) += 1;
        }
    }
    Counted { pairs, complete: step == 1 }
}

fn answer(shown: &Shown, counted: &Counted) -> TopologySummary {
    let (topology, names) = (shown.topology.as_ref(), &shown.names);
    /// The largest number of slots whose distances are all in the JSON.
    const LISTED: usize = 64;
    let slots = topology.slots();
    let nodes = (0..slots).map(|s| topology.node_of(s)).max().map_or(0, |n| n + 1);
    let levels = topology.as_tree().map_or(Vec::new(), |tree| {
        (0..tree.levels())
            .map(|l| TopologyLevel {
                name: names.get(l).cloned(),
                groups: tree.groups(l).iter().max().map_or(0, |&g| g as usize + 1),
                distance: tree.cost(l),
            })
            .collect()
    });
    let all: u64 = counted.pairs.values().sum();
    let sum: u128 = counted.pairs.iter().map(|(&d, &n)| u128::from(d) * u128::from(n)).sum();
    let named = (0..slots).take(LISTED.max(SHOWN)).all(|s| topology.slot_name(s).is_some());
    TopologySummary {
        schema: 1,
        name: topology.name(),
        slots,
        nodes,
        dims: topology.as_grid().map(|g| g.dims().to_vec()),
        levels,
        links: topology.network().map(crate::topology::count_links),
        max_distance: counted.pairs.keys().next_back().copied().unwrap_or(0),
        mean_distance: if all == 0 { 0.0 } else { sum as f64 / all as f64 },
        slot_names: (named && slots > 0).then(|| {
            (0..slots).map(|s| topology.slot_name(s).unwrap_or_default().to_string()).collect()
        }),
        switch_names: switch_names(topology, slots.min(LISTED)),
        distances: (slots <= LISTED).then(|| {
            (0..slots).map(|a| (0..slots).map(|b| topology.distance(a, b)).collect()).collect()
        }),
        devices: shown.devices.clone(),
        missing: shown.missing.clone(),
    }
}

/// The names of the switches above the first slots.
fn switch_names(topology: &dyn Topology, slots: usize) -> Option<Vec<Vec<Option<String>>>> {
    let tree = topology.as_tree()?;
    let levels = tree.levels().saturating_sub(1);
    let name = |slot: usize| move |level: usize| tree.switch_name(level, slot).map(String::from);
    let all: Vec<Vec<_>> = (0..slots).map(|slot| (0..levels).map(name(slot)).collect()).collect();
    all.iter().flatten().any(Option::is_some).then_some(all)
}

fn text(topology: &dyn Topology, answer: &TopologySummary, counted: &Counted) -> String {
    let mut out = format!("{}\n", answer.name);
    let mut line = |name: &str, value: String| out.push_str(&format!("  {name:<10}{value}\n"));
    if let Some(missing) = &answer.missing {
        line("missing", missing.clone());
    }
    if answer.slots == 0 {
        return out + &answer.devices.as_ref().map_or(String::new(), MachineDevices::text);
    }
    line("slots", answer.slots.to_string());
    line("nodes", answer.nodes.to_string());
    if let Some(dims) = &answer.dims {
        line("grid", dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × "));
    }
    if let Some(links) = answer.links {
        line("links", format!("{links} (both directions counted)"));
    }
    let about = if counted.complete { "" } else { " (of a sample of the pairs)" };
    line(
        "distance",
        format!("{:.3} on average, {} at most{about}", answer.mean_distance, answer.max_distance),
    );
    if !answer.levels.is_empty() {
        out.push_str("\n  slots that first differ at       groups   distance\n");
        for (k, level) in answer.levels.iter().enumerate() {
            // As in descriptions such as tree:2:16:32@1:10:100, level 1 is the innermost.
            let number = answer.levels.len() - k;
            let name = level.name.clone().unwrap_or_else(|| format!("level {number}"));
            out.push_str(&format!("    {name:<26}{:>9}{:>11}\n", level.groups, level.distance));
        }
    }
    out.push_str(&answer.devices.as_ref().map_or(String::new(), MachineDevices::text));
    out.push_str("\n  distance      pairs\n");
    const LINES: usize = 12;
    for (distance, pairs) in counted.pairs.iter().take(LINES) {
        out.push_str(&format!("  {distance:>8}{pairs:>11}\n"));
    }
    if counted.pairs.len() > LINES {
        out.push_str(&format!(
            "         …  {}\n",
            nouns::counted(counted.pairs.len() - LINES, "more distance")
        ));
    }
    let shown = answer.slots.min(SHOWN);
    let wide = answer.max_distance.to_string().len().max(shown.to_string().len()) + 1;
    let rest = if shown < answer.slots { format!(" (the first {shown})") } else { String::new() };
    out.push_str(&format!("\n  distance of two slots{rest}\n      "));
    for b in 0..shown {
        out.push_str(&format!("{b:>wide$}"));
    }
    out.push('\n');
    for a in 0..shown {
        out.push_str(&format!("  {a:>4}"));
        for b in 0..shown {
            out.push_str(&format!("{:>wide$}", topology.distance(a, b)));
        }
        if let Some(name) = topology.slot_name(a) {
            out.push_str(&format!("  {}", crate::report::units::printable(name)));
        }
        if let Some(switches) = answer.switch_names.as_ref().and_then(|all| all.get(a)) {
            let path: Vec<&str> = switches.iter().flatten().map(String::as_str).collect();
            let path =
                if path.is_empty() { String::new() } else { format!("  below {}", path.join(".")) };
            out.push_str(&crate::report::units::printable(&path));
        }
        out.push('\n');
    }
    out
}
