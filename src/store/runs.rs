//! The records of a key that are not in use: those of other kinds of run, and those of runs that sent less.
//!
//! A program has several kinds of run, with other arguments or another MPI library. One record of a key is in
//! use, `KEY.rkw`. The folder `KEY.runs` has several records for each kind: the newest one, the two richest
//! whole ones, the richest interrupted one, and, of those before the newest, the newest and the richest whole
//! one. If a run fails, one of the earlier ones takes its place, also if the clock went backwards. The name of
//! each file contains the standing of the record, so no file has to be read to find the right one:
//!
//! ```text
//! KIND-TIME-BYTES-PAIRS-STATE-CHECKSUM.rkw   all numbers in hexadecimal
//! ```
//!
//! Safe without locks: a launch writes its own record under a name that no other has before it touches
//! the one in use, and removes a file only if there is a better one of its kind.

use super::access::unwritable;
use super::directory::write_new;
use super::file_name::file_name;
use super::others::check_folder;
use super::record_format::encode_with;
use super::sharing::create_folder;
use super::standing::{Completeness, Standing};
use super::unique_names::temporary;
use super::{Record, Store, joined};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::base::sorting::Arrange;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Kinds of run of a key that are kept.
pub const MOST_KINDS: usize = 8;
/// Ending of the folder.
pub(super) const FOLDER: &str = "runs";

/// A record in the folder of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The file.
    pub path: PathBuf,
    /// The standing of the record, from the name of the file.
    pub standing: Standing,
}

impl Run {
    fn parse(path: PathBuf) -> Option<Run> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".rkw")?;
        let parts: Vec<&str> = stem.split('-').collect();
        let &[kind, time, bytes, pairs, state, _checksum] = parts.as_slice() else { return None };
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let standing = Standing {
            kind: u32::from_str_radix(kind, 16).ok()?,
            completeness: state.parse().ok()?,
            bytes: number(bytes)?,
            pairs: number(pairs)?,
            recorded_at: number(time)?,
        };
        Some(Run { path, standing })
    }

    /// The name by which the user selects it among those of its kind.
    pub fn name(&self, all: &[Run]) -> String {
        let kind = self.standing.kind;
        let alike = || all.iter().filter(|run| run.standing.kind == kind);
        let is = |other: Option<&Run>| other.is_some_and(|other| other.path == self.path);
        let which = match () {
            () if is(richest(alike())) => "",
            () if is(newest(alike())) => ".newest",
            () => return format!("{kind:08x}.{:x}", self.standing.recorded_at),
        };
        format!("{kind:08x}{which}")
    }

    /// The name of its file without the ending, which stays the same whatever other runs there are.
    pub(super) fn stem(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}

/// The richest of some runs: the richest whole one, unless an interrupted one is much richer. Without a whole
/// one, the richest interrupted one.
pub(super) fn richest<'r>(runs: impl Iterator<Item = &'r Run> + Clone) -> Option<&'r Run> {
    let whole = richest_of(runs.clone(), Completeness::Whole);
    let interrupted = richest_of(runs.clone(), Completeness::Interrupted);
    match (whole, interrupted) {
        (Some(whole), Some(other)) if whole.standing.is_poorer_than(&other.standing) => Some(other),
        (Some(run), _) | (None, Some(run)) => Some(run),
        (None, None) => richest_of(runs, Completeness::Partial),
    }
}

/// The richest of the runs that are so complete.
pub(super) fn richest_of<'r>(
    runs: impl Iterator<Item = &'r Run>,
    completeness: Completeness,
) -> Option<&'r Run> {
    let alike = runs.filter(|run| run.standing.completeness == completeness);
    alike.max_by(|a, b| (a.standing.richness(), &a.path).cmp(&(b.standing.richness(), &b.path)))
}

/// The newest and the richest whole run of those that are older than the newest of all.
fn whole_before<'r>(runs: impl Iterator<Item = &'r Run> + Clone) -> [Option<&'r Run>; 2] {
    let Some(last) = newest(runs.clone()) else { return [None; 2] };
    let before = runs
        .filter(|run| run.path != last.path && run.standing.completeness == Completeness::Whole);
    [newest(before.clone()), richest_of(before, Completeness::Whole)]
}

/// The richest whole run but one.
fn second<'r>(runs: impl Iterator<Item = &'r Run> + Clone) -> Option<&'r Run> {
    let first = richest_of(runs.clone(), Completeness::Whole)?;
    richest_of(runs.filter(|run| run.path != first.path), Completeness::Whole)
}

/// Divides the runs into those that no rule keeps, the newest first, and the others.
fn superfluous<'r>(runs: &'r [Run], chosen: Option<&Run>) -> (Vec<&'r Run>, Vec<&'r Run>) {
    let of_kind = |kind: u32| runs.iter().filter(move |run| run.standing.kind == kind);
    let mut kinds: Vec<u32> = Vec::new();
    for run in runs {
        if !kinds.contains(&run.standing.kind) {
            kinds.push(run.standing.kind);
        }
    }
    let best = richest(runs.iter());
    runs.iter().partition(|run| {
        let kind = run.standing.kind;
        let is = |other: Option<&Run>| other.is_some_and(|other| other.path == run.path);
        let stays = is(richest(of_kind(kind)))
            || is(newest(of_kind(kind)))
            || is(richest_of(of_kind(kind), Completeness::Whole))
            || is(second(of_kind(kind)))
            || is(richest_of(of_kind(kind), Completeness::Interrupted))
            || whole_before(of_kind(kind)).into_iter().any(is);
        let is_recent = kinds.iter().take(MOST_KINDS).any(|&recent| recent == kind);
        !(is(best) || is(chosen) || stays && is_recent)
    })
}

/// The newest of some runs.
pub(super) fn newest<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<&'r Run> {
    runs.max_by_key(|run| (run.standing.recorded_at, &run.path))
}

fn file_of(standing: &Standing, bytes: &[u8]) -> String {
    let Standing { kind, completeness, bytes: sent, pairs, recorded_at } = standing;
    let (state, checksum) = (completeness.name(), crc32fast::hash(bytes));
    format!("{kind:08x}-{recorded_at:x}-{sent:x}-{pairs:x}-{state}-{checksum:08x}.rkw")
}

/// Whether an error of `link` means that the file system has no links.
fn has_no_links(error: &std::io::Error) -> bool {
    let without = [libc::EPERM, libc::EOPNOTSUPP, libc::ENOSYS, libc::EMLINK];
    error.raw_os_error().is_some_and(|number| without.contains(&number))
}

/// Whether two names belong to one file. A network file system may report that it could not make a link
/// although it has made it, because the request was sent twice.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let number = |path| fs::symlink_metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    number(a).is_some_and(|own| number(b) == Some(own))
}

impl Store {
    /// Stores the record of a launch. It becomes the record in use, unless the present one is better
    /// ([`Standing::replaces`]). It is also stored among the runs of the key, unless it is the first record of the
    /// key. Returns the path of its file. Returns `None` if it should become the record in use, but the function
    /// `stays` says that the present record stays.
    pub(super) fn keep(
        &self,
        record: &Record,
        wait: bool,
        stays: &dyn Fn() -> bool,
    ) -> Result<Option<PathBuf>> {
        let path = self.path_of(&record.key);
        if fs::symlink_metadata(&path).is_err() && self.put_first(&path, record, wait)? {
            return Ok(Some(path));
        }
        let before = match self.load(&record.key) {
            Ok(before) => before,
            Err(_) => {
                self.make_way(&path)?;
                self.put_best_run_in_use(&record.key)
            }
        };
        let Some(before) = before else {
            return Ok(self.put(record, wait, stays)?.then_some(path));
        };
        if before.matrix.tasks() != record.matrix.tasks() {
            let what = format!(
                "the record with {} is not saved, because the record in the store has {}",
                counted(record.matrix.tasks(), "task"),
                before.matrix.tasks()
            );
            return Err(Error::new(ErrorKind::Usage, what)
                .at(path.display())
                .advise("use another key, or remove the record in the store with 'rankweave rm'"));
        }
        let (new, old) = (Standing::of(record), Standing::of(&before));
        let bytes = encode_with(record, &joined(&before.history, &record.history))?;
        // The file of the run is written first. If another launch puts its record in use at this moment,
        // nothing is lost.
        let own = self.keep_run(&record.key, &new, &bytes, wait)?;
        let replaces = new.replaces(&old);
        if replaces {
            self.keep_before(&before, &old, Some(&own))?;
        }
        if replaces && !self.put_in_use(&own, &path, &bytes, stays)? {
            return Ok(None);
        }
        self.trim_runs(&record.key);
        self.sweep();
        Ok(Some(if replaces { path } else { own }))
    }

    /// Puts the first record of a key into its place. `false` if another launch was faster.
    fn put_first(&self, path: &Path, record: &Record, wait: bool) -> Result<bool> {
        let temporary = temporary(path);
        let failed = |e: std::io::Error| unwritable("cannot save the record", path, &e);
        let bytes = encode_with(record, &joined(&[], &record.history))?;
        let placed = write_new(&temporary, &bytes, wait).and_then(|()| {
            match self.link_in_place(&temporary, path) {
                Ok(()) => Ok(true),
                Err(_) if is_same_file(&temporary, path) => Ok(true),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
                Err(e) if has_no_links(&e) => self.put_in_place(&temporary, path).map(|()| true),
                Err(e) => Err(e),
            }
        });
        // After a rename the temporary file does not exist any more.
        let _ = fs::remove_file(&temporary);
        placed.map_err(failed)
    }

    /// Makes the record in the file of a run the record in use as well. Where the file system has links, the record
    /// is not written a second time. `false` if the function `stays` says that the present record stays.
    fn put_in_use(
        &self,
        run: &Path,
        path: &Path,
        bytes: &[u8],
        stays: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let temporary = temporary(path);
        if fs::hard_link(run, &temporary).is_err() && !is_same_file(run, &temporary) {
            return self.write(path, bytes, false, stays);
        }
        let placed = !stays() && self.put_in_place(&temporary, path).is_ok();
        // A rename between two names of one file changes nothing and leaves both.
        let _ = fs::remove_file(&temporary);
        if placed || stays() { Ok(placed) } else { self.write(path, bytes, false, stays) }
    }

    /// Keeps the record in use among the runs of its key, unless it is there. The file `own` is that of the record
    /// which takes its place: launches of the same second may have the same standing.
    fn keep_before(&self, before: &Record, standing: &Standing, own: Option<&Path>) -> Result<()> {
        // A run of that name may be damaged, unless it is the very file that was read.
        let in_use = self.path_of(&before.key);
        let is_there = |run: &Run| {
            let is_other = Some(run.path.as_path()) != own && run.is_sound();
            run.standing == *standing && (is_same_file(&run.path, &in_use) || is_other)
        };
        if self.runs(&before.key).iter().any(is_there) {
            return Ok(());
        }
        let bytes = encode_with(before, &before.history)?;
        self.keep_run(&before.key, standing, &bytes, false).map(|_| ())
    }

    /// Keeps the record in use among the runs of its key, if a record that the user puts into its place is of
    /// another kind or poorer.
    pub(super) fn keep_replaced(&self, by: &Record) -> Result<()> {
        let Ok(Some(before)) = self.load(&by.key) else { return Ok(()) };
        let (new, old) = (Standing::of(by), Standing::of(&before));
        // A record that is only older is not poorer.
        let worth = |s: &Standing| (s.completeness, s.bytes, s.pairs);
        match new.kind != old.kind || worth(&new) < worth(&old) {
            true => self.keep_before(&before, &old, None),
            false => Ok(()),
        }
    }

    /// The folder of the runs of a key.
    pub(super) fn runs_folder(&self, key: &str) -> PathBuf {
        self.directory().join(file_name(key)).with_extension(FOLDER)
    }

    /// The runs of a key beside the one in use, the newest first.
    pub fn runs(&self, key: &str) -> Vec<Run> {
        let folder = self.runs_folder(key);
        let files = check_folder(&folder).ok().and_then(|()| fs::read_dir(&folder).ok());
        let Some(files) = files else { return Vec::new() };
        // A machine that lost power may leave an empty file.
        let has_content = |file: &fs::DirEntry| file.metadata().is_ok_and(|meta| meta.len() > 0);
        let mut runs: Vec<Run> =
            files.flatten().filter(has_content).filter_map(|f| Run::parse(f.path())).collect();
        runs.arrange_by(|a, b| {
            (b.standing.recorded_at, &a.path).cmp(&(a.standing.recorded_at, &b.path))
        });
        runs
    }

    /// Keeps the bytes of a record among the runs of its key.
    pub(super) fn keep_run(
        &self,
        key: &str,
        standing: &Standing,
        bytes: &[u8],
        wait: bool,
    ) -> Result<PathBuf> {
        let folder = self.runs_folder(key);
        check_folder(&folder)?;
        let path = folder.join(file_of(standing, bytes));
        let create = || {
            create_folder(&folder)
                .map_err(|e| unwritable("cannot create the folder of runs", &folder, &e))
        };
        create()?;
        // A reader may remove the folder while it is empty.
        if self.write(&path, bytes, wait, &|| false).is_err() && !folder.exists() {
            create()?;
        }
        if !path.exists() {
            self.write(&path, bytes, wait, &|| false)?;
        }
        Ok(path)
    }

    /// Removes the runs of each kind that are not kept for a reason (see the head of this file), and the
    /// oldest kinds beyond [`MOST_KINDS`]. The richest run of all stays, and so does the one
    /// that the user chose. A damaged file is no reason to remove another.
    pub(super) fn trim_runs(&self, key: &str) {
        Store::open(self.runs_folder(key)).sweep();
        let chosen = self.chosen_run(key);
        let mut runs = self.runs(key);
        loop {
            let (gone, stays) = superfluous(&runs, chosen.as_ref());
            let loses = |kind: u32| gone.iter().any(|run| run.standing.kind == kind);
            let damaged: Vec<PathBuf> = stays
                .iter()
                .filter(|run| loses(run.standing.kind) && !run.is_sound())
                .map(|run| run.path.clone())
                .collect();
            if damaged.is_empty() {
                for run in gone {
                    // A file that another launch has removed is gone all the same.
                    let _ = fs::remove_file(&run.path);
                }
                return;
            }
            runs.retain(|run| !damaged.contains(&run.path));
        }
    }

    /// The run of a key that the user selects by the name that [`Run::name`] gives.
    pub fn run_named(&self, key: &str, name: &str) -> Option<Run> {
        let runs = self.runs(key);
        runs.iter().find(|run| run.name(&runs) == name).cloned()
    }

    /// The newest run of a record's key with the selector that means it, if it is newer than the record.
    pub fn newer_run(&self, record: &Record) -> Option<(String, Run)> {
        let runs = self.runs(&record.key);
        let run =
            newest(runs.iter()).filter(|run| run.standing.recorded_at > record.recorded_at)?;
        Some((format!("{}@{}", record.key, run.name(&runs)), run.clone()))
    }

    /// Removes all runs of the record in a file of the store.
    pub(super) fn forget_runs(&self, path: &Path) {
        // What is left is found again under its key.
        let _ = fs::remove_dir_all(path.with_extension(FOLDER));
    }
}

#[cfg(test)]
#[path = "runs_tests.rs"]
pub(super) mod tests;

#[cfg(test)]
#[path = "lost_records_tests.rs"]
mod lost_records_tests;

#[cfg(test)]
#[path = "sequence_tests.rs"]
mod sequence_tests;
