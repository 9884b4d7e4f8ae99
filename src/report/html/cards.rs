//! The most important figures. Each is on a card.

use super::{Page, change};
use crate::base::nouns::{counted, noun};
use crate::report::units;
use maud::{Markup, html};

impl Page<'_> {
    /// The row of cards.
    pub(super) fn cards(&self) -> Markup {
        let cards = [self.traffic_cards(), self.time_cards()].concat();
        html! {
            div.cards {
                @for (value, what) in cards {
                    div.card { b { (value) } span { (what) } }
                }
            }
        }
    }

    fn traffic_cards(&self) -> Vec<(String, Markup)> {
        let s = &self.summary;
        let nodes = match s.nodes {
            0 => "; their nodes are not known".into(),
            n => format!(" on {}", counted(n, "node")),
        };
        let all = (s.tasks as u64).saturating_mul(s.tasks as u64);
        let pairs = s.total.pairs as u64;
        let collective = s.kinds.iter().filter(|kind| kind.is_modelled());
        let modelled = match collective.map(|kind| kind.amount.bytes).sum::<u64>() {
            0 => String::new(),
            some => format!("; {} of it modelled for collective calls", units::bytes(some)),
        };
        let mut cards = vec![
            (units::count(s.tasks as u64), html! { (noun(s.tasks, "task")) (nodes) }),
            (
                units::bytes(s.total.bytes),
                html! { "sent in " (units::count(s.total.messages)) " " (noun(s.total.messages, "message")) (modelled) },
            ),
            (
                units::count(pairs),
                html! { (if pairs == 1 { "pair talks, " } else { "pairs talk, " }) (units::percent(pairs, all)) " of all" },
            ),
        ];
        if let (Some(now), Some(given)) = (s.internode_bytes, s.internode_bytes_given_order) {
            let share = units::percent(now, s.total.bytes);
            let what = match s.reordered {
                true => html! {
                    "between nodes, " (share) "; " (change(given as f64, now as f64)) " by reordering"
                },
                false => html! { "between nodes, " (share) " of all" },
            };
            cards.push((units::bytes(now), what));
        }
        cards
    }

    fn time_cards(&self) -> Vec<(String, Markup)> {
        let s = &self.summary;
        let mut cards = Vec::new();
        if s.wall_seconds > 0.0 {
            let what = match s.wall_seconds_given_order {
                Some(before) if before > 0.0 && s.reordered => html! {
                    "MPI_Init to Finalize; " (change(before, s.wall_seconds))
                    " against the launcher's order"
                },
                _ => html! { "from MPI_Init to MPI_Finalize" },
            };
            cards.push((units::seconds(s.wall_seconds), what));
        }
        if let (Some(seconds), Some(percent)) = (s.mpi_seconds, s.mpi_percent) {
            let before = s.mpi_seconds_given_order.filter(|&before| before > 0.0 && s.reordered);
            let what = html! {
                "in MPI per process, " (units::whole_percent(percent)) " of the time"
                @if let Some(before) = before {
                    "; " (change(before, seconds)) " against the launcher's order"
                }
            };
            cards.push((units::seconds(seconds), what));
        }
        cards
    }
}
