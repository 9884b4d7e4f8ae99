//! What happens with the records of a key if a file is damaged: other records are used in its place. No file is
//! removed because of a better one that cannot be read.

use super::others::read_stored;
use super::standing::{Completeness, Standing};
use super::{Record, Run, Store};
use crate::base::file;
use crate::base::sorting::Arrange;
use std::fs;
use std::path::Path;

/// The largest file of a run whose checksum is compared.
const LARGEST: u64 = 4 << 30;
/// The ending of the name of a damaged run.
const ASIDE: &str = "rkw.corrupt";

impl Run {
    /// Whether the file has the bytes that were written, by the checksum in its name. A damaged file is given
    /// another name, so that it does not count as a run any more.
    pub(super) fn is_sound(&self) -> bool {
        // A file that cannot be read now may be good.
        let Ok(bytes) = file::read(&self.path, LARGEST) else { return false };
        let checksum = format!("{:08x}", crc32fast::hash(&bytes));
        let is_sound = self.stem().rsplit('-').next() == Some(checksum.as_str());
        if !is_sound {
            // If the rename fails, the file is found damaged again next time.
            let _ = fs::rename(&self.path, self.path.with_extension(ASIDE));
        }
        is_sound
    }
}

impl Store {
    /// Puts the best of the runs of a key in use, after the record in use was damaged and moved away. `None` if
    /// no run can be read.
    pub(super) fn put_best_run_in_use(&self, key: &str) -> Option<Record> {
        let mut runs = self.runs(key);
        runs.arrange_by_key(|run| std::cmp::Reverse(run.standing.richness()));
        runs.retain(|run| run.standing.completeness > Completeness::Partial);
        let (run, record) =
            runs.iter().find_map(|run| Some((run, read_stored(&run.path).ok()?)))?;
        let path = self.path_of(key);
        if self.link_in_place(&run.path, &path).is_err() {
            let bytes = super::encode(&record).ok()?;
            self.write(&path, &bytes, false, &|| Path::new(&path).exists()).ok()?;
        }
        Some(record)
    }

    /// Keeps a record among the runs of its key whose kind is not that of the record in use. `None` if it is
    /// of that kind, or of another number of tasks.
    pub(super) fn keep_beside(
        &self,
        record: &Record,
    ) -> crate::base::error::Result<Option<std::path::PathBuf>> {
        let Some(in_use) = self.load(&record.key)? else { return Ok(None) };
        let standing = Standing::of(record);
        if Standing::of(&in_use).kind == standing.kind
            || in_use.matrix.tasks() != record.matrix.tasks()
        {
            return Ok(None);
        }
        let bytes = super::encode(record)?;
        let path = self.keep_run(&record.key, &standing, &bytes, true)?;
        self.trim_runs(&record.key);
        Ok(Some(path))
    }
}
