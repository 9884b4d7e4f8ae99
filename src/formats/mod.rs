//! Files of other tools: communication matrices are read and written, rank orders are written.
//!
//! Every format has a file here and a line in [`FORMATS`]; [`csv`] is the template. A file is
//! recognised by its content, never by its name. Readers work in time linear in the file (times a
//! sort). They never panic. They allocate no more than the content warrants, whatever a header
//! claims. Their errors name the file and the line of the first mistake.
//!
//! A format without message counts is read as one message for each pair with bytes.

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

/// The input of a writer.
pub struct Export<'a> {
    /// The record, from which writers take names and places.
    pub record: &'a Record,
    /// The kinds of traffic that the user asked for.
    pub kinds: &'a [Kind],
    /// The traffic of these kinds added up.
    pub matrix: SparseMatrix,
    /// The process of each task, for formats that say where ranks go.
    pub process_of_task: Vec<u32>,
}

impl<'a> Export<'a> {
    /// An export of these kinds of traffic, with the rank order of the recorded launch.
    pub fn new(record: &'a Record, kinds: &'a [Kind]) -> Self {
        let process_of_task =
            (0..record.matrix.tasks()).map(|task| record.launch.process_of(task) as u32).collect();
        Export { record, kinds, matrix: record.matrix.sum_of(kinds), process_of_task }
    }
}

/// A file format: its name, and the functions that read and write it.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is and which tools read it, in one line.
    pub about: &'static str,
    reader: Option<Reader>,
    writer: Option<Writer>,
    /// True if a file says where ranks go, rather than which tasks talk to each other.
    pub places_ranks: bool,
}

/// How a format is recognised and read.
struct Reader {
    /// True if the content looks like the format.
    detects: fn(&Source<'_>) -> bool,
    read: fn(&Source<'_>) -> Result<CommMatrix>,
}

type Writer = fn(&Export<'_>, &mut dyn Write) -> Result<()>;

impl Format {
    /// A format that says where ranks go. Such formats are only written.
    const fn rank_order(name: &'static str, about: &'static str, writer: Writer) -> Self {
        Format { name, about, reader: None, writer: Some(writer), places_ranks: true }
    }

    /// True if [`Format::read`] works.
    pub fn reads(&self) -> bool {
        self.reader.is_some()
    }

    /// True if [`Format::write`] works.
    pub fn writes(&self) -> bool {
        self.writer.is_some()
    }

    /// True if the content looks like this format, and can be read.
    pub fn detects(&self, source: &Source<'_>) -> bool {
        self.reader.as_ref().is_some_and(|reader| (reader.detects)(source))
    }

    /// The matrix in a file.
    pub fn read(&self, source: &Source<'_>) -> Result<CommMatrix> {
        let Some(reader) = &self.reader else {
            let message = format!("{} files are written, not read", self.name);
            return Err(Error::new(ErrorKind::Usage, message).at(source.name()));
        };
        (reader.read)(source)
    }

    /// Writes an export.
    pub fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
        let Some(write) = self.writer else {
            let message = format!("{} files are read, not written", self.name);
            return Err(Error::new(ErrorKind::Usage, message));
        };
        write(export, out)
    }
}

/// All formats, in the order in which they are tried: those with a clear mark come first.
pub static FORMATS: &[Format] = &[
    json::FORMAT,
    mtx::FORMAT,
    csv::FORMAT,
    prof::FORMAT,
    eagermap::FORMAT,
    treematch::FORMAT,
    scotch::GRAPH,
    metis::FORMAT,
    npz::FORMAT,
    picture::PNG,
    picture::SVG,
    rank_orders::RANKFILE,
    rank_orders::PRRTE,
    rank_orders::MPICH_RANKMAP,
    rank_orders::HYDRA,
    rank_orders::SLURM,
    rank_orders::CRAY,
    scotch::MAPPING,
    scotch::TARGET,
];

/// The format with this name.
pub fn by_name(name: &str) -> Result<&'static Format> {
    FORMATS.iter().find(|f| f.name == name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        Error::new(ErrorKind::Usage, format!("unknown format '{name}'"))
            .advise(format!("one of {}", names.join(", ")))
    })
}

/// The format that a content has.
pub fn detect(source: &Source<'_>) -> Result<&'static Format> {
    FORMATS.iter().find(|f| f.detects(source)).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().filter(|f| f.reads()).map(|f| f.name).collect();
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

/// The error of a failed write.
pub(crate) fn write_error(error: std::io::Error) -> Error {
    let message = format!("cannot write: {error}");
    Error::new(ErrorKind::Io, message)
}

#[cfg(test)]
mod tests;
