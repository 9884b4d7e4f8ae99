//! What a launch has to know if the launcher placed the ranks before it: the rank order, and the host that each
//! rank was meant for.
//!
//! `rankweave run --place launcher` computes the rank order before the launch, and the launcher starts each rank on
//! its host. In such a launch the launcher rank of a process *is* its task, and the library gives no new ranks. The
//! command hands a value of this type over in the variable [`PLACED`]. With it the library checks where the
//! processes are, and makes a record that can be compared with other records: it has the places in the order in
//! which the launcher would have placed the ranks by itself, and the rank order beside them.
//!
//! The text has six parts with colons between them: version, hosts (a hash of each name), host of each rank,
//! process of each task, and the predicted hop-bytes of the launcher's order and of this one. Lists have runs:
//! `4-7` is `4,5,6,7`, and `2x3` is `2,2,2`. A text that begins with `@` is the name of a file with such a text.
//!
//! Limit: hosts are compared by the first part of their names. If a launcher knows some host by a name or an address
//! that the host itself does not use, the check compares only which ranks share a host.

use super::Message;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::base::hash::fnv1a;
use crate::base::host_name::short_name;
use crate::base::numbering::by_first_appearance;
use crate::base::permutation::is_permutation;
use crate::store::Placement;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The variable that hands the places over to the library.
pub const PLACED: &str = "RANKWEAVE_PLACED";

/// The version of the text.
const VERSION: &str = "1";
/// The longest text of a variable. The limit of Linux is 128 KiB for name and value.
pub const LONGEST: usize = 96 << 10;
/// The most bytes of a file with such a text.
const LARGEST: u64 = 256 << 20;
/// The most numbers in a list.
const MOST: usize = 1 << 21;

/// The places that the launcher was told to give to the ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRanks {
    /// A hash of the name of each host.
    hosts: Vec<u64>,
    /// The host of each rank, as an index of `hosts`.
    host_of_rank: Vec<u32>,
    /// The process of each task: its position in the launcher's own order.
    pub process_of_task: Vec<u32>,
    /// The predicted hop-bytes of the launcher's order and of this one.
    pub predicted: (u128, u128),
}

/// Where the ranks were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RanksFound {
    /// Every rank is on its host.
    AsMeant,
    /// Some are not.
    Elsewhere {
        /// How many.
        ranks: usize,
        /// The first of them.
        first: usize,
        /// The host that it is on.
        on: String,
        /// The host that it was meant for, if the job runs on that host.
        meant: Option<String>,
    },
}

/// The hash of a host name, without its domain and in lower case. Addresses are hashed as a whole.
fn hash_of(name: &str) -> u64 {
    fnv1a(short_name(name).as_bytes())
}

impl PlacedRanks {
    /// The places of a rank order. `node_of_process` is the node of each process in the launcher's order, and
    /// `names` are the names of the nodes.
    pub fn new(
        process_of_task: &[u32],
        node_of_process: &[u32],
        names: &[String],
        predicted: (u128, u128),
    ) -> PlacedRanks {
        let host = |&process: &u32| node_of_process.get(process as usize).copied().unwrap_or(0);
        PlacedRanks {
            hosts: names.iter().map(|name| hash_of(name)).collect(),
            host_of_rank: process_of_task.iter().map(host).collect(),
            process_of_task: process_of_task.to_vec(),
            predicted,
        }
    }

    /// The places that the environment of this process hands over; `None` if there are none. Errors: those of
    /// [`Self::parse`].
    pub fn of_this_process() -> Option<Result<PlacedRanks>> {
        let text = std::env::var_os(PLACED).filter(|text| !text.is_empty())?;
        Some(PlacedRanks::parse(&text.to_string_lossy()).map_err(|e| e.at(PLACED)))
    }

    /// The text of the variable.
    pub fn text(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(|hash| format!("{hash:x}")).collect();
        format!(
            "{VERSION}:{}:{}:{}:{}:{}",
            hosts.join(","),
            list_text(&self.host_of_rank),
            list_text(&self.process_of_task),
            self.predicted.0,
            self.predicted.1
        )
    }

    /// Reads the text of the variable, or of the file that it names.
    ///
    /// Errors: another version, a file that cannot be read, lists that do not fit together.
    pub fn parse(text: &str) -> Result<PlacedRanks> {
        match text.strip_prefix('@') {
            None => parse_text(text),
            Some(path) => {
                let failed = |e: std::io::Error| Error::io("cannot read", Path::new(path), &e);
                let bytes = file::read(Path::new(path), LARGEST).map_err(failed)?;
                parse_text(String::from_utf8_lossy(&bytes).trim_end())
            }
        }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.process_of_task.len()
    }

    /// Compares the places with those that were found. In `found`, processes have their launcher ranks.
    pub fn compare(&self, found: &Placement) -> RanksFound {
        let name = |node: u32| found.node_names.get(node as usize).map_or("", String::as_str);
        let actual: Vec<u64> = found.node_names.iter().map(|name| hash_of(name)).collect();
        let known: HashSet<u64> = self.hosts.iter().copied().collect();
        // If the launcher knows only some hosts by their own names, names say nothing about the others.
        let by_name = actual.iter().all(|hash| known.contains(hash));
        let mut node_of_host: HashMap<u32, u32> = HashMap::new();
        let mut host_of_node: HashMap<u32, u32> = HashMap::new();
        let is_wrong = |(&host, &node): (&u32, &u32)| match by_name {
            true => self.hosts.get(host as usize) != actual.get(node as usize),
            false => {
                *node_of_host.entry(host).or_insert(node) != node
                    || *host_of_node.entry(node).or_insert(host) != host
            }
        };
        let pairs = self.host_of_rank.iter().zip(&found.node_of_process);
        let wrong: Vec<bool> = pairs.map(is_wrong).collect();
        let Some(first) = wrong.iter().position(|&wrong| wrong) else { return RanksFound::AsMeant };
        let hash = self.hosts.get(self.host_of_rank[first] as usize);
        let meant = actual.iter().position(|a| Some(a) == hash).filter(|_| by_name);
        RanksFound::Elsewhere {
            ranks: wrong.iter().filter(|&&wrong| wrong).count(),
            first,
            on: name(found.node_of_process[first]).to_string(),
            meant: meant.map(|node| found.node_names[node].clone()),
        }
    }

    /// The places in the launcher's own order, of which the processes of `found` are a permutation.
    pub fn in_launchers_order(&self, found: &Placement) -> Placement {
        let processes = self.ranks();
        if found.node_of_process.len() != processes {
            return found.clone();
        }
        let mut rank_of_process = vec![0; processes];
        for (rank, &process) in self.process_of_task.iter().enumerate() {
            rank_of_process[process as usize] = rank;
        }
        let nodes = rank_of_process.iter().map(|&rank| found.node_of_process[rank]);
        let (node_of_process, numbers) = by_first_appearance(nodes);
        let name = |&node: &u32| found.node_names.get(node as usize).cloned().unwrap_or_default();
        let places = match found.place_of_process.len() == processes {
            true => rank_of_process.iter().map(|&r| found.place_of_process[r].clone()).collect(),
            false => Vec::new(),
        };
        Placement {
            node_of_process,
            node_names: numbers.iter().map(name).collect(),
            place_of_process: places,
            level_costs: found.level_costs.clone(),
            level_names: found.level_names.clone(),
            ..Placement::default()
        }
    }
}

impl RanksFound {
    /// The sentence for the record.
    pub fn sentence(&self) -> String {
        match self {
            RanksFound::AsMeant => "the launcher placed the ranks, each on its host".into(),
            RanksFound::Elsewhere { .. } => self.problem(),
        }
    }

    fn problem(&self) -> String {
        match self {
            RanksFound::AsMeant => String::new(),
            RanksFound::Elsewhere { ranks, first, on, meant } => {
                let instead =
                    meant.as_ref().map(|m| format!(" instead of {m}")).unwrap_or_default();
                let (ranks, run, they_were) = match ranks {
                    1 => ("1 rank".to_string(), "runs", "it was"),
                    n => (format!("{n} ranks"), "run", "they were"),
                };
                format!(
                    "{ranks} {run} on another host than {they_were} meant for (rank {first} is on {on}{instead})"
                )
            }
        }
    }

    /// The message for the user; `None` if every rank is on its host.
    pub fn message(&self) -> Option<Message> {
        (*self != RanksFound::AsMeant).then(|| {
            Message::new(self.problem())
                .meaning("this launch goes on there, and counts as one in the launcher's order")
                .advice("use --place library")
        })
    }
}

/// A list with its runs.
fn list_text(list: &[u32]) -> String {
    let mut parts = Vec::new();
    let mut rest = list;
    while let Some(&first) = rest.first() {
        let same = rest.iter().take_while(|&&n| n == first).count();
        let rising = (first..).zip(rest).take_while(|&(wanted, &n)| wanted == n).count();
        let length = match (same, rising) {
            (3.., _) => {
                parts.push(format!("{first}x{same}"));
                same
            }
            (_, 3..) => {
                parts.push(format!("{first}-{}", rest[rising - 1]));
                rising
            }
            _ => {
                parts.push(first.to_string());
                1
            }
        };
        rest = &rest[length..];
    }
    parts.join(",")
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Format, format!("the places of the ranks cannot be read: {what}"))
        .advise(format!("unset {PLACED}, or start the job with `rankweave run`"))
}

/// Reads what [`list_text`] wrote.
fn list_of(text: &str) -> Result<Vec<u32>> {
    let mut list: Vec<u32> = Vec::new();
    for part in text.split(',') {
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong("a list is damaged"));
        let (first, count, step) = if let Some((first, last)) = part.split_once('-') {
            let (first, last) = (number(first)?, number(last)?);
            (first, last.checked_sub(first).map(|d| d as usize + 1).unwrap_or(0), 1)
        } else if let Some((first, count)) = part.split_once('x') {
            (number(first)?, number(count)? as usize, 0)
        } else {
            (number(part)?, 1, 0)
        };
        if count == 0 || count > MOST - list.len() {
            return Err(wrong("a list is too long, or a range runs backwards"));
        }
        list.extend((0..count as u32).map(|k| first + k * step));
    }
    Ok(list)
}

fn parse_text(text: &str) -> Result<PlacedRanks> {
    let parts: Vec<&str> = text.split(':').collect();
    let [VERSION, hosts, host_of_rank, process_of_task, before, after] = parts[..] else {
        // The command and the library can be of different installations.
        return Err(wrong("they have another version, or parts are missing")
            .advise("start the job with a `rankweave` of the same version as the library"));
    };
    let hash = |text: &str| u64::from_str_radix(text, 16).map_err(|_| wrong("a host is damaged"));
    let cost = |text: &str| text.parse::<u128>().map_err(|_| wrong("a number is damaged"));
    let placed = PlacedRanks {
        hosts: hosts.split(',').map(hash).collect::<Result<_>>()?,
        host_of_rank: list_of(host_of_rank)?,
        process_of_task: list_of(process_of_task)?,
        predicted: (cost(before)?, cost(after)?),
    };
    let fits = placed.host_of_rank.len() == placed.process_of_task.len()
        && placed.host_of_rank.iter().all(|&host| (host as usize) < placed.hosts.len())
        && is_permutation(&placed.process_of_task);
    if fits { Ok(placed) } else { Err(wrong("its lists do not fit together")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| name.to_string()).collect()
    }

    fn placed() -> PlacedRanks {
        PlacedRanks::new(&[0, 2, 1, 3], &[0, 0, 1, 1], &names(&["n0", "n1.site"]), (9, 4))
    }

    #[test]
    fn the_text_can_be_read() {
        let text = placed().text();
        assert!(text.starts_with("1:") && text.ends_with(":0,1,0,1:0,2,1,3:9:4"), "{text}");
        assert_eq!(PlacedRanks::parse(&text).unwrap(), placed());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("placed");
        std::fs::write(&path, text + "\n").unwrap();
        assert_eq!(PlacedRanks::parse(&format!("@{}", path.display())).unwrap(), placed());
        assert_eq!(list_text(&[4, 5, 6, 7, 2, 2, 2, 9]), "4-7,2x3,9");
        for bad in ["", "2:1:0:0:1:1", "1:1:0,1:0:1:1", "1:1:1:0:1:1", "1:1:0x2:0,0:1:1", "@/none"]
        {
            assert!(PlacedRanks::parse(bad).is_err(), "{bad}");
        }
        assert!(list_of("0-4294967295").is_err() && list_of("1x4294967295").is_err());
    }

    #[test]
    fn ranks_on_other_hosts_are_found() {
        let at = |nodes: &[u32], hosts: &[&str]| {
            placed().compare(&Placement::of_nodes(nodes.to_vec(), names(hosts)))
        };
        assert_eq!(at(&[0, 1, 0, 1], &["n0.cluster", "N1"]), RanksFound::AsMeant);
        assert_eq!(at(&[0, 1, 0, 1], &["x", "y"]), RanksFound::AsMeant, "other names");
        let ignored = at(&[0, 0, 1, 1], &["n0", "n1"]);
        let RanksFound::Elsewhere { ranks: 2, first: 1, .. } = &ignored else {
            panic!("{ignored:?}")
        };
        let said = ignored.message().unwrap().to_string();
        assert!(said.contains("2 ranks run on another host"), "{said}");
        assert!(
            said.contains("(rank 1 is on n0 instead of n1); this launch goes on there"),
            "{said}"
        );
        assert!(matches!(at(&[0, 0, 1, 1], &["x", "y"]), RanksFound::Elsewhere { .. }));
        assert!(matches!(at(&[0, 1, 0, 1], &["n1", "n0"]), RanksFound::Elsewhere { ranks: 4, .. }));
    }

    #[test]
    fn hosts_known_by_address_are_compared_by_what_they_share() {
        let order =
            |hosts: &[&str]| PlacedRanks::new(&[0, 2, 1, 3], &[0, 0, 1, 1], &names(hosts), (9, 4));
        let at = |meant: &[&str], nodes: &[u32], found: &[&str]| {
            order(meant).compare(&Placement::of_nodes(nodes.to_vec(), names(found)))
        };
        // One host by its address, the other by its name.
        let mixed = ["10.0.0.1", "n1"];
        assert_eq!(at(&mixed, &[0, 1, 0, 1], &["n0", "n1"]), RanksFound::AsMeant);
        assert!(matches!(at(&mixed, &[0, 0, 1, 1], &["n0", "n1"]), RanksFound::Elsewhere { .. }));
        // Addresses with the same first part are different hosts.
        let both = ["10.0.0.1", "10.0.0.2"];
        assert_eq!(at(&both, &[0, 1, 0, 1], &both), RanksFound::AsMeant);
        assert!(matches!(at(&both, &[0, 0, 1, 1], &both), RanksFound::Elsewhere { .. }));
        // All ranks on one of the hosts.
        assert!(matches!(
            at(&["n0", "n1"], &[0; 4], &["n0"]),
            RanksFound::Elsewhere { ranks: 2, .. }
        ));
    }

    #[test]
    fn places_go_back_to_the_launchers_order() {
        let mut found = Placement::of_nodes(vec![0, 1, 0, 1], names(&["n0", "n1"]));
        found.place_of_process = vec![vec![0], vec![5], vec![1], vec![6]];
        let order = placed().in_launchers_order(&found);
        assert_eq!(order.node_of_process, [0, 0, 1, 1]);
        assert_eq!(order.place_of_process, [[0], [1], [5], [6]]);
        assert_eq!(order.node_names, ["n0", "n1"]);
    }

    proptest! {
        #[test]
        fn any_order_comes_back(order in Just((0u32..40).collect::<Vec<_>>()).prop_shuffle(),
                                nodes in prop::collection::vec(0u32..4, 40)) {
            let names: Vec<String> = (0..4).map(|n| format!("n{n}")).collect();
            let placed = PlacedRanks::new(&order, &nodes, &names, (7, 3));
            prop_assert_eq!(PlacedRanks::parse(&placed.text()).unwrap(), placed.clone());
            let there: Vec<u32> = order.iter().map(|&p| nodes[p as usize]).collect();
            let found = Placement::of_nodes(there, names.clone());
            prop_assert_eq!(placed.compare(&found), RanksFound::AsMeant);
            let back = placed.in_launchers_order(&found);
            let of = |p: &Placement, k: usize| p.node_names[p.node_of_process[k] as usize].clone();
            for (k, &node) in nodes.iter().enumerate() {
                prop_assert_eq!(of(&back, k), names[node as usize].clone());
            }
        }

        #[test]
        fn any_text_is_survived(text in "[0-9a-fx,:@-]{0,60}") {
            let _ = PlacedRanks::parse(&text);
        }
    }
}
