//! What is known of a program from before, on rank 0: whether it minds other ranks (`rankweave check`,
//! lists of the user), and whether reordering helped in earlier launches.

use crate::message;
use rw::decide::{Judgement, Measured};
use rw::options::{self, Settings};
use rw::store::{self, Launch, Past, Record, Store, work_of};
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
            self.identity.rsplit_once('-').map_or("NAME", |(name, _)| name),
        ));
        Some("left alone: 'rankweave check' found a difference".into())
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
        if !self.timed || launch.mode == "shuffle" {
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
        if !launch.is_reordered() || launch.mode == "shuffle" {
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
    store::places_of(&launch.node_of_process, &launch.node_names)
}

/// Seconds since 1970-01-01 UTC.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
