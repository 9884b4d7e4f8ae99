//! Finds the slots of hosts by their names, as a job, a scheduler or an interface may spell them.
//!
//! A topology file and a job rarely agree on the form of a name: `n1`, `n1.cluster.example`, `n1-ib0`. A name is found
//! in these steps, and only if one slot fits:
//!
//! 1. the same name,
//! 2. the same name in other letter case,
//! 3. the same short name (before the first dot),
//! 4. the same name without the interface at its end (`-ib0`, `-hsn1`, `_mlx5_0`).
//!
//! The first step that fits any slot decides. A host whose interfaces are several slots of the topology is therefore
//! not found by its name without interface.

use super::Topology;
use std::collections::HashMap;

/// A slot that a name stands for, or that it stands for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    One(usize),
    Several,
}

impl Found {
    fn one(self) -> Option<usize> {
        match self {
            Found::One(slot) => Some(slot),
            Found::Several => None,
        }
    }
}

/// The slots of a topology by the names of the hosts. Memory: the names in up to four forms.
#[derive(Debug, Default)]
pub struct HostIndex {
    exact: HashMap<String, Found>,
    lower: HashMap<String, Found>,
    short: HashMap<String, Found>,
    base: HashMap<String, Found>,
}

impl HostIndex {
    /// The index of all slots with names.
    pub fn new(topology: &dyn Topology) -> HostIndex {
        let names =
            (0..topology.slots()).filter_map(|slot| Some((topology.slot_name(slot)?, slot)));
        HostIndex::of_names(names)
    }

    /// The index of names and their slots. Empty names are left out.
    pub fn of_names<'a>(names: impl IntoIterator<Item = (&'a str, usize)>) -> HostIndex {
        let mut index = HostIndex::default();
        for (name, slot) in names.into_iter().filter(|(name, _)| !name.is_empty()) {
            add(&mut index.exact, name.to_string(), slot);
            let lower = name.to_ascii_lowercase();
            add(&mut index.short, short(&lower).to_string(), slot);
            add(&mut index.base, base(short(&lower)).to_string(), slot);
            add(&mut index.lower, lower, slot);
        }
        index
    }

    /// The slot of a host; `None` if no slot, or more than one, fits.
    pub fn find(&self, name: &str) -> Option<usize> {
        if let Some(found) = self.exact.get(name).or_else(|| self.exact.get(name.trim())) {
            return found.one();
        }
        let name = name.trim();
        let lower = name.to_ascii_lowercase();
        let short = short(&lower);
        let base = base(short);
        let found = (self.lower.get(&lower))
            .or_else(|| self.short.get(short))
            .or_else(|| self.short.get(base))
            .or_else(|| self.base.get(base));
        found.and_then(|found| found.one())
    }
}

fn add(map: &mut HashMap<String, Found>, name: String, slot: usize) {
    map.entry(name).and_modify(|found| *found = Found::Several).or_insert(Found::One(slot));
}

/// The name before the first dot. An address of the Internet protocol has no shorter form.
fn short(name: &str) -> &str {
    let is_address = name.bytes().all(|b| b.is_ascii_digit() || b == b'.') || name.contains(':');
    match name.split_once('.') {
        Some((short, _)) if !is_address && !short.is_empty() => short,
        _ => name,
    }
}

/// The name without an interface at its end.
fn base(name: &str) -> &str {
    let mut ends = name.char_indices().filter(|&(at, c)| at > 0 && matches!(c, '-' | '_'));
    ends.find(|&(at, _)| is_interface(&name[at + 1..])).map_or(name, |(at, _)| &name[..at])
}

/// Whether a text is the usual name of an interface of a fabric: `ib0`, `hsn1`, `mlx5_0`, `hfi1_0`.
fn is_interface(text: &str) -> bool {
    let digits = |rest: &str| rest.bytes().all(|b| b.is_ascii_digit());
    let kinds = [
        "ib", "ipoib", "hsn", "opa", "roce", "rail", "eth", "mlx4_", "mlx5_", "hfi1_", "hfi", "cxi",
    ];
    kinds.iter().any(|kind| text.strip_prefix(kind).is_some_and(digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(names: &[&str]) -> HostIndex {
        HostIndex::of_names(names.iter().copied().zip(0..))
    }

    #[test]
    fn names_of_every_form() {
        let hosts =
            index(&["n1", "n2.cluster.example", "N3", "nid001-hsn0", "big-4", "", "10.0.0.7"]);
        for (name, want) in [
            ("n1", Some(0)),
            (" n1 ", Some(0)),
            ("N1", Some(0)),
            ("n1.cluster.example", Some(0)),
            ("n1-ib0", Some(0)),
            ("n1-ib", Some(0)),
            ("n1.ib", Some(0)),
            ("n1_mlx5_0", Some(0)),
            ("n1-hsn0.cluster.example", Some(0)),
            ("n2", Some(1)),
            ("n2.other.example", Some(1)),
            ("n2-ib1", Some(1)),
            ("n3", Some(2)),
            ("nid001", Some(3)),
            ("nid001-hsn1", Some(3)),
            ("big-4", Some(4)),
            ("big", None),
            ("big-4-rail0", Some(4)),
            ("n10", None),
            ("n", None),
            ("", None),
            (".", None),
            ("-ib0", None),
            ("10.0.0.7", Some(6)),
            ("10.0.0.8", None),
            ("10", None),
        ] {
            assert_eq!(hosts.find(name), want, "{name}");
        }
    }

    #[test]
    fn what_fits_several_slots_is_not_found() {
        let hosts = index(&["a.x", "a.y", "b-ib0", "b-ib1", "c", "c-hsn0", "twice", "twice"]);
        for (name, want) in [
            ("a", None),
            ("a.x", Some(0)),
            ("a.z", None),
            ("b", None),
            ("b-ib1", Some(3)),
            ("c", Some(4)),
            ("c-hsn0", Some(5)),
            ("c-hsn1", Some(4)),
            ("twice", None),
        ] {
            assert_eq!(hosts.find(name), want, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_name_finds_its_slot(names in prop::collection::btree_set("[a-zA-Z0-9._-]{1,9}", 1..20)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let hosts = index(&names);
            for (slot, name) in names.iter().enumerate() {
                prop_assert_eq!(hosts.find(name), Some(slot));
            }
        }
    }
}
