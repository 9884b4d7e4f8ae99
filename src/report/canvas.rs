//! A heat map with axes and legend as PNG, for documents that take no SVG.

use super::grid::{Grid, on_log_scale};
use super::palette::{EMPTY, Rgb, colour};
use super::svg::{Figure, step};
use super::units;
use crate::base::error::{Error, ErrorKind, Result};
use font8x8::UnicodeFonts;

const PAPER: Rgb = [255, 255, 255];
const INK: Rgb = [28, 35, 48];
const LINE: Rgb = [150, 150, 160];
/// Side of a letter in pixels.
const LETTER: usize = 8;
/// The picture has at least this many pixels in each direction.
const LEAST: usize = 512;
const LEFT: usize = 96;
const TOP: usize = 64;
const RIGHT: usize = 24;
const BOTTOM: usize = 64;

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Canvas { width, height, pixels: PAPER.repeat(width * height) }
    }

    fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Rgb) {
        for row in y..(y + height).min(self.height) {
            for column in x..(x + width).min(self.width) {
                let at = 3 * (row * self.width + column);
                self.pixels[at..at + 3].copy_from_slice(&colour);
            }
        }
    }

    /// Writes a text; `upwards` turns it a quarter to the left. Unknown letters leave a gap.
    fn text(&mut self, x: usize, y: usize, text: &str, upwards: bool) {
        for (k, letter) in text.chars().enumerate() {
            let Some(glyph) = font8x8::BASIC_FONTS.get(letter) else { continue };
            for (row, bits) in glyph.iter().enumerate() {
                for column in (0..LETTER).filter(|c| bits >> c & 1 == 1) {
                    let along = k * LETTER + column;
                    match upwards {
                        false => self.fill(x + along, y + row, 1, 1, INK),
                        true if along <= y => self.fill(x + row, y - along, 1, 1, INK),
                        true => {}
                    }
                }
            }
        }
    }
}

/// Draws a figure.
pub fn draw(figure: &Figure<'_>) -> Result<Vec<u8>> {
    let grid = figure.grid;
    let zoom = LEAST.div_ceil(grid.side().max(1)).max(1);
    let side = grid.side().max(1) * zoom;
    let mut canvas = Canvas::new(LEFT + side + RIGHT, TOP + side + BOTTOM);
    cells(&mut canvas, figure, zoom);
    let tasks = grid.tasks().max(1);
    let pixel =
        |unit: f64| (unit * side as f64 / (grid.side() * grid.per_cell()).max(1) as f64) as usize;

    let most = (LEFT + side) / LETTER;
    let title: String = figure.title.chars().take(most).collect();
    canvas.text(8, 8, &title, false);
    let receiver = format!("receiver ({}) >", figure.unit);
    canvas.text(
        LEFT + (side / 2).saturating_sub(receiver.len() * LETTER / 2),
        28,
        &receiver,
        false,
    );
    let sender = format!("< sender ({})", figure.unit);
    canvas.text(8, TOP + side / 2 + sender.len() * LETTER / 2, &sender, true);
    for number in (0..tasks).step_by(step(tasks, 8)) {
        let (at, text) = (pixel(number as f64 + 0.5), number.to_string());
        let long = text.len() * LETTER;
        canvas.text((LEFT + at).saturating_sub(long / 2), TOP - 14, &text, false);
        canvas.fill(LEFT + at, TOP - 4, 1, 4, INK);
        canvas.text(LEFT.saturating_sub(long + 8), (TOP + at).saturating_sub(4), &text, false);
        canvas.fill(LEFT - 4, TOP + at, 4, 1, INK);
    }
    let groups = figure.groups.len();
    if groups > 1 && side / groups >= 6 {
        for (start, _) in figure.groups.iter().skip(1) {
            let at = pixel(*start as f64);
            canvas.fill(LEFT + at, TOP, 1, side, LINE);
            canvas.fill(LEFT, TOP + at, side, 1, LINE);
        }
    }
    legend(&mut canvas, figure, side);
    encode(&canvas)
}

fn cells(canvas: &mut Canvas, figure: &Figure<'_>, zoom: usize) {
    let grid: &Grid = figure.grid;
    canvas.fill(LEFT, TOP, grid.side().max(1) * zoom, grid.side().max(1) * zoom, EMPTY);
    let Some(range) = figure.range else { return };
    for row in 0..grid.side() {
        for column in 0..grid.side() {
            let bytes = grid.at(row, column);
            if bytes > 0 {
                let shade = colour(on_log_scale(bytes, range));
                canvas.fill(LEFT + column * zoom, TOP + row * zoom, zoom, zoom, shade);
            }
        }
    }
}

fn legend(canvas: &mut Canvas, figure: &Figure<'_>, side: usize) {
    let y = TOP + side + 12;
    let Some(range) = figure.range else {
        canvas.text(LEFT, y, "no bytes were sent", false);
        return;
    };
    for x in 0..side {
        canvas.fill(LEFT + x, y, 1, 10, colour(x as f64 / side as f64));
    }
    let (low, high) = (units::bytes(range.0), units::bytes(range.1));
    canvas.text(LEFT, y + 16, &low, false);
    canvas.text(LEFT + side - high.len() * LETTER, y + 16, &high, false);
    let cell = match figure.grid.per_cell() {
        1 => String::new(),
        n => format!(", a cell is {n} x {n}"),
    };
    canvas.text(LEFT, y + 32, &format!("bytes in a cell, log scale, dark: none{cell}"), false);
}

fn encode(canvas: &Canvas) -> Result<Vec<u8>> {
    let failed =
        |e: png::EncodingError| Error::new(ErrorKind::Io, format!("cannot make the picture: {e}"));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, canvas.width as u32, canvas.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&canvas.pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{SparseMatrix, Traffic};

    #[test]
    fn pictures_of_every_size() {
        for tasks in [0usize, 1, 5, 700] {
            let cell = Traffic { bytes: 7, messages: 1 };
            let matrix = SparseMatrix::from_entries(tasks, &[(0, 1, cell)]);
            let positions: Vec<u32> = (0..tasks as u32).collect();
            let grid = Grid::new(&matrix, &positions, 600);
            let figure = Figure {
                grid: &grid,
                range: grid.range(),
                title: "é long title ".repeat(30),
                unit: "task",
                groups: vec![(0, "a".into()), (tasks / 2, "b".into())],
            };
            let bytes = draw(&figure).unwrap();
            let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
            assert!(reader.info().width as usize >= LEAST / 2 + LEFT);
        }
    }
}
