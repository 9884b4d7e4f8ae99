//! How the messages of two slots choose among the paths between them.
//!
//! The paths decide which links carry the bytes, and so how long the traffic takes. The template is
//! [`super::SinglePath`]: one path for each pair. A further routing is a file in `routings/`.

/// The share of the bytes of two slots that each link carries.
pub trait Routing: Send + Sync {
    /// The name after `routing=` in the description of a topology.
    fn name(&self) -> &'static str;

    /// Visits links on the way from slot `from` to slot `to`, each with a share of the bytes above 0. A link may be
    /// visited several times; its shares then add up. Nothing is visited if both are the same slot.
    ///
    /// If [`Routing::is_hashed`], a share is a probability: a pair of slots uses one path, and nobody knows which.
    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64));

    /// Whether messages choose hop by hop among the links that bring them closer.
    fn chooses(&self) -> bool {
        false
    }

    /// As [`Routing::spread`], where messages choose hop by hop and the links have these `times` to carry.
    fn choose(&self, from: usize, to: usize, _times: &[f64], visit: &mut dyn FnMut(usize, f64)) {
        self.spread(from, to, visit);
    }

    /// Whether messages may take longer paths where the shortest ones are loaded ([`Routing::detours`]).
    fn has_detours(&self) -> bool {
        false
    }

    /// The number of longer paths that messages take where the shortest ones are loaded; 0 if there are none.
    fn detours(&self, _from: usize, _to: usize) -> usize {
        0
    }

    /// Visits the links of one of these longer paths, numbered from 0.
    fn detour(&self, _from: usize, _to: usize, _way: usize, _visit: &mut dyn FnMut(usize)) {}

    /// Whether each pair of slots uses one of the paths, chosen by a hash of addresses.
    fn is_hashed(&self) -> bool {
        false
    }

    /// How many physical links a link stands for. A hash also chooses one of these.
    fn lanes(&self, _link: usize) -> f64 {
        1.0
    }
}
