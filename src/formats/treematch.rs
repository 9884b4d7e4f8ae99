//! TreeMatch and TopoMatch matrices (`.mat`): N lines of N numbers of bytes, without a header.
//!
//! Line i holds the bytes that task i sent. Open MPI's profile2mat writes the same format. TreeMatch reads
//! lines of up to 1 000 000 bytes. Files with longer lines are written too, for readers without that limit.

use super::source::{Entries, Line, Source};
use super::{Export, Format, bytes_of, write_lines};
use crate::base::error::Result;
use crate::matrix::CommMatrix;
use std::io::Write;

/// The format.
pub const FORMAT: Format =
    Format::new("treematch", "dense matrix of bytes (.mat) for TreeMatch, TopoMatch")
        .read_by(detects, read)
        .written_by(write);

const EXPECTED: &str = "as many numbers in every line as there are lines";

fn detects(source: &Source<'_>) -> bool {
    // METIS and Scotch files consist of numbers too, but in these files the number of lines differs from
    // the number of fields in the first or in the last line.
    let mut lines = source.content_lines("#");
    let Some(first) = lines.next() else { return false };
    let columns = first.text.split_ascii_whitespace().count();
    // One line more than a square table has is enough to tell that this is none.
    let (count, last) = lines.take(columns).fold((1, first), |(count, _), line| (count + 1, line));
    let square = |line: Line<'_>| {
        let mut fields = line.text.split_ascii_whitespace();
        fields.clone().count() == count && fields.all(|field| field.parse::<f64>().is_ok())
    };
    square(first) && square(last)
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let (tasks, cells) = source.square(str::split_ascii_whitespace, EXPECTED)?;
    let mut entries = Entries::default();
    cells.into_iter().for_each(|(i, j, value)| entries.push((i, j), value, None));
    Ok(entries.matrix(tasks))
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let matrix = &export.matrix;
    let row = |i| {
        let mut next = 0u32;
        let mut line = String::new();
        for (j, traffic) in matrix.row(i) {
            line.extend((next..j).map(|_| "0 "));
            line.push_str(&format!("{} ", bytes_of(matrix, traffic)));
            next = j + 1;
        }
        line.extend((next..matrix.tasks() as u32).map(|_| "0 "));
        line
    };
    write_lines(out, (0..matrix.tasks()).map(row))
}
