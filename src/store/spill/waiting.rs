//! Parts that wait in the store for those of other nodes: `STORE/unfinished/JOB.HOST.parts`.

use super::part::{Part, decode_parts, encode_parts};
use crate::error::{Error, Result};
use crate::store::Store;
use std::path::{Path, PathBuf};

const ENDING: &str = ".parts";

/// The directory of parts in a store.
#[derive(Debug, Clone)]
pub struct Waiting {
    directory: PathBuf,
}

impl Waiting {
    /// That of a store; it need not exist.
    pub fn of(store: &Store) -> Self {
        Waiting { directory: store.directory().join("unfinished") }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps the parts of a job that were found on `host`, in place of those kept before; gives the
    /// file.
    pub fn keep(&self, host: &str, parts: &[Part]) -> Result<PathBuf> {
        let job = parts.first().map_or(0, |p| p.about.job.id);
        let host: String = host
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(64)
            .collect();
        let path = self.directory.join(format!("{job:016x}.{host}{ENDING}"));
        let temporary =
            self.directory.join(format!(".{job:016x}.{host}.{:x}{ENDING}.tmp", std::process::id()));
        let failed = |e: std::io::Error| Error::io("cannot keep the parts of a job", &path, &e);
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        let bytes = encode_parts(parts)?;
        let written = crate::store::directory::write_synced(&temporary, &bytes)
            .and_then(|()| std::fs::rename(&temporary, &path));
        if let Err(e) = written {
            // Not more than an attempt: the failure to report is the one above.
            let _ = std::fs::remove_file(&temporary);
            return Err(failed(e));
        }
        Ok(path)
    }

    /// Files of one job, or of all; ascending.
    pub fn files(&self, job: Option<u64>) -> Vec<(u64, PathBuf)> {
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
        found.sort();
        found
    }

    /// The parts in a file.
    pub fn load(&self, path: &Path) -> Result<Vec<Part>> {
        let bytes =
            std::fs::read(path).map_err(|e| Error::io("cannot read parts of a job", path, &e))?;
        decode_parts(&bytes).map_err(|e| e.at(path.display()))
    }

    /// Removes what waits of a job. A failure leaves a file that is found again.
    pub fn remove(&self, job: u64) {
        for (_, path) in self.files(Some(job)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::spill::{About, Job};

    #[test]
    fn parts_are_kept_by_job_and_host() {
        let dir = tempfile::tempdir().unwrap();
        let waiting = Waiting::of(&Store::open(dir.path().join("s")));
        assert!(waiting.files(None).is_empty());
        let part = |job: u64, task: u32| Part {
            about: About { job: Job { id: job, ..Job::default() }, task, ..About::default() },
            ..Part::default()
        };
        waiting.keep("n1", &[part(5, 0)]).unwrap();
        waiting.keep("n1", &[part(5, 0), part(5, 1)]).unwrap();
        waiting.keep("../n2", &[part(5, 2)]).unwrap();
        waiting.keep("n1", &[part(6, 0)]).unwrap();
        let files = waiting.files(Some(5));
        assert_eq!(files.len(), 2);
        let parts: usize = files.iter().map(|f| waiting.load(&f.1).unwrap().len()).sum();
        assert_eq!(parts, 3);
        waiting.remove(5);
        assert_eq!(waiting.files(None).len(), 1);
    }

    #[test]
    fn damage_is_found() {
        let bytes = encode_parts(&[Part::default()]).unwrap();
        assert_eq!(decode_parts(&bytes).unwrap(), [Part::default()]);
        for at in 0..bytes.len() {
            assert!(decode_parts(&bytes[..at]).is_err());
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(decode_parts(&changed).is_err(), "byte {at}");
        }
    }
}
