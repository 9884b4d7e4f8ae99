//! The descriptions of networks in `tests/machines/fabrics`: each has the structure that `expected.txt` gives, under its
//! own kind and under `fabric:`, which recognises the kind. GPU systems there have the nearest adapters that are listed
//! there as well.

use crate::support::repository;
use rankweave::ErrorKind;
use rankweave::topology::{
    CpuSet, GpuSystem, HostIndex, Topology, parse, read_fabric, read_fabric_of,
};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

const FOLDER: &str = "tests/machines/fabrics";

/// What a topology is, in the words of `expected.txt`.
fn structure(topology: &dyn Topology) -> String {
    let dims = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    match (topology.as_grid(), topology.as_part_of_grid(), topology.as_tree(), topology.network()) {
        (Some(grid), ..) => format!("grid {}", dims(grid.dims())),
        (_, Some((grid, _)), ..) => format!("part of grid {}", dims(grid.dims())),
        (_, _, Some(_), _) => "tree".into(),
        (.., Some(_)) => "network".into(),
        _ => "islands".into(),
    }
}

/// The slot that a name of `expected.txt` stands for.
fn slot(topology: &dyn Topology, hosts: &HostIndex, name: &str) -> usize {
    let unnamed = topology.slot_name(0).is_none();
    let found = if unnamed { name.parse().ok() } else { hosts.find(name) };
    found.unwrap_or_else(|| panic!("{}: no host {name}", topology.name()))
}

/// What is wrong with a topology.
fn problems(topology: &dyn Topology, hosts: &str, expected: &str, pairs: &str) -> String {
    let mut wrong = String::new();
    if topology.slots().to_string() != hosts {
        let names: Vec<_> = (0..topology.slots()).map(|s| topology.slot_name(s)).collect();
        let _ = writeln!(wrong, "{} hosts: {names:?}", topology.slots());
    }
    if structure(topology) != expected {
        let _ = writeln!(wrong, "{} instead of {expected}", structure(topology));
    }
    let index = HostIndex::new(topology);
    let names: BTreeSet<_> = (0..topology.slots()).filter_map(|s| topology.slot_name(s)).collect();
    if !names.is_empty() && names.len() != topology.slots() {
        let _ = writeln!(wrong, "a host has several slots, or none of its own");
    }
    for pair in pairs.split(';').filter(|pair| !pair.trim().is_empty()) {
        // Names with blanks have slashes around them.
        let separator = if pair.contains(" / ") { " / " } else { " " };
        let words: Vec<&str> = pair.trim().split(separator).map(str::trim).collect();
        let [a, b, want] = words[..] else { panic!("{pair}") };
        let (x, y) = (slot(topology, &index, a), slot(topology, &index, b));
        let found = topology.distance(x, y);
        if found.to_string() != want || found != topology.distance(y, x) {
            let _ = writeln!(wrong, "{a} and {b}: distance {found} instead of {want}");
        }
        if let Some(network) = topology.network() {
            let mut links = 0;
            network.route(x, y, &mut |_| links += 1);
            let hops = topology.as_tree().is_none() || topology.name().starts_with("ib");
            if hops && links != found {
                let _ = writeln!(wrong, "{a} to {b}: a route of {links} links instead of {found}");
            }
        }
    }
    wrong
}

#[test]
fn every_file_has_its_structure() {
    let table = fs::read_to_string(repository(FOLDER).join("expected.txt")).unwrap();
    let mut all = String::new();
    let mut listed = BTreeSet::from(["expected.txt".to_string()]);
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let words: Vec<&str> = line.split('|').map(str::trim).collect();
        let [kind, file, hosts, expected, pairs] = words[..] else { panic!("{line}") };
        listed.insert(file.to_string());
        if kind == "gpus" {
            continue;
        }
        let path = repository(FOLDER).join(file);
        for kind in [kind, "fabric"] {
            let found = match parse(&format!("{kind}:{}", path.display())) {
                Ok(_) if hosts == "error" => "no error".to_string(),
                Ok(topology) => problems(topology.as_ref(), hosts, expected, pairs),
                Err(error) if error.to_string().contains(expected) => String::new(),
                Err(error) => error.to_string(),
            };
            if !found.is_empty() {
                let _ = writeln!(all, "{kind}:{file}\n{found}");
            }
        }
    }
    assert!(all.is_empty(), "{all}");
    let files = fs::read_dir(repository(FOLDER)).unwrap().flatten();
    let files: BTreeSet<String> =
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(files, listed, "expected.txt names every file");
}

#[test]
fn unnamed_adapters_are_in_no_fabric() {
    let path = repository(FOLDER).join("ib-rails-and-aggregation-nodes.txt");
    let fabric = read_fabric(&path.display().to_string()).unwrap();
    // Four hosts, two leaf switches and two spine switches.
    assert_eq!(fabric.network().unwrap().vertices(), 8);
    assert!(
        (0..4).all(|slot| fabric.slot_name(slot).is_some_and(|name| name.starts_with("a08-dgx-0")))
    );
}

#[test]
fn hosts_that_the_caller_knows_count_where_the_file_has_none() {
    let flat = repository(FOLDER).join("slurm-flat.yaml").display().to_string();
    assert_eq!(read_fabric(&flat).err().unwrap().kind(), ErrorKind::NotFound);
    let hosts = ["a", "b", "c"].map(String::from);
    let known = read_fabric_of(&flat, &hosts).unwrap();
    assert_eq!((known.slots(), known.distance(0, 2)), (3, 2));
    let tree = repository(FOLDER).join("slurm-tree.yaml").display().to_string();
    assert_eq!(read_fabric_of(&tree, &hosts).unwrap().slots(), 4);
}

#[test]
fn other_files_say_what_reads_them() {
    for (file, what) in [
        ("tests/machines/1package-2core.xml", "hwloc:"),
        ("tests/machines/fabrics/gpus-8-nvidia.xml", "GPU system"),
        ("/nonexistent", "cannot read"),
    ] {
        let path = if file.starts_with('/') {
            file.into()
        } else {
            repository(file).display().to_string()
        };
        let error = read_fabric(&path).err().unwrap().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// What a description of a GPU system says, in the words of `expected.txt`.
fn gpu_system(text: &str) -> [String; 3] {
    let system = GpuSystem::parse(text).unwrap();
    let size = format!("{} CPUs, {} devices", system.cpus.len(), system.devices.len());
    let missing = system.missing();
    let machine = system.machine().unwrap();
    let pus: CpuSet = machine.pus().iter().copied().collect();
    assert_eq!(pus.is_empty(), missing.is_some(), "{missing:?}");
    let rails = machine.rails();
    let gpus = machine.gpus().into_iter().zip(machine.rails_of_gpus());
    let near = gpus.map(|(gpu, near)| match near {
        Some((rail, nearness)) => format!("{} {} {nearness}", gpu.name, rails[rail].name),
        None => format!("{} none", gpu.name),
    });
    let pus = if pus.is_empty() { "none".into() } else { pus.to_string() };
    [size, pus, near.collect::<Vec<_>>().join("; ")]
}

#[test]
fn nearest_adapters_of_gpus() {
    let table = fs::read_to_string(repository(FOLDER).join("expected.txt")).unwrap();
    let mut seen = 0;
    for line in table.lines().filter(|line| line.starts_with("gpus |")) {
        let words: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, file, size, pus, near] = words[..] else { panic!("{line}") };
        let text = fs::read_to_string(repository(FOLDER).join(file)).unwrap();
        assert!(GpuSystem::is_one(&text));
        let found = gpu_system(&text);
        assert_eq!(found.each_ref().map(String::as_str), [size, pus, near], "{file}: {found:?}");
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}

/// An `ibnetdiscover` file of hosts in racks of 32 below three levels of switches.
fn large_fabric(hosts: usize, rails: usize) -> String {
    let mut text = String::new();
    let leaves = hosts.div_ceil(32) * rails;
    for leaf in 0..leaves {
        let _ = writeln!(
            text,
            "\nvendid=0x2c9\nswitchguid=0x{leaf:x}({leaf:x})\nSwitch\t65 \"S-{leaf:016x}\"\t\t# \"leaf{leaf}\" enhanced port 0 lid 1 lmc 0"
        );
        for port in 0..32 {
            let host = leaf / rails * 32 + port;
            let guid = 0xb000_0000 + host * rails + leaf % rails;
            let _ = writeln!(
                text,
                "[{}]\t\"H-{guid:016x}\"[1]({guid:x}) \t\t# \"node{host:05} mlx5_{}\" lid 9 4xNDR",
                port + 1,
                leaf % rails
            );
        }
        for spine in 0..8 {
            let guid = 0xa000_0000 + leaf / 32 * 8 + spine;
            let _ = writeln!(
                text,
                "[{}]\t\"S-{guid:016x}\"[{}]\t\t# \"spine\" lid 9 4xNDR",
                33 + spine,
                leaf % 32 + 1
            );
        }
    }
    for spine in 0..leaves.div_ceil(32) * 8 {
        let guid = 0xa000_0000 + spine;
        let _ = writeln!(
            text,
            "\nSwitch\t65 \"S-{guid:016x}\"\t\t# \"spine\" enhanced port 0 lid 1 lmc 0"
        );
        for core in 0..4 {
            let _ = writeln!(
                text,
                "[{}]\t\"S-{:016x}\"[{}]\t\t# \"core\" lid 9 4xNDR",
                40 + core,
                0xc000_0000u32 + core,
                spine + 1
            );
        }
    }
    text
}

#[test]
fn large_fabrics_are_read_quickly() {
    let folder = tempfile::tempdir().unwrap();
    for (hosts, rails) in [(10_016, 1), (10_016, 4)] {
        let path = folder.path().join("fabric.txt");
        fs::write(&path, large_fabric(hosts, rails)).unwrap();
        let begin = Instant::now();
        let fabric = read_fabric(&path.display().to_string()).unwrap();
        let took = begin.elapsed();
        println!("{hosts} hosts with {rails} rails: {:.3} s", took.as_secs_f64());
        assert_eq!(fabric.slots(), hosts);
        assert_eq!((fabric.distance(0, 31), fabric.distance(0, hosts - 1)), (2, 6));
        // Without optimisation and beside other work: a limit that only a slower algorithm exceeds.
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}
