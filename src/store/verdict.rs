//! Verdicts on a program. `rankweave check` finds out whether permuted ranks change its results. A launch finds
//! out whether it mixes the ranks of a reordered communicator with those of the communicator from which it was
//! made.
//!
//! A verdict belongs to the program and not to a record. It holds for every key of its matrices and every
//! number of tasks. The file is `IDENTITY.verdict` in the store, with the same header as a record: magic
//! `RKCHECK\n`, version, length, CRC-32; then the [`Verdict`]s in postcard encoding, one for each number of
//! tasks that was checked, the newest last.

use super::record_format::{open_sealed, read_sealed, seal};
use super::{Listing, Store};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

const MAGIC: [u8; 8] = *b"RKCHECK\n";
/// Newest version; 2 has [`Finding::MixesRanks`], and is written only where there is one.
const VERSION: u32 = 2;
/// Numbers of tasks of which the verdict is kept.
const KEPT: usize = 16;
/// The largest file that is read. Rankweave writes no larger one.
const LARGEST: u64 = 4 << 20;

named_enum! {
    /// The outcome of a check. The name is that in messages and JSON.
    #[derive(Default, Serialize, Deserialize)]
    pub enum Finding, "finding" {
        /// Permuted ranks changed nothing.
        Safe = "safe",
        /// Permuted ranks changed the program's output or its exit code.
        Differs = "differs",
        /// The program could not be compared with itself.
        #[default]
        NotComparable = "not comparable",
        /// A launch found that it takes ranks of a reordered communicator for those of another one
        /// ([`crate::decide::mixed_ranks`]): its ranks may be reordered, but not by constructors of topologies.
        MixesRanks = "mixes ranks",
    }
}

/// What a check or a launch of a program with one number of tasks found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Path of the executable.
    pub program: String,
    /// The launch that was checked; the program with its arguments where a launch found it.
    pub launch: Vec<String>,
    /// Number of tasks.
    pub tasks: u64,
    /// When, seconds since 1970-01-01 UTC.
    pub checked_at: u64,
    /// Seeds of the permutations; none where a launch found it.
    pub seeds: Vec<u64>,
    /// The outcome.
    pub finding: Finding,
    /// Why, or how it was compared, in one sentence; may be empty.
    pub reason: String,
}

impl Store {
    /// The file with the verdicts on a program.
    pub fn verdict_path(&self, program: &str) -> PathBuf {
        self.path_of(program).with_extension("verdict")
    }

    /// Whether a listing of the store has verdicts on a program, without a look at its file.
    pub fn may_have_verdicts(&self, listing: &Listing, program: &str) -> bool {
        let path = self.verdict_path(program);
        path.file_stem()
            .and_then(|stem| stem.to_str())
            .is_some_and(|stem| listing.has_verdicts(stem))
    }

    /// The verdicts on a program, one for each number of tasks, the newest last; empty if there is
    /// none. Errors: the file cannot be read, is damaged, or of a newer version.
    pub fn verdicts(&self, program: &str) -> Result<Vec<Verdict>> {
        let path = self.verdict_path(program);
        let bytes = match read_sealed(&path, MAGIC, LARGEST) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|e| {
                Error::io("cannot read the verdict of the check", &path, &e)
                    .advise("remove it and run 'rankweave check' again")
            })?,
        };
        let read = || -> Result<Vec<Verdict>> {
            let (_, body) = open_sealed(&bytes, MAGIC, VERSION, "verdict")?;
            postcard::from_bytes(body)
                .map_err(|e| Error::new(ErrorKind::Format, format!("cannot be decoded: {e}")))
        };
        read().map_err(|e| match e.kind() {
            ErrorKind::NewerVersion => e.at(path.display()),
            _ => Error::new(ErrorKind::Format, "the verdict of 'rankweave check' is damaged")
                .at(path.display())
                .advise("run 'rankweave check' again"),
        })
    }

    /// [`Self::verdicts`]; none if the file is damaged.
    fn undamaged(&self, program: &str) -> Result<Vec<Verdict>> {
        match self.verdicts(program) {
            Err(error) if error.kind() == ErrorKind::Format => Ok(Vec::new()),
            other => other,
        }
    }

    /// Keeps a verdict; it replaces an older one with as many tasks. A damaged file is replaced, one
    /// of a newer version is an error.
    pub fn keep_verdict(&self, program: &str, verdict: &Verdict) -> Result<PathBuf> {
        let mut all = self.undamaged(program)?;
        all.retain(|old| old.tasks != verdict.tasks);
        all.push(verdict.clone());
        let excess = all.len().saturating_sub(KEPT);
        all.drain(..excess);
        let body = postcard::to_allocvec(&all).map_err(|e| {
            Error::new(ErrorKind::Format, format!("cannot encode the verdict: {e}"))
        })?;
        let path = self.verdict_path(program);
        let newest = all.iter().any(|v| v.finding == Finding::MixesRanks);
        self.replace(&path, &seal(MAGIC, if newest { VERSION } else { 1 }, &body))?;
        Ok(path)
    }

    /// The verdict that speaks against reordering a program, if any: the newest one that differs.
    pub fn objection(&self, program: &str) -> Result<Option<Verdict>> {
        let all = self.verdicts(program)?;
        Ok(all.into_iter().rev().find(|v| v.finding == Finding::Differs))
    }

    /// The verdict that speaks against new ranks of topologies only, if any: the newest one that mixes
    /// ranks, unless there is an [`Self::objection`].
    pub fn objection_to_topologies(&self, program: &str) -> Result<Option<Verdict>> {
        let all = self.verdicts(program)?;
        let differs = all.iter().any(|v| v.finding == Finding::Differs);
        let mixes = all.into_iter().rev().find(|v| v.finding == Finding::MixesRanks);
        Ok(mixes.filter(|_| !differs))
    }

    /// Keeps what a launch found out about mixed ranks, unless a check with as many tasks knows better:
    /// it found that permuted ranks change nothing (`false`: there is nothing to warn of), or that
    /// they do. Errors as of [`Self::keep_verdict`].
    pub fn keep_mixed(&self, program: &str, verdict: &Verdict) -> Result<bool> {
        let known = self.undamaged(program)?;
        match known.iter().find(|v| v.tasks == verdict.tasks).map(|v| v.finding) {
            Some(Finding::Safe) => return Ok(false),
            Some(Finding::Differs) => {}
            _ => drop(self.keep_verdict(program, verdict)?),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(tasks: u64, finding: Finding) -> Verdict {
        Verdict {
            program: "/opt/app".into(),
            launch: vec!["mpirun".into(), "./app".into()],
            tasks,
            checked_at: 1_700_000_000,
            seeds: vec![1, 2, 3],
            finding,
            reason: "line 3".into(),
        }
    }

    #[test]
    fn one_verdict_for_each_number_of_tasks() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("s"));
        assert_eq!(store.verdicts("app-0badcafe").unwrap(), []);
        for (tasks, finding) in
            [(4, Finding::Differs), (8, Finding::Safe), (4, Finding::NotComparable)]
        {
            store.keep_verdict("app-0badcafe", &verdict(tasks, finding)).unwrap();
        }
        let found: Vec<_> =
            store.verdicts("app-0badcafe").unwrap().iter().map(|v| (v.tasks, v.finding)).collect();
        assert_eq!(found, [(8, Finding::Safe), (4, Finding::NotComparable)]);
        assert_eq!(store.objection("app-0badcafe").unwrap(), None);
        store.keep_verdict("app-0badcafe", &verdict(9, Finding::Differs)).unwrap();
        assert_eq!(store.objection("app-0badcafe").unwrap().map(|v| v.tasks), Some(9));
        for tasks in 10..40 {
            store.keep_verdict("app-0badcafe", &verdict(tasks, Finding::Safe)).unwrap();
        }
        assert_eq!(store.verdicts("app-0badcafe").unwrap().len(), KEPT);
        assert!(store.list().unwrap().is_empty(), "a verdict is no record");
    }

    #[test]
    fn mixed_ranks_are_an_objection_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let mixed = verdict(8, Finding::MixesRanks);
        let against = |program: &str| {
            let topologies = store.objection_to_topologies(program).unwrap();
            (store.objection(program).unwrap().is_some(), topologies.map(|v| v.tasks))
        };
        store.keep_verdict("a", &verdict(4, Finding::Safe)).unwrap();
        let version = || std::fs::read(store.verdict_path("a")).unwrap()[8];
        assert_eq!(version(), 1, "older versions can read it");
        assert!(store.keep_mixed("a", &mixed).unwrap());
        assert_eq!((version(), against("a")), (2, (false, Some(8))));
        // A check with as many tasks decides.
        store.keep_verdict("a", &verdict(8, Finding::Safe)).unwrap();
        assert_eq!((version(), against("a")), (1, (false, None)));
        assert!(!store.keep_mixed("a", &mixed).unwrap());
        assert_eq!(against("a"), (false, None));
        store.keep_verdict("a", &verdict(8, Finding::Differs)).unwrap();
        assert!(store.keep_mixed("a", &mixed).unwrap());
        assert_eq!(against("a"), (true, None));
        store.keep_verdict("a", &verdict(8, Finding::NotComparable)).unwrap();
        assert!(store.keep_mixed("a", &mixed).unwrap());
        assert_eq!(against("a"), (false, Some(8)));
    }

    #[test]
    fn damaged_verdicts_are_replaced_newer_ones_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let path = store.keep_verdict("a", &verdict(4, Finding::Differs)).unwrap();
        let good = std::fs::read(&path).unwrap();
        for cut in 0..good.len() {
            std::fs::write(&path, &good[..cut]).unwrap();
            assert!(store.verdicts("a").is_err(), "{cut}");
        }
        store.keep_verdict("a", &verdict(4, Finding::Safe)).unwrap();
        let mut newer = std::fs::read(&path).unwrap();
        newer[8] = 99;
        std::fs::write(&path, &newer).unwrap();
        let error = store.keep_verdict("a", &verdict(4, Finding::Safe)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NewerVersion);
        assert_eq!(std::fs::read(&path).unwrap(), newer);
    }
}
