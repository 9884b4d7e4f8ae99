//! Recursive bisection of the grid by planes.
//!
//! Von Kirchbach, Lehr, Hunold, Schulz and Träff, "Efficient Process-to-Node Mapping Algorithms for Stencil
//! Computations", IEEE CLUSTER 2020, section V-A. The grid and the list of nodes are cut in two together, until
//! every part is one node. The cut is a plane across the dimension that the stencil crosses least. There are
//! three differences to the paper. If no plane near the middle leaves full nodes on both sides, or only a plane
//! across a dimension that costs more, the cut has a step of one line of points. Nodes may be of any size.
//! Groups that are farther apart in the network are separated first.

use super::decomposition::{Decomposition, ON_NODES, Parts};
use super::node_groups::NodeGroup;
use super::points::Points;
use crate::base::sorting::Arrange;

/// Cuts grid and nodes in two by planes.
pub(super) const HYPERPLANE: Decomposition = Decomposition {
    name: "hyperplane",
    source: "von Kirchbach et al., CLUSTER 2020, section V-A",
    applies_to: ON_NODES,
    parts,
};

fn parts(points: &Points, groups: &[NodeGroup]) -> Parts {
    let mut parts = vec![Vec::new(); groups.len()];
    let mut sets = vec![((0..points.len() as u32).collect::<Vec<u32>>(), 0..groups.len())];
    while let Some((mut set, range)) = sets.pop() {
        if range.len() <= 1 {
            parts[range.start] = set;
            continue;
        }
        let cut = Cut::best(points, &set, &groups[range.clone()]);
        let key = |point: u32| {
            let stride = |k: usize| points.shape.dims[k];
            cut.order
                .iter()
                .fold(0u64, |key, &k| key * stride(k) as u64 + points.coordinate(point, k) as u64)
        };
        set.sort_by_cached_key(|&point| key(point));
        let far = set.split_off(cut.points);
        let middle = range.start + cut.groups;
        sets.push((far, middle..range.end));
        sets.push((set, range.start..middle));
    }
    Ok(parts)
}

/// Where to cut a set of points and a list of groups.
struct Cut {
    /// The numbers of groups and of points on the near side.
    groups: usize,
    points: usize,
    /// Dimensions by which the points are sorted: the first is the one that is cut.
    order: Vec<usize>,
    cost: f64,
    /// Twice the distance from the middle, in points.
    off: usize,
}

impl Cut {
    fn best(points: &Points, set: &[u32], groups: &[NodeGroup]) -> Cut {
        let d = points.shape.dims.len();
        let layers: Vec<Vec<usize>> = (0..d).map(|k| layers(points, set, k)).collect();
        // The cost of a plane is the number of its points if the set were a box. It counts twice if the dimension is
        // a full ring, because such a ring is then cut in two places.
        let plane = |k: usize| {
            let extent = layers[k].len().max(1);
            let ring = points.shape.wrap[k] && extent == points.shape.dims[k];
            points.crossing[k] * (set.len() / extent) as f64 * if ring { 2.0 } else { 1.0 }
        };
        let cheaper = |a: &usize, b: &usize| {
            plane(*a).total_cmp(&plane(*b)).then(layers[*b].len().cmp(&layers[*a].len()))
        };
        let mut by_cost: Vec<usize> = (0..d).collect();
        by_cost.arrange_by(cheaper);
        let outermost = groups[1..].iter().map(|group| group.parts).min().unwrap_or(0);
        let mut sum = 0;
        let splits: Vec<(usize, usize)> = (1..groups.len())
            .map(|s| {
                sum += groups[s - 1].places.len();
                (s, sum)
            })
            .filter(|&(s, _)| groups[s].parts == outermost)
            .collect();
        let off = |sum: usize| (2 * sum).abs_diff(set.len());
        let nearest = splits.iter().map(|&(_, sum)| off(sum)).min().unwrap_or(0);
        // Up to a third of all to two thirds, unless the groups themselves are more uneven.
        let allowed = nearest.max(set.len() / 3);
        let across = |k: usize, groups: usize, sum: usize| {
            let mut before = 0;
            let even = layers[k].iter().any(|&layer| {
                before += layer;
                before == sum
            });
            let others = by_cost.iter().copied().filter(|&j| j != k);
            let order: Vec<usize> = std::iter::once(k).chain(others).collect();
            // The step: one line of points across the cheapest other dimension.
            let step = match order.get(1) {
                Some(&j) if !even => plane(j) / layers[k].len() as f64,
                _ => 0.0,
            };
            Cut { groups, points: sum, order, cost: plane(k) + step, off: off(sum) }
        };
        let near = splits.iter().filter(|(_, sum)| off(*sum) <= allowed);
        let cuts = near.flat_map(|&(groups, sum)| {
            let (across, thick) = (&across, by_cost.iter().filter(|&&k| layers[k].len() > 1));
            thick.map(move |&k| across(k, groups, sum))
        });
        let best = cuts.min_by(|a, b| a.cost.total_cmp(&b.cost).then(a.off.cmp(&b.off)));
        best.unwrap_or_else(|| {
            let (groups, sum) = splits.first().copied().unwrap_or((1, groups[0].places.len()));
            Cut { groups, points: sum, order: by_cost, cost: 0.0, off: 0 }
        })
    }
}

/// The number of points of the set in each layer across dimension `k`. The list begins with the first layer that has
/// a point, and ends with the last one.
fn layers(points: &Points, set: &[u32], k: usize) -> Vec<usize> {
    let mut count = vec![0usize; points.shape.dims[k]];
    set.iter().for_each(|&point| count[points.coordinate(point, k)] += 1);
    let first = count.iter().position(|&c| c > 0).unwrap_or(0);
    let last = count.iter().rposition(|&c| c > 0).unwrap_or(0);
    count[first..=last.max(first)].to_vec()
}
