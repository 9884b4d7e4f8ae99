//! Tasks on machines that are grids, or on allocations that are boxes of one: grids of tasks, and clusters of tasks
//! that form no grid.

use crate::mapping::blocks::{BlockEffort, TaskNumbers, parts_of_line, place_in_blocks};
use crate::mapping::engine::{Prepared, Scale, TreePlaces, align_grid};
use crate::mapping::geometric::{
    GridShape, Recognised, fold_on_grid, lines_on_grid, place_on_grid,
};
use crate::mapping::multisection::{BisectEffort, Bisector, multisect};
use crate::mapping::{Budget, Problem};
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
pub(super) fn folded(prepared: &Prepared<'_, '_>, grid: &Recognised) -> Option<Vec<u32>> {
    let pattern = grid.pattern(&prepared.graph);
    placed(prepared, |machine| fold_on_grid(pattern, &grid.shape, machine))
}

/// The place of every vertex of a grid of lines by the best nested digits; `None` where the places are no box of a
/// grid, one each, or no digits fit.
pub(super) fn lines_in_digits(prepared: &Prepared<'_, '_>, shape: &GridShape) -> Option<Vec<u32>> {
    placed(prepared, |machine| lines_on_grid(&prepared.graph, shape, machine))
}

/// The place of every vertex by a search that places blocks of the task grid on blocks of the machine; `None` where the
/// places are no box of a grid, one each, or more than the tasks.
pub(super) fn in_blocks(
    prepared: &Prepared<'_, '_>,
    grid: &Recognised,
    effort: BlockEffort,
    budget: &Budget,
) -> Option<Vec<u32>> {
    let rng = prepared.rng.fork(0xb10c);
    placed(prepared, |machine| {
        let numbers = TaskNumbers::of_grid(grid.pattern(&prepared.graph), &grid.shape);
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
    let full = FullBox::of(prepared.problem)?;
    let mut slots = slots(&full.grid)?;
    if slots.len() == full.slot_of.len() {
        align_grid(prepared, &full.grid, &full.slot_of, &mut slots);
    }
    Some(slots.into_iter().map(|slot| full.place_at[slot as usize]).collect())
}

/// A box of the machine that the places fill, one place on each slot.
pub(super) struct FullBox {
    pub(super) grid: Grid,
    /// By slot of the box: the place.
    pub(super) place_at: Vec<u32>,
    /// By place: the slot of the box.
    pub(super) slot_of: Vec<u32>,
}

impl FullBox {
    /// `None` where the places are no box of a grid, one each.
    pub(super) fn of(problem: &Problem<'_>) -> Option<FullBox> {
        let (machine, points) = problem.grid()?;
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
        Some(FullBox { grid: space.grid, place_at, slot_of })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::permutation::is_permutation;
    use crate::mapping::Preset;
    use crate::mapping::portfolio::Effort;
    use crate::mapping::portfolio::answers::answers;
    use crate::mapping::portfolio::effort::Metric;
    use crate::mapping::portfolio::judge::Judge;
    use crate::matrix::{Graph, synthetic::pattern};
    use crate::metrics::hop_bytes;
    use crate::topology::parse;

    /// The best answer for a problem, without the given order.
    fn best_of(problem: &Problem<'_>) -> crate::mapping::Outcome {
        let budget = Budget::unlimited();
        let mut judge = Judge::new(problem, &budget);
        answers(problem, &budget, &mut judge);
        judge.answer().unwrap()
    }

    /// The cost of clusters in blocks, before any other local search.
    fn by_clusters(text: &str, machine: &str) -> Option<i128> {
        let (topology, graph) = (parse(machine).unwrap(), pattern(text).unwrap());
        let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
        let prepared = Prepared::new(&problem);
        let effort = Effort::new(Preset::Fast, problem.tasks(), Metric::Axes);
        let budget = Budget::unlimited();
        let place_of = clusters_in_blocks(&prepared, effort.bisect, effort.clusters, &budget)?;
        assert!(is_permutation(&place_of), "{text} on {machine}");
        Some(prepared.cost(&place_of))
    }

    #[test]
    fn clusters_are_placed_on_long_rings_better_than_by_halves() {
        let (topology, graph) =
            (parse("torus:32x32").unwrap(), pattern("spmv:1024,shuffle=1").unwrap());
        let problem = Problem::builder(&graph, topology.as_ref());
        let problem = problem.preset(Preset::Fast).build().unwrap();
        let found = best_of(&problem);
        let slots: Vec<usize> = found.place_of_task.iter().map(|&slot| slot as usize).collect();
        let cost = hop_bytes(&graph, topology.as_ref(), &slots);
        // With the bisection of tasks and machine together, preset `fast` found 282 336.
        assert!(cost < 275_000, "{cost}");
    }

    #[test]
    fn clusters_are_placed_on_grids_of_any_dimensions() {
        assert!(by_clusters("rgg:210", "mesh:5x6x7").is_some());
        assert!(by_clusters("powerlaw:64", "torus:2x2x2x2x2x2").is_some());
    }

    /// Blocks of 11 or 13 parts in a line would begin far from where they belong. A smaller pattern has no block for
    /// each cluster.
    #[test]
    fn clusters_need_a_machine_that_is_full_and_has_small_factors() {
        assert_eq!(by_clusters("rgg:143", "torus:11x13"), None);
        assert_eq!(by_clusters("rgg:60", "torus:8x8"), None);
    }

    /// Without the grid, a search found mappings that cost up to 1.6 times as much as those of the grid did.
    #[test]
    fn a_few_irregular_edges_do_not_hide_a_grid() {
        for (text, machine) in [
            ("stencil:32x32,shuffle=1", "torus:8x8x16"),
            ("torus:32x32,shuffle=1", "torus:32x32"),
            ("moore:16x32,shuffle=1", "mesh:8x8x8"),
            ("stencil:16x16x16,shuffle=1", "tree:4:16:64@1:10:100"),
        ] {
            let (topology, graph) = (parse(machine).unwrap(), pattern(text).unwrap());
            let irregular = pattern(&format!("{text},far=2")).unwrap();
            let mapped = |graph: &Graph| -> Vec<usize> {
                let problem = Problem::builder(graph, topology.as_ref());
                let problem = problem.preset(Preset::Fast).build().unwrap();
                let found = best_of(&problem);
                found.place_of_task.iter().map(|&slot| slot as usize).collect()
            };
            let cost = |slots: &[usize]| hop_bytes(&irregular, topology.as_ref(), slots) as f64;
            let (of_grid, found) = (cost(&mapped(&graph)), cost(&mapped(&irregular)));
            assert!(found <= 1.01 * of_grid, "{text} on {machine}: {found} {of_grid}");
        }
    }

    /// A search found mappings that cost up to 1.6 times as much as the natural order.
    #[test]
    fn stencils_of_other_shapes_cost_no_more_than_their_natural_order() {
        for (text, machine) in [
            ("star:16x16", "torus:16x16"),
            ("star:12x20,steps=8:1", "mesh:12x20"),
            ("star:6x8x10,along=1:5:9", "torus:6x8x10"),
            ("star:6x8x10,periodic=1", "torus:6x8x10"),
            ("stencil19:6x6x8", "mesh:6x6x8"),
            ("stencil19:4x6x8,periodic=1", "torus:4x6x8"),
            ("hex:12x20", "mesh:12x20"),
            ("hex:12x20,periodic=1", "torus:12x20"),
            ("bt:144", "torus:12x12"),
        ] {
            let (topology, natural) = (parse(machine).unwrap(), pattern(text).unwrap());
            let graph = pattern(&format!("{text},shuffle=1")).unwrap();
            let problem = Problem::builder(&graph, topology.as_ref());
            let problem = problem.preset(Preset::Fast).build().unwrap();
            let found = best_of(&problem);
            let slots: Vec<usize> = found.place_of_task.iter().map(|&slot| slot as usize).collect();
            let given: Vec<usize> = (0..slots.len()).collect();
            let (ours, theirs) = (
                hop_bytes(&graph, topology.as_ref(), &slots),
                hop_bytes(&natural, topology.as_ref(), &given),
            );
            assert!(ours <= theirs, "{text} on {machine}: {ours} {theirs}");
        }
    }
}
