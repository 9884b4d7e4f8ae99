//! The colour scale of a figure, with the bytes at its ends and in its middle.

use super::{Figure, LEFT, SIDE, TOP, hex};
use crate::report::grid::on_log_scale;
use crate::report::palette::colour;
use crate::report::units;
use maud::{Markup, html};

/// The number of steps in which the scale is drawn.
const STEPS: usize = 64;
/// If the ratio of the ends is at least this large, the middle of the scale gets a number too.
const FAR_APART: u64 = 100;

/// The scale below the cells.
pub(super) fn scale(figure: &Figure<'_>) -> Markup {
    let y = TOP + SIDE + 14.0;
    let Some(range) = figure.range else {
        return html! { text x=(LEFT) y=(y + 12.0) { "no bytes were sent" } };
    };
    let wide = SIDE / STEPS as f64;
    let cell = match figure.grid.per_cell() {
        1 => String::new(),
        n => format!(" (a cell is {n} × {n} {}s)", figure.unit),
    };
    html! {
        @for k in 0..STEPS {
            rect x=(format!("{:.2}", LEFT + k as f64 * wide)) y=(y)
                width=(format!("{:.2}", wide + 0.5)) height="10"
                fill=(hex(colour(k as f64 / (STEPS - 1) as f64))) shape-rendering="crispEdges" {}
        }
        @for (bytes, anchor) in numbers(range) {
            text x=(format!("{:.1}", LEFT + on_log_scale(bytes, range) * SIDE)) y=(y + 24.0)
                text-anchor=(anchor) font-size="11" { (units::bytes(bytes)) }
        }
        text x=(LEFT) y=(y + 40.0) font-size="11" {
            "bytes in a cell, logarithmic scale; dark: none" (cell)
        }
    }
}

/// The numbers below the scale, each with its `text-anchor`.
fn numbers((low, high): (u64, u64)) -> Vec<(u64, &'static str)> {
    if low == high {
        return vec![(high, "end")];
    }
    let mut numbers = vec![(low, "start"), (high, "end")];
    if high / low.max(1) >= FAR_APART {
        numbers.push((((low as f64) * (high as f64)).sqrt() as u64, "middle"));
    }
    numbers
}
