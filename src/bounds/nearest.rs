//! How near the slots of a topology can be to each other: the facts about a topology that bounds follow from.

use crate::topology::{Grid, Topology};

/// Up to so many slots, all pairs of slots are compared.
const COMPARED: usize = 4096;

/// The least sum of all distances of 0 to 8 different points of a mesh, or of a torus whose rings are all even.
///
/// Such a grid is part of a hypercube with the same distances. So its points have two colours, neighbours have
/// different ones, and two points have at most two common neighbours. Points of one colour are at least 2 apart, and
/// points of two colours that are not neighbours at least 3. With at most 1, 2, 4, 5, 7, 9, 12 pairs of neighbours
/// among 2 to 8 points (Harper 1964) and each division into colours, this gives these sums.
const CLIQUES: [u64; 9] = [0, 0, 1, 4, 8, 16, 25, 36, 48];

/// `sums[k]`: the distances of any slot's place from the k places nearest to it have at least this sum. Each slot has
/// `capacity` places. The list ends with `most` or with the last place.
pub fn nearest_sums(
    topology: &dyn Topology,
    slots: &[usize],
    capacity: u32,
    most: usize,
) -> Vec<u64> {
    let capacity = capacity.max(1) as usize;
    let mut slots = slots.to_vec();
    slots.sort_unstable();
    slots.dedup();
    let most = most.min((slots.len() * capacity).saturating_sub(1));
    let mut sums = vec![u64::MAX; most + 1];
    let mut take = |others: &mut dyn Iterator<Item = (u64, usize)>| {
        let (mut k, mut sum) = (0, 0u64);
        sums[0] = 0;
        for (distance, places) in others {
            for _ in 0..places {
                k += 1;
                if k > most {
                    return;
                }
                sum = sum.saturating_add(distance);
                sums[k] = sums[k].min(sum);
            }
        }
        // A list that ends early bounds nothing: the remaining places do not exist.
    };
    let own = std::iter::once((0, capacity - 1));
    // All points of a torus see the same distances.
    let ring = |side: (&usize, &bool)| *side.1 || *side.0 <= 2;
    let alike = slots.len() == topology.slots()
        && topology.as_grid().is_some_and(|grid| grid.dims().iter().zip(grid.wrap()).all(ring));
    if alike || slots.len() <= COMPARED {
        let mut distances = vec![0; slots.len()];
        for &slot in if alike { &slots[..1] } else { &slots } {
            topology.distances(slot, &slots, &mut distances);
            let mut sorted: Vec<u64> =
                slots.iter().zip(&distances).filter(|s| *s.0 != slot).map(|s| *s.1).collect();
            sorted.sort_unstable();
            take(&mut own.clone().chain(sorted.into_iter().map(|d| (d, capacity))));
        }
        return sums;
    }
    let grid = topology.as_grid().or_else(|| topology.as_part_of_grid().map(|part| part.0));
    match grid {
        Some(grid) => {
            let counts = points_at(grid);
            let others = (1..).zip(counts.into_iter().skip(1)).map(|(d, n)| (d, n * capacity));
            take(&mut own.chain(others).chain(std::iter::once((0, most))));
        }
        None => {
            let least = topology.distance_bounds().0;
            take(&mut own.chain(std::iter::once((least, most))));
        }
    }
    sums
}

/// By distance: at least as many points as any point of a grid has within this distance in all.
fn points_at(grid: &Grid) -> Vec<usize> {
    let mut counts = vec![1usize];
    for (&d, &wrap) in grid.dims().iter().zip(grid.wrap()) {
        // The middle of a line has the most points within each distance.
        let middle = (d - 1) / 2;
        let mut along = vec![0usize; d];
        for x in 0..d {
            let direct = x.abs_diff(middle);
            along[if wrap { direct.min(d - direct) } else { direct }] += 1;
        }
        let mut next = vec![0usize; counts.len() + along.len()];
        for (a, &m) in counts.iter().enumerate() {
            for (b, &n) in along.iter().enumerate() {
                next[a + b] += m * n;
            }
        }
        counts = next;
    }
    counts
}

/// By number of different slots: a lower bound for the sum of the distances of all their pairs.
pub fn clique_sums(topology: &dyn Topology) -> Vec<u64> {
    let grid = topology.as_grid().or_else(|| topology.as_part_of_grid().map(|part| part.0));
    let Some(grid) = grid else { return Vec::new() };
    let rings: Vec<usize> =
        grid.dims().iter().zip(grid.wrap()).filter(|d| *d.1).map(|d| *d.0).collect();
    if rings.iter().all(|d| d.is_multiple_of(2)) {
        CLIQUES.to_vec()
    } else if rings.contains(&3) {
        Vec::new()
    } else {
        // No three points are neighbours of each other.
        CLIQUES[..5].to_vec()
    }
}

/// True if no way over a third slot is shorter than the distance.
pub fn is_metric(topology: &dyn Topology) -> bool {
    topology.as_tree().is_some()
        || topology.as_grid().is_some()
        || topology.as_part_of_grid().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    /// The least sum of distances over all choices of 0 to `most` of the slots, by number of slots.
    fn least_sums(topology: &dyn Topology, most: usize) -> Vec<u64> {
        fn extend(t: &dyn Topology, chosen: &mut Vec<usize>, sum: u64, least: &mut [u64]) {
            let k = chosen.len();
            least[k] = least[k].min(sum);
            // More points have no smaller sum.
            if k + 1 == least.len() || sum >= least[least.len() - 1] {
                return;
            }
            for slot in chosen.last().map_or(0, |last| last + 1)..t.slots() {
                let more: u64 = chosen.iter().map(|&other| t.distance(slot, other)).sum();
                chosen.push(slot);
                extend(t, chosen, sum + more, least);
                chosen.pop();
            }
        }
        let mut least = vec![u64::MAX; most + 1];
        extend(topology, &mut Vec::new(), 0, &mut least);
        least
    }

    /// With the hypercube that contains every mesh and even torus, this is a proof for all of them: each dimension in
    /// which k points differ adds at least k − 1 to the sum of their distances. So k points with a smaller sum than
    /// `CLIQUES[k]` lie in a hypercube of at most (`CLIQUES[k]` − 1) / (k − 1) dimensions.
    #[test]
    fn no_points_of_a_hypercube_are_nearer() {
        for (k, sum) in CLIQUES.iter().enumerate().take(8).skip(2) {
            let dimensions = ((sum - 1) / (k as u64 - 1)).max(1);
            let topology = parse(&format!("hypercube:{dimensions}")).unwrap();
            let most = k.min(topology.slots());
            assert!(least_sums(topology.as_ref(), most)[most] >= CLIQUES[most], "{k}");
        }
        // The mean over all choices of 7 of 8 points; each pair is in 6 of the 8 choices.
        assert!(8 * CLIQUES[7] >= 6 * CLIQUES[8]);
    }

    #[test]
    fn no_points_of_a_grid_are_nearer() {
        for (text, most) in [
            ("hypercube:4", 8),
            ("mesh:4x4", 8),
            ("torus:4x4", 8),
            ("torus:4x2x2", 8),
            ("mesh:3x2x3", 8),
            ("torus:16", 6),
            ("mesh:3x3x3", 5),
            ("torus:6x4", 6),
            ("torus:5x5", 4),
            ("torus:7x4", 4),
            ("torus:3x4", 3),
        ] {
            let topology = parse(text).unwrap();
            let least = least_sums(topology.as_ref(), most);
            let sums = clique_sums(topology.as_ref());
            assert!(sums.iter().zip(&least).all(|(sum, least)| sum <= least), "{text}");
            assert!(text != "hypercube:4" || sums == least, "{least:?}");
        }
        assert!(clique_sums(parse("torus:3x4").unwrap().as_ref()).is_empty());
        assert_eq!(clique_sums(parse("torus:5x4").unwrap().as_ref()).len(), 5);
    }

    #[test]
    fn no_point_has_more_points_around_it() {
        for text in ["mesh:5x4", "mesh:7", "torus:5x4", "torus:3x2x6", "hypercube:3"] {
            let topology = parse(text).unwrap();
            let counts = points_at(topology.as_grid().unwrap());
            for slot in 0..topology.slots() {
                for far in 0..counts.len() {
                    let near = |&other: &usize| topology.distance(slot, other) <= far as u64;
                    let within = (0..topology.slots()).filter(near).count();
                    assert!(within <= counts[..=far].iter().sum(), "{text} {slot} {far}");
                }
            }
        }
    }

    #[test]
    fn one_slot_of_a_torus_is_enough() {
        let topology = parse("torus:6x5x2").unwrap();
        let all: Vec<usize> = (0..60).collect();
        for capacity in [1, 2] {
            let sums = nearest_sums(topology.as_ref(), &all, capacity, 20);
            for slot in 0..60 {
                let mut distances: Vec<u64> =
                    all.iter().map(|&other| topology.distance(slot, other)).collect();
                distances.extend(distances.clone());
                distances.truncate(60 * capacity as usize);
                distances.sort_unstable();
                for (k, &sum) in sums.iter().enumerate() {
                    assert_eq!(sum, distances[..=k].iter().sum::<u64>());
                }
            }
        }
        // A part of a torus is not alike everywhere, and slots that are given twice count once.
        let sums = nearest_sums(topology.as_ref(), &[0, 2, 4, 2, 59], 1, 8);
        assert_eq!(sums, [0, 1, 2, 6]);
    }
}
