//! The cost of a rank order.

use crate::metrics::RailLoads;

/// The cost of a rank order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OrderCost {
    pub hop_bytes: u128,
    /// The load of the rails, where they matter.
    pub rails: Option<RailLoads>,
}

impl OrderCost {
    /// Hop-bytes, with what uneven rails cost.
    pub fn total(&self) -> u128 {
        self.hop_bytes.saturating_add(self.rails.as_ref().map_or(0, |rails| rails.uneven_cost))
    }
}
