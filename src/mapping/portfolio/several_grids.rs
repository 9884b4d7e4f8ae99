//! Places several grids that exchange little: each on places of its own, and each as if it were alone.
//!
//! The parts and their grids are those of [`crate::mapping::geometric::several_grids`]. The machine is divided among them, into boxes where it is a grid
//! ([`super::box_cuts`]) and into groups where it is a tree ([`regions`]). Then each part is mapped to its places by the
//! engine itself, which folds grids, cuts them into boxes, and searches for all others. At last, grids in boxes are turned
//! towards each other ([`super::coupled_boxes`]).

use super::answers::refined;
use super::box_cuts::{Cuboid, boxes};
use super::coupled_boxes::turn;
use super::generators::Candidates;
use super::grid_on_grid::FullBox;
use super::regions;
use crate::base::sorting::Arrange;
use crate::mapping::engine::Prepared;
use crate::mapping::geometric::Part;
use crate::mapping::{Budget, Preset, Problem};
use crate::matrix::Graph;

/// The place of every vertex. `None` if a part cannot be placed.
pub(super) fn place_parts(
    prepared: &Prepared<'_, '_>,
    parts: &[Part],
    preset: Preset,
    budget: &Budget,
) -> Option<Vec<u32>> {
    let full = FullBox::of(prepared.problem);
    let cut = full.as_ref().and_then(|full| boxes(&full.grid, parts, budget).zip(Some(full)));
    let regions = match &cut {
        Some((boxes, full)) => {
            let place = |slot: u32| full.place_at[slot as usize];
            let places =
                |cuboid: &Cuboid| cuboid.slots(&full.grid).into_iter().map(place).collect();
            boxes.iter().map(places).collect()
        }
        None => places_of_parts(prepared, parts),
    };
    let mut place_of = vec![u32::MAX; prepared.graph.len()];
    for (part, region) in parts.iter().zip(regions) {
        let inner = place_part(prepared, part, region, preset, budget)?;
        for (&v, place) in part.vertices.iter().zip(inner) {
            place_of[v as usize] = place;
        }
    }
    if let Some((boxes, full)) = &cut {
        turn(&prepared.graph, (parts, boxes), full, &mut place_of, budget);
    }
    Some(place_of)
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

/// The place of every vertex of a part, if it is mapped alone to the places of its region.
fn place_part(
    prepared: &Prepared<'_, '_>,
    part: &Part,
    mut region: Vec<u32>,
    preset: Preset,
    budget: &Budget,
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
        .preset(preset)
        .seed(whole.seed())
        .build()
        .ok()?;
    let alone = Prepared::new(&problem);
    let mut candidates = Candidates::new(&alone, budget);
    let (candidates, effort) = candidates.of(preset);
    let (best, _) = refined(&alone, candidates, &effort, budget)?;
    let place_of = alone.by_task(best.place_of);
    Some(place_of.into_iter().map(|place| region[place as usize]).collect())
}
