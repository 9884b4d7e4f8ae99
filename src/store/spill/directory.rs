//! Finds spill files in a directory that others can write to as well.

use super::layout;
use super::part::Part;
use super::read::read;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::sorting::Arrange;
use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file without a header that is at least this old was left by a process that was killed while it
/// made the file.
const ABANDONED: Duration = Duration::from_secs(60);
/// The largest spill file that is read.
const LARGEST: u64 = 1 << 30;

/// Whether the process that made a file is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The process is running, and still counts.
    Running,
    /// The process has ended.
    Ended,
}

/// A spill file.
#[derive(Debug)]
pub struct SpillFile {
    /// Where it is.
    pub path: PathBuf,
    /// The job in its name.
    pub job: u64,
    /// Process (launcher rank) in its name.
    pub process: u32,
    /// Size in bytes.
    pub size: u64,
    /// Whether its process is running.
    pub state: State,
    /// Its content, or why it cannot be read.
    pub part: Result<Part>,
}

/// The directories in which the library tries to put spill files, in this order: only the one that the
/// user asked for; else memory, `$TMPDIR` and `/tmp`.
pub fn candidates(asked: Option<&Path>) -> Vec<PathBuf> {
    if let Some(asked) = asked {
        return vec![asked.into()];
    }
    let (memory, usual) = (PathBuf::from("/dev/shm"), PathBuf::from("/tmp"));
    let temporary = std::env::var_os("TMPDIR").filter(|d| !d.is_empty()).map(PathBuf::from);
    let other = temporary.filter(|directory| ![&memory, &usual].contains(&directory));
    [Some(memory), other, Some(usual)].into_iter().flatten().collect()
}

/// The spill files of `user` in a directory, by job and process. Files of others, links and whatever
/// else has such a name are passed over. A directory that does not exist is empty.
pub fn scan(directory: &Path, user: u32) -> Result<Vec<SpillFile>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("cannot look for spill files", directory, &e)),
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((owner, job, process, _)) = name.to_str().and_then(layout::parse_name) else {
            continue;
        };
        if owner == user
            && let Some(file) = look_at(&entry.path(), user, job, process)
        {
            found.push(file);
        }
    }
    found.arrange_by(|a, b| (a.job, a.process, &a.path).cmp(&(b.job, b.process, &b.path)));
    Ok(found)
}

/// The jobs of `user` that have files in a directory although no process of them runs on this node. The counters are
/// not read. A file of which this cannot be told for certain counts as one of a running job.
pub fn ended_jobs(directory: &Path, user: u32) -> BTreeSet<u64> {
    let Ok(entries) = std::fs::read_dir(directory) else { return BTreeSet::new() };
    let (mut ended, mut running) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((owner, job, ..)) = name.to_str().and_then(layout::parse_name) else { continue };
        if owner == user && !running.contains(&job) {
            let set = if has_ended(&entry.path(), user) { &mut ended } else { &mut running };
            set.insert(job);
        }
    }
    ended.difference(&running).copied().collect()
}

/// Whether a file has a header, and its process does not run.
fn has_ended(path: &Path, user: u32) -> bool {
    let Ok(Some((mut file, _))) = open_own(path, user) else { return false };
    let mut start = [0; layout::MAGIC.len()];
    file.read_exact(&mut start).is_ok() && start == layout::MAGIC && file.try_lock_shared().is_ok()
}

/// Opens a file of `user`. Returns the open file and its metadata. `None` if the file belongs to another user or is
/// not a regular file. Does not follow a link, nor wait for the other end of a pipe.
pub(super) fn open_own(path: &Path, user: u32) -> std::io::Result<Option<(File, Metadata)>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    Ok((meta.is_file() && meta.uid() == user).then_some((file, meta)))
}

fn look_at(path: &Path, user: u32, job: u64, process: u32) -> Option<SpillFile> {
    let (file, meta) = open_own(path, user).ok()??;
    let state = state_of(&file);
    let part = read_file(&file).and_then(|part| {
        if part.about.job.id == job && part.about.process == process {
            Ok(part)
        } else {
            Err(Error::new(ErrorKind::Format, "the file has the name of another process or job"))
        }
    });
    let young =
        || meta.modified().ok().and_then(|m| m.elapsed().ok()).is_none_or(|a| a < ABANDONED);
    if part.is_err() && state == State::Ended && young() {
        // Being made right now.
        return None;
    }
    let part = part.map_err(|e| e.at(path.display()));
    Some(SpillFile { path: path.into(), job, process, size: meta.len(), state, part })
}

/// The library locks the file and maps it. The lock lasts as long as the mapping, for every way in which a
/// process can end, and it is visible from every container of the node.
fn state_of(file: &File) -> State {
    match file.try_lock_shared() {
        // This lock is released when the file is closed, after reading.
        Ok(()) => State::Ended,
        Err(std::fs::TryLockError::WouldBlock) => State::Running,
        // A file system without locks does not show whether the process has ended. The file then counts as one whose
        // process has ended.
        Err(std::fs::TryLockError::Error(_)) => State::Ended,
    }
}

fn read_file(file: &File) -> Result<Part> {
    let mut bytes = Vec::new();
    let failed =
        |e: std::io::Error| Error::new(ErrorKind::Io, format!("cannot read the spill file: {e}"));
    if file.metadata().map_err(failed)?.len() > LARGEST {
        return Err(Error::new(ErrorKind::Format, "the file is larger than a spill file can be"));
    }
    file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    read(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::spill::{About, JobDescription};

    fn user() -> u32 {
        // SAFETY: no preconditions.
        unsafe { libc::geteuid() }
    }

    fn file(job: u64, process: u32) -> (String, Vec<u8>) {
        let job = JobDescription {
            id: job,
            tasks: 4,
            model: "logical".into(),
            ..JobDescription::default()
        };
        let about = About { task: process, process, job, ..About::default() };
        let name = layout::file_name(user(), about.job.id, process, 1);
        (name, layout::header(&about.encode()))
    }

    #[test]
    fn finds_own_files_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        for (job, process) in [(2, 1), (1, 3), (1, 0)] {
            let (name, content) = file(job, process);
            std::fs::write(dir.path().join(name), content).unwrap();
        }
        let (name, content) = file(9, 0);
        std::fs::write(dir.path().join("elsewhere"), content).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join(name)).unwrap();
        std::fs::create_dir(dir.path().join(layout::file_name(user(), 8, 0, 1))).unwrap();
        std::fs::write(dir.path().join(layout::file_name(user() + 1, 1, 1, 1)), "x").unwrap();
        let found = scan(dir.path(), user()).unwrap();
        let names: Vec<(u64, u32)> = found.iter().map(|f| (f.job, f.process)).collect();
        assert_eq!(names, [(1, 0), (1, 3), (2, 1)]);
        assert!(found.iter().all(|f| f.part.is_ok() && f.state == State::Ended));
        assert!(scan(&dir.path().join("absent"), user()).unwrap().is_empty());
    }

    #[test]
    fn a_lock_means_that_the_process_lives() {
        let dir = tempfile::tempdir().unwrap();
        let (name, content) = file(1, 2);
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        let held = File::open(&path).unwrap();
        held.lock().unwrap();
        assert_eq!(scan(dir.path(), user()).unwrap()[0].state, State::Running);
        assert!(ended_jobs(dir.path(), user()).is_empty());
        // A job of which one process runs is a job that runs.
        let (name, content) = file(1, 3);
        std::fs::write(dir.path().join(name), content).unwrap();
        assert!(ended_jobs(dir.path(), user()).is_empty());
        drop(held);
        assert_eq!(scan(dir.path(), user()).unwrap()[0].state, State::Ended);
        assert_eq!(ended_jobs(dir.path(), user()), BTreeSet::from([1]));
        assert!(ended_jobs(&dir.path().join("absent"), user()).is_empty());
    }

    #[test]
    fn a_file_without_a_header_is_left_to_its_maker_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(layout::file_name(user(), 1, 0, 1));
        std::fs::write(&path, [0; 4096]).unwrap();
        assert!(scan(dir.path(), user()).unwrap().is_empty());
        let old = std::time::SystemTime::now() - 2 * ABANDONED;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(scan(dir.path(), user()).unwrap()[0].part.is_err());
    }

    #[test]
    fn a_name_that_lies_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let (_, content) = file(1, 2);
        let path = dir.path().join(layout::file_name(user(), 1, 3, 1));
        std::fs::write(&path, content).unwrap();
        let old = std::time::SystemTime::now() - 2 * ABANDONED;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(scan(dir.path(), user()).unwrap()[0].part.is_err());
    }
}
