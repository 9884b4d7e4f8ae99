//! Tasks on machines that are grids, or on allocations that are boxes of one: grids of tasks, and clusters of tasks that
//! form no grid.

use crate::mapping::Budget;
use crate::mapping::blocks::{BlockEffort, TaskNumbers, parts_of_line, place_in_blocks};
use crate::mapping::engine::{Prepared, Scale, TreePlaces, align_grid};
use crate::mapping::geometric::{GridShape, fold_on_grid, place_on_grid};
use crate::mapping::multisection::{BisectEffort, Bisector, multisect};
use crate::topology::{Grid, Topology, Tree};

/// Parts that a block of clusters may be cut into at once.
const MOST_PARTS: usize = 7;

/// The place of every vertex so that neighbours of the task grid are neighbours of the machine;
/// `None` where the places are no box of a grid, one each, or the shapes do not fit.
pub(super) fn on_grid(prepared: &Prepared<'_, '_>, shape: &GridShape) -> Option<Vec<u32>> {
    placed(prepared, |machine| place_on_grid(shape, machine))
}

/// The place of every vertex by the best folding of the task grid; `None` where the places are no box of a grid,
/// one each, or no folding fits.
pub(super) fn folded(prepared: &Prepared<'_, '_>, shape: &GridShape) -> Option<Vec<u32>> {
    placed(prepared, |machine| fold_on_grid(&prepared.graph, shape, machine))
}

/// The place of every vertex by a search that places blocks of the task grid on blocks of the machine; `None` where the
/// places are no box of a grid, one each, or more than the tasks.
pub(super) fn in_blocks(
    prepared: &Prepared<'_, '_>,
    shape: &GridShape,
    effort: BlockEffort,
    budget: &Budget,
) -> Option<Vec<u32>> {
    let rng = prepared.rng.fork(0xb10c);
    placed(prepared, |machine| {
        let numbers = TaskNumbers::of_grid(&prepared.graph, shape);
        place_in_blocks(&prepared.graph, &numbers, machine, effort, &rng, budget)
    })
}

/// The place of every vertex by a search that places clusters of tasks on blocks of the machine; `None` where the
/// places are no box of a grid, one each, or more than the tasks.
///
/// The clusters are nested, as the blocks of the machine are: they are found as the groups of a tree are filled.
pub(super) fn clusters_in_blocks(
    prepared: &Prepared<'_, '_>,
    bisect: BisectEffort,
    effort: BlockEffort,
    budget: &Budget,
) -> Option<Vec<u32>> {
    placed(prepared, |machine| {
        if machine.slots() != prepared.graph.len() {
            return None;
        }
        let parts = parts_of_line(machine);
        // The parts of a block begin in the order of the line, so they must be few.
        if parts.iter().skip(1).any(|&parts| parts > MOST_PARTS) {
            return None;
        }
        // Only the groups count here. Their distances have no effect.
        let costs: Vec<u64> = (1..=parts.len() as u64).rev().collect();
        let tree = Tree::regular(&parts, &costs)?;
        let slots: Vec<u32> = (0..machine.slots() as u32).collect();
        let groups = TreePlaces::new(&tree, &slots, Scale::new(1, costs.len() as u64))?;
        let mut bisector = Bisector::new(bisect, budget);
        let line = multisect(&prepared.graph, &groups, &mut bisector, &prepared.rng.fork(0xc105));
        let (line, rng) = (TaskNumbers::of_line(line), prepared.rng.fork(0xb10d));
        place_in_blocks(&prepared.graph, &line, machine, effort, &rng, budget)
    })
}

/// The place of every vertex, from its slot in the box that the places fill.
fn placed(
    prepared: &Prepared<'_, '_>,
    slots: impl FnOnce(&Grid) -> Option<Vec<u32>>,
) -> Option<Vec<u32>> {
    let (machine, points) = prepared.problem.grid()?;
    let space = Space::new(machine, &points)?;
    let mut place_at = vec![u32::MAX; points.len()];
    let mut slot_of = Vec::with_capacity(points.len());
    for (place, &point) in points.iter().enumerate() {
        let slot = space.slot(machine, point)?;
        let at = place_at.get_mut(slot as usize)?;
        if std::mem::replace(at, place as u32) != u32::MAX {
            return None;
        }
        slot_of.push(slot);
    }
    let mut slots = slots(&space.grid)?;
    if slots.len() == points.len() {
        align_grid(prepared, &space.grid, &slot_of, &mut slots);
    }
    Some(slots.into_iter().map(|slot| place_at[slot as usize]).collect())
}

/// The box that points fill, as a grid of its own.
struct Space {
    grid: Grid,
    /// The first coordinate in each dimension.
    start: Vec<u32>,
}

impl Space {
    /// `None` unless there are as many points as the box around them has; a ring that is not full
    /// is cut open in its widest gap.
    fn new(machine: &Grid, points: &[u32]) -> Option<Space> {
        let (mut dims, mut wrap, mut start) = (Vec::new(), Vec::new(), Vec::new());
        for (k, &length) in machine.dims().iter().enumerate() {
            let mut used = vec![false; length];
            points.iter().for_each(|&p| used[machine.coordinates(p as usize)[k] as usize] = true);
            let count = used.iter().filter(|&&u| u).count();
            // The first coordinate of a stretch of used ones. There may be one stretch only.
            let begins = |x: &usize| used[*x] && !used[(*x + length - 1) % length];
            let first = match machine.wrap()[k] && count < length {
                true => (0..length).find(begins)?,
                false => used.iter().position(|&u| u)?,
            };
            if (0..count).any(|x| !used[(first + x) % length]) {
                return None;
            }
            dims.push(count);
            wrap.push(machine.wrap()[k] && count == length);
            start.push(first as u32);
        }
        let grid = Grid::new(&dims, &wrap)?;
        (grid.slots() == points.len()).then_some(Space { grid, start })
    }

    fn slot(&self, machine: &Grid, point: u32) -> Option<u32> {
        let coordinates = machine.coordinates(point as usize).iter().zip(&self.start);
        let shifted = coordinates.zip(machine.dims()).map(|((&x, &start), &length)| {
            let length = length as u32;
            (x + length - start) % length
        });
        self.grid.slot_at(&shifted.collect::<Vec<u32>>()).map(|slot| slot as u32)
    }
}
