//! EagerMap's CSV: N lines of N numbers, symmetric, the first task on the *last* line.
//!
//! The value of a pair is its traffic in both directions. A reader splits it into halves
//! (`Source::undirected`).

use super::source::Source;
use super::{Export, Format, Reader, write_error};
use crate::base::error::Result;
use crate::matrix::{CommMatrix, Graph};
use std::io::Write;

/// The format.
pub const FORMAT: Format = Format {
    name: "eagermap",
    about: "symmetric CSV with the first task on the last line, for EagerMap",
    reader: Some(Reader { detects, read }),
    writer: Some(write),
    places_ranks: false,
};

const EXPECTED: &str = "N lines of N comma separated numbers, the first task on the last line";

/// The fields of a line. Some writers put a comma after the last.
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
        .map(|(line, j, value)| (tasks as u32 - 1 - line, j, value))
        // The diagonal means nothing here.
        .filter(|&(i, j, _)| i != j)
        .collect();
    source.undirected(tasks, arcs, EXPECTED)
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let graph = Graph::from_traffic(&export.matrix);
    for i in (0..graph.vertices()).rev() {
        let mut values = vec![0u64; graph.vertices()];
        for (j, weight) in graph.arcs(i) {
            values[j as usize] = weight;
        }
        let line: Vec<String> = values.iter().map(u64::to_string).collect();
        writeln!(out, "{}", line.join(",")).map_err(write_error)?;
    }
    Ok(())
}
