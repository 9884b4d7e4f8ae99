//! From the parts of a grid to places: parts to nodes by the network above them, tasks to places by
//! what is inside a node.

use super::node_groups::NodeGroup;
use super::points::Points;
use crate::mapping::Budget;
use crate::mapping::coarsening::Contractor;
use crate::mapping::engine::{Csr, Pool, Rng, TreePlaces};
use crate::mapping::engine::{Prepared, align_tree};
use crate::mapping::multisection::{BisectEffort, Bisector, multisect};

/// The place of every vertex with the parts in the given order, points in groups in the given order,
/// and what is no point on the places left over.
pub(super) fn plain(
    prepared: &Prepared<'_, '_>,
    points: &Points,
    parts: &[Vec<u32>],
    groups: &[NodeGroup],
    over: &[u32],
) -> Vec<u32> {
    let mut place_of = vec![u32::MAX; prepared.graph.len()];
    for (part, group) in parts.iter().zip(groups) {
        for (&point, &place) in part.iter().zip(&group.places) {
            place_of[points.vertex_at[point as usize] as usize] = place;
        }
    }
    let mut over = over.iter();
    for place in place_of.iter_mut().filter(|place| **place == u32::MAX) {
        *place = over.next().copied().unwrap_or(u32::MAX);
    }
    place_of
}

/// Improves [`plain`]: which part goes to which node where the network tells them apart, then the
/// order inside every node; then whole groups change places to bring fixed tasks home.
pub(super) fn refined(
    prepared: &Prepared<'_, '_>,
    mut place_of: Vec<u32>,
    groups: &[NodeGroup],
    budget: &Budget,
) -> Vec<u32> {
    let Some(tree) = &prepared.tree else { return place_of };
    let effort = BisectEffort::new(1, 4, 4, 0);
    let mut bisector = Bisector::new(effort, budget);
    let mut index_of = vec![0u32; prepared.problem.places().len()];
    for (k, &place) in tree.order.iter().enumerate() {
        index_of[place as usize] = k as u32;
    }
    let swapped = between(prepared, tree, &place_of, groups, &index_of, &mut bisector);
    if let Some(swapped) = swapped
        && prepared.cost(&swapped) < prepared.cost(&place_of)
    {
        place_of = swapped;
    }
    let before = place_of.clone();
    inside(prepared, tree, &mut place_of, groups, &index_of, &mut bisector);
    if prepared.cost(&place_of) > prepared.cost(&before) {
        place_of = before;
    }
    let mut sorted: Vec<u32> = place_of.iter().map(|&p| index_of[p as usize]).collect();
    align_tree(prepared, tree, &mut sorted);
    sorted.into_iter().map(|k| tree.order[k as usize]).collect()
}

/// The group of every place; `groups` for none.
fn group_of(prepared: &Prepared<'_, '_>, groups: &[NodeGroup]) -> Vec<u32> {
    let mut group_of = vec![groups.len() as u32; prepared.problem.places().len()];
    for (k, group) in groups.iter().enumerate() {
        group.places.iter().for_each(|&p| group_of[p as usize] = k as u32);
    }
    group_of
}

/// The parts on other groups, by the network between these; `None` where it does not tell them apart
/// or where they differ in size.
fn between(
    prepared: &Prepared<'_, '_>,
    tree: &TreePlaces,
    place_of: &[u32],
    groups: &[NodeGroup],
    index_of: &[u32],
    bisector: &mut Bisector,
) -> Option<Vec<u32>> {
    let size = groups.first()?.places.len();
    let flat = groups[1..].windows(2).all(|w| w[0].parts == w[1].parts);
    let covered = groups.len() * size == place_of.len();
    if flat || !covered || groups.iter().any(|group| group.places.len() != size) {
        return None;
    }
    let group_of = group_of(prepared, groups);
    let part_of: Vec<u32> = place_of.iter().map(|&p| group_of[p as usize]).collect();
    let mut graph = Contractor::default().contract(
        &prepared.graph,
        &part_of,
        groups.len(),
        &mut Pool::default(),
    );
    graph.sizes.fill(1);
    let first = |group: &NodeGroup| index_of[group.places[0] as usize] as usize;
    let nodes = TreePlaces {
        order: (0..groups.len() as u32).collect(),
        codes: groups.iter().map(|group| tree.codes[first(group)]).collect(),
        distance_of: tree.distance_of,
        shifts: tree.shifts.clone(),
    };
    let group_of_part = multisect(&graph, &nodes, bisector, &prepared.rng.fork(0x90d1));
    let mut within = vec![0u32; prepared.problem.places().len()];
    for group in groups {
        group.places.iter().enumerate().for_each(|(k, &p)| within[p as usize] = k as u32);
    }
    let moved = place_of.iter().zip(&part_of).map(|(&place, &part)| {
        let group = &groups[group_of_part[part as usize] as usize];
        group.places[within[place as usize] as usize]
    });
    Some(moved.collect())
}

/// Places the tasks of every group anew on its places, where these are not all equally far apart.
fn inside(
    prepared: &Prepared<'_, '_>,
    tree: &TreePlaces,
    place_of: &mut [u32],
    groups: &[NodeGroup],
    index_of: &[u32],
    bisector: &mut Bisector,
) {
    let group_of = group_of(prepared, groups);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); groups.len() + 1];
    for (v, &place) in place_of.iter().enumerate() {
        members[group_of[place as usize] as usize].push(v as u32);
    }
    let mut local = vec![u32::MAX; prepared.graph.len()];
    for (k, (group, members)) in groups.iter().zip(&members).enumerate() {
        let codes: Vec<u64> =
            group.places.iter().map(|&p| tree.codes[index_of[p as usize] as usize]).collect();
        let apart = |w: &[u64]| tree.distance_of[(w[0] ^ w[1]).leading_zeros() as usize];
        let mut distances = codes.windows(2).map(apart);
        let first = distances.next();
        if members.len() != codes.len() || distances.all(|d| Some(d) == first) {
            continue;
        }
        let inner = TreePlaces {
            order: (0..codes.len() as u32).collect(),
            codes,
            distance_of: tree.distance_of,
            shifts: tree.shifts.clone(),
        };
        let graph: Csr = prepared.graph.subgraph(members, &mut local);
        let rng: Rng = prepared.rng.fork(0x1d5 + k as u64);
        let answer = multisect(&graph, &inner, bisector, &rng);
        for (&v, &at) in members.iter().zip(&answer) {
            place_of[v as usize] = group.places[at as usize];
        }
    }
}
