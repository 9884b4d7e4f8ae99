//! The figures of a record: for people as text, for scripts as JSON.

use super::units;
use crate::decide::Measured;
use crate::matrix::{Kind, SparseMatrix, Traffic};
use crate::store::{LaunchMode, Record, Verdict};
use serde::Serialize;
use std::fmt::Write;

/// How many senders and pairs are listed.
const TOP: usize = 5;

/// The figures of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Version of these keys.
    pub schema: u32,
    /// Key in the store.
    pub key: String,
    /// Path of the executable.
    pub program: String,
    /// Command line.
    pub command: Vec<String>,
    /// MPI library.
    pub mpi: String,
    /// Seconds since 1970-01-01 UTC.
    pub recorded_at: u64,
    /// Number of tasks.
    pub tasks: usize,
    /// Number of nodes; 0 when unknown.
    pub nodes: usize,
    /// Mode of the launch that recorded it.
    pub mode: LaunchMode,
    /// True if that launch ran in another order than the launcher's.
    pub reordered: bool,
    /// The launcher rank of the process of each task; empty for the launcher's own order.
    pub process_of_task: Vec<u32>,
    /// What was decided.
    pub decision: String,
    /// Tasks whose rows are missing, ascending.
    pub missing_tasks: Vec<u32>,
    /// What is missing, in words.
    pub lacks: Vec<String>,
    /// Hop-bytes predicted for the launcher's order and the one used; `None` when nothing was.
    pub predicted: Option<(u128, u128)>,
    /// Traffic by kind.
    pub kinds: Vec<KindSummary>,
    /// All traffic.
    pub total: Amount,
    /// Traffic between tasks on different nodes in that launch; `None` when nodes are unknown.
    pub internode_bytes: Option<u64>,
    /// The same of the launcher's own order.
    pub internode_bytes_given_order: Option<u64>,
    /// Seconds between MPI_Init and MPI_Finalize on rank 0; 0 when unknown.
    pub wall_seconds: f64,
    /// The same of the launch in the launcher's order.
    pub wall_seconds_given_order: Option<f64>,
    /// Seconds in MPI: mean over the processes and the most of any; `None` if not measured.
    pub mpi_seconds: Option<f64>,
    /// See [`Summary::mpi_seconds`].
    pub mpi_seconds_max: Option<f64>,
    /// The mean as a part of the time, in percent.
    pub mpi_percent: Option<f64>,
    /// Calls that were timed, which these figures rest on.
    pub mpi_calls_timed: Option<u64>,
    /// The mean of the launch in the launcher's order.
    pub mpi_seconds_given_order: Option<f64>,
    /// Seconds of the launches that can be compared with this one: in the launcher's order, the
    /// oldest first.
    pub past_seconds_given_order: Vec<f64>,
    /// The same of reordered ones.
    pub past_seconds_reordered: Vec<f64>,
    /// Seconds in MPI of these launches, of those where it was measured.
    pub past_mpi_seconds_given_order: Vec<f64>,
    /// The same of reordered ones.
    pub past_mpi_seconds_reordered: Vec<f64>,
    /// What these times say about reordering, in words; empty before there are both.
    pub measured: String,
    /// What `rankweave check` found about the program.
    pub checks: Vec<Check>,
    /// The tasks that send most.
    pub top_senders: Vec<Sender>,
    /// The pairs (both directions added up) with most traffic.
    pub top_pairs: Vec<Pair>,
}

/// A verdict of `rankweave check`, or of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// `safe`, `differs`, `not comparable` or `mixes ranks`.
    pub verdict: &'static str,
    /// Number of tasks.
    pub tasks: u64,
    /// Seeds of the permutations.
    pub seeds: Vec<u64>,
    /// When, seconds since 1970-01-01 UTC.
    pub checked_at: u64,
    /// Why.
    pub reason: String,
}

/// Bytes, messages and ordered pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Bytes.
    pub bytes: u64,
    /// Messages.
    pub messages: u64,
    /// Ordered pairs that talked.
    pub pairs: usize,
}

/// The traffic of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindSummary {
    /// `p2p`, `collective` or `onesided`.
    pub kind: &'static str,
    /// How much.
    #[serde(flatten)]
    pub amount: Amount,
}

/// What a task sent and to how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sender {
    /// The task.
    pub task: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// Messages sent.
    pub messages: u64,
    /// Number of receivers.
    pub receivers: usize,
}

/// Traffic of two tasks, both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The lower task.
    pub a: u32,
    /// The higher task.
    pub b: u32,
    /// Bytes both ways.
    pub bytes: u64,
    /// Messages both ways.
    pub messages: u64,
    /// True if they sat on different nodes; `None` when unknown.
    pub internode: Option<bool>,
}

impl Summary {
    /// The figures of a record for some kinds of traffic.
    pub fn new(record: &Record, kinds: &[Kind]) -> Self {
        let matrix = record.matrix.sum_of(kinds);
        let launch = &record.launch;
        let nodes_of = |reordered: bool| {
            move |task: usize| match reordered {
                true => launch.node_of(task),
                false => launch.placement.node_of_process.get(task).map(|&n| n as usize),
            }
        };
        let known = !launch.placement.node_of_process.is_empty();
        let unfinished = record.unfinished.clone().unwrap_or_default();
        let predicted = Some(launch.predicted).filter(|&p| p != (0, 0));
        let past = record
            .history
            .last()
            .map(|last| Measured::of(&record.history, last.work, last.places))
            .unwrap_or_default();
        Summary {
            schema: 1,
            key: record.key.clone(),
            program: record.program.clone(),
            command: record.command.clone(),
            mpi: record.mpi.clone(),
            recorded_at: record.recorded_at,
            tasks: matrix.tasks(),
            nodes: launch.placement.node_names.len(),
            mode: launch.mode,
            reordered: launch.is_reordered(),
            process_of_task: launch.process_of_task.clone(),
            decision: launch.decision.clone(),
            missing_tasks: unfinished.missing,
            lacks: unfinished.lacks,
            predicted,
            kinds: kinds
                .iter()
                .map(|&k| KindSummary { kind: k.name(), amount: amount(record.matrix.layer(k)) })
                .collect(),
            total: amount(&matrix),
            internode_bytes: known.then(|| matrix.bytes_between(nodes_of(true))),
            internode_bytes_given_order: known.then(|| matrix.bytes_between(nodes_of(false))),
            wall_seconds: launch.wall_seconds,
            wall_seconds_given_order: record.baseline.as_ref().map(|b| b.wall_seconds),
            mpi_seconds: launch.in_mpi.map(|t| t.mean_seconds),
            mpi_seconds_max: launch.in_mpi.map(|t| t.max_seconds),
            mpi_percent: launch.in_mpi.and_then(|t| t.percent_of(launch.wall_seconds)),
            mpi_calls_timed: launch.in_mpi.map(|t| t.calls),
            mpi_seconds_given_order: record
                .baseline
                .as_ref()
                .and_then(|b| b.in_mpi)
                .map(|t| t.mean_seconds),
            measured: past.words(),
            past_mpi_seconds_given_order: past.in_mpi_given,
            past_mpi_seconds_reordered: past.in_mpi_reordered,
            past_seconds_given_order: past.given,
            past_seconds_reordered: past.reordered,
            checks: Vec::new(),
            top_senders: top_senders(&matrix, TOP),
            top_pairs: top_pairs(&matrix, TOP, &nodes_of(true)),
        }
    }

    /// Adds what `rankweave check` found about the program.
    #[must_use]
    pub fn with_checks(mut self, verdicts: &[Verdict]) -> Self {
        let check = |v: &Verdict| Check {
            verdict: v.finding.name(),
            tasks: v.tasks,
            seeds: v.seeds.clone(),
            checked_at: v.checked_at,
            reason: v.reason.clone(),
        };
        self.checks = verdicts.iter().map(check).collect();
        self
    }

    /// The figures as text of a few lines, ending in a newline.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        let p = units::printable;
        writeln!(out, "{}", p(&self.key))?;
        let mut line = |name: &str, value: String| writeln!(out, "  {name:<12}{value}");
        line("program", p(&self.program))?;
        if self.command.len() > 1 {
            line("arguments", p(&self.command[1..].join(" ")))?;
        }
        let on = match self.nodes {
            0 => String::new(),
            1 => " on 1 node".into(),
            n => format!(" on {n} nodes"),
        };
        line("tasks", format!("{}{on}", self.tasks))?;
        line("recorded", units::time(self.recorded_at))?;
        if !self.mpi.is_empty() {
            line("MPI", p(&self.mpi))?;
        }
        if self.mode != LaunchMode::Unknown {
            let order = if self.reordered { "ranks reordered" } else { "the launcher's order" };
            line("launch", format!("mode {}, {order}", self.mode))?;
        }
        if !self.decision.is_empty() {
            line("decision", p(&self.decision))?;
        }
        if !self.lacks.is_empty() {
            line("missing", p(&self.lacks.join(", ")))?;
        }
        if self.wall_seconds > 0.0 {
            let given = match self.wall_seconds_given_order {
                Some(s) if s > 0.0 => format!(" ({s:.2} s in the launcher's order)"),
                _ => String::new(),
            };
            line("time", format!("{:.2} s{given}", self.wall_seconds))?;
        }
        if let (Some(mean), Some(most), Some(percent), Some(calls)) =
            (self.mpi_seconds, self.mpi_seconds_max, self.mpi_percent, self.mpi_calls_timed)
        {
            let given = match self.mpi_seconds_given_order {
                Some(s) => format!("; {s:.2} s in the launcher's order"),
                None => String::new(),
            };
            let text = format!(
                "{mean:.2} s per process, {percent:.0} % of the time, at most {most:.2} s \
                 ({} calls timed){given}",
                units::count(calls)
            );
            line("in MPI", text)?;
        }
        if let Some((before, after)) = self.predicted.filter(|p| p.0 > 0 && p.0 != p.1) {
            let percent = 100.0 * (after as f64 / before as f64 - 1.0);
            line("predicted", format!("hop-bytes {percent:+.1} %"))?;
        }
        if !self.measured.is_empty() {
            line("history", self.measured.clone())?;
        }
        for check in &self.checks {
            let reason = match check.reason.as_str() {
                "" => String::new(),
                known => format!(": {}", p(known)),
            };
            let when = units::time(check.checked_at);
            line("check", format!("{} with {} ranks, {when}{reason}", check.verdict, check.tasks))?;
        }
        writeln!(out)?;
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
        for kind in &self.kinds {
            row(kind.kind, &kind.amount)?;
        }
        row("all", &self.total)?;
        if let (Some(now), Some(given)) = (self.internode_bytes, self.internode_bytes_given_order) {
            let share = units::percent(now, self.total.bytes);
            let before = match self.reordered {
                true => format!(" (in the launcher's order {})", units::bytes(given)),
                false => String::new(),
            };
            writeln!(out, "  between nodes {} = {share} of all{before}", units::bytes(now))?;
        }
        if !self.top_senders.is_empty() {
            writeln!(out, "\n  top senders")?;
            for s in &self.top_senders {
                writeln!(
                    out,
                    "    task {:<8}{:>12}{:>14} messages to {} tasks",
                    s.task,
                    units::bytes(s.bytes),
                    units::count(s.messages),
                    s.receivers
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
                    "    {:<13}{:>12}{:>14} messages{place}",
                    format!("{} ↔ {}", pair.a, pair.b),
                    units::bytes(pair.bytes),
                    units::count(pair.messages)
                )?;
            }
        }
        Ok(())
    }
}

fn amount(matrix: &SparseMatrix) -> Amount {
    let Traffic { bytes, messages } = matrix.total();
    Amount { bytes, messages, pairs: matrix.pairs() }
}

fn top_senders(matrix: &SparseMatrix, most: usize) -> Vec<Sender> {
    let mut senders: Vec<Sender> = (0..matrix.tasks())
        .map(|i| {
            let mut sum = Traffic::default();
            matrix.row(i).for_each(|(_, t)| sum.add(t));
            Sender {
                task: i as u32,
                bytes: sum.bytes,
                messages: sum.messages,
                receivers: matrix.row(i).count(),
            }
        })
        .filter(|s| s.receivers > 0)
        .collect();
    senders.sort_by_key(|s| (std::cmp::Reverse(s.bytes), s.task));
    senders.truncate(most);
    senders
}

/// The pairs with most traffic, both directions added up; pairs of a task with itself left out.
pub fn top_pairs(
    matrix: &SparseMatrix,
    most: usize,
    node_of: &dyn Fn(usize) -> Option<usize>,
) -> Vec<Pair> {
    // Kept sorted and short: a full matrix has too many pairs to sort them all.
    let mut top: Vec<Pair> = Vec::new();
    for (i, j, there) in matrix.entries().filter(|e| e.0 != e.1) {
        let back = matrix.get(j as usize, i as usize);
        if i > j && !back.is_zero() {
            continue;
        }
        let mut both = there;
        both.add(back);
        let (a, b) = (i.min(j), i.max(j));
        let rank = |p: &Pair| (std::cmp::Reverse(p.bytes), p.a, p.b);
        let mut pair = Pair { a, b, bytes: both.bytes, messages: both.messages, internode: None };
        let position = top.partition_point(|p| rank(p) < rank(&pair));
        if position >= most {
            continue;
        }
        pair.internode =
            node_of(a as usize).zip(node_of(b as usize)).map(|(first, second)| first != second);
        top.insert(position, pair);
        top.truncate(most);
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Launch;
    use crate::store::Placement;

    fn record() -> Record {
        let cell = |bytes| Traffic { bytes, messages: 1 };
        let p2p = SparseMatrix::from_entries(
            4,
            &[(0, 1, cell(100)), (1, 0, cell(50)), (2, 0, cell(70)), (3, 3, cell(900))],
        );
        Record {
            key: "app-1-n4".into(),
            program: "/opt/app\x1b".into(),
            command: vec!["app".into(), "in".into()],
            mpi: "Open MPI v4.1.4".into(),
            recorded_at: 1_700_000_000,
            matrix: crate::matrix::CommMatrix::from_point_to_point(p2p),
            launch: Launch {
                mode: LaunchMode::Reorder,
                process_of_task: vec![0, 2, 1, 3],
                placement: Placement::of_nodes(vec![0, 0, 1, 1], vec!["n0".into(), "n1".into()]),
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
    fn figures() {
        let s = Summary::new(&record(), &Kind::ALL);
        assert_eq!((s.total.bytes, s.total.pairs, s.tasks, s.nodes), (1120, 4, 4, 2));
        assert_eq!((s.internode_bytes, s.internode_bytes_given_order), (Some(150), Some(70)));
        assert_eq!(s.top_senders[0].task, 3);
        let pairs: Vec<_> = s.top_pairs.iter().map(|p| (p.a, p.b, p.bytes, p.internode)).collect();
        assert_eq!(pairs, [(0, 1, 150, Some(true)), (0, 2, 70, Some(false))]);
        let text = s.text();
        for part in ["app-1-n4", "4 on 2 nodes", "Open MPI", "150 B = 13.4 %", "0 ↔ 1", "reordered"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn history_and_checks_are_told() {
        use crate::store::{Finding, Past};
        let mut record = record();
        record.launch.predicted = (1000, 250);
        for (id, wall_seconds) in [(1, 10.0), (2, 10.2), (3, 7.0), (4, 7.1)] {
            let past =
                Past { id, ended_at: id, reordered: id > 2, wall_seconds, ..Past::default() };
            record.history.push(past);
        }
        let verdict = Verdict {
            program: "/opt/app".into(),
            launch: vec![],
            tasks: 4,
            checked_at: 1_700_000_000,
            seeds: vec![1],
            finding: Finding::Differs,
            reason: "line 3".into(),
        };
        let summary = Summary::new(&record, &Kind::ALL).with_checks(&[verdict]);
        let text = summary.text();
        for part in [
            "measured time 10.10 s → 7.05 s (-30.2 %, medians of 2 and 2 launches: faster)",
            "predicted   hop-bytes -75.0 %",
            "differs with 4 ranks, 2023-11-14",
            ": line 3",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(summary.past_seconds_reordered, [7.0, 7.1]);
    }

    #[test]
    fn kinds_are_chosen() {
        let s = Summary::new(&record(), &[Kind::Collective]);
        assert_eq!((s.total.bytes, s.kinds.len(), s.top_pairs.len()), (0, 1, 0));
        s.text();
    }
}
