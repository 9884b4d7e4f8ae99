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
    format!("predicted hop-bytes {} → {} ({})", bytes(before), bytes(after), change(gain))
}

/// The launcher's order stays: no better order was found, or its gain is below the threshold.
pub(super) fn too_little_gain(gain: f64, threshold: f64) -> String {
    if gain <= 0.0 {
        return kept("the search found no better rank order");
    }
    let share = if is_tiny(gain) { LESS_THAN_SHOWN.into() } else { format!("only {gain:.1} %") };
    kept(&format!(
        "the best rank order found saves {share} of the hop-bytes; the threshold (--min-gain) is {threshold} %"
    ))
}

/// A gain that is not zero and would be shown as 0.0 %.
const LESS_THAN_SHOWN: &str = "less than 0.1 %";

/// Whether a gain in percent would be shown as 0.0 %.
fn is_tiny(gain: f64) -> bool {
    gain < 0.05
}

/// The change of the hop-bytes for a gain in percent.
fn change(gain: f64) -> String {
    if is_tiny(gain) { LESS_THAN_SHOWN.into() } else { format!("-{gain:.1} %") }
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
        assert_eq!(
            too_little_gain(0.01, 2.0),
            "the launcher's order is kept: the best rank order found saves less than 0.1 % of the hop-bytes; \
             the threshold (--min-gain) is 2 %"
        );
        assert!(too_little_gain(1.23, 3.0).contains("saves only 1.2 % of the hop-bytes"));
        assert!(too_little_gain(0.0, 2.0).contains("found no better rank order"));
    }
}
