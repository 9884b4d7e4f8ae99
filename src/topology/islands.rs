//! Several topologies without a known connection, such as the rings of a topology file of Slurm.
//!
//! Two slots of different parts are one farther apart than the farthest two slots of one part. How the parts are
//! connected is not known, so there is no network and no congestion.

use super::Topology;
use std::sync::Arc;

/// Parts that are all equally far from each other. Slots are numbered part by part.
pub struct Islands {
    label: String,
    parts: Vec<Arc<dyn Topology>>,
    /// First slot of each part, and the number of all slots.
    begins: Vec<usize>,
    between: u64,
}

impl Islands {
    /// The largest distance inside a part is found by a look at [`SAMPLE`] slots of each part if the part has more.
    pub(super) fn new(parts: Vec<Box<dyn Topology>>, label: String) -> Islands {
        Islands::of_shared(parts.into_iter().map(Arc::from).collect(), label)
    }

    /// As `Islands::new`, for parts that others use as well.
    pub fn of_shared(parts: Vec<Arc<dyn Topology>>, label: String) -> Islands {
        let mut begins = vec![0];
        for part in &parts {
            begins.push(begins[begins.len() - 1] + part.slots());
        }
        let widest = parts.iter().map(|part| widest(part.as_ref())).max().unwrap_or(0);
        Islands { label, parts, begins, between: widest + 1 }
    }

    /// The part of a slot, and the number of the slot in it.
    fn place(&self, slot: usize) -> (usize, usize) {
        let part = self.begins.partition_point(|&begin| begin <= slot) - 1;
        (part, slot - self.begins[part])
    }
}

/// Slots of a part between which distances are looked at.
const SAMPLE: usize = 256;

/// At least the largest distance of two slots.
fn widest(part: &dyn Topology) -> u64 {
    if let Some(grid) = part.as_grid().or_else(|| part.as_part_of_grid().map(|(grid, _)| grid)) {
        return grid.distance_bounds().1;
    }
    if let Some(tree) = part.as_tree() {
        return tree.cost(0);
    }
    let slots: Vec<usize> = (0..part.slots()).step_by(part.slots().div_ceil(SAMPLE)).collect();
    let from = |a: usize| slots.iter().map(move |&b| (a, b));
    let sampled = slots.iter().flat_map(|&a| from(a)).map(|(a, b)| part.distance(a, b)).max();
    // No slot is farther from a sampled one than twice the largest distance from that one.
    let whole = (0..part.slots()).map(|slot| 2 * part.distance(0, slot)).max();
    sampled.max(whole.filter(|_| slots.len() < part.slots())).unwrap_or(0)
}

impl Topology for Islands {
    fn name(&self) -> String {
        self.label.clone()
    }

    fn slots(&self) -> usize {
        self.begins[self.parts.len()]
    }

    fn distance(&self, a: usize, b: usize) -> u64 {
        let ((part, a), (other, b)) = (self.place(a), self.place(b));
        if part == other { self.parts[part].distance(a, b) } else { self.between }
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        let (part, slot) = self.place(slot);
        self.parts[part].slot_name(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    #[test]
    fn parts_are_farther_than_their_slots() {
        let parts = ["torus:5", "tree:2:2@1:7", "dragonfly:5x2x2"].map(|spec| parse(spec).unwrap());
        let all = Islands::new(parts.into(), "x".into());
        assert_eq!((all.slots(), all.name().as_str()), (5 + 4 + 20, "x"));
        assert_eq!((all.distance(0, 2), all.distance(5, 8), all.distance(9, 28)), (2, 7, 5));
        assert_eq!((all.distance(0, 5), all.distance(8, 9)), (8, 8));
    }
}
