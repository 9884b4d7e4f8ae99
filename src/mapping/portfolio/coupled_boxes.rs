//! Turns grids inside their boxes so that what they exchange with each other travels less far.
//!
//! A grid in a box may be mirrored, shifted along a ring that it fills, or turned where two extents are equal, and two grids with
//! boxes of the same extents may change places. None of this changes the distances inside a grid. Changes that make the exchange
//! between the grids cheaper are kept, until there are none.
//!
//! Limits: one change at a time, [`ROUNDS`] rounds over all grids, and no shifts along rings of more than [`LONGEST`] slots.

use super::box_cuts::Cuboid;
use super::grid_on_grid::FullBox;
use crate::mapping::Budget;
use crate::mapping::engine::Csr;
use crate::mapping::geometric::Part;
use crate::topology::Topology;

/// Rounds over all grids.
const ROUNDS: usize = 3;

/// The longest ring along which a grid is shifted, in slots.
const LONGEST: usize = 64;

/// A change that keeps all distances inside a box.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Mirror(usize),
    Shift(usize, usize),
    Exchange(usize, usize),
}

/// Grids in boxes of a machine, and what they exchange.
struct Seats<'a> {
    full: &'a FullBox,
    /// By part: the box that it is in.
    boxes: Vec<Cuboid>,
    parts: &'a [Part],
    /// By part: its edges to other parts, as vertex, other vertex and weight.
    crossing: Vec<Vec<(u32, u32, i64)>>,
    /// By vertex: its part.
    part_of: Vec<u32>,
    /// By vertex: its slot.
    slot_of: Vec<u32>,
}

/// Turns the parts in their boxes so that the edges between them cost less. `place_of` has the place of every vertex.
pub(super) fn turn(
    graph: &Csr,
    (parts, boxes): (&[Part], &[Cuboid]),
    full: &FullBox,
    place_of: &mut [u32],
    budget: &Budget,
) {
    let mut part_of = vec![0u32; graph.len()];
    for (k, part) in parts.iter().enumerate() {
        part.vertices.iter().for_each(|&v| part_of[v as usize] = k as u32);
    }
    let crossing: Vec<_> = parts
        .iter()
        .map(|part| {
            let of = |&v: &u32| {
                let own = part_of[v as usize];
                let others = graph.arcs(v as usize).filter(|&(t, _)| part_of[t] != own);
                others.map(|(t, w)| (v, t as u32, w)).collect::<Vec<_>>()
            };
            part.vertices.iter().flat_map(of).collect()
        })
        .collect();
    let slot_of = place_of.iter().map(|&place| full.slot_of[place as usize]).collect();
    let mut seats = Seats { full, boxes: boxes.to_vec(), parts, crossing, part_of, slot_of };
    for _ in 0..ROUNDS {
        let mut changed = false;
        for k in 0..parts.len() {
            changed |= seats.turn_part(k, budget);
        }
        for a in 0..parts.len() {
            if budget.expired() {
                break;
            }
            for b in a + 1..parts.len() {
                changed |= seats.boxes[a].dims == seats.boxes[b].dims && seats.exchange(a, b);
            }
        }
        if !changed || budget.expired() {
            break;
        }
    }
    for (place, &slot) in place_of.iter_mut().zip(&seats.slot_of) {
        *place = full.place_at[slot as usize];
    }
}

impl Seats<'_> {
    /// Keeps all turns of a part that make its exchange with the others cheaper. True if there was one.
    fn turn_part(&mut self, k: usize, budget: &Budget) -> bool {
        let mut changed = false;
        for turn in self.turns(k) {
            if budget.expired() {
                break;
            }
            let slots = self.turned(k, turn);
            changed |= self.keep_if_better(&[(k, slots)]);
        }
        changed
    }

    /// The turns of a part in its box.
    fn turns(&self, k: usize) -> Vec<Turn> {
        let dims = &self.boxes[k].dims;
        let is_ring = |i: usize| self.full.grid.wrap()[i] && dims[i] == self.full.grid.dims()[i];
        let mut turns = Vec::new();
        for (i, &length) in dims.iter().enumerate().filter(|&(_, &length)| length > 1) {
            turns.push(Turn::Mirror(i));
            if is_ring(i) && length <= LONGEST {
                turns.extend((1..length).map(|by| Turn::Shift(i, by)));
            }
            // In rings of other lengths, the way around may be the shorter one in one dimension only.
            let (sides, rings) = (self.full.grid.dims(), self.full.grid.wrap());
            let alike =
                |j: &usize| dims[*j] == length && (sides[*j], rings[*j]) == (sides[i], rings[i]);
            turns.extend((i + 1..dims.len()).filter(alike).map(|j| Turn::Exchange(i, j)));
        }
        turns
    }

    /// The slots of the vertices of a part after a turn.
    fn turned(&self, k: usize, turn: Turn) -> Vec<u32> {
        let Cuboid { start, dims } = &self.boxes[k];
        self.moved(k, |point| match turn {
            Turn::Mirror(i) => point[i] = (2 * start[i] + dims[i] - 1) as u32 - point[i],
            Turn::Shift(i, by) => {
                let inside = point[i] as usize - start[i] + by;
                point[i] = (start[i] + inside % dims[i]) as u32;
            }
            Turn::Exchange(i, j) => {
                let (x, y) = (point[i] as usize - start[i], point[j] as usize - start[j]);
                (point[i], point[j]) = ((start[i] + y) as u32, (start[j] + x) as u32);
            }
        })
    }

    /// The slots of the vertices of a part after a change of their coordinates.
    fn moved(&self, k: usize, change: impl Fn(&mut [u32])) -> Vec<u32> {
        let grid = &self.full.grid;
        let slot = |&v: &u32| {
            let slot = self.slot_of[v as usize];
            let mut point = grid.coordinates(slot as usize).to_vec();
            change(&mut point);
            grid.slot_at(&point).map_or(slot, |slot| slot as u32)
        };
        self.parts[k].vertices.iter().map(slot).collect()
    }

    /// Lets two parts with boxes of the same extents change places, if that makes their exchange with all others cheaper.
    fn exchange(&mut self, a: usize, b: usize) -> bool {
        let to_box_of = |from: usize, to: usize| {
            let (old, new) = (&self.boxes[from].start, &self.boxes[to].start);
            self.moved(from, |point| {
                for (x, (old, new)) in point.iter_mut().zip(old.iter().zip(new)) {
                    *x = (*x as usize - old + new) as u32;
                }
            })
        };
        let changed = [(a, to_box_of(a, b)), (b, to_box_of(b, a))];
        let is_better = self.keep_if_better(&changed);
        if is_better {
            self.boxes.swap(a, b);
        }
        is_better
    }

    /// Gives the vertices of parts other slots, unless the exchange between all parts becomes dearer or stays as it is.
    fn keep_if_better(&mut self, changed: &[(usize, Vec<u32>)]) -> bool {
        let parts: Vec<usize> = changed.iter().map(|(k, _)| *k).collect();
        let before = self.cost(&parts);
        let old = self.set(changed);
        if self.cost(&parts) < before {
            return true;
        }
        self.set(&old);
        false
    }

    /// Sets the slots of parts, and returns the old ones.
    fn set(&mut self, changed: &[(usize, Vec<u32>)]) -> Vec<(usize, Vec<u32>)> {
        let mut old = Vec::new();
        for (k, slots) in changed {
            let vertices = self.parts[*k].vertices.iter();
            let replaced = vertices
                .zip(slots)
                .map(|(&v, &slot)| std::mem::replace(&mut self.slot_of[v as usize], slot));
            old.push((*k, replaced.collect()));
        }
        old
    }

    /// The cost of what parts exchange with each other and with all others.
    fn cost(&self, parts: &[usize]) -> i128 {
        let far = |&(v, t, w): &(u32, u32, i64)| {
            let (a, b) = (self.slot_of[v as usize], self.slot_of[t as usize]);
            i128::from(w) * i128::from(self.full.grid.distance(a as usize, b as usize))
        };
        let of = |(k, &part): (usize, &usize)| {
            let counted = |t: u32| parts[..k].contains(&(self.part_of[t as usize] as usize));
            let edges = self.crossing[part].iter().filter(|&&(_, t, _)| !counted(t));
            edges.map(far).sum::<i128>()
        };
        parts.iter().enumerate().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::permutation::is_injective;
    use crate::mapping::Problem;
    use crate::mapping::geometric::several_grids;
    use crate::mapping::portfolio::{box_cuts, generators::alone, several_grids::Several};
    use crate::mapping::{Preset, engine::Prepared};
    use crate::matrix::synthetic::pattern;
    use crate::topology::parse;

    /// Each task of one grid exchanges data with one of the other. Mirrored by hand, a grid is turned back.
    #[test]
    fn coupled_grids_face_each_other() {
        let text = "stencil:6x4,along=50:50+stencil:4x6,along=50:50,couple=1,shuffle=5";
        let (topology, graph) = (parse("mesh:6x8").unwrap(), pattern(text).unwrap());
        let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
        let (prepared, budget) = (Prepared::new(&problem), Budget::unlimited());
        let parts = several_grids(&prepared.graph).unwrap();
        let full = FullBox::of(&problem).unwrap();
        let boxes = box_cuts::boxes(&full.grid, &parts, &budget).unwrap();
        let several = Several::new(&prepared, parts.clone(), &budget);
        let mut place_of = several.place(&prepared, Preset::Fast, &budget, alone).unwrap();
        let cost = |place_of: &[u32]| prepared.cost(place_of);
        let turned = cost(&place_of);
        for &v in &parts[0].vertices {
            let place = place_of[v as usize] as usize;
            let Cuboid { start, dims } = &boxes[0];
            let (row, column) = (place / 8, place % 8);
            let row = 2 * start[0] + dims[0] - 1 - row;
            place_of[v as usize] = (row * 8 + column) as u32;
        }
        assert!(cost(&place_of) > turned);
        turn(&prepared.graph, (&parts, &boxes), &full, &mut place_of, &budget);
        assert_eq!(cost(&place_of), turned);
    }

    /// After two parts had changed places, they were still turned in their old boxes, and tasks shared a slot.
    #[test]
    fn equal_boxes_change_places_and_are_turned_there() {
        for seed in 1..20 {
            let grids = ["stencil:4x4,along=50:50"; 6].join("+");
            let text = format!("{grids},couple=1,shuffle={seed}");
            let (topology, graph) = (parse("mesh:8x12").unwrap(), pattern(&text).unwrap());
            let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
            let (prepared, budget) = (Prepared::new(&problem), Budget::unlimited());
            let parts = several_grids(&prepared.graph).unwrap();
            let several = Several::new(&prepared, parts, &budget);
            let placed = several.place(&prepared, Preset::Fast, &budget, alone).unwrap();
            assert!(is_injective(&placed, 96), "{seed}");
        }
    }
}
