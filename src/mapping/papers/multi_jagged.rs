//! MULTI-JAGGED: as GEOM, but cut into many slabs at once instead of halves.
//!
//! Deveci, Rajamanickam et al., "Exploiting Geometric Partitioning in Task Mapping for Parallel
//! Computers", IPDPS 2014, as the GSearch paper sums it up (section V). Tasks and ranks are cut along
//! one dimension into as many slabs as the job has layers there, and each slab along the next. All
//! orders of the job's sides and of the machine's dimensions are tried; above 65 536 tasks only the
//! orders by falling length. Each is tried with wrap-around dimensions as they are, and turned so that
//! their widest gap lies at the border. The best by hop-bytes is taken.

use super::filled_problem::FilledProblem;
use super::geom::{Job, by_falling_length, sort_ranks};
use super::hiertopomap::border;
use crate::base::error::Result;
use crate::base::permutation::identity;
use crate::base::sorting::Arrange;
use crate::mapping::engine::cost;
use crate::mapping::{Budget, Outcome, Problem};

/// More dimensions than this are not permuted.
const PERMUTED: usize = 4;

/// For more tasks than this only one order is tried.
const TRIED: usize = 1 << 16;

pub(super) fn map(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let mut job = Job::new(problem, "multi-jagged")?;
    let mut best = (i128::MAX, Vec::new());
    let few = problem.tasks() <= TRIED;
    let sides = orders(&job.sides, few);
    for shifted in [false, true] {
        if shifted && !shift(&mut job) {
            break;
        }
        for dims in orders(&job.extents(), few) {
            for sides in &sides {
                if budget.expired() && best.0 < i128::MAX {
                    break;
                }
                let place_of = slabs(&job, sides, &dims);
                let cost = cost(&filled.graph, &filled, &place_of);
                if cost < best.0 {
                    best = (cost, place_of);
                }
            }
        }
    }
    Ok(filled.outcome(best.1))
}

/// The orders to try of dimensions with these lengths: all, or only that by falling length.
fn orders(lengths: &[usize], all: bool) -> Vec<Vec<usize>> {
    let mut order = by_falling_length(lengths);
    let mut orders = Vec::new();
    match all && order.len() <= PERMUTED {
        true => permutations(&mut order, 0, &mut orders),
        false => orders.push(order),
    }
    orders
}

/// All orders of `items`.
fn permutations(items: &mut Vec<usize>, from: usize, all: &mut Vec<Vec<usize>>) {
    if from == items.len() {
        all.push(items.clone());
    }
    for k in from..items.len() {
        items.swap(from, k);
        permutations(items, from + 1, all);
        items.swap(from, k);
    }
}

/// Turns the ranks' coordinates in wrap-around dimensions; false if that changes nothing.
fn shift(job: &mut Job) -> bool {
    let mut changed = false;
    for (k, (&length, &wrap)) in job.machine.dims().iter().zip(job.machine.wrap()).enumerate() {
        if !wrap {
            continue;
        }
        let start = border(length, job.ranks.iter().map(|rank| rank[k]));
        changed |= start != 0;
        for rank in &mut job.ranks {
            rank[k] = (rank[k] + length as u32 - start) % length as u32;
        }
    }
    changed
}

/// Cuts the job along `sides` and the ranks along `dims`, both in this order.
fn slabs(job: &Job, sides: &[usize], dims: &[usize]) -> Vec<u32> {
    let n = job.tasks.len();
    let mut place_of = vec![0u32; n];
    let mut sets = vec![(identity(n), identity(n), 0usize)];
    while let Some((mut tasks, mut ranks, depth)) = sets.pop() {
        let Some(&side) = sides.get(depth).filter(|_| tasks.len() > 1) else {
            for (&task, &rank) in tasks.iter().zip(&ranks) {
                place_of[task as usize] = rank;
            }
            continue;
        };
        tasks.arrange_by_key(|&t| (job.tasks[t as usize][side], t));
        sort_ranks(&mut ranks, &job.ranks, dims[depth.min(dims.len() - 1)]);
        let at = |&task: &u32| job.tasks[task as usize][side];
        for slab in tasks.chunk_by(|a, b| at(a) == at(b)) {
            let rest = ranks.split_off(slab.len());
            sets.push((slab.to_vec(), ranks, depth + 1));
            ranks = rest;
        }
    }
    place_of
}
