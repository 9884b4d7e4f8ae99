//! A topology whose nodes have rails.

use super::forwarded::forwarded;
use super::{Network, Rails, Topology};

/// Another topology, with the rails of its slots. Everything else is that of the other topology.
pub struct WithRails {
    topology: Box<dyn Topology>,
    rails: Rails,
}

impl WithRails {
    /// The topology with these rails; the topology itself if there are none.
    pub fn on(topology: Box<dyn Topology>, rails: Option<Rails>) -> Box<dyn Topology> {
        match rails {
            Some(rails) => Box::new(WithRails { topology, rails }),
            None => topology,
        }
    }
}

impl Topology for WithRails {
    forwarded!();

    fn name(&self) -> String {
        self.topology.name()
    }

    fn network(&self) -> Option<&dyn Network> {
        self.topology.network()
    }

    fn rails(&self) -> Option<&Rails> {
        Some(&self.rails)
    }
}
