//! The rails of the nodes of a topology, and the rail of each slot.
//!
//! Traffic that leaves or enters a node is charged to the rail of its slot. A slot of which no rail is known is
//! charged to none.
//!
//! Limits: the rails of a node count as equally fast. Adapters of one fabric in one node nearly always are, and hwloc
//! does not say how fast they are.

use crate::{Error, ErrorKind, Result};

/// The number in a list of rails that means: none is known.
const NO_RAIL: u32 = u32::MAX;

/// One rail: a network adapter that takes the traffic of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rail {
    /// Number of its node. Rails of one node have one number, and stand one after the other in [`Rails`].
    pub node: u32,
    /// Name of its node.
    pub node_name: String,
    /// Name of the adapter.
    pub name: String,
}

/// All rails of a topology, node by node, and the rail of each slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rails {
    rails: Vec<Rail>,
    of_slot: Vec<u32>,
    /// Distance of two slots on neighbouring nodes: what a byte costs that leaves its node.
    price: u64,
}

impl Rails {
    /// Rails, for each slot the index of its rail if it is known, and the distance of two neighbouring nodes.
    ///
    /// Errors: a slot with a rail that does not exist.
    pub fn new(rails: Vec<Rail>, of_slot: Vec<Option<usize>>, price: u64) -> Result<Rails> {
        if let Some(rail) = of_slot.iter().flatten().find(|&&rail| rail >= rails.len()) {
            return Err(Error::new(ErrorKind::Infeasible, format!("rail {rail} does not exist")));
        }
        let number = |rail: Option<usize>| rail.map_or(NO_RAIL, |rail| rail as u32);
        Ok(Rails { rails, of_slot: of_slot.into_iter().map(number).collect(), price })
    }

    /// All rails, node by node.
    pub fn all(&self) -> &[Rail] {
        &self.rails
    }

    /// The rail of a slot, an index into [`Rails::all`]; `None` if it is not known.
    #[inline]
    pub fn of(&self, slot: usize) -> Option<usize> {
        self.of_slot.get(slot).filter(|&&rail| rail != NO_RAIL).map(|&rail| rail as usize)
    }

    /// Distance of two slots on neighbouring nodes: what a byte costs that leaves its node.
    pub fn price(&self) -> u64 {
        self.price
    }

    /// For each rail, whether it is the rail of a slot.
    pub fn in_use(&self) -> Vec<bool> {
        let mut used = vec![false; self.rails.len()];
        self.of_slot.iter().filter(|&&rail| rail != NO_RAIL).for_each(|&r| used[r as usize] = true);
        used
    }

    /// Whether a node has slots of different rails, so that it matters which slot a task has.
    pub fn have_choice(&self) -> bool {
        let mut used = self.in_use().into_iter().zip(&self.rails).filter(|(used, _)| *used);
        let mut before = used.next().map(|(_, rail)| rail.node);
        used.any(|(_, rail)| before.replace(rail.node) == Some(rail.node))
    }

    /// The rails of some of the slots, in another order.
    #[must_use]
    pub fn of_slots(&self, slots: &[usize]) -> Rails {
        let of_slot = slots.iter().map(|&slot| self.of_slot.get(slot).copied().unwrap_or(NO_RAIL));
        Rails { rails: self.rails.clone(), of_slot: of_slot.collect(), price: self.price }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `nodes` nodes of `rails` rails; the slots of each node are on `of_place`, the rails of its places.
    pub(crate) fn rails(nodes: u32, rails: usize, of_place: &[usize]) -> Rails {
        let all = (0..nodes).flat_map(|node| {
            (0..rails).map(move |k| Rail {
                node,
                node_name: format!("n{node}"),
                name: format!("hsn{k}"),
            })
        });
        let of_slot = (0..nodes as usize)
            .flat_map(|node| of_place.iter().map(move |&rail| Some(node * rails + rail)));
        Rails::new(all.collect(), of_slot.collect(), 100).unwrap()
    }

    #[test]
    fn slots_of_one_rail_have_no_choice() {
        assert!(rails(2, 2, &[0, 0, 1]).have_choice());
        assert!(!rails(2, 2, &[1, 1]).have_choice());
        assert!(!rails(3, 1, &[0, 0]).have_choice());
        let some = rails(2, 2, &[0, 1]).of_slots(&[3, 0]);
        assert_eq!([some.of(0), some.of(1), some.of(2)], [Some(3), Some(0), None]);
        assert_eq!(some.in_use(), [true, false, false, true]);
        assert!(!some.have_choice());
    }

    #[test]
    fn rails_that_do_not_exist_are_refused() {
        assert!(Rails::new(Vec::new(), vec![Some(0)], 100).is_err());
        assert_eq!(Rails::new(Vec::new(), vec![None], 100).unwrap().of(0), None);
    }
}
