//! Parts that wait in the store for those of other nodes: `STORE/unfinished/JOB.HOST.TASKS.parts`.
//!
//! TASKS is the number of tasks in the file. Names of earlier versions lack it.

use super::directory::open_own;
use super::joined_record::best_of;
use super::joining_turn::{Census, Turn};
use super::part::{Part, decode_parts, encode_parts, read_parts};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::base::sorting::Arrange;
use crate::store::Store;
use crate::store::others::check_folder;
use std::path::{Path, PathBuf};

const ENDING: &str = ".parts";
/// The largest file of parts that is read.
const LARGEST: u64 = 4 << 30;

/// The directory of parts in a store.
#[derive(Debug, Clone)]
pub struct Waiting {
    directory: PathBuf,
}

impl Waiting {
    /// The waiting parts of a store. The directory need not exist.
    pub fn of(store: &Store) -> Self {
        Waiting { directory: store.directory().join("unfinished") }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps the parts of a job that were found on `host`, together with those of this host that wait already; gives the
    /// file. Parts of processes that still run are not `last`: their tasks do not count in the name.
    ///
    /// Errors: the file cannot be written, one that waits cannot be read, or a file of another user has its name.
    pub fn keep(&self, host: &str, parts: &[Part], last: bool) -> Result<PathBuf> {
        let job = parts.first().map(|part| part.about.job.clone()).unwrap_or_default();
        let host: String = host
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(64)
            .collect();
        let own = format!("{:016x}.{host}", job.id);
        let is_of_host = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let rest = name.strip_prefix(&own).and_then(|rest| rest.strip_suffix(ENDING));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        check_folder(&self.directory)?;
        let mut earlier: Vec<PathBuf> =
            self.files(Some(job.id)).into_iter().map(|(_, path)| path).collect();
        earlier.retain(|path| is_of_host(path) && file::is_own(path));
        let mut all = parts.to_vec();
        for path in &earlier {
            match self.load(path, file::user()) {
                Ok(parts) => all.extend(parts.into_iter().filter(|part| part.about.job == job)),
                Err(e) if e.kind() == ErrorKind::Io && path.exists() => return Err(e),
                // A damaged file has nothing that could be kept.
                Err(_) => {}
            }
        }
        let all = best_of(all);
        let tasks = if last { all.len() } else { 0 };
        let path = self.directory.join(format!("{own}.{tasks}{ENDING}"));
        if path.symlink_metadata().is_ok() && !file::is_own(&path) {
            let what = "parts of this job are there already, and belong to another user";
            return Err(Error::new(ErrorKind::Io, what).at(path.display()));
        }
        Store::waiting(&self.directory).replace(&path, &encode_parts(&all)?)?;
        remove_all(earlier.iter().map(PathBuf::as_path).filter(|other| *other != path))?;
        Ok(path)
    }

    /// What waits of a job, without a look into the files.
    pub fn census(&self, job: u64) -> Census {
        let none = Census { nodes: 0, tasks: Some(0) };
        self.files(Some(job)).iter().fold(none, |all, (_, path)| Census {
            nodes: all.nodes + 1,
            tasks: all.tasks.zip(tasks_in(path)).map(|(all, more)| all.saturating_add(more)),
        })
    }

    /// Begins to join the parts of a job; `None` if another node does so.
    pub fn begin_joining(&self, job: u64) -> Option<Turn> {
        Turn::begin(self.directory.join(format!("{job:016x}.joining")))
    }

    /// Files of one job, or of all; ascending.
    pub fn files(&self, job: Option<u64>) -> Vec<(u64, PathBuf)> {
        if check_folder(&self.directory).is_err() {
            return Vec::new();
        }
        let mut found: Vec<(u64, PathBuf)> = std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let (id, rest) = name.to_str()?.split_once('.')?;
                let id = u64::from_str_radix(id, 16).ok().filter(|_| id.len() == 16)?;
                (rest.ends_with(ENDING) && job.is_none_or(|j| j == id)).then(|| (id, entry.path()))
            })
            .collect();
        found.arrange();
        found
    }

    /// The parts in a file of `user`.
    ///
    /// Errors: it cannot be read, is damaged, or belongs to another user, whose statements about a job
    /// cannot be trusted.
    pub fn load(&self, path: &Path, user: u32) -> Result<Vec<Part>> {
        let failed = |e: std::io::Error| Error::io("cannot read parts of a job", path, &e);
        let Some((file, meta)) = open_own(path, user).map_err(failed)? else {
            let what = "these parts of a job belong to another user, and are not used";
            return Err(Error::new(ErrorKind::Format, what).at(path.display()));
        };
        let bytes = read_parts(&file, meta.len(), LARGEST).map_err(failed)?;
        decode_parts(&bytes).map_err(|e| e.at(path.display()))
    }

    /// Removes the waiting parts of a job, except those of other users.
    ///
    /// Errors: the first file that cannot be removed; the next recovery finds it again.
    pub fn remove(&self, job: u64) -> Result<()> {
        let files = self.files(Some(job));
        remove_all(files.iter().map(|(_, path)| path.as_path()).filter(|path| file::is_own(path)))
    }
}

/// The number of tasks in a file of parts, as its name says: 0 if they still ran.
pub(super) fn tasks_in(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    // JOB.HOST.TASKS; the name of a host has no dot here.
    match name.split('.').collect::<Vec<_>>()[..] {
        [_, _, tasks] => tasks.parse().ok(),
        _ => None,
    }
}

/// Removes files; a file that does not exist any more is no error.
///
/// Errors: the first that cannot be removed, after the others are.
pub(super) fn remove_all<'p>(paths: impl Iterator<Item = &'p Path>) -> Result<()> {
    let mut result = Ok(());
    for path in paths {
        if let Err(e) = std::fs::remove_file(path)
            && e.kind() != std::io::ErrorKind::NotFound
            && result.is_ok()
        {
            result = Err(Error::io("cannot remove the file", path, &e));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::spill::{About, JobDescription};

    #[test]
    fn parts_are_kept_by_job_and_host() {
        let dir = tempfile::tempdir().unwrap();
        let waiting = Waiting::of(&Store::open(dir.path().join("s")));
        assert!(waiting.files(None).is_empty());
        let part = |job: u64, task: u32| Part {
            about: About {
                job: JobDescription { id: job, tasks: 4, ..JobDescription::default() },
                task,
                ..About::default()
            },
            ..Part::default()
        };
        waiting.keep("n1", &[part(5, 0)], true).unwrap();
        // Parts that came later are added to those that wait.
        waiting.keep("n1", &[part(5, 1)], true).unwrap();
        waiting.keep("../n2", &[part(5, 2)], true).unwrap();
        waiting.keep("n1", &[part(6, 0)], true).unwrap();
        let files = waiting.files(Some(5));
        assert_eq!(files.len(), 2);
        assert_eq!(waiting.census(5), Census { nodes: 2, tasks: Some(3) });
        let earlier = waiting.directory().join("0000000000000006.n8.parts");
        std::fs::copy(&files[0].1, &earlier).unwrap();
        assert_eq!(waiting.census(6), Census { nodes: 2, tasks: None });
        waiting.keep("n8", &[part(6, 1)], true).unwrap();
        assert_eq!(waiting.census(6), Census { nodes: 2, tasks: Some(2) });
        assert_eq!(waiting.census(9), Census { nodes: 0, tasks: Some(0) });
        // SAFETY: no preconditions.
        let user = unsafe { libc::geteuid() };
        let parts: usize = files.iter().map(|f| waiting.load(&f.1, user).unwrap().len()).sum();
        assert_eq!(parts, 3);
        assert!(waiting.load(&files[0].1, user + 1).is_err(), "a file of another user");
        let link = waiting.directory().join("0000000000000006.n9.parts");
        std::os::unix::fs::symlink(&files[0].1, &link).unwrap();
        assert!(waiting.load(&link, user).is_err(), "a link");
        std::fs::remove_file(link).unwrap();
        waiting.remove(5).unwrap();
        assert_eq!(waiting.files(None).len(), 2);
    }

    #[test]
    fn damage_is_found() {
        let mut part = Part::default();
        part.about.job.tasks = 1;
        let bytes = encode_parts(std::slice::from_ref(&part)).unwrap();
        assert_eq!(decode_parts(&bytes).unwrap(), [part]);
        for at in 0..bytes.len() {
            assert!(decode_parts(&bytes[..at]).is_err());
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(decode_parts(&changed).is_err(), "byte {at}");
        }
    }
}
