//! Reads the names and the heads of the records in a directory, also if there are a million of them.
//!
//! The names are read in large pieces, and several threads compare the files with what an index says of them. For this, each
//! file is asked for its size, time and number (`fstatat`). The number that the directory itself gives would not be enough:
//! file systems give the number of a removed file to the next one that is made, so that a record that was replaced twice
//! often has its first number again.
//!
//! Of a new or changed record, the head is read: one page of the file. The files are read in the order of their numbers, which
//! is that of their places on the disk in most file systems, and by more threads than there are processors, because they
//! mostly wait for the disk or for a server.

use super::entry::{Entry, is_file_of};
use super::file_name::ENDING;
use super::list_index::{Index, NewRow};
use super::record_format::head_in;
use crate::base::file::FileIdentity;
use crate::base::threads::in_threads;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, Read, Result};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Bytes of names that are read at once.
const PIECE: usize = 128 << 10;
/// Threads that compare files.
const COMPARING: usize = 8;
/// Threads that read files.
const READING: usize = 16;
/// Files that a thread takes at once.
const TAKEN: usize = 64;
/// Bytes of a record that are read. Nearly all heads are shorter.
const FIRST: usize = 4096;
/// Ending of the files with verdicts.
const VERDICTS: &str = ".verdict";
/// Bytes in front of the name in an entry of a directory.
const BEFORE_NAME: usize = 19;

/// What is in a directory, compared with an index.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Whether the file of each row is there and is the same.
    pub same: Vec<bool>,
    /// The number and the name without ending of each record that is not in the index, or is another file than there.
    pub fresh: Vec<(u64, String)>,
    /// Names without ending of the files with verdicts, ascending.
    pub verdicts: Vec<String>,
}

/// What the heads of records say.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// Rows for an index.
    pub rows: Vec<u8>,
    /// The files that cannot be read.
    pub bad: Vec<Entry>,
}

/// Compares the files of a directory with an index, whose table has been made.
///
/// Errors: the directory cannot be read.
pub(super) fn scan(directory: &Path, index: &Index) -> Result<Found> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(directory)?;
    let same: Vec<AtomicBool> = (0..index.rows()).map(|_| AtomicBool::new(false)).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, COMPARING);
    let (send, receive) = sync_channel::<Vec<u8>>(4 * threads);
    let receive = Mutex::new(receive);
    let compare = || {
        let mut found = Found::default();
        loop {
            // The lock is free again before the piece is looked at.
            let piece = receive.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(piece) = piece else { return found };
            compare_piece(&piece, &open, index, (&same, &mut found));
        }
    };
    let (read, parts) =
        std::thread::scope(|scope| {
            let start = |_| std::thread::Builder::new().spawn_scoped(scope, compare).ok();
            let started: Vec<_> = (0..threads).filter_map(start).collect();
            let mut here = Found::default();
            let read = read_names(&open, |piece| {
                // What the threads have no room for is compared here. So nothing waits for a thread that could not be made.
                if let Err(TrySendError::Full(piece) | TrySendError::Disconnected(piece)) =
                    send.try_send(piece)
                {
                    compare_piece(&piece, &open, index, (&same, &mut here));
                }
            });
            drop(send);
            let mut parts = vec![here, compare()];
            parts.extend(started.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
            (read, parts)
        });
    read?;
    let mut all = Found::default();
    for part in parts {
        all.fresh.extend(part.fresh);
        all.verdicts.extend(part.verdicts);
    }
    all.verdicts.sort_unstable();
    all.verdicts.dedup();
    all.same = same.into_iter().map(AtomicBool::into_inner).collect();
    Ok(all)
}

/// Reads the entries of a directory in pieces.
fn read_names(directory: &File, mut take: impl FnMut(Vec<u8>)) -> Result<()> {
    loop {
        let mut piece = vec![0u8; PIECE];
        // SAFETY: the descriptor is open, and the buffer has as many bytes as the call is told.
        let length = unsafe {
            let (fd, buffer) = (directory.as_raw_fd(), piece.as_mut_ptr());
            libc::syscall(libc::SYS_getdents64, fd, buffer, piece.len())
        };
        match usize::try_from(length) {
            Err(_) => {
                let error = Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            Ok(0) => return Ok(()),
            Ok(length) => {
                piece.truncate(length);
                take(piece);
            }
        }
    }
}

/// Compares the files of a piece.
fn compare_piece(
    piece: &[u8],
    directory: &File,
    index: &Index,
    (same, found): (&[AtomicBool], &mut Found),
) {
    let mut rest = piece;
    while let Some((number, name, behind)) = first_entry(rest) {
        rest = behind;
        let Ok(text) = name.to_str() else { continue };
        if text.starts_with('.') {
            continue;
        }
        if let Some(stem) = text.strip_suffix(ENDING) {
            match index.find(stem) {
                Some(row) if identity_of(directory, name) == Some(index.row(row).identity()) => {
                    same[row as usize].store(true, Ordering::Relaxed);
                }
                _ => found.fresh.push((number, stem.to_string())),
            }
        } else if let Some(stem) = text.strip_suffix(VERDICTS) {
            found.verdicts.push(stem.to_string());
        }
    }
}

/// The number and the name of the first entry in these bytes, and the bytes behind it.
fn first_entry(bytes: &[u8]) -> Option<(u64, &CStr, &[u8])> {
    let number = u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?);
    let length = u16::from_ne_bytes(bytes.get(16..18)?.try_into().ok()?);
    let (entry, behind) = bytes.split_at_checked(usize::from(length))?;
    let name = CStr::from_bytes_until_nul(entry.get(BEFORE_NAME..)?).ok()?;
    Some((number, name, behind))
}

/// The identity of the regular file with this name; `None` for everything else.
fn identity_of(directory: &File, name: &CStr) -> Option<FileIdentity> {
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: an open descriptor, a C string, and a struct of the right type, for which all zeros are a valid value.
    let (code, stat) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::fstatat(directory.as_raw_fd(), name.as_ptr(), &raw mut stat, flags), stat)
    };
    let is_file = code == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    let changed = (stat.st_mtime, stat.st_mtime_nsec as u32);
    is_file.then_some(FileIdentity { size: stat.st_size as u64, changed, inode: stat.st_ino })
}

/// Reads the heads of records. Files that have disappeared are left out.
///
/// Errors: the directory cannot be opened.
pub(super) fn read_heads(directory: &Path, mut files: Vec<(u64, String)>) -> Result<Heads> {
    if files.is_empty() {
        return Ok(Heads::default());
    }
    files.sort_unstable();
    // A directory that changes while it is read can give a name twice.
    let mut names = HashSet::with_capacity(files.len());
    let is_first: Vec<bool> = files.iter().map(|(_, stem)| names.insert(stem.as_str())).collect();
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
            for (_, stem) in some {
                if !put_head(&open, stem, &mut buffer, &mut heads.rows) {
                    read_slowly(directory, stem, &mut heads);
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
fn put_head(directory: &File, stem: &str, buffer: &mut [u8], rows: &mut Vec<u8>) -> bool {
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
    };
    row.put(rows);
    true
}

/// Reads a record in the way that all others read it, which says what is wrong with it.
fn read_slowly(directory: &Path, stem: &str, heads: &mut Heads) {
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
    };
    row.put(&mut heads.rows);
}

/// The identity of a file with these properties.
pub(super) fn identity(meta: &fs::Metadata) -> FileIdentity {
    let changed = (meta.mtime(), meta.mtime_nsec() as u32);
    FileIdentity { size: meta.len(), changed, inode: meta.ino() }
}
