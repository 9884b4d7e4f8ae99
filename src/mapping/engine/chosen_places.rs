//! Chooses places when there are more than tasks: those that lie closest together.
//!
//! These are where the search starts. Local search may still move tasks to the other places.

use super::{Distance, Lookup, TreePlaces, with_distance};
use crate::mapping::Problem;
use std::ops::Range;

/// As many places as tasks, ascending, those of fixed tasks among them.
pub(super) fn choose_places(
    problem: &Problem<'_>,
    tree: Option<&TreePlaces>,
    lookup: &Lookup<'_, '_>,
) -> Vec<u32> {
    let (tasks, places) = (problem.tasks(), problem.places().len());
    if tasks == places {
        return (0..places as u32).collect();
    }
    let mut chosen = match tree {
        Some(tree) => closest_in_tree(problem, tree),
        None => with_distance!(lookup, d => ball(d, &needed(problem), tasks)),
    };
    chosen.sort_unstable();
    chosen
}

/// As many places of `tree` as there are tasks. `tree` holds all places of the problem.
pub(crate) fn closest_in_tree(problem: &Problem<'_>, tree: &TreePlaces) -> Vec<u32> {
    let needed = needed(problem);
    let needed: Vec<bool> = tree.order.iter().map(|&p| needed[p as usize]).collect();
    let picked = Vec::with_capacity(problem.tasks());
    let mut picker = Picker { tree, needed: &needed, picked };
    picker.pick(0, needed.len(), 0, problem.tasks());
    picker.picked
}

/// Whether a task is fixed to each place.
fn needed(problem: &Problem<'_>) -> Vec<bool> {
    let mut needed = vec![false; problem.places().len()];
    for place in (0..problem.tasks()).filter_map(|task| problem.fixed_place(task)) {
        needed[place] = true;
    }
    needed
}

/// Chooses places from the root of a tree down.
struct Picker<'a> {
    tree: &'a TreePlaces,
    /// By place in the order of the tree: a task is fixed to it.
    needed: &'a [bool],
    picked: Vec<u32>,
}

impl Picker<'_> {
    /// Takes `want` places of the group `lo..hi`, which is above `level`, from as few of its subgroups as
    /// possible: from the smallest subgroup that is large enough, or else from the largest ones.
    fn pick(&mut self, lo: usize, hi: usize, level: usize, want: usize) {
        let (tree, needed) = (self.tree, self.needed);
        if want == hi - lo {
            return self.picked.extend_from_slice(&tree.order[lo..hi]);
        }
        if level == tree.shifts.len() {
            let (must, may): (Vec<usize>, Vec<usize>) = (lo..hi).partition(|&k| needed[k]);
            self.picked.extend(must.into_iter().chain(may).take(want).map(|k| tree.order[k]));
            return;
        }
        // Each group with the places to take from it: at first those of fixed tasks.
        let must = |range: &Range<usize>| needed[range.clone()].iter().filter(|&&n| n).count();
        let with_must = |range: Range<usize>| (must(&range), range);
        let mut groups: Vec<(usize, Range<usize>)> =
            tree.groups(lo..hi, level).into_iter().map(with_must).collect();
        let mut left = want - groups.iter().map(|g| g.0).sum::<usize>().min(want);
        while left > 0 {
            // Prefer groups already in use, then one that takes all the rest, then the largest.
            let open = groups.iter_mut().filter(|(take, range)| *take < range.len());
            let best = open.min_by_key(|(take, range)| {
                let room = range.len() - take;
                let fits = room >= left;
                (*take == 0, !fits, if fits { room } else { usize::MAX - room })
            });
            let Some((take, range)) = best else { break };
            let more = left.min(range.len() - *take);
            *take += more;
            left -= more;
        }
        for (take, range) in groups.into_iter().filter(|&(take, _)| take > 0) {
            self.pick(range.start, range.end, level + 1, take);
        }
    }
}

/// The places nearest to a centre. Several centres are tried. The result is that of the centre with the
/// smallest sum of distances.
fn ball<D: Distance>(d: &D, needed: &[bool], want: usize) -> Vec<u32> {
    let places = needed.len();
    let fixed: Vec<usize> = (0..places).filter(|&p| needed[p]).take(16).collect();
    let centres = if fixed.is_empty() {
        let tries = (20_000_000 / places.max(1)).clamp(4, 64);
        (0..places).step_by(places.div_ceil(tries).max(1)).collect()
    } else {
        fixed
    };
    let mut best: Option<(i128, Vec<u32>)> = None;
    let mut row: Vec<(bool, i64, u32)> = Vec::with_capacity(places);
    for centre in centres {
        row.clear();
        row.extend((0..places).map(|p| (!needed[p], d.between(centre as u32, p as u32), p as u32)));
        if want < places {
            row.select_nth_unstable(want);
        }
        let sum: i128 = row[..want].iter().map(|r| i128::from(r.1)).sum();
        if best.as_ref().is_none_or(|(b, _)| sum < *b) {
            best = Some((sum, row[..want].iter().map(|r| r.2).collect()));
        }
    }
    best.map(|(_, chosen)| chosen).unwrap_or_default()
}
