//! NumPy archives (`.npz`), from which `scipy.sparse.load_npz` reads the matrix of bytes as CSR.
//!
//! The archive also holds `messages`, the numbers of messages in the order of `data`:
//! `csr_matrix((z["messages"], z["indices"], z["indptr"]), z["shape"])`. Members are stored
//! without compression, so that they can be mapped into memory. Bytes are whole numbers.

use super::{Export, Format, write_error};
use crate::base::error::Result;
use std::io::{Cursor, Write};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// The format.
pub const FORMAT: Format =
    Format::new("npz", "NumPy archive: scipy.sparse.load_npz gives the matrix of bytes")
        .written_by(write);

/// A `.npy` file: magic, version 1.0, header padded to a multiple of 64, little-endian data.
fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', length - 1 - header.len()));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

fn array<const N: usize>(kind: &str, values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    let data: Vec<u8> = values.flatten().collect();
    npy(kind, &format!("({},)", data.len() / N), &data)
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let matrix = &export.matrix.clone().in_whole_bytes();
    let mut next = 0u64;
    let starts = (0..matrix.tasks()).map(|i| {
        next += matrix.row(i).count() as u64;
        next
    });
    let starts: Vec<u64> = std::iter::once(0).chain(starts).collect();
    let tasks = matrix.tasks() as u64;
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX).to_le_bytes();
    let members = [
        ("format", npy("|S3", "()", b"csr")),
        ("shape", array("<i8", [tasks, tasks].into_iter().map(signed))),
        ("data", array("<i8", matrix.entries().map(|e| signed(e.2.bytes)))),
        ("messages", array("<i8", matrix.entries().map(|e| signed(e.2.messages)))),
        ("indices", array("<i4", matrix.entries().map(|e| (e.1 as i32).to_le_bytes()))),
        ("indptr", array("<i4", starts.iter().map(|&s| (s as i32).to_le_bytes()))),
    ];
    let failed = |e: zip::result::ZipError| write_error(std::io::Error::other(e));
    // A zip archive is written with seeks, which a pipe does not have.
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in members {
        let options = options.large_file(bytes.len() as u64 > u64::from(u32::MAX) / 2);
        zip.start_file(format!("{name}.npy"), options).map_err(failed)?;
        zip.write_all(&bytes).map_err(write_error)?;
    }
    let archive = zip.finish().map_err(failed)?;
    out.write_all(&archive.into_inner()).map_err(write_error)
}
