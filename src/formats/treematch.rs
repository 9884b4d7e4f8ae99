//! TreeMatch and TopoMatch matrices (`.mat`): N lines of N numbers of bytes, without a header.
//!
//! Line i is what task i sent. Open MPI's profile2mat writes the same. TreeMatch reads lines of up
//! to 1 000 000 bytes, which is about 200 000 divided by the digits of a value in tasks; larger
//! matrices are written all the same, for readers without that limit.

use super::source::{Line, Source, counted_once};
use super::{Export, Format, Reader, write_error};
use crate::base::error::Result;
use crate::matrix::{CommMatrix, SparseMatrix};
use std::io::Write;

/// The format.
pub const FORMAT: Format = Format {
    name: "treematch",
    about: "dense matrix of bytes (.mat) for TreeMatch, TopoMatch",
    reader: Some(Reader { detects, read }),
    writer: Some(write),
    places_ranks: false,
};

const EXPECTED: &str = "as many numbers in every line as there are lines";

fn detects(source: &Source<'_>) -> bool {
    // METIS and Scotch files consist of numbers too, but do not have as many lines as there are
    // numbers in the first line and in the last.
    let mut lines = source.content_lines("#");
    let Some(first) = lines.next() else { return false };
    let (count, last) = lines.fold((1, first), |(count, _), line| (count + 1, line));
    let square = |line: Line<'_>| {
        let mut fields = line.text.split_ascii_whitespace();
        fields.clone().count() == count && fields.all(|field| field.parse::<f64>().is_ok())
    };
    square(first) && square(last)
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let (tasks, cells) = source.square(str::split_ascii_whitespace, EXPECTED)?;
    let entries: Vec<_> = cells.into_iter().map(|(i, j, v)| (i, j, counted_once(v))).collect();
    Ok(CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks, &entries)))
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let matrix = &export.matrix;
    for i in 0..matrix.tasks() {
        let mut next = 0u32;
        let mut line = String::new();
        for (j, traffic) in matrix.row(i) {
            line.extend((next..j).map(|_| "0 "));
            line.push_str(&format!("{} ", traffic.bytes));
            next = j + 1;
        }
        line.extend((next..matrix.tasks() as u32).map(|_| "0 "));
        line.push('\n');
        out.write_all(line.as_bytes()).map_err(write_error)?;
    }
    Ok(())
}
