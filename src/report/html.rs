//! The report: one HTML file that needs nothing else, neither network nor script.

use super::grid::Grid;
use super::order::{self, NodeTraffic};
use super::summary::{self, Summary};
use super::svg::{self, CELLS, Figure, escaped};
use super::units;
use crate::base::error::Result;
use crate::matrix::{Kind, SparseMatrix, Traffic};
use crate::store::{Launch, LaunchMode, Record};

/// How many pairs are listed.
const PAIRS: usize = 20;
/// How many nodes are listed.
const NODES: usize = 64;

const STYLE: &str = include_str!("style.css");

/// The report of a record for some kinds of traffic.
pub fn html(record: &Record, kinds: &[Kind]) -> Result<String> {
    let page = Page {
        record,
        launch: &record.launch,
        matrix: record.matrix.sum_of(kinds),
        summary: Summary::new(record, kinds),
    };
    let title = escaped(&record.key);
    let body = [
        page.head(),
        page.cards(),
        page.pictures()?,
        page.decision(),
        page.kinds(),
        page.nodes()?,
        page.pairs(),
        page.topology(),
    ]
    .concat();
    let version = env!("CARGO_PKG_VERSION");
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title} – rankweave</title><style>{STYLE}</style></head>\n<body>{body}\
         <footer>rankweave {version}. Rows are senders, columns are receivers; a task is a rank \
         as the program sees it, a process is one as the launcher started it.</footer>\
         </body></html>\n"
    ))
}

struct Page<'a> {
    record: &'a Record,
    launch: &'a Launch,
    matrix: SparseMatrix,
    summary: Summary,
}

fn row(cells: &[String]) -> String {
    format!("<tr>{}</tr>\n", cells.concat())
}

fn td(text: impl std::fmt::Display) -> String {
    format!("<td>{text}</td>")
}

fn left(text: &str) -> String {
    format!("<td class=\"l\">{}</td>", escaped(text))
}

fn percent(part: u64, whole: u64) -> String {
    escaped(&units::percent(part, whole))
}

fn per_message(bytes: u64, messages: u64) -> String {
    bytes.checked_div(messages).map_or_else(|| "–".into(), units::bytes)
}

/// `−42.0 %`, coloured by whether less is reached.
fn change(before: f64, after: f64) -> String {
    if before <= 0.0 {
        return "–".into();
    }
    let percent = 100.0 * (after - before) / before;
    let class = match percent {
        p if p <= -0.05 => "good",
        p if p >= 0.05 => "bad",
        _ => "dim",
    };
    let sign = match percent {
        p if p <= -0.05 => "−",
        p if p >= 0.05 => "+",
        _ => "±",
    };
    format!("<span class=\"{class}\">{sign}{:.1} %</span>", percent.abs())
}

impl Page<'_> {
    fn head(&self) -> String {
        let r = self.record;
        let command = match r.command.is_empty() {
            true => r.program.clone(),
            false => r.command.join(" "),
        };
        let mpi = if r.mpi.is_empty() { String::new() } else { format!(" · {}", r.mpi) };
        format!(
            "<h1>{}</h1><div class=\"dim\">recorded {}{}</div><div><code>{}</code></div>\n",
            escaped(&r.key),
            units::time(r.recorded_at),
            escaped(&mpi),
            escaped(&command)
        )
    }

    fn cards(&self) -> String {
        let s = &self.summary;
        let mut cards = Vec::new();
        let mut card = |value: String, what: String| {
            cards.push(format!("<div class=\"card\"><b>{value}</b><span>{what}</span></div>"));
        };
        let nodes = match s.nodes {
            0 => "; their nodes are not known".into(),
            1 => " on 1 node".into(),
            n => format!(" on {n} nodes"),
        };
        card(units::count(s.tasks as u64), format!("tasks{nodes}"));
        card(
            units::bytes(s.total.bytes),
            format!("sent in {} messages", units::count(s.total.messages)),
        );
        let all = (s.tasks as u64).saturating_mul(s.tasks as u64);
        card(
            units::count(s.total.pairs as u64),
            format!("pairs talk, {} of all", percent(s.total.pairs as u64, all)),
        );
        if let (Some(now), Some(given)) = (s.internode_bytes, s.internode_bytes_given_order) {
            let share = percent(now, s.total.bytes);
            let what = match s.reordered {
                true => {
                    let change = change(given as f64, now as f64);
                    format!("between nodes, {share}; {change} by reordering")
                }
                false => format!("between nodes, {share} of all"),
            };
            card(units::bytes(now), what);
        }
        if s.wall_seconds > 0.0 {
            let what = match s.wall_seconds_given_order {
                Some(before) if before > 0.0 => format!(
                    "MPI_Init to Finalize; {} against the launcher's order",
                    change(before, s.wall_seconds)
                ),
                _ => "from MPI_Init to MPI_Finalize".into(),
            };
            card(format!("{:.2} s", s.wall_seconds), what);
        }
        if let (Some(seconds), Some(percent)) = (s.mpi_seconds, s.mpi_percent) {
            let what = match s.mpi_seconds_given_order {
                Some(before) if before > 0.0 => format!(
                    "in MPI per process, {percent:.0} % of the time; {} against the launcher's order",
                    change(before, seconds)
                ),
                _ => format!("in MPI per process, {percent:.0} % of the time"),
            };
            card(format!("{seconds:.2} s"), what);
        }
        format!("<div class=\"cards\">{}</div>\n", cards.concat())
    }

    fn pictures(&self) -> Result<String> {
        let tasks = self.matrix.tasks();
        let identity: Vec<u32> = (0..tasks as u32).collect();
        let grid = Grid::new(&self.matrix, &identity, CELLS);
        let order = order::by_node(self.launch, tasks);
        let mut out = String::from("<h2>Who sends how much to whom</h2><div class=\"figures\">");
        if !self.launch.is_reordered() {
            // Nodes can be marked on the tasks where those of each stand together.
            let together = order.position_of_process == identity;
            let groups = if together { order.groups } else { Vec::new() };
            out.push_str(&svg::draw(&Figure {
                grid: &grid,
                range: grid.range(),
                title: "By task".into(),
                unit: "task",
                groups,
            })?);
            if !together {
                let by_node = Grid::new(&self.matrix, &order.position_of_process, CELLS);
                let groups = order::by_node(self.launch, tasks).groups;
                out.push_str(&svg::draw(&Figure {
                    grid: &by_node,
                    range: by_node.range(),
                    title: "The same, node by node".into(),
                    unit: "process, by node",
                    groups,
                })?);
            }
        } else {
            let place = |process: usize| order.position_of_process[process];
            let before: Vec<u32> = (0..tasks).map(place).collect();
            let after: Vec<u32> = (0..tasks).map(|t| place(self.launch.process_of(t))).collect();
            let grids = [before, after].map(|p| Grid::new(&self.matrix, &p, CELLS));
            let ranges = grids.iter().filter_map(Grid::range);
            let range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            let titles = ["Before: the launcher's order", "After: the order used"];
            for (grid, title) in grids.iter().zip(titles) {
                out.push_str(&svg::draw(&Figure {
                    grid,
                    range,
                    title: title.into(),
                    unit: "process, by node",
                    groups: order.groups.clone(),
                })?);
            }
            out.push_str(
                "</div><p class=\"dim\">Both pictures show the same traffic; what is in \
                          the squares along the diagonal stays inside a node.</p><div>",
            );
        }
        out.push_str("</div>\n");
        Ok(out)
    }

    fn decision(&self) -> String {
        let s = &self.summary;
        let mut out = String::from("<h2>How the order was decided</h2>");
        let mode = match s.mode {
            LaunchMode::Unknown => "unknown",
            mode => mode.name(),
        };
        let decision = match (s.decision.is_empty(), s.mode) {
            (false, _) => s.decision.clone(),
            (true, LaunchMode::Import) => {
                "The matrix was imported; nothing was to be decided.".into()
            }
            (true, LaunchMode::Record) => "This launch recorded; nothing was to be decided.".into(),
            (true, _) => "Nothing was decided.".into(),
        };
        out.push_str(&format!(
            "<p>{} <span class=\"dim\">(mode {})</span></p>",
            escaped(&decision),
            escaped(mode)
        ));
        let mut rows = String::new();
        if let Some((before, after)) = s.predicted {
            rows.push_str(&row(&[
                left("predicted hop-bytes (bytes × distance)"),
                td(format!("{:.4e}", before as f64)),
                td(format!("{:.4e}", after as f64)),
                td(change(before as f64, after as f64)),
            ]));
        }
        if let (true, Some(now), Some(given)) =
            (s.reordered, s.internode_bytes, s.internode_bytes_given_order)
        {
            rows.push_str(&row(&[
                left("bytes between nodes, of the matrix above"),
                td(units::bytes(given)),
                td(units::bytes(now)),
                td(change(given as f64, now as f64)),
            ]));
        }
        if let Some(before) = s.wall_seconds_given_order.filter(|&b| b > 0.0 && s.reordered) {
            rows.push_str(&row(&[
                left("seconds, one launch each (see 'rankweave compare' for more)"),
                td(format!("{before:.2}")),
                td(format!("{:.2}", s.wall_seconds)),
                td(change(before, s.wall_seconds)),
            ]));
        }
        if !rows.is_empty() {
            out.push_str(&format!(
                "<div class=\"wide\"><table><tr><th class=\"l\"></th><th>launcher's order</th>\
                 <th>order used</th><th>change</th></tr>{rows}</table></div>"
            ));
        }
        out.push('\n');
        out
    }

    fn kinds(&self) -> String {
        let s = &self.summary;
        let mut rows = String::new();
        for kind in &s.kinds {
            let share = kind.amount.bytes as f64 / s.total.bytes.max(1) as f64;
            rows.push_str(&row(&[
                left(match kind.kind {
                    "p2p" => "point-to-point",
                    "onesided" => "one-sided",
                    other => other,
                }),
                td(units::bytes(kind.amount.bytes)),
                td(units::count(kind.amount.messages)),
                td(units::count(kind.amount.pairs as u64)),
                td(per_message(kind.amount.bytes, kind.amount.messages)),
                format!(
                    "<td class=\"l\"><span class=\"bar\" style=\"width:{:.0}px\"></span></td>",
                    160.0 * share
                ),
            ]));
        }
        format!(
            "<h2>Traffic by kind</h2><div class=\"wide\"><table><tr><th class=\"l\">kind</th>\
             <th>bytes</th><th>messages</th><th>pairs</th><th>bytes per message</th>\
             <th class=\"l\">share of bytes</th></tr>{rows}</table></div>\n"
        )
    }

    fn nodes(&self) -> Result<String> {
        if self.launch.placement.node_of_process.is_empty() {
            return Ok(String::new());
        }
        let now = order::node_traffic(&self.matrix, self.launch, |t| self.launch.process_of(t));
        let given = order::node_traffic(&self.matrix, self.launch, |t| t);
        let reordered = self.launch.is_reordered();
        let mut rows = String::new();
        for (k, (n, g)) in now.iter().zip(&given).enumerate().take(NODES) {
            rows.push_str(&self.node_row(k, n, g, reordered));
        }
        let more = match now.len() > NODES {
            true => format!("<p class=\"dim\">… and {} more nodes.</p>", now.len() - NODES),
            false => String::new(),
        };
        let before = if reordered { "<th>sent in the launcher's order</th>" } else { "" };
        let table = format!(
            "<div class=\"wide\"><table><tr><th class=\"l\">node</th><th>tasks</th>\
             <th>inside the node</th><th>sent to others</th>{before}<th>received from others</th>\
             <th class=\"l\">tasks on it</th></tr>{rows}</table></div>{more}"
        );
        Ok(format!("<h2>Traffic by node</h2>{table}{}\n", self.node_picture(now.len())?))
    }

    fn node_row(&self, k: usize, now: &NodeTraffic, given: &NodeTraffic, both: bool) -> String {
        let name = self.launch.placement.node_names.get(k).map_or("", String::as_str);
        let tasks: Vec<usize> =
            (0..self.matrix.tasks()).filter(|&t| self.launch.node_of(t) == Some(k)).collect();
        let mut list = order::ranges(&tasks);
        if list.len() > 90 {
            list = list.chars().take(88).collect::<String>() + " …";
        }
        let before = if both { td(units::bytes(given.sent)) } else { String::new() };
        row(&[
            left(name),
            td(now.tasks),
            td(units::bytes(now.inside)),
            td(units::bytes(now.sent)),
            before,
            td(units::bytes(now.received)),
            left(&list),
        ])
    }

    /// Traffic from node to node.
    fn node_picture(&self, nodes: usize) -> Result<String> {
        if nodes < 2 {
            return Ok(String::new());
        }
        let entries: Vec<(u32, u32, Traffic)> = self
            .matrix
            .entries()
            .filter_map(|(i, j, t)| {
                let from = self.launch.node_of(i as usize)?;
                let to = self.launch.node_of(j as usize)?;
                Some((from as u32, to as u32, t))
            })
            .collect();
        let matrix = SparseMatrix::from_entries(nodes, &entries);
        let identity: Vec<u32> = (0..nodes as u32).collect();
        let grid = Grid::new(&matrix, &identity, CELLS);
        let names = self.launch.placement.node_names.iter().cloned().enumerate().collect();
        let figure = svg::draw(&Figure {
            grid: &grid,
            range: grid.range(),
            title: "From node to node".into(),
            unit: "node",
            groups: names,
        })?;
        Ok(format!("<div class=\"figures\" style=\"margin-top:16px\">{figure}</div>"))
    }

    fn pairs(&self) -> String {
        let node_of = |task: usize| self.launch.node_of(task);
        let pairs = summary::top_pairs(&self.matrix, PAIRS, &node_of);
        if pairs.is_empty() {
            return String::new();
        }
        let total = self.summary.total.bytes;
        let rows: String = pairs
            .iter()
            .map(|p| {
                row(&[
                    format!("<td class=\"l\">{} ↔ {}</td>", p.a, p.b),
                    td(units::bytes(p.bytes)),
                    td(percent(p.bytes, total)),
                    td(units::count(p.messages)),
                    td(per_message(p.bytes, p.messages)),
                    left(match p.internode {
                        Some(true) => "on different nodes",
                        Some(false) => "on one node",
                        None => "–",
                    }),
                ])
            })
            .collect();
        format!(
            "<h2>Pairs with most traffic</h2><div class=\"wide\"><table><tr>\
             <th class=\"l\">tasks</th><th>bytes, both directions</th><th>of all</th>\
             <th>messages</th><th>bytes per message</th><th class=\"l\">where</th></tr>{rows}\
             </table></div>\n"
        )
    }

    fn topology(&self) -> String {
        let placement = &self.launch.placement;
        if placement.node_of_process.is_empty() {
            return "<h2>Topology</h2><p>The places of the processes are not known.</p>\n".into();
        }
        let mut rows = String::new();
        for (k, cost) in placement.level_costs.iter().enumerate() {
            let name = placement.level_names.get(k).map_or("same place", String::as_str);
            let prefixes: std::collections::BTreeSet<Vec<u32>> = (0..placement
                .node_of_process
                .len())
                .filter(|_| k < placement.level_names.len())
                .map(|p| {
                    let inner = placement.place_of_process.get(p).map_or(&[][..], Vec::as_slice);
                    let inner = inner.get(..k).unwrap_or(inner);
                    [&placement.node_of_process[p..=p], inner].concat()
                })
                .collect();
            let groups = match prefixes.len() {
                0 => "–".into(),
                n => n.to_string(),
            };
            rows.push_str(&row(&[left(name), td(groups), td(cost)]));
        }
        let table = match rows.is_empty() {
            true => String::new(),
            false => format!(
                "<div class=\"wide\"><table><tr><th class=\"l\">processes that first differ at</th>\
                 <th>groups in use</th><th>distance</th></tr>{rows}</table></div>"
            ),
        };
        format!(
            "<h2>Topology</h2><p>{} processes on {} nodes.</p>{table}\n",
            placement.node_of_process.len(),
            placement.node_names.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::CommMatrix;
    use crate::store::Placement;

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
            let page = html(&record, &Kind::ALL).unwrap();
            assert!(!page.contains("<script") && !page.contains("src="));
            let links = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!links.contains("http"), "nothing from elsewhere");
            assert!(page.contains("a&lt;b&gt;"));
            assert_eq!(page.contains("Before: the launcher"), reordered);
            // Well-formed once the doctype and unclosed meta elements are out of the way.
            let xml = page
                .replace("<!DOCTYPE html>\n", "")
                .replace("initial-scale=1\">", "initial-scale=1\"/>");
            let xml = xml.replace("charset=\"utf-8\">", "charset=\"utf-8\"/>");
            roxmltree::Document::parse(&xml).unwrap();
        }
    }

    #[test]
    fn changes_have_a_sign() {
        assert!(change(100.0, 50.0).contains("−50.0 %"));
        assert!(change(100.0, 150.0).contains("bad") && change(0.0, 1.0) == "–");
        assert!(change(100.0, 100.0).contains("±0.0"));
    }
}
