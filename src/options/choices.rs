//! The types of the values of options that are neither a number nor a text.

use super::parse;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a launch does with the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Record if nothing is stored under the key, else reorder.
    #[default]
    Auto,
    /// Record, in the launcher's order.
    Record,
    /// Reorder by the stored matrix, and record. Without a stored matrix: print an error message, keep the
    /// launcher's order, and record.
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

/// Which sources a launch may ask for the network above its nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NetworkChoice {
    /// All of them.
    #[default]
    Auto,
    /// None: all nodes count as equally far from each other.
    Off,
    /// Only this one, by its name.
    Only(&'static str),
}

impl NetworkChoice {
    /// The values: the two words, then the names of the sources in the order of trust.
    pub const NAMES: [&'static str; 10] = [
        "auto",
        "off",
        "site",
        "slurm-address",
        "slurm-files",
        "pbs-nodes",
        "flux-resources",
        "names",
        "fabric-files",
        "measured",
    ];

    /// Whether the source with this name may be asked.
    pub fn allows(&self, source: &str) -> bool {
        match self {
            NetworkChoice::Auto => true,
            NetworkChoice::Off => false,
            NetworkChoice::Only(name) => *name == source,
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        parse::choice(text, &Self::NAMES).map(|i| match i {
            0 => NetworkChoice::Auto,
            1 => NetworkChoice::Off,
            _ => NetworkChoice::Only(Self::NAMES[i]),
        })
    }
}

/// What the search for a rank order minimises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Aim {
    /// The predicted time where the links of the network are known and can be narrow, else hop-bytes.
    #[default]
    Auto,
    /// Bytes times distance.
    HopBytes,
    /// The predicted time of all traffic at once.
    Time,
}

impl Aim {
    /// Names, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["auto", "hop-bytes", "time"];
    const ALL: [Aim; 3] = [Aim::Auto, Aim::HopBytes, Aim::Time];

    /// The name as given in options.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        parse::choice(text, &Self::NAMES).map(|i| Self::ALL[i])
    }
}

/// Where a launch gives the ranks their places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Place {
    /// In the processes, when the program initialises MPI.
    #[default]
    Library,
    /// In the launcher, before the launch. The library records and checks the places.
    Launcher,
    /// In the launcher, without the library.
    LauncherOnly,
    /// Nothing is launched: the file for the launcher is written.
    File(PathBuf),
}

impl Place {
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text.strip_prefix("file:") {
            Some("") => {}
            Some(path) => return Ok(Place::File(path.into())),
            None => match text.to_ascii_lowercase().as_str() {
                "library" => return Ok(Place::Library),
                "launcher" => return Ok(Place::Launcher),
                "launcher-only" => return Ok(Place::LauncherOnly),
                _ => {}
            },
        }
        Err(Error::new(ErrorKind::Usage, format!("'{text}' is not a known value"))
            .advise("use one of library, launcher, launcher-only, file:PATH"))
    }
}

/// How collective calls become traffic between pairs of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Collectives {
    /// By the definition of the call: data goes from each source straight to each destination.
    Logical,
    /// By the usual algorithms (trees, rings, recursive doubling, …) and the messages that they send.
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

/// Whether a launch measures the network between its nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Measure {
    /// Only where the answer is not known and could change the rank order.
    #[default]
    Auto,
    /// In every launch.
    On,
    /// Never.
    Off,
}

impl Measure {
    /// Names, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["auto", "on", "off"];

    pub(super) fn parse(text: &str) -> Result<Self> {
        const ALL: [Measure; 3] = [Measure::Auto, Measure::On, Measure::Off];
        parse::choice(text, &Self::NAMES).map(|i| ALL[i])
    }
}

/// The size of the largest file with a list of slots that is read. It has room for some millions of
/// processes.
const LONGEST_LIST: u64 = 64 << 20;

/// The slot of each process, as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slots {
    /// Entry k is the slot of the process with launcher rank k.
    List(Vec<u32>),
    /// A file that holds such a list, one slot a line.
    File(PathBuf),
}

impl Slots {
    /// Reads a list of numbers; any other text is the name of a file.
    pub fn parse(text: &str) -> Result<Self> {
        let of_list = |c: char| c.is_ascii_digit() || c.is_whitespace() || ",-".contains(c);
        match text.chars().all(of_list) {
            true => Ok(Slots::List(parse::number_list(text)?)),
            false => Ok(Slots::File(text.into())),
        }
    }

    /// The list itself, which is read from the file if a file was given. `#` starts a comment in the file.
    pub fn read(&self) -> Result<Vec<u32>> {
        match self {
            Slots::List(list) => Ok(list.clone()),
            Slots::File(path) => {
                let failed =
                    |e: std::io::Error| Error::io("cannot read the list of slots", path, &e);
                let bytes = file::read_given(path, LONGEST_LIST, |_| true).map_err(failed)?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| failed(std::io::Error::other("it is not text")))?;
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
    /// In no file: they are lost when the process ends.
    Off,
}

impl Spill {
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text {
            _ if text.eq_ignore_ascii_case("off") => Ok(Spill::Off),
            _ if text.eq_ignore_ascii_case("auto") => Ok(Spill::Auto),
            _ if text.starts_with('/') => Ok(Spill::Directory(text.into())),
            _ => Err(Error::new(ErrorKind::Usage, format!("'{text}' is not a directory"))
                .advise("give the full path of a directory of the node, auto or off")),
        }
    }

    /// The directory that the user gave; `None` if the user gave none.
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
    /// Every call of functions that are called seldom; the time in other calls is estimated from samples.
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
