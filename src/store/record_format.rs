//! The file format of a record.
//!
//! ```text
//! offset  bytes  what
//!      0      8  magic "RKWEAVE\n"
//!      8      4  version of the format, little endian
//!     12      8  length of the body in bytes, little endian
//!     20      4  CRC-32 (IEEE) of the body, little endian
//!     24         body: the Record in postcard encoding
//! ```
//!
//! The version changes whenever the encoding of a record does; older versions stay readable here.
//! Version 1 has no [`Record::unfinished`] at the end. Version 3 has, behind what version 2 has, a
//! second value with the program's identity and the history ([`Record::identity`],
//! [`Record::history`]), version 4 a third one with times in MPI, version 5 a fourth one with the orders
//! of topologies ([`Record::constructed`]), version 6 a fifth one with the GPUs and rails of the launches
//! ([`Placement::devices`](super::Placement::devices)).
//! The checksum finds damage, but not forged files. A body with the right checksum is therefore still checked
//! field by field. Reading never allocates more than a small multiple of the size of the file.

use super::Devices;
use super::Record;
use super::access::unreadable;
use super::history::{InMpi, Past, joined};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// First bytes of every record file.
pub const MAGIC: [u8; 8] = *b"RKWEAVE\n";
/// Version of the format that this crate writes.
pub const VERSION: u32 = 6;
/// Length of the header in bytes.
pub(super) const HEADER: usize = 24;
/// Largest file that is read: a full matrix of 32768 tasks, with room to spare.
const LARGEST: u64 = 32 << 30;

/// What version 3 adds: the program's identity and the history.
type Tail = (String, Vec<Past>);

/// What version 4 adds: the time in MPI of the launches, where it was measured.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Times {
    launch: Option<InMpi>,
    baseline: Option<InMpi>,
    /// One for each entry of the history.
    history: Vec<Option<InMpi>>,
}

impl Times {
    fn of(record: &Record, history: &[Past]) -> Times {
        Times {
            launch: record.launch.in_mpi,
            baseline: record.baseline.as_ref().and_then(|b| b.in_mpi),
            history: history.iter().map(|past| past.in_mpi).collect(),
        }
    }

    /// Writes the times into the record and its history. Impossible times are dropped.
    fn put(self, record: &mut Record, history: &mut [Past]) {
        record.launch.in_mpi = self.launch.and_then(InMpi::sound);
        if let Some(baseline) = &mut record.baseline {
            baseline.in_mpi = self.baseline.and_then(InMpi::sound);
        }
        for (past, in_mpi) in history.iter_mut().zip(self.history) {
            past.in_mpi = in_mpi.and_then(InMpi::sound);
        }
    }
}

/// What version 6 adds: the devices of the launch, and of the one in the launcher's order.
type LaunchDevices = (Devices, Option<Devices>);

/// The fields in front of the matrix: what a listing needs, without reading the rest.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Head {
    pub(super) key: String,
    pub(super) program: String,
    pub(super) _command: Vec<String>,
    pub(super) _mpi: String,
    pub(super) recorded_at: u64,
    /// Length of the first array of the matrix, which is the number of tasks and one.
    pub(super) offsets: u64,
}

/// The bytes of a record file.
pub fn encode(record: &Record) -> Result<Vec<u8>> {
    encode_with(record, &record.history)
}

/// The bytes of a record file with another history than the record's own.
pub(super) fn encode_with(record: &Record, history: &[Past]) -> Result<Vec<u8>> {
    let failed = |e| Error::new(ErrorKind::Format, format!("cannot encode the record: {e}"));
    let tail = (&record.identity, history);
    let devices = (
        &record.launch.placement.devices,
        record.baseline.as_ref().map(|baseline| &baseline.placement.devices),
    );
    let parts = (record, tail, Times::of(record, history), &record.constructed, devices);
    let body = postcard::to_allocvec(&parts).map_err(failed)?;
    Ok(seal(MAGIC, VERSION, &body))
}

/// A body behind its header.
pub(super) fn seal(magic: [u8; 8], version: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&magic);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Version and body of a sealed file. `what` is the word for this kind of file in messages.
///
/// Errors, without a place: the file is of another kind, has a newer version than `newest`, is cut short, or is damaged.
pub(super) fn open_sealed<'a>(
    bytes: &'a [u8],
    magic: [u8; 8],
    newest: u32,
    what: &str,
) -> Result<(u64, &'a [u8])> {
    let (version, checksum) = parse_header(bytes, bytes.len() as u64, magic, newest, what)?;
    let body = &bytes[HEADER..];
    if crc32fast::hash(body) != checksum {
        return Err(damaged(&format!("the checksum of the {what} does not match")));
    }
    Ok((version, body))
}

/// The record in the bytes of a file.
///
/// Errors (without a place, which the caller adds): not a record at all, a newer version, cut
/// short, bytes too many, damaged, contents that contradict themselves.
pub fn decode(bytes: &[u8]) -> Result<Record> {
    let (version, body) = open_sealed(bytes, MAGIC, VERSION, "record")?;
    let version_1;
    let body = match version {
        1 => {
            // A zero byte is a `Record::unfinished` of `None`, which the body lacks.
            version_1 = [body, &[0]].concat();
            version_1.as_slice()
        }
        _ => body,
    };
    let (record, rest) = decode_body(version, body)
        .map_err(|e| damaged(&format!("the record cannot be decoded: {e}")))?;
    if !rest.is_empty() {
        return Err(damaged("the record is followed by bytes that do not belong to it"));
    }
    match record.inconsistency() {
        None => Ok(record),
        Some(what) => Err(damaged(&format!("the record contradicts itself: {what}"))),
    }
}

/// The record at the beginning of a body of version 2 or later, and the bytes behind it.
fn decode_body(version: u64, body: &[u8]) -> postcard::Result<(Record, &[u8])> {
    let (mut record, mut rest) = postcard::take_from_bytes::<Record>(body)?;
    if version > 2 {
        let ((identity, mut history), after) = postcard::take_from_bytes::<Tail>(rest)?;
        rest = after;
        if version > 3 {
            let (times, after) = postcard::take_from_bytes::<Times>(rest)?;
            times.put(&mut record, &mut history);
            rest = after;
        }
        if version > 4 {
            (record.constructed, rest) = postcard::take_from_bytes(rest)?;
        }
        if version > 5 {
            let ((launch, baseline), after) = postcard::take_from_bytes::<LaunchDevices>(rest)?;
            record.launch.placement.devices = launch;
            if let (Some(before), Some(devices)) = (&mut record.baseline, baseline) {
                before.placement.devices = devices;
            }
            rest = after;
        }
        record.identity = identity;
        // Drops what exceeds the bounds of a history.
        record.history = joined(&history, &[]);
    }
    Ok((record, rest))
}

/// Whether a file begins like a record.
pub fn is_record(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    file::open(path).and_then(|(mut file, _)| file.read_exact(&mut start)).is_ok() && start == MAGIC
}

/// Reads and decodes a record file; errors name it.
pub fn read_file(path: &Path) -> Result<Record> {
    read_open(path).map(|(record, _)| record)
}

/// [`read_file`]. It also returns the open file. As long as the file is open, no other file has its number.
pub(super) fn read_open(path: &Path) -> Result<(Record, File)> {
    let (bytes, _, file) = read_bytes(path, u64::MAX)?;
    let record = decode(&bytes).map_err(|e| e.at(path.display()))?;
    Ok((record, file))
}

/// The bytes of a sealed file of at most `most` bytes whose header says how many there are. Of a file that
/// begins otherwise only the first bytes.
///
/// Errors: it cannot be read, is not a regular file, or is longer than it says or may be.
pub(super) fn read_sealed(path: &Path, magic: [u8; 8], most: u64) -> std::io::Result<Vec<u8>> {
    let (file, length) = file::open(path)?;
    sealed_bytes(&file, length, magic, most)
}

/// [`read_sealed`] of an open file with this length.
pub(super) fn sealed_bytes(
    file: &File,
    length: u64,
    magic: [u8; 8],
    most: u64,
) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(HEADER as u64).read_to_end(&mut bytes)?;
    if !bytes.starts_with(&magic) {
        return Ok(bytes);
    }
    let said = number(&bytes, 12, 8).unwrap_or(0).saturating_add(HEADER as u64);
    if length > said || length > most {
        return Err(std::io::Error::other(
            "the file is longer than its header says, or longer than \
                                          such a file may be",
        ));
    }
    file.take(length.saturating_sub(HEADER as u64)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads what stands in front of the matrix, and checks the length of the file but not its
/// checksum. Also gives the length.
pub(super) fn read_head(path: &Path) -> Result<(Head, u64)> {
    let (bytes, length, _) = read_bytes(path, FIRST)?;
    parse_header(&bytes, length, MAGIC, VERSION, "record").map_err(|e| e.at(path.display()))?;
    let decoded =
        postcard::take_from_bytes::<Head>(&bytes[HEADER..]).map(|(head, _)| head).or_else(|_| {
            // A command line longer than the first block: take the whole file.
            let all = read_bytes(path, u64::MAX).map_or_else(|_| Vec::new(), |(all, ..)| all);
            postcard::take_from_bytes::<Head>(all.get(HEADER..).unwrap_or(&[])).map(|(h, _)| h)
        });
    match decoded {
        Ok(head) => Ok((head, length)),
        Err(e) => Err(damaged(&format!("the record cannot be decoded: {e}")).at(path.display())),
    }
}

/// What stands in front of the matrix, if these first bytes of a file with this length hold all of it and are sound. Where
/// they are not, [`read_head`] says why.
pub(super) fn head_in(bytes: &[u8], length: u64) -> Option<Head> {
    parse_header(bytes, length, MAGIC, VERSION, "record").ok()?;
    postcard::take_from_bytes::<Head>(bytes.get(HEADER..)?).ok().map(|(head, _)| head)
}

/// Bytes that hold the head of a record, unless its command line is very long.
const FIRST: u64 = 16 << 10;

/// The first bytes of a record, up to `limit`, its whole length, and the open file. Of a file whose first
/// bytes show that it is no sound record, no more than these are read.
fn read_bytes(path: &Path, limit: u64) -> Result<(Vec<u8>, u64, File)> {
    let failed = |e: std::io::Error| {
        match e.kind() {
            // Not a regular file: the sentence says it all.
            std::io::ErrorKind::InvalidInput => {
                Error::new(ErrorKind::Io, e.to_string()).at(path.display())
            }
            std::io::ErrorKind::IsADirectory => {
                Error::new(ErrorKind::Io, "this is a directory, not a record")
                    .at(path.display())
                    .advise("move this directory away, or use another --store")
            }
            _ => unreadable("cannot read the record", path, &e),
        }
    };
    let (file, length) = file::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    (&file).take(limit.min(FIRST)).read_to_end(&mut bytes).map_err(failed)?;
    if limit > FIRST && length > FIRST {
        check_first(&bytes, length).map_err(|e| e.at(path.display()))?;
        (&file).take(limit.min(length) - FIRST).read_to_end(&mut bytes).map_err(failed)?;
    }
    let length = length.max(bytes.len() as u64);
    Ok((bytes, length, file))
}

/// Whether a file of `length` bytes can be a sound record according to its first bytes: it has the length that
/// its header gives, and at most as many bytes as a matrix of its tasks can need.
fn check_first(bytes: &[u8], length: u64) -> Result<()> {
    /// The most bytes that one pair of tasks needs, in all kinds of traffic.
    const PAIR: u64 = 128;
    /// Room for everything beside the matrix.
    const REST: u64 = 64 << 20;
    parse_header(bytes, length, MAGIC, VERSION, "record")?;
    let head = bytes.get(HEADER..).and_then(|body| postcard::take_from_bytes::<Head>(body).ok());
    let most = head.map_or(LARGEST, |(head, _)| {
        head.offsets.saturating_mul(head.offsets).saturating_mul(PAIR).saturating_add(REST)
    });
    if length > most.min(LARGEST) {
        return Err(damaged("the file is larger than a record with so many tasks can be"));
    }
    Ok(())
}

/// Version and checksum in the header of a file, of which these are the first bytes. Also checks the
/// length of the whole file.
fn parse_header(
    bytes: &[u8],
    length_of_file: u64,
    magic: [u8; 8],
    newest: u32,
    what: &str,
) -> Result<(u64, u32)> {
    if !bytes.starts_with(&magic[..bytes.len().min(magic.len())]) {
        return Err(Error::new(ErrorKind::Format, format!("this is not a rankweave {what}"))
            .advise("use 'rankweave import' for the files of other tools"));
    }
    let (Some(version), Some(length), Some(checksum)) =
        (number(bytes, 8, 4), number(bytes, 12, 8), number(bytes, 20, 4))
    else {
        return Err(damaged(&format!("the {what} is cut short: its header is incomplete")));
    };
    if version > u64::from(newest) {
        return Err(Error::new(
            ErrorKind::NewerVersion,
            format!("the {what} has format version {version}; this rankweave reads up to {newest}"),
        )
        .advise("use a newer rankweave, or another store with --store"));
    }
    if version == 0 {
        return Err(damaged(&format!("the {what} has format version 0, which does not exist")));
    }
    let there = length_of_file.saturating_sub(HEADER as u64);
    if there < length {
        return Err(damaged(&format!(
            "the {what} is cut short: {there} of {length} bytes are there"
        )));
    }
    if there > length {
        return Err(damaged(&format!(
            "the {what} is followed by {} bytes that do not belong to it",
            there - length
        )));
    }
    Ok((version, checksum as u32))
}

/// The little-endian number of `length` bytes at `start`.
fn number(bytes: &[u8], start: usize, length: usize) -> Option<u64> {
    let field = bytes.get(start..start + length)?;
    Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Format, what)
        .advise("record again (--mode record); the damaged file is then kept as NAME.corrupt")
}

#[cfg(test)]
#[path = "record_format_tests.rs"]
mod tests;
