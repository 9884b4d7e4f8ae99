//! The part of a matrix that one process recorded, and files of such parts.
//!
//! ```text
//! offset  bytes  what
//!      0      8  magic "RKPARTS\n"
//!      8      4  version, little endian
//!     12      8  length of the body in bytes, little endian
//!     20      4  CRC-32 (IEEE) of the body, little endian
//!     24         body: a list of Part in postcard encoding
//! ```

use super::about::About;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Traffic;
use serde::{Deserialize, Serialize};

const MAGIC: [u8; 8] = *b"RKPARTS\n";
const VERSION: u32 = 1;
const HEADER: usize = 24;

/// What is known to be missing in a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// Regions that did not get space in the file.
    pub unreserved: u64,
    /// Collective calls that cannot be turned into messages: their communicator is not in the file.
    pub unexpanded: u64,
    /// The process ended while collective calls were folded into a row: those of one communicator
    /// may be counted twice or not at all.
    pub folding: bool,
    /// Parts of the file that are damaged.
    pub damaged: u64,
}

impl Gaps {
    /// Adds those of another part.
    pub fn add(&mut self, other: Gaps) {
        self.unreserved = self.unreserved.saturating_add(other.unreserved);
        self.unexpanded = self.unexpanded.saturating_add(other.unexpanded);
        self.folding |= other.folding;
        self.damaged = self.damaged.saturating_add(other.damaged);
    }

    /// What is missing, in words; empty if nothing.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.unreserved > 0 {
            words.push(format!(
                "counters without space in the spill directory: {}",
                self.unreserved
            ));
        }
        if self.unexpanded > 0 {
            words.push(format!("collective calls that cannot be expanded: {}", self.unexpanded));
        }
        if self.folding {
            words.push("collective calls on a communicator that was being freed".into());
        }
        if self.damaged > 0 {
            words.push(format!("damaged regions: {}", self.damaged));
        }
        words
    }
}

/// What one process recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Whose it is.
    pub about: About,
    /// What it sent, by kind of traffic and task, ascending.
    pub sent: [Vec<(u32, Traffic)>; 3],
    /// What it fetched, by the task it came from, ascending.
    pub fetched: Vec<(u32, Traffic)>,
    /// What is missing.
    pub gaps: Gaps,
    /// The process said that it ends, by exit or return from main.
    pub said_end: bool,
    /// When it ended, seconds since 1970-01-01 UTC; 0 = not known.
    pub ended_at: u64,
}

impl Part {
    /// Messages in all.
    pub fn messages(&self) -> u64 {
        let rows = self.sent.iter().chain([&self.fetched]).flatten();
        rows.fold(0, |sum, (_, traffic)| sum.saturating_add(traffic.messages))
    }
}

/// The bytes of a file of parts.
pub fn encode_parts(parts: &[Part]) -> Result<Vec<u8>> {
    let body = postcard::to_allocvec(parts)
        .map_err(|e| Error::new(ErrorKind::Format, format!("cannot encode the parts: {e}")))?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// The parts in the bytes of a file.
///
/// Errors (without a place, which the caller adds): not such a file, a newer version, damaged.
pub fn decode_parts(bytes: &[u8]) -> Result<Vec<Part>> {
    let damaged = |what: &str| Err(Error::new(ErrorKind::Format, what.to_string()));
    let field = |start: usize, length: usize| {
        let field = bytes.get(start..start + length)?;
        Some(field.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)))
    };
    let (Some(version), Some(length), Some(check)) = (field(8, 4), field(12, 8), field(20, 4))
    else {
        return damaged("the file is cut short");
    };
    if !bytes.starts_with(&MAGIC) || version == 0 {
        return damaged("this is not a file of parts");
    }
    if version > u64::from(VERSION) {
        let what = format!("the file has version {version}; this rankweave reads up to {VERSION}");
        return Err(Error::new(ErrorKind::NewerVersion, what).advise("a newer rankweave"));
    }
    let body = &bytes[HEADER..];
    if body.len() as u64 != length || u64::from(crc32fast::hash(body)) != check {
        return damaged("the file is damaged");
    }
    match postcard::take_from_bytes::<Vec<Part>>(body) {
        Ok((parts, [])) => Ok(parts),
        _ => damaged("the file cannot be decoded"),
    }
}
