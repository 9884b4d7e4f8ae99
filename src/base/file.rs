//! Reading of files that others may have put there.
//!
//! A file is opened once, and its type and size are those of the open file. It has to be a regular file: a
//! pipe, a device or a directory in its place is an error, and nothing waits for the other end of a pipe.
//! A file that is larger than any of its kind is not read.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Error, Read, Result};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes that [`read_given`] reads at a time.
const PIECE: u64 = 1 << 20;

/// Opens a regular file for reading; also gives its length in bytes.
///
/// Errors: it cannot be opened, is a directory ([`IsADirectory`]), or is no regular file either
/// ([`InvalidInput`]).
///
/// [`IsADirectory`]: std::io::ErrorKind::IsADirectory
/// [`InvalidInput`]: std::io::ErrorKind::InvalidInput
pub fn open(path: &Path) -> Result<(File, u64)> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(Error::from(std::io::ErrorKind::IsADirectory));
    }
    if !meta.is_file() {
        return Err(Error::new(std::io::ErrorKind::InvalidInput, "this is not a regular file"));
    }
    Ok((file, meta.len()))
}

/// What tells a file from a changed or replaced one, without a look at its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Bytes in it.
    pub size: u64,
    /// The time of its last change: seconds since 1970-01-01 UTC, and nanoseconds.
    pub changed: (i64, u32),
    /// Its number in the file system.
    pub inode: u64,
}

impl FileIdentity {
    /// The identity of the regular file at a path.
    ///
    /// Errors: those of [`open`].
    pub fn of(path: &Path) -> Result<FileIdentity> {
        let meta = open(path)?.0.metadata()?;
        let changed = (meta.mtime(), meta.mtime_nsec() as u32);
        Ok(FileIdentity { size: meta.len(), changed, inode: meta.ino() })
    }

    /// Whether the last change is at least `seconds` before `now` (since 1970-01-01 UTC). A file that was changed just
    /// now may change again without another time: file systems count in steps of milliseconds to two seconds.
    pub fn is_settled(&self, now: u64, seconds: i64) -> bool {
        self.changed.0.saturating_add(seconds) <= i64::try_from(now).unwrap_or(i64::MAX)
    }
}

/// The effective user of this process.
pub fn user() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether there is something at a path itself, not where it leads, that belongs to the effective user.
pub fn is_own(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.uid() == user())
}

/// Whether a path is a link that another user made, root excepted. In a directory to which others can write,
/// such a link may lead to what they cannot read or change themselves.
pub fn is_link_of_another(path: &Path) -> bool {
    let link = path.symlink_metadata().ok().filter(|meta| meta.is_symlink());
    link.is_some_and(|link| link.uid() != user() && link.uid() != 0)
}

/// The content of a regular file of at most `most` bytes.
///
/// Errors: those of [`open`], and a file with more bytes ([`FileTooLarge`]).
///
/// [`FileTooLarge`]: std::io::ErrorKind::FileTooLarge
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    within(length, most)?;
    let mut bytes = Vec::new();
    // A file may grow, and the files of /proc have no length.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    within(bytes.len() as u64, most)?;
    Ok(bytes)
}

/// The content of a regular file of at most `most` bytes, or of a pipe of this process under `/dev`, such as
/// the shell makes for `<(command)`. After each piece, `is_text` is asked about the bytes so far. If they
/// are text and the piece has a zero byte, which no text has, reading ends: the rest of a sparse file
/// costs nothing.
///
/// Errors: those of [`read`].
pub fn read_given(path: &Path, most: u64, is_text: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
    let of_process = path.starts_with("/dev/fd") || path == Path::new("/dev/stdin");
    let (mut file, length) = if of_process { (File::open(path)?, 0) } else { open(path)? };
    within(length, most)?;
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        let count = (&mut file).take(PIECE).read_to_end(&mut bytes)?;
        within(bytes.len() as u64, most)?;
        if count == 0 || is_text(&bytes) && bytes[before..].contains(&0) {
            return Ok(bytes);
        }
    }
}

fn within(length: u64, most: u64) -> Result<()> {
    if length <= most {
        return Ok(());
    }
    let what = format!("it has {length} bytes, and no such file has more than {most}");
    Err(Error::new(std::io::ErrorKind::FileTooLarge, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn odd_files_are_errors_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let begin = Instant::now();
        for path in [pipe.as_path(), Path::new("/dev/zero"), dir.path(), Path::new("/nonexistent")]
        {
            assert!(read(path, 100).is_err(), "{}", path.display());
            assert!(read_given(path, 100, |_| true).is_err(), "{}", path.display());
        }
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert!(!read(Path::new("/proc/self/status"), 1 << 20).unwrap().is_empty());
    }

    #[test]
    fn large_files_cost_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.set_len(4 << 30).unwrap();
        assert!(read(&path, 1 << 30).unwrap_err().to_string().contains("4294967296 bytes"));
        let begun = Instant::now();
        assert_eq!(read_given(&path, u64::MAX, |_| true).unwrap().len() as u64, PIECE);
        assert!(begun.elapsed() < Duration::from_secs(1));
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert!(read(&path, 9).is_err());
    }
}
