//! GEOM: a job that is a grid and its ranks are cut in halves together, by coordinates.
//!
//! Algorithm of Leung et al. as the GSearch paper describes it (section II). The job is turned so
//! that its sides have the order of the sides of the ranks' bounding box. Then tasks are halved along
//! the longest side of their box, and ranks by their coordinate along the same side, recursively. The
//! job has to be a grid, however its tasks are numbered. The machine has to be a mesh or torus, or part of
//! one. With more places than tasks the first ones are used.

use super::filled_problem::FilledProblem;
use super::infeasible;
use crate::base::error::Result;
use crate::base::permutation::identity;
use crate::base::sorting::Arrange;
use crate::mapping::engine::{Csr, Scale};
use crate::mapping::geometric::recognise;
use crate::mapping::{Budget, Outcome, Problem};
use crate::topology::Grid;
use std::cmp::Reverse;

pub(in crate::mapping) fn map(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    let filled = FilledProblem::new(problem, budget);
    let job = Job::new(problem, "geom")?;
    Ok(filled.outcome(job.bisect()))
}

/// A job that is a grid, and the coordinates of its ranks.
pub(super) struct Job<'a> {
    /// Sides of the job.
    pub(super) sides: Vec<usize>,
    /// Coordinates of each task.
    pub(super) tasks: Vec<Vec<u32>>,
    /// Coordinates of the places in use.
    pub(super) ranks: Vec<Vec<u32>>,
    pub(super) machine: &'a Grid,
}

impl<'a> Job<'a> {
    /// Errors: a topology without coordinates, or tasks that are no grid.
    pub(super) fn new(problem: &Problem<'a>, algorithm: &str) -> Result<Job<'a>> {
        let needs = |what| infeasible(format!("{algorithm} needs {what}"), "hiertopomap-bipart");
        let (machine, points) = problem.grid().ok_or_else(|| {
            needs("coordinates of the slots: a mesh or torus").at(problem.topology().name())
        })?;
        let (n, graph) = (problem.tasks(), problem.graph());
        let named = problem.task_grid().filter(|g| g.points() == n);
        let (sides, tasks) = if let Some(grid) = named.and_then(|g| Grid::mesh(g.dims())) {
            (grid.dims().to_vec(), (0..n).map(|t| grid.coordinates(t).to_vec()).collect())
        } else {
            let csr = Csr::from_graph(graph, Scale::new(graph.total_weight().max(1), 1));
            let grid = recognise(&csr);
            let shape = grid.ok_or_else(|| needs("tasks that form a grid of two or more"))?.shape;
            let point = |t: usize| shape.coordinates.iter().map(|x| x[t]).collect();
            let tasks = (0..n).map(point).collect();
            (shape.dims, tasks)
        };
        let rank = |&slot: &u32| machine.coordinates(slot as usize).to_vec();
        Ok(Job { sides, tasks, ranks: points[..n].iter().map(rank).collect(), machine })
    }

    /// Largest difference of the ranks' coordinates in each dimension of the machine.
    pub(super) fn extents(&self) -> Vec<usize> {
        (0..self.machine.dims().len())
            .map(|k| {
                let values = self.ranks.iter().map(|rank| rank[k]);
                (values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)) as usize
            })
            .collect()
    }

    /// For every side of the job the dimension of the machine along which it is cut: the longest
    /// side gets the dimension in which the ranks extend farthest, and so on.
    fn rotation(&self) -> Vec<usize> {
        let (sides, dims) = (by_falling_length(&self.sides), by_falling_length(&self.extents()));
        let mut rotation = vec![0; sides.len()];
        for (rank, &side) in sides.iter().enumerate() {
            // A job of more dimensions than the machine shares the last one.
            rotation[side] = dims[rank.min(dims.len() - 1)];
        }
        rotation
    }

    /// The place of every task.
    fn bisect(&self) -> Vec<u32> {
        let rotation = self.rotation();
        let n = self.tasks.len();
        let mut place_of = vec![0u32; n];
        let mut sets = vec![(identity(n), identity(n))];
        while let Some((mut tasks, mut ranks)) = sets.pop() {
            if tasks.len() <= 1 {
                for (&task, &rank) in tasks.iter().zip(&ranks) {
                    place_of[task as usize] = rank;
                }
                continue;
            }
            let range = |k: usize| {
                let values = tasks.iter().map(|&t| self.tasks[t as usize][k]);
                (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
            };
            let ranges = (0..self.sides.len()).map(|k| (range(k), k));
            let longest = ranges.max_by_key(|&((low, high), k)| (high - low, Reverse(k)));
            let ((low, high), side) = longest.unwrap_or_default();
            // The larger half comes first, as 5 is cut into 3 and 2 in the paper.
            let cut = low + (high - low) / 2 + 1;
            let is_near = |&t: &u32| self.tasks[t as usize][side] < cut;
            let far: Vec<u32>;
            (tasks, far) = tasks.into_iter().partition(is_near);
            sort_ranks(&mut ranks, &self.ranks, rotation[side]);
            let rest = ranks.split_off(tasks.len());
            sets.push((far, rest));
            sets.push((tasks, ranks));
        }
        place_of
    }
}

/// The indices of `lengths`, the longest first.
pub(super) fn by_falling_length(lengths: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.arrange_by_key(|&k| Reverse(lengths[k]));
    order
}

/// Sorts ranks by one coordinate, ties by the others in order.
pub(super) fn sort_ranks(ranks: &mut [u32], coordinates: &[Vec<u32>], dimension: usize) {
    ranks.arrange_by(|&a, &b| {
        let (x, y) = (&coordinates[a as usize], &coordinates[b as usize]);
        x[dimension].cmp(&y[dimension]).then_with(|| x.cmp(y)).then(a.cmp(&b))
    });
}
