//! From the parts of a grid to places: parts go to nodes by the network between the nodes, and tasks go to
//! places by the network inside a node.

use super::node_groups::NodeGroup;
use super::points::Points;
use crate::mapping::Budget;
use crate::mapping::coarsening::Contractor;
use crate::mapping::engine::{Pool, Prepared, TreePlaces, places_on_tree};
use crate::mapping::multisection::{BisectEffort, Bisector, multisect};

/// The place of every vertex: part by part on the groups, point by point on their places, both in the
/// given order. Tasks that are no points go to the places `over`.
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

/// Improves [`plain`]. First, parts are assigned to nodes if the distances between nodes differ. Then the tasks
/// inside every node are placed. Finally, whole groups are exchanged to bring fixed tasks to their places.
pub(super) fn refined(
    prepared: &Prepared<'_, '_>,
    mut place_of: Vec<u32>,
    groups: &[NodeGroup],
    budget: &Budget,
) -> Vec<u32> {
    let Some(tree) = &prepared.tree else { return place_of };
    let places = prepared.problem.places().len();
    let (index_of, mut group_of) = (tree.index_of(places), vec![groups.len() as u32; places]);
    for (k, group) in groups.iter().enumerate() {
        group.places.iter().for_each(|&p| group_of[p as usize] = k as u32);
    }
    let machine = Machine { prepared, tree, groups, index_of, group_of };
    let mut bisector = Bisector::new(BisectEffort::new(1, 4, 4, 0), budget);
    let exchanged = machine.between(&place_of, &mut bisector);
    place_of =
        exchanged.filter(|e| prepared.cost(e) < prepared.cost(&place_of)).unwrap_or(place_of);
    let inner = machine.inside(&place_of, &mut bisector);
    if prepared.cost(&inner) <= prepared.cost(&place_of) {
        place_of = inner;
    }
    let sorted = place_of.iter().map(|&p| machine.index_of[p as usize]).collect();
    places_on_tree(prepared, tree, sorted)
}

/// The groups of a machine that is a tree.
struct Machine<'a, 'p, 'q> {
    prepared: &'a Prepared<'p, 'q>,
    tree: &'a TreePlaces,
    groups: &'a [NodeGroup],
    /// The index of every place in the sorted order of the tree.
    index_of: Vec<u32>,
    /// The group of every place; the number of groups for a place in none.
    group_of: Vec<u32>,
}

impl Machine<'_, '_, '_> {
    /// The path code of a place.
    fn code(&self, place: u32) -> u64 {
        self.tree.codes[self.index_of[place as usize] as usize]
    }

    /// Assigns the parts to groups by the network between the groups. `None` if all groups are equally far
    /// apart, or if they differ in size.
    fn between(&self, place_of: &[u32], bisector: &mut Bisector) -> Option<Vec<u32>> {
        let Machine { prepared, tree, groups, group_of, .. } = self;
        let size = groups.first()?.places.len();
        let flat = groups[1..].windows(2).all(|w| w[0].parts == w[1].parts);
        let covered = groups.len() * size == place_of.len();
        if flat || !covered || groups.iter().any(|group| group.places.len() != size) {
            return None;
        }
        let part_of: Vec<u32> = place_of.iter().map(|&p| group_of[p as usize]).collect();
        let (mut contractor, mut pool) = (Contractor::default(), Pool::default());
        let mut graph = contractor.contract(&prepared.graph, &part_of, groups.len(), &mut pool, 1);
        graph.sizes.fill(1);
        let codes = groups.iter().map(|group| self.code(group.places[0])).collect();
        let rng = prepared.rng.fork(0x90d1);
        let group_of_part = multisect(&graph, &tree.with_codes(codes), bisector, &rng);
        let mut within = vec![0u32; group_of.len()];
        for group in *groups {
            group.places.iter().zip(0..).for_each(|(&p, k)| within[p as usize] = k);
        }
        let moved = place_of.iter().zip(&part_of).map(|(&place, &part)| {
            let group = &groups[group_of_part[part as usize] as usize];
            group.places[within[place as usize] as usize]
        });
        Some(moved.collect())
    }

    /// Places the tasks of every group again on its places, if these are not all equally far apart.
    fn inside(&self, place_of: &[u32], bisector: &mut Bisector) -> Vec<u32> {
        let Machine { prepared, tree, groups, group_of, .. } = self;
        let mut answer = place_of.to_vec();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); groups.len() + 1];
        for (v, &place) in place_of.iter().enumerate() {
            members[group_of[place as usize] as usize].push(v as u32);
        }
        let mut local = vec![u32::MAX; prepared.graph.len()];
        for (k, (group, members)) in groups.iter().zip(&members).enumerate() {
            let codes: Vec<u64> = group.places.iter().map(|&place| self.code(place)).collect();
            let apart = |w: &[u64]| tree.distance_of[(w[0] ^ w[1]).leading_zeros() as usize];
            let mut distances = codes.windows(2).map(apart);
            let first = distances.next();
            if members.len() != codes.len() || distances.all(|d| Some(d) == first) {
                continue;
            }
            let graph = prepared.graph.subgraph(members, &mut local);
            let rng = prepared.rng.fork(0x1d5 + k as u64);
            let indices = multisect(&graph, &tree.with_codes(codes), bisector, &rng);
            for (&v, &at) in members.iter().zip(&indices) {
                answer[v as usize] = group.places[at as usize];
            }
        }
        answer
    }
}
