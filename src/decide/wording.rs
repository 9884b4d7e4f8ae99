//! The sentence that tells the user what was decided, with figures.

/// The launcher's order costs nothing.
pub(super) const NOTHING_TRAVELS: &str = "no bytes travel between different places";

/// The sentence of a decision against another rank order, with its reason.
pub fn kept(why: &str) -> String {
    format!("the launcher's order is kept: {why}")
}

/// A number of bytes in decimal units, with one digit behind the point.
fn bytes(n: u128) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// The rank order changes.
pub(super) fn predicted(before: u128, after: u128, gain: f64) -> String {
    format!("predicted hop-bytes {} → {} (-{gain:.1} %)", bytes(before), bytes(after))
}

/// The launcher's order stays: no better order was found, or its gain is below the threshold.
pub(super) fn too_little_gain(gain: f64, threshold: f64) -> String {
    if gain <= 0.0 {
        return kept("it is already the best found");
    }
    kept(&format!(
        "it is nearly the best found (best candidate -{gain:.1} %, threshold {threshold} %)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(bytes(999_990), "1.0 MB");
        assert_eq!(bytes(u128::from(u64::MAX)), "18.4 EB");
    }
}
