//! Removes spill files that nobody has recovered for a long time: they take memory of the node.
//!
//! The time of a mapped file does not tell when its process ended, because the kernel does not change it with each
//! count. The first launch that finds a file of a process that has ended therefore marks the file: it gives it the
//! present time, and a time of the last access that no other file has. A later launch removes it if the mark is
//! old. A file that somebody reads in between may lose the mark, and then gets a new one.
//!
//! Limits: a file stays until the node is rebooted if the user never starts another launch there. A site avoids that
//! with an epilog of its jobs (`scripts/packaging/epilog`). File systems without locks do not tell whether a process
//! has ended; nothing is removed there.

use super::directory::open_own;
use super::layout;
use std::fs::{File, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// After so many days, a marked file is removed.
pub const DAYS_KEPT: u64 = 7;
/// Entries of a directory that are looked at: others may keep many files there.
const MOST: usize = 4096;
/// The time of the last access of a marked file: one second after the beginning of 1970.
const MARK: Duration = Duration::from_secs(1);

/// Marks the spill files of `user` in a directory whose processes have ended, and removes those that were marked at
/// least `age` before. Returns the number of removed files.
pub fn expire(directory: &Path, user: u32, age: Duration) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let mut removed = 0;
    for entry in entries.take(MOST).flatten() {
        let name = entry.file_name();
        let Some((owner, ..)) = name.to_str().and_then(layout::parse_name) else { continue };
        let opened = if owner == user { open_own(&entry.path(), user) } else { Ok(None) };
        let Ok(Some((file, meta))) = opened else { continue };
        // The process holds a lock as long as it has mapped the file.
        if file.try_lock_shared().is_err() {
            continue;
        }
        let since = meta.modified().ok().and_then(|at| at.elapsed().ok());
        let is_marked = meta.accessed().is_ok_and(|at| at == SystemTime::UNIX_EPOCH + MARK);
        if !is_marked {
            mark(&file);
        } else if since.is_some_and(|since| since >= age) {
            removed += usize::from(std::fs::remove_file(entry.path()).is_ok());
        }
    }
    removed
}

/// A file that cannot be marked stays.
fn mark(file: &File) {
    let accessed = SystemTime::UNIX_EPOCH + MARK;
    let times = FileTimes::new().set_accessed(accessed).set_modified(SystemTime::now());
    let _ = file.set_times(times);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::file::user;

    const WEEK: Duration = Duration::from_secs(7 * 86_400);

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|e| e.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Lets time pass for the marks.
    fn age(path: &Path, by: Duration) {
        let times = FileTimes::new()
            .set_accessed(SystemTime::UNIX_EPOCH + MARK)
            .set_modified(SystemTime::now() - by);
        File::open(path).unwrap().set_times(times).unwrap();
    }

    #[test]
    fn files_of_ended_processes_are_marked_and_later_removed() {
        let dir = tempfile::tempdir().unwrap();
        let name = |process| layout::file_name(user(), 7, process, 99);
        for process in 0..3 {
            std::fs::write(dir.path().join(name(process)), b"x").unwrap();
        }
        let others = layout::file_name(user() + 1, 7, 0, 99);
        for other in [others.as_str(), "data.spill"] {
            std::fs::write(dir.path().join(other), b"x").unwrap();
            age(&dir.path().join(other), 3 * WEEK);
        }
        // However old a file is, it is marked first: its process may have ended just now.
        let old = File::open(dir.path().join(name(0))).unwrap();
        let times = FileTimes::new().set_modified(SystemTime::now() - 9 * WEEK);
        old.set_times(times).unwrap();
        assert_eq!(expire(dir.path(), user(), WEEK), 0);
        assert_eq!(expire(dir.path(), user(), WEEK), 0);
        age(&dir.path().join(name(0)), WEEK + Duration::from_secs(9));
        age(&dir.path().join(name(1)), WEEK - Duration::from_secs(99));
        age(&dir.path().join(name(2)), 2 * WEEK);
        let running = File::open(dir.path().join(name(2))).unwrap();
        running.lock().unwrap();
        assert_eq!(expire(dir.path(), user(), WEEK), 1);
        let mut left = vec![name(1), name(2), others, "data.spill".into()];
        left.sort();
        assert_eq!(names(dir.path()), left);
        drop(running);
        assert_eq!(expire(dir.path(), user(), WEEK), 1);
        assert_eq!(expire(&dir.path().join("none"), user(), WEEK), 0);
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        std::fs::write(&target, b"x").unwrap();
        let link = dir.path().join(layout::file_name(user(), 7, 0, 99));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        age(&target, 3 * WEEK);
        assert_eq!(expire(dir.path(), user(), WEEK), 0);
        assert!(target.exists() && link.exists());
    }
}
