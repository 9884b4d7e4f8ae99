//! Reads the machine from Linux' `/sys`, where there is no hwloc.
//!
//! Offline CPUs have no `topology` folder or are missing from `online`. Both kinds are left out. Divisions that
//! the kernel does not report make no level. Many virtual machines report neither NUMA domains nor caches.

use super::cpuset::CpuSet;
use super::machine::{Division, Machine};
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Files of `cpuN/topology` that list the CPUs of a division, the newer name first.
const SIBLINGS: [(&str, [&str; 2]); 3] = [
    ("package", ["package_cpus_list", "core_siblings_list"]),
    ("die", ["die_cpus_list", "die_cpus_list"]),
    ("core", ["core_cpus_list", "thread_siblings_list"]),
];

impl Machine {
    /// Reads `root/devices/system/{cpu,node}`; `root` is `/sys`, or a copy of it.
    ///
    /// Errors: a folder that cannot be read, or that lists no CPU.
    pub fn from_sysfs(root: &Path) -> Result<Machine> {
        let cpus = root.join("devices/system/cpu");
        let online = read(&cpus.join("online")).and_then(|text| CpuSet::from_list(&text));
        let pus: CpuSet = numbered(&cpus, "cpu")?
            .into_iter()
            .filter(|&pu| online.as_ref().is_none_or(|set| set.contains(pu)))
            .collect();
        if pus.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, "no CPU is listed")
                .at(cpus.display())
                .advise("give a topology with --topology"));
        }
        let mut sets: BTreeMap<&str, BTreeSet<Vec<usize>>> = BTreeMap::new();
        let mut add = |name, text: Option<String>| {
            if let Some(set) = text.and_then(|text| CpuSet::from_list(&text)) {
                sets.entry(name).or_default().insert(set.iter().collect());
            }
        };
        for pu in pus.iter() {
            let cpu = cpus.join(format!("cpu{pu}"));
            for (name, [newer, older]) in SIBLINGS {
                let folder = cpu.join("topology");
                add(name, read(&folder.join(newer)).or_else(|| read(&folder.join(older))));
            }
            for index in numbered(&cpu.join("cache"), "index").unwrap_or_default() {
                let cache = cpu.join(format!("cache/index{index}"));
                let name = match read(&cache.join("level")).as_deref().map(str::trim) {
                    Some("3") => "l3",
                    Some("2") => "l2",
                    _ => continue,
                };
                if read(&cache.join("type")).is_none_or(|kind| kind.trim() != "Instruction") {
                    add(name, read(&cache.join("shared_cpu_list")));
                }
            }
        }
        let nodes = root.join("devices/system/node");
        for node in numbered(&nodes, "node").unwrap_or_default() {
            add("numa", read(&nodes.join(format!("node{node}/cpulist"))));
        }
        // Of divisions with the same parts, the first one gives the name, as for hwloc.
        let divisions = ["package", "die", "numa", "core", "l3", "l2"]
            .into_iter()
            .map(|name| Division {
                name: name.into(),
                sets: sets
                    .remove(name)
                    .into_iter()
                    .flatten()
                    .map(|pus| pus.into_iter().collect())
                    .collect(),
            })
            .collect();
        Ok(Machine::from_divisions(&pus, divisions))
    }
}

/// A small file's text, or `None` when it cannot be read: most files here are optional.
fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The numbers N of the entries `prefixN` of a folder, ascending.
fn numbered(folder: &Path, prefix: &str) -> Result<BTreeSet<usize>> {
    let entries =
        fs::read_dir(folder).map_err(|e| Error::io("cannot list the folder", folder, &e))?;
    Ok(entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix(prefix)?.parse().ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder with the given files.
    fn sysfs(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join("devices/system").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = folder.path().to_path_buf();
        (folder, root)
    }

    #[test]
    fn packages_domains_and_cores_with_one_cpu_offline() {
        let mut files = vec![("cpu/online".to_string(), "0-6\n".to_string())];
        for cpu in 0..8usize {
            let core = cpu / 2 * 2;
            let package = cpu / 4 * 4;
            files.push((
                format!("cpu/cpu{cpu}/topology/core_cpus_list"),
                format!("{core}-{}\n", core + 1),
            ));
            files.push((
                format!("cpu/cpu{cpu}/topology/core_siblings_list"),
                format!("{package}-{}\n", package + 3),
            ));
            files.push((format!("cpu/cpu{cpu}/cache/index3/level"), "3\n".into()));
            files.push((format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), "0-7\n".into()));
        }
        files.push(("node/node0/cpulist".into(), "0-3\n".into()));
        files.push(("node/node1/cpulist".into(), "4-7\n".into()));
        files.push(("node/node2/cpulist".into(), "\n".into()));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        let (_folder, root) = sysfs(&files);
        let machine = Machine::from_sysfs(&root).unwrap();
        assert_eq!(machine.level_names(), ["package", "core"]);
        assert_eq!(machine.pus(), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(machine.path_of(&CpuSet::from_list("6").unwrap()), [1, 3]);
    }

    #[test]
    fn bare_cpus_have_no_levels() {
        let (_folder, root) = sysfs(&[("cpu/cpu0/online", "1"), ("cpu/cpu1/online", "1")]);
        let machine = Machine::from_sysfs(&root).unwrap();
        assert!(machine.level_names().is_empty());
        assert_eq!(machine.pus(), [0, 1]);
    }

    #[test]
    fn missing_and_empty_folders_are_errors() {
        let missing = Machine::from_sysfs(Path::new("/nonexistent")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Io);
        let (_folder, root) = sysfs(&[("cpu/possible", "0")]);
        let empty = Machine::from_sysfs(&root).unwrap_err();
        assert_eq!(empty.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn reads_the_machine_it_runs_on() {
        // Only where the machine runs Linux with /sys; the levels must be usable as they are.
        if let Ok(machine) = Machine::from_sysfs(Path::new("/sys")) {
            let all: CpuSet = machine.pus().iter().copied().collect();
            assert_eq!(machine.path_of(&all).len(), machine.level_names().len());
        }
    }
}
