//! Records that their store refused: kept in a directory of the node until `rankweave recover` stores them.
//!
//! A job cannot be asked to make room, and its matrix may have taken a day to record. So rank 0 puts the
//! record into `DIR/rankweave-USER-unstored`, beside the spill files: one file for each key, the newest,
//! so that a program that is launched again and again fills nothing. Others can write to the directory
//! around it; only one that is the user's own and closed to them is used.

use super::directory::{Entry, Store};
use super::file::encode;
use super::record::Record;
use crate::error::{Error, ErrorKind, Result};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A record is at most this part of the free space.
const PART_OF_FREE: u64 = 256;

/// The place for such records in a directory.
#[derive(Debug, Clone)]
pub struct Unstored {
    directory: PathBuf,
    user: u32,
}

impl Unstored {
    /// That of `user` in `directory`; it need not exist.
    pub fn of(directory: &Path, user: u32) -> Self {
        Unstored { directory: directory.join(format!("rankweave-{user}-unstored")), user }
    }

    /// Keeps a record in place of an older one of its key; gives the file.
    ///
    /// Errors: the directory is somebody else's or open to others, or there is too little space.
    pub fn keep(&self, record: &Record) -> Result<PathBuf> {
        match fs::DirBuilder::new().mode(0o700).create(&self.directory) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(Error::io("cannot create", &self.directory, &e));
            }
            _ => self.check()?,
        }
        let bytes = encode(record)?.len() as u64;
        if bytes > free(&self.directory) / PART_OF_FREE {
            return Err(Error::new(ErrorKind::Io, "too little space").at(self.directory.display()));
        }
        Store::open(&self.directory).save_soon(record)
    }

    /// Whether what lies there can only be the user's own.
    fn check(&self) -> Result<()> {
        let meta = fs::symlink_metadata(&self.directory)
            .map_err(|e| Error::io("cannot look at", &self.directory, &e))?;
        if !meta.is_dir() || meta.uid() != self.user || meta.mode() & 0o022 != 0 {
            let what = "not a directory that only its user can write to";
            return Err(Error::new(ErrorKind::Io, what).at(self.directory.display()));
        }
        Ok(())
    }

    /// What waits here, the newest first; nothing if the place does not exist or is not the user's own.
    pub fn list(&self) -> Result<Vec<Entry>> {
        match self.check() {
            Ok(()) => Store::open(&self.directory).list(),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// True if a store is this very place.
    pub fn is(&self, store: &Store) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        real(&self.directory).is_some_and(|own| Some(own) == real(store.directory()))
    }

    /// Removes a record that waits no more, and the place if it was the last. A failure leaves something
    /// that is found again.
    pub fn remove(&self, entry: &Entry) {
        let _ = fs::remove_file(&entry.path);
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Free bytes of the file system of a directory; 0 if it does not tell.
fn free(directory: &Path) -> u64 {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else { return 0 };
    // SAFETY: a C string and a struct that is filled before it is read.
    unsafe {
        let mut status: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(path.as_ptr(), &raw mut status) {
            0 => (status.f_bavail as u64).saturating_mul(status.f_frsize as u64),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn user() -> u32 {
        // SAFETY: no preconditions.
        unsafe { libc::geteuid() }
    }

    fn record(key: &str, recorded_at: u64) -> Record {
        Record {
            key: key.into(),
            program: "/bin/a".into(),
            command: Vec::new(),
            mpi: String::new(),
            recorded_at,
            matrix: crate::matrix::CommMatrix::empty(2),
            launch: Default::default(),
            baseline: None,
            unfinished: None,
            identity: String::new(),
            history: Vec::new(),
            constructed: Vec::new(),
        }
    }

    #[test]
    fn one_record_for_each_key_waits() {
        let dir = tempfile::tempdir().unwrap();
        let place = Unstored::of(dir.path(), user());
        assert!(place.list().unwrap().is_empty());
        for (key, time) in [("a", 1), ("a", 2), ("b", 3)] {
            place.keep(&record(key, time)).unwrap();
        }
        let waiting = place.list().unwrap();
        let seen: Vec<_> = waiting.iter().map(|e| (e.key.as_str(), e.recorded_at)).collect();
        assert_eq!(seen, [("b", 3), ("a", 2)]);
        let mode = fs::metadata(&place.directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(place.is(&Store::open(&place.directory)) && !place.is(&Store::open(dir.path())));
        waiting.iter().for_each(|entry| place.remove(entry));
        assert!(!place.directory.exists());
    }

    #[test]
    fn a_place_that_others_can_write_to_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let place = Unstored::of(dir.path(), user());
        place.keep(&record("a", 1)).unwrap();
        for mode in [0o777, 0o720] {
            fs::set_permissions(&place.directory, fs::Permissions::from_mode(mode)).unwrap();
            assert!(place.keep(&record("a", 2)).is_err());
            assert!(place.list().unwrap().is_empty(), "what others may have put there");
        }
        let other = Unstored { user: user() + 1, ..place.clone() };
        assert!(other.keep(&record("a", 2)).is_err() && other.list().unwrap().is_empty());
        let link = dir.path().join("link");
        fs::create_dir(&link).unwrap();
        let linked = Unstored::of(&link, user());
        std::os::unix::fs::symlink(dir.path(), &linked.directory).unwrap();
        assert!(linked.keep(&record("a", 2)).is_err());
        assert!(Unstored::of(Path::new("/proc"), user()).keep(&record("a", 2)).is_err());
    }
}
