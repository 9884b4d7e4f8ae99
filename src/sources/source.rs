//! What a source of networks is, what it is given, and what it answers.

use super::{Host, HostNetwork, SiteFiles};
use crate::base::error::Result;
use crate::store::Store;
use std::path::{Path, PathBuf};

/// What sources may look at.
pub struct Surroundings<'a> {
    /// The nodes of the launch, by number.
    pub hosts: &'a [Host],
    /// The value of an environment variable of rank 0.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The folder that stands for `/`; another one in tests.
    pub root: &'a Path,
    /// The file of the site that the user names (`--site`), or else those that the system may have.
    pub site: &'a SiteFiles,
    /// The store, in which measurements are kept.
    pub store: Option<&'a Store>,
}

impl Surroundings<'_> {
    /// The names and positions of the nodes, for descriptions that name no hosts.
    pub fn names(&self) -> Vec<String> {
        let of = |host: &Host| [host.name.clone(), host.position.clone()];
        self.hosts.iter().flat_map(of).filter(|name| !name.is_empty()).collect()
    }

    /// A path below the root: `path` begins with `/`.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// What a source answers.
pub enum Answer {
    /// It knows nothing about the network of this launch. The text says why, and reads on after "not used: ".
    Nothing(String),
    /// It knows at least some of the nodes.
    Network(HostNetwork),
}

/// A place that may know the network above the nodes. The template is [`Flat`](super::Flat).
pub trait Source: Sync {
    /// Its name, as `--network` takes it.
    fn name(&self) -> &'static str;

    /// What it would take for this source to know the network: an instruction.
    fn needs(&self) -> &'static str;

    /// Looks for the network.
    ///
    /// Errors: a description that is there but cannot be used.
    fn find(&self, surroundings: &Surroundings) -> Result<Answer>;
}
