//! Some slots of a topology, as a topology: what a job got of a machine.

use super::{Network, Topology, Tree};
use crate::{Error, ErrorKind, Result};

/// Slot `k` of it is slot `slots[k]` of the topology below; distances and routes are those there.
pub struct Subset<'a> {
    whole: Whole<'a>,
    slots: Vec<usize>,
    tree: Option<Tree>,
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
        Ok(Subset { whole: kept, slots: slots.to_vec(), tree })
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

    /// The network of the whole restricted to routes between these slots; vertices that are not
    /// among them count as switches. Only for trees, whose restriction has its own numbering.
    fn network(&self) -> Option<&dyn Network> {
        self.tree.as_ref().map(|tree| tree as &dyn Network)
    }

    fn node_of(&self, slot: usize) -> usize {
        self.whole.get().node_of(self.slots[slot])
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        self.whole.get().slot_name(self.slots[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Grid;

    #[test]
    fn keeps_the_distances() {
        let grid = Grid::torus(&[8]).unwrap();
        let part = Subset::new(&grid, &[7, 0, 4]).unwrap();
        assert_eq!((part.distance(0, 1), part.distance(1, 2), part.slots()), (1, 4, 3));
        assert_eq!((part.original(2), part.node_of(2)), (4, 4));
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
