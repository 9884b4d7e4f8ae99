//! The summary of a mapping, for people and for scripts.

use crate::base::nouns::counted;
use crate::cli::arguments::instance::{Instance, ObjectiveValue};
use crate::report::units;
use serde::Serialize;

/// The summary; field names are those of the JSON.
#[derive(Serialize)]
pub(super) struct MappingSummary {
    pub(super) schema: u32,
    pub(super) algorithm: String,
    pub(super) preset: String,
    pub(super) tasks: usize,
    pub(super) slots: usize,
    pub(super) objective: &'static str,
    /// Why it is this one; left out if the user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) objective_chosen: Option<String>,
    pub(super) cost: ObjectiveValue,
    pub(super) identity_cost: ObjectiveValue,
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    pub(super) peak_rss_bytes: u64,
    /// No mapping costs less; left out if no bound was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lower_bound: Option<ObjectiveValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bound_found_by: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) moves: Option<Moves>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) load: Option<Load>,
}

/// The additional figures with `--previous`.
#[derive(Serialize)]
pub(super) struct Moves {
    /// The number of tasks that are not on their previous slot.
    pub(super) moved: usize,
    /// The number of moved tasks whose previous slot may not be used any more.
    pub(super) forced_moves: usize,
    pub(super) migration_cost: u64,
}

/// The additional figures with `--weights`.
#[derive(Serialize)]
pub(super) struct Load {
    pub(super) max_load: u128,
    pub(super) mean_load: f64,
}

impl MappingSummary {
    /// The summary for people.
    pub(super) fn text(
        &self,
        instance: &Instance,
        diagnostics: &[(&'static str, String)],
    ) -> String {
        let mut out = format!(
            "{} on {} of {} of {}\n{} {} by {} ({}), {} in the launcher's order",
            counted(self.tasks, "task"),
            self.slots,
            counted(instance.topology.slots(), "slot"),
            instance.topology.name(),
            self.objective,
            self.cost,
            self.algorithm,
            self.preset,
            self.identity_cost,
        );
        let real = |figure: ObjectiveValue| match figure {
            ObjectiveValue::Whole(n) => n as f64,
            ObjectiveValue::Real(x) => x,
        };
        let (before, after) = (real(self.identity_cost), real(self.cost));
        if before > 0.0 {
            out.push_str(&format!(": {:.1} % saved", 100.0 * (before - after) / before));
        }
        if let Some(chosen) = &self.objective_chosen {
            out.push_str(&format!("\n{chosen}"));
        }
        if let Some(moves) = &self.moves {
            let Moves { moved, forced_moves, .. } = moves;
            out.push_str(&format!(
                "\n{} moved, {forced_moves} of them because their slot is gone",
                counted(*moved, "task")
            ));
        }
        if let Some(load) = &self.load {
            let Load { max_load, mean_load } = load;
            out.push_str(&format!("\nload of a slot {max_load} at most, mean {mean_load:.1}"));
        }
        out.push_str(&format!(
            "\n{}, {} of CPU time, {} at most\n",
            units::seconds(self.seconds),
            units::seconds(self.cpu_seconds),
            units::bytes(self.peak_rss_bytes)
        ));
        for (what, value) in diagnostics {
            out.push_str(&format!("  {what}: {value}\n"));
        }
        out
    }
}
