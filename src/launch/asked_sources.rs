//! What the sources of the network said about the nodes of a launch, so that they are asked once.
//!
//! Rank 0 needs the answer twice: to decide whether the network is measured, and for the mapping problem. Asking may
//! read the description of a whole cluster. The decision about the measurement therefore returns this value, and the
//! mapping problem takes it. After a survey the answer is out of date, and the sources are asked anew.

use crate::base::installation;
use crate::options::Settings;
use crate::sources::{self, Choice, Host, Surroundings};
use crate::store::{Placement, Store};
use std::path::{Path, PathBuf};

/// The site file of a system.
const SITE_FILE: &str = "/etc/rankweave.toml";

/// The answer of the sources about the nodes of one launch.
pub enum AskedSources {
    /// They were not asked, or the answer is out of date. The store, if there is one, has the measurements and kept
    /// answers of earlier launches.
    NotYet(Option<Store>),
    /// What they said; `None` if there are too few nodes to ask.
    Said(Option<Choice>),
}

impl AskedSources {
    /// Asks the sources about the nodes of `placement`, unless they were asked before.
    #[must_use]
    pub fn asked(self, settings: &Settings, placement: &Placement) -> AskedSources {
        AskedSources::Said(self.choice(settings, placement))
    }

    /// The choice among the sources: as they said, or as they say now.
    pub fn choice(self, settings: &Settings, placement: &Placement) -> Option<Choice> {
        match self {
            AskedSources::Said(choice) => choice,
            AskedSources::NotYet(store) => {
                choice_for(settings, &Host::all_of(placement), store.as_ref())
            }
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

/// The choice among the sources of the network above these nodes; `None` with fewer than three nodes, which have no
/// network that could matter.
pub fn choice_for(settings: &Settings, hosts: &[Host], store: Option<&Store>) -> Option<Choice> {
    if hosts.len() < 3 {
        return None;
    }
    let surroundings = Surroundings {
        hosts,
        variable: &|name| std::env::var(name).ok(),
        root: Path::new("/"),
        site_files: site_files(settings),
        store,
    };
    Some(sources::choose(&surroundings, &settings.network))
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
    fn what_was_said_is_not_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site.toml");
        fs::write(&site, "[[cluster]]\nnames = \"a{}n{}\"\n").unwrap();
        let (settings, places) = (settings(&site), places());
        let not_yet = AskedSources::NotYet(None);
        assert_eq!(not_yet.used(), None);
        let said = not_yet.asked(&settings, &places);
        assert_eq!(said.used(), Some("site"));
        // The description goes away between the two questions.
        fs::remove_file(&site).unwrap();
        let said = said.asked(&settings, &places);
        assert_eq!(said.used(), Some("site"));
        let choice = said.choice(&settings, &places).unwrap();
        assert!(choice.sentence().contains("3 nodes below 2 switches"), "{}", choice.sentence());
        assert_eq!(AskedSources::NotYet(None).asked(&settings, &places).used(), None);
    }
}
