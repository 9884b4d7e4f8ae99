//! The links of a topology and the routes that messages take over them.
//!
//! [`Network::route`] is static: the same pair of slots always uses the same links, as UMPA's congestion
//! metrics assume (UMPA paper, section II). Parallel links, over which a real network spreads the
//! messages of a pair, are one link here with the bandwidth of all of them. [`Network::routing`] says
//! over which links the network really spreads the messages; the predicted time follows it.

use super::Routing;

/// Links between vertices; vertex `s` is slot `s`, further vertices are switches.
///
/// Every connection is two links, one for each direction. Links are numbered from 0. Some numbers may
/// have no link (at the border of a mesh); no route uses them.
pub trait Network: Send + Sync {
    /// Number of vertices: the slots, then the switches.
    fn vertices(&self) -> usize;

    /// All link numbers are below this one.
    fn links(&self) -> usize;

    /// Bandwidth of a link relative to the others; positive, and 1 where the topology gives none.
    fn bandwidth(&self, link: usize) -> f64;

    /// Visits the outgoing links of a vertex as `(vertex at the other end, link)`, always in the
    /// same order.
    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize));

    /// Visits the links from slot `from` to slot `to`, in the order in which a message passes them;
    /// none if they are the same slot.
    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize));

    /// How messages choose among the paths.
    fn routing(&self) -> Box<dyn Routing + '_>;

    /// What messages cost beside their bytes.
    fn charges(&self) -> Charges {
        Charges::default()
    }
}

/// What a message costs beside the bytes on the links, in bytes that a link of bandwidth 1 takes in the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charges {
    /// Of each message between two slots, for the sender and the receiver.
    pub message: f64,
    /// Of each message and each link on its way, for the sender and the receiver.
    pub hop: f64,
    /// The bandwidth with which a node, or each of its rails, sends and receives. `None`: a node sends and receives over all
    /// its links at once.
    pub injection: Option<f64>,
}

impl Default for Charges {
    fn default() -> Charges {
        Charges { message: 0.0, hop: 0.0, injection: None }
    }
}

/// The numbers that can be bandwidths, in words for errors.
pub(super) const BANDWIDTHS: &str = "a number from 1e-30 to 1e30";

/// Whether a number can be the bandwidth of a link. Times would be infinite or zero beyond these limits.
pub(super) fn is_bandwidth(number: f64) -> bool {
    (1e-30..=1e30).contains(&number)
}

/// The exact number of links; [`Network::links`] is only the bound of their numbers.
pub fn count_links(network: &dyn Network) -> usize {
    let mut count = 0;
    for vertex in 0..network.vertices() {
        network.neighbours(vertex, &mut |_, _| count += 1);
    }
    count
}
