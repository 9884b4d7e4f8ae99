//! A topology of some of the slots of another topology, for example of the slots that a job got of a machine.

use super::{Charges, Grid, Network, Rails, Routing, Topology, Tree};
use crate::base::nouns::counted;
use crate::base::permutation::inverse;
use crate::{Error, ErrorKind, Result};

/// Slot `k` of the subset is slot `slots[k]` of the whole topology. The distances and routes are those of the
/// whole topology.
pub struct Subset<'a> {
    whole: Whole<'a>,
    slots: Vec<usize>,
    tree: Option<Tree>,
    rails: Option<Rails>,
    /// Points in the grid, where the whole topology is one or a part of one.
    points: Option<Vec<usize>>,
    /// For each vertex of this network, the vertex of the whole network. The slots of the subset come first.
    /// Empty without a network.
    old_vertex: Vec<u32>,
    /// For each vertex of the whole network, the vertex of this network.
    new_vertex: Vec<u32>,
}

enum Whole<'a> {
    Borrowed(&'a dyn Topology),
    Owned(Box<dyn Topology>),
}

impl Whole<'_> {
    fn get(&self) -> &dyn Topology {
        match self {
            Whole::Borrowed(topology) => *topology,
            Whole::Owned(topology) => topology.as_ref(),
        }
    }
}

impl Subset<'static> {
    /// As [`Subset::new`], but owns the whole topology.
    pub fn of_owned(whole: Box<dyn Topology>, slots: &[usize]) -> Result<Subset<'static>> {
        Subset::build(Whole::Owned(whole), slots)
    }
}

impl<'a> Subset<'a> {
    /// The given slots, in this order.
    ///
    /// Errors: a slot that does not exist, or is given twice.
    pub fn new(whole: &'a dyn Topology, slots: &[usize]) -> Result<Subset<'a>> {
        Subset::build(Whole::Borrowed(whole), slots)
    }

    fn build(kept: Whole<'a>, slots: &[usize]) -> Result<Subset<'a>> {
        let whole = kept.get();
        let bad = |what: String| Error::new(ErrorKind::Infeasible, what).at(whole.name());
        let mut seen = vec![false; whole.slots()];
        for &slot in slots {
            let last = whole.slots().saturating_sub(1);
            let seen = seen.get_mut(slot).ok_or_else(|| {
                bad(format!("slot {slot} does not exist")).advise(format!("use slots 0 to {last}"))
            })?;
            if std::mem::replace(seen, true) {
                return Err(
                    bad(format!("slot {slot} is given twice")).advise("give each slot once")
                );
            }
        }
        let tree = whole.as_tree().map(|tree| tree.restricted(slots));
        let rails = whole.rails().map(|rails| rails.of_slots(slots));
        let points = match (whole.as_grid(), whole.as_part_of_grid()) {
            (Some(_), _) => Some(slots.to_vec()),
            (None, Some((_, points))) => Some(slots.iter().map(|&s| points[s]).collect()),
            (None, None) => None,
        };
        let old_vertex: Vec<u32> = whole.network().map_or_else(Vec::new, |network| {
            let others = (0..network.vertices()).filter(|&v| !seen.get(v).is_some_and(|&s| s));
            slots.iter().copied().chain(others).map(|v| v as u32).collect()
        });
        let new_vertex = inverse(&old_vertex);
        Ok(Subset {
            whole: kept,
            slots: slots.to_vec(),
            tree,
            rails,
            points,
            old_vertex,
            new_vertex,
        })
    }
}

impl Topology for Subset<'_> {
    fn name(&self) -> String {
        format!("{} of {}", counted(self.slots.len(), "slot"), self.whole.get().name())
    }

    fn slots(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn distance(&self, a: usize, b: usize) -> u64 {
        match &self.tree {
            Some(tree) => tree.distance(a, b),
            None => self.whole.get().distance(self.slots[a], self.slots[b]),
        }
    }

    fn distance_bounds(&self) -> (u64, u64) {
        self.whole.get().distance_bounds()
    }

    fn as_tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    fn as_part_of_grid(&self) -> Option<(&Grid, &[usize])> {
        let whole = self.whole.get();
        let grid = whole.as_grid().or_else(|| whole.as_part_of_grid().map(|(grid, _)| grid))?;
        Some((grid, self.points.as_deref()?))
    }

    /// The network of the whole topology. Slots of the whole topology that are not in the subset count as
    /// switches.
    fn network(&self) -> Option<&dyn Network> {
        self.whole.get().network().map(|_| self as &dyn Network)
    }

    fn node_of(&self, slot: usize) -> usize {
        self.whole.get().node_of(self.slots[slot])
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        self.whole.get().slot_name(self.slots[slot])
    }

    fn rails(&self) -> Option<&Rails> {
        self.rails.as_ref()
    }
}

impl Network for Subset<'_> {
    fn vertices(&self) -> usize {
        self.old_vertex.len()
    }

    fn links(&self) -> usize {
        self.whole.get().network().map_or(0, Network::links)
    }

    fn bandwidth(&self, link: usize) -> f64 {
        self.whole.get().network().map_or(1.0, |network| network.bandwidth(link))
    }

    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize)) {
        if let Some(network) = self.whole.get().network() {
            network.neighbours(self.old_vertex[vertex] as usize, &mut |other, link| {
                visit(self.new_vertex[other] as usize, link);
            });
        }
    }

    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        if let Some(network) = self.whole.get().network() {
            network.route(self.slots[from], self.slots[to], visit);
        }
    }

    fn routing(&self) -> Box<dyn Routing + '_> {
        let whole = self.whole.get().network().map(Network::routing);
        Box::new(OfSlots { whole, slots: &self.slots })
    }

    fn charges(&self) -> Charges {
        self.whole.get().network().map_or_else(Charges::default, Network::charges)
    }
}

/// The routing of the whole topology, for the slots of the subset.
struct OfSlots<'a> {
    whole: Option<Box<dyn Routing + 'a>>,
    slots: &'a [usize],
}

impl Routing for OfSlots<'_> {
    fn name(&self) -> &'static str {
        self.whole.as_ref().map_or("single", |routing| routing.name())
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        if let Some(routing) = &self.whole {
            routing.spread(self.slots[from], self.slots[to], visit);
        }
    }

    fn chooses(&self) -> bool {
        self.whole.as_ref().is_some_and(|routing| routing.chooses())
    }

    fn choose(&self, from: usize, to: usize, times: &[f64], visit: &mut dyn FnMut(usize, f64)) {
        if let Some(routing) = &self.whole {
            routing.choose(self.slots[from], self.slots[to], times, visit);
        }
    }

    fn has_detours(&self) -> bool {
        self.whole.as_ref().is_some_and(|routing| routing.has_detours())
    }

    fn detours(&self, from: usize, to: usize) -> usize {
        let whole = self.whole.as_ref();
        whole.map_or(0, |routing| routing.detours(self.slots[from], self.slots[to]))
    }

    fn detour(&self, from: usize, to: usize, way: usize, visit: &mut dyn FnMut(usize)) {
        if let Some(routing) = &self.whole {
            routing.detour(self.slots[from], self.slots[to], way, visit);
        }
    }

    fn is_hashed(&self) -> bool {
        self.whole.as_ref().is_some_and(|routing| routing.is_hashed())
    }

    fn lanes(&self, link: usize) -> f64 {
        self.whole.as_ref().map_or(1.0, |routing| routing.lanes(link))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_distances() {
        let grid = Grid::torus(&[8]).unwrap();
        let part = Subset::new(&grid, &[7, 0, 4]).unwrap();
        assert_eq!((part.distance(0, 1), part.distance(1, 2), part.slots()), (1, 4, 3));
        assert_eq!(part.node_of(2), 4);
        assert_eq!(part.as_part_of_grid(), Some((&grid, &[7, 0, 4][..])));
        let less = Subset::new(&part, &[2, 0]).unwrap();
        assert_eq!(less.as_part_of_grid(), Some((&grid, &[4, 7][..])));
    }

    #[test]
    fn wrong_slots_are_refused() {
        let grid = Grid::mesh(&[3]).unwrap();
        for slots in [vec![3], vec![1, 1]] {
            let error = Subset::new(&grid, &slots).err().unwrap();
            assert!(error.to_string().contains("mesh:3"), "{error}");
        }
    }
}
