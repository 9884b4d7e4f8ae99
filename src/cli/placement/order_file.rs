//! The file with which the launcher follows a rank order.
//!
//! It is written into the folder `placements` of the store, and its name has a hash of its content. Launches at the
//! same time therefore do not change each other's files, and the same order does not make a second file. Files that
//! have not been used for a month are removed.

use crate::base::error::{Error, Result};
use crate::base::hash::fnv1a;
use crate::cli::console::output;
use crate::formats::{Export, Format};
use crate::matrix::CommMatrix;
use crate::store::{Placement, Record, Store};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder in the store.
const FOLDER: &str = "placements";
/// Files that were not used for so long are removed.
const KEPT: Duration = Duration::from_secs(30 * 86400);

/// A file that is not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderFile {
    /// Where it belongs.
    pub(super) path: PathBuf,
    /// What it holds.
    pub(super) content: Vec<u8>,
}

/// The content of a file of this format. Errors: a host name that such a file cannot hold.
pub(super) fn content(
    format: &Format,
    key: &str,
    placement: &Placement,
    process_of_task: &[u32],
) -> Result<Vec<u8>> {
    let mut record = Record::of_matrix(key, CommMatrix::empty(process_of_task.len()));
    record.launch.placement =
        Placement::of_nodes(placement.node_of_process.clone(), placement.node_names.clone());
    let mut export = Export::new(&record, &[]);
    export.process_of_task = process_of_task.to_vec();
    let mut bytes = Vec::new();
    format.write(&export, &mut bytes)?;
    Ok(bytes)
}

impl OrderFile {
    /// The file for this content in a store.
    pub(super) fn in_store(store: &Store, key: &str, ending: &str, content: Vec<u8>) -> OrderFile {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = key.chars().take(100).map(plain).collect();
        let directory = store.directory();
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.into());
        let hash = fnv1a(&content);
        let path = directory.join(FOLDER).join(format!("{name}-{hash:016x}.{ending}"));
        OrderFile { path, content }
    }

    /// Writes the file. Errors: it cannot be written.
    pub(super) fn write(&self) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|e| Error::io("cannot create the folder", folder, &e))?;
            if folder.ends_with(FOLDER) {
                remove_old(folder);
            }
        }
        output::write_to(Some(&self.path), |out| {
            out.write_all(&self.content).map_err(crate::formats::write_error)
        })
    }
}

/// Removes the files of a folder that nobody used for long. What cannot be removed stays.
fn remove_old(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let modified =
            entry.metadata().ok().filter(|m| m.is_file()).and_then(|m| m.modified().ok());
        if modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > KEPT) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::rank_orders;

    #[test]
    fn files_have_the_host_of_each_rank() {
        let names = ["n0", "n1"].map(String::from).to_vec();
        let placement = Placement::of_nodes(vec![0, 0, 1, 1], names);
        let of = |format| {
            String::from_utf8(content(format, "k", &placement, &[0, 2, 1, 3]).unwrap()).unwrap()
        };
        assert_eq!(of(&rank_orders::SLURM), "n0\nn1\nn0\nn1\n");
        assert_eq!(
            of(&rank_orders::HYDRA),
            "# mpiexec -f THIS_FILE -n 4\nn0:1\nn1:1\nn0:1\nn1:1\n"
        );
        assert!(of(&rank_orders::CRAY).ends_with("\n0,2,1,3\n"));
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path());
        let file = OrderFile::in_store(&store, "a/b", "hosts", b"n0\n".to_vec());
        file.write().unwrap();
        assert_eq!(std::fs::read(&file.path).unwrap(), b"n0\n");
        let name = file.path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("a_b-") && name.ends_with(".hosts"), "{name}");
        assert_ne!(OrderFile::in_store(&store, "a/b", "hosts", b"n1\n".to_vec()).path, file.path);
    }
}
