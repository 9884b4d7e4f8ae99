//! The cost of a rank order.

use crate::metrics::{PredictedTime, RailLoads};

/// The cost of a rank order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OrderCost {
    pub hop_bytes: u128,
    /// The load of the rails, where they matter.
    pub rails: Option<RailLoads>,
    /// The predicted time, where it is what counts.
    pub time: Option<PredictedTime>,
}

impl OrderCost {
    /// Hop-bytes, with what uneven rails cost.
    pub fn total(&self) -> u128 {
        self.hop_bytes.saturating_add(self.rails.as_ref().map_or(0, |rails| rails.uneven_cost))
    }

    /// What an order with the cost `after` saves of this one, in percent: of the predicted time where that is what counts,
    /// or of the hop-bytes if the time stays the same.
    pub fn saved(&self, after: &OrderCost) -> f64 {
        let of_total = 100.0 * (1.0 - after.total() as f64 / self.total() as f64);
        let times =
            self.time.zip(after.time).map(|(before, after)| (before.slowest, after.slowest));
        match times {
            Some((before, after)) if before != after => 100.0 * (1.0 - after / before),
            _ => of_total,
        }
    }
}
