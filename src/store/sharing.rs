//! What is made in the store of a group can be used by the whole group.
//!
//! A store with the setgid bit that its group may write (`chmod 2775`) is common to the group. With the usual umask
//! 022, a folder that one member makes in it could not be written by the others, and their records would be refused.
//! So a new file or folder in it gets the permissions that the store gives to the group. Those of all others still
//! follow from the umask.
//!
//! Nothing is changed where this could open something to others: the store itself keeps its permissions, and only what
//! belongs to this user and to the group of the store gets more. Directories with a sticky bit, in which members must
//! not replace each other's files, and directories with access lists stay as they are. What is changed is what was
//! opened, never what a path leads to, because another member may put a link there.
//!
//! Limits: folders that another user made without these permissions stay as they are, until that user's next launch.

use crate::base::file::user;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Result;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Read, write and search permissions of the group.
const GROUP: u32 = 0o070;
const GROUP_WRITES: u32 = 0o020;
const SETGID: u32 = 0o2000;
const STICKY: u32 = 0o1000;
const EXECUTE: u32 = 0o111;

/// A directory that is common to a group: the group, and its permissions.
struct Common {
    group: u32,
    given: u32,
}

impl Common {
    /// `None` if the open directory is not common to a group of this user.
    fn of(directory: &File) -> Option<Common> {
        let meta = directory.metadata().ok()?;
        let mode = meta.mode();
        let is_common = mode & SETGID != 0 && mode & GROUP_WRITES != 0 && mode & STICKY == 0;
        let usable = is_common && is_member(meta.gid()) && !has_access_list(directory);
        usable.then_some(Common { group: meta.gid(), given: mode & GROUP })
    }

    /// Adds permissions to what belongs to this user and to the group. A file system that cannot change them leaves
    /// them as they are: the file is complete, and only the group cannot use it.
    fn add(&self, open: &File, more: u32) {
        let Ok(meta) = open.metadata() else { return };
        let mode = meta.mode() & 0o7777;
        let is_ours = meta.uid() == user() && meta.gid() == self.group;
        if is_ours && mode & more != more && !has_access_list(open) {
            let _ = open.set_permissions(Permissions::from_mode(mode | more));
        }
    }
}

/// Creates a folder of a store, and those above it, and gives it the permissions for the group.
///
/// Errors: the folder cannot be created.
pub(super) fn create_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    share_folder(folder);
    Ok(())
}

/// Gives a folder of a store the permissions for the group.
pub(super) fn share_folder(folder: &Path) {
    // With a slash at its end, a path would lead through a link.
    let folder: PathBuf = folder.components().collect();
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let Ok(open) = OpenOptions::new().read(true).custom_flags(flags).open(folder) else { return };
    // A folder that did not take over the setgid bit and the group was made elsewhere.
    if open.metadata().is_ok_and(|meta| meta.mode() & SETGID != 0)
        && let Some(above) = directory_above(&open)
        && let Some(common) = Common::of(&above)
    {
        common.add(&open, common.given);
    }
}

/// Gives a file that was made just now at this path the permissions for the group.
pub(super) fn share(file: &File, path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let flags = libc::O_DIRECTORY;
    let Ok(above) = OpenOptions::new().read(true).custom_flags(flags).open(folder) else { return };
    let Some(common) = Common::of(&above) else { return };
    // The folder may be another one than that in which the file was made.
    let place = PathBuf::from(format!("/proc/self/fd/{}", above.as_raw_fd()));
    let there = fs::symlink_metadata(place.join(name));
    if let (Ok(there), Ok(here)) = (there, file.metadata())
        && (there.dev(), there.ino()) == (here.dev(), here.ino())
    {
        common.add(file, common.given & !EXECUTE);
    }
}

/// The directory above an open one, whatever its path is by now.
fn directory_above(open: &File) -> Option<File> {
    let flags = libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the descriptor is open, and the name is a C string.
    let above = unsafe { libc::openat(open.as_raw_fd(), c"..".as_ptr(), flags) };
    // SAFETY: the descriptor was opened just now, and nothing else owns it.
    (above >= 0).then(|| unsafe { File::from_raw_fd(above) })
}

/// Whether this user belongs to a group. Whoever does not would lose the setgid bit by changing permissions.
fn is_member(group: u32) -> bool {
    // SAFETY: getegid has no preconditions and cannot fail.
    if user() == 0 || unsafe { libc::getegid() } == group {
        return true;
    }
    // SAFETY: with the size 0, nothing is written, and the number of groups is returned.
    let count = unsafe { libc::getgroups(0, std::ptr::null_mut()) };
    let mut groups = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the buffer has as many places as the size says.
    let found = unsafe { libc::getgroups(count.max(0), groups.as_mut_ptr()) };
    groups.truncate(usize::try_from(found).unwrap_or(0));
    groups.contains(&group)
}

/// Whether a file has an access list. The permissions of the group are then those of a mask, and mean something else.
fn has_access_list(open: &File) -> bool {
    let name = c"system.posix_acl_access".as_ptr();
    // SAFETY: the descriptor is open and the name a C string; no buffer is given, only the size is asked for.
    unsafe { libc::fgetxattr(open.as_raw_fd(), name, std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// A store with a mode, and the modes of a new folder and a new file in it.
    fn made(store_mode: u32) -> [u32; 2] {
        let place = tempfile::tempdir().unwrap();
        let store = place.path().join("store");
        fs::create_dir(&store).unwrap();
        set(&store, store_mode);
        create_folder(&store.join("new")).unwrap();
        let path = store.join("new/file");
        share(&File::create_new(&path).unwrap(), &path);
        assert_eq!(mode(&store), store_mode);
        [mode(&store.join("new")), mode(&path)]
    }

    #[test]
    fn what_a_group_shares_is_for_the_group_whatever_the_umask() {
        let of_group = |modes: [u32; 2]| modes.map(|mode| mode & (SETGID | GROUP));
        for store in [0o2775, 0o2770, 0o2777] {
            assert_eq!(of_group(made(store)), [0o2070, 0o060], "{store:o}");
        }
    }

    #[test]
    fn elsewhere_the_umask_decides() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("plain")).unwrap();
        let plain = mode(&place.path().join("plain"));
        for store in [0o755, 0o775, 0o2755, 0o700, 0o1777, 0o3775] {
            assert_eq!(made(store)[0] & 0o777, plain, "{store:o}");
        }
    }

    /// A store stays private in the directory of a group, and so does a folder that was not made in the store.
    #[test]
    fn nothing_is_opened_that_was_closed() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().join("project");
        fs::create_dir(&project).unwrap();
        let (own, moved) = (project.join("own"), project.join("moved"));
        for folder in [&own, &moved] {
            fs::create_dir(folder).unwrap();
        }
        set(&project, 0o2775);
        set(&own, 0o700);
        set(&moved, 0o755);
        create_folder(&own.join("k.runs")).unwrap();
        share_folder(&moved);
        assert_eq!((mode(&own), mode(&moved)), (0o700, 0o755));
        assert_eq!(mode(&own.join("k.runs")) & 0o020, 0);
        // A link is not followed, with a slash behind it or without.
        let victim = place.path().join("victim");
        fs::create_dir(&victim).unwrap();
        set(&victim, 0o2755);
        let link = project.join("link");
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        share_folder(&link);
        share_folder(Path::new(&format!("{}/", link.display())));
        assert_eq!(mode(&victim), 0o2755);
    }
}
