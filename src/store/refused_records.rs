//! Records that their store refused. They are kept in a directory of the node until `rankweave recover` stores
//! them.
//!
//! A job cannot ask its user to make room, and its matrix may have taken a day to record. So rank 0 puts the
//! record into `DIR/rankweave-USER-unstored`, beside the spill files. There each store has a directory with a
//! file that names the store, and one record for each key, the newest. A program that is launched again and
//! again therefore needs no more space. Other users can write to `DIR`. The directory is used only if it
//! belongs to the user, is closed to others, and cannot be replaced by others.

use super::directory::Store;
use super::entry::Entry;
use super::record::Record;
use super::record_format::{encode, read_open};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::base::sorting::Arrange;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A record is at most this part of the free space.
const PART_OF_FREE: u64 = 256;
/// The file that names the store, in each store's directory: the bytes of its path.
const STORE: &str = "store";
/// The most bytes in the name of a store.
const LONGEST_NAME: u64 = 64 << 10;

/// The place for refused records in a directory.
#[derive(Debug, Clone)]
pub struct RefusedRecords {
    /// The directory around it.
    around: PathBuf,
    directory: PathBuf,
    user: u32,
}

/// A record that waits in such a place.
#[derive(Debug)]
pub struct Held {
    /// What its head says, or why it cannot be read.
    pub entry: Entry,
    place: RefusedRecords,
    file: Option<Number>,
    /// When it was kept; orders records of the same second.
    kept_at: Option<SystemTime>,
}

/// Device and number of a file.
type Number = (u64, u64);

impl RefusedRecords {
    /// The place of `user` in `directory`. It need not exist.
    pub fn of(directory: &Path, user: u32) -> Self {
        let place = directory.join(format!("rankweave-{user}-unstored"));
        RefusedRecords { around: directory.into(), directory: place, user }
    }

    /// Keeps a record that `store` refused, in place of an older one of its key; gives the file.
    ///
    /// Errors: the directory belongs to another user, or others can write to it or replace it;
    /// there is too little space; I/O errors. Nothing is left behind then.
    pub fn keep(&self, record: &Record, store: &Store) -> Result<PathBuf> {
        self.keep_in(record, store, free)
    }

    /// [`Self::keep`] with the free bytes of a directory as a function.
    fn keep_in(
        &self,
        record: &Record,
        store: &Store,
        free: impl Fn(&Path) -> u64,
    ) -> Result<PathBuf> {
        const ATTEMPTS: usize = 3;
        self.check_around()?;
        let store = std::path::absolute(store.directory()).map_err(|e| {
            Error::io("cannot find the full path of the store", store.directory(), &e)
        })?;
        let folder = self.directory.join(name_of(&store));
        let crowded = encode(record)?.len() as u64 > free(&self.around) / PART_OF_FREE;
        let mut result =
            Err(Error::new(ErrorKind::Io, "too little space").at(self.around.display()));
        for _ in 0..if crowded { 0 } else { ATTEMPTS } {
            result = self
                .make(&self.directory)
                .and_then(|()| self.make(&folder))
                .and_then(|()| put(record, &store, &folder));
            // A process that takes the last record away may remove the directories at this moment.
            if result.is_ok() || folder.exists() {
                break;
            }
        }
        if result.is_err() && self.is_own(&self.directory).is_ok_and(|own| own) {
            self.tidy(&folder);
        }
        result
    }

    /// Makes a directory that is closed to others, or finds one.
    fn make(&self, directory: &Path) -> Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(directory) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(Error::io("cannot create", directory, &e))
            }
            _ if self.is_own(directory)? => Ok(()),
            _ => {
                Err(Error::new(ErrorKind::Io, "this belongs to another user")
                    .at(directory.display()))
            }
        }
    }

    /// Whether a directory exists and belongs to the user.
    ///
    /// Errors: it belongs to the user, but others can write to it, or it is no directory.
    fn is_own(&self, directory: &Path) -> Result<bool> {
        let meta = fs::symlink_metadata(directory).ok();
        let Some(meta) = meta.filter(|meta| meta.uid() == self.user) else { return Ok(false) };
        let at = directory.display();
        if !meta.is_dir() {
            let what = "this is not a directory, so no records can wait here";
            return Err(Error::new(ErrorKind::Io, what).at(at).advise("remove it"));
        }
        if meta.mode() & 0o022 != 0 {
            let what = "other users can write to this directory, so the records in it are not used";
            return Err(Error::new(ErrorKind::Io, what)
                .at(&at)
                .advise(format!("run 'chmod go-w {at}', or remove it")));
        }
        Ok(true)
    }

    /// Errors: others can put another directory in place of this one.
    fn check_around(&self) -> Result<()> {
        let at = self.around.display();
        let meta = fs::metadata(&self.around)
            .map_err(|e| Error::io("cannot examine the directory", &self.around, &e))?;
        if meta.mode() & 0o022 != 0 && meta.mode() & 0o1000 == 0 {
            let what = "other users can write to this directory and replace the files in it (it has \
                        no sticky bit), so no records can wait here";
            return Err(Error::new(ErrorKind::Io, what).at(&at).advise(format!(
                "run 'chmod go-w {at}', or set RANKWEAVE_SPILL to another directory"
            )));
        }
        Ok(())
    }

    /// The records that wait here, the oldest first, and the errors of those that cannot be read or are not
    /// used. A place that does not exist or is another user's has none.
    pub fn list(&self) -> (Vec<Held>, Vec<Error>) {
        let (mut held, mut errors) = (Vec::new(), Vec::new());
        let folders = match self.is_own(&self.directory) {
            Ok(true) => self.check_around().and_then(|()| {
                fs::read_dir(&self.directory).map_err(|e| {
                    Error::io("cannot list the records that wait here", &self.directory, &e)
                })
            }),
            Ok(false) => return (held, errors),
            Err(error) => Err(error),
        };
        let folders = match folders {
            Ok(folders) => folders.flatten().map(|f| f.path()),
            Err(error) => return (held, vec![error]),
        };
        for folder in folders {
            let found = match self.is_own(&folder) {
                Ok(true) => Store::waiting(&folder).few(),
                Ok(false) => continue,
                Err(error) => Err(error),
            };
            match found {
                Ok(entries) => held.extend(entries.into_iter().map(|e| Held::new(e, self))),
                Err(error) => errors.push(error),
            }
        }
        in_order(&mut held);
        (held, errors)
    }

    /// Removes a store's directory and the place, as far as no record is in them.
    fn tidy(&self, folder: &Path) {
        let store = Store::waiting(folder);
        if store.few().is_ok_and(|entries| entries.is_empty()) {
            let path = folder.join(STORE);
            let named = file::read(&path, LONGEST_NAME);
            let _ = fs::remove_file(&path);
            // A launch may keep a record at this moment, which needs the name.
            if fs::remove_dir(folder).is_err()
                && let Ok(bytes) = named
            {
                let _ = store.write(&path, &bytes, false, &|| false);
            }
        }
        let _ = fs::remove_dir(&self.directory);
    }
}

impl Held {
    fn new(entry: Entry, place: &RefusedRecords) -> Held {
        let meta = fs::symlink_metadata(&entry.path).ok();
        Held {
            place: place.clone(),
            file: meta.as_ref().map(number),
            kept_at: meta.and_then(|m| m.modified().ok()),
            entry,
        }
    }

    /// The directory of the records of this store.
    fn folder(&self) -> &Path {
        self.entry.path.parent().unwrap_or(&self.place.directory)
    }

    /// The store that refused it.
    ///
    /// Errors: the file that names it is missing or damaged.
    pub fn store(&self) -> Result<Store> {
        let path = self.folder().join(STORE);
        let unknown = |why: &str| {
            Error::new(
                ErrorKind::Format,
                format!("it is not known which store refused this record: {why}"),
            )
            .at(path.display())
            .advise("use --store with the directory of the store for this record")
        };
        let bytes = file::read(&path, LONGEST_NAME).map_err(|e| unknown(&e.to_string()))?;
        let named = PathBuf::from(OsString::from_vec(bytes));
        let belongs = self.folder().file_name().is_some_and(|name| *name == *name_of(&named));
        match belongs && named.is_absolute() {
            true => Ok(Store::open(named)),
            false => Err(unknown("the file is damaged")),
        }
    }

    /// The record, and its open file for [`Self::remove`].
    ///
    /// Errors: it cannot be read, is damaged, or of a newer version.
    pub fn read(&self) -> Result<(Record, File)> {
        const DISCARD: &str = "run 'rankweave recover --discard', which removes such records";
        read_open(&self.entry.path).map_err(|e| match e.kind() {
            ErrorKind::Format => e.advise(DISCARD),
            ErrorKind::NewerVersion => e.advise(format!("use a newer rankweave, or {DISCARD}")),
            _ if !self.entry.path.is_file() => e.advise("remove it"),
            _ => e,
        })
    }

    /// True if a store is in the place where this record waits.
    pub fn waits_in(&self, store: &Store) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let store = real(store.directory());
        real(&self.place.directory).is_some_and(|own| store.is_some_and(|s| s.starts_with(own)))
    }

    /// Removes the file of this record. With `read` it must be the file that was read, and otherwise the one
    /// that was listed. If another launch has kept a newer record in its place, this stays and the result is
    /// `false`. After the last record, the place is removed too.
    pub fn remove(&self, read: Option<&File>) -> Result<bool> {
        let path = &self.entry.path;
        let failed =
            |e: std::io::Error| Error::io("cannot remove the record that waited", path, &e);
        let meant = match read {
            Some(file) => Some(number(&file.metadata().map_err(failed)?)),
            None => self.file,
        };
        match fs::symlink_metadata(path) {
            Ok(meta) if Some(number(&meta)) != meant => return Ok(false),
            Ok(_) => fs::remove_file(path).map_err(failed)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(e)),
        }
        self.place.tidy(self.folder());
        Ok(true)
    }
}

/// Sorts what waits in one or several places such that a later record of a key replaces an earlier one.
pub fn in_order(held: &mut [Held]) {
    let rank = |h: &Held| (h.entry.recorded_at, h.kept_at);
    held.arrange_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.entry.path.cmp(&b.entry.path)));
}

fn number(meta: &fs::Metadata) -> Number {
    (meta.dev(), meta.ino())
}

/// The name of a store's directory: a hash of the store's absolute path, 16 hexadecimal digits.
fn name_of(store: &Path) -> OsString {
    let bytes = store.as_os_str().as_bytes();
    let low = crc32fast::hash(bytes);
    let high = crc32fast::hash(&[format!("{low:08x}").as_bytes(), bytes].concat());
    format!("{high:08x}{low:08x}").into()
}

/// Puts a record into the directory of its store, which exists.
fn put(record: &Record, store: &Path, folder: &Path) -> Result<PathBuf> {
    name(folder, store)?;
    let path = Store::waiting(folder).save_there(record)?;
    // The file that names the store is needed as long as there is a record. Without it, `recover` asks for the
    // store.
    let _ = name(folder, store);
    Ok(path)
}

/// Writes the file that names the store of a directory, unless it is there.
fn name(folder: &Path, store: &Path) -> Result<()> {
    let path = folder.join(STORE);
    let bytes = store.as_os_str().as_bytes();
    if file::read(&path, LONGEST_NAME).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    Store::waiting(folder).write(&path, bytes, false, &|| false).map(|_| ())
}

/// Free bytes of the file system of a directory. 0 if the file system does not report them.
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
#[path = "refused_records_tests.rs"]
mod tests;
