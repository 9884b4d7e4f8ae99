//! Verdicts on a program. `rankweave check` finds out whether permuted ranks change its results. A launch finds
//! out whether it mixes the ranks of a reordered communicator with those of the communicator from which it was
//! made.
//!
//! A verdict belongs to the program and not to a record. It holds for every key of its matrices and every
//! number of tasks. The file is `IDENTITY.verdict` in the store, with the same header as a record: magic
//! `RKCHECK\n`, version, length, CRC-32; then the [`Verdict`]s in postcard encoding, the newest last; then
//! how each of them was found ([`Compared`]), which older versions do not read and do not write.
//!
//! There is one verdict for each number of tasks that was checked. A difference stays beside a newer verdict
//! until a check that would find it again finds nothing ([`Verdict::settles`]).

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
/// Characters of the arguments of a check that a message shows.
const MOST_SHOWN: usize = 200;
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
    /// How a check found it. `None` where a launch found it, and for a check of an older version.
    #[serde(skip)]
    pub compared: Option<Compared>,
}

/// The input of the program in a check, and what was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// The arguments of the program, without its own name.
    pub arguments: Vec<String>,
    /// The file that was standard input; empty if there was none.
    pub stdin: String,
    /// The files that were compared.
    pub files: Vec<String>,
    /// Standard error was compared, too.
    pub stderr: bool,
    /// The setting of the tasks that kept their process; empty for the default.
    pub fix: String,
}

impl Verdict {
    /// The arguments of the program in the check, on one line for a message. `None` if there were none, or if they are
    /// not known.
    pub fn shown_arguments(&self) -> Option<String> {
        let arguments = self.compared.as_ref()?.arguments.join(" ");
        let clean = |c: char| if c.is_control() { '?' } else { c };
        let mut shown: String = arguments.chars().map(clean).take(MOST_SHOWN).collect();
        if arguments.chars().nth(MOST_SHOWN).is_some() {
            shown.push('…');
        }
        (!shown.is_empty()).then_some(shown)
    }

    /// Whether a check with this verdict would have found the difference of an older one: it has the same number of
    /// tasks and the same input, compares at least as much, and has the seed that showed the difference.
    ///
    /// Tolerances and ignored lines do not matter: with these the user says which differences have a meaning.
    pub fn settles(&self, older: &Verdict) -> bool {
        let is_same = match (&self.compared, &older.compared) {
            (Some(new), Some(old)) => {
                new.arguments == old.arguments
                    && new.stdin == old.stdin
                    && new.fix == old.fix
                    && new.stderr >= old.stderr
                    && old.files.iter().all(|file| new.files.contains(file))
            }
            // Only the launch of the older one is known.
            _ => self.launch == older.launch,
        };
        // The seed that shows a difference is the last one. There is none if the recorded run shows it.
        let has_seed = older.seeds.last().is_none_or(|seed| self.seeds.contains(seed));
        let says = matches!(self.finding, Finding::Safe | Finding::Differs);
        says && self.tasks == older.tasks && is_same && has_seed
    }
}

impl Store {
    /// The file with the verdicts on a program.
    pub fn verdict_path(&self, program: &str) -> PathBuf {
        self.path_of(program).with_extension("verdict")
    }

    /// Whether a listing of the store has verdicts on a program, without a look at its file.
    pub fn may_have_verdicts(&self, listing: &Listing, program: &str) -> bool {
        if !listing.has_any_verdicts() {
            return false;
        }
        let path = self.verdict_path(program);
        path.file_stem()
            .and_then(|stem| stem.to_str())
            .is_some_and(|stem| listing.has_verdicts(stem))
    }

    /// The verdicts on a program, the newest last; empty if there is none. For a number of tasks there is one, and the
    /// differences that it does not settle. Errors: the file cannot be read, is damaged, or of a newer version.
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
            decoded(body)
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

    /// Keeps a verdict. It replaces an older one with as many tasks, except a difference that it does not settle
    /// ([`Verdict::settles`]). A damaged file is replaced, one of a newer version is an error.
    pub fn keep_verdict(&self, program: &str, verdict: &Verdict) -> Result<PathBuf> {
        let mut all = self.undamaged(program)?;
        let differs = |v: &Verdict| v.finding == Finding::Differs;
        all.retain(|old| old.tasks != verdict.tasks || differs(old) && !verdict.settles(old));
        all.push(verdict.clone());
        while all.len() > KEPT {
            // A difference is the last to go, because the program would be reordered without it.
            let oldest = all[..KEPT].iter().position(|old| !differs(old));
            all.remove(oldest.unwrap_or(0));
        }
        let body = encoded(&all).map_err(|e| {
            Error::new(ErrorKind::Format, format!("cannot encode the verdict: {e}"))
        })?;
        let path = self.verdict_path(program);
        let newest = all.iter().any(|v| v.finding == Finding::MixesRanks);
        self.replace(&path, &seal(MAGIC, if newest { VERSION } else { 1 }, &body))?;
        Ok(path)
    }

    /// The differences of older checks that a check with this verdict did not settle, the newest last.
    pub fn unsettled(&self, program: &str, verdict: &Verdict) -> Result<Vec<Verdict>> {
        let mut all = self.verdicts(program)?;
        all.retain(|old| old.finding == Finding::Differs && old != verdict);
        Ok(all)
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
        let has = |finding| known.iter().any(|v| v.tasks == verdict.tasks && v.finding == finding);
        if has(Finding::Differs) {
            return Ok(true);
        }
        if has(Finding::Safe) {
            return Ok(false);
        }
        self.keep_verdict(program, verdict).map(|_| true)
    }
}

/// The content of a file: the verdicts, and behind them how each was found.
fn encoded(all: &[Verdict]) -> postcard::Result<Vec<u8>> {
    let mut bytes = postcard::to_allocvec(all)?;
    let compared: Vec<&Option<Compared>> = all.iter().map(|verdict| &verdict.compared).collect();
    bytes.extend(postcard::to_allocvec(&compared)?);
    Ok(bytes)
}

/// The verdicts in the content of a file. A file of an older version ends behind the verdicts.
fn decoded(body: &[u8]) -> postcard::Result<Vec<Verdict>> {
    let (mut all, rest) = postcard::take_from_bytes::<Vec<Verdict>>(body)?;
    if !rest.is_empty() {
        let compared: Vec<Option<Compared>> = postcard::from_bytes(rest)?;
        for (verdict, compared) in all.iter_mut().zip(compared) {
            verdict.compared = compared;
        }
    }
    Ok(all)
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
            compared: None,
        }
    }

    /// A verdict with 4 tasks of a check with these arguments, which also compares standard error.
    fn with_stderr(finding: Finding, arguments: &str) -> Verdict {
        let arguments = arguments.split(' ').map(String::from).collect();
        let compared = Compared { arguments, stderr: true, ..Compared::default() };
        Verdict { compared: Some(compared), ..verdict(4, finding) }
    }

    #[test]
    fn a_difference_stays_until_a_check_with_the_same_arguments_finds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let differs = with_stderr(Finding::Differs, "input bad");
        store.keep_verdict("a", &differs).unwrap();
        assert_eq!(store.objection("a").unwrap(), Some(differs.clone()));
        let safe = with_stderr(Finding::Safe, "input bad");
        let other = with_stderr(Finding::Safe, "input good");
        let varies = with_stderr(Finding::NotComparable, "input bad");
        let fewer_seeds = Verdict { seeds: vec![1, 2], ..safe.clone() };
        let mut less = safe.clone();
        less.compared.as_mut().unwrap().stderr = false;
        let mut other_fix = safe.clone();
        other_fix.compared.as_mut().unwrap().fix = "none".into();
        let more_tasks = Verdict { tasks: 8, ..safe.clone() };
        for newer in [other, varies, fewer_seeds, less, other_fix, more_tasks] {
            store.keep_verdict("a", &newer).unwrap();
            assert_eq!(store.objection("a").unwrap(), Some(differs.clone()), "{newer:?}");
            assert_eq!(store.verdicts("a").unwrap().last(), Some(&newer));
        }
        let found: Vec<_> =
            store.verdicts("a").unwrap().iter().map(|v| (v.tasks, v.finding)).collect();
        let safe_with_four = (4, Finding::Safe);
        assert_eq!(found, [(4, Finding::Differs), safe_with_four, (8, Finding::Safe)]);
        // Another difference does not hide the first one.
        store.keep_verdict("a", &with_stderr(Finding::Differs, "worse")).unwrap();
        store.keep_verdict("a", &with_stderr(Finding::Safe, "worse")).unwrap();
        assert_eq!(store.objection("a").unwrap(), Some(differs.clone()));
        store.keep_verdict("a", &safe).unwrap();
        assert_eq!(store.objection("a").unwrap(), None);
    }

    #[test]
    fn a_difference_that_an_older_version_stored_belongs_to_its_launch() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let path = store.verdict_path("a");
        let body = postcard::to_allocvec(&vec![verdict(4, Finding::Differs)]).unwrap();
        store.replace(&path, &seal(MAGIC, 1, &body)).unwrap();
        let mut safe = with_stderr(Finding::Safe, "input");
        safe.launch.push("other".into());
        store.keep_verdict("a", &safe).unwrap();
        assert!(store.objection("a").unwrap().is_some());
        safe.launch.pop();
        store.keep_verdict("a", &safe).unwrap();
        assert_eq!(store.objection("a").unwrap(), None);
        // An older version ignores what is behind the verdicts.
        let bytes = std::fs::read(&path).unwrap();
        let (_, body) = open_sealed(&bytes, MAGIC, VERSION, "verdict").unwrap();
        assert_eq!(postcard::from_bytes::<Vec<Verdict>>(body).unwrap().len(), 1);
    }

    #[test]
    fn one_verdict_for_each_number_of_tasks() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("s"));
        assert_eq!(store.verdicts("app-0badcafe").unwrap(), []);
        for (tasks, finding) in
            [(4, Finding::MixesRanks), (8, Finding::Safe), (4, Finding::NotComparable)]
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
        store.keep_verdict("app-0badcafe", &verdict(1, Finding::Differs)).unwrap();
        for tasks in 10..40 {
            store.keep_verdict("app-0badcafe", &verdict(tasks, Finding::Safe)).unwrap();
        }
        assert_eq!(store.verdicts("app-0badcafe").unwrap().len(), KEPT);
        assert!(store.objection("app-0badcafe").unwrap().is_some(), "a difference goes last");
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
        store.keep_verdict("a", &verdict(8, Finding::Safe)).unwrap();
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
