//! The figures of a record for people: a few lines of text.

use super::{Amount, KindSummary, Newer, RailSummary, Summary};
use crate::base::nouns::{counted, noun};
use crate::report::units;
use crate::store::{Completeness, LaunchMode};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{Result, Write};

/// A newer launch whose record is not in use, in words.
fn newer_words(newer: &Newer) -> String {
    let other = if newer.is_of_other_kind { ", with other arguments or another MPI" } else { "" };
    let state = match newer.state {
        Completeness::Whole => "",
        Completeness::Interrupted => ", ended early",
        Completeness::Partial => ", rows are missing",
    };
    format!(
        "a launch of {}{other}{state}, {} sent; its record is not in use: rankweave show {}",
        units::time(newer.recorded_at),
        units::bytes(newer.total_bytes),
        units::printable(&newer.selector)
    )
}

impl Summary {
    /// The figures as text of a few lines, ending in a newline.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> Result {
        writeln!(out, "{}", units::printable(&self.key))?;
        for (name, value) in [self.launch_lines(), self.time_lines(), self.verdict_lines()].concat()
        {
            writeln!(out, "  {name:<12}{value}")?;
        }
        writeln!(out)?;
        self.write_traffic(out)?;
        self.write_top(out)
    }

    /// The lines about the launch and the decision.
    fn launch_lines(&self) -> Vec<(&'static str, String)> {
        let p = units::printable;
        let mut lines = vec![("program", p(&self.program))];
        if self.command.len() > 1 {
            lines.push(("arguments", p(&self.command[1..].join(" "))));
        }
        let on = match self.nodes {
            0 => String::new(),
            n => format!(" on {}", counted(n, "node")),
        };
        lines.push(("tasks", format!("{}{on}", self.tasks)));
        lines.extend(self.device_lines());
        lines.push(("recorded", units::time(self.recorded_at)));
        if !self.mpi.is_empty() {
            lines.push(("MPI", p(&self.mpi)));
        }
        if self.mode != LaunchMode::Unknown {
            let order = if self.reordered { "ranks reordered" } else { "the launcher's order" };
            lines.push(("launch", format!("mode {}, {order}", self.mode)));
        }
        if !self.decision.is_empty() {
            lines.push(("decision", p(&self.decision)));
        }
        // The decision of a recovered record says it.
        if !self.ended.is_empty() && !self.decision.contains(&self.ended) {
            lines.push(("ended", format!("early: {}", p(&self.ended))));
        }
        lines.extend(self.newer.as_ref().map(|newer| ("newer", newer_words(newer))));
        if !self.lacks.is_empty() {
            lines.push(("missing", p(&self.lacks.join(", "))));
        }
        lines
    }

    /// The lines about rails and GPUs.
    fn device_lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let sum = |rail: &RailSummary| rail.sent.saturating_add(rail.received);
        let mut of_node: BTreeMap<&str, usize> = BTreeMap::new();
        self.rails.iter().for_each(|rail| *of_node.entry(&rail.node).or_default() += 1);
        let busiest = self.rails.iter().max_by_key(|&rail| (sum(rail), Reverse(&rail.rail)));
        // With a single rail everything goes through it.
        if let (Some(busiest), Some(&most)) =
            (busiest, of_node.values().max().filter(|&&most| most > 1))
        {
            let mut text = match of_node.values().all(|&rails| rails == most) {
                true => format!("{most} on each node"),
                false => format!("{} on all nodes", self.rails.len()),
            };
            if sum(busiest) > 0 {
                let all = self.rails.iter().map(sum).fold(0, u64::saturating_add);
                text.push_str(&format!(
                    "; most traffic through {} of {}: {} out, {} in ({} of all rails)",
                    units::printable(&busiest.rail),
                    units::printable(&busiest.node),
                    units::bytes(busiest.sent),
                    units::bytes(busiest.received),
                    units::percent(sum(busiest), all)
                ));
            }
            if let Some(balance) = self.rail_balance.filter(|balance| balance.busiest > 0) {
                text.push_str(&format!("; imbalance {:.2}", balance.imbalance));
                if self.reordered {
                    text.push_str(&format!(
                        " ({:.2} in the launcher's order, {} at most)",
                        balance.imbalance_given_order,
                        units::bytes(balance.busiest_given_order)
                    ));
                }
            }
            lines.push(("rails", text));
        }
        let with_gpu = self.gpu_of_task.iter().flatten().count();
        if with_gpu > 0 {
            let few = self.gpu_of_task.iter().flatten().take(4).map(|name| units::printable(name));
            let mut names = few.collect::<Vec<_>>().join(", ");
            if with_gpu > 4 {
                names.push_str(", …");
            }
            lines.push(("GPUs", format!("near to {}: {names}", counted(with_gpu, "task"))));
        }
        lines
    }

    /// The lines about the time of the launch.
    fn time_lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if self.wall_seconds > 0.0 {
            let given = match self.wall_seconds_given_order {
                Some(s) if s > 0.0 && self.reordered => {
                    format!(" ({} in the launcher's order)", units::seconds(s))
                }
                _ => String::new(),
            };
            lines.push(("time", format!("{}{given}", units::seconds(self.wall_seconds))));
        }
        if let (Some(mean), Some(most), Some(percent), Some(calls)) =
            (self.mpi_seconds, self.mpi_seconds_max, self.mpi_percent, self.mpi_calls_timed)
        {
            let given = match self.mpi_seconds_given_order {
                Some(s) if self.reordered => {
                    format!("; {} in the launcher's order", units::seconds(s))
                }
                _ => String::new(),
            };
            let text = format!(
                "{} per process, {} of the time, at most {} ({} {} timed){given}",
                units::seconds(mean),
                units::whole_percent(percent),
                units::seconds(most),
                units::count(calls),
                noun(calls, "call")
            );
            lines.push(("in MPI", text));
        }
        lines
    }

    /// The lines about the prediction, the measured times, and the verdicts.
    fn verdict_lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some((before, after)) = self.predicted.filter(|p| p.0 > 0 && p.0 != p.1) {
            let percent = 100.0 * (after as f64 / before as f64 - 1.0);
            lines.push(("predicted", format!("hop-bytes {percent:+.1} %")));
        }
        if !self.measured.is_empty() {
            lines.push(("history", self.measured.clone()));
        }
        for check in &self.checks {
            let reason = match check.reason.as_str() {
                "" => String::new(),
                known => format!(": {}", units::printable(known)),
            };
            let when = units::time(check.checked_at);
            let text =
                format!("{} with {}, {when}{reason}", check.verdict, counted(check.tasks, "rank"));
            lines.push(("check", text));
        }
        lines
    }

    /// The table of the kinds of traffic.
    fn write_traffic(&self, out: &mut String) -> Result {
        writeln!(out, "  {:<12}{:>12}{:>14}{:>12}", "traffic", "bytes", "messages", "pairs")?;
        let mut row = |name: &str, a: &Amount| {
            writeln!(
                out,
                "  {name:<12}{:>12}{:>14}{:>12}",
                units::bytes(a.bytes),
                units::count(a.messages),
                units::count(a.pairs as u64)
            )
        };
        let is_modelled = |kind: &KindSummary| kind.is_modelled() && kind.amount.bytes > 0;
        for kind in &self.kinds {
            let mark = if is_modelled(kind) { "*" } else { "" };
            row(&format!("{}{mark}", kind.kind), &kind.amount)?;
        }
        row("all", &self.total)?;
        if self.kinds.iter().any(is_modelled) {
            writeln!(
                out,
                "  * modelled: what algorithms for these calls send; other kinds are counted"
            )?;
        }
        if let (Some(now), Some(given)) = (self.internode_bytes, self.internode_bytes_given_order) {
            let share = units::percent(now, self.total.bytes);
            let before = match self.reordered {
                true => format!(" (in the launcher's order {})", units::bytes(given)),
                false => String::new(),
            };
            writeln!(out, "  between nodes {} = {share} of all{before}", units::bytes(now))?;
        }
        Ok(())
    }

    /// The tasks and the pairs with most traffic.
    fn write_top(&self, out: &mut String) -> Result {
        if self.top_senders.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n  top senders")?;
        for s in &self.top_senders {
            writeln!(
                out,
                "    task {:<8}{:>12}{:>14} {} to {}",
                s.task,
                units::bytes(s.bytes),
                units::count(s.messages),
                noun(s.messages, "message"),
                counted(s.receivers, "task")
            )?;
        }
        writeln!(out, "  top pairs (both directions)")?;
        for pair in &self.top_pairs {
            let place = match pair.internode {
                Some(true) => ", on different nodes",
                Some(false) => ", on one node",
                None => "",
            };
            writeln!(
                out,
                "    {:<13}{:>12}{:>14} {}{place}",
                format!("{} ↔ {}", pair.a, pair.b),
                units::bytes(pair.bytes),
                units::count(pair.messages),
                noun(pair.messages, "message")
            )?;
        }
        Ok(())
    }
}
