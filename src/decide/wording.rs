//! The sentence that tells the user what was decided, with figures.

use crate::base::quantity::bytes;

/// The launcher's order costs nothing.
pub(super) const NOTHING_TRAVELS: &str = "no bytes travel between different places";

/// The sentence of a decision against another rank order, with its reason.
pub fn kept(why: &str) -> String {
    format!("the launcher's order is kept: {why}")
}

/// The rank order changes.
pub(super) fn predicted(before: u128, after: u128, gain: f64) -> String {
    format!("predicted hop-bytes {} → {} ({})", bytes(before), bytes(after), percent(gain))
}

/// The launcher's order stays: no better order was found, or its gain is below the threshold.
pub(super) fn too_little_gain(gain: f64, threshold: f64) -> String {
    if gain <= 0.0 {
        return kept("it is already the best found");
    }
    kept(&format!(
        "it is nearly the best found (best candidate {}, threshold {threshold} %)",
        percent(gain)
    ))
}

/// A gain in percent; one that would be shown as 0.0 is less than 0.1.
fn percent(gain: f64) -> String {
    if gain < 0.05 { "less than 0.1 %".into() } else { format!("-{gain:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gain_is_shown_as_zero() {
        assert_eq!(
            predicted(2048, 1024, 50.0),
            "predicted hop-bytes 2.00 KiB → 1.00 KiB (-50.0 %)"
        );
        assert!(
            too_little_gain(0.01, 2.0).contains("(best candidate less than 0.1 %, threshold 2 %)")
        );
        assert!(too_little_gain(0.0, 2.0).contains("already the best"));
    }
}
