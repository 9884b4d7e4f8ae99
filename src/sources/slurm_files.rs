//! Slurm's topology.conf and topology.yaml.
//!
//! They are looked for where slurmd and the clients look: beside the file that `SLURM_CONF` names, in the usual
//! directories of the configuration, and in the copy of a cluster without local configuration. Without a job of
//! Slurm in the environment they are still used if they name the nodes of the launch: mpirun may have been
//! started over ssh on nodes that Slurm manages.

use super::description::Description;
use super::source::{Answer, Source, Surroundings};
use crate::base::error::Result;
use std::path::{Path, PathBuf};

/// The files in the directories of Slurm.
pub struct SlurmFiles;

/// Directories of the configuration.
const FOLDERS: [&str; 5] = [
    "/etc/slurm",
    "/etc/slurm-llnl",
    "/run/slurm/conf",
    "/var/spool/slurmd/conf-cache",
    "/var/spool/slurm/d/conf-cache",
];
/// The newer file first.
const FILES: [&str; 2] = ["topology.yaml", "topology.conf"];

fn folders(surroundings: &Surroundings) -> Vec<PathBuf> {
    let of_variable = (surroundings.variable)("SLURM_CONF")
        .and_then(|file| Some(Path::new(&file).parent()?.to_path_buf()));
    of_variable.into_iter().chain(FOLDERS.map(|folder| surroundings.path(folder))).collect()
}

impl Source for SlurmFiles {
    fn name(&self) -> &'static str {
        "slurm-files"
    }

    fn needs(&self) -> &'static str {
        "put topology.conf or topology.yaml, which names these nodes, beside slurm.conf on the node of rank 0"
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        let all = folders(surroundings);
        let files = all.iter().flat_map(|folder| FILES.map(|file| folder.join(file)));
        let Some(file) = files.into_iter().find(|file| file.is_file()) else {
            return Ok(Answer::Nothing("there is no topology.conf of Slurm on this node".into()));
        };
        let origin = format!("Slurm ({})", file.display());
        let found = Description::File(&file).network(surroundings.hosts, surroundings, origin)?;
        let Some(network) = found else {
            return Ok(Answer::Nothing(format!("{} names none of the nodes", file.display())));
        };
        Ok(Answer::Network(network))
    }
}
