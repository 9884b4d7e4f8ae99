//! Divides the places among parts of the tasks that exchange little, so that the places of each part lie close together.
//!
//! On a tree, a part goes to the smallest group that has room for it. On other machines without boxes that fit
//! ([`super::box_cuts`]), the places are halved along the dimension in which they extend farthest, as recursive coordinate
//! bisection does it (Berger and Bokhari 1987), or taken in ascending order where there are no dimensions.

use crate::base::sorting::Arrange;
use crate::mapping::engine::TreePlaces;
use crate::topology::Grid;
use std::ops::Range;

/// The places of each part on a tree, from the number of tasks of each, the largest first. There are as many places as tasks.
pub(super) fn on_tree(tree: &TreePlaces, sizes: &[usize]) -> Vec<Vec<u32>> {
    let mut rooms = Rooms { tree, taken: vec![false; tree.order.len()] };
    let all = 0..tree.order.len();
    sizes.iter().map(|&size| rooms.taken_by(size, all.clone())).collect()
}

/// The places of a tree, some of which are taken.
struct Rooms<'a> {
    tree: &'a TreePlaces,
    /// By index in the sorted places.
    taken: Vec<bool>,
}

impl Rooms<'_> {
    /// Takes `size` of the free places in a range, which is a group of the tree.
    fn taken_by(&mut self, size: usize, all: Range<usize>) -> Vec<u32> {
        let (mut found, mut group, mut left) = (Vec::with_capacity(size), all, size);
        // From each group, whole groups inside it are taken until the rest fits one of them.
        for level in 0..self.tree.shifts.len() {
            let mut inside: Vec<(usize, Range<usize>)> =
                self.groups(group.clone(), level).map(|g| (self.free(g.clone()), g)).collect();
            inside.arrange_by_key(|(free, _)| *free);
            while let Some((free, _)) = inside.last().filter(|(free, _)| *free < left) {
                left -= free;
                if let Some((_, full)) = inside.pop() {
                    self.take(usize::MAX, full, &mut found);
                }
            }
            let Some((_, smallest)) = inside.into_iter().find(|(free, _)| *free >= left) else {
                return found;
            };
            group = smallest;
        }
        self.take(left, group, &mut found);
        found
    }

    /// The groups at a level inside a group.
    fn groups(&self, group: Range<usize>, level: usize) -> impl Iterator<Item = Range<usize>> {
        let shift = self.tree.shifts[level];
        let codes = &self.tree.codes;
        let mut next = group.start;
        std::iter::from_fn(move || {
            let begin = next;
            let code = codes[..group.end].get(begin)? >> shift;
            next = begin + codes[begin..group.end].partition_point(|&c| c >> shift == code);
            Some(begin..next)
        })
    }

    fn free(&self, group: Range<usize>) -> usize {
        self.taken[group].iter().filter(|&&taken| !taken).count()
    }

    /// Takes free places of a group, at most `most`.
    fn take(&mut self, most: usize, group: Range<usize>, found: &mut Vec<u32>) {
        let free = group.filter(|&k| !self.taken[k]).take(most).collect::<Vec<usize>>();
        for k in free {
            self.taken[k] = true;
            found.push(self.tree.order[k]);
        }
    }
}

/// The places of each part on a grid, from the number of tasks of each. `points` has the point of every place. There are as many
/// `places` as tasks.
pub(super) fn halved(
    grid: &Grid,
    points: &[u32],
    places: Vec<u32>,
    sizes: &[usize],
) -> Vec<Vec<u32>> {
    let all: usize = sizes.iter().sum();
    // The first parts that make up half of the tasks, at least one of them and not all.
    let mut first = 0;
    let mut count = 0;
    while count + 1 < sizes.len() && (count == 0 || 2 * (first + sizes[count]) <= all) {
        first += sizes[count];
        count += 1;
    }
    if sizes.len() < 2 {
        return vec![places];
    }
    let at = |place: u32| grid.coordinates(points[place as usize] as usize);
    let extent = |k: usize| {
        let along = places.iter().map(|&place| at(place)[k]);
        let (least, most) = along.fold((u32::MAX, 0), |(a, b), x| (a.min(x), b.max(x)));
        most.saturating_sub(least)
    };
    let longest = (0..grid.dims().len()).rev().max_by_key(|&k| extent(k)).unwrap_or(0);
    let mut sorted = places.clone();
    sorted.arrange_by_key(|&place| (at(place)[longest], at(place).to_vec()));
    let rest = sorted.split_off(first);
    let mut regions = halved(grid, points, sorted, &sizes[..count]);
    regions.extend(halved(grid, points, rest, &sizes[count..]));
    regions
}

/// The places of each part where nothing is known but their order.
pub(super) fn in_order(places: &[u32], sizes: &[usize]) -> Vec<Vec<u32>> {
    let mut next = 0;
    let stretch = |&size: &usize| {
        next += size;
        places[next - size..next].to_vec()
    };
    sizes.iter().map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::topology::{Topology, Tree};

    fn places(tree: &Tree) -> TreePlaces {
        let slots: Vec<u32> = (0..tree.slots() as u32).collect();
        TreePlaces::new(tree, &slots, Scale::new(1, 100)).unwrap()
    }

    #[test]
    fn parts_fill_whole_groups_of_a_tree() {
        let tree = places(&Tree::regular(&[2, 4, 4], &[100, 10, 1]).unwrap());
        let regions = on_tree(&tree, &[12, 8, 8, 4]);
        assert_eq!(regions.iter().map(Vec::len).collect::<Vec<_>>(), [12, 8, 8, 4]);
        let switches: Vec<Vec<u32>> = regions
            .iter()
            .map(|region| {
                let mut switches: Vec<u32> = region.iter().map(|place| place / 16).collect();
                switches.dedup();
                switches
            })
            .collect();
        assert_eq!(switches, [vec![0], vec![1], vec![1], vec![0]], "no part is on two switches");
    }

    #[test]
    fn a_part_that_fits_no_group_takes_whole_ones() {
        let tree = places(&Tree::regular(&[4, 4], &[10, 1]).unwrap());
        let regions = on_tree(&tree, &[7, 5, 4]);
        let mut all: Vec<u32> = regions.concat();
        all.sort_unstable();
        assert_eq!(all, (0..16).collect::<Vec<u32>>());
        assert_eq!(regions[0].iter().filter(|place| **place / 4 == regions[0][0] / 4).count(), 4);
        assert!(regions[2].iter().all(|place| place / 4 == regions[2][0] / 4));
    }

    #[test]
    fn points_are_halved_along_the_longest_dimension() {
        let grid = Grid::mesh(&[2, 9]).unwrap();
        let points: Vec<u32> = (0..18).collect();
        let regions = halved(&grid, &points, points.clone(), &[9, 5, 4]);
        assert_eq!(regions.iter().map(Vec::len).collect::<Vec<_>>(), [9, 5, 4]);
        let columns = |region: &Vec<u32>| region.iter().map(|p| p % 9).collect::<Vec<u32>>();
        assert!(columns(&regions[0]).iter().max() <= columns(&regions[1]).iter().min());
        let quarters = halved(&grid, &points, points.clone(), &[5, 4, 4, 5]);
        let first_half: Vec<u32> = quarters[..2].concat().iter().map(|p| p % 9).collect();
        assert!(first_half.into_iter().max() <= columns(&quarters[2]).into_iter().min());
        assert_eq!(in_order(&[4, 5, 6], &[2, 1]), [vec![4, 5], vec![6]]);
    }
}
