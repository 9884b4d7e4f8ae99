//! The sentence that tells the user what was decided, with figures.

use super::order_cost::OrderCost;
use crate::base::quantity::bytes;

/// The launcher's order costs nothing: there is no traffic, or the topology charges nothing for it.
pub(super) fn nothing_travels(edges: usize) -> String {
    kept(match edges {
        0 => "the ranks send each other nothing",
        _ => "all traffic of the ranks is between places at distance 0",
    })
}

/// The sentence of a decision against another rank order, with its reason.
pub fn kept(why: &str) -> String {
    format!("the launcher's order is kept: {why}")
}

/// The rank order changes.
pub(super) fn predicted(before: &OrderCost, after: &OrderCost) -> String {
    let figures = |what: &str, before: u128, after: u128| {
        format!("{what} {} → {} ({})", bytes(before), bytes(after), change(before, after))
    };
    let mut text = String::from("a better rank order was found: predicted ");
    if let Some((before, after)) = before.time.zip(after.time) {
        // A time has no unit that users know: it is that of bytes on a link of bandwidth 1.
        let thousandths = 1000.0 / before.slowest.max(f64::MIN_POSITIVE);
        let [before, after] = [before, after].map(|t| (t.slowest * thousandths).round() as u128);
        text.push_str(&format!("time {}, ", change(before, after)));
    }
    text.push_str(&figures("hop-bytes", before.hop_bytes, after.hop_bytes));
    if let (Some(before), Some(after)) = (&before.rails, &after.rails) {
        let [before, after] = [before, after].map(|rails| u128::from(rails.busiest));
        text.push_str(&figures(", bytes of the busiest rail", before, after));
    }
    text
}

/// A decision that comes from the order of an earlier launch.
pub(super) fn adapted(reason: &str) -> String {
    format!("{reason}, adapted to changed traffic from the order of an earlier launch")
}

/// The launcher's order stays: no better order was found, or its gain is below the threshold.
/// The gain is one of the predicted time, of hop-bytes, or of hop-bytes and rails.
pub(super) fn too_little_gain(gain: f64, threshold: f64, before: &OrderCost) -> String {
    if gain <= 0.0 {
        return kept("the search found no better rank order");
    }
    let share = if is_tiny(gain) { LESS_THAN_SHOWN.into() } else { format!("only {gain:.1} %") };
    let cost = match (&before.time, &before.rails) {
        (Some(_), _) => "the predicted time",
        (None, Some(_)) => "the cost of hop-bytes and rails",
        (None, None) => "the hop-bytes",
    };
    kept(&format!(
        "the best rank order found saves {share} of {cost}; the threshold (--min-gain) is {threshold} %"
    ))
}

/// A gain that is not zero and would be shown as 0.0 %.
const LESS_THAN_SHOWN: &str = "less than 0.1 %";

/// Whether a gain in percent would be shown as 0.0 %.
fn is_tiny(gain: f64) -> bool {
    gain < 0.05
}

/// The change of a figure in percent.
fn change(before: u128, after: u128) -> String {
    let gain = 100.0 * (1.0 - after as f64 / before.max(1) as f64);
    if after == before {
        "unchanged".into()
    } else if is_tiny(gain.abs()) {
        LESS_THAN_SHOWN.into()
    } else {
        format!("{:+.1} %", -gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{PredictedTime, RailLoads};

    fn cost(hop_bytes: u128, busiest: Option<u64>) -> OrderCost {
        let rails = busiest.map(|busiest| RailLoads { busiest, ..RailLoads::default() });
        OrderCost { hop_bytes, rails, time: None }
    }

    fn timed(slowest: f64, hop_bytes: u128) -> OrderCost {
        let time = Some(PredictedTime { slowest, links: slowest });
        OrderCost { time, ..cost(hop_bytes, None) }
    }

    #[test]
    fn no_gain_is_shown_as_zero() {
        assert_eq!(
            predicted(&cost(2048, None), &cost(1024, None)),
            "a better rank order was found: predicted hop-bytes 2.00 KiB → 1.00 KiB (-50.0 %)"
        );
        assert_eq!(
            too_little_gain(0.01, 2.0, &cost(1, None)),
            "the launcher's order is kept: the best rank order found saves less than 0.1 % of the hop-bytes; \
             the threshold (--min-gain) is 2 %"
        );
        assert!(
            too_little_gain(1.23, 3.0, &cost(1, None))
                .contains("saves only 1.2 % of the hop-bytes")
        );
        assert!(
            too_little_gain(0.0, 2.0, &cost(1, Some(1))).contains("found no better rank order")
        );
    }

    #[test]
    fn a_cost_of_zero_has_two_reasons() {
        assert!(nothing_travels(0).ends_with("the ranks send each other nothing"));
        assert!(nothing_travels(3).ends_with("at distance 0"));
    }

    #[test]
    fn the_time_comes_first_where_it_counts() {
        assert_eq!(
            predicted(&timed(400.0, 2048), &timed(300.0, 4096)),
            "a better rank order was found: predicted time -25.0 %, hop-bytes 2.00 KiB → 4.00 KiB (+100.0 %)"
        );
        assert_eq!(timed(400.0, 1).saved(&timed(300.0, 2)), 25.0);
        assert_eq!(timed(400.0, 4).saved(&timed(400.0, 3)), 25.0);
        assert!(timed(300.0, 4).saved(&timed(400.0, 3)) < 0.0);
        assert!(too_little_gain(1.0, 2.0, &timed(1.0, 1)).contains("of the predicted time"));
    }

    #[test]
    fn rails_are_told_where_they_matter() {
        assert_eq!(
            predicted(&cost(1000, Some(2048)), &cost(1010, Some(1024))),
            "a better rank order was found: predicted hop-bytes 1000 B → 1010 B (+1.0 %), \
             bytes of the busiest rail 2.00 KiB → 1.00 KiB (-50.0 %)"
        );
        assert!(predicted(&cost(7, Some(3)), &cost(7, Some(2))).contains("(unchanged)"));
        assert!(
            too_little_gain(1.0, 2.0, &cost(1, Some(1)))
                .contains("of the cost of hop-bytes and rails")
        );
    }
}
