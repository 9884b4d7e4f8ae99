//! The heat maps of the report: before and after, and from node to node.

use super::Page;
use crate::base::error::Result;
use crate::base::permutation::identity;
use crate::matrix::{SparseMatrix, Traffic};
use crate::report::figure::{CELLS, Figure};
use crate::report::{Grid, node_order};
use maud::{Markup, html};

impl Page<'_> {
    /// The traffic of the tasks. A reordered launch has a picture for each of the two orders.
    pub(super) fn pictures(&self) -> Result<Markup> {
        let reordered = self.launch.is_reordered();
        let figures = if reordered { self.before_and_after()? } else { self.by_task()? };
        Ok(html! {
            h2 { "Bytes from each task to each other task" }
            div.figures { @for figure in figures { (figure) } }
            @if reordered {
                p.dim {
                    "Both pictures show the same traffic. What is in the squares along the diagonal \
                     stays inside a node."
                }
            }
        })
    }

    fn by_task(&self) -> Result<Vec<Markup>> {
        let tasks = self.matrix.tasks();
        let identity = identity(tasks);
        let order = node_order::by_node(self.launch, tasks);
        // Nodes can be marked on the axes if the tasks of each node are consecutive.
        let together = order.position_of_process == identity;
        let draw = |positions: &[u32], title: &str, unit, groups| {
            let grid = Grid::new(&self.matrix, positions, CELLS);
            let range = grid.range();
            Figure { grid: &grid, range, title: title.into(), unit, groups }.svg()
        };
        if together {
            return Ok(vec![draw(&identity, "By task", "task", order.groups)?]);
        }
        let by_node = &order.position_of_process;
        Ok(vec![
            draw(&identity, "By task", "task", Vec::new())?,
            draw(by_node, "The same, node by node", "process, by node", order.groups)?,
        ])
    }

    fn before_and_after(&self) -> Result<Vec<Markup>> {
        let tasks = self.matrix.tasks();
        let order = node_order::by_node(self.launch, tasks);
        let position = |process: usize| order.position_of_process[process];
        let before: Vec<u32> = (0..tasks).map(position).collect();
        let after: Vec<u32> = (0..tasks).map(|t| position(self.launch.process_of(t))).collect();
        let grids = [before, after].map(|positions| Grid::new(&self.matrix, &positions, CELLS));
        let ranges = grids.iter().filter_map(Grid::range);
        let range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let titles = ["Before: the launcher's order", "After: the order used"];
        let draw = |(grid, title): (&Grid, &str)| {
            let groups = order.groups.clone();
            Figure { grid, range, title: title.into(), unit: "process, by node", groups }.svg()
        };
        grids.iter().zip(titles).map(draw).collect()
    }

    /// The traffic from node to node; empty for less than two nodes.
    pub(super) fn node_picture(&self, nodes: usize) -> Result<Markup> {
        if nodes < 2 {
            return Ok(html! {});
        }
        let node_of = |task: u32| self.launch.node_of(task as usize).map(|node| node as u32);
        let entries: Vec<(u32, u32, Traffic)> = self
            .matrix
            .entries()
            .filter_map(|(i, j, t)| Some((node_of(i)?, node_of(j)?, t)))
            .collect();
        let matrix = SparseMatrix::from_entries(nodes, &entries);
        let grid = Grid::new(&matrix, &identity(nodes), CELLS);
        let figure = Figure {
            grid: &grid,
            range: grid.range(),
            title: "From node to node".into(),
            unit: "node",
            groups: self.launch.placement.node_names.iter().cloned().enumerate().collect(),
        };
        Ok(html! { div.figures.below { (figure.svg()?) } })
    }
}
