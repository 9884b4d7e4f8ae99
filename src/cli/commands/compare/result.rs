//! The result of a comparison: the verdict and the figures, for people and for scripts.

use super::interval::Estimate;
use super::measure::MeasuredRun;
use crate::base::nouns::counted;
use crate::decide::median;
use crate::report::units;
use serde_json::{Value, json};

/// A run in the launcher's order and one with reordered ranks.
pub(super) type Pair = (MeasuredRun, MeasuredRun);

/// The conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Faster,
    Slower,
    NoDifference,
    NotReordered,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifference => "no difference shown",
            Verdict::NotReordered => "not reordered",
        }
    }

    /// The verdict that follows from the interval. A ratio below 1 means that reordering is better.
    fn of(estimate: Option<&Estimate>, confidence: f64) -> Verdict {
        match estimate {
            Some(e) if e.coverage >= confidence && e.high < 1.0 => Verdict::Faster,
            Some(e) if e.coverage >= confidence && e.low > 1.0 => Verdict::Slower,
            _ => Verdict::NoDifference,
        }
    }
}

/// All runs that count, and the settings of the comparison.
#[derive(Debug)]
pub(super) struct Comparison {
    /// Key of the record whose matrix the reordered runs used.
    pub(super) key: String,
    /// The expression that finds the number that is compared; `None` for the wall time.
    pub(super) figure: Option<String>,
    /// True if a larger number is better.
    pub(super) higher_is_better: bool,
    /// Probability in percent with which the interval is to hold the true median.
    pub(super) confidence_percent: f64,
    /// The runs.
    pub(super) pairs: Vec<Pair>,
    /// The reason why a run kept the launcher's order; `None` if all runs were reordered.
    pub(super) left_alone: Option<String>,
}

impl Comparison {
    /// The median ratio of the pairs, with its interval. A ratio below 1 means that reordering is better.
    fn estimate(&self) -> Option<Estimate> {
        let ratio = |(given, reordered): &Pair| match self.higher_is_better {
            true => given.value / reordered.value,
            false => reordered.value / given.value,
        };
        let ratios: Vec<f64> = self.pairs.iter().map(ratio).collect();
        Estimate::of(&ratios, self.confidence())
    }

    fn confidence(&self) -> f64 {
        self.confidence_percent / 100.0
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.left_alone {
            Some(_) => Verdict::NotReordered,
            None => Verdict::of(self.estimate().as_ref(), self.confidence()),
        }
    }

    /// The numbers that were compared: of the runs in the launcher's order, and of the reordered runs.
    fn values(&self) -> [Vec<f64>; 2] {
        let of = |value: fn(&Pair) -> f64| self.pairs.iter().map(value).collect();
        [of(|pair| pair.0.value), of(|pair| pair.1.value)]
    }

    fn medians(&self) -> Option<(f64, f64)> {
        let [given, reordered] = self.values();
        median(&given).zip(median(&reordered))
    }

    /// Bytes between nodes of the last pair.
    fn internode_bytes(&self) -> Option<(u64, u64)> {
        self.pairs.last().and_then(|pair| pair.0.internode_bytes.zip(pair.1.internode_bytes))
    }

    /// Hop-bytes predicted for the last pair.
    fn predicted(&self) -> Option<(u128, u128)> {
        self.pairs.last().map(|pair| pair.1.predicted).filter(|&p| p != (0, 0))
    }

    /// The result for scripts.
    pub(super) fn json(&self) -> Value {
        let estimate = self.estimate();
        let [given, reordered] = self.values();
        let bytes = self.internode_bytes();
        json!({
            "schema": 1,
            "verdict": self.verdict().name(),
            "key": self.key,
            "figure": self.figure.as_deref().unwrap_or("wall seconds"),
            "higher_is_better": self.higher_is_better,
            "pairs": self.pairs.len(),
            "ratio": estimate.map(|e| e.median),
            "interval": estimate.map(|e| [e.low, e.high]),
            "coverage": estimate.map(|e| e.coverage),
            "confidence": self.confidence(),
            "medians": self.medians().map(|(g, r)| json!({ "given": g, "reordered": r })),
            "given": given,
            "reordered": reordered,
            "internode_bytes": bytes.map(|(g, r)| json!({ "given": g, "reordered": r })),
            "predicted_hop_bytes": self.predicted().map(|(g, r)| {
                json!({ "given": g as f64, "reordered": r as f64 })
            }),
            "decision": self.left_alone,
        })
    }

    /// The result for people.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}{}", self.verdict().name(), self.reason());
        if let Some((given, reordered)) = self.medians() {
            let name = self.figure.as_deref().map_or("wall seconds", |_| "figure");
            text.push_str(&format!(
                "  {name:<20} launcher's order {given:.4}, reordered {reordered:.4} (medians)\n"
            ));
        }
        if let Some((given, reordered)) = self.internode_bytes() {
            text.push_str(&format!(
                "  {:<20} launcher's order {}, reordered {}\n",
                "bytes between nodes",
                units::bytes(given),
                units::bytes(reordered)
            ));
        }
        if let Some((given, reordered)) = self.predicted() {
            let percent = 100.0 * (reordered as f64 / given as f64 - 1.0);
            text.push_str(&format!("  {:<20} {percent:+.1} %\n", "predicted hop-bytes"));
        }
        text
    }

    /// The reason for the verdict: the end of the first line, and a second line if there are too few pairs.
    fn reason(&self) -> String {
        if let Some(decision) = &self.left_alone {
            return format!(": {}\n", units::printable(decision));
        }
        let Some(e) = self.estimate() else { return "\n".into() };
        let inverted = match self.higher_is_better {
            true => ", inverted: below 1 is better",
            false => "",
        };
        let pairs = counted(self.pairs.len(), "pair");
        let covered = 100.0 * e.coverage;
        let mut text = format!(
            ": ratio {:.3}, {covered:.0} % interval {:.3} to {:.3} (median of {pairs}, \
             reordered to launcher's order{inverted})\n",
            e.median, e.low, e.high,
        );
        if e.coverage < self.confidence() {
            text.push_str(&format!(
                "  {pairs} {} {covered:.1} % at best; {} % takes more --runs\n",
                if self.pairs.len() == 1 { "gives" } else { "give" },
                self.confidence_percent
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let of = |low: f64, high: f64, coverage: f64| {
            let e = Estimate { median: low, low, high, coverage };
            Verdict::of(Some(&e), 0.95)
        };
        assert_eq!(of(0.7, 0.9, 0.96), Verdict::Faster);
        assert_eq!(of(1.1, 1.9, 0.96), Verdict::Slower);
        assert_eq!(of(0.7, 1.0, 0.96), Verdict::NoDifference);
        assert_eq!(of(0.7, 0.9, 0.93), Verdict::NoDifference);
        assert_eq!(Verdict::of(None, 0.95), Verdict::NoDifference);
    }
}
