//! Profiles of Open MPI's monitoring components (`NAME.RANK.prof`), several of them one after the
//! other (`cat mon.*.prof`).
//!
//! ```text
//! E  0  1  300 bytes  3 msgs sent  …      messages of the program
//! I  0  1  4 bytes    1 msgs sent         messages that the MPI library sent in collective calls
//! S  0  1  …                              one-sided: 0 wrote to 1
//! R  0  1  …                              one-sided: 0 read from 1
//! C  0  2  4 bytes    1 msgs sent         collective calls, by their arguments
//! ```
//!
//! Lines E become point-to-point traffic. Lines S and R become one-sided traffic in the direction in which
//! the data went. Lines I and C are two views of the same collective calls: lines C are used only in a file
//! without lines I. Lines D, O2A, A2O and A2A (communicators and their sums) say nothing about pairs and are
//! skipped.

use super::source::{Line, Source, short};
use super::{Format, matrix_by_kind};
use crate::base::error::Result;
use crate::matrix::{CommMatrix, Traffic};

/// The format.
pub const FORMAT: Format =
    Format::new("prof", "profiles of Open MPI's monitoring (cat mon.*.prof)")
        .read_by(detects, read);

const EXPECTED: &str = "a line such as 'E 0 1 300 bytes 3 msgs sent', separated by tabs";

fn detects(source: &Source<'_>) -> bool {
    let starts = source.bytes().get(..64).unwrap_or(source.bytes());
    if starts.starts_with(b"# POINT TO POINT") {
        return true;
    }
    let mut lines = source.content_lines("#");
    lines.next().is_some_and(|line| pair(&line).is_ok_and(|p| p.is_some()))
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let mut by_letter: [Vec<(u32, u32, Traffic)>; 5] = Default::default();
    for line in source.content_lines("#") {
        if let Some((letter, from, to, traffic)) = pair(&line)? {
            by_letter[letter].push((from, to, traffic));
        }
    }
    let [external, internal, wrote, read, calls] = by_letter;
    let collective = if internal.is_empty() { calls } else { internal };
    let onesided = [wrote, read.into_iter().map(|(i, j, t)| (j, i, t)).collect()].concat();
    let all = [&external, &collective, &onesided];
    let highest = all.iter().flat_map(|l| l.iter()).map(|e| e.0.max(e.1) as usize + 1).max();
    Ok(matrix_by_kind(highest.unwrap_or(0), [external, collective, onesided]))
}

/// The letter of a line (its position in E I S R C), the sender, the receiver and the traffic; `None` if the
/// line is not about a pair of tasks.
fn pair(line: &Line<'_>) -> Result<Option<(usize, u32, u32, Traffic)>> {
    let mut fields = line.text.split_ascii_whitespace();
    let is_skipped = |word: &&str| ["D", "O2A", "A2O", "A2A"].contains(word);
    let Some(word) = fields.next().filter(|word| !is_skipped(word)) else { return Ok(None) };
    let Some(letter) = ["E", "I", "S", "R", "C"].iter().position(|letter| *letter == word) else {
        let what = format!("'{}' is not a line of a profile", short(line.text));
        return Err(line.error(what, EXPECTED));
    };
    let mut next = |what: &str| {
        fields.next().ok_or_else(|| line.error(format!("{what} is missing"), EXPECTED))
    };
    let from = line.task(next("the sender")?, "the sender", EXPECTED)?;
    let to = line.task(next("the receiver")?, "the receiver", EXPECTED)?;
    let bytes = line.number(next("the number of bytes")?, "the number of bytes", EXPECTED)?;
    if next("the word 'bytes'")? != "bytes" {
        return Err(line.error("the word 'bytes' is missing", EXPECTED));
    }
    let messages =
        line.number(next("the number of messages")?, "the number of messages", EXPECTED)?;
    Ok(Some((letter, from, to, Traffic { bytes, messages })))
}
