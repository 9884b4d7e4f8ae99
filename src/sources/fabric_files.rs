//! Descriptions of the fabric that the site keeps in a folder: the output of ibnetdiscover, of topograph, a list
//! of cables, a SimGrid platform, or any other file that [`crate::topology::read_fabric`] recognises.

use super::HostNetwork;
use super::description::Description;
use super::source::{Answer, Source, Surroundings};
use crate::base::error::Result;
use crate::base::sorting::Arrange;
use std::path::{Path, PathBuf};

/// The files in the folders of the site.
pub struct FabricFiles;

/// The folders, below the root.
const FOLDERS: [&str; 2] = ["/etc/rankweave", "/var/lib/rankweave"];
/// The first so many files of a folder, by name, are looked at.
const MOST: usize = 16;

/// The files of the site's folders below `root` whose names begin with `fabric`, by name. Directories, pipes and devices
/// are none.
pub fn fabric_files(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in FOLDERS.map(|folder| root.join(folder.trim_start_matches('/'))) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.map(|entry| entry.path()).filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fabric"))
        });
        let mut here: Vec<PathBuf> = named.collect();
        here.arrange();
        all.extend(here.into_iter().filter(|path| path.is_file()).take(MOST));
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
        let files = fabric_files(surroundings.root);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::SiteFiles;
    use std::fs;

    #[test]
    fn the_first_regular_files_by_name_are_looked_at() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("etc/rankweave");
        fs::create_dir_all(folder.join("fabric.00.d")).unwrap();
        // From the last name to the first, as a folder may list them.
        for k in (0..MOST + 4).rev() {
            fs::write(folder.join(format!("fabric.{k:02}")), "").unwrap();
        }
        fs::write(folder.join("other"), "").unwrap();
        let surroundings = Surroundings {
            hosts: &[],
            variable: &|_| None,
            root: root.path(),
            site: &SiteFiles::default(),
            store: None,
        };
        let names: Vec<String> = fabric_files(surroundings.root)
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        assert_eq!(names, (0..MOST).map(|k| format!("fabric.{k:02}")).collect::<Vec<_>>());
    }
}
