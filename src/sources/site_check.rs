//! What is wrong in a site file: all mistakes at once, each with its line, for `rankweave env --check`.
//!
//! A launch reads the same sections in [`super::site_file`]; it stops at the first mistake, and looks only for its own
//! nodes. Here the descriptions that the clusters name are read, and the hosts of the clusters are looked for in them.
//!
//! Limit: a pattern of names can be meant for the physical positions of the nodes, which only the nodes know.

use super::name_pattern::NamePattern;
use super::site::{Named, on_torus};
use super::site_file::{Cluster, MEASURE, wrong};
use super::{Host, HostNetwork};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::{are, counted};
use crate::topology::{self, expand_hostlist};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What was found in a site file.
#[derive(Debug, Default)]
pub struct CheckedSite {
    /// The number of `[[cluster]]`.
    pub clusters: usize,
    /// The mistakes in the order of the file, each with its line.
    pub mistakes: Vec<(usize, Error)>,
}

/// Checks all but the settings in the text of a site file. The relative names in it begin at the folder of `path`.
pub fn check_site_file(path: &Path, text: &str) -> CheckedSite {
    let line = |at: usize| 1 + text.get(..at).unwrap_or_default().matches('\n').count();
    let mut found = CheckedSite::default();
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            let at = error.span().map_or(1, |span| line(span.start));
            found.mistakes.push((at, wrong(error.message().to_string())));
            return found;
        }
    };
    for (key, value) in &table {
        let mut add = |error: Error| found.mistakes.push((line(key.span().start), error));
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("settings", DeValue::Table(_)) => {}
            ("settings", _) => add(wrong("settings is not a section: write [settings]".into())),
            ("measure", DeValue::String(word)) if MEASURE.contains(&word.as_ref()) => {}
            ("measure", _) => {
                let what = "measure is not \"auto\", \"on\" or \"off\"";
                add(wrong(what.into()).advise("write measure = \"auto\""));
            }
            ("cluster", DeValue::Array(all)) => {
                for (k, cluster) in all.iter().enumerate() {
                    let start = line(cluster.span().start);
                    let mistakes = of_cluster(cluster, path);
                    found.mistakes.extend(mistakes.into_iter().map(|(at, error)| {
                        let number = format!("[[cluster]] {}", k + 1);
                        let place =
                            error.place().map_or(number.clone(), |p| format!("{number}, {p}"));
                        (at.map_or(start, line), error.at(place))
                    }));
                }
                found.clusters = all.iter().count();
            }
            ("cluster", _) => {
                add(wrong("cluster is not a list of sections: write [[cluster]]".into()))
            }
            (other, _) => add(wrong(format!(
                "there is no '{other}' in a site file, which has measure, [settings] and [[cluster]]"
            ))),
        }
    }
    found.mistakes.sort_by_key(|(line, _)| *line);
    found
}

/// The mistakes of one cluster, each with the place of the key that it is about; `None`: the cluster as a whole.
fn of_cluster(value: &Spanned<DeValue>, path: &Path) -> Vec<(Option<usize>, Error)> {
    let DeValue::Table(table) = value.get_ref() else {
        return vec![(None, wrong("it is no section: write [[cluster]]".into()))];
    };
    let mut mistakes = Vec::new();
    let mut cluster = Cluster::default();
    for (key, value) in table {
        let field = match key.get_ref().as_ref() {
            "nodes" => &mut cluster.nodes,
            "topology" => &mut cluster.topology,
            "names" => &mut cluster.names,
            "torus" => &mut cluster.torus,
            other => {
                let what =
                    format!("there is no '{other}' here: use nodes, topology, names or torus");
                mistakes.push((Some(key.span().start), wrong(what)));
                continue;
            }
        };
        match value.get_ref() {
            DeValue::String(text) => *field = Some(text.to_string()),
            _ => {
                let what = format!("{} is not text in quotes", key.get_ref());
                mistakes.push((Some(key.span().start), wrong(what)));
            }
        }
    }
    let at = |key: &str| {
        table.iter().find(|(known, _)| known.get_ref() == key).map(|(key, _)| key.span().start)
    };
    if mistakes.is_empty() {
        let found = cluster.mistakes();
        let deep = if found.is_empty() { of_description(&cluster, path) } else { Vec::new() };
        mistakes.extend(found.into_iter().chain(deep).map(|(key, error)| (at(key), error)));
    }
    mistakes
}

/// The mistakes in what a cluster names: its description, and its hosts in the description.
fn of_description(cluster: &Cluster, path: &Path) -> Vec<(&'static str, Error)> {
    let names = cluster.nodes.as_deref().and_then(|list| expand_hostlist(list).ok());
    let hosts: Vec<Host> = names.iter().flatten().map(|name| Host::named(name)).collect();
    let found = match (&cluster.topology, &cluster.names) {
        (Some(text), _) => of_topology(text, &hosts, path).map_err(|error| ("topology", error)),
        (None, Some(pattern)) => of_pattern(cluster, pattern, &hosts),
        (None, None) => Ok(()),
    };
    match found {
        Ok(()) => Vec::new(),
        Err((key, error)) if error.kind() == ErrorKind::NotFound => vec![("nodes", error.at(key))],
        Err(mistake) => vec![mistake],
    }
}

/// Reads a description, and looks for the hosts in it. Errors: it cannot be read, it names no hosts, or it lacks some
/// of these (of the kind `NotFound`).
fn of_topology(text: &str, hosts: &[Host], path: &Path) -> Result<()> {
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    let topology = match Named::of(text, path) {
        Named::Text(text) => topology::parse_for(&text, &names)?,
        Named::File(file) => topology::read_fabric_of(&file.display().to_string(), &names)?,
    };
    if topology.nameless() {
        return Err(super::nameless(text));
    }
    if topology.slot_name(0).is_none() {
        let what = format!("the topology {text} names no hosts, so that no node is found in it");
        return Err(wrong(what).advise(
            "instead of topology, give the pattern of the host names, such as names = \"x{}y{}\", with torus = \
             \"8x8\" if the numbers are coordinates",
        ));
    }
    let network = HostNetwork::by_name(topology.into(), hosts, String::new());
    missing(hosts, |k| network.host_of_node[k].is_some(), &format!("the topology {text}"))
}

/// The error that some hosts are not in a description.
fn missing(hosts: &[Host], is_there: impl Fn(usize) -> bool, where_not: &str) -> Result<()> {
    let lost: Vec<String> =
        (0..hosts.len()).filter(|&k| !is_there(k)).map(|k| hosts[k].name.clone()).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let what = format!(
        "{} of its {} {} not in {where_not}: {}",
        lost.len(),
        counted(hosts.len(), "node"),
        are(lost.len()),
        super::site::listed(&lost)
    );
    Err(Error::new(ErrorKind::NotFound, what)
        .advise("correct the list of nodes, or the description"))
}

/// Reads the names of the hosts by the pattern.
fn of_pattern(
    cluster: &Cluster,
    pattern: &str,
    hosts: &[Host],
) -> std::result::Result<(), (&'static str, Error)> {
    let read = NamePattern::parse(pattern).map_err(|error| ("names", error))?;
    let numbers: Vec<Option<Vec<u64>>> = hosts.iter().map(|host| read.read(&host.name)).collect();
    // The physical positions of nodes begin with this letter.
    let of_positions = pattern.starts_with('x') && numbers.iter().all(Option::is_none);
    if !of_positions {
        let where_not = format!("the names '{pattern}'");
        missing(hosts, |k| numbers[k].is_some(), &where_not).map_err(|error| ("names", error))?;
    }
    if let Some(dims) = cluster.dims() {
        on_torus(&dims, &numbers, pattern).map_err(|error| ("torus", error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn mistakes(path: &Path, text: &str) -> Vec<(usize, String)> {
        let found = check_site_file(path, text).mistakes;
        found.into_iter().map(|(line, error)| (line, error.advised().to_string())).collect()
    }

    #[test]
    fn a_right_file_has_no_mistake() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.toml");
        fs::create_dir(folder.path().join("net")).unwrap();
        fs::write(folder.path().join("net/t.conf"), "SwitchName=s0 Nodes=n[1-4]\n").unwrap();
        fs::write(folder.path().join("cables.txt"), "s0 m1\ns0 m2\n").unwrap();
        let text = "measure = \"off\"\n[settings]\nverbose = 1\n\
                    [[cluster]]\nnodes = \"n[1-4]\"\ntopology = \"slurm:net/t.conf\"\n\
                    [[cluster]]\nnodes = \"m[1-2]\"\ntopology = \"cables.txt\"\n\
                    [[cluster]]\nnodes = \"x[0-1]y[0-1]\"\nnames = \"x{}y{}\"\ntorus = \"2x2\"\n\
                    [[cluster]]\nnames = \"r{}n{}\"\n";
        let found = check_site_file(&path, text);
        assert_eq!((found.clusters, found.mistakes.len()), (4, 0), "{:?}", found.mistakes);
    }

    #[test]
    fn every_mistake_has_its_line_and_advice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.toml");
        fs::write(folder.path().join("t.conf"), "SwitchName=s0 Nodes=n[1-4]\n").unwrap();
        fs::write(folder.path().join("bad.conf"), "SwitchName=s0 Switches=s9\n").unwrap();
        let text = "measure = \"maybe\"\nmesure = 1\n\
                    [[cluster]]\nnodes = \"n[1-6]\"\ntopology = \"slurm:t.conf\"\n\
                    [[cluster]]\nnodes = \"n[1-\"\ntopologie = \"x\"\n\
                    [[cluster]]\n\ntopology = \"slurm:none.conf\"\n\
                    [[cluster]]\ntopology = \"slurm:bad.conf\"\n\
                    [[cluster]]\ntopology = \"torus:2x2\"\n\
                    [[cluster]]\nnodes = \"x[0-9]y0\"\nnames = \"x{}y{}\"\ntorus = \"2x2\"\n\
                    [[cluster]]\nnodes = \"a[1-3]\"\nnames = \"r{}n{}\"\n\
                    [[cluster]]\nnodes = \"b[\"\nnames = \"n{}\"\n\
                    [[cluster]]\nnodes = 5\n";
        let found = mistakes(&path, text);
        let wanted = [
            (1, "measure is not"),
            (2, "no 'mesure'"),
            (4, "2 of its 6 nodes are not in the topology slurm:t.conf: n5, n6"),
            (8, "no 'topologie'"),
            (11, "none.conf"),
            (13, "bad.conf"),
            (15, "names no hosts"),
            (19, "outside of the torus"),
            (21, "3 of its 3 nodes are not in the names 'r{}n{}'"),
            (24, "host list"),
            (25, "at least two"),
            (27, "not text in quotes"),
        ];
        assert_eq!(found.len(), wanted.len(), "{found:#?}");
        for ((line, said), (at, what)) in found.iter().zip(wanted) {
            assert!(
                *line == at && said.contains(what) && said.contains("try:"),
                "{at} {what}: {line} {said}"
            );
        }
        assert!(found[2].1.contains("[[cluster]] 1"), "{}", found[2].1);
    }

    #[test]
    fn what_is_no_site_file() {
        let of = |text: &str| mistakes(Path::new("/x/site.toml"), text);
        assert_eq!(of("a = \n")[0].0, 1);
        assert!(of("cluster = 1\n")[0].1.contains("[[cluster]]"));
        assert!(of("settings = 1\n")[0].1.contains("[settings]"));
        assert!(of("cluster = [1]\n")[0].1.contains("no section"));
        assert!(of("").is_empty());
    }
}
