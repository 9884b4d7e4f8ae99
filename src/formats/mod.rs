//! Files of other tools: communication matrices are read and written, rank orders are written.
//!
//! Every format has a file here and a line in [`FORMATS`]; [`csv`] is the template. A file is
//! recognised by its content, never by its name. A reader takes as long as sorting the entries of the file
//! takes. It never panics. The memory that it allocates depends on the content of the file, not on the
//! numbers that a header claims. Its errors name the file and the line of the first mistake.
//!
//! A format without message counts is read as one message for each pair with bytes.

pub mod csv;
mod cursor;
pub mod eagermap;
pub mod json;
pub mod metis;
pub mod mtx;
pub mod npz;
pub mod picture;
mod pieces;
pub mod prof;
pub mod rank_orders;
pub mod scotch;
mod source;
pub mod treematch;

pub use source::{MAX_TASKS, Source};

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nearest::one_of;
use crate::matrix::{CommMatrix, Kind, SparseMatrix, Traffic};
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
    /// A format that is neither read nor written yet.
    const fn new(name: &'static str, about: &'static str) -> Self {
        Format { name, about, reader: None, writer: None, places_ranks: false }
    }

    /// The format with functions that recognise and read it.
    const fn read_by(
        self,
        detects: fn(&Source<'_>) -> bool,
        read: fn(&Source<'_>) -> Result<CommMatrix>,
    ) -> Self {
        Format { reader: Some(Reader { detects, read }), ..self }
    }

    /// The format with a function that writes it.
    const fn written_by(self, write: Writer) -> Self {
        Format { writer: Some(write), ..self }
    }

    /// The format with a function that writes it, for files that say where ranks go.
    const fn placing_ranks(self, write: Writer) -> Self {
        Format { writer: Some(write), places_ranks: true, ..self }
    }

    /// True if files of this format can be read.
    pub fn reads(&self) -> bool {
        self.reader.is_some()
    }

    /// True if files of this format can be written.
    pub fn writes(&self) -> bool {
        self.writer.is_some()
    }

    /// True if the content looks like this format, and can be read.
    pub fn detects(&self, source: &Source<'_>) -> bool {
        self.reader.as_ref().is_some_and(|reader| (reader.detects)(source))
    }

    /// The matrix in a file. Errors: the format is only written, or the file has a mistake.
    pub fn read(&self, source: &Source<'_>) -> Result<CommMatrix> {
        let Some(reader) = &self.reader else {
            let message = format!("{} files are written, not read", self.name);
            let readable = FORMATS.iter().filter(|f| f.reads()).map(|f| f.name);
            return Err(Error::new(ErrorKind::Usage, message)
                .at(source.name())
                .advise(format!("read one of {}", readable.collect::<Vec<_>>().join(", "))));
        };
        (reader.read)(source)
    }

    /// Writes an export. Errors: the format is only read, the record lacks what the format needs, or the
    /// output cannot be written.
    pub fn write(&self, export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
        let Some(write) = self.writer else {
            let message = format!("{} files are read, not written", self.name);
            let writable = FORMATS.iter().filter(|f| f.writes()).map(|f| f.name);
            return Err(Error::new(ErrorKind::Usage, message)
                .advise(format!("write one of {}", writable.collect::<Vec<_>>().join(", "))));
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

/// The format with this name. Errors: there is none.
pub fn by_name(name: &str) -> Result<&'static Format> {
    FORMATS.iter().find(|f| f.name == name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        Error::new(ErrorKind::Usage, format!("unknown format '{name}'"))
            .advise(one_of(name, &names))
    })
}

/// The format of a content. Errors: the content has none of the formats that can be read.
pub fn detect(source: &Source<'_>) -> Result<&'static Format> {
    FORMATS.iter().find(|f| f.detects(source)).ok_or_else(|| {
        if let Some((by, tool)) = compression(source.bytes()) {
            let advice = format!("unpack it: {tool} {} | rankweave … -", source.name());
            return Error::new(ErrorKind::Format, format!("the file is compressed by {by}"))
                .at(source.name())
                .advise(advice);
        }
        let names: Vec<&str> = FORMATS.iter().filter(|f| f.reads()).map(|f| f.name).collect();
        Error::new(ErrorKind::Format, "the file has none of the known matrix formats")
            .at(source.name())
            .advise(format!("give a file of one of {}", names.join(", ")))
    })
}

/// The program that compressed a content, by its first bytes, and the one that writes it out again.
fn compression(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let known: [(&[u8], _); 4] = [
        (b"\x1f\x8b", ("gzip", "zcat")),
        (b"\xfd7zXZ\0", ("xz", "xzcat")),
        (b"\x28\xb5\x2f\xfd", ("zstd", "zstdcat")),
        (b"BZh", ("bzip2", "bzcat")),
    ];
    known.into_iter().find(|(mark, _)| bytes.starts_with(mark)).map(|(_, names)| names)
}

/// Reads a matrix of any format; `name` is for messages.
pub fn read(name: &str, bytes: &[u8]) -> Result<CommMatrix> {
    let source = Source::new(name, bytes);
    detect(&source)?.read(&source)
}

/// Writes texts, each as a line.
fn write_lines(out: &mut dyn Write, lines: impl IntoIterator<Item = String>) -> Result<()> {
    lines.into_iter().try_for_each(|line| writeln!(out, "{line}")).map_err(write_error)
}

/// A matrix of the entries of each kind, in the order of [`Kind::ALL`].
pub(crate) fn matrix_by_kind(tasks: usize, entries: [Vec<(u32, u32, Traffic)>; 3]) -> CommMatrix {
    let layers = entries.map(|list| SparseMatrix::from_entries(tasks, &list));
    CommMatrix::from_layers(layers).unwrap_or_else(|| CommMatrix::empty(tasks))
}

/// The bytes of a cell of the matrix as text: a whole number, or one that ends in `.5`.
fn bytes_of(matrix: &SparseMatrix, traffic: Traffic) -> String {
    match (matrix.counts_halves(), traffic.bytes) {
        (false, bytes) => bytes.to_string(),
        (true, halves) => format!("{}{}", halves / 2, if halves % 2 == 1 { ".5" } else { "" }),
    }
}

/// The error of a failed write.
pub(crate) fn write_error(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write: {error}"))
        .advise("check that the disk has room and that the reader of the output still runs")
}

#[cfg(test)]
mod tests;
