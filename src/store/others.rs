//! Links that another user made in a store to which several users can write.
//!
//! Such a link may lead to a file or folder that its maker cannot read or change: a private record of this
//! user, whose content would then be copied into the common store, or a folder in which this user's files would
//! be made and removed. Links of other users are not followed. Links of this user and of root are followed.

use super::Record;
use super::record_format::{Head, read_file, read_head};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file::is_link_of_another;
use std::path::Path;

/// [`read_file`] of a file in a store. A link of another user counts as damage, so it makes way for the
/// next record.
pub(super) fn read_stored(path: &Path) -> Result<Record> {
    check_file(path).and_then(|()| read_file(path))
}

/// The head of a file in a store, see [`read_stored`].
pub(super) fn read_stored_head(path: &Path) -> Result<(Head, u64)> {
    check_file(path).and_then(|()| read_head(path))
}

fn check_file(path: &Path) -> Result<()> {
    check(path, ErrorKind::Format)
}

/// Errors: a folder of the store is a link that another user made.
pub fn check_folder(folder: &Path) -> Result<()> {
    check(folder, ErrorKind::Io)
}

fn check(path: &Path, kind: ErrorKind) -> Result<()> {
    match is_link_of_another(path) {
        true => Err(Error::new(kind, "this is a link that another user made, and is not used")
            .at(path.display())
            .advise("remove the link")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, SparseMatrix};
    use std::os::unix::fs::{lchown, symlink};

    #[test]
    fn only_links_of_others_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
        let file = dir.path().join("file");
        let bytes = crate::store::encode(&Record::of_matrix("k", matrix)).unwrap();
        std::fs::write(&file, bytes).unwrap();
        let link = dir.path().join("link");
        symlink(&file, &link).unwrap();
        assert!(read_stored(&link).is_ok() && read_stored_head(&link).is_ok());
        assert!(check_folder(&link).is_ok());
        // Only root can give a link away.
        if lchown(&link, Some(crate::base::file::user() + 1), None).is_ok() {
            assert_eq!(read_stored(&link).unwrap_err().kind(), ErrorKind::Format);
            assert!(read_stored_head(&link).is_err() && check_folder(&link).is_err());
        }
    }
}
