//! What it costs rank 0 to learn the network between the nodes of a launch, without MPI.
//!
//! `cargo bench --bench discovery [-- --ranks N --nodes N --hosts N --rounds N]`
//! `cargo bench --bench discovery -- --list` and `-- --only NAME --times N` (for counting instructions)
//!
//! Each way in which a launch can learn its network is taken once in each round, in turn, so that other work on the
//! machine meets all of them alike. The table has the median of each, and what it adds to a launch that asks no source.
//! One line each is for what the processes do by themselves: they look for their own place, and the first process of
//! each node reads its machine if the processes are bound. `benches/inmap/run --only discovery` runs this program,
//! counts its instructions with valgrind if that is installed, and measures launches on an emulated cluster.

use rankweave::launch::AskedSources;
use rankweave::launch::machine::LaunchMachine;
use rankweave::options::{NetworkChoice, Settings};
use rankweave::sources::Host;
use rankweave::store::{Placement, Store};
use rankweave::topology::Machine;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

type Failure = Box<dyn std::error::Error>;

struct Arguments(Vec<String>);

impl Arguments {
    fn value(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|word| word == name)?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn number(&self, name: &str, usual: usize) -> usize {
        self.value(name).and_then(|text| text.parse().ok()).unwrap_or(usual)
    }
}

/// A fabric of leaf switches with 32 hosts each and two levels above them, as ibnetdiscover prints it.
fn fabric(hosts: usize) -> String {
    let mut text = String::from("#\n# Topology file: generated\n#\n");
    let (leaf, spine) = (|k: usize| 0x1000 + k, |k: usize| 0x9_0000 + k);
    let leaves = hosts.div_ceil(32);
    for k in 0..leaves {
        let _ = writeln!(
            text,
            "\nSwitch\t65 \"S-{0:016x}\"\t\t# \"leaf{k}\" base port 0 lid 1 lmc 0",
            leaf(k)
        );
        for host in (32 * k..32 * k + 32).take_while(|&host| host < hosts) {
            let port = host % 32 + 1;
            let _ = writeln!(
                text,
                "[{port}]\t\"H-{0:016x}\"[1](1)\t\t# \"cn{host:05} HCA-1\" lid 7 4xHDR",
                0x10_0000 + host
            );
        }
        for s in 0..8 {
            let up = spine(k / 32 * 8 + s);
            let _ = writeln!(
                text,
                "[{}]\t\"S-{up:016x}\"[{}]\t\t# \"spine\" lid 9 4xHDR",
                33 + s,
                k % 32 + 1
            );
        }
    }
    for k in 0..leaves.div_ceil(32) * 8 {
        let _ = writeln!(
            text,
            "\nSwitch\t65 \"S-{0:016x}\"\t\t# \"spine{k}\" base port 0 lid 1 lmc 0",
            spine(k)
        );
        for core in 0..4 {
            let _ = writeln!(
                text,
                "[{}]\t\"S-{:016x}\"[{}]\t\t# \"core\" lid 9 4xHDR",
                40 + core,
                0xc_0000 + core,
                k + 1
            );
        }
    }
    text
}

/// The same leaf switches in a torus, so that the network is no tree.
fn ring(hosts: usize) -> String {
    let leaves = hosts.div_ceil(32);
    let mut text = String::new();
    for k in 0..leaves {
        let _ = writeln!(
            text,
            "\nSwitch\t65 \"S-{:016x}\"\t\t# \"leaf{k}\" base port 0 lid 1 lmc 0",
            0x1000 + k
        );
        for host in (32 * k..32 * k + 32).take_while(|&host| host < hosts) {
            let _ = writeln!(
                text,
                "[{}]\t\"H-{:016x}\"[1](1)\t\t# \"cn{host:05} HCA-1\" lid 7 4xHDR",
                host % 32 + 1,
                0x10_0000 + host
            );
        }
        let next = 0x1000 + (k + 1) % leaves;
        let _ = writeln!(text, "[33]\t\"S-{next:016x}\"[34]\t\t# \"leaf\" lid 9 4xHDR");
    }
    text
}

fn slurm(hosts: usize) -> String {
    let leaves = hosts.div_ceil(32);
    let mut text = String::new();
    for k in 0..leaves {
        // Without a hostlist expression, as some sites generate it.
        let names: Vec<String> =
            (32 * k..(32 * k + 32).min(hosts)).map(|host| format!("cn{host:05}")).collect();
        let _ = writeln!(text, "SwitchName=s{k} Nodes={}", names.join(","));
    }
    let _ = writeln!(text, "SwitchName=top Switches=s[0-{}]", leaves - 1);
    text
}

fn pbs(hosts: usize) -> String {
    let mut text = String::new();
    for host in 0..hosts {
        let (leaf, group) = (host / 32, host / 1024);
        let _ = writeln!(
            text,
            "cn{host:05}\n     Mom = cn{host:05}.site.org\n     ntype = PBS\n     state = free\n     pcpus = 128\n     \
             resources_available.arch = linux\n     resources_available.host = cn{host:05}\n     \
             resources_available.mem = 527672488kb\n     resources_available.ncpus = 128\n     \
             resources_available.tier0 = s{leaf}\n     resources_available.tier1 = g{group}\n     \
             resources_assigned.ncpus = 0\n     sharing = default_shared\n"
        );
    }
    text
}

/// A way to learn the network.
struct Way {
    name: &'static str,
    what: String,
    run: Box<dyn Fn() -> Result<(), Failure>>,
}

struct Bench {
    folder: PathBuf,
    ranks: usize,
    nodes: usize,
    hosts: usize,
}

impl Bench {
    /// Nodes that are spread over the fabric.
    fn placement(&self, addresses: bool) -> Placement {
        let host = |node: usize| node * (self.hosts / self.nodes) + node % 7;
        let names: Vec<String> =
            (0..self.nodes).map(|node| format!("cn{:05}", host(node))).collect();
        let per_node = self.ranks / self.nodes;
        let of_process = (0..self.ranks).map(|rank| (rank / per_node) as u32).collect();
        let address = |(node, name): (usize, &String)| match addresses {
            true => format!("root.s{}.{name}", node / 4),
            false => String::new(),
        };
        Placement {
            node_addresses: names.iter().enumerate().map(address).collect(),
            level_costs: vec![100, 1],
            level_names: vec!["node".into()],
            place_of_process: vec![Vec::new(); self.ranks],
            ..Placement::of_nodes(of_process, names)
        }
    }

    fn file(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.folder.join(name);
        fs::write(&path, text)?;
        // Answers are kept only of files that were not changed just now.
        let then = SystemTime::now() - Duration::from_secs(3600);
        fs::File::options().append(true).open(&path)?.set_modified(then)?;
        Ok(path)
    }

    /// The launch with this site file; `first` empties the store before each run.
    fn way(
        &self,
        name: &'static str,
        what: &str,
        site: Option<&str>,
        first: Option<bool>,
    ) -> Result<Way, Failure> {
        let file = match site {
            Some(text) => self.file(&format!("{name}.toml"), text)?,
            None => PathBuf::new(),
        };
        let network = if name == "off" { NetworkChoice::Off } else { NetworkChoice::Auto };
        let settings = Settings { site: Some(file), network, ..Settings::default() };
        let places = self.placement(name == "slurm-address");
        let store = Store::open(self.folder.join(format!("store-{name}")));
        let (ranks, nodes) = (self.ranks, self.nodes);
        let expects = !matches!(name, "off" | "none");
        let launch = move || -> Result<(), Failure> {
            if first == Some(true) {
                store.forget_kept_networks()?;
            }
            let sources = AskedSources::not_yet(&settings, Some(store.clone()));
            let machine = LaunchMachine::of(&settings, Some(&places), sources, ranks)?;
            let network = machine.choice.and_then(|choice| choice.network);
            let known = network.map_or(0, |network| network.known());
            if known != if expects { nodes } else { 0 } {
                return Err(format!("{name}: {known} nodes are known").into());
            }
            Ok(())
        };
        if first == Some(false) {
            launch()?;
        }
        Ok(Way { name, what: what.into(), run: Box::new(launch) })
    }

    fn ways(&self) -> Result<Vec<Way>, Failure> {
        let hosts = self.hosts;
        let site = |file: &str| format!("[[cluster]]\ntopology = \"{file}\"\n");
        let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len() / 1000);
        let mut ways = vec![
            self.way("off", "no source is asked (--network off)", None, None)?,
            self.way("none", "all sources are asked, none knows the network", None, None)?,
            self.way("slurm-address", "address of Slurm", None, None)?,
            self.way(
                "small",
                "site file with a pattern of names",
                Some("[[cluster]]\nnames = \"cn{}\"\ntorus = \"20000\"\n"),
                None,
            )?,
        ];
        let texts: [(&str, &str, [&'static str; 2], String); 4] = [
            ("fabric.txt", "ibnetdiscover, a tree", ["fabric-first", "fabric-kept"], fabric(hosts)),
            ("ring.txt", "ibnetdiscover, no tree", ["ring-first", "ring-kept"], ring(hosts)),
            ("topology.conf", "topology.conf", ["slurm-first", "slurm-kept"], slurm(hosts)),
            ("pbsnodes.txt", "pbsnodes", ["pbs-first", "pbs-kept"], pbs(hosts)),
        ];
        for (name, what, [first, kept], text) in texts {
            let path = self.file(name, &text)?;
            let what = format!("{what}, {hosts} hosts, {} kB", size(&path));
            ways.push(self.way(
                first,
                &format!("{what}, first time"),
                Some(&site(name)),
                Some(true),
            )?);
            ways.push(self.way(kept, &format!("{what}, kept"), Some(&site(name)), Some(false))?);
        }
        ways.push(Way {
            name: "place",
            what: "each process: where it is".into(),
            run: Box::new(|| {
                std::hint::black_box(Host::here("cn00001".into()));
                Ok(())
            }),
        });
        ways.push(Way {
            name: "sys",
            what: "one process of each node: machine from /sys".into(),
            run: Box::new(|| {
                std::hint::black_box(Machine::from_sysfs(Path::new("/sys"))?);
                Ok(())
            }),
        });
        let xml = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines/dgx-h100.xml");
        let text = fs::read_to_string(&xml)?;
        ways.push(Way {
            name: "xml",
            what: format!("one process of each node: XML of hwloc, {} kB", size(&xml)),
            run: Box::new(move || {
                std::hint::black_box(Machine::from_hwloc_xml(&text)?);
                Ok(())
            }),
        });
        Ok(ways)
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments(std::env::args().collect());
    let folder = std::env::temp_dir().join(format!("rankweave-discovery-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let done = run(&arguments, &folder);
    fs::remove_dir_all(&folder)?;
    done
}

fn run(arguments: &Arguments, folder: &Path) -> Result<(), Failure> {
    let bench = Bench {
        folder: folder.to_path_buf(),
        ranks: arguments.number("--ranks", 64),
        nodes: arguments.number("--nodes", 16),
        hosts: arguments.number("--hosts", 10_016),
    };
    let ways = bench.ways()?;
    if arguments.0.iter().any(|word| word == "--list") {
        ways.iter().for_each(|way| println!("{}", way.name));
        return Ok(());
    }
    if let Some(only) = arguments.value("--only") {
        let way = ways.iter().find(|way| way.name == only).ok_or("there is no such way")?;
        return (0..arguments.number("--times", 1)).try_for_each(|_| (way.run)());
    }
    let rounds = arguments.number("--rounds", 21);
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            let begin = Instant::now();
            (way.run)()?;
            times.push(begin.elapsed());
        }
    }
    println!("{} ranks on {} nodes, medians of {rounds} rounds in ms", bench.ranks, bench.nodes);
    println!("{:<15}{:>9}{:>9}", "", "takes", "adds");
    let ms = |time: Duration| 1000.0 * time.as_secs_f64();
    let medians: Vec<f64> = times.into_iter().map(|times| ms(median(times))).collect();
    for (way, took) in ways.iter().zip(&medians) {
        let alone = ["place", "sys", "xml"].contains(&way.name);
        let adds = if alone { *took } else { took - medians[0] };
        println!("{:<15}{took:>9.3}{adds:>9.3}  {}", way.name, way.what);
    }
    Ok(())
}
