//! Paths in the values of options, in full: the processes of a launch may start in another directory.
//!
//! Limit: `--spill` takes full paths only, and the file of `--place` is written by the command itself.

use crate::options::{Opt, Slots};
use crate::topology;
use std::path::{Path, absolute};

/// The value of an option with all its paths in full. Relative ones begin at the working directory.
pub(in crate::cli) fn in_full(option: &Opt, value: &str) -> String {
    let full = |path: &str| {
        absolute(path).map_or(path.to_string(), |path| path.to_string_lossy().into_owned())
    };
    let is_none = value.trim().eq_ignore_ascii_case("none");
    match option.name {
        "store" => full(value.trim()),
        "site" if !is_none => full(value.trim()),
        "slots" if matches!(Slots::parse(value), Ok(Slots::File(_))) => full(value.trim()),
        "also-read" if !is_none => {
            let paths = value.split(':').map(str::trim).filter(|path| !path.is_empty());
            paths.map(full).collect::<Vec<_>>().join(":")
        }
        "topology" => match absolute(Path::new(".")) {
            Ok(here) => topology::in_folder(value, &here),
            Err(_) => value.into(),
        },
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::find;

    #[test]
    fn every_option_with_a_path() {
        let here = std::env::current_dir().unwrap().display().to_string();
        for (name, value, wanted) in [
            ("store", "data", "HERE/data"),
            ("store", "/data", "/data"),
            ("site", "./site.toml", "HERE/site.toml"),
            ("site", "none", "none"),
            ("also-read", "a:/b", "HERE/a:/b"),
            ("also-read", "None", "None"),
            ("slots", "0,1", "0,1"),
            ("slots", "slots.txt", "HERE/slots.txt"),
            ("topology", "slurm:topology.conf", "slurm:HERE/topology.conf"),
            ("topology", "tree:2:4", "tree:2:4"),
            ("key", "mine", "mine"),
        ] {
            let wanted = wanted.replace("HERE", &here);
            assert_eq!(in_full(find(name).unwrap(), value), wanted, "{name} {value}");
        }
    }
}
