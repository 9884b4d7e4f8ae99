//! A topology given as the table of all distances.
//!
//! Distances are whole numbers, and two slots have at least distance 1. Metrics are sums of whole numbers, so a
//! fraction would have to be rounded. Two slots at distance 0 would be one place for two tasks, which is a slot with
//! a larger capacity.

use super::Topology;
use crate::base::nouns::counted;
use crate::{Error, ErrorKind, Result};

/// Any symmetric table of distances. Memory: 4 bytes for each ordered pair of slots.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceMatrix {
    label: String,
    slots: usize,
    distances: Vec<u32>,
}

impl DistanceMatrix {
    /// From rows; all must be as long as there are rows.
    ///
    /// Errors: no rows, a row of another length, a distance that differs in the two directions, a
    /// distance from a slot to itself that is not 0, or one between two slots that is 0.
    pub fn new(rows: &[Vec<u32>]) -> Result<DistanceMatrix> {
        let slots = rows.len();
        let bad = |what: String| Err(Error::new(ErrorKind::Format, what).advise(EXAMPLE));
        if slots == 0 {
            return bad("the distance matrix is empty".into());
        }
        for (i, row) in rows.iter().enumerate() {
            if row.len() != slots {
                return bad(format!(
                    "row {i} has {} for {}",
                    counted(row.len(), "distance"),
                    counted(slots, "slot")
                ));
            }
            for (j, &d) in row.iter().enumerate().take(i + 1) {
                if d != rows[j][i] {
                    return bad(format!(
                        "the distance from {i} to {j} is {d}, that from {j} to {i} is {}",
                        rows[j][i]
                    ));
                }
                if (d == 0) != (i == j) {
                    let what = format!("the distance of slots {i} and {j} is {d}");
                    return Err(Error::new(ErrorKind::Format, what).advise(match i == j {
                        true => "write 0 for the distance of a slot to itself",
                        false => NO_ZEROS,
                    }));
                }
            }
        }
        Ok(DistanceMatrix {
            label: format!("distance matrix of {}", counted(slots, "slot")),
            slots,
            distances: rows.concat(),
        })
    }

    /// Reads one row per line, numbers separated by blanks, commas or semicolons; empty lines and
    /// those that start with `#` are skipped.
    ///
    /// Errors: those of [`DistanceMatrix::new`], and anything that is not a number.
    pub fn parse(text: &str) -> Result<DistanceMatrix> {
        let mut rows = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let row: Result<Vec<u32>> = line
                .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
                .filter(|word| !word.is_empty())
                .map(|word| {
                    word.parse().map_err(|_| {
                        let fraction = word.parse::<f64>().is_ok_and(|d| d >= 0.0 && d.is_finite());
                        let what = match fraction {
                            true => {
                                format!("the distance '{word}' is not a whole number below 2^32")
                            }
                            false => format!("'{word}' is not a distance"),
                        };
                        Error::new(ErrorKind::Format, what)
                            .at(format!("line {}", number + 1))
                            .advise(if fraction { NO_FRACTIONS } else { EXAMPLE })
                    })
                })
                .collect();
            rows.push(row?);
        }
        DistanceMatrix::new(&rows)
    }

    /// Sets the answer of [`Topology::name`].
    #[must_use]
    pub fn with_label(mut self, label: String) -> DistanceMatrix {
        self.label = label;
        self
    }
}

const NO_ZEROS: &str = "write at least 1 for two different slots; for several tasks at one place list the place once \
                        and use --oversubscribe or --weights";

const NO_FRACTIONS: &str = "multiply all distances by the same number so that they are whole and at least 1; only \
                            their ratios matter to a mapping";

const EXAMPLE: &str = "n lines of n whole numbers, symmetric, 0 on the diagonal only; for two slots \
                       at distance 3: lines `0 3` and `3 0`";

impl Topology for DistanceMatrix {
    fn name(&self) -> String {
        self.label.clone()
    }

    fn slots(&self) -> usize {
        self.slots
    }

    #[inline]
    fn distance(&self, a: usize, b: usize) -> u64 {
        u64::from(self.distances[a * self.slots + b])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_tables() {
        let matrix = DistanceMatrix::parse("# two slots\n0, 3\n\n3 0\n").unwrap();
        assert_eq!((matrix.slots(), matrix.distance(0, 1), matrix.distance(1, 1)), (2, 3, 0));
    }

    #[test]
    fn refuses_what_is_no_distance() {
        for (text, what, advice) in [
            ("", "empty", EXAMPLE),
            ("0 1\n1", "row 1 has 1", EXAMPLE),
            ("0 1\n2 0", "from 1 to 0 is 2", EXAMPLE),
            ("0 0\n0 0", "slots 1 and 0 is 0", NO_ZEROS),
            ("1", "slots 0 and 0 is 1", "itself"),
            ("0 x\n1 0", "line 1", EXAMPLE),
            ("0 -1\n-1 0", "'-1'", EXAMPLE),
            ("0 1.5\n1.5 0", "'1.5' is not a whole number", NO_FRACTIONS),
            ("0 5000000000\n5000000000 0", "below 2^32", NO_FRACTIONS),
        ] {
            let error = DistanceMatrix::parse(text).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains(advice), "{text}: {error}");
        }
    }
}
