//! Errors of the files of a store, with what a user can do about them.
//!
//! The advice depends on the reason: a store may be another user's, a file, or on a disk that is full.

use crate::base::error::{Error, ErrorKind, Result};
use std::io;
use std::path::Path;

/// What to do if a store is no directory.
const NO_DIRECTORY: &str = "name a directory with --store or RANKWEAVE_STORE";

/// A file of the store cannot be read.
pub(super) fn unreadable(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::io(what, path, error).advise(match error.kind() {
        io::ErrorKind::NotADirectory => NO_DIRECTORY,
        io::ErrorKind::PermissionDenied => {
            "ask the owner for the permission to read it, or use another directory with --store"
        }
        _ => "check that the disk works, or use another directory with --store",
    })
}

/// A file of the store cannot be written.
pub(super) fn unwritable(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::io(what, path, error).advise(match error.kind() {
        io::ErrorKind::NotADirectory => NO_DIRECTORY,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "use a directory of your own with --store; --also-read names stores that you may only read"
        }
        _ => "check the space and the permissions there, or use another directory with --store",
    })
}

/// Checks before a launch that the directory of a store is no file. One that does not exist is made later.
///
/// Errors: the path exists and is no directory, or a part of it is a file.
pub fn check_directory(directory: &Path) -> Result<()> {
    let refused = match std::fs::metadata(directory) {
        Ok(found) => !found.is_dir(),
        Err(error) => error.kind() == io::ErrorKind::NotADirectory,
    };
    if !refused {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Usage,
        "the store must be a directory, but this is a file or lies below one",
    )
    .at(directory.display())
    .advise(NO_DIRECTORY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_store_and_a_missing_directory_may_become_one() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        for (name, good) in [("", true), ("missing", true), ("file", false), ("file/below", false)]
        {
            assert_eq!(check_directory(&path(name)).is_ok(), good, "{name}");
        }
    }
}
