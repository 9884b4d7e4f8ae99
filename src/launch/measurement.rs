//! Whether a launch measures the network between its nodes, and what becomes of the result.

use super::{AskedSources, LaunchRecorder, Message};
use crate::base::clock::since_1970;
use crate::base::sorting::Arrange;
use crate::matrix::CommMatrix;
use crate::options::Measure;
use crate::store::{MeasuredNetwork, Placement, Store};
use crate::survey::{FEWEST_HOSTS, Surveyed};
use std::collections::HashSet;

/// The name of the source that has earlier measurements.
const MEASURED: &str = "measured";

/// What the decision depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasurementFacts {
    /// What the user asked for.
    pub wish: Measure,
    /// Nodes of the job.
    pub nodes: usize,
    /// Each node has a name of its own, under which the result can be kept.
    pub has_names: bool,
    /// The user or the site describes the network.
    pub is_described: bool,
    /// Earlier launches measured it.
    pub is_measured: bool,
    /// A rank order is searched for.
    pub searches: bool,
    /// The gain that switches could allow, in percent.
    pub possible_gain: f64,
    /// The least gain for which ranks are reordered, in percent.
    pub least_gain: f64,
}

impl MeasurementFacts {
    /// `None` if the network is to be measured, else why not.
    pub fn objection(&self) -> Option<&'static str> {
        match self.wish {
            Measure::Off => Some("measuring is switched off (--measure off, or by the site)"),
            _ if self.nodes < FEWEST_HOSTS => Some("the job has fewer than 4 nodes"),
            _ if !self.has_names => Some("some nodes have no name, or two have the same name"),
            Measure::On => None,
            _ if !self.searches => Some("no rank order is searched for"),
            _ if self.is_described => Some("the network is described"),
            _ if self.is_measured => Some("an earlier launch measured it"),
            _ if self.possible_gain < self.least_gain => {
                Some("switches would make too little difference for this traffic")
            }
            Measure::Auto => None,
        }
    }
}

/// The decision whether a launch measures the network, and what the sources said until then.
pub struct Measuring {
    /// `None` if the network is to be measured, else why not.
    pub objection: Option<&'static str>,
    /// What the sources of the network said, if they were asked for the decision.
    pub sources: AskedSources,
}

/// Whether each name is there, and there once.
fn have_own_names(names: &[String]) -> bool {
    let distinct: HashSet<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    distinct.len() == names.len()
}

/// The largest distance between nodes, as a multiple of the smallest, of the networks that are thought of: switches
/// whose uplinks have a quarter of the bandwidth below them.
const RATIO: f64 = 4.0;

/// The gain that a network of switches could allow at most, in percent of hop-bytes between nodes.
///
/// It is a bound for one grouping of the tasks into nodes, on any tree of equal groups whose distances differ by up to
/// `RATIO`. For groups of `s` nodes, the traffic below one switch is at most the sum of the `s − 1` heaviest
/// partners of each node, and at least that of the `s − 1` lightest ones, whatever the order. The cost of an order is
/// `D · T − (D − 1) · near`, so the gain is at most `(D − 1)(most − least) / (T + (D − 1)(T − least))`; with several
/// levels it is at most the largest of these for one level. Two groupings are looked at: the launcher's order, and
/// blocks of consecutive tasks, whichever allows more. A search may find a third one, for which this is an estimate.
pub fn possible_gain(matrix: &CommMatrix, node_of_process: &[u32]) -> f64 {
    let mut sorted = node_of_process.to_vec();
    sorted.sort_unstable();
    [node_of_process, &sorted]
        .map(|nodes| gain_between(matrix, nodes))
        .into_iter()
        .fold(0.0, f64::max)
}

fn gain_between(matrix: &CommMatrix, node_of_task: &[u32]) -> f64 {
    let nodes = node_of_task.iter().max().map_or(0, |&most| most as usize + 1);
    if nodes < FEWEST_HOSTS || node_of_task.len() != matrix.tasks() {
        return 0.0;
    }
    let mut partners = vec![std::collections::HashMap::<u32, f64>::new(); nodes];
    let graph = matrix.affinity();
    for task in 0..graph.vertices() {
        let node = node_of_task[task];
        for (other, bytes) in graph.arcs(task) {
            let partner = node_of_task[other as usize];
            if partner != node {
                *partners[node as usize].entry(partner).or_default() += bytes as f64;
            }
        }
    }
    // The sum over the nodes of the k-th heaviest partner. Nodes without so many partners count as 0.
    let mut heaviest = vec![0.0; nodes - 1];
    for partners in partners {
        let mut list: Vec<f64> = partners.into_values().collect();
        list.arrange_by(|a, b| b.total_cmp(a));
        heaviest.iter_mut().zip(list).for_each(|(sum, bytes)| *sum += bytes);
    }
    let total: f64 = heaviest.iter().sum();
    if total <= 0.0 {
        return 0.0;
    }
    let (mut most, mut least, mut gain) = (0.0, 0.0, 0.0f64);
    for size in 2..=nodes / 2 {
        most += heaviest[size - 2];
        least += heaviest[nodes - size];
        let spread = (RATIO - 1.0) * (most - least);
        gain = gain.max(100.0 * spread / (total + (RATIO - 1.0) * (total - least)));
    }
    gain
}

impl LaunchRecorder {
    /// What the user asked for, or else the site.
    fn wish(&self) -> Measure {
        match self.settings.measure {
            Measure::Auto => match self.sources.site.measure() {
                Ok(None) => Measure::Auto,
                Ok(Some("on")) => Measure::On,
                Ok(Some("auto")) => Measure::Auto,
                // Also where the file of the site cannot be used: it may forbid measuring.
                Ok(Some(_)) | Err(_) => Measure::Off,
            },
            asked => asked,
        }
    }

    /// Decides whether the network is measured in this launch.
    pub fn measuring(&self, placement: Option<&Placement>) -> Measuring {
        let not_yet = self.unasked_sources();
        let Some(placement) = placement else {
            let why = Some("the places of the processes could not be found");
            return Measuring { objection: why, sources: not_yet };
        };
        let mut facts = MeasurementFacts {
            wish: self.wish(),
            nodes: placement.node_names.len(),
            has_names: have_own_names(&placement.node_names),
            is_described: self.settings.topology.is_some()
                || !self.settings.network.allows(MEASURED),
            is_measured: false,
            searches: self.matrix.is_some(),
            possible_gain: f64::INFINITY,
            least_gain: self.settings.min_gain,
        };
        // What takes time is looked up only if everything else speaks for measuring.
        if facts.objection().is_some() || facts.wish != Measure::Auto {
            return Measuring { objection: facts.objection(), sources: not_yet };
        }
        let sources = not_yet.asked(&self.settings, placement);
        let used = sources.used();
        let knows_all = sources.know_all_nodes();
        facts.is_measured =
            used == Some(MEASURED) || !knows_all && self.was_measured_just_now(placement);
        facts.is_described |= knows_all && used.is_some_and(|source| source != MEASURED);
        if let Some(matrix) = self.matrix.as_ref().filter(|_| !knows_all) {
            facts.possible_gain = possible_gain(matrix, &placement.node_of_process);
        }
        Measuring { objection: facts.objection(), sources }
    }

    /// Whether the store has a survey of these nodes, although the sources may not use it: that of a moment ago, which
    /// did not come to its end.
    fn was_measured_just_now(&self, placement: &Placement) -> bool {
        let now = since_1970().as_secs();
        let known =
            |store: &Store| store.measured_network(&placement.node_names, now).ok().flatten();
        self.storage.store().and_then(known).is_some()
    }

    /// A message that the network is not measured, if the user asked for it or for the decisions of this launch.
    pub fn why_not_measured(&self, measuring: &Measuring) -> Option<Message> {
        let why = measuring.objection?;
        // A site that asks for it in all launches also means jobs on few nodes, which need no message.
        let asked = self.settings.measure == Measure::On;
        if !asked && self.settings.verbose < 2 {
            return None;
        }
        let message = Message::new(format!("the network is not measured, because {why}"));
        Some(match asked {
            true if self.settings.topology.is_some() => {
                message.meaning("this launch uses the topology that it was given")
            }
            true => message.meaning(
                "this launch takes all nodes as equally far from each other, unless a source knows the network",
            ),
            false => Message::new(format!("{}: {message}", self.key)),
        })
    }

    /// The sources of the network before they are asked, or after a survey, whose result they have not told yet.
    pub fn unasked_sources(&self) -> AskedSources {
        AskedSources::NotYet(self.sources.clone())
    }

    /// Keeps the result of a survey for this launch and later ones. Returns what the user has to know.
    pub fn keep_survey(&self, surveyed: &Surveyed, placement: Option<&Placement>) -> Vec<Message> {
        let mut messages = Vec::new();
        if self.settings.verbose >= 1 {
            messages.push(Message::new(format!("{}: {}", self.key, surveyed.words())));
        }
        let Some((store, placement)) = self.storage.store().zip(placement) else { return messages };
        let now = since_1970().as_secs();
        let network = MeasuredNetwork::of(surveyed, placement.node_names.len(), now);
        if let Err(error) = store.keep_measured_network(&placement.node_names, &network) {
            messages.push(Message::from(&error).meaning(
                "the measured network is not kept, so this launch and later ones do not know it",
            ));
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Known, Policy, Processes, Program};
    use crate::matrix::{SparseMatrix, Traffic};
    use crate::options::Settings;
    use crate::store::Store;

    #[test]
    fn the_network_is_measured_where_it_could_matter() {
        let auto = MeasurementFacts {
            wish: Measure::Auto,
            nodes: 4,
            has_names: true,
            is_described: false,
            is_measured: false,
            searches: true,
            possible_gain: 3.0,
            least_gain: 3.0,
        };
        let on = MeasurementFacts { wish: Measure::On, ..auto };
        let off = MeasurementFacts { wish: Measure::Off, ..auto };
        for (facts, said) in [
            (auto, None),
            (on, None),
            (off, Some("off")),
            (MeasurementFacts { nodes: 3, ..auto }, Some("fewer than 4 nodes")),
            (MeasurementFacts { nodes: 3, ..on }, Some("fewer than 4 nodes")),
            (MeasurementFacts { has_names: false, ..auto }, Some("name")),
            (MeasurementFacts { is_described: true, ..auto }, Some("described")),
            (MeasurementFacts { is_measured: true, ..auto }, Some("earlier launch")),
            (MeasurementFacts { searches: false, ..auto }, Some("no rank order")),
            (MeasurementFacts { possible_gain: 2.9, ..auto }, Some("too little difference")),
            (
                MeasurementFacts {
                    is_described: true,
                    is_measured: true,
                    searches: false,
                    possible_gain: 0.0,
                    ..on
                },
                None,
            ),
        ] {
            let objection = facts.objection();
            let fits = objection.zip(said).map(|(o, s)| o.contains(s));
            assert_eq!(objection.is_some(), said.is_some(), "{facts:?}: {objection:?}");
            assert_ne!(fits, Some(false), "{facts:?}: {objection:?}");
        }
    }

    fn matrix(tasks: u32, sends: impl Fn(u32, u32) -> bool) -> CommMatrix {
        let pairs = (0..tasks).flat_map(|a| (0..tasks).map(move |b| (a, b)));
        let entries: Vec<_> = pairs
            .filter(|&(a, b)| a != b && sends(a, b))
            .map(|(a, b)| (a, b, Traffic { bytes: 1000, messages: 1 }))
            .collect();
        CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks as usize, &entries))
    }

    #[test]
    fn a_launch_that_was_told_to_measure_and_cannot_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = std::path::PathBuf::new();
        let said = |measure, verbose, nodes: &[u32], names: &[&str]| {
            let site = Some(nowhere.clone());
            let settings = Settings { measure, verbose, site, ..Settings::default() };
            let alike = Processes { complete: true, one_program: true, spawned: false };
            let store = Ok(Store::open(directory.path()));
            let known = Known::read(&settings, Program::default(), store, nodes.len(), alike, None);
            let policy = Policy::of(&known.facts);
            let recorder = LaunchRecorder::new(known, &policy, &settings);
            let names = names.iter().map(ToString::to_string).collect();
            let placement = Placement::of_nodes(nodes.to_vec(), names);
            let measuring = recorder.measuring(Some(&placement));
            recorder.why_not_measured(&measuring).map(|message| message.to_string())
        };
        let few = said(Measure::On, 0, &[0, 1, 2], &["a", "b", "c"]).unwrap();
        assert_eq!(
            few,
            "the network is not measured, because the job has fewer than 4 nodes; this launch takes all nodes \
             as equally far from each other, unless a source knows the network"
        );
        let twice = said(Measure::On, 0, &[0, 1, 2, 3], &["a", "b", "c", "c"]).unwrap();
        assert!(twice.contains("two have the same name"), "{twice}");
        assert_eq!(said(Measure::On, 0, &[0, 1, 2, 3], &["a", "b", "c", "d"]), None);
        assert_eq!(said(Measure::Auto, 1, &[0, 1, 2], &["a", "b", "c"]), None);
        assert!(said(Measure::Auto, 2, &[0, 1, 2], &["a", "b", "c"]).is_some());
    }

    #[test]
    fn traffic_to_all_gains_nothing_from_switches() {
        let nodes: Vec<u32> = (0..16).map(|task| task / 2).collect();
        assert!(possible_gain(&matrix(16, |_, _| true), &nodes) < 1e-9);
        assert!(possible_gain(&matrix(16, |a, b| (a + 2) % 16 == b), &nodes) > 20.0);
        assert!(possible_gain(&matrix(16, |_, _| false), &nodes) == 0.0);
        let by_node: Vec<u32> = (0..16).map(|task| task % 8).collect();
        assert!(possible_gain(&matrix(16, |a, b| (a + 2) % 16 == b), &by_node) > 20.0);
        assert!(possible_gain(&matrix(4, |_, _| true), &[0, 0, 1, 1]) == 0.0);
    }
}
