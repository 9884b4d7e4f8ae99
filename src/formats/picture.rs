//! Heat maps as PNG and SVG, with axes, node lines and legend.

use super::{Export, Format, write_error};
use crate::base::error::Result;
use crate::report::figure::{self, Figure};
use crate::report::{Grid, node_order};
use std::io::Write;

/// PNG.
pub struct Png;
/// SVG.
pub struct Svg;

/// Most cells of a PNG in each direction; each is a pixel at least.
const CELLS: usize = 1024;

fn with_figure<T>(
    export: &Export<'_>,
    cells: usize,
    draw: impl Fn(&Figure<'_>) -> Result<T>,
) -> Result<T> {
    let tasks = export.matrix.tasks();
    let identity: Vec<u32> = (0..tasks as u32).collect();
    let grid = Grid::new(&export.matrix, &identity, cells);
    // By task: nodes are marked where the tasks of each stand together.
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

impl Format for Png {
    fn name(&self) -> &'static str {
        "png"
    }

    fn about(&self) -> &'static str {
        "heat map as PNG picture"
    }

    fn writes(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
        out.write_all(&with_figure(export, CELLS, figure::png)?).map_err(write_error)
    }
}

impl Format for Svg {
    fn name(&self) -> &'static str {
        "svg"
    }

    fn about(&self) -> &'static str {
        "heat map as SVG drawing"
    }

    fn writes(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
        let drawing = with_figure(export, figure::CELLS, |figure| figure.svg_file())?;
        writeln!(out, "{drawing}").map_err(write_error)
    }
}
