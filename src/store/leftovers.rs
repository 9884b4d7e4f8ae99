//! What interrupted writes leave: files that nobody will rename any more.

use crate::base::file;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Age above which the leftover of an interrupted write is removed.
pub(super) const STALE: Duration = Duration::from_secs(24 * 3600);

/// Files that are looked at when leftovers are removed: more would make the end of a launch slow in a store with a million
/// records. `rankweave gc` looks at all.
const MOST_SWEPT: usize = 4096;

/// Removes this user's leftovers in a folder whose names [`temporary`](super::unique_names::temporary) gave, and are known.
/// Of a large folder, only a part is looked at.
pub(super) fn sweep(folder: &Path, is_known: impl Fn(&str) -> bool) {
    let Ok(files) = fs::read_dir(folder) else { return };
    for file in files.take(MOST_SWEPT).flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        let ours = name.starts_with('.') && name.ends_with(".tmp") && is_known(&name);
        if ours && is_stale(&file) && file::is_own(&file.path()) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Whether a file is older than the leftovers of writes that may still be under way.
pub(super) fn is_stale(file: &fs::DirEntry) -> bool {
    is_older(file, STALE)
}

/// Whether a file was written more than `age` ago.
pub(super) fn is_older(file: &fs::DirEntry, age: Duration) -> bool {
    let changed = file.metadata().and_then(|meta| meta.modified()).ok();
    changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|since| since > age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_and_known_leftovers_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(2 * 86_400);
        let names = [
            ".a.list.1-1-1.tmp",
            ".new.list.1-1-1.tmp",
            ".b.other.1-1-1.tmp",
            "a.list.tmp",
            ".c.list",
        ];
        for name in names {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            if !name.contains("new") {
                file.set_modified(long_ago).unwrap();
            }
        }
        sweep(dir.path(), |name| name.contains(".list."));
        let left = names.map(|name| dir.path().join(name).exists());
        assert_eq!(left, [false, true, true, true, true]);
        sweep(&dir.path().join("nothing"), |_| true);
    }
}
