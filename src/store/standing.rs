//! The standing of a record among those of its key: the kind of run, how much of the run is in the record, and
//! how much was sent.

use super::{Record, work_of};
use crate::base::named_enum::named_enum;

named_enum! {
    /// How much of a run is in its record. The name is that in listings and file names.
    #[derive(PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Completeness, "completeness" {
        /// Rows of some tasks are missing.
        Partial = "partial",
        /// All rows are there, but the run did not come to its end.
        Interrupted = "interrupted",
        /// The run came to its end.
        Whole = "whole",
    }
}

/// The standing of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Hash of the arguments and the MPI library, see [`work_of`].
    pub kind: u32,
    /// How much of the run is in the record.
    pub completeness: Completeness,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Pairs of tasks that sent.
    pub pairs: u64,
    /// When it was recorded, seconds since 1970-01-01 UTC.
    pub recorded_at: u64,
}

impl Standing {
    /// The standing of a record.
    pub fn of(record: &Record) -> Standing {
        let completeness = match &record.unfinished {
            None => Completeness::Whole,
            Some(unfinished) if unfinished.missing.is_empty() => Completeness::Interrupted,
            Some(_) => Completeness::Partial,
        };
        let total = record.matrix.sum();
        Standing {
            kind: work_of(&record.command, &record.mpi),
            completeness,
            bytes: total.total().bytes,
            pairs: total.pairs() as u64,
            recorded_at: record.recorded_at,
        }
    }

    /// Whether this record has less than half of the traffic of another one, in bytes or in pairs.
    pub(super) fn is_poorer_than(&self, other: &Standing) -> bool {
        let less = |mine: u64, theirs: u64| mine.saturating_mul(2) < theirs;
        less(self.bytes, other.bytes) || less(self.pairs, other.pairs)
    }

    /// Whether a new record replaces the one in use: it is at least as complete and not poorer, or the one in
    /// use lacks rows and the new one has all of them.
    pub fn replaces(&self, in_use: &Standing) -> bool {
        self.completeness > in_use.completeness && in_use.completeness == Completeness::Partial
            || self.completeness >= in_use.completeness && !self.is_poorer_than(in_use)
    }

    /// The order of runs of one kind: the richest is the last.
    pub(super) fn richness(&self) -> (Completeness, u64, u64, u64) {
        (self.completeness, self.bytes, self.pairs, self.recorded_at)
    }
}
