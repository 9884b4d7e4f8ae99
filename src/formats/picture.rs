//! Heat maps as PNG and SVG, with axes, node lines and legend.

use super::{Export, Format, write_error};
use crate::base::error::Result;
use crate::report::svg::Figure;
use crate::report::{Grid, canvas, order, svg};
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
    draw: fn(&Figure<'_>) -> Result<T>,
) -> Result<T> {
    let tasks = export.matrix.tasks();
    let identity: Vec<u32> = (0..tasks as u32).collect();
    let grid = Grid::new(&export.matrix, &identity, cells);
    // By task: nodes are marked where the tasks of each stand together.
    let launch = &export.record.launch;
    let order = order::by_node(launch, tasks);
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
        out.write_all(&with_figure(export, CELLS, canvas::draw)?).map_err(write_error)
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
        // On its own the drawing needs a background; in a page it takes that of the page.
        let page = with_figure(export, svg::CELLS, svg::draw)?.replacen(
            "</title>",
            "</title><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>",
            1,
        );
        writeln!(out, "{}", page.replace("currentColor", "#1c2330")).map_err(write_error)
    }
}
