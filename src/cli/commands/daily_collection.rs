//! The bound of a store without an epilog: `rankweave run` starts `rankweave gc` once a day.
//!
//! `run` becomes the launcher, so that it cannot do anything after the launch. It therefore starts the command before the launch, and
//! what is removed is what earlier launches left. The command goes on in the background as a child of no launch. It prints
//! nothing, and its result does not matter to the launch.
//!
//! The folder `.collected-DATE-UID` in the store says that the work of a day is done. The epilog of a site makes the same one.
//! Of several launches that begin at the same time, only one can make it, also in a network file system.
//!
//! Only the user's own store is bounded, and not one that a group may write (with the setgid bit): somebody has to bound that one by
//! hand.

use crate::base::clock::since_1970;
use crate::base::file::user;
use crate::launch::Storage;
use crate::options::{Mode, Settings};
use crate::report::units;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Beginning of the names of the folders of days.
const DONE: &str = ".collected-";
/// The setgid bit, and the permission of the group to write.
const OF_GROUP: u32 = 0o2020;
/// How much less important the work in the background is.
const NICE: i32 = 10;

/// Starts `rankweave gc` with the bound of the settings, if there is one and this was not done today. Nothing is said
/// if that is not possible.
pub(super) fn start(settings: &Settings) {
    let Some(bound) = settings.store_bound.filter(|_| settings.mode != Mode::Off) else { return };
    let store = Storage::open(settings).ok();
    let directory = store.and_then(|store| std::path::absolute(store.directory()).ok());
    let Some(directory) = directory.filter(|directory| is_due(directory)) else { return };
    let Ok(command) = std::env::current_exe() else { return };
    let mut gc = Command::new(command);
    gc.args(["gc", "--once-a-day"]).args(bound.words()).arg("--store").arg(&directory);
    gc.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It is over as soon as it works in the background.
    let _ = gc.status();
}

/// Goes on in the background, and takes the work of this day. `false` in the process that is not the one in the
/// background, and if there is nothing to do.
pub(super) fn begin(store: &Path) -> bool {
    // SAFETY: this process has one thread, so that the new one may do everything.
    match unsafe { libc::fork() } {
        0 => {}
        _ => return false,
    }
    // SAFETY: none of the calls takes pointers, and this process has opened no descriptor yet that it still uses. If they
    // fail, the work is the same.
    unsafe {
        libc::setsid();
        libc::nice(NICE);
        // Otherwise a pipe or a lock of the user's script would stay open until the work is done.
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32);
    }
    is_due(store) && take(store, &day())
}

/// Whether the store may be bounded, and this was not done today.
fn is_due(store: &Path) -> bool {
    let meta = fs::metadata(store).ok().filter(fs::Metadata::is_dir);
    let is_own =
        meta.is_some_and(|meta| meta.uid() == user() && meta.mode() & OF_GROUP != OF_GROUP);
    is_own && fs::symlink_metadata(folder(store, &day())).is_err()
}

/// Makes the folder of the day, and removes those of earlier days. `false` if it is there already.
fn take(store: &Path, day: &str) -> bool {
    let own = folder(store, day);
    if fs::create_dir(&own).is_err() {
        return false;
    }
    let ending = format!("-{}", user());
    for file in fs::read_dir(store).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.starts_with(DONE) && name.ends_with(&ending) && file.path() != own {
            // Only an empty folder is removed.
            let _ = fs::remove_dir(file.path());
        }
    }
    true
}

fn folder(store: &Path, day: &str) -> PathBuf {
    store.join(format!("{DONE}{day}-{}", user()))
}

/// Today in UTC, such as `2026-11-29`.
fn day() -> String {
    units::time(since_1970().as_secs()).chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn once_a_day_and_only_in_an_own_store() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path();
        assert!(is_due(store) && !is_due(&store.join("nothing")));
        assert!(take(store, "2026-11-28") && !take(store, "2026-11-28"));
        assert!(is_due(store), "another day");
        let other = store.join(".collected-2026-11-27-other");
        fs::create_dir(&other).unwrap();
        assert!(take(store, &day()) && !is_due(store));
        assert!(other.exists() && !folder(store, "2026-11-28").exists());
        fs::remove_dir(folder(store, &day())).unwrap();
        for (mode, due) in [(0o2775, false), (0o2755, true), (0o775, true), (0o700, true)] {
            fs::set_permissions(store, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_due(store), due, "{mode:o}");
        }
        assert_eq!(day().len(), 10);
    }
}
