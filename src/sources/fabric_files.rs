//! Descriptions of the fabric that the site keeps in a folder: the output of ibnetdiscover, of topograph, a list
//! of cables, a SimGrid platform, or any other file that [`crate::topology::read_fabric`] recognises.

use super::HostNetwork;
use super::description::Description;
use super::source::{Answer, Source, Surroundings};
use crate::base::error::Result;
use std::path::PathBuf;

/// The files in the folders of the site.
pub struct FabricFiles;

/// The folders, below the root.
const FOLDERS: [&str; 2] = ["/etc/rankweave", "/var/lib/rankweave"];
/// More files than this in a folder are not looked at.
const MOST: usize = 16;

/// The files of the folders whose names begin with `fabric`, by name.
fn files(surroundings: &Surroundings) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in FOLDERS.map(|folder| surroundings.path(folder)) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.map(|entry| entry.path()).filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fabric"))
        });
        let mut here: Vec<PathBuf> = named.take(MOST).collect();
        here.sort();
        all.extend(here);
    }
    all
}

impl Source for FabricFiles {
    fn name(&self) -> &'static str {
        "fabric-files"
    }

    fn needs(&self) -> &'static str {
        "save the output of ibnetdiscover, or another description of the fabric, as /etc/rankweave/fabric.txt on \
         the node of rank 0"
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        let files = files(surroundings);
        if files.is_empty() {
            return Ok(Answer::Nothing("there is no file /etc/rankweave/fabric*".into()));
        }
        let mut problem = None;
        let mut best: Option<HostNetwork> = None;
        for file in &files {
            let origin = format!("the file {}", file.display());
            match Description::File(file).network(surroundings.hosts, surroundings, origin) {
                Ok(None) => {}
                Ok(Some(network)) => {
                    if network.known() > best.as_ref().map_or(0, HostNetwork::known) {
                        best = Some(network);
                    }
                }
                Err(error) => problem = Some(error),
            }
        }
        match (best, problem) {
            (Some(network), _) => Ok(Answer::Network(network)),
            (None, Some(error)) => Err(error),
            (None, None) => {
                let what = format!("{} names none of the nodes", files[0].display());
                Ok(Answer::Nothing(what))
            }
        }
    }
}
