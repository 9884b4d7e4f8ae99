//! What is made in the store of a group can be used by the whole group.
//!
//! A directory with the setgid bit that its group may write (`chmod 2775`) is common to the group. With the usual umask
//! 022, a folder that one member makes in it could not be written by the others, and their records would be refused. So
//! a new file or folder gets the permissions that its directory gives to the group. Those of all others still follow
//! from the umask.
//!
//! Limits: folders that another user made without these permissions stay as they are, until that user's next launch.

use crate::base::file::user;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Read, write and search permissions of the group.
const GROUP: u32 = 0o070;
const GROUP_WRITES: u32 = 0o020;
const SETGID: u32 = 0o2000;
const EXECUTE: u32 = 0o111;

/// The permissions that a directory gives to its group; `None` if it is not common to the group.
fn given_by(directory: &Path) -> Option<u32> {
    let mode = fs::metadata(directory).ok()?.mode();
    (mode & SETGID != 0 && mode & GROUP_WRITES != 0).then_some(mode & GROUP)
}

/// Creates a folder, and those above it. A folder of this user gets the permissions for the group, even if it is there
/// already.
///
/// Errors: the folder cannot be created, or something else has its name ([`ErrorKind::NotADirectory`]).
pub(super) fn create_folder(folder: &Path) -> Result<()> {
    if let Some(above) = folder.parent()
        && !above.as_os_str().is_empty()
        && !above.exists()
    {
        create_folder(above)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Err(_) if !folder.is_dir() => {
            // Another process may have removed a folder just now. Else it is a file.
            fs::create_dir(folder).map_err(|_| Error::from(ErrorKind::NotADirectory))?;
        }
        _ => {}
    }
    let Some(given) = folder.parent().and_then(given_by) else { return Ok(()) };
    // Another member of the group may put a link in place of the folder, so what is changed is what was opened.
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    if let Ok(open) = OpenOptions::new().read(true).custom_flags(flags).open(folder) {
        add(&open, given | SETGID);
    }
    Ok(())
}

/// Gives a file that was made just now the permissions for the group.
pub(super) fn share(file: &File, path: &Path) {
    if let Some(given) = path.parent().and_then(given_by) {
        add(file, given & !EXECUTE);
    }
}

/// Adds permissions to what belongs to this user. A file system that cannot change them leaves them as they are: the
/// file is complete, and only the group cannot use it.
fn add(open: &File, more: u32) {
    let Ok(meta) = open.metadata() else { return };
    let mode = meta.mode() & 0o7777;
    if mode & more != more && meta.uid() == user() {
        let _ = open.set_permissions(Permissions::from_mode(mode | more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    /// A folder with a mode, and in it a new folder, a new file, and a folder that was there before with 0755.
    fn made(parent_mode: u32) -> [u32; 3] {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("store");
        fs::create_dir(&root).unwrap();
        fs::create_dir(root.join("old")).unwrap();
        fs::set_permissions(root.join("old"), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&root, Permissions::from_mode(parent_mode)).unwrap();
        create_folder(&root.join("old")).unwrap();
        create_folder(&root.join("new/inner")).unwrap();
        let path = root.join("new/inner/file");
        share(&File::create_new(&path).unwrap(), &path);
        [mode(&root.join("old")), mode(&root.join("new/inner")), mode(&path)]
    }

    #[test]
    fn what_a_group_shares_is_for_the_group_whatever_the_umask() {
        // The umask of the test is not known, so only the permissions of the group are compared.
        let of_group = |modes: [u32; 3]| modes.map(|mode| mode & (SETGID | GROUP));
        assert_eq!(of_group(made(0o2775)), [0o2070, 0o2070, 0o060]);
        assert_eq!(of_group(made(0o2770)), [0o2070, 0o2070, 0o060]);
        // Nothing is added for all others.
        assert_eq!(made(0o2777)[0], 0o2775);
    }

    #[test]
    fn elsewhere_the_umask_decides() {
        for parent_mode in [0o755, 0o775, 0o2755, 0o700, 0o1777] {
            assert_eq!(made(parent_mode)[0], 0o755, "{parent_mode:o}");
        }
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "").unwrap();
        assert!(create_folder(&path).is_err() && create_folder(&path.join("below")).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"");
    }
}
