//! Reads a file that describes the network of hosts, of any kind, and finds the kind by the content.
//!
//! A site names the file of its network, and not its kind. The name of the file decides nothing, so that a copy under
//! another name is read in the same way.

use super::infiniband::{self, Dialect};
use super::{
    cabling, flux_resources, graph_file, ib_ports, in_file, pbs_nodes, read_text, simgrid, slurm,
    topograph,
};
use crate::topology::xml::root_element;
use crate::topology::{DistanceMatrix, Topology};
use crate::{Error, ErrorKind, Result};

/// The kinds of files that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Simgrid,
    Infiniband(Dialect),
    /// `topology.conf`.
    SlurmConf,
    /// YAML and JSON of Slurm and topograph.
    Yaml,
    PbsNodes,
    FluxResources,
    Graph,
    Distances,
    Cabling,
}

/// Reads the description of a network of hosts: files of `ibnetdiscover`, ibsim, Slurm, topograph, PBS, Flux and SimGrid,
/// lists of cables, graphs of METIS and tables of distances, recognised by their content. Slots are hosts; their names are those
/// of [`Topology::slot_name`].
///
/// Errors: a file that cannot be read or is none of these. The kind of the error is [`ErrorKind::NotFound`] if the
/// file says that the network is flat.
pub fn read_fabric(path: &str) -> Result<Box<dyn Topology>> {
    read_fabric_of(path, &[])
}

/// As [`read_fabric`], for a caller that looks for certain hosts. They count where the file names no hosts: in a list of
/// routers, hosts are attached whose names tell their router, and a flat network has these hosts. Of a fabric in several
/// parts that no link connects, the part with most of them is read; without them, the part with most hosts
/// ([`Topology::left_out`]).
pub fn read_fabric_of(path: &str, hosts: &[String]) -> Result<Box<dyn Topology>> {
    let text = read_text(path)?;
    let kind = kind_of(&text).map_err(|e| in_file(e, path))?;
    match kind {
        Kind::Simgrid => simgrid::of_text(&text, path),
        Kind::Infiniband(dialect) => infiniband::of_text(&text, path, dialect, hosts),
        Kind::SlurmConf => slurm::parse_conf(&text)
            .and_then(|layout| layout.build(format!("slurm:{path}"), hosts))
            .map_err(|e| in_file(e, path)),
        Kind::Yaml => topograph::of_text(&text, path, hosts),
        Kind::PbsNodes => pbs_nodes::of_text(&text, path),
        Kind::FluxResources => flux_resources::of_text(&text, path),
        Kind::Graph => graph_file::of_text(&text, path),
        Kind::Distances => {
            let matrix = DistanceMatrix::parse(&text).map_err(|e| in_file(e, path))?;
            Ok(Box::new(matrix.with_label(format!("dist:{path}"))))
        }
        Kind::Cabling => cabling::of_text(&text, path, hosts),
    }
}

/// Lines at the beginning of a text that are looked at.
const LINES: usize = 2000;

fn kind_of(text: &str) -> Result<Kind> {
    let refuse = |what: &str| Err(Error::new(ErrorKind::Format, what));
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match root_element(text) {
        Some("platform") => return Ok(Kind::Simgrid),
        Some("topology") => {
            return refuse("the file describes one machine and no network; hwloc: reads it");
        }
        Some("system") => {
            return refuse("the file describes the devices of one GPU system and no network");
        }
        Some(other) => {
            return Err(Error::new(
                ErrorKind::Format,
                format!("XML files with <{other}> are not read"),
            ));
        }
        None => {}
    }
    if text.contains('\0') {
        return refuse("the file is not text");
    }
    if pbs_nodes::is_listing(text) {
        return Ok(Kind::PbsNodes);
    }
    if flux_resources::is_resource_set(text) {
        return Ok(Kind::FluxResources);
    }
    if ib_ports::is_report(text) {
        return Ok(Kind::Infiniband(Dialect::Ibnetdiscover));
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
    if let Some(dialect) = infiniband_dialect(lines()) {
        return Ok(Kind::Infiniband(dialect));
    }
    if topograph::is_conf(text) {
        return Ok(Kind::SlurmConf);
    }
    let content = || lines().filter(|line| !line.starts_with(['#', '%']));
    match content().next() {
        None => return refuse("the file is empty or has only comments"),
        Some(first) if is_yaml(first) => return Ok(Kind::Yaml),
        _ => {}
    }
    if content().all(is_numbers) {
        return Ok(numeric_kind(text));
    }
    Ok(Kind::Cabling)
}

/// The dialect if a line is the first one of a switch or adapter. Identifiers of `ibnetdiscover` begin with the type
/// and have 16 hexadecimal digits; those of ibsim are any names.
fn infiniband_dialect<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Dialect> {
    let mut found = None;
    for line in lines {
        let head = line.split_whitespace().next().unwrap_or("");
        let quoted = line.split('"').nth(1);
        match (head, quoted) {
            ("Hca", Some(_)) => return Some(Dialect::Ibsim),
            ("Switch" | "Ca" | "Rt", Some(id)) => {
                let of_tool = ["S-", "H-", "R-"].iter().any(|prefix| id.starts_with(prefix));
                let list = line[head.len()..].trim_start().starts_with(':');
                found.get_or_insert(if of_tool || list {
                    Dialect::Ibnetdiscover
                } else {
                    Dialect::Ibsim
                });
            }
            _ if line.starts_with("hcaguids") || line.starts_with("module ") => {
                return Some(Dialect::Ibsim);
            }
            _ if line.starts_with("switchguid=") || line.starts_with("caguid=") => {
                found.get_or_insert(Dialect::Ibnetdiscover);
            }
            _ => {}
        }
    }
    found
}

/// Whether the first line with content begins a YAML or JSON text.
fn is_yaml(line: &str) -> bool {
    // `a: b` and `a:` are keys, `leaf1:3 n1` is a cable.
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-\"".contains(c))
    };
    let key = line
        .split_once(':')
        .filter(|(key, rest)| is_key(key) && (rest.is_empty() || rest.starts_with(' ')));
    let of_list = ["hosts", "switches", "routers"];
    line.starts_with(['{', '['])
        || line == "---"
        || line.starts_with("- ")
        || key.is_some_and(|(key, rest)| {
            rest.trim().is_empty() || rest.trim_start().starts_with('{') || !of_list.contains(&key)
        })
}

fn is_numbers(line: &str) -> bool {
    line.split([' ', '\t', ',', ';'])
        .filter(|word| !word.is_empty())
        .all(|word| word.parse::<f64>().is_ok())
}

/// A table has as many rows as columns, and zeros on the diagonal. Other numbers are a graph of METIS.
fn numeric_kind(text: &str) -> Kind {
    let mut rows =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let words =
        |line: &str| line.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).count();
    let first = rows.clone().next().unwrap_or("");
    let columns = words(first);
    let begins_with_zero = first.split([' ', '\t', ',', ';']).next() == Some("0");
    let is_table = begins_with_zero
        && rows.clone().count() == columns
        && rows.all(|line| words(line) == columns);
    if is_table { Kind::Distances } else { Kind::Graph }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_content() {
        use Dialect::{Ibnetdiscover, Ibsim};
        for (text, want) in [
            ("<?xml version='1.0'?><platform/>", Kind::Simgrid),
            (
                "#\n# Topology file\n\nvendid=0x2c9\nswitchguid=0x1(1)\nSwitch 8 \"S-1\"\n",
                Kind::Infiniband(Ibnetdiscover),
            ),
            ("SW 2 1 0x1 4x HDR - CA 3 1 0x2 ( 'a' - 'b' )", Kind::Infiniband(Ibnetdiscover)),
            ("Switch\t8 \"Switch1\"\n[1] \"Hca1\"[1]\n", Kind::Infiniband(Ibsim)),
            ("Hca 1 \"H-1\"\n", Kind::Infiniband(Ibsim)),
            ("# a comment\nSwitchName=a Nodes=b\n", Kind::SlurmConf),
            ("blocksizes=3\n", Kind::SlurmConf),
            ("- topology: t\n", Kind::Yaml),
            ("---\n- a", Kind::Yaml),
            ("{\"instances\": []}", Kind::Yaml),
            ("switches:\n  a: {}\n", Kind::Yaml),
            ("# switches\ntree: {switches: []}\n", Kind::Yaml),
            ("n1\n     Mom = n1.site.org\n     ntype = PBS\n", Kind::PbsNodes),
            ("{\"pbs_version\": \"20\", \"nodes\": {}}", Kind::PbsNodes),
            ("{\"version\": 1, \"execution\": {\"R_lite\": []}}", Kind::FluxResources),
            ("3 2\n2 3\n1\n1\n", Kind::Graph),
            ("% graph\n2 1\n2\n1\n", Kind::Graph),
            ("0 1\n1 0\n", Kind::Distances),
            ("hosts: n[1-3]\nn1 leaf\n", Kind::Cabling),
            ("leaf1:3 n1\n", Kind::Cabling),
            ("c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)", Kind::Cabling),
            ("cable_id,src_conn_a,dst_conn_a\n", Kind::Cabling),
        ] {
            assert_eq!(kind_of(text).unwrap(), want, "{text}");
        }
        for (text, what) in [
            ("<topology version=\"2.0\">", "hwloc:"),
            ("<system version=\"1\">", "GPU system"),
            ("<html>", "<html>"),
            ("", "empty"),
            ("# nothing\n", "empty"),
        ] {
            assert!(kind_of(text).unwrap_err().to_string().contains(what), "{text}");
        }
    }
}
