//! Reads the heads of the records in a directory, also of a million of them: one page of each file. The files are read in the order of
//! their numbers, which is that of their places on the disk in most file systems, and by more threads than there are
//! processors, because they mostly wait for the disk or for a server.

use super::entry::{Entry, is_file_of};
use super::file_name::ENDING;
use super::list_row::NewRow;
use super::record_format::head_in;
use crate::base::file::FileIdentity;
use crate::base::threads::in_threads;
use std::collections::HashSet;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Result};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that read files.
const READING: usize = 16;
/// Files that a thread takes at once.
const TAKEN: usize = 64;
/// Bytes of a record that are read. Nearly all heads are shorter.
const FIRST: usize = 4096;

/// A record whose head has to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unread {
    /// The number of its file.
    pub number: u64,
    /// The name of its file without ending.
    pub stem: String,
    /// Where the name stands in the directory, counted in records.
    pub position: u32,
}

/// What the heads of records say.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// Rows for an index.
    pub rows: Vec<u8>,
    /// The files that cannot be read.
    pub bad: Vec<Entry>,
}

/// Reads the heads of records. Files that have disappeared are left out.
///
/// Errors: the directory cannot be opened.
pub(super) fn read_heads(directory: &Path, mut files: Vec<Unread>) -> Result<Heads> {
    if files.is_empty() {
        return Ok(Heads::default());
    }
    files.sort_unstable();
    // A directory that changes while it is read can give a name twice.
    let mut names = HashSet::with_capacity(files.len());
    let is_first: Vec<bool> = files.iter().map(|file| names.insert(file.stem.as_str())).collect();
    drop(names);
    let mut is_first = is_first.into_iter();
    files.retain(|_| is_first.next().unwrap_or(true));
    let open = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(directory)?;
    let next = AtomicUsize::new(0);
    let read = || {
        let (mut heads, mut buffer) = (Heads::default(), vec![0; FIRST]);
        loop {
            let from = next.fetch_add(TAKEN, Ordering::Relaxed).min(files.len());
            let some = &files[from..files.len().min(from + TAKEN)];
            if some.is_empty() {
                return heads;
            }
            for file in some {
                if !put_head(&open, file, &mut buffer, &mut heads.rows) {
                    read_slowly(directory, file, &mut heads);
                }
            }
        }
    };
    let parts = in_threads(files.len().div_ceil(TAKEN).min(READING), read);
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        all.rows.extend_from_slice(&part.rows);
        all.bad.extend(part.bad);
    }
    all.bad.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// Adds the row of a record that is a regular file with a sound head of the usual length. `false` for every other one.
fn put_head(directory: &File, unread: &Unread, buffer: &mut [u8], rows: &mut Vec<u8>) -> bool {
    let stem = unread.stem.as_str();
    let Ok(name) = CString::new(format!("{stem}{ENDING}")) else { return false };
    let flags =
        libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: an open descriptor and a C string; no file is made, so that no mode is read.
    let fd = unsafe { libc::openat(directory.as_raw_fd(), name.as_ptr(), flags) };
    if fd < 0 {
        return false;
    }
    // SAFETY: the descriptor was opened just now, and nothing else owns it.
    let mut file = unsafe { File::from_raw_fd(fd) };
    let Ok(meta) = file.metadata() else { return false };
    if !meta.is_file() {
        return false;
    }
    let mut length = 0;
    while (length as u64) < meta.len() && length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(_) => return false,
        }
    }
    let Some(head) = head_in(&buffer[..length], meta.len()) else { return false };
    let row = NewRow {
        stem,
        key: if is_file_of(&head.key, stem) { &head.key } else { stem },
        program: &head.program,
        identity: identity(&meta),
        tasks: head.offsets.saturating_sub(1),
        recorded_at: head.recorded_at,
        position: unread.position,
    };
    row.put(rows);
    true
}

/// Reads a record in the way that all others read it, which says what is wrong with it.
fn read_slowly(directory: &Path, unread: &Unread, heads: &mut Heads) {
    let stem = unread.stem.as_str();
    let path = directory.join(format!("{stem}{ENDING}"));
    let Ok(meta) = fs::symlink_metadata(&path) else { return };
    let entry = Entry::of(path, stem);
    if entry.problem.is_some() {
        heads.bad.push(entry);
        return;
    }
    let row = NewRow {
        stem,
        key: &entry.key,
        program: &entry.program,
        identity: FileIdentity { size: entry.size, ..identity(&meta) },
        tasks: entry.tasks,
        recorded_at: entry.recorded_at,
        position: unread.position,
    };
    row.put(&mut heads.rows);
}

/// The identity of a file with these properties.
pub(super) fn identity(meta: &fs::Metadata) -> FileIdentity {
    let changed = (meta.mtime(), meta.mtime_nsec() as u32);
    FileIdentity { size: meta.len(), changed, inode: meta.ino() }
}
