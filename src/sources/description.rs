//! A description of a network in a file, and what it says about the hosts of a launch.
//!
//! Reading the description of a large fabric takes longer than all else at the start of a launch. What it says about
//! the hosts of the launch is therefore kept in the store, and later launches on the same hosts read the answer
//! ([`KeptNetwork`]). A launch uses the part of the network with its hosts also when it reads the whole description, so
//! that both see the same network.
//!
//! Small files are read each time: that is as fast. Networks of which no part can be made are read each time, too.

use super::source::Surroundings;
use super::{Host, HostNetwork};
use crate::base::clock::since_1970;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file::FileIdentity;
use crate::store::{KeptNetwork, NetworkQuestion, Store};
use crate::topology::{self, NetworkPart, READERS, Topology};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Files of fewer bytes are read each time.
const LARGE: u64 = 32 << 10;
/// Seconds that a file has to be unchanged until an answer about it is kept.
const SETTLED: i64 = 2;

/// A description.
#[derive(Debug, Clone, Copy)]
pub(super) enum Description<'a> {
    /// A file whose kind is recognised by its content.
    File(&'a Path),
    /// As `--topology` takes it: `slurm:/etc/slurm/topology.conf`, `torus:8x8x8`.
    Text(&'a str),
}

impl Description<'_> {
    /// The network of these hosts. `None` if the description names none of them. `origin` says where the description
    /// is, as a user knows it.
    ///
    /// Errors: a file that cannot be read or is of no known kind.
    pub(super) fn network(
        self,
        hosts: &[Host],
        surroundings: &Surroundings,
        origin: String,
    ) -> Result<Option<HostNetwork>> {
        let question = self.question(hosts, surroundings);
        let store = surroundings.store;
        let kept = question.as_ref().zip(store).and_then(|(q, s)| s.kept_network(q).ok().flatten());
        if let Some((question, kept)) = question.as_ref().zip(kept)
            && let Some(network) = of_kept(&kept, question, hosts, &origin)
        {
            return Ok(network);
        }
        let whole = HostNetwork::by_name(self.read(surroundings)?.into(), hosts, origin);
        if whole.known() == 0 && whole.topology.nameless() {
            return Err(nameless(&whole.topology.name()));
        }
        let Some(question) = question else { return Ok(Some(whole).filter(|w| w.known() > 0)) };
        let Some(kept) = part(&whole, hosts, &question) else {
            return Ok(Some(whole));
        };
        if let Some(store) = store {
            self.keep(store, &question, &kept);
        }
        Ok(of_kept(&kept, &question, hosts, &whole.origin).unwrap_or(Some(whole)))
    }

    fn read(self, surroundings: &Surroundings) -> Result<Box<dyn Topology>> {
        match self {
            Description::Text(text) => topology::parse_for(text, &surroundings.names()),
            Description::File(file) => {
                topology::read_fabric_of(&file.display().to_string(), &surroundings.names())
            }
        }
    }

    /// The file of the description, if it has one.
    fn file(self) -> Option<PathBuf> {
        let file = match self {
            Description::File(file) => file,
            Description::Text(text) => Path::new(text.trim().split_once(':')?.1.trim()),
        };
        std::path::absolute(file).ok()
    }

    /// What is asked of the description; `None` if it is no large file.
    fn question(self, hosts: &[Host], surroundings: &Surroundings) -> Option<NetworkQuestion> {
        let file = self.file()?;
        let identity = FileIdentity::of(&file).ok().filter(|identity| identity.size >= LARGE)?;
        let kind = match self {
            Description::File(_) => "",
            Description::Text(text) => text.split_once(':').map_or("", |(kind, _)| kind),
        };
        let mut asked: Vec<String> = hosts.iter().map(name_of).collect();
        // Names that only some readers look at.
        asked.extend(surroundings.names().into_iter().map(|name| format!("?{name}")));
        asked.sort_unstable();
        asked.dedup();
        Some(NetworkQuestion {
            description: format!("{kind}:{}", file.display()),
            file: identity,
            readers: format!("{} {READERS}", env!("CARGO_PKG_VERSION")),
            hosts: asked,
        })
    }

    /// Keeps an answer for later launches, if the file is still the one that was read. If the store refuses it, they
    /// read the description themselves.
    fn keep(self, store: &Store, question: &NetworkQuestion, kept: &KeptNetwork) {
        let same = self.file().and_then(|file| FileIdentity::of(&file).ok());
        let is_same = same.is_some_and(|identity| identity == question.file);
        if is_same && question.file.is_settled(since_1970().as_secs(), SETTLED) {
            let _ = store.keep_network(question, kept);
        }
    }
}

/// Why no node of a launch is found in a fabric whose adapters have no names of hosts.
pub fn nameless(description: &str) -> Error {
    let what = "no host is named: the adapters have no description, or only that of their firmware, so that the nodes \
                of a launch cannot be found in this fabric";
    Error::new(ErrorKind::Infeasible, what).at(description).advise(
        "let the nodes describe their adapters (rdma-ndd, which writes 'HOST DEVICE'), or give the names with \
         'ibnetdiscover --node-name-map FILE', and save its output again; 'rankweave topo --topology' shows the \
         structure of the file as it is",
    )
}

/// All that a host is looked for by.
fn name_of(host: &Host) -> String {
    format!("{}\n{}", host.name, host.position)
}

/// The answer that is kept; `None` if the network has no part.
fn part(whole: &HostNetwork, hosts: &[Host], question: &NetworkQuestion) -> Option<KeptNetwork> {
    let slots: HashMap<String, usize> = (hosts.iter().map(name_of))
        .zip(&whole.host_of_node)
        .filter_map(|(name, slot)| Some((name, (*slot)?)))
        .collect();
    // Two hosts may be found in one slot.
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    let mut kept_slots = Vec::new();
    let mut number = |name: &String| {
        let slot = *slots.get(name)?;
        Some(*numbers.entry(slot).or_insert_with(|| {
            kept_slots.push(slot);
            kept_slots.len() as u32 - 1
        }))
    };
    let number_of_host: Vec<Option<u32>> = question.hosts.iter().map(&mut number).collect();
    let part = match kept_slots.is_empty() {
        true => None,
        false => Some(NetworkPart::of(whole.topology.as_ref(), &kept_slots)?),
    };
    Some(KeptNetwork { number_of_host, part, remark: whole.remark.clone() })
}

/// The network of the hosts in a kept answer: `Some(None)` if it has none of them, `None` if the answer cannot be
/// used.
fn of_kept(
    kept: &KeptNetwork,
    question: &NetworkQuestion,
    hosts: &[Host],
    origin: &str,
) -> Option<Option<HostNetwork>> {
    let Some(part) = &kept.part else { return Some(None) };
    let (topology, slots) = part.build()?;
    let numbers: HashMap<&str, Option<u32>> = question
        .hosts
        .iter()
        .map(String::as_str)
        .zip(kept.number_of_host.iter().copied())
        .collect();
    let slot = |host: &Host| {
        let number = numbers.get(name_of(host).as_str()).copied().flatten();
        match number {
            None => Some(None),
            Some(number) => slots.get(number as usize).map(|&slot| Some(slot)),
        }
    };
    let host_of_node: Option<Vec<Option<usize>>> = hosts.iter().map(slot).collect();
    let host_of_node = host_of_node?;
    let remark = kept.remark.clone();
    Some(Some(HostNetwork { topology, host_of_node, origin: origin.into(), remark }))
}
