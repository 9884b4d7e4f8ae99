//! EagerMap's CSV: N lines of N numbers, symmetric, the first task on the *last* line.
//!
//! The value of a pair is its traffic in both directions. A reader gives half of it to each direction
//! (`Source::undirected`).

use super::source::Source;
use super::{Export, Format, write_lines};
use crate::base::error::Result;
use crate::matrix::{CommMatrix, Graph};
use std::io::Write;

/// The format.
pub const FORMAT: Format =
    Format::new("eagermap", "symmetric CSV with the first task on the last line, for EagerMap")
        .read_by(detects, read)
        .written_by(write);

const EXPECTED: &str = "N lines of N comma separated numbers, the first task on the last line";

/// The fields of a line. Some writers put a comma after the last field.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.trim().trim_end_matches(',').split(',')
}

fn detects(source: &Source<'_>) -> bool {
    source.content_lines("#").next().is_some_and(|line| {
        line.text.contains(',') && fields(line.text).all(|f| f.trim().parse::<f64>().is_ok())
    })
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let (tasks, cells) = source.square(fields, EXPECTED)?;
    let arcs = cells
        .into_iter()
        .map(|(line, j, value)| (tasks as u32 - 1 - line, j, value.rounded()))
        // The diagonal is not traffic between two tasks.
        .filter(|&(i, j, _)| i != j)
        .collect();
    source.undirected(tasks, arcs, EXPECTED)
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let graph = Graph::from_traffic(&export.matrix);
    let row = |i| {
        let mut values = vec![0u64; graph.vertices()];
        for (j, weight) in graph.arcs(i) {
            values[j as usize] = weight;
        }
        values.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
    };
    write_lines(out, (0..graph.vertices()).rev().map(row))
}
