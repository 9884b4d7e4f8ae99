//! Dragonflies: paths over a third group, and the choice between these and the shortest path.
//!
//! Valiant's paths (Kim, Dally, Scott and Abts 2008, section 4) go to a random other group first. They spread the
//! traffic of two groups over all global links, and use two of these instead of one. Adaptive routing (UGAL, in the
//! same section) sends a message over such a path if the shortest one is loaded more than twice as much. Here it is
//! a choice of shares: who computes loads decides how much of the bytes of a pair takes the detour.
//!
//! Inside a group the detour goes over another router of the group.
//! Limit: at most [`MOST_BETWEEN`] groups or routers are used for a pair, beginning with one that depends on the pair.

use crate::topology::{Dragonfly, Network, Routing};

/// The most groups, or routers, over which the bytes of a pair are spread.
const MOST_BETWEEN: usize = 8;

/// Always over a third group.
pub(super) struct Valiant<'a>(pub(super) &'a Dragonfly);

/// The shortest path, or a detour where that is loaded.
pub(super) struct Adaptive<'a>(pub(super) &'a Dragonfly);

impl Routing for Valiant<'_> {
    fn name(&self) -> &'static str {
        "valiant"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        let count = ways(self.0, from, to);
        if count == 0 {
            self.0.route(from, to, &mut |link| visit(link, 1.0));
        }
        for way in 0..count {
            over(self.0, from, to, way, &mut |link| visit(link, 1.0 / count as f64));
        }
    }
}

impl Routing for Adaptive<'_> {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        self.0.route(from, to, &mut |link| visit(link, 1.0));
    }

    fn has_detours(&self) -> bool {
        true
    }

    fn detours(&self, from: usize, to: usize) -> usize {
        ways(self.0, from, to)
    }

    fn detour(&self, from: usize, to: usize, way: usize, visit: &mut dyn FnMut(usize)) {
        over(self.0, from, to, way, visit);
    }
}

/// The numbers of all groups and of those at the ends, or, inside a group, of its routers. `None` if both ends are the
/// same.
fn ends(network: &Dragonfly, from: usize, to: usize) -> Option<(usize, usize, usize)> {
    let [groups, routers, _] = network.shape();
    let ((g, r), (h, s)) = (network.router_of(from), network.router_of(to));
    match g == h {
        true => (r != s).then_some((routers, r, s)),
        false => Some((groups, g, h)),
    }
}

/// The number of ways over other groups, or over other routers of the group.
fn ways(network: &Dragonfly, from: usize, to: usize) -> usize {
    ends(network, from, to).map_or(0, |(all, ..)| (all - 2).min(MOST_BETWEEN))
}

/// The links of one of these ways.
fn over(network: &Dragonfly, from: usize, to: usize, way: usize, visit: &mut dyn FnMut(usize)) {
    let Some((all, a, b)) = ends(network, from, to).filter(|&(all, ..)| all > 2) else { return };
    let ((g, r), (h, s)) = (network.router_of(from), network.router_of(to));
    // The others, as numbers that leave out the two ends.
    let other = |k: usize| {
        let (low, high) = (a.min(b), a.max(b));
        let k = k + usize::from(k >= low);
        k + usize::from(k >= high)
    };
    let count = (all - 2).min(MOST_BETWEEN);
    let first = (from.wrapping_mul(31) + to.wrapping_mul(17)) % (all - 2);
    let between = other((first + way * (all - 2) / count) % (all - 2));
    visit(network.host_link(from, true));
    if g == h {
        visit(network.local_link(g, r, between));
        visit(network.local_link(g, between, s));
    } else {
        let mut local = |group: usize, a: usize, b: usize| {
            if a != b {
                visit(network.local_link(group, a, b));
            }
        };
        local(g, r, network.gate(g, between));
        local(between, network.gate(between, g), network.gate(between, h));
        local(h, network.gate(h, between), s);
        visit(network.global_link(g, between));
        visit(network.global_link(between, h));
    }
    visit(network.host_link(to, false));
}
