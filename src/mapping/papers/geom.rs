//! GEOM: a job that is a grid and its ranks are cut in halves together, by coordinates.
//!
//! Algorithm of Leung et al. as the GSearch paper describes it (section II): the job is turned so
//! that its sides have the order of the sides of the ranks' bounding box; then tasks are halved along
//! the longest side of their box, ranks by their coordinate along the same side, recursively. For
//! jobs that are grids (whatever their labels) on meshes and tori, whole or not. With more places
//! than tasks the first ones are used.

use super::filled_problem::FilledProblem;
use crate::base::error::{Error, ErrorKind, Result};
use crate::mapping::engine::{Csr, Scale};
use crate::mapping::geometric::detect;
use crate::mapping::{Budget, Mapper, Outcome, Problem, TaskGrid};
use crate::topology::Grid;

/// GEOM: tasks and places in the order of their coordinates.
pub(in crate::mapping) struct Geom;

impl Mapper for Geom {
    fn name(&self) -> &'static str {
        "geom"
    }

    fn source(&self) -> &'static str {
        "GSearch paper, section II (GEOM, Leung et al. 2014)"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let filled = FilledProblem::new(problem, budget);
        let job = Job::new(problem, self.name())?;
        Ok(filled.outcome(job.bisect()))
    }
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
        let infeasible = |what: &str| {
            Error::new(ErrorKind::Infeasible, format!("{algorithm} needs {what}"))
                .advise("--algorithm hiertopomap-bipart or the default")
        };
        let (machine, points) = problem.grid().ok_or_else(|| {
            infeasible("coordinates of the slots: a mesh or torus").at(problem.topology().name())
        })?;
        if let Some(grid) = problem.task_grid().filter(|g| g.points() == problem.tasks()) {
            return Ok(Job::of_grid(grid, machine, &points));
        }
        let graph = problem.graph();
        let csr = Csr::from_graph(graph, Scale::new(graph.total_weight().max(1), 1));
        let shape =
            detect(&csr).ok_or_else(|| infeasible("tasks that form a grid of two or more"))?;
        let tasks = (0..problem.tasks())
            .map(|t| shape.coordinates.iter().map(|x| x[t]).collect())
            .collect();
        let ranks = points[..problem.tasks()]
            .iter()
            .map(|&slot| machine.coordinates(slot as usize).to_vec())
            .collect();
        Ok(Job { sides: shape.dims, tasks, ranks, machine })
    }

    /// A job whose tasks are points of a known grid, in row-major order.
    fn of_grid(grid: &TaskGrid, machine: &'a Grid, points: &[u32]) -> Job<'a> {
        let sides = grid.dims().to_vec();
        let tasks: Vec<Vec<u32>> = (0..grid.points())
            .map(|task| {
                let mut rest = task;
                let mut point: Vec<u32> = sides
                    .iter()
                    .rev()
                    .map(|&side| {
                        let x = rest % side;
                        rest /= side;
                        x as u32
                    })
                    .collect();
                point.reverse();
                point
            })
            .collect();
        let ranks = points[..tasks.len()]
            .iter()
            .map(|&slot| machine.coordinates(slot as usize).to_vec())
            .collect();
        Job { sides, tasks, ranks, machine }
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
        let extents = self.extents();
        let mut sides: Vec<usize> = (0..self.sides.len()).collect();
        sides.sort_by_key(|&k| std::cmp::Reverse(self.sides[k]));
        let mut dims: Vec<usize> = (0..self.machine.dims().len()).collect();
        dims.sort_by_key(|&k| std::cmp::Reverse(extents[k]));
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
        let all: Vec<u32> = (0..n as u32).collect();
        let mut sets = vec![(all.clone(), all)];
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
            let side = (0..self.sides.len())
                .max_by_key(|&k| (range(k).1 - range(k).0, usize::MAX - k))
                .unwrap_or(0);
            let (low, high) = range(side);
            // The larger half comes first, as 5 is cut into 3 and 2 in the paper.
            let cut = low + (high - low) / 2 + 1;
            let far: Vec<u32> =
                tasks.iter().copied().filter(|&t| self.tasks[t as usize][side] >= cut).collect();
            tasks.retain(|&t| self.tasks[t as usize][side] < cut);
            sort_ranks(&mut ranks, &self.ranks, rotation[side]);
            let rest = ranks.split_off(tasks.len());
            sets.push((far, rest));
            sets.push((tasks, ranks));
        }
        place_of
    }
}

/// Sorts ranks by one coordinate, ties by the others in order.
pub(super) fn sort_ranks(ranks: &mut [u32], coordinates: &[Vec<u32>], dimension: usize) {
    ranks.sort_by(|&a, &b| {
        let (x, y) = (&coordinates[a as usize], &coordinates[b as usize]);
        x[dimension].cmp(&y[dimension]).then_with(|| x.cmp(y)).then(a.cmp(&b))
    });
}
