//! The report: one HTML file that needs neither network nor script.
//!
//! [`maud`] writes the HTML and escapes every text in it. [`units::printable`] removes control characters from
//! texts of foreign origin, because HTML must not contain them.

mod cards;
mod launch;
mod pictures;
mod traffic;

use super::Summary;
use super::units;
use crate::base::error::Result;
use crate::matrix::{Kind, SparseMatrix};
use crate::store::{Launch, Record};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// The report of a record for some kinds of traffic.
///
/// Errors: a picture cannot be encoded.
pub fn page(record: &Record, kinds: &[Kind]) -> Result<String> {
    let page = Page {
        record,
        launch: &record.launch,
        matrix: record.matrix.sum_of(kinds),
        summary: Summary::new(record, kinds),
    };
    let body = [
        page.head(),
        page.cards(),
        page.pictures()?,
        page.decision(),
        page.kinds(),
        page.nodes()?,
        page.pairs(),
        page.topology(),
    ];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (units::printable(&record.key)) " – rankweave" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @for part in body { (part) "\n" }
                footer {
                    "rankweave " (env!("CARGO_PKG_VERSION")) ". Rows are senders, columns are \
                     receivers. A task is a rank as the program sees it; a process is one as the \
                     launcher started it."
                }
            }
        }
    };
    Ok(page.into_string())
}

/// The input of the parts of the page.
struct Page<'a> {
    record: &'a Record,
    launch: &'a Launch,
    matrix: SparseMatrix,
    summary: Summary,
}

impl Page<'_> {
    fn head(&self) -> Markup {
        let r = self.record;
        let command = match r.command.is_empty() {
            true => r.program.clone(),
            false => r.command.join(" "),
        };
        html! {
            h1 { (units::printable(&r.key)) }
            div.dim {
                "recorded " (units::time(r.recorded_at))
                @if !r.mpi.is_empty() { " · " (units::printable(&r.mpi)) }
            }
            div { code { (units::printable(&command)) } }
        }
    }
}

/// A table. The headings of the columns whose numbers (from 0) are in `left` are aligned left.
fn table(headings: &[&str], left: &[usize], rows: impl Iterator<Item = Markup>) -> Markup {
    html! {
        div.wide {
            table {
                tr {
                    @for (k, heading) in headings.iter().enumerate() {
                        th.l[left.contains(&k)] { (heading) }
                    }
                }
                @for row in rows { tr { (row) } "\n" }
            }
        }
    }
}

/// The change in percent, such as `−42.0 %`. A decrease has the colour of good, an increase that of bad.
fn change(before: f64, after: f64) -> Markup {
    if before <= 0.0 {
        return html! { "–" };
    }
    let percent = 100.0 * (after - before) / before;
    let (class, sign) = match percent {
        p if p <= -0.05 => ("good", "−"),
        p if p >= 0.05 => ("bad", "+"),
        _ => ("dim", "±"),
    };
    html! { span class=(class) { (sign) (format!("{:.1} %", percent.abs())) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{CommMatrix, Traffic};
    use crate::store::{LaunchMode, Placement};

    fn record(tasks: u32, reordered: bool) -> Record {
        let entries: Vec<_> = (0..tasks)
            .map(|t| (t, (t + 4) % tasks, Traffic { bytes: 1 << (t % 30), messages: 2 }))
            .collect();
        let matrix = SparseMatrix::from_entries(tasks as usize, &entries);
        Record {
            key: "a<b>&\"app\"".into(),
            program: "/x".into(),
            command: vec!["<script>alert(1)</script>".into()],
            mpi: "MPI".into(),
            recorded_at: 1_700_000_000,
            matrix: CommMatrix::from_point_to_point(matrix),
            launch: Launch {
                mode: LaunchMode::Reorder,
                process_of_task: if reordered { (0..tasks).rev().collect() } else { vec![] },
                placement: Placement {
                    node_of_process: (0..tasks).map(|p| p / 4).collect(),
                    node_names: (0..tasks.div_ceil(4)).map(|n| format!("node{n}")).collect(),
                    level_names: vec!["node".into()],
                    level_costs: vec![100, 1],
                    ..Placement::default()
                },
                predicted: (200, 100),
                decision: "reordered: 50 % fewer hop-bytes".into(),
                ..Launch::default()
            },
            baseline: None,
            unfinished: None,
            identity: String::new(),
            history: Vec::new(),
            constructed: Vec::new(),
        }
    }

    #[test]
    fn reports_are_self_contained_and_escaped() {
        for (tasks, reordered) in [(16, true), (16, false), (0, false), (1, false), (300, true)] {
            let mut record = record(tasks, reordered);
            if tasks == 0 {
                record.launch = Launch::default();
            }
            let page = page(&record, &Kind::ALL).unwrap();
            assert!(!page.contains("<script") && !page.contains("src="));
            let links = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!links.contains("http"), "nothing from elsewhere");
            assert!(page.contains("a&lt;b&gt;"));
            assert_eq!(page.contains("Before: the launcher"), reordered);
            // Well-formed once the doctype and unclosed meta elements are out of the way.
            let xml = page
                .replace("<!DOCTYPE html>", "")
                .replace("initial-scale=1\">", "initial-scale=1\"/>");
            let xml = xml.replace("charset=\"utf-8\">", "charset=\"utf-8\"/>");
            roxmltree::Document::parse(&xml).unwrap();
        }
    }

    #[test]
    fn changes_have_a_sign() {
        assert!(change(100.0, 50.0).into_string().contains("−50.0 %"));
        assert!(change(100.0, 150.0).into_string().contains("bad"));
        assert_eq!(change(0.0, 1.0).into_string(), "–");
        assert!(change(100.0, 100.0).into_string().contains("±0.0"));
    }
}
