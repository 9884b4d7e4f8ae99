//! From the parts of a grid to places: parts to nodes by the network above them, tasks to places by
//! what is inside a node.

use super::points::Points;
use super::rooms::Room;
use crate::mapping::Budget;
use crate::mapping::coarsening::Contractor;
use crate::mapping::multisection::{BisectEffort, Bisector, multisect};
use crate::mapping::portfolio::{Prepared, align_tree};
use crate::mapping::work::{Csr, Pool, Rng, TreePlaces};

/// The place of every vertex with the parts in the given order, points in rooms in the given order,
/// and what is no point on the places left over.
pub(super) fn plain(
    prepared: &Prepared<'_, '_>,
    points: &Points,
    parts: &[Vec<u32>],
    rooms: &[Room],
    over: &[u32],
) -> Vec<u32> {
    let mut place_of = vec![u32::MAX; prepared.graph.len()];
    for (part, room) in parts.iter().zip(rooms) {
        for (&point, &place) in part.iter().zip(&room.places) {
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
    rooms: &[Room],
    budget: &Budget,
) -> Vec<u32> {
    let Some(tree) = &prepared.tree else { return place_of };
    let effort = BisectEffort::new(1, 4, 4, 0);
    let mut bisector = Bisector::new(effort, budget);
    let mut index_of = vec![0u32; prepared.problem.places().len()];
    for (k, &place) in tree.order.iter().enumerate() {
        index_of[place as usize] = k as u32;
    }
    let swapped = between(prepared, tree, &place_of, rooms, &index_of, &mut bisector);
    if let Some(swapped) = swapped
        && prepared.cost(&swapped) < prepared.cost(&place_of)
    {
        place_of = swapped;
    }
    let before = place_of.clone();
    inside(prepared, tree, &mut place_of, rooms, &index_of, &mut bisector);
    if prepared.cost(&place_of) > prepared.cost(&before) {
        place_of = before;
    }
    let mut sorted: Vec<u32> = place_of.iter().map(|&p| index_of[p as usize]).collect();
    align_tree(prepared, tree, &mut sorted);
    sorted.into_iter().map(|k| tree.order[k as usize]).collect()
}

/// The room of every place; `rooms` for none.
fn room_of(prepared: &Prepared<'_, '_>, rooms: &[Room]) -> Vec<u32> {
    let mut room_of = vec![rooms.len() as u32; prepared.problem.places().len()];
    for (k, room) in rooms.iter().enumerate() {
        room.places.iter().for_each(|&p| room_of[p as usize] = k as u32);
    }
    room_of
}

/// The parts on other rooms, by the network between these; `None` where it does not tell them apart
/// or where they differ in size.
fn between(
    prepared: &Prepared<'_, '_>,
    tree: &TreePlaces,
    place_of: &[u32],
    rooms: &[Room],
    index_of: &[u32],
    bisector: &mut Bisector,
) -> Option<Vec<u32>> {
    let size = rooms.first()?.places.len();
    let flat = rooms[1..].windows(2).all(|w| w[0].parts == w[1].parts);
    let covered = rooms.len() * size == place_of.len();
    if flat || !covered || rooms.iter().any(|room| room.places.len() != size) {
        return None;
    }
    let room_of = room_of(prepared, rooms);
    let part_of: Vec<u32> = place_of.iter().map(|&p| room_of[p as usize]).collect();
    let mut graph = Contractor::default().contract(
        &prepared.graph,
        &part_of,
        rooms.len(),
        &mut Pool::default(),
    );
    graph.sizes.fill(1);
    let first = |room: &Room| index_of[room.places[0] as usize] as usize;
    let nodes = TreePlaces {
        order: (0..rooms.len() as u32).collect(),
        codes: rooms.iter().map(|room| tree.codes[first(room)]).collect(),
        distance_of: tree.distance_of,
        shifts: tree.shifts.clone(),
    };
    let room_of_part = multisect(&graph, &nodes, bisector, &prepared.rng.fork(0x90d1));
    let mut within = vec![0u32; prepared.problem.places().len()];
    for room in rooms {
        room.places.iter().enumerate().for_each(|(k, &p)| within[p as usize] = k as u32);
    }
    let moved = place_of.iter().zip(&part_of).map(|(&place, &part)| {
        let room = &rooms[room_of_part[part as usize] as usize];
        room.places[within[place as usize] as usize]
    });
    Some(moved.collect())
}

/// Places the tasks of every room anew on its places, where these are not all equally far apart.
fn inside(
    prepared: &Prepared<'_, '_>,
    tree: &TreePlaces,
    place_of: &mut [u32],
    rooms: &[Room],
    index_of: &[u32],
    bisector: &mut Bisector,
) {
    let room_of = room_of(prepared, rooms);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); rooms.len() + 1];
    for (v, &place) in place_of.iter().enumerate() {
        members[room_of[place as usize] as usize].push(v as u32);
    }
    let mut local = vec![u32::MAX; prepared.graph.len()];
    for (k, (room, members)) in rooms.iter().zip(&members).enumerate() {
        let codes: Vec<u64> =
            room.places.iter().map(|&p| tree.codes[index_of[p as usize] as usize]).collect();
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
            place_of[v as usize] = room.places[at as usize];
        }
    }
}
