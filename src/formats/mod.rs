//! Files of other tools: matrices in and out, rank orders out.
//!
//! Every format is one file here and one [`Format`] in [`FORMATS`]; [`csv`] is the template. What
//! a file is, is told from its content, never from its name. Readers work in time linear in the
//! file (times a sort), never panic, allocate no more than the content warrants whatever a header
//! claims, and name file and line of the first thing that is wrong.
//!
//! Formats that carry no number of messages are read as one message for each pair with bytes.

pub mod csv;
pub mod eagermap;
pub mod json;
pub mod metis;
pub mod mtx;
pub mod npz;
pub mod picture;
pub mod prof;
pub mod rank_orders;
pub mod scotch;
mod source;
pub mod treematch;

pub use source::{MAX_TASKS, Source};

use crate::base::error::{Error, ErrorKind, Result};
use crate::matrix::{CommMatrix, Kind, SparseMatrix};
use crate::store::Record;
use std::io::Write;

/// What a writer gets.
pub struct Export<'a> {
    /// The record, for names and places.
    pub record: &'a Record,
    /// The kinds of traffic asked for.
    pub kinds: &'a [Kind],
    /// The traffic of these kinds added up.
    pub matrix: SparseMatrix,
    /// The process of each task, for formats that say where ranks go.
    pub process_of_task: Vec<u32>,
}

impl<'a> Export<'a> {
    /// The traffic of some kinds, in the rank order of the recorded launch.
    pub fn new(record: &'a Record, kinds: &'a [Kind]) -> Self {
        let process_of_task =
            (0..record.matrix.tasks()).map(|task| record.launch.process_of(task) as u32).collect();
        Export { record, kinds, matrix: record.matrix.sum_of(kinds), process_of_task }
    }
}

/// A file format: reads, writes, or both.
pub trait Format: Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// What it is and who reads it, in one line.
    fn about(&self) -> &'static str;

    /// True if the content looks like this format.
    fn detects(&self, _source: &Source<'_>) -> bool {
        false
    }

    /// True if [`Format::read`] works.
    fn reads(&self) -> bool {
        false
    }

    /// The matrix in a file.
    fn read(&self, source: &Source<'_>) -> Result<CommMatrix> {
        let message = format!("{} files are written, not read", self.name());
        Err(Error::new(ErrorKind::Usage, message).at(source.name()))
    }

    /// True if [`Format::write`] works.
    fn writes(&self) -> bool {
        false
    }

    /// True if the file says where ranks go, rather than who talks to whom.
    fn places_ranks(&self) -> bool {
        false
    }

    /// Writes an export.
    fn write(&self, _export: &Export<'_>, _out: &mut dyn Write) -> Result<()> {
        Err(Error::new(ErrorKind::Usage, format!("{} files are read, not written", self.name())))
    }
}

/// All formats; the order is that of detection: what has a clear mark comes first.
pub static FORMATS: &[&dyn Format] = &[
    &json::Json,
    &mtx::MatrixMarket,
    &csv::Csv,
    &prof::Prof,
    &eagermap::EagerMap,
    &treematch::TreeMatch,
    &scotch::Graphs,
    &metis::Metis,
    &npz::Npz,
    &picture::Png,
    &picture::Svg,
    &rank_orders::Rankfile,
    &rank_orders::Prrte,
    &rank_orders::MpichRankmap,
    &rank_orders::Hydra,
    &rank_orders::Slurm,
    &rank_orders::Cray,
    &scotch::Mappings,
    &scotch::Targets,
];

/// The format of that name.
pub fn by_name(name: &str) -> Result<&'static dyn Format> {
    FORMATS.iter().copied().find(|f| f.name() == name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name()).collect();
        Error::new(ErrorKind::Usage, format!("unknown format '{name}'"))
            .advise(format!("one of {}", names.join(", ")))
    })
}

/// The format of a content.
pub fn detect(source: &Source<'_>) -> Result<&'static dyn Format> {
    FORMATS.iter().copied().find(|f| f.reads() && f.detects(source)).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().filter(|f| f.reads()).map(|f| f.name()).collect();
        Error::new(ErrorKind::Format, "the file has none of the known matrix formats")
            .at(source.name())
            .advise(format!("a file of one of {}", names.join(", ")))
    })
}

/// Reads a matrix of any format; `name` is for messages.
pub fn read(name: &str, bytes: &[u8]) -> Result<CommMatrix> {
    let source = Source::new(name, bytes);
    detect(&source)?.read(&source)
}

/// An error of writing, for formats.
pub(crate) fn write_error(error: std::io::Error) -> Error {
    let message = format!("cannot write: {error}");
    Error::new(ErrorKind::Io, message)
}

#[cfg(test)]
mod tests;
