//! How much effort a mapping may take, by name.

use crate::base::error::{Error, ErrorKind};
use std::str::FromStr;

/// How much work an algorithm may spend; presets differ in effort only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// A few milliseconds per thousand tasks.
    Fast,
    /// Good answers in less time than a job needs to start.
    #[default]
    Default,
    /// Several times the work of the default, for placements that are used many times.
    Strong,
}

impl Preset {
    /// All presets, from the cheapest up.
    pub const ALL: [Preset; 3] = [Preset::Fast, Preset::Default, Preset::Strong];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Fast => "fast",
            Preset::Default => "default",
            Preset::Strong => "strong",
        }
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Preset::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("unknown preset '{name}'"))
                .advise("one of fast, default, strong")
        })
    }
}
