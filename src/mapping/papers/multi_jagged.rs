//! MULTI-JAGGED: as GEOM, but cut into many slabs at once instead of halves.
//!
//! Deveci, Rajamanickam et al., "Exploiting Geometric Partitioning in Task Mapping for Parallel
//! Computers", IPDPS 2014, as the GSearch paper sums it up (section V): tasks and ranks are cut along
//! one dimension into as many slabs as the job has layers there, each slab along the next. All
//! assignments of job sides to machine dimensions are tried, with and without turning wrap-around
//! dimensions so that their widest gap lies at the border; the best by hop-bytes is taken.

use super::geom::{Job, sort_ranks};
use super::hiertopomap::border;
use super::setting::Setting;
use crate::error::Result;
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// See the module.
pub(in crate::mapping) struct MultiJagged;

/// More sides than this are not permuted.
const PERMUTED: usize = 4;

impl Mapper for MultiJagged {
    fn name(&self) -> &'static str {
        "multi-jagged"
    }

    fn source(&self) -> &'static str {
        "Deveci et al. 2014 (multi-jagged partitioning), rotations and shifts"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let setting = Setting::new(problem);
        let mut job = Job::new(problem, self.name())?;
        let mut best = (i64::MAX, Vec::new());
        let (mut order, mut orders) = ((0..job.sides.len()).collect::<Vec<_>>(), Vec::new());
        match order.len() {
            n if n <= PERMUTED => permutations(&mut order, 0, &mut orders),
            _ => orders.push(order),
        }
        for shifted in [false, true] {
            if shifted && !shift(&mut job) {
                break;
            }
            for order in &orders {
                let place_of = slabs(&job, order);
                let cost = cost(&setting, &place_of);
                if cost < best.0 {
                    best = (cost, place_of);
                }
                if budget.expired() {
                    break;
                }
            }
        }
        Ok(setting.outcome(best.1))
    }
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

/// Cuts along the machine's dimensions in turn; `order[k]` is the side of the job for dimension k.
fn slabs(job: &Job, order: &[usize]) -> Vec<u32> {
    let n = job.tasks.len();
    let mut place_of = vec![0u32; n];
    let all: Vec<u32> = (0..n as u32).collect();
    let mut sets = vec![(all.clone(), all, 0usize)];
    let dims = job.machine.dims().len();
    while let Some((mut tasks, mut ranks, depth)) = sets.pop() {
        let Some(&side) = order.get(depth).filter(|_| tasks.len() > 1) else {
            for (&task, &rank) in tasks.iter().zip(&ranks) {
                place_of[task as usize] = rank;
            }
            continue;
        };
        tasks.sort_by_key(|&t| (job.tasks[t as usize][side], t));
        sort_ranks(&mut ranks, &job.ranks, depth.min(dims - 1));
        for slab in
            tasks.chunk_by(|&a, &b| job.tasks[a as usize][side] == job.tasks[b as usize][side])
        {
            let rest = ranks.split_off(slab.len());
            sets.push((slab.to_vec(), ranks, depth + 1));
            ranks = rest;
        }
    }
    place_of
}

fn cost(setting: &Setting, place_of: &[u32]) -> i64 {
    (0..place_of.len())
        .flat_map(|t| setting.graph.arcs(t).map(move |(other, w)| (t, other, w)))
        .filter(|&(t, other, _)| other > t)
        .map(|(t, other, w)| w * setting.distance(place_of[t] as usize, place_of[other] as usize))
        .sum()
}
