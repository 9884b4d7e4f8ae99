//! The description of the cluster in the site file.

use super::description::Description;
use super::joined::joined;
use super::name_pattern::NamePattern;
use super::site_file::Cluster;
use super::source::{Answer, Source, Surroundings};
use super::tree_of_names::tree_of_names;
use super::{Host, HostNetwork};
use crate::base::error::{Error, Result};
use crate::topology::{self, Grid, HostIndex, expand_hostlist};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The site file.
pub struct Site;

impl Source for Site {
    fn name(&self) -> &'static str {
        "site"
    }

    fn needs(&self) -> &'static str {
        "describe the cluster in /etc/rankweave.toml ('rankweave env --help' shows its form), or name a file with --site"
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        let Some((file, path)) = surroundings.site.first()? else {
            return Ok(Answer::Nothing("there is no site file".into()));
        };
        let here = path.display().to_string();
        let hosts = surroundings.hosts;
        let mut parts: Vec<HostNetwork> = Vec::new();
        let mut reasons: Vec<String> = Vec::new();
        for (k, cluster) in file.cluster.iter().enumerate() {
            let left = not_in(&parts, hosts);
            if left.iter().all(|host| host.name.is_empty()) {
                break;
            }
            let Some(own) = own_hosts(cluster, &left)? else { continue };
            match network(cluster, &own, surroundings, path) {
                Ok(Some(network)) => parts.push(network),
                Ok(None) => reasons.extend(why_none(cluster, k + 1)),
                // What other clusters say is used all the same.
                Err(error) if !parts.is_empty() => {
                    reasons.push(format!(
                        "[[cluster]] {} cannot be used: {}",
                        k + 1,
                        error.problem()
                    ));
                }
                Err(error) => return Err(with_file(error, &here)),
            }
        }
        let lost: Vec<String> = not_in(&parts, hosts)
            .into_iter()
            .map(|host| host.name)
            .filter(|n| !n.is_empty())
            .collect();
        let Some(mut network) = joined(parts, hosts) else {
            let reasons: String = reasons.iter().map(|reason| format!("; {reason}")).collect();
            return Ok(Answer::Nothing(format!("{here} describes none of the nodes{reasons}")));
        };
        if !lost.is_empty() {
            reasons.insert(0, format!("no [[cluster]] describes {}", listed(&lost)));
            let before = Some(network.remark).filter(|remark| !remark.is_empty());
            network.remark = before.into_iter().chain(reasons).collect::<Vec<_>>().join("; ");
        }
        Ok(Answer::Network(HostNetwork { origin: here, ..network }))
    }
}

/// The nodes that no part has; the others have empty names.
fn not_in(parts: &[HostNetwork], hosts: &[Host]) -> Vec<Host> {
    let known = |node: usize| parts.iter().any(|part| part.host_of_node[node].is_some());
    let left =
        |(node, host): (usize, &Host)| if known(node) { Host::default() } else { host.clone() };
    hosts.iter().enumerate().map(left).collect()
}

/// Names in a message; more are counted.
const LISTED: usize = 4;

pub(super) fn listed(names: &[String]) -> String {
    match names.len() - names.len().min(LISTED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..LISTED].join(", ")),
    }
}

/// Why a cluster has none of the nodes, where more can be said than that it does not name them. `number` is its place in
/// the file, from 1.
fn why_none(cluster: &Cluster, number: usize) -> Option<String> {
    let text = cluster.topology.as_deref().filter(|text| topology::is_description(text))?;
    let unnamed = topology::parse(text).ok()?.slot_name(0).is_none();
    let size = text
        .trim()
        .strip_prefix("torus:")
        .map_or("the size", |size| size.split(['@', ',']).next().unwrap_or(size));
    unnamed.then(|| {
        format!(
            "[[cluster]] {number}: topology = \"{text}\" names no hosts, so that no node is found in it (try: instead of \
             topology, the pattern of the host names, such as names = \"x{{}}y{{}}\", with torus = \"{size}\" if the \
             numbers are coordinates)"
        )
    })
}

/// The nodes of the launch, with empty names for those that are not in the list of the cluster. `None` if none is.
fn own_hosts(cluster: &Cluster, hosts: &[Host]) -> Result<Option<Vec<Host>>> {
    let Some(list) = &cluster.nodes else { return Ok(Some(hosts.to_vec())) };
    let names = expand_hostlist(list)?;
    let index = HostIndex::of_names(names.iter().map(String::as_str).zip(0..));
    let is_own = |host: &Host| index.find(&host.name).is_some();
    let own = |host: &Host| if is_own(host) { host.clone() } else { Host::default() };
    Ok(hosts.iter().any(is_own).then(|| hosts.iter().map(own).collect()))
}

/// What `topology` of a cluster names. Relative names of files begin at the folder of the site file.
pub(super) enum Named {
    /// As `--topology` takes it.
    Text(String),
    /// A file whose kind is recognised by its content.
    File(PathBuf),
}

impl Named {
    pub(super) fn of(text: &str, site_file: &Path) -> Named {
        let full = std::path::absolute(site_file).unwrap_or_else(|_| site_file.into());
        let folder = full.parent().unwrap_or(Path::new("/"));
        match topology::is_description(text) {
            true => Named::Text(topology::in_folder(text, folder)),
            false => Named::File(folder.join(text.trim_start_matches("./"))),
        }
    }
}

fn network(
    cluster: &Cluster,
    hosts: &[Host],
    surroundings: &Surroundings,
    site_file: &Path,
) -> Result<Option<HostNetwork>> {
    let origin = String::new();
    if let Some(text) = &cluster.topology {
        let named = Named::of(text, site_file);
        let description = match &named {
            Named::Text(text) => Description::Text(text),
            Named::File(file) => Description::File(file),
        };
        return description.network(hosts, surroundings, origin);
    }
    let Some(names) = &cluster.names else { return Ok(None) };
    let pattern = NamePattern::parse(names)?;
    let read = |host: &Host| pattern.read(&host.name).or_else(|| pattern.read(&host.position));
    let numbers: Vec<Option<Vec<u64>>> = hosts.iter().map(read).collect();
    if let Some(dims) = cluster.dims() {
        return on_torus(&dims, &numbers, names);
    }
    let path = |numbers: &Option<Vec<u64>>| {
        let (_, switches) = numbers.as_ref()?.split_last()?;
        Some(switches.iter().map(u64::to_string).collect())
    };
    let paths: Vec<Option<Vec<String>>> = numbers.iter().map(path).collect();
    Ok(tree_of_names(surroundings.hosts, &paths, origin))
}

/// Nodes whose names have the coordinates in a torus.
pub(super) fn on_torus(
    dims: &[usize],
    numbers: &[Option<Vec<u64>>],
    names: &str,
) -> Result<Option<HostNetwork>> {
    let Some(grid) = Grid::torus(dims) else { return Ok(None) };
    // Sites count their coordinates from 0 or from 1.
    let fits = |base: u64| {
        let inside = |(&n, &side): (&u64, &usize)| n >= base && n - base < side as u64;
        numbers.iter().flatten().all(|point| point.iter().zip(dims).all(inside))
    };
    let Some(base) = [0, 1].into_iter().find(|&base| fits(base)) else {
        let what = format!("the names '{names}' have coordinates outside of the torus");
        return Err(Error::new(crate::ErrorKind::Format, what)
            .advise("write the size of the whole torus, such as torus = \"8x8x16\""));
    };
    let slot = |point: &Vec<u64>| {
        point.iter().zip(dims).fold(0, |slot, (&n, &side)| slot * side + (n - base) as usize)
    };
    let host_of_node: Vec<Option<usize>> =
        numbers.iter().map(|point| point.as_ref().map(slot)).collect();
    if host_of_node.iter().all(Option::is_none) {
        return Ok(None);
    }
    Ok(Some(HostNetwork {
        topology: Arc::new(grid),
        host_of_node,
        origin: String::new(),
        remark: String::new(),
    }))
}

fn with_file(error: Error, file: &str) -> Error {
    let inner = error.place().map_or(String::new(), |place| format!(", {place}"));
    error.at(format!("{file}{inner}"))
}
