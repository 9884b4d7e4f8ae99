//! What the options of a launch mean, once parsed.

use super::{Names, parse, table::TABLE};
use crate::base::error::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::time::Duration;

/// What a launch does with the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Record when nothing is stored under the key, else reorder.
    #[default]
    Auto,
    /// Record, in the launcher's order.
    Record,
    /// Reorder from the stored matrix (and record); an error message and the launcher's order when
    /// there is none.
    Reorder,
    /// A random permutation of the ranks, for safety tests.
    Shuffle,
    /// Nothing: every call goes straight to MPI.
    Off,
}

impl Mode {
    /// Names, in the order of the variants.
    pub const NAMES: [&'static str; 5] = ["auto", "record", "reorder", "shuffle", "off"];
    const ALL: [Mode; 5] = [Mode::Auto, Mode::Record, Mode::Reorder, Mode::Shuffle, Mode::Off];

    /// The name as given in options and records.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        parse::choice(text, &Self::NAMES).map(|i| Self::ALL[i])
    }
}

/// How collective calls become traffic between pairs of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Collectives {
    /// What the call means: data goes from each source straight to each destination.
    Logical,
    /// What the usual algorithms (trees, rings, recursive doubling, …) send.
    #[default]
    Model,
}

impl Collectives {
    /// Names, in the order of the variants.
    pub const NAMES: [&'static str; 2] = ["logical", "model"];

    /// The name as given in options.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        const ALL: [Collectives; 2] = [Collectives::Logical, Collectives::Model];
        parse::choice(text, &Self::NAMES).map(|i| ALL[i])
    }
}

/// The slot of each process, as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slots {
    /// Entry k is the slot of the process with launcher rank k.
    List(Vec<u32>),
    /// A file that holds such a list, one slot a line.
    File(PathBuf),
}

impl Slots {
    /// The list itself; reads the file if it is one. `#` starts a comment there.
    pub fn read(&self) -> Result<Vec<u32>> {
        match self {
            Slots::List(list) => Ok(list.clone()),
            Slots::File(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|e| Error::io("cannot read the list of slots", path, &e))?;
                let plain: Vec<&str> =
                    text.lines().map(|l| l.split('#').next().unwrap_or("")).collect();
                parse::number_list(&plain.join("\n")).map_err(|e| e.at(path.display()))
            }
        }
    }
}

/// Where counters are kept while a program runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Spill {
    /// In memory (/dev/shm), else in the directory for temporary files.
    #[default]
    Auto,
    /// In this directory of the node.
    Directory(PathBuf),
    /// Nowhere: they go with the process.
    Off,
}

impl Spill {
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text {
            _ if text.eq_ignore_ascii_case("off") => Ok(Spill::Off),
            _ if text.eq_ignore_ascii_case("auto") => Ok(Spill::Auto),
            _ if text.starts_with('/') => Ok(Spill::Directory(text.into())),
            _ => Err(Error::new(ErrorKind::Usage, format!("'{text}' is not a directory"))
                .advise("the full path of a directory of the node, auto or off")),
        }
    }

    /// The directory that was asked for.
    pub fn directory(&self) -> Option<&std::path::Path> {
        match self {
            Spill::Directory(directory) => Some(directory),
            _ => None,
        }
    }
}

/// Whether the time in MPI calls is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Times {
    /// In random windows, or always where calls are few.
    #[default]
    Sampled,
    /// Every call.
    All,
    /// Not at all.
    Off,
}

impl Times {
    /// Names, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["sampled", "all", "off"];

    pub(super) fn parse(text: &str) -> Result<Self> {
        const ALL: [Times; 3] = [Times::Sampled, Times::All, Times::Off];
        parse::choice(text, &Self::NAMES).map(|i| ALL[i])
    }
}

/// Everything that can be set for a launch; the meaning of each field is in [`TABLE`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What to do.
    pub mode: Mode,
    /// Directory of the store; `None` = [`crate::store::Store::default_dir`].
    pub store: Option<PathBuf>,
    /// Key of the record; `None` = from the executable and the number of tasks.
    pub key: Option<String>,
    /// Seed of `shuffle` and of randomized algorithms.
    pub seed: u64,
    /// Topology specification; `None` = discovered.
    pub topology: Option<String>,
    /// Slot of each process in that topology; `None` = process k on slot k.
    pub slots: Option<Slots>,
    /// Tasks that keep their process.
    pub fix: Vec<u32>,
    /// Predicted gain in percent below which nothing is changed.
    pub min_gain: f64,
    /// 0 = silent, 1 = a summary line at the end, 2 = decisions as well.
    pub verbose: u8,
    /// Wall time that computing a mapping may take.
    pub time_limit: Duration,
    /// How many processes search for an order; `None`: as many as the size of the job is worth.
    pub searchers: Option<usize>,
    /// How collective calls are expanded into pairs.
    pub collectives: Collectives,
    /// Whether the time in MPI calls is measured.
    pub times: Times,
    /// Where counters are kept so that they outlive the process.
    pub spill: Spill,
    /// How often the matrix so far goes into the store; `None` = never.
    pub flush: Option<Duration>,
    /// Number of the signal that has it go there; `None` = none has.
    pub flush_signal: Option<i32>,
    /// Programs that may be reordered whatever speaks against it.
    pub allow: Names,
    /// Programs whose ranks are left alone.
    pub deny: Names,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mode: Mode::Auto,
            store: None,
            key: None,
            seed: 1,
            topology: None,
            slots: None,
            fix: vec![0],
            min_gain: 3.0,
            verbose: 0,
            time_limit: Duration::from_secs(10),
            searchers: None,
            collectives: Collectives::Model,
            times: Times::Sampled,
            spill: Spill::Auto,
            flush: None,
            flush_signal: Some(libc::SIGUSR1),
            allow: Names::default(),
            deny: Names::default(),
        }
    }
}

impl Settings {
    /// Reads every option of the table with `variable`, a function from a variable's name to its
    /// value (`std::env::var` in a program, a map in a test).
    ///
    /// A value that cannot be read leaves the default and adds an error that names the variable.
    /// An empty value counts as not set.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> (Settings, Vec<Error>) {
        let mut settings = Settings::default();
        let mut errors = Vec::new();
        for option in TABLE {
            let Some(value) = variable(option.env) else { continue };
            if value.trim().is_empty() {
                continue;
            }
            if let Err(error) = settings.set(option.name, &value) {
                errors.push(error.at(option.env));
            }
        }
        (settings, errors)
    }

    /// Settings of this process's environment.
    pub fn from_process_env() -> (Settings, Vec<Error>) {
        Settings::from_env(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// Sets one option by its name. On an error nothing changes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match super::find(name) {
            Some(option) => (option.apply)(self, value.trim()),
            None => Err(Error::new(ErrorKind::Usage, format!("there is no option '{name}'"))
                .advise("rankweave env lists them")),
        }
    }

    /// What the decision needs of these settings.
    pub fn decide_options(&self) -> crate::decide::Options {
        crate::decide::Options {
            fixed: self.fix.clone(),
            min_gain_percent: self.min_gain,
            seed: self.seed,
            time_limit: self.time_limit,
            grid: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from(pairs: &[(&str, &str)]) -> (Settings, Vec<Error>) {
        Settings::from_env(|name| {
            pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string())
        })
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        assert_eq!(from(&[]), (Settings::default(), vec![]));
        assert_eq!(from(&[("RANKWEAVE_KEY", " "), ("RANKWEAVE_FIX", "")]).0, Settings::default());
    }

    #[test]
    fn reads_every_option() {
        let (s, errors) = from(&[
            ("RANKWEAVE_MODE", "Shuffle"),
            ("RANKWEAVE_STORE", "/tmp/x"),
            ("RANKWEAVE_KEY", "mine"),
            ("RANKWEAVE_SEED", "7"),
            ("RANKWEAVE_TOPOLOGY", "tree:2:4"),
            ("RANKWEAVE_SLOTS", "3,2-0x"),
            ("RANKWEAVE_FIX", "none"),
            ("RANKWEAVE_MIN_GAIN", "12.5%"),
            ("RANKWEAVE_VERBOSE", "2"),
            ("RANKWEAVE_TIME_LIMIT", "250ms"),
            ("RANKWEAVE_SEARCHERS", "3"),
            ("RANKWEAVE_COLLECTIVES", "logical"),
            ("RANKWEAVE_TIMES", "All"),
            ("RANKWEAVE_SPILL", "/scratch/node"),
            ("RANKWEAVE_FLUSH", "10m"),
            ("RANKWEAVE_FLUSH_SIGNAL", "usr2"),
            ("RANKWEAVE_ALLOW", "lmp*"),
            ("RANKWEAVE_DENY", "*"),
        ]);
        assert_eq!(errors, vec![]);
        assert_eq!(s.mode, Mode::Shuffle);
        assert_eq!(s.store, Some(PathBuf::from("/tmp/x")));
        assert_eq!(s.key.as_deref(), Some("mine"));
        assert_eq!((s.seed, s.verbose, s.min_gain), (7, 2, 12.5));
        assert_eq!(s.topology.as_deref(), Some("tree:2:4"));
        assert_eq!(s.slots, Some(Slots::File("3,2-0x".into())));
        assert_eq!(s.fix, Vec::<u32>::new());
        assert_eq!(s.time_limit, Duration::from_millis(250));
        assert_eq!(s.searchers, Some(3));
        assert_eq!((s.collectives, s.times), (Collectives::Logical, Times::All));
        assert_eq!(s.flush, Some(Duration::from_secs(600)));
        assert_eq!(s.flush_signal, Some(libc::SIGUSR2));
        assert_eq!((s.allow, s.deny), (Names::parse("lmp*"), Names::parse("*")));
        assert_eq!(s.spill.directory(), Some(std::path::Path::new("/scratch/node")));
    }

    #[test]
    fn a_bad_value_is_reported_and_ignored() {
        let (s, errors) = from(&[("RANKWEAVE_MODE", "recrod"), ("RANKWEAVE_SEED", "5")]);
        assert_eq!((s.mode, s.seed), (Mode::Auto, 5));
        assert_eq!(errors.len(), 1);
        let text = errors[0].to_string();
        assert!(text.contains("RANKWEAVE_MODE") && text.contains("reorder"), "{text}");
    }

    #[test]
    fn slots_come_from_a_file_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slots");
        std::fs::write(&path, "# of partition b\n4\n2-3 # two\n").unwrap();
        assert_eq!(Slots::File(path.clone()).read().unwrap(), [4, 2, 3]);
        std::fs::write(&path, "4\nfour\n").unwrap();
        let error = Slots::File(path.clone()).read().unwrap_err().to_string();
        assert!(error.contains("four") && error.contains("slots"), "{error}");
        assert!(Slots::File(dir.path().join("absent")).read().is_err());
    }

    proptest! {
        #[test]
        fn never_fails(values in prop::collection::vec(".{0,20}", TABLE.len())) {
            let pairs: Vec<(&str, &str)> =
                TABLE.iter().zip(&values).map(|(o, v)| (o.env, v.as_str())).collect();
            let (_, errors) = from(&pairs);
            prop_assert!(errors.iter().all(|e| e.place().is_some()));
        }
    }
}
