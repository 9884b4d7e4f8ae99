//! What the sources of the network said about the nodes of a launch, so that they are asked once.
//!
//! Rank 0 needs the answer twice: to decide whether the network is measured, and for the mapping problem. Asking may
//! read the description of a whole cluster. The decision about the measurement therefore returns this value, and the
//! mapping problem takes it. After a survey the answer is out of date, and the sources are asked anew. The site file is
//! read once for all of this. Constructors of topologies ask about the nodes of their communicators, which are often
//! those of the launch or of an earlier constructor ([`SaidOfNodes`]).

use crate::base::error::{Error, ErrorKind};
use crate::base::installation;
use crate::options::Settings;
use crate::sources::{self, Choice, Host, SiteFiles, Surroundings};
use crate::store::{Placement, Store};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The site file of a system.
const SITE_FILE: &str = "/etc/rankweave.toml";

/// What is needed to ask the sources.
#[derive(Debug, Clone, Default)]
pub struct Unasked {
    /// The site files; the one that is used is read once, also if the sources are asked several times.
    pub site: Arc<SiteFiles>,
    /// The store, if there is one, has the measurements and kept answers of earlier launches.
    pub store: Option<Store>,
}

impl Unasked {
    /// With the site files that the settings permit.
    pub fn new(settings: &Settings, store: Option<Store>) -> Unasked {
        Unasked { site: Arc::new(SiteFiles::at(site_files(settings))), store }
    }

    /// Asks the sources of the network above these nodes; `None` with fewer than three nodes, which have no network
    /// that could matter.
    fn choice(&self, settings: &Settings, hosts: &[Host]) -> Option<Choice> {
        if hosts.len() < 3 {
            return None;
        }
        let surroundings = Surroundings {
            hosts,
            variable: &|name| std::env::var(name).ok(),
            root: Path::new("/"),
            site: &self.site,
            store: self.store.as_ref(),
        };
        Some(sources::choose(&surroundings, &settings.network))
    }
}

/// The answer of the sources about the nodes of one launch.
pub enum AskedSources {
    /// They were not asked, or the answer is out of date.
    NotYet(Unasked),
    /// What they said; `None` if there are too few nodes to ask.
    Said(Option<Choice>),
}

impl AskedSources {
    /// Sources that were not asked.
    pub fn not_yet(settings: &Settings, store: Option<Store>) -> AskedSources {
        AskedSources::NotYet(Unasked::new(settings, store))
    }

    /// Asks the sources about the nodes of `placement`, unless they were asked before.
    #[must_use]
    pub fn asked(self, settings: &Settings, placement: &Placement) -> AskedSources {
        AskedSources::Said(self.choice(settings, placement))
    }

    /// The choice among the sources: as they said, or as they say now.
    pub fn choice(self, settings: &Settings, placement: &Placement) -> Option<Choice> {
        match self {
            AskedSources::Said(choice) => choice,
            AskedSources::NotYet(unasked) => unasked.choice(settings, &Host::all_of(placement)),
        }
    }

    /// Whether a source knows the place of each node in the network.
    pub fn know_all_nodes(&self) -> bool {
        let AskedSources::Said(Some(Choice { network: Some(network), .. })) = self else {
            return false;
        };
        network.known() == network.host_of_node.len()
    }

    /// The name of the source that is used; `None` if no source knows the network, or if they were not asked.
    pub fn used(&self) -> Option<&'static str> {
        match self {
            AskedSources::Said(Some(choice)) => Some(choice.used()?.source),
            _ => None,
        }
    }
}

/// What the sources said to this process about the nodes of its latest questions. A program may make many
/// communicators with topologies on the same nodes, and the sources are asked for the first of them.
#[derive(Default)]
pub struct SaidOfNodes {
    newest_first: Mutex<Vec<(Vec<Host>, Option<Choice>)>>,
}

impl fmt::Debug for SaidOfNodes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("SaidOfNodes").finish_non_exhaustive()
    }
}

impl SaidOfNodes {
    /// Sets of nodes that are remembered.
    const MOST: usize = 4;

    /// Nothing was said yet.
    pub const fn new() -> SaidOfNodes {
        SaidOfNodes { newest_first: Mutex::new(Vec::new()) }
    }

    /// Remembers what was said about the nodes of `placement`.
    pub fn keep(&self, placement: &Placement, choice: Option<&Choice>) {
        let hosts = Host::all_of(placement);
        let mut list = self.newest_first.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|(known, _)| *known != hosts);
        list.truncate(SaidOfNodes::MOST - 1);
        list.insert(0, (hosts, choice.cloned()));
    }

    /// What was said about the nodes of `placement`, or else is said now.
    pub fn asked(
        &self,
        settings: &Settings,
        placement: &Placement,
        unasked: impl FnOnce() -> Unasked,
    ) -> AskedSources {
        let hosts = Host::all_of(placement);
        let said = |list: &Vec<(Vec<Host>, Option<Choice>)>| {
            Some(list.iter().find(|(known, _)| *known == hosts)?.1.clone())
        };
        let known = said(&self.newest_first.lock().unwrap_or_else(PoisonError::into_inner));
        AskedSources::Said(known.unwrap_or_else(|| {
            let choice = unasked().choice(settings, &hosts);
            self.keep(placement, choice.as_ref());
            choice
        }))
    }
}

/// The choice among the sources of the network above these nodes; `None` with fewer than three nodes.
pub fn choice_for(settings: &Settings, hosts: &[Host], store: Option<&Store>) -> Option<Choice> {
    Unasked::new(settings, store.cloned()).choice(settings, hosts)
}

/// The site files that may be read: the one that the user names, or else those of the system and of the
/// installation.
pub fn site_files(settings: &Settings) -> Vec<PathBuf> {
    match &settings.site {
        Some(file) if file.as_os_str().is_empty() => Vec::new(),
        Some(file) => vec![file.clone()],
        None => {
            let own = installation::prefixes().into_iter();
            [SITE_FILE.into()]
                .into_iter()
                .chain(own.map(|p| p.join("etc/rankweave.toml")))
                .collect()
        }
    }
}

/// The error that the site file which the user names does not exist; `None` if it does, or if the user names none.
pub fn missing_site_file(settings: &Settings) -> Option<Error> {
    let file = settings.site.as_ref().filter(|file| !file.as_os_str().is_empty())?;
    let is_missing = matches!(file.try_exists(), Ok(false));
    is_missing.then(|| {
        Error::new(ErrorKind::Usage, format!("there is no site file {}", file.display())).advise(
            "give the file that describes the clusters of the site, or none for no such file",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn places() -> Placement {
        let names = ["a1n1", "a1n2", "a2n1"].map(String::from).to_vec();
        Placement::of_nodes(vec![0, 1, 2], names)
    }

    fn settings(site: &Path) -> Settings {
        Settings { site: Some(site.into()), ..Settings::default() }
    }

    #[test]
    fn a_named_site_file_has_to_exist() {
        let folder = tempfile::tempdir().unwrap();
        let missing = |site: &Path| missing_site_file(&settings(site)).map(|e| e.to_string());
        assert_eq!(missing(folder.path()), None, "another error follows");
        assert_eq!(missing(Path::new("")), None, "none");
        assert_eq!(missing_site_file(&Settings::default()), None);
        let said = missing(&folder.path().join("site.toml")).unwrap();
        assert!(said.contains("site.toml") && said.contains("try: "), "{said}");
    }

    #[test]
    fn what_was_said_is_not_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site.toml");
        fs::write(&site, "[[cluster]]\nnames = \"a{}n{}\"\n").unwrap();
        let (settings, places) = (settings(&site), places());
        let not_yet = AskedSources::not_yet(&settings, None);
        assert_eq!(not_yet.used(), None);
        let said = not_yet.asked(&settings, &places);
        assert_eq!(said.used(), Some("site"));
        // The description goes away between the two questions.
        fs::remove_file(&site).unwrap();
        let said = said.asked(&settings, &places);
        assert_eq!(said.used(), Some("site"));
        let choice = said.choice(&settings, &places).unwrap();
        assert!(choice.sentence().contains("3 nodes below 2 switches"), "{}", choice.sentence());
        let anew = || AskedSources::not_yet(&settings, None).asked(&settings, &places);
        assert_eq!(anew().used(), None);
        // The same for constructors, which share what was said.
        let memory = SaidOfNodes::new();
        memory.keep(&places, Some(&choice));
        let nobody = || panic!("asked anew");
        assert_eq!(memory.asked(&settings, &places, nobody).used(), Some("site"));
        let others = Placement::of_nodes(vec![0, 1, 2], ["x", "y", "z"].map(String::from).to_vec());
        let unasked = || Unasked::new(&settings, None);
        assert_eq!(memory.asked(&settings, &others, unasked).used(), None);
        assert_eq!(memory.asked(&settings, &others, nobody).used(), None);
    }
}
