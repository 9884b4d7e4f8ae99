//! The parts of the report about the launch: how its order was decided, and where its processes were.

use super::{Page, change, table};
use crate::base::nouns::counted;
use crate::report::units;
use crate::store::LaunchMode;
use maud::{Markup, html};
use std::collections::BTreeSet;

impl Page<'_> {
    pub(super) fn decision(&self) -> Markup {
        let s = &self.summary;
        let mode = if s.mode == LaunchMode::Unknown { "unknown" } else { s.mode.name() };
        let decision = match (s.decision.as_str(), s.mode) {
            ("", LaunchMode::Import) => "The matrix was imported, so no order was chosen.",
            ("", LaunchMode::Record) => "This launch recorded in the launcher's order.",
            ("", _) => "The record does not say how the order was chosen.",
            (known, _) => known,
        };
        let rows = self.decision_rows();
        html! {
            h2 { "How the order was decided" }
            p {
                (units::printable(decision)) " "
                span.dim { "(mode " (mode) ")" }
            }
            @if !rows.is_empty() {
                (table(&["", "launcher's order", "order used", "change"], &[0], rows.into_iter()))
            }
        }
    }

    fn decision_rows(&self) -> Vec<Markup> {
        let s = &self.summary;
        let row = |what: &str, texts: [String; 2], values: [f64; 2]| {
            html! {
                td.l { (what) }
                td { (texts[0]) }
                td { (texts[1]) }
                td { (change(values[0], values[1])) }
            }
        };
        let mut rows = Vec::new();
        if let Some((before, after)) = s.predicted {
            let values = [before as f64, after as f64];
            let texts = [before, after].map(units::bytes);
            rows.push(row("predicted hop-bytes (bytes × distance)", texts, values));
        }
        if let (true, Some(now), Some(given)) =
            (s.reordered, s.internode_bytes, s.internode_bytes_given_order)
        {
            let texts = [given, now].map(units::bytes);
            let what = "bytes between nodes, of the matrix above";
            rows.push(row(what, texts, [given as f64, now as f64]));
        }
        if let Some(before) = s.wall_seconds_given_order.filter(|&b| b > 0.0 && s.reordered) {
            let values = [before, s.wall_seconds];
            let texts = values.map(units::seconds);
            let what = "time, one launch each (see 'rankweave compare' for more)";
            rows.push(row(what, texts, values));
        }
        rows
    }

    pub(super) fn topology(&self) -> Markup {
        let placement = &self.launch.placement;
        if placement.node_of_process.is_empty() {
            return html! { h2 { "Topology" } p { "The places of the processes are not known." } };
        }
        let rows = placement.level_costs.iter().enumerate().map(|(level, cost)| {
            let name = placement.level_names.get(level).map_or("same place", String::as_str);
            html! {
                td.l { (units::printable(name)) }
                td { (self.groups(level).map_or("–".into(), |n| n.to_string())) }
                td { (cost) }
            }
        });
        let headings = ["processes that first differ at", "groups in use", "distance"];
        html! {
            h2 { "Topology" }
            p {
                (counted(placement.node_of_process.len(), "process")) " on " (counted(placement.node_names.len(), "node")) "."
            }
            @if rows.len() > 0 { (table(&headings, &[0], rows)) }
            (self.rails())
        }
    }

    /// The rails of the nodes with their traffic; nothing if they are not known.
    fn rails(&self) -> Markup {
        /// The most rails that are listed.
        const MOST: usize = 64;
        let (rails, reordered) = (&self.summary.rails, self.summary.reordered);
        let rows = rails.iter().take(MOST).map(|rail| {
            html! {
                td.l { (units::printable(&rail.node)) }
                td.l { (units::printable(&rail.rail)) }
                td { (rail.tasks) }
                td { (units::bytes(rail.sent)) }
                td { (units::bytes(rail.received)) }
                @if reordered {
                    td { (units::bytes(rail.sent_given_order)) }
                    td { (units::bytes(rail.received_given_order)) }
                }
            }
        });
        let mut headings =
            vec!["node", "rail", "tasks", "sent to other nodes", "received from them"];
        if reordered {
            headings.extend(["sent in the launcher's order", "received in it"]);
        }
        html! {
            @if !rails.is_empty() {
                p { "A rail is a network adapter. The traffic of a task passes the rail that is nearest to it." }
                (table(&headings, &[0, 1], rows))
                @if let Some(balance) = self.summary.rail_balance {
                    p {
                        "The busiest rail has " (units::bytes(balance.busiest)) " in one direction. The busiest rails of \
                         all nodes have " (format!("{:.2}", balance.imbalance)) " times what even rails would have."
                        @if reordered {
                            " In the launcher's order these are " (units::bytes(balance.busiest_given_order)) " and "
                            (format!("{:.2}", balance.imbalance_given_order)) "."
                        }
                    }
                }
                @if rails.len() > MOST { p { "… and " (rails.len() - MOST) " more rails." } }
            }
        }
    }

    /// The number of groups of a level that have processes; `None` below the last level.
    fn groups(&self, level: usize) -> Option<usize> {
        let placement = &self.launch.placement;
        if level >= placement.level_names.len() {
            return None;
        }
        let groups: BTreeSet<Vec<u32>> = (0..placement.node_of_process.len())
            .map(|p| {
                let inner = placement.place_of_process.get(p).map_or(&[][..], Vec::as_slice);
                let inner = inner.get(..level).unwrap_or(inner);
                [&placement.node_of_process[p..=p], inner].concat()
            })
            .collect();
        Some(groups.len())
    }
}
