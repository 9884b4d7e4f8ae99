//! Hosts with labels, such as `switch = s3` and `rack = r1`, and the tree of switches that follows from them.
//!
//! Batch systems know their nodes by such labels. A label is a level of the tree. Labels with fewer values are further
//! out. A label counts if it separates hosts, puts at least two of them together, and lies inside the label around it:
//! hosts with the same value have the same value there, too. Other labels are left out.

use super::slurm_layout::{Layout, Switch};
use super::{MAX_SLOTS, bad};
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Kinds of places of a network that labels are called after, without a number at the end.
const PLACES: [&str; 20] = [
    "switch",
    "leaf",
    "leafswitch",
    "ibswitch",
    "edge",
    "router",
    "tier",
    "pod",
    "rack",
    "cabinet",
    "chassis",
    "iru",
    "enclosure",
    "cell",
    "group",
    "island",
    "block",
    "spine",
    "row",
    "blade",
];

/// Hosts in the order of the file, each with its labels.
#[derive(Debug, Default)]
pub(super) struct LabelledHosts {
    names: Vec<String>,
    labels: Vec<BTreeMap<String, String>>,
    number: HashMap<String, usize>,
}

/// Whether a label may say where in the network a host is: its name is that of a kind of place, perhaps with a number.
pub(super) fn is_place(label: &str) -> bool {
    let label = label.to_ascii_lowercase().replace(['_', '-'], "");
    let kind = label.trim_end_matches(|c: char| c.is_ascii_digit());
    PLACES.contains(&kind)
}

impl LabelledHosts {
    /// The number of a host, which is new or was added before.
    pub(super) fn host(&mut self, name: &str) -> usize {
        if let Some(&number) = self.number.get(name) {
            return number;
        }
        self.number.insert(name.to_string(), self.names.len());
        self.names.push(name.to_string());
        self.labels.push(BTreeMap::new());
        self.names.len() - 1
    }

    /// Whether there is such a host.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.number.contains_key(name)
    }

    /// Labels a host. The first value of a label stays.
    pub(super) fn label(&mut self, host: usize, label: &str, value: &str) {
        if !value.is_empty() {
            self.labels[host].entry(label.to_string()).or_insert_with(|| value.to_string());
        }
    }

    /// The labels that are levels, the outermost first.
    fn levels(&self) -> Vec<&str> {
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (label, value) in self.labels.iter().flatten() {
            values.entry(label).or_default().insert(value);
        }
        let labelled =
            |label: &str| self.labels.iter().filter(|own| own.contains_key(label)).count();
        let mut order: Vec<(usize, &str)> = values
            .iter()
            .filter(|(label, values)| {
                let hosts = labelled(label);
                values.len() < hosts && (values.len() > 1 || hosts < self.names.len())
            })
            .map(|(label, values)| (values.len(), *label))
            .collect();
        order.sort_unstable();
        let mut levels: Vec<&str> = Vec::new();
        for (_, label) in order {
            let around = levels.last().copied();
            if around.is_none_or(|around| self.is_inside(label, around)) {
                levels.push(label);
            }
        }
        levels
    }

    /// Whether hosts with the same value of `inner` have the same value of `outer`, and not for all of them the two
    /// labels say the same.
    fn is_inside(&self, inner: &str, outer: &str) -> bool {
        let mut around: HashMap<&str, Option<&String>> = HashMap::new();
        let mut below: HashMap<Option<&String>, BTreeSet<&str>> = HashMap::new();
        let inside = self.labels.iter().all(|own| {
            let Some(value) = own.get(inner) else { return true };
            let place = own.get(outer);
            below.entry(place).or_default().insert(value);
            *around.entry(value).or_insert(place) == place
        });
        inside && below.values().any(|values| values.len() > 1)
    }

    /// The tree of the labels. `what` are the hosts in the words of the error.
    ///
    /// Errors: no hosts, too many, or no label that is a level.
    pub(super) fn layout(self, what: &str) -> Result<Layout> {
        if self.names.is_empty() || self.names.len() > MAX_SLOTS {
            return Err(bad(format!("the file names {} {what}", self.names.len())));
        }
        let levels = self.levels();
        if levels.is_empty() {
            // As for a file that says so itself: the file is right, and there is nothing to learn from it.
            let flat = format!(
                "the network is flat: nothing in the file tells the switches of the {what}, and all are equally far from \
                 each other"
            );
            return Err(Error::new(ErrorKind::NotFound, flat).advise("label the nodes by their switches, for example tier0 (switch) and tier1 (group of switches)"));
        }
        let mut switches =
            vec![Switch { name: String::new(), nodes: Vec::new(), below: Vec::new() }];
        let mut number: HashMap<String, usize> = HashMap::new();
        for (name, own) in self.names.iter().zip(&self.labels) {
            let mut at = 0;
            for value in levels.iter().map_while(|level| own.get(*level)) {
                let path = format!("{}\u{0}{value}", switches[at].name);
                let next = *number.entry(path.clone()).or_insert_with(|| {
                    switches[at].below.push(path.clone());
                    switches.push(Switch { name: path, nodes: Vec::new(), below: Vec::new() });
                    switches.len() - 1
                });
                at = next;
            }
            switches[at].nodes.push(name.clone());
        }
        Ok(Layout::Switches(switches))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &[(&str, &[(&str, &str)])]) -> LabelledHosts {
        let mut hosts = LabelledHosts::default();
        for (name, labels) in list {
            let host = hosts.host(name);
            labels.iter().for_each(|(label, value)| hosts.label(host, label, value));
        }
        hosts
    }

    #[test]
    fn labels_become_levels_from_the_outside_in() {
        let all = hosts(&[
            ("a", &[("switch", "s1"), ("rack", "r1"), ("row", "x"), ("cell", "1"), ("blade", "a")]),
            ("b", &[("switch", "s1"), ("rack", "r1"), ("row", "x"), ("cell", "2"), ("blade", "b")]),
            ("c", &[("switch", "s2"), ("rack", "r1"), ("row", "x"), ("cell", "1"), ("blade", "c")]),
            ("d", &[("switch", "s3"), ("rack", "r2"), ("row", "x"), ("cell", "2"), ("blade", "d")]),
            ("e", &[("switch", "s3"), ("rack", "r2"), ("row", "x"), ("cell", "1"), ("blade", "e")]),
        ]);
        // All are in one row, each has a blade of its own, and cells lie across racks.
        assert_eq!(all.levels(), ["cell"], "the first of two labels with as many values");
        let all = hosts(&[
            ("a", &[("switch", "s1"), ("rack", "r1")]),
            ("b", &[("switch", "s1"), ("rack", "r1")]),
            ("c", &[("switch", "s2"), ("rack", "r1")]),
            ("d", &[("switch", "s3"), ("rack", "r2")]),
            ("e", &[("switch", "s3"), ("rack", "r2")]),
            ("f", &[("rack", "r2")]),
        ]);
        assert_eq!(all.levels(), ["rack", "switch"]);
        let tree = all.layout("nodes").unwrap().build("x".into(), &[]).unwrap();
        assert_eq!([1, 2, 3].map(|b| tree.distance(0, b)), [2, 4, 6]);
        let slot = |name| (0..6).find(|&s| tree.slot_name(s) == Some(name)).unwrap();
        assert_eq!(tree.distance(slot("d"), slot("f")), 4);
    }

    #[test]
    fn labels_that_tell_nothing_are_an_error() {
        for list in [
            &[][..],
            &[("a", &[][..]), ("b", &[])],
            &[("a", &[("switch", "s")]), ("b", &[("switch", "s")])],
            &[("a", &[("switch", "s")]), ("b", &[("switch", "t")])],
        ] {
            assert!(hosts(list).layout("nodes").is_err(), "{list:?}");
        }
    }

    #[test]
    fn places_have_names() {
        for label in ["switch", "tier0", "IB_Switch", "rack12", "leaf-switch"] {
            assert!(is_place(label), "{label}");
        }
        for label in ["ncpus", "mem", "host", "arch", "", "7", "switched"] {
            assert!(!is_place(label), "{label}");
        }
    }
}
