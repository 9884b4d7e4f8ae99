//! What a rank order is judged by: the traffic, the machine, and what the user allows.
//!
//! The cost of an order is its hop-bytes. If the nodes have several rails, what uneven rails cost is added
//! ([`crate::metrics::RailLoads`]), and the tasks of each node are exchanged so that they share the rails ([`rails::spread`]).
//! Where the predicted time is what counts ([`ChosenAim`]), it comes before this cost.

use super::aim::ChosenAim;
use super::order_cost::OrderCost;
use super::{Decision, Options, check, stay, wording};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::permutation::{identity, is_permutation};
use crate::mapping::rails;
use crate::matrix::{CommMatrix, Graph, SparseMatrix};
use crate::metrics;
use crate::topology::Topology;

/// The question which process takes over which task.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// What the tasks send each other, both directions added up.
    pub graph: &'a Graph,
    /// The same by direction, where the rails matter ([`traffic_of_rails`]).
    pub traffic: Option<&'a SparseMatrix>,
    /// The same by direction, where the predicted time is what counts ([`traffic_of_time`]).
    pub timed: Option<&'a SparseMatrix>,
    /// The machine.
    pub topology: &'a dyn Topology,
    /// The slot of the process with each launcher rank; all differ.
    pub slot_of_process: &'a [usize],
    /// What the user allows.
    pub options: &'a Options,
}

/// The traffic by direction, if the nodes have slots of different rails; `None` if the rails do not matter.
pub fn traffic_of_rails(matrix: &CommMatrix, topology: &dyn Topology) -> Option<SparseMatrix> {
    topology.rails().filter(|rails| rails.have_choice()).map(|_| matrix.sum())
}

/// The traffic by direction, if the predicted time is what a rank order is judged by; else `None`.
pub fn traffic_of_time(
    matrix: &CommMatrix,
    topology: &dyn Topology,
    options: &Options,
) -> Option<SparseMatrix> {
    ChosenAim::of(options.objective, topology).is_time().then(|| matrix.sum())
}

impl Question<'_> {
    /// The decision about an order: whether it is worth it.
    ///
    /// Errors: sizes that do not fit together, an order that is no permutation or moves fixed tasks.
    pub fn judge(&self, process_of_task: Vec<u32>) -> Result<Decision> {
        let tasks = self.graph.vertices();
        check(tasks, self.slot_of_process, self.options)?;
        let sound = process_of_task.len() == tasks && is_permutation(&process_of_task);
        let stays = |&t: &u32| process_of_task.get(t as usize) == Some(&t);
        if !sound || !self.options.fixed.iter().all(stays) {
            let what = "the rank order that was found is no permutation, or moves a fixed task";
            return Err(Error::new(ErrorKind::Infeasible, what));
        }
        let before = self.cost(&identity(tasks));
        if before.total() == 0 {
            return Ok(stay(tasks, 0, wording::nothing_travels(self.graph.edges())));
        }
        let after = self.cost(&process_of_task);
        Ok(self.concluded(&before, &after, process_of_task))
    }

    /// The order with the tasks of each node spread over its rails, or the launcher's order spread in the same way:
    /// the one with the lowest cost. The order itself if nothing is better, or if the rails do not matter.
    pub fn spread(&self, process_of_task: Vec<u32>) -> Vec<u32> {
        let Some(traffic) = self.traffic else { return process_of_task };
        let mut best = (self.cost(&process_of_task).total(), process_of_task);
        for order in [best.1.clone(), identity(self.graph.vertices())] {
            // Even rails save what uneven ones cost, and the hop-bytes stay about the same.
            if self.cost(&order).hop_bytes >= best.0 {
                continue;
            }
            let Some(order) = self.exchanged(traffic, &order) else { continue };
            let cost = self.cost(&order).total();
            if cost < best.0 {
                best = (cost, order);
            }
        }
        best.1
    }

    /// The order after exchanges of tasks inside the nodes; `None` if there are none.
    fn exchanged(&self, traffic: &SparseMatrix, process_of_task: &[u32]) -> Option<Vec<u32>> {
        let mut process_of_slot = vec![0u32; self.topology.slots()];
        (0u32..).zip(self.slot_of_process).for_each(|(k, &slot)| process_of_slot[slot] = k);
        let mut slots = self.slots(process_of_task);
        rails::spread(self.graph, traffic, self.topology, &self.options.fixed, &mut slots)
            .then(|| slots.iter().map(|&slot| process_of_slot[slot]).collect())
    }

    /// The cost of an order, by the independent metrics.
    pub(super) fn cost(&self, process_of_task: &[u32]) -> OrderCost {
        let slots = self.slots(process_of_task);
        OrderCost {
            hop_bytes: metrics::hop_bytes(self.graph, self.topology, &slots),
            rails: self.traffic.and_then(|t| metrics::rail_loads(t, self.topology, &slots)),
            time: self.timed.and_then(|t| metrics::predicted_time(t, self.topology, &slots)),
        }
    }

    fn slots(&self, process_of_task: &[u32]) -> Vec<usize> {
        process_of_task.iter().map(|&p| self.slot_of_process[p as usize]).collect()
    }

    /// The decision for an order; the launcher's order if it gains too little.
    pub(super) fn concluded(
        &self,
        before: &OrderCost,
        after: &OrderCost,
        order: Vec<u32>,
    ) -> Decision {
        let threshold = self.options.min_gain_percent;
        let gain = before.saved(after);
        if gain <= 0.0 || gain < threshold {
            let reason = wording::too_little_gain(gain, threshold, before);
            return stay(order.len(), before.hop_bytes, reason);
        }
        Decision {
            process_of_task: order,
            changed: true,
            cost_before: before.hop_bytes,
            cost_after: after.hop_bytes,
            reason: wording::predicted(before, after),
            cut: false,
        }
    }
}
