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

/// Version and body of a sealed file; `what` it is enters the messages.
///
/// Errors (without a place): something else, a newer version than `newest`, cut short, damaged.
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

/// [`read_file`], which also returns the open file. As long as the file is open, no other file has its number.
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

/// Bytes that hold the head of a record, unless its command line is very long.
const FIRST: u64 = 16 << 10;

/// The first bytes of a record, up to `limit`, its whole length, and the open file. Of a file whose first
/// bytes show that it is no sound record, no more than these are read.
fn read_bytes(path: &Path, limit: u64) -> Result<(Vec<u8>, u64, File)> {
    let failed = |e: std::io::Error| {
        let error = Error::io("cannot read the record", path, &e);
        match e.kind() {
            std::io::ErrorKind::PermissionDenied => error.advise("the permissions of the file"),
            // Not a regular file: the sentence says it all.
            std::io::ErrorKind::InvalidInput => {
                Error::new(ErrorKind::Io, e.to_string()).at(path.display())
            }
            std::io::ErrorKind::IsADirectory => {
                Error::new(ErrorKind::Io, "this is a directory, not a record")
                    .at(path.display())
                    .advise("the name of a file in it, or --store with the directory")
            }
            _ => error,
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
            .advise("'rankweave import' for the files of other tools"));
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
        .advise("a newer rankweave, or another store with --store"));
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
        .advise("recording again (--mode record); the damaged file is then kept as NAME.corrupt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::record::tests::sample;
    use crate::store::{Constructed, Launch};
    use proptest::prelude::*;

    #[test]
    fn round_trip() {
        let record = sample("a", 5);
        assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
    }

    #[test]
    fn records_of_older_versions_are_read() {
        let mut record = sample("a", 5);
        let written = encode(&record).unwrap();
        // Behind the launches there is one byte that says that this one was finished, which version
        // 1 did not have, two for an empty identity and history, which version 2 did not have, three for
        // no times in MPI, which version 3 did not have, one for no orders of topologies, which
        // version 4 did not have, and five for no devices, which version 5 did not have.
        let body = &written[HEADER..];
        assert_eq!(body[body.len() - 12..], [0; 12]);
        for (version, less) in [(1, 12), (2, 11), (3, 9), (4, 6), (5, 5)] {
            let bytes = seal(MAGIC, version, &body[..body.len() - less]);
            assert_eq!(decode(&bytes).unwrap(), record, "version {version}");
            assert!(decode(&seal(MAGIC, version, body)).is_err());
        }
        record.unfinished =
            Some(super::super::Unfinished { missing: vec![4], ..Default::default() });
        assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
        record.unfinished =
            Some(super::super::Unfinished { missing: vec![5], ..Default::default() });
        assert!(decode(&encode(&record).unwrap()).is_err());
    }

    #[test]
    fn head_reads_the_fields_in_front() {
        let dir = tempfile::tempdir().unwrap();
        for long in [1, 40_000] {
            let mut record = sample("some-key", 7);
            record.command = vec!["x".repeat(long)];
            let path = dir.path().join("r");
            std::fs::write(&path, encode(&record).unwrap()).unwrap();
            let (head, _) = read_head(&path).unwrap();
            assert_eq!((head.key.as_str(), head.program), ("some-key", record.program));
            assert_eq!((head.recorded_at, head.offsets), (record.recorded_at, 8));
        }
    }

    #[test]
    fn each_damage_has_its_own_message() {
        let good = encode(&sample("a", 3)).unwrap();
        let message = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
        assert!(message(b"src,dst,bytes\n").contains("not a rankweave record"));
        assert!(message(&good[..10]).contains("header is incomplete"));
        assert!(message(&good[..good.len() - 1]).contains("cut short"));
        assert!(message(&[&good[..], b"x"].concat()).contains("followed by 1 bytes"));
        let mut flipped = good.clone();
        flipped[HEADER + 3] ^= 1;
        assert!(message(&flipped).contains("checksum"));
        let mut newer = good.clone();
        newer[8] = 200;
        assert_eq!(decode(&newer).unwrap_err().kind(), ErrorKind::NewerVersion);
        let mut zero = good;
        zero[8] = 0;
        assert!(message(&zero).contains("version 0"));
    }

    #[test]
    fn a_matrix_out_of_range_is_refused() {
        let mut record = sample("a", 3);
        record.launch.process_of_task = vec![0, 0, 1];
        let message = decode(&encode(&record).unwrap()).unwrap_err().to_string();
        assert!(message.contains("contradicts itself"), "{message}");
    }

    /// Files of older versions, which must stay readable whatever becomes of the types.
    #[test]
    fn committed_records_of_older_versions_are_read() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
        for version in [1, 2, 3, 4, 5] {
            let record = read_file(&directory.join(format!("version{version}.rkw"))).unwrap();
            assert_eq!(record.key, "fixture-n4", "version {version}");
            assert_eq!(record.matrix.tasks(), 4);
            assert_eq!(record.launch.process_of_task, [0, 2, 1, 3]);
            assert_eq!(record.launch.wall_seconds, 12.5);
            assert_eq!(record.baseline.as_ref().map(|b| b.internode_bytes), Some(4096));
            assert_eq!(record.unfinished.is_some(), version >= 2);
            let (identity, launches) = if version >= 3 { ("fixture-0badcafe", 1) } else { ("", 0) };
            assert_eq!((record.identity.as_str(), record.history.len()), (identity, launches));
            let calls = record.launch.in_mpi.map(|in_mpi| in_mpi.calls);
            assert_eq!(calls, (version >= 4).then_some(99));
            assert_eq!(record.constructed.len(), usize::from(version >= 5));
            let again = decode(&encode(&record).unwrap()).unwrap();
            assert_eq!(again, record);
        }
    }

    #[test]
    fn identity_and_history_are_kept() {
        let mut record = sample("a", 5);
        record.identity = "a-0badcafe".into();
        let in_mpi =
            Some(InMpi { mean_seconds: 1.5, max_seconds: 2.0, calls: 99, error_seconds: 0.0 });
        record.launch.in_mpi = in_mpi;
        record.baseline = Some(Launch { in_mpi, ..Launch::default() });
        record.history = vec![Past { id: 7, wall_seconds: 2.5, in_mpi, ..Past::default() }];
        let order = |tasks: &[u32]| Constructed { question: 9, task_of_vertex: tasks.to_vec() };
        record.constructed = vec![order(&[4, 0]), order(&[3])];
        assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
        for wrong in [[0, 5], [1, 1]] {
            let wrong = Record { constructed: vec![order(&wrong)], ..record.clone() };
            assert!(decode(&encode(&wrong).unwrap()).is_err());
        }
        record.history.push(Past { id: 8, wall_seconds: f64::NAN, ..Past::default() });
        let read = decode(&encode(&record).unwrap()).unwrap();
        assert_eq!(read.history.len(), 1, "what cannot be right is dropped");
        assert_eq!(read.history[0].in_mpi, in_mpi);
        record.launch.in_mpi = Some(InMpi { mean_seconds: f64::NAN, ..InMpi::default() });
        assert_eq!(decode(&encode(&record).unwrap()).unwrap().launch.in_mpi, None);
    }

    #[test]
    fn devices_are_kept() {
        let mut record = sample("a", 5);
        let devices = Devices {
            rails_of_node: vec![vec!["mlx5_0".into(), "mlx5_1".into()], Vec::new()],
            gpus_of_node: vec![vec!["cuda0".into()], vec!["cuda0".into()]],
            rail_of_process: vec![1, 0, 1, 0, crate::store::NO_DEVICE],
            gpu_of_process: vec![0; 5],
        };
        record.launch.placement.devices = devices.clone();
        record.baseline = Some(record.launch.clone());
        assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
        record.launch.placement.devices.rail_of_process[4] = 0;
        assert!(decode(&encode(&record).unwrap()).is_err(), "a rail that its node does not have");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&body);
            let _ = decode(&seal(MAGIC, VERSION, &body));
        }

        #[test]
        fn any_changed_byte_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = encode(&sample("a", 4)).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(decode(&bytes).is_err());
        }

        #[test]
        fn any_changed_body_gives_a_valid_record_or_an_error(
            at in any::<prop::sample::Index>(), byte in any::<u8>()
        ) {
            let mut body = encode(&sample("a", 4)).unwrap()[HEADER..].to_vec();
            let at = at.index(body.len());
            body[at] = byte;
            if let Ok(record) = decode(&seal(MAGIC, VERSION, &body)) {
                prop_assert!(record.matrix.is_valid());
            }
        }
    }
}
