//! Heat maps as PNG and SVG, with axes, node lines and legend.

use super::{Export, Format, write_error};
use crate::base::error::Result;
use crate::base::permutation::identity;
use crate::report::figure::{self, Figure};
use crate::report::{Grid, node_order};
use std::io::Write;

/// PNG.
pub const PNG: Format = Format::new("png", "heat map as PNG picture").written_by(png);
/// SVG.
pub const SVG: Format = Format::new("svg", "heat map as SVG drawing").written_by(svg);

/// Most cells of a PNG in each direction; a cell is at least one pixel wide.
const CELLS: usize = 1024;

fn with_figure<T>(
    export: &Export<'_>,
    cells: usize,
    draw: impl Fn(&Figure<'_>) -> Result<T>,
) -> Result<T> {
    let tasks = export.matrix.tasks();
    let identity = identity(tasks);
    let grid = Grid::new(&export.matrix, &identity, cells);
    // The axes are tasks, so nodes are marked only if the tasks of each node are consecutive.
    let launch = &export.record.launch;
    let order = node_order::by_node(launch, tasks);
    let together = !launch.is_reordered() && order.position_of_process == identity;
    let kinds: Vec<&str> = export.kinds.iter().map(|k| k.name()).collect();
    let kinds = if kinds.len() == 3 { "all traffic".into() } else { kinds.join(", ") };
    draw(&Figure {
        grid: &grid,
        range: grid.range(),
        title: format!("{}: {kinds}", export.record.key),
        unit: "task",
        groups: if together { order.groups } else { Vec::new() },
    })
}

fn png(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    out.write_all(&with_figure(export, CELLS, figure::png)?).map_err(write_error)
}

fn svg(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let drawing = with_figure(export, figure::CELLS, |figure| figure.svg_file())?;
    writeln!(out, "{drawing}").map_err(write_error)
}
