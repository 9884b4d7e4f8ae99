//! What is known of a program from before, on rank 0: whether it minds other ranks (`rankweave check`,
//! lists of the user), whether it mixes ranks, and whether reordering helped in earlier launches.

use crate::sys::message;
use rw::decide::{Judgement, Measured};
use rw::options::{self, Settings};
use rw::store::{self, Finding, Launch, LaunchMode, Past, Record, Store, Verdict, work_of};
use std::path::Path;
use std::time::SystemTime;

/// Which program this is, and what the user said about it.
#[derive(Debug, Default)]
pub struct Program {
    /// Name and hash; empty if the executable cannot be read.
    pub identity: String,
    /// Hash of what this launch has to do.
    work: u32,
    /// The mode leaves the decision to us.
    auto: bool,
    allowed: bool,
    /// The pattern by which the user wants its ranks left alone.
    denied: Option<String>,
    /// Its start was seen, so that its time can be compared.
    timed: bool,
}

/// A launch, for a verdict.
#[derive(Debug, Clone, Copy)]
pub struct Launched<'a> {
    /// Path of the executable.
    pub program: &'a str,
    /// The program with its arguments.
    pub command: &'a [String],
    pub tasks: usize,
}

impl Program {
    /// The program of this process; `command` is its command line.
    pub fn new(
        settings: &Settings,
        exe: &Path,
        command: &[String],
        mpi: &str,
    ) -> (Program, String) {
        let identity = store::identity(exe, command).ok();
        let name = identity.as_ref().map(|i| i.name.clone()).unwrap_or_default();
        let path = exe.to_string_lossy();
        let program = Program {
            identity: identity.as_ref().map(store::program_id).unwrap_or_default(),
            work: work_of(command, mpi),
            auto: settings.mode == options::Mode::Auto,
            allowed: settings.allow.matching(&path, &name).is_some(),
            denied: settings.deny.matching(&path, &name).map(str::to_string),
            timed: true,
        };
        let prefix = match program.identity.as_str() {
            "" => "unknown".to_string(),
            known => known.to_string(),
        };
        (program, prefix)
    }

    /// The start of this launch was not seen.
    pub fn started_unseen(&mut self) {
        self.timed = false;
    }

    /// Why the ranks of this program must be left alone, whatever the matrix says, those of topologies
    /// too. Says so, if that is not what the user asked for.
    pub fn objection(&self, store: Option<&Store>) -> Option<String> {
        if self.allowed {
            return None;
        }
        if let Some(pattern) = &self.denied {
            return Some(format!("left alone: the program is in the list of --deny ('{pattern}')"));
        }
        if !self.auto || self.identity.is_empty() {
            return None;
        }
        let verdict = match store?.objection(&self.identity) {
            Ok(verdict) => verdict?,
            Err(error) => {
                message::line(&format!("{error}; the ranks are left alone"));
                return Some("left alone: the verdict of the check cannot be read".into());
            }
        };
        message::line(&format!(
            "the ranks are left alone: 'rankweave check' found that this program minds other ranks \
             ({} tasks: {}); try: 'rankweave check' again once it is mended, --allow {} or --mode \
             reorder to reorder it all the same",
            verdict.tasks,
            verdict.reason,
            self.name(),
        ));
        Some("left alone: 'rankweave check' found a difference".into())
    }

    /// Whether constructors of topologies have to keep the ranks, because a launch found that the program
    /// mixes them. Says so.
    pub fn mixes_ranks(&self, store: Option<&Store>) -> bool {
        if !self.auto || self.allowed || self.identity.is_empty() {
            return false;
        }
        // An error is said with the other objection.
        let verdict = store.map(|store| store.objection_to_topologies(&self.identity));
        let Some(Ok(Some(verdict))) = verdict else { return false };
        message::line(&format!(
            "constructors of topologies keep the ranks as they are: in an earlier launch with {} tasks, \
             {}; try: 'rankweave check' once it is mended, --allow {} or --mode reorder to give new \
             ranks all the same",
            verdict.tasks,
            verdict.reason,
            self.name(),
        ));
        true
    }

    /// This launch found that the program mixes ranks: says so, and keeps it in the store.
    pub fn found_mixed(&self, store: Option<&Store>, launch: Launched<'_>, reason: &str) {
        if self.allowed {
            return;
        }
        let known = store.filter(|_| !self.identity.is_empty());
        let kept = known.map(|store| {
            let verdict = Verdict {
                program: launch.program.into(),
                launch: launch.command.to_vec(),
                tasks: launch.tasks as u64,
                checked_at: now(),
                seeds: Vec::new(),
                finding: Finding::MixesRanks,
                reason: reason.into(),
            };
            store.keep_mixed(&self.identity, &verdict)
        });
        let later = match kept {
            // A check compared its results.
            Some(Ok(false)) => return,
            Some(Ok(true)) => "later launches leave the ranks of topologies alone".to_string(),
            Some(Err(error)) => format!("{error}; later launches will not know"),
            None => "later launches will not know".into(),
        };
        message::line(&format!(
            "{reason}: the program seems to mix the ranks of both, and its results may be wrong; {later}; \
             try: asking each communicator for its own ranks, 'rankweave check' to be sure, --allow {} \
             if it is right",
            self.name(),
        ));
    }

    /// The name by which a user allows it.
    fn name(&self) -> &str {
        self.identity.rsplit_once('-').map_or("NAME", |(name, _)| name)
    }

    /// Whether the user wants this program left alone.
    pub fn is_denied(&self) -> bool {
        self.denied.is_some() && !self.allowed
    }

    /// What earlier launches on places with this hash measured.
    fn measured(&self, history: &[Past], places: u32) -> Measured {
        Measured::of(history, self.work, places)
    }

    /// Why a launch on these places goes back to the launcher's order, if earlier ones were slower
    /// when reordered. Says so.
    pub fn turned_back(&self, history: &[Past], places: u32) -> Option<String> {
        if !self.auto || self.allowed {
            return None;
        }
        let measured = self.measured(history, places);
        let decision = match measured.judgement() {
            Judgement::Slower => "left alone: reordered launches were slower",
            Judgement::Doubtful => {
                "left alone this time: reordered launches look slower, and the launcher's order was \
                 measured only once"
            }
            Judgement::TooFew | Judgement::Faster | Judgement::Same => return None,
        };
        message::line(&format!(
            "{}; {}; try: --mode reorder to reorder all the same",
            decision.replacen("left alone", "the ranks are left alone", 1),
            measured.words()
        ));
        Some(decision.into())
    }

    /// Adds this launch to the history of its record.
    pub fn remember(&self, record: &mut Record, before: &[Past], id: u64) {
        record.identity = self.identity.clone();
        record.history = before.to_vec();
        let launch = &record.launch;
        if !self.timed || launch.mode == LaunchMode::Shuffle {
            return;
        }
        let past = Past {
            id,
            ended_at: now(),
            reordered: launch.is_reordered(),
            work: self.work,
            places: places_of(launch),
            wall_seconds: launch.wall_seconds,
            internode_bytes: launch.internode_bytes,
            total_bytes: launch.total_bytes,
            predicted: launch.predicted,
            in_mpi: launch.in_mpi,
        };
        record.history = store::joined(before, &[past]);
    }

    /// Whether it helped, in words for the summary of a reordered launch; empty for others.
    pub fn helped(&self, record: &Record) -> String {
        let launch = &record.launch;
        if !launch.is_reordered() || launch.mode == LaunchMode::Shuffle {
            return String::new();
        }
        let measured = self.measured(&record.history, places_of(launch));
        let mut text = measured.words();
        if let (Some(given), Some(reordered)) = measured.internode_bytes
            && given > 0
        {
            let percent = 100.0 * (reordered as f64 / given as f64 - 1.0);
            text = format!("measured bytes between nodes {percent:+.1} %, {text}");
        }
        if self.auto && !self.allowed {
            match measured.judgement() {
                Judgement::Slower => text.push_str("; the next launch goes back to its order"),
                Judgement::Doubtful => text.push_str("; the next launch measures its order again"),
                Judgement::TooFew | Judgement::Faster | Judgement::Same => {}
            }
        }
        text
    }
}

/// Hash of the places of a launch.
fn places_of(launch: &Launch) -> u32 {
    store::places_of(&launch.placement.node_of_process, &launch.placement.node_names)
}

/// Seconds since 1970-01-01 UTC.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
