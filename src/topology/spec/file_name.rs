//! The name of the file in a description such as `slurm:topology.conf` or `nodes:16:node.xml`.
//!
//! A relative name has a meaning only together with a folder. Whoever reads a description knows the folder: that of the
//! settings file that says it, or the one in which the command was called.

use super::KINDS;
use std::path::Path;

/// Kinds whose descriptions name no file.
const WITHOUT_FILE: [&str; 7] =
    ["tree", "torus", "mesh", "hypercube", "dragonfly", "fattree", "hwloc-synthetic"];

/// The description with the name of its file in `folder`, if it has a relative one; else as it is.
pub fn in_folder(spec: &str, folder: &Path) -> String {
    match start(spec) {
        Some(at) if !spec[at..].starts_with('/') => {
            let name = spec[at..].trim_start_matches("./");
            format!("{}{}", &spec[..at], folder.join(name).display())
        }
        _ => spec.to_string(),
    }
}

/// Where the name of the file begins; `None` if there is none.
fn start(spec: &str) -> Option<usize> {
    let colon = spec.find(':')?;
    let kind = spec[..colon].trim();
    if WITHOUT_FILE.contains(&kind) || KINDS.iter().all(|known| known.0 != kind) {
        return None;
    }
    let mut at = colon + 1;
    if kind == "nodes" {
        at += spec[at..].find(':')? + 1;
    }
    let name = spec[at..].trim_start();
    (!name.is_empty()).then(|| spec.len() - name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_begin_at_the_folder() {
        for (spec, wanted) in [
            ("slurm:topology.conf", "slurm:/etc/site/topology.conf"),
            ("fabric:./f.txt,routing=adaptive", "fabric:/etc/site/f.txt,routing=adaptive"),
            ("ib: ../f.txt", "ib: /etc/site/../f.txt"),
            ("nodes:16:a/node.xml", "nodes:16:/etc/site/a/node.xml"),
            ("hwloc:/m.xml", "hwloc:/m.xml"),
            ("tree:2:4", "tree:2:4"),
            ("4:8:8", "4:8:8"),
            ("torus:4x4,routing=adaptive", "torus:4x4,routing=adaptive"),
            ("hwloc-synthetic:pack:2 pu:1", "hwloc-synthetic:pack:2 pu:1"),
            ("slurm:", "slurm:"),
            ("ring:8", "ring:8"),
            ("nodes:16", "nodes:16"),
            ("", ""),
        ] {
            assert_eq!(in_folder(spec, Path::new("/etc/site")), wanted);
        }
    }

    /// A new kind names a file, unless it is in the list here.
    #[test]
    fn every_kind_is_known() {
        for kind in WITHOUT_FILE {
            assert!(KINDS.iter().any(|known| known.0 == kind), "{kind}");
        }
        for (kind, example, _) in KINDS {
            let has_point = example.split([' ', ',']).next().unwrap_or("").contains(['.', 'F']);
            assert_eq!(has_point, !WITHOUT_FILE.contains(&kind), "{kind}: {example}");
        }
    }
}
