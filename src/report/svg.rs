//! A heat map with axes, node lines and legend as SVG; the cells are a PNG inside it.

use super::grid::{Grid, on_log_scale};
use super::image;
use super::palette::{Rgb, colour};
use super::units;
use crate::base::error::Result;
use base64::Engine;
use std::fmt::Write;

/// What to draw.
pub struct Figure<'a> {
    /// The cells.
    pub grid: &'a Grid,
    /// Ends of the colour scale: the same for pictures that are compared.
    pub range: Option<(u64, u64)>,
    /// Heading.
    pub title: String,
    /// What rows and columns are: `task`, `process`, `node`.
    pub unit: &'a str,
    /// Where groups begin, in units of the axes, with a name for each; the first begins at 0.
    pub groups: Vec<(usize, String)>,
}

/// Most cells in each direction: with more than there are pixels, thin lines would vanish where a
/// viewer leaves pixels out.
pub const CELLS: usize = 430;
/// Side of the picture itself.
const SIDE: f64 = CELLS as f64;
const LEFT: f64 = 74.0;
const TOP: f64 = 66.0;
/// Most groups that are named on the axes; more are only separated by lines.
const NAMED: usize = 16;

/// Text for XML and HTML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A step of 1, 2 or 5 times a power of ten that gives at most `most` ticks up to `end`.
pub(super) fn step(end: usize, most: usize) -> usize {
    let mut base = 1usize;
    loop {
        for factor in [1, 2, 5] {
            let step = base.saturating_mul(factor);
            if end / step <= most || step == usize::MAX {
                return step;
            }
        }
        base = base.saturating_mul(10);
    }
}

/// Draws a figure.
pub fn draw(figure: &Figure<'_>) -> Result<String> {
    let mut out = String::new();
    let grid = figure.grid;
    let png = image::png(grid, figure.range)?;
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    let (width, height) = (LEFT + SIDE + 24.0, TOP + SIDE + 62.0);
    let tasks = grid.tasks().max(1);
    // The last cell may stand for fewer units than the others.
    let scale = SIDE / (grid.side().max(1) * grid.per_cell()) as f64;
    let used = tasks as f64 * scale;
    // Writing into a string does not fail.
    let mut put = |text: String| {
        let _ = out.write_str(&text);
    };
    put(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"system-ui, sans-serif\" \
         font-size=\"12\" fill=\"currentColor\"><title>{}</title>",
        escaped(&figure.title)
    ));
    put(format!(
        "<text x=\"{LEFT}\" y=\"16\" font-size=\"14\" font-weight=\"600\">{}</text>",
        escaped(&figure.title)
    ));
    put(format!(
        "<image x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" \
         preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
         href=\"data:image/png;base64,{data}\"/>"
    ));
    let middle = used / 2.0;
    put(format!(
        "<text x=\"{}\" y=\"36\" text-anchor=\"middle\">receiver ({}) →</text>",
        LEFT + middle,
        figure.unit
    ));
    put(format!(
        "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">\
         ← sender ({})</text>",
        TOP + middle,
        figure.unit
    ));
    let tick = |put: &mut dyn FnMut(String), at: f64, text: &str| {
        let text = escaped(text);
        put(format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\">{text}</text>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\">{text}</text>",
            LEFT + at,
            TOP - 6.0,
            LEFT - 5.0,
            TOP + at + 4.0
        ));
    };
    let groups = figure.groups.len();
    if groups > 1 && groups <= NAMED {
        for (k, (start, name)) in figure.groups.iter().enumerate() {
            let end = figure.groups.get(k + 1).map_or(tasks, |g| g.0);
            // As much of the name as the room allows; all of it shows on hovering.
            let room = ((end - start) as f64 * scale / 7.0) as usize;
            let short: String = match name.chars().count() > room.min(9) {
                true => {
                    let tail: Vec<char> = name.chars().collect();
                    let keep = room.clamp(2, 9).min(tail.len());
                    tail[tail.len() - keep..].iter().collect()
                }
                false => name.clone(),
            };
            tick(&mut put, (start + end) as f64 / 2.0 * scale, &short);
        }
    } else {
        let step = step(tasks, 9);
        for number in (0..tasks).step_by(step) {
            tick(&mut put, (number as f64 + 0.5) * scale, &number.to_string());
        }
    }
    // Lines between groups, unless they would hide what is between them.
    if groups > 1 && scale * tasks as f64 / groups as f64 >= 5.0 {
        let mut path = String::new();
        for (start, _) in figure.groups.iter().skip(1) {
            let at = *start as f64 * scale;
            path.push_str(&format!(
                "M{:.1} {TOP}v{used:.1}M{LEFT} {:.1}h{used:.1}",
                LEFT + at,
                TOP + at
            ));
        }
        put(format!("<path d=\"{path}\" stroke=\"#fff\" stroke-opacity=\".45\" fill=\"none\"/>"));
    }
    put(format!(
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" \
         stroke=\"currentColor\" stroke-opacity=\".5\"/>"
    ));
    legend(figure, &mut put);
    put("</svg>".into());
    Ok(out)
}

/// The colour scale with the bytes at its ends and between.
fn legend(figure: &Figure<'_>, put: &mut dyn FnMut(String)) {
    const STEPS: usize = 64;
    let y = TOP + SIDE + 14.0;
    let Some((low, high)) = figure.range else {
        put(format!("<text x=\"{LEFT}\" y=\"{}\">no bytes were sent</text>", y + 12.0));
        return;
    };
    let wide = SIDE / STEPS as f64;
    for k in 0..STEPS {
        put(format!(
            "<rect x=\"{:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"10\" fill=\"{}\" \
             shape-rendering=\"crispEdges\"/>",
            LEFT + k as f64 * wide,
            wide + 0.5,
            hex(colour(k as f64 / (STEPS - 1) as f64))
        ));
    }
    let mut ticks = vec![(low, "start"), (high, "end")];
    if high / low.max(1) >= 100 {
        let between = ((low as f64) * (high as f64)).sqrt() as u64;
        ticks.push((between, "middle"));
    }
    for (bytes, anchor) in ticks {
        if low == high && anchor == "start" {
            continue;
        }
        put(format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\" font-size=\"11\">{}</text>",
            LEFT + on_log_scale(bytes, (low, high)) * SIDE,
            y + 24.0,
            units::bytes(bytes)
        ));
    }
    let cell = match figure.grid.per_cell() {
        1 => String::new(),
        n => format!(" (a cell is {n} × {n} {}s)", figure.unit),
    };
    put(format!(
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"11\">bytes in a cell, logarithmic scale; dark: \
         none{cell}</text>",
        y + 40.0
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{SparseMatrix, Traffic};

    #[test]
    fn steps_are_round() {
        assert_eq!([step(4, 9), step(64, 9), step(100, 9), step(5000, 9)], [1, 10, 20, 1000]);
        step(usize::MAX, 9);
    }

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
            let text = draw(&figure).unwrap();
            roxmltree::Document::parse(&text).unwrap();
            assert!(text.contains("receiver (task)") && text.contains("sender (task)"));
        }
    }
}
