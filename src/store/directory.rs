//! The store as a directory of record files.
//!
//! The store is safe without locks, on which network file systems cannot be relied. A file is written under a
//! name of its own and renamed over the old one. A reader therefore sees the old record or the new one, and if
//! two jobs end at the same time, the record of one of them stays.

use super::access::{unreadable, unwritable};
use super::change_marks;
use super::entry::Entry;
use super::file_name::{ENDING, file_name};
use super::history::{Past, joined};
use super::leftovers::sweep;
use super::others::read_stored;
use super::record_format::{encode_with, read_file};
use super::sharing::share;
use super::standing::Standing;
use super::unique_names::temporary;
use super::{LaunchMode, Record};
use crate::base::error::{Error, ErrorKind, Result};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::path::{Path, PathBuf};

/// A directory of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    directory: PathBuf,
    /// Whether changes are marked, for lists.
    is_listed: bool,
}

impl Store {
    /// The store in a directory, which need not exist yet.
    pub fn open(directory: impl Into<PathBuf>) -> Self {
        Store { directory: directory.into(), is_listed: true }
    }

    /// A folder in which records wait for their store. It has few, and nothing else is left in it.
    pub(super) fn waiting(directory: &Path) -> Self {
        Store { directory: directory.into(), is_listed: false }
    }

    /// The default directory of the store: `$RANKWEAVE_STORE`, else
    /// `$XDG_DATA_HOME/rankweave`, else `~/.local/share/rankweave`.
    ///
    /// Errors: none of the variables (`HOME` for the last) is set.
    pub fn default_dir() -> Result<PathBuf> {
        Store::dir_from(|name| std::env::var_os(name).map(PathBuf::from))
    }

    /// [`Store::default_dir`] of any environment.
    pub fn dir_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
        let set = |name: &str| variable(name).filter(|v| !v.as_os_str().is_empty());
        if let Some(own) = set("RANKWEAVE_STORE") {
            return Ok(own);
        }
        if let Some(data) = set("XDG_DATA_HOME") {
            return Ok(data.join("rankweave"));
        }
        match set("HOME") {
            Some(home) => Ok(home.join(".local/share/rankweave")),
            None => Err(Error::new(
                ErrorKind::Usage,
                "no directory for the store is known, because neither HOME nor XDG_DATA_HOME is set",
            )
            .advise("set --store DIR or RANKWEAVE_STORE=DIR")),
        }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file of a key. Different keys have different files, all directly in the directory.
    pub fn path_of(&self, key: &str) -> PathBuf {
        self.directory.join(file_name(key))
    }

    /// Keeps a record under its key and returns its file.
    ///
    /// The histories of the record in place and of this one are joined, so that the entry of another launch is
    /// not lost. The old record stays until the new one is complete on disk. A file that cannot be decoded is
    /// moved aside to `NAME.corrupt`. Errors: [`ErrorKind::NewerVersion`] if the file in place was written by a
    /// newer version, which is not changed; I/O errors, after which the old file is still there.
    ///
    /// A richer record in place is kept among the runs of the key ([`super::Run`]).
    pub fn save(&self, record: &Record) -> Result<PathBuf> {
        self.create()?;
        self.keep_replaced(record)?;
        self.put(record, true, &|| false)?;
        if record.launch.mode == LaunchMode::Import {
            self.choose_imported(record)?;
        }
        Ok(self.path_of(&record.key))
    }

    /// [`Self::save`], unless the record in place `stays`. The function `stays` is called just before the
    /// renaming. If the record in place is of another kind, the new one is then kept beside it. `None` if
    /// nothing is stored.
    pub fn save_unless(
        &self,
        record: &Record,
        stays: impl Fn(&Record) -> bool,
    ) -> Result<Option<PathBuf>> {
        self.create()?;
        let stays = || self.load(&record.key).ok().flatten().is_some_and(|before| stays(&before));
        if stays() {
            return self.keep_beside(record);
        }
        self.keep(record, true, &stays)
    }

    /// [`Self::save`] without waiting for the disk, because that took longer than all other work at the end of
    /// a job. The kernel begins to write at once. If the machine loses power before the file is written, the
    /// record may be damaged. Its checksum shows this, and the next launch then records again.
    ///
    /// The record in place stays in use if it is richer or more complete ([`Standing::replaces`]). The new one
    /// is then among the runs of the key. Returns the file of the new record.
    pub fn save_soon(&self, record: &Record) -> Result<PathBuf> {
        self.create()?;
        let kept = self.keep(record, false, &|| false)?;
        Ok(kept.unwrap_or_else(|| self.path_of(&record.key)))
    }

    /// [`Self::save_soon`] into a directory that exists, in place of what is there. A directory made here
    /// would be open to others.
    ///
    /// A record in place that is more complete or much richer stays.
    pub(super) fn save_there(&self, record: &Record) -> Result<PathBuf> {
        let stays = |before: Record| {
            before.matrix.tasks() == record.matrix.tasks()
                && !Standing::of(record).replaces(&Standing::of(&before))
        };
        if !self.load(&record.key).ok().flatten().is_some_and(stays) {
            self.put(record, false, &|| false)?;
        }
        Ok(self.path_of(&record.key))
    }

    /// Writes a record with both histories. `false` if the function `stays` says that the record in place stays.
    pub(super) fn put(
        &self,
        record: &Record,
        wait: bool,
        stays: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let path = self.path_of(&record.key);
        let before = self.make_way(&path)?;
        let bytes = encode_with(record, &joined(&before, &record.history))?;
        let written = self.write(&path, &bytes, wait, stays)?;
        self.sweep();
        Ok(written)
    }

    /// Replaces a small file of the store, or creates it.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.create()?;
        self.write(path, bytes, true, &|| false).map(|_| ())
    }

    fn create(&self) -> Result<()> {
        fs::create_dir_all(&self.directory)
            .map_err(|e| unwritable("cannot create the store", &self.directory, &e))
    }

    /// Writes a file under another name and renames it. `false` if the file in place `stays` at that moment.
    pub(super) fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        wait: bool,
        stays: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let temporary = temporary(path);
        let written = write_new(&temporary, bytes, wait).and_then(|()| match stays() {
            true => Ok(false),
            false => self.put_in_place(&temporary, path).map(|()| true),
        });
        if !matches!(written, Ok(true)) {
            // If the file cannot be removed either, the error above is still the one to report.
            let _ = fs::remove_file(&temporary);
        }
        let written = written.map_err(|e| unwritable("cannot save the record", path, &e))?;
        // The rename itself is durable once the directory is synced; some file systems refuse that,
        // and the record is in place either way.
        if written
            && wait
            && let Ok(directory) = File::open(&self.directory)
        {
            let _ = directory.sync_all();
        }
        Ok(written)
    }

    /// Gives a new file its name, in place of another one. All records of a store get their names here or in
    /// [`Self::link_in_place`], so that lists learn of each change.
    pub(super) fn put_in_place(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        match self.is_listed && to.parent() == Some(self.directory()) {
            true => change_marks::rename(from, to),
            false => fs::rename(from, to),
        }
    }

    /// Gives a file a name in the store that no file has.
    pub(super) fn link_in_place(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        change_marks::link(from, to)
    }

    /// Moves a damaged file aside. It is an error if the file is of a newer version. Returns the history in a
    /// good file.
    pub(super) fn make_way(&self, path: &Path) -> Result<Vec<Past>> {
        let error = match fs::symlink_metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            _ => match read_stored(path) {
                Ok(before) => return Ok(before.history),
                Err(error) => error,
            },
        };
        match error.kind() {
            ErrorKind::Format => {}
            ErrorKind::NewerVersion => {
                return Err(Error::new(
                    ErrorKind::NewerVersion,
                    "not saved: the record in the store was written by a newer rankweave",
                )
                .at(path.display())
                .advise("use a newer rankweave, or another store with --store"));
            }
            _ if !path.exists() => return Ok(Vec::new()),
            _ => return Err(error),
        }
        let aside = (0..1000)
            .map(|k| if k == 0 { "rkw.corrupt".into() } else { format!("rkw.corrupt.{k}") })
            .map(|extension| path.with_extension(extension))
            .find(|candidate| fs::symlink_metadata(candidate).is_err());
        let Some(aside) = aside else {
            return Err(Error::new(
                ErrorKind::Io,
                "there are already 1000 damaged copies of this record",
            )
            .at(path.display())
            .advise("remove the files NAME.corrupt.*"));
        };
        match fs::rename(path, &aside) {
            // Another job may have moved it in the same moment.
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(unwritable("cannot move the damaged record aside", path, &e))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Removes this user's leftovers of saves that were interrupted long ago.
    pub(super) fn sweep(&self) {
        sweep(self.directory(), |name| name.contains(ENDING) || name.contains(".verdict."));
    }

    /// The record of a key, `None` if there is none.
    pub fn load(&self, key: &str) -> Result<Option<Record>> {
        self.apply_failures(key);
        let path = self.path_of(key);
        match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            _ => read_stored(&path).map(Some),
        }
    }

    /// The records of a folder that has only a few, in no order: without threads, and without a kept list. Launches use
    /// it.
    pub(super) fn few(&self) -> Result<Vec<Entry>> {
        let failed = |e: std::io::Error| unreadable("cannot list the store", &self.directory, &e);
        let files = match fs::read_dir(&self.directory) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.map_err(failed)?,
        };
        let mut entries = Vec::new();
        for file in files {
            let name = file.map_err(failed)?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(ENDING));
            let stem = stem.filter(|stem| !stem.starts_with('.'));
            entries.extend(stem.map(|stem| Entry::of(self.directory.join(&name), stem)));
        }
        Ok(entries)
    }

    /// The record that a selector means: a file, a key, or the unique beginning of a key. Without a selector it
    /// is the newest record.
    ///
    /// Errors: [`ErrorKind::NotFound`]; [`ErrorKind::Usage`] when several keys begin so.
    pub fn find(&self, selector: Option<&str>) -> Result<Record> {
        let path = self.find_path(selector)?;
        if path.parent() == Some(self.directory()) { read_stored(&path) } else { read_file(&path) }
    }

    /// The file that a selector means, see [`Store::find`].
    pub fn find_path(&self, selector: Option<&str>) -> Result<PathBuf> {
        let Some(text) = selector.filter(|s| !s.is_empty()) else {
            let newest = self.listing()?.records().next().map(|record| record.entry());
            newest.iter().for_each(|entry| self.apply_failures(&entry.key));
            return newest.map(|entry| entry.path).ok_or_else(|| {
                Error::new(ErrorKind::NotFound, "the store is empty")
                    .at(self.directory.display())
                    .advise("record a program first: rankweave run -- mpirun -n 4 ./app")
            });
        };
        if text.contains('/') {
            return match Path::new(text).exists() {
                true => Ok(text.into()),
                false => Err(Error::new(ErrorKind::NotFound, format!("there is no file '{text}'"))
                    .advise("give the path of a file, or a key of 'rankweave list'")),
            };
        }
        match self.find_key(text) {
            // Then it may be a file of this name in the current directory.
            Err(error) if error.kind() == ErrorKind::NotFound && Path::new(text).is_file() => {
                Ok(text.into())
            }
            found => found,
        }
    }

    /// The file of a key, or of the only key that begins so.
    fn find_key(&self, text: &str) -> Result<PathBuf> {
        let exact = self.path_of(text);
        if exact.exists() {
            self.apply_failures(text);
            return Ok(exact);
        }
        if let Some((key, name)) = text.rsplit_once('@') {
            self.apply_failures(key);
            if let Some(run) = self.run_named(key, name) {
                return Ok(run.path);
            }
        }
        let listing = self.listing()?;
        let begins = listing.records().filter(|record| record.key.starts_with(text));
        let matching: Vec<_> = begins.collect();
        match matching.as_slice() {
            [one] => {
                self.apply_failures(one.key);
                Ok(one.path().into_owned())
            }
            [] => Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "no file is called '{text}', and no \
                                                               key begins with it"
                ),
            )
            .at(self.directory.display())
            .advise(some_keys(
                listing.records().map(|record| record.key),
                "record a program first",
            ))),
            several => Err(Error::new(
                ErrorKind::Usage,
                format!("{} keys begin with '{text}'", several.len()),
            )
            .at(self.directory.display())
            .advise(some_keys(several.iter().map(|record| record.key), ""))),
        }
    }

    /// Removes the record of a key, or of the only key that begins so; gives its file.
    ///
    /// Errors: [`ErrorKind::NotFound`], [`ErrorKind::Usage`] when the name is empty or several keys
    /// begin so.
    pub fn remove(&self, key: &str) -> Result<PathBuf> {
        let path = self.find_stored(key)?;
        fs::remove_file(&path).map_err(|e| unwritable("cannot remove the record", &path, &e))?;
        if path.parent() == Some(self.directory()) {
            self.forget_orders(&path);
            self.forget_runs(&path);
        } else {
            self.forget_choice(key, &path);
        }
        Ok(path)
    }

    /// The file that [`Store::remove`] would remove.
    pub fn find_stored(&self, key: &str) -> Result<PathBuf> {
        if key.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "no record to remove was named")
                .advise("give a key of 'rankweave list'"));
        }
        self.find_key(key)
    }
}

/// The first few keys, for an advice.
fn some_keys<'a>(keys: impl Iterator<Item = &'a str>, none: &str) -> String {
    const SHOWN: usize = 8;
    let mut keys: Vec<&str> = keys.take(SHOWN + 1).collect();
    if keys.len() > SHOWN {
        keys[SHOWN] = "…";
    }
    if keys.is_empty() { none.to_string() } else { format!("use one of {}", keys.join(", ")) }
}

/// Writes a new file. With `wait` it waits until the file is on the disk. Otherwise it only makes the kernel
/// begin to write.
pub(super) fn write_new(path: &Path, bytes: &[u8], wait: bool) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    share(&file, path);
    file.write_all(bytes)?;
    if wait {
        return file.sync_all();
    }
    // SAFETY: the descriptor is open, and the call takes no pointers. A file system that cannot do it writes later.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    // A network file system may only now find that the disk is full or a quota is reached.
    // SAFETY: the descriptor is open, and nothing else owns it any more.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
