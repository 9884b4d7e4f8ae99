//! EagerMap's CSV: N lines of N numbers, symmetric, the first task on the *last* line.
//!
//! The value of a pair is its traffic in both directions. Read back it is split like a METIS edge.

use super::metis::check_both_ends;
use super::source::{MAX_TASKS, Source, counted_once};
use super::{Export, Format, write_error};
use crate::base::error::Result;
use crate::matrix::{CommMatrix, Graph, SparseMatrix};
use std::io::Write;

/// The format.
pub struct EagerMap;

const EXPECTED: &str = "N lines of N comma separated numbers, the first task on the last line";

impl Format for EagerMap {
    fn name(&self) -> &'static str {
        "eagermap"
    }

    fn about(&self) -> &'static str {
        "symmetric CSV with the first task on the last line, for EagerMap"
    }

    fn detects(&self, source: &Source<'_>) -> bool {
        source.content_lines("#").next().is_some_and(|line| {
            let fields = line.text.trim().trim_end_matches(',').split(',');
            line.text.contains(',') && fields.into_iter().all(|f| f.trim().parse::<f64>().is_ok())
        })
    }

    fn reads(&self) -> bool {
        true
    }

    fn read(&self, source: &Source<'_>) -> Result<CommMatrix> {
        let mut cells: Vec<(u32, u32, u64)> = Vec::new();
        let mut tasks = 0usize;
        let mut rows = 0usize;
        for line in source.content_lines("#") {
            let mut columns = 0usize;
            for field in line.text.trim().trim_end_matches(',').split(',') {
                let value = line.weight(field, EXPECTED)?;
                if columns >= MAX_TASKS || rows >= MAX_TASKS {
                    return Err(line.error(format!("more than {MAX_TASKS} tasks"), EXPECTED));
                }
                if value > 0 {
                    cells.push((rows as u32, columns as u32, value));
                }
                columns += 1;
            }
            if rows == 0 {
                tasks = columns;
            } else if columns != tasks {
                let what = format!("{columns} numbers where the first line has {tasks}");
                return Err(line.error(what, EXPECTED));
            }
            rows += 1;
        }
        if rows != tasks {
            return Err(source.error(format!("{rows} lines of {tasks} numbers"), EXPECTED));
        }
        let mut arcs: Vec<_> = cells
            .into_iter()
            .map(|(line, j, value)| (tasks as u32 - 1 - line, j, value))
            // The diagonal means nothing here.
            .filter(|&(i, j, _)| i != j)
            .collect();
        check_both_ends(source, &mut arcs, EXPECTED)?;
        let entries: Vec<_> = arcs
            .into_iter()
            .map(|(i, j, w)| (i, j, counted_once(if i < j { w - w / 2 } else { w / 2 })))
            .collect();
        Ok(CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks, &entries)))
    }

    fn writes(&self) -> bool {
        true
    }

    fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
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
}
