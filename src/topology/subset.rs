//! Some slots of a topology, as a topology: what a job got of a machine.

use super::{Grid, Network, Topology, Tree};
use crate::{Error, ErrorKind, Result};

/// Slot `k` of it is slot `slots[k]` of the topology below; distances and routes are those there.
pub struct Subset<'a> {
    whole: Whole<'a>,
    slots: Vec<usize>,
    tree: Option<Tree>,
    /// Points in the grid, where the whole topology is one or a part of one.
    points: Option<Vec<usize>>,
    /// Vertices of the whole network in the order of this one, these slots first; and back. Empty
    /// without a network.
    old_vertex: Vec<u32>,
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
    /// As [`Subset::new`], keeping the whole topology inside.
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
        let mut seen = vec![false; whole.slots()];
        for &slot in slots {
            match seen.get_mut(slot) {
                None => {
                    return Err(Error::new(
                        ErrorKind::Infeasible,
                        format!("slot {slot} does not exist"),
                    )
                    .at(whole.name())
                    .advise(format!("slots 0 to {}", whole.slots().saturating_sub(1))));
                }
                Some(true) => {
                    return Err(Error::new(
                        ErrorKind::Infeasible,
                        format!("slot {slot} is given twice"),
                    )
                    .at(whole.name())
                    .advise("each slot once"));
                }
                Some(first) => *first = true,
            }
        }
        let tree = whole.as_tree().map(|tree| tree.restricted(slots));
        let points = match (whole.as_grid(), whole.as_part_of_grid()) {
            (Some(_), _) => Some(slots.to_vec()),
            (None, Some((_, points))) => Some(slots.iter().map(|&s| points[s]).collect()),
            (None, None) => None,
        };
        let vertices = whole.network().map_or(0, Network::vertices);
        let mut old_vertex: Vec<u32> = Vec::with_capacity(vertices);
        let mut new_vertex = vec![0u32; vertices];
        if vertices > 0 {
            let others = (0..vertices).filter(|&v| !seen.get(v).copied().unwrap_or(false));
            old_vertex.extend(slots.iter().copied().chain(others).map(|v| v as u32));
        }
        for (new, &old) in old_vertex.iter().enumerate() {
            new_vertex[old as usize] = new as u32;
        }
        Ok(Subset { whole: kept, slots: slots.to_vec(), tree, points, old_vertex, new_vertex })
    }

    /// The slot of the whole topology that slot `k` stands for.
    pub fn original(&self, k: usize) -> usize {
        self.slots[k]
    }
}

impl Topology for Subset<'_> {
    fn name(&self) -> String {
        format!("{} slots of {}", self.slots.len(), self.whole.get().name())
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

    fn as_tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    fn as_part_of_grid(&self) -> Option<(&Grid, &[usize])> {
        let whole = self.whole.get();
        let grid = whole.as_grid().or_else(|| whole.as_part_of_grid().map(|(grid, _)| grid))?;
        Some((grid, self.points.as_deref()?))
    }

    /// The network of the whole; slots that are not among these are switches of it.
    fn network(&self) -> Option<&dyn Network> {
        self.whole.get().network().map(|_| self as &dyn Network)
    }

    fn node_of(&self, slot: usize) -> usize {
        self.whole.get().node_of(self.slots[slot])
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        self.whole.get().slot_name(self.slots[slot])
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_distances() {
        let grid = Grid::torus(&[8]).unwrap();
        let part = Subset::new(&grid, &[7, 0, 4]).unwrap();
        assert_eq!((part.distance(0, 1), part.distance(1, 2), part.slots()), (1, 4, 3));
        assert_eq!((part.original(2), part.node_of(2)), (4, 4));
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
