//! The values of the options of a launch, after parsing.

use super::choices::{Aim, Collectives, Measure, Mode, NetworkChoice, Place, Slots, Spill, Times};
use super::names::Names;
use super::store_bound::StoreBound;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that can be set for a launch; [`super::TABLE`] has the full description of each field.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What to do.
    pub mode: Mode,
    /// Directory of the store; `None` = [`crate::store::Store::default_dir`].
    pub store: Option<PathBuf>,
    /// Further stores, whose records are used where the own store has none. They are never written.
    pub also_read: Vec<PathBuf>,
    /// Key of the record; `None` = made from the executable and the number of tasks.
    pub key: Option<String>,
    /// Seed of `shuffle` and of randomized algorithms.
    pub seed: u64,
    /// Topology specification; `None` = discovered.
    pub topology: Option<String>,
    /// Slot of each process in that topology; `None` = process k on slot k.
    pub slots: Option<Slots>,
    /// Which sources may be asked for the network above the nodes.
    pub network: NetworkChoice,
    /// The site file; `None` = the usual files. An empty path: none.
    pub site: Option<PathBuf>,
    /// Where the ranks get their places.
    pub place: Place,
    /// Whether the network between the nodes is measured.
    pub measure: Measure,
    /// Tasks that keep their process.
    pub fix: Vec<u32>,
    /// What the search for a rank order minimises.
    pub objective: Aim,
    /// Predicted gain in percent below which the launcher's order is kept.
    pub min_gain: f64,
    /// 0 = silent, 1 = a summary line at the end, 2 = decisions as well.
    pub verbose: u8,
    /// Wall time that computing a mapping may take.
    pub time_limit: Duration,
    /// How many processes search for a rank order; `None`: the number depends on the size of the job.
    pub searchers: Option<usize>,
    /// How collective calls are expanded into pairs.
    pub collectives: Collectives,
    /// Whether the time in MPI calls is measured.
    pub times: Times,
    /// Where counters are kept so that they outlive the process.
    pub spill: Spill,
    /// How often the matrix so far goes into the store; `None` = never.
    pub flush: Option<Duration>,
    /// A launch of a new program that ran for a shorter time is not stored; `None` = every launch is.
    pub shortest: Option<Duration>,
    /// Which records `rankweave run` removes once a day; `None` = none.
    pub store_bound: Option<StoreBound>,
    /// Number of the signal that puts the matrix so far into the store; `None` = no signal does.
    pub flush_signal: Option<i32>,
    /// Programs that may be reordered even if a check or earlier launches speak against it.
    pub allow: Names,
    /// Programs that keep the launcher's order.
    pub deny: Names,
    /// Programs that are left alone.
    pub skip: Names,
    /// If it is not empty, all other programs are left alone.
    pub only: Names,
    /// Constructors of topologies may give new ranks where the program asks for them.
    pub constructors: bool,
}

impl Settings {
    /// Why a program is left alone, in words; `None` if it is not. `path` and `name` as in [`Names::matching`].
    pub fn left_alone(&self, path: &str, name: &str) -> Option<String> {
        if let Some(pattern) = self.skip.matching(path, name) {
            return Some(format!("the program is in the list of --skip ('{pattern}')"));
        }
        let others = !self.only.is_empty() && self.only.matching(path, name).is_none();
        others.then(|| "the program is not in the list of --only".into())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mode: Mode::Auto,
            store: None,
            also_read: Vec::new(),
            key: None,
            seed: 1,
            topology: None,
            slots: None,
            network: NetworkChoice::Auto,
            site: None,
            place: Place::Library,
            measure: Measure::Auto,
            fix: vec![0],
            objective: Aim::Auto,
            min_gain: 3.0,
            verbose: 0,
            time_limit: Duration::from_secs(10),
            searchers: None,
            collectives: Collectives::Model,
            times: Times::Sampled,
            spill: Spill::Auto,
            flush: None,
            shortest: None,
            store_bound: None,
            flush_signal: None,
            allow: Names::default(),
            deny: Names::default(),
            skip: Names::default(),
            only: Names::default(),
            constructors: true,
        }
    }
}
