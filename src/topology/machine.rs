//! One node from the inside: which PUs share a core, a cache, a NUMA domain, a package.
//!
//! A machine is stored as the group of every PU at every level. A mapping needs no other data. The machine is
//! read from hwloc's XML ([`Machine::from_hwloc_xml`]) or, without hwloc, from `/sys`
//! ([`Machine::from_sysfs`]). Both have the GPUs and network adapters as well, unless they were left out of the
//! XML. Memory sizes, cache sizes and other devices are not kept.

use super::cpuset::CpuSet;
use super::device::{Device, arranged};
use crate::base::numbering::by_first_appearance;
use crate::base::sorting::Arrange;

/// The number in a path that means: the process is in no single group of this level. See [`Machine::path_of`].
pub const UNPLACED: u32 = u32::MAX;

/// A division of the PUs as the system describes it: one set for each object of a kind.
#[derive(Debug, Clone)]
pub(super) struct Division {
    /// Name of the level that it would make, such as `numa`.
    pub name: String,
    /// The PUs of each object. Damaged systems report sets that overlap or leave PUs out.
    pub sets: Vec<CpuSet>,
}

/// The levels of one node and the group of every PU at each.
///
/// Disallowed PUs are kept when the description has them: other processes of the job may run there.
/// Offline PUs are not, since no process can run there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    level_names: Vec<String>,
    /// OS indices of the PUs, ascending.
    pus: Vec<usize>,
    /// `groups[l][k]`: the group of `pus[k]` at level `l`; groups of a level count from 0 in the
    /// order of their first PU, and are nested in those of the level above.
    groups: Vec<Vec<u32>>,
    /// By kind and bus id.
    devices: Vec<Device>,
}

impl Machine {
    /// A node without known levels. Every path is empty.
    pub fn single() -> Self {
        Machine {
            level_names: Vec::new(),
            pus: Vec::new(),
            groups: Vec::new(),
            devices: Vec::new(),
        }
    }

    /// Arranges divisions of `pus` into nested levels, coarse to fine.
    ///
    /// Divisions with fewer parts are outer levels. The order of kinds is not fixed: an L3 cache may
    /// hold several NUMA domains (sub-NUMA clustering), and a NUMA domain several L3 caches. Of
    /// divisions with equally many parts the one given first is the outer one. PUs that are in no object
    /// of a division form one part together. A division that does not split a part of the levels
    /// outside it makes no level, so all levels branch.
    pub(super) fn from_divisions(pus: &CpuSet, divisions: Vec<Division>) -> Self {
        let pus: Vec<usize> = pus.iter().collect();
        let mut candidates: Vec<(usize, String, Vec<u32>)> = Vec::new();
        for Division { name, sets } in divisions {
            let mut part = vec![0u32; pus.len()];
            // A PU in several sets belongs to the smallest one: memory that is local to a whole package
            // (CXL) must not hide the NUMA domains inside the package.
            let mut sets: Vec<&CpuSet> = sets.iter().collect();
            sets.arrange_by_key(|set| std::cmp::Reverse(set.len()));
            for (index, set) in sets.into_iter().enumerate() {
                for pu in set.iter() {
                    if let Ok(k) = pus.binary_search(&pu) {
                        part[k] = index as u32 + 1;
                    }
                }
            }
            let parts = by_first_appearance(part.iter().copied()).1.len();
            candidates.push((parts, name, part));
        }
        candidates.arrange_by_key(|&(parts, _, _)| parts);

        let mut machine = Machine { pus, ..Machine::single() };
        let mut outer = vec![0u32; machine.pus.len()];
        let mut outer_groups = machine.pus.len().min(1);
        for (_, name, part) in candidates {
            let pairs: Vec<(u32, u32)> = outer.iter().copied().zip(part).collect();
            let (groups, distinct) = by_first_appearance(pairs);
            let count = distinct.len();
            if count > outer_groups {
                machine.level_names.push(name);
                machine.groups.push(groups.clone());
                (outer, outer_groups) = (groups, count);
            }
        }
        machine
    }

    /// This machine with these devices instead of those that it has. Devices without a PCI address, and all but the
    /// first device of a PCI function, are left out. Devices whose local PUs are not known are local to all PUs.
    #[must_use]
    pub fn with_devices(mut self, devices: Vec<Device>) -> Machine {
        self.devices = arranged(devices, &self.pus);
        self
    }

    /// The GPUs and network adapters: GPUs first, and by bus id.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Names of the levels, outermost first: those of `package`, `die`, `group`, `numa`, `l3`,
    /// `l2`, `core` that branch on this machine.
    pub fn level_names(&self) -> &[String] {
        &self.level_names
    }

    /// OS indices of all PUs, ascending.
    pub fn pus(&self) -> &[usize] {
        &self.pus
    }

    /// The group of every PU at level `l`, in the order of [`Machine::pus`].
    pub fn groups(&self, l: usize) -> &[u32] {
        &self.groups[l]
    }

    /// The place of a process that may run on `cpus`: its group at every level, outermost first,
    /// one number for each of [`Machine::level_names`].
    ///
    /// A process whose PUs lie in several groups of a level is in none of them: from that level
    /// inwards its path is [`UNPLACED`]. [`Tree::from_paths`](super::Tree::from_paths) makes each
    /// such process a group of its own. It is then as far from other processes as these groups are from
    /// each other, and all unbound processes of a node are equally far apart. PUs that the machine does
    /// not have are ignored. If no PU is left, the process is unplaced at all levels.
    pub fn path_of(&self, cpus: &CpuSet) -> Vec<u32> {
        let positions: Vec<usize> =
            cpus.iter().filter_map(|pu| self.pus.binary_search(&pu).ok()).collect();
        let mut path = vec![UNPLACED; self.groups.len()];
        let Some((&first, others)) = positions.split_first() else {
            return path;
        };
        for (place, groups) in path.iter_mut().zip(&self.groups) {
            if others.iter().any(|&k| groups[k] != groups[first]) {
                break;
            }
            *place = groups[first];
        }
        path
    }

    /// One line such as `2 package, 4 numa, 32 core, 64 pu`; equal for machines of equal shape.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for (name, groups) in self.level_names.iter().zip(&self.groups) {
            let count = groups.iter().max().map_or(0, |&m| m as usize + 1);
            text.push_str(&format!("{count} {name}, "));
        }
        text + &format!("{} pu", self.pus.len())
    }
}

/// One list with the levels of all machines of a job, outermost first, so that paths of different
/// machines can be compared.
///
/// The order is that of the first machine. A level that only another machine has is inserted after the
/// level that comes before it there.
pub fn common_levels<'a>(machines: impl IntoIterator<Item = &'a [String]>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for names in machines {
        let mut at = 0;
        for name in names {
            match all.iter().position(|known| known == name) {
                Some(found) => at = at.max(found + 1),
                None => {
                    all.insert(at, name.clone());
                    at += 1;
                }
            }
        }
    }
    all
}

/// Rewrites a path over the levels `from` as one over the levels `to` of [`common_levels`].
///
/// A level of `to` that is not in `from` does not branch on this machine. It gets group 0, or
/// [`UNPLACED`] if the process is unplaced at the level before it.
pub fn extend_path(path: &[u32], from: &[String], to: &[String]) -> Vec<u32> {
    let mut outer = 0;
    to.iter()
        .map(|name| match from.iter().position(|known| known == name) {
            Some(level) => {
                outer = path.get(level).copied().unwrap_or(UNPLACED);
                outer
            }
            None if outer == UNPLACED => UNPLACED,
            None => 0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn division(name: &str, sets: &[&str]) -> Division {
        let sets = sets.iter().map(|s| CpuSet::from_list(s).unwrap()).collect();
        Division { name: name.into(), sets }
    }

    fn list(text: &str) -> CpuSet {
        CpuSet::from_list(text).unwrap()
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| s.to_string()).collect()
    }

    #[test]
    fn single_has_no_levels() {
        let machine = Machine::single();
        assert!(machine.level_names().is_empty());
        assert!(machine.path_of(&list("0-7")).is_empty());
    }

    #[test]
    fn levels_that_do_not_branch_are_left_out() {
        let machine = Machine::from_divisions(
            &list("0-7"),
            vec![
                division("package", &["0-7"]),
                division("numa", &["0-3", "4-7"]),
                division("l3", &["0-3", "4-7"]),
                division("core", &["0,1", "2,3", "4,5", "6,7"]),
            ],
        );
        assert_eq!(machine.level_names(), ["numa", "core"]);
        assert_eq!(machine.path_of(&list("5")), [1, 2]);
        assert_eq!(machine.path_of(&list("4-5")), [1, 2]);
        assert_eq!(machine.path_of(&list("4-7")), [1, UNPLACED]);
        assert_eq!(machine.path_of(&list("3-4")), [UNPLACED, UNPLACED]);
        assert_eq!(machine.path_of(&list("1,90")), [0, 0]);
        assert_eq!(machine.path_of(&list("90")), [UNPLACED, UNPLACED]);
        assert_eq!(machine.describe(), "2 numa, 4 core, 8 pu");
    }

    #[test]
    fn nests_as_the_machine_does() {
        let l3_outside = Machine::from_divisions(
            &list("0-7"),
            vec![division("numa", &["0-1", "2-3", "4-5", "6-7"]), division("l3", &["0-3", "4-7"])],
        );
        assert_eq!(l3_outside.level_names(), ["l3", "numa"]);
    }

    #[test]
    fn pus_outside_every_object_form_a_part() {
        let machine = Machine::from_divisions(&list("0-5"), vec![division("l3", &["0-3"])]);
        assert_eq!(machine.groups(0), [0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn memory_of_a_whole_package_does_not_hide_its_domains() {
        let machine = Machine::from_divisions(
            &list("0-7"),
            vec![division("numa", &["0-3", "4-7", "0-7", "0-3"])],
        );
        assert_eq!(machine.groups(0), [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn crossing_divisions_still_nest() {
        let machine = Machine::from_divisions(
            &list("0-3"),
            vec![division("package", &["0,1", "2,3"]), division("numa", &["0,2", "1", "3"])],
        );
        assert_eq!(machine.groups(0), [0, 0, 1, 1]);
        assert_eq!(machine.groups(1), [0, 1, 2, 3]);
    }

    #[test]
    fn unlike_machines_share_one_list_of_levels() {
        let big = names(&["package", "numa", "core"]);
        let small = names(&["l3", "core"]);
        let all = common_levels([small.as_slice(), big.as_slice()]);
        assert_eq!(all, ["package", "numa", "l3", "core"]);
        assert_eq!(extend_path(&[1, 5], &small, &all), [0, 0, 1, 5]);
        assert_eq!(extend_path(&[1, UNPLACED, UNPLACED], &big, &all)[1..], [UNPLACED; 3]);
    }
}
