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

use super::description::About;
use super::layout::MOST_TASKS;
use crate::base::error::{Error, ErrorKind, Result};
use crate::matrix::Traffic;
use crate::store::record_format::{open_sealed, seal, sealed_bytes};
use serde::{Deserialize, Serialize};
use std::fs::File;

const MAGIC: [u8; 8] = *b"RKPARTS\n";
const VERSION: u32 = 1;

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
                "counters that found no space in the spill directory: {}",
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
    /// Whether the process wrote that it ends (by exit or return from main).
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

    /// What makes the part impossible, if anything: a task, process or peer outside the job, or a number of
    /// tasks that no job can have.
    pub fn inconsistency(&self) -> Option<String> {
        let (about, tasks) = (&self.about, self.about.job.tasks);
        if tasks == 0 || tasks > MOST_TASKS {
            return Some(format!("its job has {tasks} tasks"));
        }
        if about.task >= tasks || about.process >= tasks {
            return Some(format!(
                "it belongs to task {} on process {}, but its job has {tasks} tasks",
                about.task, about.process
            ));
        }
        let mut peers = self.sent.iter().chain([&self.fetched]).flatten().map(|&(peer, _)| peer);
        peers.find(|&peer| peer >= tasks).map(|peer| {
            format!(
                "task {} exchanged messages with task {peer}, but its job has {tasks} tasks",
                about.task
            )
        })
    }
}

/// The bytes of a file of parts.
pub fn encode_parts(parts: &[Part]) -> Result<Vec<u8>> {
    let body = postcard::to_allocvec(parts)
        .map_err(|e| Error::new(ErrorKind::Format, format!("cannot encode the parts: {e}")))?;
    Ok(seal(MAGIC, VERSION, &body))
}

/// The bytes of an open file of parts with this length. More than `most` bytes, or more than the header
/// says, are an error.
pub(super) fn read_parts(file: &File, length: u64, most: u64) -> std::io::Result<Vec<u8>> {
    sealed_bytes(file, length, MAGIC, most)
}

/// The parts in the bytes of a file.
///
/// Errors (without a place, which the caller adds): not such a file, a newer version, damaged, a
/// part that contradicts itself.
pub fn decode_parts(bytes: &[u8]) -> Result<Vec<Part>> {
    let damaged = |what: &str| Err(Error::new(ErrorKind::Format, what.to_string()));
    // The advice of other errors is about records.
    let (_, body) =
        open_sealed(bytes, MAGIC, VERSION, "file of parts").map_err(|e| match e.kind() {
            ErrorKind::NewerVersion => e,
            kind => Error::new(kind, e.problem()),
        })?;
    match postcard::take_from_bytes::<Vec<Part>>(body) {
        Ok((parts, [])) => match parts.iter().find_map(Part::inconsistency) {
            None => Ok(parts),
            Some(what) => damaged(&format!("the file contradicts itself: {what}")),
        },
        _ => damaged("the file cannot be decoded"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::spill::JobDescription;

    /// Checks that a good part is refused after this change, and also a file that contains it among others.
    fn refused(change: impl Fn(&mut Part)) {
        let mut part = Part::default();
        part.about.job = JobDescription { tasks: 4, ..JobDescription::default() };
        (part.about.task, part.about.process) = (3, 3);
        let traffic = Traffic { bytes: 1, messages: 1 };
        part.sent[1] = vec![(0, traffic), (3, traffic)];
        part.fetched = vec![(3, traffic)];
        let right = part.clone();
        let bytes = encode_parts(std::slice::from_ref(&right)).unwrap();
        assert_eq!(decode_parts(&bytes).unwrap(), std::slice::from_ref(&right));
        change(&mut part);
        assert!(part.inconsistency().is_some());
        let bytes = encode_parts(&[right, part]).unwrap();
        assert!(decode_parts(&bytes).unwrap_err().to_string().contains("contradicts itself"));
    }

    #[test]
    fn a_task_process_or_peer_outside_the_job_is_refused() {
        refused(|part| part.about.task = 4);
        refused(|part| part.about.process = 99);
        refused(|part| part.sent[0].push((4, Traffic::default())));
        refused(|part| part.sent[2].push((u32::MAX, Traffic::default())));
        refused(|part| part.fetched.push((4, Traffic::default())));
    }

    #[test]
    fn a_job_of_a_size_that_no_machine_has_is_refused() {
        refused(|part| part.about.job.tasks = 0);
        refused(|part| part.about.job.tasks = MOST_TASKS + 1);
        refused(|part| part.about.job.tasks = u32::MAX);
    }
}
