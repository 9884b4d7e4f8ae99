//! The description of the cluster in the site file.

use super::description::Description;
use super::name_pattern::NamePattern;
use super::site_file::Cluster;
use super::source::{Answer, Source, Surroundings};
use super::tree_of_names::tree_of_names;
use super::{Host, HostNetwork};
use crate::base::error::{Error, Result};
use crate::topology::{self, Grid, HostIndex, expand_hostlist};
use std::path::Path;
use std::sync::Arc;

/// The site file.
pub struct Site;

impl Source for Site {
    fn name(&self) -> &'static str {
        "site"
    }

    fn needs(&self) -> &'static str {
        "describe the cluster in /etc/rankweave.toml (docs/topologies.md, \"Site file\"), or name a file with --site"
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        let Some((file, path)) = surroundings.site.first()? else {
            return Ok(Answer::Nothing("there is no site file".into()));
        };
        let here = path.display().to_string();
        for cluster in &file.cluster {
            let Some(hosts) = own_hosts(cluster, surroundings.hosts)? else { continue };
            let network = network(cluster, &hosts, surroundings, path);
            let network = network.map_err(|error| with_file(error, &here))?;
            return Ok(match network {
                Some(network) => Answer::Network(HostNetwork { origin: here, ..network }),
                None => Answer::Nothing(format!("{here} describes none of the nodes")),
            });
        }
        Ok(Answer::Nothing(format!("{here} describes none of the nodes")))
    }
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

fn network(
    cluster: &Cluster,
    hosts: &[Host],
    surroundings: &Surroundings,
    site_file: &Path,
) -> Result<Option<HostNetwork>> {
    let origin = String::new();
    if let Some(text) = &cluster.topology {
        let file = site_file.parent().unwrap_or(Path::new("/")).join(text);
        // Relative names begin at the site file.
        let description = match topology::is_description(text) {
            true => Description::Text(text),
            false => Description::File(&file),
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
fn on_torus(
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
