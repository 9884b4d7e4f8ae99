//! One node: which of its tasks is on which of its places, what its rails take, and what an exchange changes.

use crate::matrix::Graph;
use crate::topology::{Rails, Topology, Tree};
use std::sync::Arc;

/// What all nodes share.
pub(super) struct Setting<'a> {
    /// The traffic in both directions.
    pub graph: &'a Graph,
    /// The machine.
    pub topology: &'a dyn Topology,
    /// Its rails.
    pub rails: &'a Rails,
    /// For each rail the number of rails in use on its node.
    pub rails_of_node: Vec<usize>,
}

/// Nodes of at most this many places have a table of their distances, of 1 MB at most.
const TABLE: usize = 512;

/// Rails are even if the busiest one has at most this part more than its share. More exchanges take time, and gain less
/// than a recorded matrix is exact.
const EVEN: u128 = 128;

/// Marks a place of which no rail is known.
const NO_RAIL: usize = usize::MAX;

/// The state of one node. Tasks and places of the node are numbered from 0.
#[derive(Clone)]
pub(super) struct RailNode<'a> {
    tree: Option<&'a Tree>,
    topology: &'a dyn Topology,
    slots: Vec<usize>,
    /// The distances of the places, row after row; empty for large nodes.
    table: Arc<[u32]>,
    /// Rail of each place, numbered from 0 in the node.
    rail_of_place: Vec<usize>,
    /// The task of each place, and the place of each task.
    at: Vec<u32>,
    place_of: Vec<u32>,
    /// Places whose tasks stay.
    fixed: Vec<bool>,
    /// Where the neighbours of each task begin.
    offsets: Vec<u32>,
    neighbours: Vec<(u32, u64)>,
    /// Bytes to and from other nodes: of each task, and of each rail.
    loads: Vec<[u64; 2]>,
    rail_loads: Vec<[u128; 2]>,
    /// What a byte of the busiest rail costs.
    price: i128,
}

impl<'a> RailNode<'a> {
    /// The node of the tasks `members`; `None` if they have no choice of rails, or nothing leaves the node. `index` has
    /// `u32::MAX` for each task, before and after.
    pub fn new(
        setting: &Setting<'a>,
        members: &[u32],
        slot_of_task: &[usize],
        loads: &[[u64; 2]],
        stays: &[bool],
        index: &mut [u32],
    ) -> Option<RailNode<'a>> {
        let slots: Vec<usize> = members.iter().map(|&task| slot_of_task[task as usize]).collect();
        let of_place: Vec<Option<usize>> =
            slots.iter().map(|&slot| setting.rails.of(slot)).collect();
        let mut rails: Vec<usize> = of_place.iter().flatten().copied().collect();
        rails.sort_unstable();
        rails.dedup();
        let loads: Vec<[u64; 2]> = members.iter().map(|&task| loads[task as usize]).collect();
        if rails.len() < 2 || loads.iter().all(|load| *load == [0, 0]) {
            return None;
        }
        let local = |rail: usize| rails.binary_search(&rail).unwrap_or(NO_RAIL);
        let rail_of_place: Vec<usize> =
            of_place.iter().map(|rail| rail.map_or(NO_RAIL, local)).collect();
        let mut rail_loads = vec![[0u128; 2]; rails.len()];
        for (&rail, load) in rail_of_place.iter().zip(&loads).filter(|(rail, _)| **rail != NO_RAIL)
        {
            (0..2).for_each(|way| rail_loads[rail][way] += u128::from(load[way]));
        }
        let (offsets, neighbours) = inside(setting.graph, members, index);
        let used = rails.iter().map(|&rail| setting.rails_of_node[rail]).max().unwrap_or(1);
        let places: Vec<u32> = (0..members.len() as u32).collect();
        let (tree, topology) = (setting.topology.as_tree(), setting.topology);
        let of = |&a: &usize| slots.iter().map(move |&b| distance(tree, topology, a, b));
        let table = match slots.len() <= TABLE {
            true => slots.iter().flat_map(of).collect(),
            false => Arc::from([]),
        };
        Some(RailNode {
            tree,
            topology,
            table,
            slots,
            rail_of_place,
            at: places.clone(),
            place_of: places,
            fixed: members.iter().map(|&task| stays[task as usize]).collect(),
            offsets,
            neighbours,
            loads,
            rail_loads,
            price: i128::from(setting.rails.price()).saturating_mul(used as i128),
        })
    }

    /// Number of tasks and of places.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// Number of rails.
    pub fn rails(&self) -> usize {
        self.rail_loads.len()
    }

    /// The rail of a place whose task may move.
    pub fn movable(&self, place: u32) -> Option<usize> {
        let rail = self.rail_of_place[place as usize];
        (rail != NO_RAIL && !self.fixed[place as usize]).then_some(rail)
    }

    /// Bytes out and in of the task on a place.
    pub fn load_at(&self, place: u32) -> [u128; 2] {
        self.loads[self.at[place as usize] as usize].map(u128::from)
    }

    /// Bytes out and in of a rail.
    pub fn rail_load(&self, rail: usize) -> [u128; 2] {
        self.rail_loads[rail]
    }

    /// The busiest rail, the direction with more bytes, and these bytes.
    pub fn busiest(&self) -> (usize, usize, u128) {
        let mut most = (0, 0, 0);
        for (rail, load) in self.rail_loads.iter().enumerate() {
            for (way, &bytes) in load.iter().enumerate() {
                if bytes > most.2 {
                    most = (rail, way, bytes);
                }
            }
        }
        most
    }

    /// What a change of the bytes of the busiest rail costs.
    pub fn cost_of(&self, before: u128, after: u128) -> i128 {
        (after as i128).saturating_sub(before as i128).saturating_mul(self.price)
    }

    /// Bytes of the busiest rail below which the rails count as even.
    pub fn even(&self) -> u128 {
        let sum = |way: usize| self.rail_loads.iter().map(|load| load[way]).sum::<u128>();
        let even = sum(0).max(sum(1)).div_ceil(self.rails() as u128);
        even + even / EVEN
    }

    /// Distance of two places.
    #[inline]
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        let (a, b) = (a as usize, b as usize);
        match self.table.get(a * self.slots.len() + b) {
            Some(&distance) => distance,
            None => distance(self.tree, self.topology, self.slots[a], self.slots[b]),
        }
    }

    /// The tasks of the node with which a task exchanges bytes.
    pub fn neighbours(&self, task: u32) -> &[(u32, u64)] {
        let task = task as usize;
        &self.neighbours[self.offsets[task] as usize..self.offsets[task + 1] as usize]
    }

    /// The task on a place.
    pub fn at(&self, place: u32) -> u32 {
        self.at[place as usize]
    }

    /// The place of a task.
    pub fn place_of(&self, task: u32) -> u32 {
        self.place_of[task as usize]
    }

    /// By how much the hop-bytes inside the node change if the tasks of two places are exchanged.
    pub fn inside_change(&self, p: u32, q: u32) -> i128 {
        let (a, b) = (self.at(p), self.at(q));
        // Products of 32 and 64 bits: their sums do not overflow.
        let moved = |task: u32, other: u32, from: u32, to: u32| {
            let of = |&(neighbour, weight): &(u32, u64)| {
                let place = self.place_of(neighbour);
                let farther =
                    i64::from(self.distance(to, place)) - i64::from(self.distance(from, place));
                i128::from(farther) * i128::from(weight)
            };
            let others = self.neighbours(task).iter().filter(|(neighbour, _)| *neighbour != other);
            others.map(of).sum::<i128>()
        };
        moved(a, b, p, q) + moved(b, a, q, p)
    }

    /// The bytes of the busiest rail after the tasks of two places are exchanged.
    pub fn busiest_after(&self, p: u32, q: u32) -> u128 {
        let rails = [p, q].map(|place| self.rail_of_place[place as usize]);
        let loads = [p, q].map(|place| self.load_at(place));
        let mut most = 0;
        for (rail, load) in self.rail_loads.iter().enumerate() {
            for way in 0..2 {
                let mut bytes = load[way];
                for side in (0..2).filter(|&side| rails[side] == rail) {
                    bytes = bytes + loads[1 - side][way] - loads[side][way];
                }
                most = most.max(bytes);
            }
        }
        most
    }

    /// Exchanges the tasks of two places. Returns by how much the hop-bytes inside the node change.
    pub fn exchange(&mut self, p: u32, q: u32) -> i128 {
        let change = self.inside_change(p, q);
        let loads = [p, q].map(|place| self.load_at(place));
        for (side, place) in [p, q].into_iter().enumerate() {
            let rail = self.rail_of_place[place as usize];
            if let Some(sums) = self.rail_loads.get_mut(rail) {
                for (way, sum) in sums.iter_mut().enumerate() {
                    *sum = *sum + loads[1 - side][way] - loads[side][way];
                }
            }
        }
        self.at.swap(p as usize, q as usize);
        for place in [p, q] {
            let task = self.at(place);
            self.place_of[task as usize] = place;
        }
        change
    }

    /// Whether all tasks are on the same places as in another state of the same node.
    pub fn is_like(&self, other: &RailNode) -> bool {
        self.at == other.at
    }

    /// The slots of the tasks.
    pub fn slots_of_tasks(&self) -> Vec<usize> {
        self.place_of.iter().map(|&place| self.slots[place as usize]).collect()
    }
}

/// Distance of two slots of a node.
fn distance(tree: Option<&Tree>, topology: &dyn Topology, a: usize, b: usize) -> u32 {
    let distance = match tree {
        Some(tree) => tree.distance(a, b),
        None => topology.distance(a, b),
    };
    u32::try_from(distance).unwrap_or(u32::MAX)
}

/// The edges between the tasks of a node, task by task.
fn inside(graph: &Graph, members: &[u32], index: &mut [u32]) -> (Vec<u32>, Vec<(u32, u64)>) {
    (0u32..).zip(members).for_each(|(k, &task)| index[task as usize] = k);
    let mut offsets = vec![0];
    let mut neighbours = Vec::new();
    for &task in members {
        let arcs = graph.arcs(task as usize).map(|(other, bytes)| (index[other as usize], bytes));
        neighbours.extend(arcs.filter(|&(other, _)| other != u32::MAX));
        offsets.push(neighbours.len() as u32);
    }
    members.iter().for_each(|&task| index[task as usize] = u32::MAX);
    (offsets, neighbours)
}
