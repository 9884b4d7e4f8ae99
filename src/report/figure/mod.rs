//! A heat map with axes, node lines and a legend: as SVG, and as PNG with the same lines and letters.
//!
//! The SVG contains the cells as a PNG. For a picture of pixels, `raster` draws the cells itself, so that all
//! cells have the same number of pixels, and then draws the rest of the SVG over them.

mod axes;
mod legend;
mod raster;

pub use raster::png;

use super::cell_image;
use super::grid::Grid;
use super::palette::Rgb;
use super::units;
use crate::base::error::Result;
use base64::Engine;
use maud::{Markup, html};

/// A heat map that is to be drawn.
pub struct Figure<'a> {
    /// The cells.
    pub grid: &'a Grid,
    /// Ends of the colour scale. Pictures that are compared have the same ends.
    pub range: Option<(u64, u64)>,
    /// Heading.
    pub title: String,
    /// The meaning of rows and columns: `task`, `process` or `node`.
    pub unit: &'a str,
    /// The beginning of each group, in units of the axes, with the name of the group. The first begins at 0.
    pub groups: Vec<(usize, String)>,
}

/// The largest number of cells of an SVG in each direction. A viewer with fewer pixels than cells leaves cells
/// out, so that thin lines could disappear.
pub const CELLS: usize = 430;
/// Side of the square of cells.
const SIDE: f64 = CELLS as f64;
const LEFT: f64 = 74.0;
const TOP: f64 = 66.0;
const WIDTH: f64 = LEFT + SIDE + 24.0;
const HEIGHT: f64 = TOP + SIDE + 62.0;
/// The colour of lines and letters outside of a page.
const INK: &str = "#1c2330";

impl Figure<'_> {
    /// The figure as an SVG element for a page. It has the colours of the page.
    ///
    /// Errors: the cells cannot be encoded.
    pub fn svg(&self) -> Result<Markup> {
        let cells = self.cells()?;
        Ok(self.element("currentColor", html! { (cells) }))
    }

    /// The figure as an SVG file, on white.
    ///
    /// Errors: the cells cannot be encoded.
    pub fn svg_file(&self) -> Result<String> {
        let cells = self.cells()?;
        let paper = html! { rect width="100%" height="100%" fill="#fff" {} (cells) };
        Ok(self.element(INK, paper).into_string())
    }

    /// The SVG element with `behind` under its lines and letters.
    fn element(&self, ink: &str, behind: Markup) -> Markup {
        let title = units::printable(&self.title);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                width=(WIDTH) height=(HEIGHT) role="img" font-family="system-ui, sans-serif"
                font-size="12" fill=(ink) {
                title { (title) }
                (behind)
                text x=(LEFT) y="16" font-size="14" font-weight="600" { (title) }
                (axes::labels(self))
                (axes::separators(self))
                rect x=(LEFT) y=(TOP) width=(SIDE) height=(SIDE) fill="none" stroke=(ink)
                    stroke-opacity=".5" {}
                (legend::scale(self))
            }
        }
    }

    /// The cells as a picture inside the SVG.
    fn cells(&self) -> Result<Markup> {
        let png = cell_image::png(self.grid, self.range)?;
        let data = base64::engine::general_purpose::STANDARD.encode(png);
        Ok(html! {
            image x=(LEFT) y=(TOP) width=(SIDE) height=(SIDE) preserveAspectRatio="none"
                style="image-rendering:pixelated" href={ "data:image/png;base64," (data) } {}
        })
    }

    /// Length of one unit of the axes. The last cell may stand for fewer units than the others.
    fn scale(&self) -> f64 {
        SIDE / (self.grid.side().max(1) * self.grid.per_cell()) as f64
    }

    /// Length of all units.
    fn used(&self) -> f64 {
        self.tasks() as f64 * self.scale()
    }

    fn tasks(&self) -> usize {
        self.grid.tasks().max(1)
    }
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{SparseMatrix, Traffic};

    #[test]
    fn figures_are_xml_whatever_the_names() {
        let cell = Traffic { bytes: 7, messages: 1 };
        for tasks in [0usize, 1, 5, 300] {
            let matrix = SparseMatrix::from_entries(tasks, &[(0, 1, cell), (3, 2, cell)]);
            let positions: Vec<u32> = (0..tasks as u32).collect();
            let grid = Grid::new(&matrix, &positions, 200);
            let groups = vec![(0, "a<b".to_string()), (2, "\u{1}&\"'".into())];
            let figure = Figure {
                grid: &grid,
                range: grid.range(),
                title: "<script>".into(),
                unit: "task",
                groups: if tasks > 2 { groups } else { vec![] },
            };
            for text in [figure.svg().unwrap().into_string(), figure.svg_file().unwrap()] {
                roxmltree::Document::parse(&text).unwrap();
                assert!(text.contains("receiver (task)") && text.contains("sender (task)"));
            }
            assert!(!figure.svg_file().unwrap().contains("currentColor"));
        }
    }
}
