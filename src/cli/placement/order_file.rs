//! The file with which the launcher follows a rank order.
//!
//! It is written into the folder `placements` of the store, and its name has a hash of its content. Launches at the
//! same time therefore do not change each other's files, and the same order does not make a second file. Files that
//! have not been used for a month are removed.

use crate::base::error::{Error, Result};
use crate::base::file;
use crate::base::hash::fnv1a;
use crate::cli::console::output;
use crate::formats::{Export, Format};
use crate::matrix::CommMatrix;
use crate::store::{Placement, Record, Store, check_folder};
use std::os::unix::fs::MetadataExt;
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
    /// The folder of the store, which belongs to this program; `None` for a file that the user named.
    folder: Option<PathBuf>,
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
    /// The file that the user named.
    pub(super) fn named(path: &Path, content: Vec<u8>) -> OrderFile {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        OrderFile { path, content, folder: None }
    }

    /// The file for this content in a store.
    pub(super) fn in_store(store: &Store, key: &str, ending: &str, content: Vec<u8>) -> OrderFile {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = key.chars().take(100).map(plain).collect();
        let directory = store.directory();
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.into());
        let hash = fnv1a(&content);
        let folder = directory.join(FOLDER);
        let path = folder.join(format!("{name}-{hash:016x}.{ending}"));
        OrderFile { path, content, folder: Some(folder) }
    }

    /// Writes the file. Errors: it cannot be written; it or its folder in the store is a link that another user made.
    pub(super) fn write(&self) -> Result<()> {
        if let Some(folder) = &self.folder {
            check_folder(folder)?;
            check_folder(&self.path)?;
        }
        if let Some(parent) = self.path.parent() {
            std::fs::create_dir_all(parent)
                .map_err(|e| Error::io("cannot create the folder", parent, &e))?;
        }
        if let Some(folder) = &self.folder {
            remove_old(folder);
        }
        output::write_to(Some(&self.path), |out| {
            out.write_all(&self.content).map_err(crate::formats::write_error)
        })
    }
}

/// Removes the files of this user that a launch wrote into a folder of the store and that nobody used for long. What
/// cannot be removed stays.
fn remove_old(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_own_name) {
            continue;
        }
        // The metadata of an entry are those of a link itself, and not of the file to which it leads.
        let own = entry.metadata().ok().filter(|m| m.is_file() && m.uid() == file::user());
        let modified = own.and_then(|m| m.modified().ok());
        if modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > KEPT) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a name has the form of [`OrderFile::in_store`]: a key, a hash of 16 digits, and an ending.
fn is_own_name(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let Some((key, hash)) = stem.rsplit_once('-') else { return false };
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    matches!(ending, "hosts" | "placed")
        && !key.is_empty()
        && hash.len() == 16
        && hash.bytes().all(is_digit)
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

    /// Makes a file that was last used two months ago.
    fn old(path: &Path) {
        std::fs::write(path, "x").unwrap();
        let at = std::time::SystemTime::now() - 2 * KEPT;
        std::fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }

    #[test]
    fn files_of_the_user_are_never_removed() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(FOLDER);
        std::fs::create_dir(&folder).unwrap();
        let kept = ["thesis.tex", "k-0123456789abcdef.hosts", "k-0123456789abcdef.placed"];
        kept.iter().for_each(|name| old(&folder.join(name)));
        OrderFile::named(&folder.join("order.txt"), b"n0\n".to_vec()).write().unwrap();
        for name in kept {
            assert!(folder.join(name).exists(), "{name} is in a folder of the user");
        }
        // In the store, only files that a launch wrote are removed.
        let others =
            ["thesis.tex", "-0123456789abcdef.hosts", "k-0123456789ABCDEF.hosts", "k-1.hosts"];
        others.iter().for_each(|name| old(&folder.join(name)));
        std::fs::write(folder.join("new-0123456789abcdef.hosts"), "x").unwrap();
        std::os::unix::fs::symlink("thesis.tex", folder.join("l-0123456789abcdef.hosts")).unwrap();
        let store = Store::open(directory.path());
        OrderFile::in_store(&store, "k", "hosts", b"n0\n".to_vec()).write().unwrap();
        for name in others.iter().chain(&["new-0123456789abcdef.hosts", "order.txt"]) {
            assert!(folder.join(name).exists(), "{name}");
        }
        assert!(folder.join("l-0123456789abcdef.hosts").is_symlink());
        for name in &kept[1..] {
            assert!(!folder.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn folders_that_another_user_made_a_link_are_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let foreign = elsewhere.path().join("k-0123456789abcdef.hosts");
        old(&foreign);
        let link = directory.path().join(FOLDER);
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        // Only root can give a link away.
        if std::os::unix::fs::lchown(&link, Some(file::user() + 1), None).is_ok() {
            let file =
                OrderFile::in_store(&Store::open(directory.path()), "k", "hosts", Vec::new());
            assert!(file.write().is_err());
            assert!(foreign.exists());
        }
    }
}
