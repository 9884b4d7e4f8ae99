//! What the search for a rank order minimises, and why.
//!
//! Hop-bytes are right where every byte costs the same on each link on its way: then less traffic over long ways is
//! better for every link. If some links are narrower than the traffic that can meet there, the most loaded of them
//! decides how long the traffic takes. So `auto` takes the predicted time where links can be narrow: in tori, dragonflies
//! and other graphs, and in trees with uplinks that are narrower than the nodes below them together.

use crate::mapping::Objective;
use crate::options::Aim;
use crate::topology::Topology;

/// An objective, and why it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenAim {
    /// What is minimised.
    pub objective: Objective,
    why: &'static str,
}

/// Uplinks that are narrower by less than this part do not count.
const TOLERANCE: f64 = 1e-6;

impl ChosenAim {
    /// The objective on a topology, if the user wants `aim`.
    pub fn of(aim: Aim, topology: &dyn Topology) -> ChosenAim {
        let chosen = |objective, why| ChosenAim { objective, why };
        let has_links = topology.network().is_some();
        match (aim, topology.as_tree()) {
            (Aim::HopBytes, _) => chosen(Objective::HopBytes, "as --objective says"),
            (Aim::Time, _) if has_links => chosen(Objective::Time, "as --objective says"),
            (Aim::Time, _) => {
                let why = "--objective time needs the links of the network, which are not known";
                chosen(Objective::HopBytes, why)
            }
            (Aim::Auto, Some(tree)) if has_links && tree.taper() > 1.0 + TOLERANCE => {
                let why = "the network has uplinks that are narrower than the nodes below them";
                chosen(Objective::Time, why)
            }
            (Aim::Auto, Some(_)) => {
                let why = "no link is known to be narrower than the nodes below it together";
                chosen(Objective::HopBytes, why)
            }
            (Aim::Auto, None) if has_links => {
                chosen(Objective::Time, "the links of the network are known")
            }
            (Aim::Auto, None) => {
                chosen(Objective::HopBytes, "the links of the network are not known")
            }
        }
    }

    /// The objective and the reason, for users.
    pub fn sentence(&self) -> String {
        format!("objective: {} ({})", self.objective.name(), self.why)
    }

    pub(super) fn is_time(&self) -> bool {
        self.objective == Objective::Time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    #[test]
    fn the_network_decides() {
        let table = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(table.path(), "0 1\n1 0\n").unwrap();
        let distances = format!("dist:{}", table.path().display());
        for (spec, by_auto, by_time) in [
            ("torus:4x4", "time", "time"),
            ("dragonfly:3x2x2", "time", "time"),
            ("fattree:4:4:2@2:1", "time", "time"),
            ("fattree:4:4:2", "hop-bytes", "time"),
            ("tree:2:4@1:10", "hop-bytes", "time"),
            (&distances, "hop-bytes", "hop-bytes"),
        ] {
            let topology = parse(spec).unwrap();
            let name = |aim| ChosenAim::of(aim, topology.as_ref()).objective.name();
            assert_eq!(
                [Aim::Auto, Aim::Time, Aim::HopBytes].map(name),
                [by_auto, by_time, "hop-bytes"],
                "{spec}"
            );
        }
        let torus = parse("torus:4x4").unwrap();
        let sentence = ChosenAim::of(Aim::Auto, torus.as_ref()).sentence();
        assert_eq!(sentence, "objective: time (the links of the network are known)");
    }
}
