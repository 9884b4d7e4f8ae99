//! What PBS and Flux know about the network between their nodes, from a file that the site keeps.
//!
//! Neither of them tells it to the processes of a job. The environment of a job of PBS has the names of its nodes
//! (`PBS_NODEFILE`), that of Flux the numbers of nodes and ranks (`FLUX_JOB_NNODES`, `FLUX_TASK_RANK`), and that of
//! HPE's PALS (`PALS_RANKID`, `PALS_NODEID`) consecutive numbers of the nodes of the job. None has a switch. Both
//! schedulers know more: PBS has the resources of its placement sets, Flux its resource set R. A file with them is read
//! like any description of a fabric; without it, the source says what the site has to save. No command of a scheduler is
//! started.

use super::description::Description;
use super::source::{Answer, Source, Surroundings};
use crate::base::error::Result;
use std::path::PathBuf;

/// The files of one batch system.
pub(super) struct BatchFiles {
    name: &'static str,
    needs: &'static str,
    /// Its name for users.
    system: &'static str,
    /// Variables of its jobs.
    variables: &'static [&'static str],
    /// The files, below the root.
    files: &'static [&'static str],
    /// What the environment of a job tells instead of the network.
    tells: &'static str,
}

/// The nodes of PBS with their placement sets.
pub(super) static PBS_NODES: BatchFiles = BatchFiles {
    name: "pbs-nodes",
    needs: "label the nodes with resources of placement sets, such as switch or tier0, and save the output of \
            'pbsnodes -av' as /etc/rankweave/pbsnodes.txt on the node of rank 0",
    system: "PBS",
    variables: &["PBS_NODEFILE", "PBS_JOBID"],
    files: &[
        "/etc/rankweave/pbsnodes.txt",
        "/etc/rankweave/pbsnodes.json",
        "/var/lib/rankweave/pbsnodes.txt",
        "/var/lib/rankweave/pbsnodes.json",
    ],
    tells: "PBS tells a job the names of its nodes (PBS_NODEFILE) and not their switches",
};

/// The resource set of a Flux instance.
pub(super) static FLUX_RESOURCES: BatchFiles = BatchFiles {
    name: "flux-resources",
    needs: "save the resource set of the system instance, with the graph of Fluxion or with properties such as rack1, as \
            /etc/rankweave/flux-R.json on the node of rank 0",
    system: "Flux",
    variables: &["FLUX_JOB_ID", "FLUX_URI"],
    files: &["/etc/rankweave/flux-R.json", "/var/lib/rankweave/flux-R.json", "/etc/flux/system/R"],
    tells: "Flux tells a job the numbers of its nodes (FLUX_JOB_NNODES) and not their switches",
};

impl Source for BatchFiles {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> &'static str {
        self.needs
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        let system = self.system;
        let mut files = self.files.iter().map(|file| surroundings.path(file));
        let Some(file): Option<PathBuf> = files.find(|file| file.is_file()) else {
            let is_set = |name: &str| (surroundings.variable)(name).is_some();
            let why = match self.variables.iter().any(|name| is_set(name)) {
                true => format!("{}, and there is no file {}", self.tells, self.files[0]),
                false => {
                    format!("this is no job of {system}, and there is no file {}", self.files[0])
                }
            };
            return Ok(Answer::Nothing(why));
        };
        let origin = format!("{system} ({})", file.display());
        let found = Description::File(&file).network(surroundings.hosts, surroundings, origin)?;
        Ok(match found {
            Some(network) => Answer::Network(network),
            None => Answer::Nothing(format!("{} names none of the nodes", file.display())),
        })
    }
}
