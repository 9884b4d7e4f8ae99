//! Dragonfly: groups of fully connected routers, one global link between every two groups.
//!
//! Routing is minimal: a message goes from the router of the sender to the router with the link to the
//! receiver's group, over this link, and on to the receiver's router (Kim, Dally, Scott and Abts,
//! "Technology-driven, highly-scalable dragonfly topology", 2008, section 3). A path over a third group can be
//! one hop shorter if two global links meet at one router. Such paths are not used.
//!
//! The global channel `c` of group `g` leads to group `g + c + 1` (modulo the number of groups) and
//! starts at router `c / h`, where `h` is the number of global links per router.

use super::network::is_bandwidth;
use super::{Network, Routing, SinglePath, Topology};

/// `groups` × `routers` × `hosts` slots; the host varies fastest. Constant memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Dragonfly {
    groups: usize,
    routers: usize,
    hosts: usize,
    /// Global links of a router.
    per_router: usize,
    /// Bandwidth of host, local and global links.
    bandwidths: [f64; 3],
}

impl Dragonfly {
    /// `groups` groups of `routers` routers with `hosts` hosts each. A group has one global link to every
    /// other group. Each router holds `(groups - 1) / routers` of them, rounded up, until none are left:
    /// the last routers may have fewer or none.
    ///
    /// `None` if a number is 0 or there are more than `u32::MAX` slots.
    pub fn new(groups: usize, routers: usize, hosts: usize) -> Option<Dragonfly> {
        super::slots_of(&[groups, routers, hosts])?;
        let per_router = (groups - 1).div_ceil(routers).max(1);
        Some(Dragonfly { groups, routers, hosts, per_router, bandwidths: [1.0; 3] })
    }

    /// Sets the bandwidth of the links to hosts, inside groups and between groups; `None` unless
    /// they are positive.
    pub fn with_bandwidths(mut self, bandwidths: [f64; 3]) -> Option<Dragonfly> {
        self.bandwidths = bandwidths;
        bandwidths.iter().all(|&b| is_bandwidth(b)).then_some(self)
    }

    /// The numbers of groups, of routers in a group, and of hosts at a router.
    pub(super) fn shape(&self) -> [usize; 3] {
        [self.groups, self.routers, self.hosts]
    }

    /// Group and router (within the group) of a slot.
    pub(super) fn router_of(&self, slot: usize) -> (usize, usize) {
        let router = slot / self.hosts;
        (router / self.routers, router % self.routers)
    }

    /// The channel from group `g` to group `other`.
    fn channel(&self, g: usize, other: usize) -> usize {
        (other + self.groups - g) % self.groups - 1
    }

    /// The router of group `g` that holds the link to group `other`.
    pub(super) fn gate(&self, g: usize, other: usize) -> usize {
        self.channel(g, other) / self.per_router
    }

    pub(super) fn host_link(&self, slot: usize, up: bool) -> usize {
        2 * slot + usize::from(up)
    }

    pub(super) fn local_link(&self, group: usize, from: usize, to: usize) -> usize {
        // A router has a link to each of the others.
        let nth = if to > from { to - 1 } else { to };
        2 * self.slots() + (group * self.routers + from) * (self.routers - 1) + nth
    }

    pub(super) fn global_link(&self, from: usize, to: usize) -> usize {
        self.first_global() + from * (self.groups - 1) + self.channel(from, to)
    }

    fn first_global(&self) -> usize {
        2 * self.slots() + self.groups * self.routers * (self.routers - 1)
    }
}

impl Topology for Dragonfly {
    fn name(&self) -> String {
        format!("dragonfly:{}x{}x{}", self.groups, self.routers, self.hosts)
    }

    fn slots(&self) -> usize {
        self.groups * self.routers * self.hosts
    }

    #[inline]
    fn distance(&self, a: usize, b: usize) -> u64 {
        if a == b {
            return 0;
        }
        let ((g, r), (h, s)) = (self.router_of(a), self.router_of(b));
        if g == h {
            return 2 + u64::from(r != s);
        }
        3 + u64::from(self.gate(g, h) != r) + u64::from(self.gate(h, g) != s)
    }

    fn distance_bounds(&self) -> (u64, u64) {
        (if self.hosts > 1 { 2 } else { 3 }, 5)
    }

    fn as_dragonfly(&self) -> Option<&Dragonfly> {
        Some(self)
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }
}

impl Network for Dragonfly {
    fn vertices(&self) -> usize {
        self.slots() + self.groups * self.routers
    }

    fn links(&self) -> usize {
        self.first_global() + self.groups * (self.groups - 1)
    }

    fn bandwidth(&self, link: usize) -> f64 {
        let [host, local, global] = self.bandwidths;
        match link {
            l if l < 2 * self.slots() => host,
            l if l < self.first_global() => local,
            _ => global,
        }
    }

    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize)) {
        let slots = self.slots();
        let Some(router) = vertex.checked_sub(slots) else {
            return visit(slots + vertex / self.hosts, self.host_link(vertex, true));
        };
        for slot in router * self.hosts..(router + 1) * self.hosts {
            visit(slot, self.host_link(slot, false));
        }
        let (group, own) = (router / self.routers, router % self.routers);
        for other in (0..self.routers).filter(|&other| other != own) {
            visit(slots + group * self.routers + other, self.local_link(group, own, other));
        }
        let channels = own * self.per_router..((own + 1) * self.per_router).min(self.groups - 1);
        for channel in channels {
            let other = (group + channel + 1) % self.groups;
            let gate = self.gate(other, group);
            visit(slots + other * self.routers + gate, self.global_link(group, other));
        }
    }

    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        if from == to {
            return;
        }
        let ((g, r), (h, s)) = (self.router_of(from), self.router_of(to));
        visit(self.host_link(from, true));
        if g == h {
            if r != s {
                visit(self.local_link(g, r, s));
            }
        } else {
            let (out, into) = (self.gate(g, h), self.gate(h, g));
            if r != out {
                visit(self.local_link(g, r, out));
            }
            visit(self.global_link(g, h));
            if into != s {
                visit(self.local_link(h, into, s));
            }
        }
        visit(self.host_link(to, false));
    }

    fn routing(&self) -> Box<dyn Routing + '_> {
        Box::new(SinglePath(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_where_both_ends_say() {
        let d = Dragonfly::new(9, 4, 2).unwrap();
        assert_eq!(d.slots(), 72);
        assert_eq!((d.distance(0, 1), d.distance(0, 2), d.distance(0, 8)), (2, 3, 4));
        // Every global link is seen from both of its routers.
        let mut ends = 0;
        for router in 72..d.vertices() {
            d.neighbours(router, &mut |other, _| {
                if other >= 72 && (other - 72) / 4 != (router - 72) / 4 {
                    ends += 1;
                    let mut back = false;
                    d.neighbours(other, &mut |home, _| back |= home == router);
                    assert!(back);
                }
            });
        }
        assert_eq!(ends, 9 * 8);
    }

    #[test]
    fn impossible_ones_are_none() {
        assert!(Dragonfly::new(0, 1, 1).is_none());
        assert!(Dragonfly::new(usize::MAX, 2, 1).is_none());
        assert!(Dragonfly::new(1, 1, 1).unwrap().with_bandwidths([1.0, 0.0, 1.0]).is_none());
    }
}
