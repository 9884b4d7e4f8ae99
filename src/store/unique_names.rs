//! Names of files that no other process uses, also of another node.

use crate::base::clock::since_1970;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file name in the same directory that no other save uses.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or(OsStr::new("record")).to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", unique_name()))
}

/// A part of a file name that nobody else uses.
pub(super) fn unique_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    // Processes of two nodes can have the same number, so the name contains the time as well.
    format!(
        "{:x}-{:x}-{:x}",
        std::process::id(),
        since_1970().as_nanos() as u64,
        COUNTER.fetch_add(1, Ordering::Relaxed)
    )
}
