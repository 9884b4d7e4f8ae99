//! Files with one number on each line: mappings and loads.

use super::selection;
use crate::base::error::{Error, ErrorKind, Result};
use crate::formats::Source;
use std::path::Path;

/// Reads a mapping: line i (from 0) is the slot of task i.
pub(in crate::cli) fn mapping(path: &Path) -> Result<Vec<usize>> {
    let numbers =
        read(path, "the slot", "one slot on each line; line i (from 0) belongs to task i")?;
    Ok(numbers.into_iter().map(|slot| usize::try_from(slot).unwrap_or(usize::MAX)).collect())
}

/// Reads a file with one number on each line. `what` and `expected` are for messages.
pub(in crate::cli) fn read(path: &Path, what: &str, expected: &str) -> Result<Vec<u64>> {
    let bytes = selection::read(path).map_err(|e| match e.kind() {
        // A record that is not found means exit code 1. A missing file is an error with exit code 2.
        ErrorKind::NotFound => Error::new(ErrorKind::Io, "there is no such file")
            .at(path.display())
            .advise("give the path of a file"),
        _ => e,
    })?;
    numbers(&path.display().to_string(), &bytes, what, expected)
}

fn numbers(name: &str, bytes: &[u8], what: &str, expected: &str) -> Result<Vec<u64>> {
    Source::new(name, bytes)
        .content_lines("#")
        .map(|line| line.number(line.text, what, expected))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_a_line() {
        let read = |bytes| numbers("f", bytes, "the slot", "one slot a line");
        assert_eq!(read(b"# order\n3\n 1\n\n2\n").unwrap(), [3, 1, 2]);
        let error = read(b"3\n1 2\n").unwrap_err().to_string();
        assert!(error.contains("f:2") && error.contains("1 2"), "{error}");
    }
}
