//! A figure as PNG, for documents that take no SVG.
//!
//! The letters are those of DejaVu Sans, which comes with the crate `dejavu`. So the picture is the same on
//! every machine, with any fonts.

use super::{Figure, HEIGHT, INK, LEFT, SIDE, TOP, WIDTH};
use crate::base::error::{Error, ErrorKind, Result};
use crate::report::palette::{EMPTY, Rgb, colour};
use maud::html;
use resvg::tiny_skia::{Color, Pixmap, PremultipliedColorU8, Transform};
use resvg::usvg;
use std::sync::Arc;

/// The square of cells has at least this many pixels in each direction.
const LEAST: usize = 860;
/// The family that replaces all fonts of the SVG.
const FAMILY: &str = "DejaVu Sans";

/// Draws a figure. Every cell is a square of the same whole number of pixels.
///
/// Errors: the picture cannot be made.
pub fn png(figure: &Figure<'_>) -> Result<Vec<u8>> {
    let side = figure.grid.side().max(1);
    let zoom = LEAST.div_ceil(side);
    let scale = (side * zoom) as f64 / SIDE;
    let failed =
        |what: String| Error::new(ErrorKind::Io, format!("the picture cannot be made: {what}"));
    let size = |length: f64| (length * scale).ceil() as u32;
    let mut canvas = Pixmap::new(size(WIDTH), size(HEIGHT))
        .ok_or_else(|| failed("there is no memory for it".into()))?;
    canvas.fill(Color::WHITE);
    let origin = [LEFT, TOP].map(|length| (length * scale).round() as usize);
    cells(figure, &mut canvas, origin, zoom);
    let svg = figure.element(INK, html! {}).into_string();
    let tree = usvg::Tree::from_str(&svg, &options()).map_err(|e| failed(e.to_string()))?;
    let transform = Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut canvas.as_mut());
    canvas.encode_png().map_err(|e| failed(e.to_string()))
}

fn options() -> usvg::Options<'static> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(dejavu::sans::regular())));
    fonts.set_sans_serif_family(FAMILY);
    usvg::Options { font_family: FAMILY.into(), fontdb: Arc::new(fonts), ..Default::default() }
}

/// Fills the square of cells, whose first pixel is at `x`, `y`.
fn cells(figure: &Figure<'_>, canvas: &mut Pixmap, [x, y]: [usize; 2], zoom: usize) {
    let side = figure.grid.side().max(1);
    let width = canvas.width() as usize;
    let rows = canvas.pixels_mut().chunks_exact_mut(width).skip(y).take(side * zoom);
    for (line, pixels) in rows.enumerate() {
        for (column, pixel) in pixels.iter_mut().skip(x).take(side * zoom).enumerate() {
            let place = |range| figure.grid.place(line / zoom, column / zoom, range);
            *pixel = opaque(figure.range.and_then(place).map_or(EMPTY, colour));
        }
    }
}

fn opaque([r, g, b]: Rgb) -> PremultipliedColorU8 {
    // An opaque colour is its own premultiplied one.
    PremultipliedColorU8::from_rgba(r, g, b, u8::MAX).unwrap_or(PremultipliedColorU8::TRANSPARENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{SparseMatrix, Traffic};
    use crate::report::Grid;

    fn drawn(tasks: usize, title: &str) -> (png::OutputInfo, Vec<u8>) {
        let cell = Traffic { bytes: 7, messages: 1 };
        let matrix = SparseMatrix::from_entries(tasks, &[(0, 1, cell)]);
        let positions: Vec<u32> = (0..tasks as u32).collect();
        let grid = Grid::new(&matrix, &positions, 600);
        let figure = Figure {
            grid: &grid,
            range: grid.range(),
            title: title.into(),
            unit: "task",
            groups: vec![(0, "a".into()), (tasks / 2, "b".into())],
        };
        let bytes = png(&figure).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info, pixels)
    }

    #[test]
    fn pictures_of_every_size() {
        for tasks in [0usize, 1, 5, 700] {
            let (info, pixels) = drawn(tasks, &"é long title \u{1}<&".repeat(30));
            assert!(info.width as usize > LEAST && info.height > info.width);
            assert_eq!(pixels.len() % (info.width * info.height) as usize, 0);
        }
    }

    #[test]
    fn cells_are_whole_pixels_and_letters_are_drawn() {
        let (info, pixels) = drawn(5, "title");
        let channels = pixels.len() / (info.width * info.height) as usize;
        let (zoom, origin) = (LEAST / 5, [LEFT, TOP].map(|x| (x * 2.0).round() as usize));
        let at = |x: usize, y: usize| {
            let start = (y * info.width as usize + x) * channels;
            [pixels[start], pixels[start + 1], pixels[start + 2]]
        };
        let middle = |row: usize, column: usize| {
            at(origin[0] + column * zoom + zoom / 2, origin[1] + row * zoom + zoom / 2)
        };
        assert_eq!((middle(0, 1), middle(1, 0)), (colour(1.0), EMPTY));
        // The title's line is neither all paper nor all ink.
        let line: Vec<_> = (0..info.width as usize).map(|x| at(x, 24)).collect();
        assert!(line.contains(&[255, 255, 255]) && line.iter().any(|c| c[0] < 100), "no title");
    }
}
