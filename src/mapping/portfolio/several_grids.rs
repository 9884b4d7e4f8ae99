//! Places several grids that exchange little: each on places of its own, and each as if it were alone.
//!
//! The parts and their grids are those of [`crate::mapping::geometric::several_grids`]. The machine is divided among them,
//! into boxes where it is a grid ([`super::box_cuts`]) and into groups where it is a tree ([`regions`]). Then each part is
//! mapped to its places by the engine itself, which folds grids, cuts them into boxes, and searches for all others. At last,
//! grids in boxes are turned towards each other ([`super::coupled_boxes`]).

use super::box_cuts::{Cuboid, boxes};
use super::coupled_boxes::turn;
use super::grid_on_grid::FullBox;
use super::regions;
use crate::base::permutation::is_injective;
use crate::base::sorting::Arrange;
use crate::mapping::engine::Prepared;
use crate::mapping::geometric::Part;
use crate::mapping::{Budget, Preset, Problem};
use crate::matrix::Graph;

/// Maps a problem, and returns the place of every task.
pub(super) type Alone = fn(&Problem<'_>, &Budget) -> Option<Vec<u32>>;

/// Grids that exchange little, and the boxes for them, which do not depend on the preset.
pub(super) struct Several {
    pub(super) parts: Vec<Part>,
    /// The box that the places fill, and a box inside it for each part. `None` where there are no such boxes.
    cut: Option<(FullBox, Vec<Cuboid>)>,
}

impl Several {
    pub(super) fn new(prepared: &Prepared<'_, '_>, parts: Vec<Part>, budget: &Budget) -> Self {
        let full = FullBox::of(prepared.problem).filter(|_| prepared.tree.is_none());
        let cut = full.and_then(|full| boxes(&full.grid, &parts, budget).map(|cut| (full, cut)));
        Several { parts, cut }
    }

    /// The place of every vertex. `alone` maps a part as if there were no others, and returns the place of each of its
    /// tasks. `None` if a part cannot be placed.
    pub(super) fn place(
        &self,
        prepared: &Prepared<'_, '_>,
        preset: Preset,
        budget: &Budget,
        alone: Alone,
    ) -> Option<Vec<u32>> {
        let regions = match &self.cut {
            Some((full, boxes)) => {
                let places = |cuboid: &Cuboid| {
                    let slots = cuboid.slots(&full.grid).into_iter();
                    slots.map(|slot| full.place_at[slot as usize]).collect()
                };
                boxes.iter().map(places).collect()
            }
            None => places_of_parts(prepared, &self.parts),
        };
        let mut place_of = vec![u32::MAX; prepared.graph.len()];
        for (part, region) in self.parts.iter().zip(regions) {
            let inner = place_part(prepared, part, region, &|problem| {
                alone(&problem.with_preset(preset), budget)
            })?;
            for (&v, place) in part.vertices.iter().zip(inner) {
                place_of[v as usize] = place;
            }
        }
        if let Some((full, boxes)) = &self.cut {
            turn(&prepared.graph, (&self.parts, boxes), full, &mut place_of, budget);
        }
        is_injective(&place_of, prepared.problem.places().len()).then_some(place_of)
    }
}

/// The places for each part, as many as it has tasks, where the machine is not cut into boxes.
fn places_of_parts(prepared: &Prepared<'_, '_>, parts: &[Part]) -> Vec<Vec<u32>> {
    let sizes: Vec<usize> = parts.iter().map(|part| part.vertices.len()).collect();
    match (&prepared.tree, prepared.problem.grid()) {
        (Some(tree), _) => regions::on_tree(tree, &sizes),
        (None, Some((grid, points))) => {
            regions::halved(grid, &points, prepared.chosen.clone(), &sizes)
        }
        (None, None) => regions::in_order(&prepared.chosen, &sizes),
    }
}

/// The place of every vertex of a part, if `alone` maps it to the places of its region.
fn place_part(
    prepared: &Prepared<'_, '_>,
    part: &Part,
    mut region: Vec<u32>,
    alone: &dyn Fn(&Problem<'_>) -> Option<Vec<u32>>,
) -> Option<Vec<u32>> {
    let whole = prepared.problem;
    let slot_of = whole.places();
    region.arrange_by_key(|&place| slot_of[place as usize]);
    let mut edges = Vec::with_capacity(part.graph.arcs.len() / 2);
    for v in 0..part.graph.len() {
        let earlier = part.graph.arcs(v).filter(|&(t, _)| t < v);
        edges.extend(earlier.map(|(t, w)| (t as u32, v as u32, w.unsigned_abs())));
    }
    let graph = Graph::from_edges(part.graph.len(), &edges);
    let (mut slots, mut capacities) = (Vec::new(), Vec::new());
    for same in region.chunk_by(|&a, &b| slot_of[a as usize] == slot_of[b as usize]) {
        slots.push(slot_of[same[0] as usize] as usize);
        capacities.push(same.len() as u32);
    }
    let problem = Problem::builder(&graph, whole.topology())
        .slots(&slots)
        .capacities(&capacities)
        .seed(whole.seed())
        .build()
        .ok()?;
    let place_of = alone(&problem)?;
    Some(place_of.into_iter().map(|place| region[place as usize]).collect())
}
