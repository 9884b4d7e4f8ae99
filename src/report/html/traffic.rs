//! The tables of traffic: by kind, by node, and by pair.

use super::{Page, table};
use crate::base::error::Result;
use crate::report::node_order::{self, NodeTraffic};
use crate::report::{summary, units};
use maud::{Markup, html};

/// The largest number of pairs that are listed.
const PAIRS: usize = 20;
/// The largest number of nodes that are listed.
const NODES: usize = 64;
/// The largest number of runs of tasks that are listed for a node.
const RUNS: usize = 24;
/// The length of the bar of a kind that has all traffic, in pixels.
const BAR: f64 = 160.0;

fn per_message(bytes: u64, messages: u64) -> String {
    bytes.checked_div(messages).map_or_else(|| "–".into(), units::bytes)
}

impl Page<'_> {
    pub(super) fn kinds(&self) -> Markup {
        let s = &self.summary;
        let rows = s.kinds.iter().map(|kind| {
            let share = kind.amount.bytes as f64 / s.total.bytes.max(1) as f64;
            let name = match kind.kind {
                "p2p" => "point-to-point",
                "onesided" => "one-sided",
                _ if kind.is_modelled() => "collective (modelled)",
                other => other,
            };
            html! {
                td.l { (name) }
                td { (units::bytes(kind.amount.bytes)) }
                td { (units::count(kind.amount.messages)) }
                td { (units::count(kind.amount.pairs as u64)) }
                td { (per_message(kind.amount.bytes, kind.amount.messages)) }
                td.l { span.bar style=(format!("width:{:.0}px", BAR * share)) {} }
            }
        });
        let headings =
            ["kind", "bytes", "messages", "pairs", "bytes per message", "share of bytes"];
        html! { h2 { "Traffic by kind" } (table(&headings, &[0, 5], rows)) }
    }

    pub(super) fn nodes(&self) -> Result<Markup> {
        if self.launch.placement.node_of_process.is_empty() {
            return Ok(html! {});
        }
        let now =
            node_order::node_traffic(&self.matrix, self.launch, |t| self.launch.process_of(t));
        let given = node_order::node_traffic(&self.matrix, self.launch, |t| t);
        let both = self.launch.is_reordered();
        let rows = now.iter().zip(&given).take(NODES).enumerate();
        let rows = rows.map(|(k, (now, given))| self.node_row(k, now, both.then_some(given)));
        let mut headings = vec!["node", "tasks", "inside the node", "sent to others"];
        if both {
            headings.push("sent in the launcher's order");
        }
        headings.extend(["received from others", "tasks on it"]);
        let last = headings.len() - 1;
        Ok(html! {
            h2 { "Traffic by node" }
            (table(&headings, &[0, last], rows))
            @if now.len() > NODES { p.dim { "… and " (now.len() - NODES) " more nodes." } }
            (self.node_picture(now.len())?)
        })
    }

    /// The row of a node. `given` is the traffic of the node in the launcher's order.
    fn node_row(&self, k: usize, now: &NodeTraffic, given: Option<&NodeTraffic>) -> Markup {
        let name = self.launch.placement.node_names.get(k).map_or("", String::as_str);
        let tasks = (0..self.matrix.tasks()).filter(|&t| self.launch.node_of(t) == Some(k));
        html! {
            td.l { (units::printable(name)) }
            td { (now.tasks) }
            td { (units::bytes(now.inside)) }
            td { (units::bytes(now.sent)) }
            @if let Some(given) = given { td { (units::bytes(given.sent)) } }
            td { (units::bytes(now.received)) }
            td.l { (units::ranges(tasks, RUNS)) }
        }
    }

    pub(super) fn pairs(&self) -> Markup {
        let pairs = summary::top_pairs(&self.matrix, PAIRS, &|task| self.launch.node_of(task));
        if pairs.is_empty() {
            return html! {};
        }
        let total = self.summary.total.bytes;
        let rows = pairs.iter().map(|pair| {
            let place = match pair.internode {
                Some(true) => "on different nodes",
                Some(false) => "on one node",
                None => "–",
            };
            html! {
                td.l { (pair.a) " ↔ " (pair.b) }
                td { (units::bytes(pair.bytes)) }
                td { (units::percent(pair.bytes, total)) }
                td { (units::count(pair.messages)) }
                td { (per_message(pair.bytes, pair.messages)) }
                td.l { (place) }
            }
        });
        let headings =
            ["tasks", "bytes, both directions", "of all", "messages", "bytes per message", "where"];
        html! { h2 { "Pairs with most traffic" } (table(&headings, &[0, 5], rows)) }
    }
}
