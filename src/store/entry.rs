//! What a listing of the store says of one file: the beginning of its record, or why it cannot be read.

use super::file_name::{ENDING, file_name};
use super::others::read_stored_head;
use crate::base::error::Error;
use std::fs;
use std::path::PathBuf;

/// One file in a listing of the store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// The name by which [`Store::find`](super::Store::find) finds the file: the key of the record, or the file's name if
    /// the record cannot be read or was copied from another key.
    pub key: String,
    /// The file.
    pub path: PathBuf,
    /// Size of the file in bytes.
    pub size: u64,
    /// Path of the executable; empty when the file cannot be read.
    pub program: String,
    /// Number of tasks.
    pub tasks: u64,
    /// Seconds since 1970-01-01 UTC; 0 when the file cannot be read.
    pub recorded_at: u64,
    /// Why the file cannot be read. `None` if the file can be read.
    pub problem: Option<Error>,
}

impl Entry {
    /// The entry of a file with this name without ending.
    pub(super) fn of(path: PathBuf, stem: &str) -> Entry {
        match read_stored_head(&path) {
            Ok((head, size)) => Entry {
                key: if is_file_of(&head.key, stem) { head.key } else { stem.into() },
                size,
                program: head.program,
                tasks: head.offsets.saturating_sub(1),
                recorded_at: head.recorded_at,
                problem: None,
                path,
            },
            Err(error) => {
                let size = fs::metadata(&path).map_or(0, |meta| meta.len());
                let problem = Some(error);
                Entry { key: stem.into(), size, problem, path, ..Entry::default() }
            }
        }
    }
}

/// Whether a key has a file with this name without ending.
pub(super) fn is_file_of(key: &str, stem: &str) -> bool {
    file_name(key).strip_suffix(ENDING) == Some(stem)
}
