//! Reads the machine from Linux' `/sys`, where there is no hwloc.
//!
//! Offline CPUs have no `topology` folder or are missing from `online`. Both kinds are left out. Divisions that
//! the kernel does not report make no level. Many virtual machines report neither NUMA domains nor caches.

use super::cpuset::CpuSet;
use super::machine::{Division, Machine};
use super::sys_tree::{Folder, Listing, SysTree};
use super::sysfs_devices;
use crate::base::sorting::Arrange;
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

/// Files of `cpuN/topology` that list the CPUs of a division, the newer name first.
const SIBLINGS: [(&str, [&str; 2]); 3] = [
    ("package", ["package_cpus_list", "core_siblings_list"]),
    ("die", ["die_cpus_list", "die_cpus_list"]),
    ("core", ["core_cpus_list", "thread_siblings_list"]),
];

/// Linux is built for at most so many CPUs. More are not a machine.
const MOST_CPUS: usize = 8192;

const CPUS: &str = "devices/system/cpu";
const NODES: &str = "devices/system/node";

impl Machine {
    /// Reads `root/devices/system/{cpu,node}`, and the devices of `root/bus/pci` and `root/class`; `root` is
    /// `/sys`, or a copy of it.
    ///
    /// Errors: a folder that cannot be read, or that lists no CPU.
    pub fn from_sysfs(root: &Path) -> Result<Machine> {
        from_tree(&Folder(root))
    }

    /// Reads the machine from a listing of `/sys`, as `scripts/gather-machine` writes it: lines of `path=content`
    /// and `path -> target of a link`.
    ///
    /// Errors: a text that is no such listing, or that lists no CPU.
    pub fn from_sys_listing(text: &str) -> Result<Machine> {
        from_tree(&Listing::parse(text)?)
    }

    /// This machine with the devices that `/sys` at `root` lists. Its other sources do not look for devices.
    #[must_use]
    pub fn with_devices_of_sysfs(self, root: &Path) -> Machine {
        self.with_devices(sysfs_devices::devices(&Folder(root)))
    }
}

fn from_tree(tree: &dyn SysTree) -> Result<Machine> {
    let online = tree.read(&format!("{CPUS}/online")).and_then(|text| CpuSet::from_list(&text));
    let pus: CpuSet = numbered(tree, CPUS, "cpu")?
        .into_iter()
        .filter(|&pu| online.as_ref().is_none_or(|set| set.contains(pu)))
        .take(MOST_CPUS)
        .collect();
    if pus.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, "no CPU is listed")
            .at(tree.place(CPUS))
            .advise("give a topology with --topology"));
    }
    let mut found = Found { pus: &pus, sets: BTreeMap::new(), read: HashMap::new() };
    let mut add = |name, path: &[String]| found.add(name, path.iter().find_map(|at| tree.read(at)));
    for pu in pus.iter() {
        let cpu = format!("{CPUS}/cpu{pu}");
        for (name, files) in SIBLINGS {
            add(name, &files.map(|file| format!("{cpu}/topology/{file}")));
        }
        for index in numbered(tree, &format!("{cpu}/cache"), "index").unwrap_or_default() {
            let cache = format!("{cpu}/cache/index{index}");
            let name = match tree.read(&format!("{cache}/level")).as_deref().map(str::trim) {
                Some("3") => "l3",
                Some("2") => "l2",
                _ => continue,
            };
            let kind = tree.read(&format!("{cache}/type"));
            if kind.is_none_or(|kind| kind.trim() != "Instruction") {
                add(name, &[format!("{cache}/shared_cpu_list")]);
            }
        }
    }
    for node in numbered(tree, NODES, "node").unwrap_or_default() {
        add("numa", &[format!("{NODES}/node{node}/cpulist")]);
    }
    // Of divisions with the same parts, the first one gives the name, as for hwloc.
    let names = ["package", "die", "numa", "core", "l3", "l2"];
    let divisions = names.map(|name| found.division(name)).into();
    Ok(Machine::from_divisions(&pus, divisions).with_devices(sysfs_devices::devices(tree)))
}

/// The sets of CPUs that were found.
struct Found<'a> {
    pus: &'a CpuSet,
    sets: BTreeMap<&'static str, HashSet<CpuSet>>,
    /// The texts that were read: all CPUs of a package list the same set.
    read: HashMap<String, Option<CpuSet>>,
}

impl Found<'_> {
    /// Adds the set of a text to a division. A text that is no list is left out.
    fn add(&mut self, name: &'static str, text: Option<String>) {
        let Some(text) = text else { return };
        let read = |text: &String| CpuSet::from_list(text).map(|set| set.intersection(self.pus));
        let set = self.read.entry(text).or_insert_with_key(read);
        if let Some(set) = set {
            self.sets.entry(name).or_default().insert(set.clone());
        }
    }

    /// The division of a name, its sets in the order of their CPUs.
    fn division(&mut self, name: &str) -> Division {
        let mut sets: Vec<CpuSet> = self.sets.remove(name).into_iter().flatten().collect();
        sets.arrange_by(|a, b| a.iter().cmp(b.iter()));
        Division { name: name.into(), sets }
    }
}

/// The numbers N of the entries `prefixN` of a folder, ascending.
fn numbered(tree: &dyn SysTree, folder: &str, prefix: &str) -> Result<BTreeSet<usize>> {
    let names = tree.list(folder)?;
    Ok(names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
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
