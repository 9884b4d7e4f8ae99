//! The cells of a grid as PNG, one pixel for each cell. This is the picture inside an SVG.

use super::grid::Grid;
use super::palette::{EMPTY, colour};
use crate::base::error::{Error, ErrorKind, Result};

/// Number of colours of the scale; index 0 of the palette is the colour of no traffic.
const STEPS: usize = 255;

/// The grid as PNG. `range` has the ends of the colour scale.
pub fn png(grid: &Grid, range: Option<(u64, u64)>) -> Result<Vec<u8>> {
    let side = grid.side().max(1);
    let index = |k: usize| {
        let place = range.and_then(|range| grid.place(k / side, k % side, range));
        place.map_or(0, |place| 1 + (place * (STEPS - 1) as f64).round() as u8)
    };
    let pixels: Vec<u8> = (0..side * side).map(index).collect();
    let mut palette = EMPTY.to_vec();
    for k in 0..STEPS {
        palette.extend(colour(k as f64 / (STEPS - 1) as f64));
    }
    let failed = |e: png::EncodingError| {
        Error::new(ErrorKind::Io, format!("the picture cannot be made: {e}"))
    };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side as u32, side as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{SparseMatrix, Traffic};

    #[test]
    fn pixels_are_the_cells() {
        let cell = |bytes| Traffic { bytes, messages: 1 };
        let matrix = SparseMatrix::from_entries(3, &[(0, 1, cell(1)), (2, 0, cell(1000))]);
        let grid = Grid::new(&matrix, &[0, 1, 2], 10);
        let bytes = png(&grid, grid.range()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (3, 3));
        assert_eq!(pixels, [0, 1, 0, 0, 0, 0, 255, 0, 0]);
        assert!(png(&Grid::new(&SparseMatrix::empty(0), &[], 10), None).is_ok());
    }
}
