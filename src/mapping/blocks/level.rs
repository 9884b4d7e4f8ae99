//! Blocks of tasks on blocks of slots, all of the same size: one level of the search.
//!
//! The blocks of either kind form a grid, and are numbered row by row. The distance of two blocks of slots is that of
//! their first slots.

use super::divisions::Division;
use crate::mapping::engine::{Axes, Distance};
use crate::mapping::refinement::ListNear;
use crate::topology::Grid;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Two grids of blocks.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// Blocks of tasks along each dimension of the tasks.
    pub(super) tasks: Vec<usize>,
    /// Blocks of slots along each dimension of the machine.
    pub(super) slots: Vec<usize>,
    /// Slots of one block along each dimension of the machine.
    units: Vec<usize>,
}

impl Level {
    /// Single tasks and slots.
    pub(super) fn finest(tasks: &[usize], machine: &Grid) -> Level {
        let slots = machine.dims().to_vec();
        Level { tasks: tasks.to_vec(), units: vec![1; slots.len()], slots }
    }

    /// The level whose blocks a division cuts into those of this one.
    pub(super) fn coarser(&self, division: Division) -> Level {
        let mut level = self.clone();
        level.tasks[division.tasks] /= division.factor;
        level.slots[division.slots] /= division.factor;
        level.units[division.slots] *= division.factor;
        level
    }

    /// Blocks of tasks, of which there are as many as blocks of slots.
    pub(super) fn blocks(&self) -> usize {
        self.tasks.iter().product()
    }

    /// The first slot of a block of slots.
    pub(super) fn point(&self, block: usize) -> Vec<u32> {
        let coordinates = coordinates(block, &self.slots);
        coordinates.iter().zip(&self.units).map(|(&x, &unit)| (x * unit) as u32).collect()
    }

    /// Dimensions of the machine along which there is more than one block.
    pub(super) fn dimensions(&self) -> usize {
        self.slots.iter().filter(|&&length| length > 1).count()
    }
}

/// The number of part `part` of block `block` after every block of a grid was cut by `factor` along `dimension`;
/// `dims` are the blocks before.
pub(super) fn part(
    dims: &[usize],
    dimension: usize,
    factor: usize,
    block: usize,
    part: usize,
) -> usize {
    let below: usize = dims[dimension + 1..].iter().product();
    block / below * factor * below + part * below + block % below
}

/// The inverse of [`part`]: the block that a part belongs to. `dims` are the blocks after the division.
pub(super) fn whole(dims: &[usize], dimension: usize, factor: usize, part: usize) -> usize {
    let below: usize = dims[dimension + 1..].iter().product();
    part / (factor * below) * below + part % below
}

/// Distances between blocks of slots. `D` is the number of dimensions that there is room for.
pub(super) struct BlockDistance<const D: usize> {
    points: Vec<[i32; D]>,
    /// Length of every ring. For a dimension without a ring it is so large that it has no effect.
    lengths: [i32; D],
    axes: Option<Axes>,
}

impl<const D: usize> BlockDistance<D> {
    /// `None` if the level has more than `D` dimensions.
    pub(super) fn new(level: &Level, machine: &Grid) -> Option<Self> {
        let used: Vec<usize> = (0..level.slots.len()).filter(|&j| level.slots[j] > 1).collect();
        let mut lengths = [i32::MAX / 2; D];
        for (k, &j) in used.iter().enumerate() {
            let length = lengths.get_mut(k)?;
            if machine.wrap()[j] {
                *length = i32::try_from(machine.dims()[j]).ok()?;
            }
        }
        let point = |block: usize| {
            let coordinates = coordinates(block, &level.slots);
            let mut point = [0; D];
            for (x, &j) in point.iter_mut().zip(&used) {
                *x = (coordinates[j] * level.units[j]) as i32;
            }
            point
        };
        let lengths_of_axes: Vec<usize> = used.iter().map(|&j| level.slots[j]).collect();
        let along = |k: usize, a: u32, b: u32| {
            let (j, unit) = (used[k], level.units[used[k]] as u32);
            machine.along(j, a * unit, b * unit)
        };
        let blocks = (0..level.blocks()).map(|block| {
            let coordinates = coordinates(block, &level.slots);
            used.iter().map(|&j| coordinates[j] as u32).collect::<Vec<u32>>()
        });
        let axes = Axes::new(&lengths_of_axes, along, blocks);
        Some(BlockDistance { points: (0..level.blocks()).map(point).collect(), lengths, axes })
    }
}

impl<const D: usize> Distance for BlockDistance<D> {
    #[inline(always)]
    fn between(&self, a: u32, b: u32) -> i64 {
        let (p, q) = (&self.points[a as usize], &self.points[b as usize]);
        let mut sum = 0;
        for k in 0..D {
            let direct = (p[k] - q[k]).abs();
            sum += direct.min(self.lengths[k] - direct);
        }
        i64::from(sum)
    }

    fn axes(&self) -> Option<&Axes> {
        self.axes.as_ref()
    }
}

/// The coordinates of a block that has number `block` in a grid with these lengths.
fn coordinates(mut block: usize, dims: &[usize]) -> Vec<usize> {
    let mut answer = vec![0; dims.len()];
    for (x, &length) in answer.iter_mut().zip(dims).rev() {
        *x = block % length;
        block /= length;
    }
    answer
}

/// The blocks of slots that are nearest to each one, with this one itself.
pub(super) fn nearest(level: &Level, machine: &Grid, width: usize) -> ListNear {
    let width = width.min(level.blocks()).max(1);
    // On meshes, blocks at the border need blocks that are farther away.
    let steps = steps(level, machine, 8 * width);
    let mut list = Vec::with_capacity(level.blocks() * width);
    for block in 0..level.blocks() {
        let from = coordinates(block, &level.slots);
        let start = list.len();
        for step in &steps {
            if list.len() == start + width {
                break;
            }
            let number = (0..from.len()).try_fold(0, |number, j| {
                let length = level.slots[j] as isize;
                let mut x = from[j] as isize + step[j];
                if machine.wrap()[j] {
                    x = x.rem_euclid(length);
                }
                (0..length).contains(&x).then(|| number * length as usize + x as usize)
            });
            list.extend(number.map(|number| number as u32));
        }
        let found = list.len() - start;
        (found..width).for_each(|k| list.push(list[start + k % found]));
    }
    ListNear::of(list, width)
}

/// The steps to the nearest blocks, in the order of their distances, and at most `most` of them.
fn steps(level: &Level, machine: &Grid, most: usize) -> Vec<Vec<isize>> {
    let dimensions = level.slots.len();
    let mut queue = BinaryHeap::from([Reverse((0, vec![0isize; dimensions]))]);
    let mut seen = BTreeSet::from([vec![0isize; dimensions]]);
    let mut answer = Vec::new();
    while let Some(Reverse((distance, step))) = queue.pop() {
        for j in 0..dimensions {
            let length = level.slots[j] as isize;
            // Half of a ring of even length is reached in one direction only.
            let (low, high) = match machine.wrap()[j] {
                true => (-((length - 1) / 2), length / 2),
                false => (1 - length, length - 1),
            };
            for direction in [-1, 1] {
                let mut next = step.clone();
                next[j] += direction;
                let farther = next[j].abs() > step[j].abs();
                if farther && (low..=high).contains(&next[j]) && seen.insert(next.clone()) {
                    queue.push(Reverse((distance + level.units[j], next)));
                }
            }
        }
        answer.push(step);
        if answer.len() == most {
            break;
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::refinement::Near;
    use crate::topology::Topology;

    #[test]
    fn distances_are_those_of_the_first_slots() {
        let machine = Grid::new(&[12, 4, 3], &[true, false, true]).unwrap();
        let fine = Level::finest(&[144], &machine);
        let level = fine.coarser(Division { factor: 3, tasks: 0, slots: 0 });
        let level = level.coarser(Division { factor: 2, tasks: 0, slots: 1 });
        assert_eq!((level.blocks(), level.dimensions()), (24, 3));
        let distance = BlockDistance::<4>::new(&level, &machine).unwrap();
        assert!(BlockDistance::<2>::new(&level, &machine).is_none());
        let slot = |block: u32| {
            let x = coordinates(block as usize, &level.slots);
            machine.slot_at(&[3 * x[0] as u32, 2 * x[1] as u32, x[2] as u32]).unwrap()
        };
        for a in 0..24 {
            for b in 0..24 {
                assert_eq!(distance.between(a, b), machine.distance(slot(a), slot(b)) as i64);
            }
        }
    }

    #[test]
    fn nearest_blocks_are_the_nearest() {
        for wrap in [true, false] {
            let machine = Grid::new(&[12, 9], &[wrap, wrap]).unwrap();
            let level = Level::finest(&[108], &machine);
            let level = level.coarser(Division { factor: 2, tasks: 0, slots: 0 });
            let distance = BlockDistance::<2>::new(&level, &machine).unwrap();
            let near = nearest(&level, &machine, 8);
            for p in 0..level.blocks() as u32 {
                let mut all: Vec<i64> = (0..54).map(|q| distance.between(p, q)).collect();
                all.sort_unstable();
                let mut found: Vec<u32> = near.nearest(p).to_vec();
                let far: Vec<i64> = found.iter().map(|&q| distance.between(p, q)).collect();
                assert_eq!(far, all[..8], "{p}");
                found.sort_unstable();
                found.dedup();
                assert_eq!(found.len(), 8);
            }
        }
    }

    #[test]
    fn parts_are_numbered_row_by_row() {
        // A grid of 2×3 blocks, cut by 2 along its second dimension.
        assert_eq!(part(&[2, 3], 1, 2, 4, 0), 8);
        assert_eq!(part(&[2, 3], 1, 2, 4, 1), 9);
        // Cut by 2 along its first dimension: row 1 becomes rows 2 and 3.
        assert_eq!(part(&[2, 3], 0, 2, 4, 0), 7);
        assert_eq!(part(&[2, 3], 0, 2, 4, 1), 10);
        for block in 0..6 {
            for k in 0..2 {
                assert_eq!(whole(&[2, 6], 1, 2, part(&[2, 3], 1, 2, block, k)), block);
                assert_eq!(whole(&[4, 3], 0, 2, part(&[2, 3], 0, 2, block, k)), block);
            }
        }
    }
}
