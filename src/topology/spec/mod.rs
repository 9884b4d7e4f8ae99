//! The topologies that `--topology` takes, from their text to a [`Topology`].
//!
//! A table has one function for each kind. Every error says what is wrong and where, and gives an
//! example of right syntax.

mod added;
mod cable;
mod cabling;
mod detect;
mod file_name;
mod flux_resources;
mod graph_file;
mod hostlist;
mod ib_description;
mod ib_ports;
mod infiniband;
mod labels;
mod machine;
mod parts;
mod pbs_nodes;
mod rate;
mod scotch;
mod shapes;
mod simgrid;
mod simgrid_cluster;
mod slurm;
mod slurm_layout;
mod slurm_yaml;
mod topograph;
mod wiring;
mod xname;
mod yaml;

#[cfg(test)]
mod file_tests;

pub use detect::{read_fabric, read_fabric_of};
pub use file_name::in_folder;
pub use hostlist::expand as expand_hostlist;

use infiniband::Dialect;

use super::{DistanceMatrix, Topology, slots_of};
use crate::base::file;
use crate::base::nearest::{nearest, one_of};
use crate::{Error, ErrorKind, Result};
use std::path::Path;

/// Largest number of slots that a description may ask for.
pub(super) const MAX_SLOTS: usize = 1 << 24;

/// The version of the readers of files. It changes whenever one of them gives another answer for the same file, so that
/// answers that were kept are found anew.
pub const READERS: u32 = 2;

/// A reader of the part of a description after the colon.
type Read = fn(&str) -> Result<Box<dyn Topology>>;

/// All kinds of topology, in the order in which errors list them: the name before the colon, an example
/// of right syntax, and the reader.
const KINDS: [(&str, &str, Read); 22] = [
    ("tree", "tree:2:16:32@1:10:100 (arity from the leaves up @ distances)", shapes::tree),
    ("torus", "torus:16x16x16 or torus:8x8x8@1:2:2 (bandwidth by dimension)", shapes::torus),
    ("mesh", "mesh:32x32", shapes::mesh),
    ("hypercube", "hypercube:10", shapes::hypercube),
    (
        "dragonfly",
        "dragonfly:9x4x2 (groups x routers x hosts) or dragonfly:9x4x2@1:1:2",
        shapes::dragonfly,
    ),
    (
        "fattree",
        "fattree:18:18:36 (hosts, leaf switches, pods), fattree:16:8:4@2:1 \
                  (oversubscribed 2:1 at the leaf switches) or fattree:k=16",
        shapes::fat_tree,
    ),
    ("hwloc", "hwloc:machine.xml (one slot for each PU)", machine::hwloc_pus),
    ("hwloc-cores", "hwloc-cores:machine.xml (one slot for each core)", machine::hwloc_cores),
    (
        "nodes",
        "nodes:16:machine.xml (16 nodes of this machine, one slot for each core)",
        machine::nodes,
    ),
    ("hwloc-synthetic", "hwloc-synthetic:\"pack:2 core:8 pu:1\"", machine::hwloc_synthetic),
    ("scotch", "scotch:machine.tgt with a line such as `tleaf 3 2 90 16 9 2 1`", scotch::read),
    ("slurm", "slurm:topology.conf or slurm:topology.yaml", slurm::read),
    ("topograph", "topograph:topology.yaml (also .json and .conf)", topograph::read),
    (
        "pbs",
        "pbs:pbsnodes.txt (output of pbsnodes -av, or of pbsnodes -a -F json)",
        pbs_nodes::read,
    ),
    (
        "flux",
        "flux:R.json (resource set of Flux, with the graph of Fluxion or properties)",
        flux_resources::read,
    ),
    ("ib", "ib:ibnetdiscover.txt", infiniband::read),
    ("ibsim", "ibsim:fabric.net", infiniband::read_ibsim),
    (
        "cabling",
        "cabling:cables.csv with lines such as `leaf1 n1` or `host n1 router leaf1`",
        cabling::read,
    ),
    ("simgrid", "simgrid:platform.xml", simgrid::read),
    ("fabric", "fabric:FILE (any file that describes a network of hosts)", read_fabric),
    ("graph", "graph:network.graph (METIS; vertices of weight 0 are switches)", graph_file::read),
    ("dist", "dist:distances.txt", distances),
];

/// An example of each kind of topology, for a help text.
pub fn examples() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.1)
}

/// Reads a topology as `--topology` takes it: `kind:description`, or a tree in the shorthand of
/// process mapping tools, `4:8:8` or `4:8:8/1:10:100`.
///
/// Errors: an unknown kind, a description that is not one of its kind, a file that cannot be read;
/// all with an example of right syntax.
pub fn parse(spec: &str) -> Result<Box<dyn Topology>> {
    let given = spec.trim();
    let (spec, options) = added::split(given, is_shape(given));
    if !options.is_empty() {
        let topology = parse(spec)?;
        return added::add(topology, options).map_err(|e| {
            placed(e, given, "torus:8x8x8,routing=adaptive, or without what follows the comma")
        });
    }
    if spec.starts_with(|c: char| c.is_ascii_digit()) {
        return shapes::tree(spec).map_err(|e| placed(e, spec, KINDS[0].1));
    }
    let (name, description) = spec.split_once(':').unwrap_or((spec, ""));
    let Some((_, example, read)) = KINDS.iter().find(|kind| kind.0 == name) else {
        return Err(unknown_kind(name).at(format!("topology {spec}")));
    };
    read(description.trim()).map_err(|e| placed(e, spec, example))
}

/// The error for a kind that does not exist, with an example of the kind that is most like it.
fn unknown_kind(name: &str) -> Error {
    let names = KINDS.map(|kind| kind.0);
    let like = nearest(&name.to_ascii_lowercase(), names.iter().copied());
    let example = KINDS.iter().find(|kind| Some(kind.0) == like).unwrap_or(&KINDS[0]).1;
    usage(format!("unknown topology '{name}'"))
        .advise(format!("{}; such as {example}", one_of(name, &names)))
}

/// As [`parse`], for a caller that looks for certain hosts, as [`read_fabric_of`] does: they decide which part of a fabric
/// is used that has several.
pub fn parse_for(spec: &str, hosts: &[String]) -> Result<Box<dyn Topology>> {
    let (kind, path) = spec.trim().split_once(':').unwrap_or(("", ""));
    let path = path.trim();
    let text = || read_text(path);
    let read = match kind {
        _ if hosts.is_empty() => return parse(spec),
        "ib" => text().and_then(|t| infiniband::of_text(&t, path, Dialect::Ibnetdiscover, hosts)),
        "ibsim" => text().and_then(|t| infiniband::of_text(&t, path, Dialect::Ibsim, hosts)),
        "cabling" => text().and_then(|t| cabling::of_text(&t, path, hosts)),
        "fabric" => read_fabric_of(path, hosts),
        _ => return parse(spec),
    };
    let example = KINDS.iter().find(|known| known.0 == kind).map_or("", |known| known.1);
    read.map_err(|e| placed(e, spec.trim(), example))
}

/// Whether a description is numbers only, so that each comma in it begins an option.
fn is_shape(spec: &str) -> bool {
    let kind = spec.split_once(':').map_or("", |(kind, _)| kind);
    ["torus", "mesh", "hypercube", "dragonfly", "fattree"].contains(&kind)
}

/// Whether a text begins as a description that [`parse`] takes, and not as the name of a file.
pub fn is_description(text: &str) -> bool {
    let kind = text.trim().split_once(':').map(|(kind, _)| kind);
    text.trim().starts_with(|c: char| c.is_ascii_digit())
        || kind.is_some_and(|name| KINDS.iter().any(|kind| kind.0 == name))
}

/// Adds the option to the place of an error. An error without advice gets one: to correct the file if the place is in
/// a file, and else the example.
fn placed(error: Error, spec: &str, example: &str) -> Error {
    let inner = error.place().map_or(String::new(), |place| format!("{place}, "));
    let advice = match error.advice() {
        Some(own) => own.to_string(),
        None if error.kind() == ErrorKind::Io => {
            "check the name of the file, and that this user can read it".into()
        }
        None if inner.contains("line ") => {
            "correct the file at this place; 'rankweave topo --help' lists the kinds of files".into()
        }
        None if !inner.is_empty() => {
            "correct the file, or give another one; 'rankweave topo --help' lists the kinds of files".into()
        }
        None => format!("write it as {example}"),
    };
    error.at(format!("{inner}topology {spec}")).advise(advice)
}

/// Adds the file to the place of an error.
fn in_file(error: Error, path: &str) -> Error {
    let inner = error.place().map_or(String::new(), |place| format!(", {place}"));
    error.at(format!("{path}{inner}"))
}

/// The number of slots of the given counts, if there are 1 to [`MAX_SLOTS`] of them.
fn bounded(counts: &[usize]) -> Option<usize> {
    slots_of(counts).filter(|&slots| slots <= MAX_SLOTS)
}

/// The two parts of a text around the first separator; without one, the text and nothing.
fn halves(text: &str, separators: [char; 2]) -> (&str, Option<&str>) {
    text.split_once(separators).map_or((text, None), |(first, second)| (first, Some(second)))
}

/// An error about the description itself.
fn usage(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, what)
}

/// An error in the content of a file.
fn bad(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Format, what)
}

/// An error in a line (from 1) of a file.
fn in_line(line: usize, what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Format, what).at(format!("line {line}"))
}

/// The largest description of a machine or network that is read. The file of a fabric of 10 000 hosts with 8 rails
/// has 30 MB.
const LARGEST: u64 = 1 << 30;

/// The largest table of distances that is read: those between 16384 slots, with room to spare.
const LARGEST_TABLE: u64 = 4 << 30;

/// The text of a file that describes a machine or network.
fn read_text(path: &str) -> Result<String> {
    read_text_of(path, LARGEST, "only a table of distances (dist:FILE) may have more than 1 GiB")
}

/// The text of a file of at most `most` bytes; `advice` is for larger ones.
fn read_text_of(path: &str, most: u64, advice: &str) -> Result<String> {
    if path.is_empty() {
        return Err(usage("the name of the file is missing"));
    }
    let bytes = file::read_given(Path::new(path), most, |_| true).map_err(|e| {
        let error = Error::io("cannot read the topology", Path::new(path), &e);
        if e.kind() == std::io::ErrorKind::FileTooLarge { error.advise(advice) } else { error }
    })?;
    String::from_utf8(bytes).map_err(|_| {
        Error::new(ErrorKind::Format, "the topology file is not text").at(path.to_string())
    })
}

fn distances(path: &str) -> Result<Box<dyn Topology>> {
    let text = read_text_of(path, LARGEST_TABLE, "give a table of fewer slots")?;
    let matrix = DistanceMatrix::parse(&text).map_err(|e| in_file(e, path))?;
    Ok(Box::new(matrix.with_label(format!("dist:{path}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_of_distances_may_be_very_large() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let file = std::fs::File::create(&path).unwrap();
        let error = |kind: &str| {
            let error = parse(&format!("{kind}:{}", path.display())).err().unwrap();
            format!("{error} {:?}", error.advice())
        };
        // A sparse file: nothing of it is written.
        file.set_len(LARGEST + 1).unwrap();
        for kind in ["hwloc", "slurm", "ib", "graph", "scotch", "simgrid", "fabric"] {
            assert!(error(kind).contains("1073741825 bytes"), "{kind}: {}", error(kind));
        }
        let fabric = read_fabric(&path.display().to_string()).err().unwrap();
        assert!(fabric.advice().is_some_and(|advice| advice.contains("dist:FILE")), "{fabric}");
        assert!(!error("dist").contains("bytes"), "{}", error("dist"));
        file.set_len(LARGEST_TABLE + 1).unwrap();
        assert!(error("dist").contains("4294967297 bytes"), "{}", error("dist"));
    }

    #[test]
    fn errors_name_kinds_and_show_an_example() {
        for (spec, what) in [
            ("", "unknown topology ''"),
            ("ring:8", "fattree"),
            ("tours:8x8", "try: write 'torus', or use one of tree,"),
            ("Dragonfly+:8x8", "such as dragonfly:9x4x2"),
            ("tree:", "tree:2:16:32@1:10:100"),
            ("torus:0x4", "torus:16x16x16"),
            ("hwloc:/nonexistent.xml", "/nonexistent.xml"),
            ("dist:", "name of the file"),
        ] {
            // An error with advice of its own keeps it; all others get the example of their kind.
            let error = parse(spec).err().unwrap().to_string();
            assert!(error.contains(what) && error.contains("try:"), "{spec}: {error}");
        }
    }

    #[test]
    fn advice_names_a_place_only_where_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.txt");
        for (text, at_a_place) in [("Switch 8", true), ("Ca 1 \"H-1\" # \"a\"\n", false)] {
            std::fs::write(&path, text).unwrap();
            let error = parse(&format!("ib:{}", path.display())).err().unwrap().to_string();
            assert_eq!(error.contains("at this place"), at_a_place, "{error}");
            assert!(error.contains("try:"), "{error}");
        }
    }

    #[test]
    fn the_documentation_lists_every_kind() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/topologies.md");
        let text = std::fs::read_to_string(path).unwrap();
        for kind in KINDS {
            assert!(text.contains(&format!("| `{}:` |", kind.0)), "{}", kind.0);
        }
    }

    #[test]
    fn every_kind_fails_on_rubbish_without_panic() {
        for kind in KINDS {
            for rubbish in ["", ":", "x", "1", "-1", "1:", "0", "99999999999999999999", "1@", "é"]
            {
                let spec = format!("{}:{rubbish}", kind.0);
                if let Ok(topology) = parse(&spec) {
                    assert!(topology.slots() > 0, "{spec}");
                }
            }
        }
    }
}
