//! TreeMatch and TopoMatch matrices (`.mat`): N lines of N numbers of bytes, without a header.
//!
//! Line i is what task i sent. Open MPI's profile2mat writes the same. TreeMatch reads lines of up
//! to 1 000 000 bytes, which is about 200 000 divided by the digits of a value in tasks; larger
//! matrices are written all the same, for readers without that limit.

use super::source::{MAX_TASKS, Source, counted_once};
use super::{Export, Format, write_error};
use crate::base::error::Result;
use crate::matrix::{CommMatrix, SparseMatrix};
use std::io::Write;

/// The format.
pub struct TreeMatch;

const EXPECTED: &str = "as many numbers in every line as there are lines";

impl Format for TreeMatch {
    fn name(&self) -> &'static str {
        "treematch"
    }

    fn about(&self) -> &'static str {
        "dense matrix of bytes (.mat) for TreeMatch, TopoMatch"
    }

    fn detects(&self, source: &Source<'_>) -> bool {
        // As many lines as numbers in the first and in the last of them: METIS and Scotch files,
        // which consist of numbers too, do not look like that.
        let mut lines = source.content_lines("#");
        let Some(first) = lines.next() else { return false };
        let mut count = 1usize;
        let mut last = first;
        for line in lines {
            count += 1;
            last = line;
        }
        let numbers = |text: &str| -> Option<usize> {
            let mut n = 0;
            for field in text.split_ascii_whitespace() {
                field.parse::<f64>().ok()?;
                n += 1;
            }
            Some(n)
        };
        numbers(first.text) == Some(count) && numbers(last.text) == Some(count)
    }

    fn reads(&self) -> bool {
        true
    }

    fn read(&self, source: &Source<'_>) -> Result<CommMatrix> {
        let mut entries = Vec::new();
        let mut tasks = 0usize;
        let mut row = 0usize;
        for line in source.content_lines("#") {
            let mut columns = 0usize;
            for field in line.text.split_ascii_whitespace() {
                let bytes = line.weight(field, "a number of bytes")?;
                if columns >= MAX_TASKS || row >= MAX_TASKS {
                    return Err(line.error(format!("more than {MAX_TASKS} tasks"), EXPECTED));
                }
                if bytes > 0 {
                    entries.push((row as u32, columns as u32, counted_once(bytes)));
                }
                columns += 1;
            }
            if row == 0 {
                tasks = columns;
            } else if columns != tasks {
                let what = format!("{columns} numbers where the first line has {tasks}");
                return Err(line.error(what, EXPECTED));
            }
            row += 1;
        }
        if row != tasks {
            return Err(source.error(format!("{row} lines of {tasks} numbers"), EXPECTED));
        }
        Ok(CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks, &entries)))
    }

    fn writes(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
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
}
