//! The figures of a record: for scripts as JSON (these fields), for people as text.

mod rails;
mod ranking;
mod text;

pub use rails::{RailBalance, RailSummary};
pub use ranking::{Pair, Sender, top_pairs};

use crate::decide::LaunchTimes;
use crate::matrix::{Kind, SparseMatrix, Traffic};
use crate::store::{Completeness, LaunchMode, Record, Run, Standing, Verdict};
use ranking::top_senders;
use serde::Serialize;

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
    /// Number of nodes; 0 if they are not known.
    pub nodes: usize,
    /// The rails of the nodes with their traffic between nodes, node by node; empty if they are not known.
    pub rails: Vec<RailSummary>,
    /// How even these rails are used; `None` if they are not known.
    pub rail_balance: Option<RailBalance>,
    /// Name of the GPU that is nearest to each task; empty if the nodes have none, or they are not known.
    pub gpu_of_task: Vec<Option<String>>,
    /// Mode of the launch that recorded it.
    pub mode: LaunchMode,
    /// True if that launch ran in another rank order than the launcher's.
    pub reordered: bool,
    /// The launcher rank of the process of each task; empty for the launcher's own order.
    pub process_of_task: Vec<u32>,
    /// The decision about the ranks, in words.
    pub decision: String,
    /// How the launch ended, in words; empty if it came to its end.
    pub ended: String,
    /// A newer launch of the program whose record is not in use; `None` without one, or if it was not looked for.
    pub newer: Option<Newer>,
    /// Tasks whose rows are missing, ascending.
    pub missing_tasks: Vec<u32>,
    /// The missing parts of the record, in words.
    pub lacks: Vec<String>,
    /// Predicted hop-bytes of the launcher's order and of the order that was used; `None` without a
    /// prediction.
    pub predicted: Option<(u128, u128)>,
    /// Traffic by kind.
    pub kinds: Vec<KindSummary>,
    /// All traffic.
    pub total: Amount,
    /// Traffic between tasks on different nodes in that launch; `None` if the nodes are not known.
    pub internode_bytes: Option<u64>,
    /// [`Summary::internode_bytes`] as it would have been in the launcher's order.
    pub internode_bytes_given_order: Option<u64>,
    /// Seconds between MPI_Init and MPI_Finalize on rank 0; 0 if they are not known.
    pub wall_seconds: f64,
    /// These seconds in the earlier launch in the launcher's order that the record keeps.
    pub wall_seconds_given_order: Option<f64>,
    /// Seconds in MPI, mean over the processes; `None` if not measured.
    pub mpi_seconds: Option<f64>,
    /// Seconds in MPI, maximum over the processes; `None` if not measured.
    pub mpi_seconds_max: Option<f64>,
    /// [`Summary::mpi_seconds`] in percent of [`Summary::wall_seconds`].
    pub mpi_percent: Option<f64>,
    /// Number of calls that were timed to find these seconds.
    pub mpi_calls_timed: Option<u64>,
    /// [`Summary::mpi_seconds`] of the earlier launch in the launcher's order that the record keeps.
    pub mpi_seconds_given_order: Option<f64>,
    /// Seconds of the launches that can be compared with this one: in the launcher's order, the
    /// oldest first.
    pub past_seconds_given_order: Vec<f64>,
    /// Seconds of the reordered launches that can be compared with this one, the oldest first.
    pub past_seconds_reordered: Vec<f64>,
    /// Seconds in MPI of those launches in the launcher's order in which these seconds were measured.
    pub past_mpi_seconds_given_order: Vec<f64>,
    /// Seconds in MPI of those reordered launches in which they were measured.
    pub past_mpi_seconds_reordered: Vec<f64>,
    /// A comparison of these times, in words; empty unless there are launches of both kinds.
    pub measured: String,
    /// The verdicts on the program.
    pub checks: Vec<Check>,
    /// The tasks that send most.
    pub top_senders: Vec<Sender>,
    /// The pairs (both directions added up) with most traffic.
    pub top_pairs: Vec<Pair>,
}

/// A newer launch of the program whose record is not in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Newer {
    /// The name by which commands accept its record.
    pub selector: String,
    /// Seconds since 1970-01-01 UTC.
    pub recorded_at: u64,
    /// How much of the launch is in its record.
    pub state: Completeness,
    /// Bytes that were sent.
    pub total_bytes: u64,
    /// True if it had other arguments or another MPI library.
    pub is_of_other_kind: bool,
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
    /// Time of the check, in seconds since 1970-01-01 UTC.
    pub checked_at: u64,
    /// The reason for the verdict.
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

impl KindSummary {
    /// True if the calls were counted and their traffic was computed from a model of their algorithms.
    pub fn is_modelled(&self) -> bool {
        self.kind == Kind::Collective.name()
    }
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
        let (rails, rail_balance) = rails::of_launch(launch, &matrix);
        let known = !launch.placement.node_of_process.is_empty();
        let kind =
            |&k: &Kind| KindSummary { kind: k.name(), amount: amount(record.matrix.layer(k)) };
        let unfinished = record.unfinished.clone().unwrap_or_default();
        let predicted = Some(launch.predicted).filter(|&p| p != (0, 0));
        let baseline = record.baseline.as_ref();
        let past = record.history.last();
        let past = past.map(|last| LaunchTimes::of(&record.history, last.work, last.places));
        let past = past.unwrap_or_default();
        Summary {
            schema: 1,
            key: record.key.clone(),
            program: record.program.clone(),
            command: record.command.clone(),
            mpi: record.mpi.clone(),
            recorded_at: record.recorded_at,
            tasks: matrix.tasks(),
            nodes: launch.placement.node_names.len(),
            rails,
            rail_balance,
            gpu_of_task: rails::gpus_of_tasks(launch, matrix.tasks()),
            mode: launch.mode,
            reordered: launch.is_reordered(),
            process_of_task: launch.process_of_task.clone(),
            decision: launch.decision.clone(),
            ended: unfinished.how,
            newer: None,
            missing_tasks: unfinished.missing,
            lacks: unfinished.lacks,
            predicted,
            kinds: kinds.iter().map(kind).collect(),
            total: amount(&matrix),
            internode_bytes: known.then(|| matrix.bytes_between(nodes_of(true))),
            internode_bytes_given_order: known.then(|| matrix.bytes_between(nodes_of(false))),
            wall_seconds: launch.wall_seconds,
            wall_seconds_given_order: baseline.map(|b| b.wall_seconds),
            mpi_seconds: launch.in_mpi.map(|t| t.mean_seconds),
            mpi_seconds_max: launch.in_mpi.map(|t| t.max_seconds),
            mpi_percent: launch.in_mpi.and_then(|t| t.percent_of(launch.wall_seconds)),
            mpi_calls_timed: launch.in_mpi.map(|t| t.calls),
            mpi_seconds_given_order: baseline.and_then(|b| b.in_mpi).map(|t| t.mean_seconds),
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

    /// Adds a newer launch whose record is not in use, with the selector that means it.
    #[must_use]
    pub fn with_newer(mut self, newer: Option<(String, Run)>, record: &Record) -> Self {
        self.newer = newer.map(|(selector, run)| Newer {
            selector,
            recorded_at: run.standing.recorded_at,
            state: run.standing.completeness,
            total_bytes: run.standing.bytes,
            is_of_other_kind: run.standing.kind != Standing::of(record).kind,
        });
        self
    }

    /// Adds the verdicts on the program.
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
}

fn amount(matrix: &SparseMatrix) -> Amount {
    let Traffic { bytes, messages } = matrix.total();
    Amount { bytes, messages, pairs: matrix.pairs() }
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
        assert!(!text.contains("modelled"), "{text}");
    }

    #[test]
    fn traffic_between_nodes_is_charged_to_the_rails_of_its_tasks() {
        let mut record = record();
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        record.launch.placement.devices = crate::store::Devices {
            rails_of_node: vec![names(&["hsn0", "hsn1"]), names(&["hsn0"])],
            gpus_of_node: vec![names(&["cuda0"]), Vec::new()],
            rail_of_process: vec![1, 0, 0, 0],
            gpu_of_process: vec![0, 0, crate::store::NO_DEVICE, crate::store::NO_DEVICE],
        };
        let s = Summary::new(&record, &Kind::ALL);
        let rails: Vec<_> = s
            .rails
            .iter()
            .map(|r| (r.node.as_str(), r.rail.as_str(), r.tasks, r.sent, r.received))
            .collect();
        let expected =
            [("n0", "hsn0", 1, 0, 0), ("n0", "hsn1", 1, 100, 50), ("n1", "hsn0", 2, 50, 100)];
        assert_eq!(rails, expected);
        let given: Vec<_> =
            s.rails.iter().map(|r| (r.sent_given_order, r.received_given_order)).collect();
        assert_eq!(given, [(0, 0), (0, 70), (70, 0)]);
        // Sent 100, 50; received 50, 100; in the launcher's order 70.
        let balance = s.rail_balance.unwrap();
        assert_eq!((balance.busiest, balance.busiest_given_order), (100, 70));
        assert!((balance.imbalance - 200.0 / 150.0).abs() < 1e-9, "{balance:?}");
        let gpu = Some("cuda0".to_string());
        assert_eq!(s.gpu_of_task, [gpu.clone(), None, gpu, None]);
        let text = s.text();
        for part in [
            "3 on all nodes",
            "hsn0 of n1: 50 B out, 100 B in (50.0 %",
            "imbalance 1.33 (1.33 in the launcher's order, 70 B at most)",
            "near to 2 tasks",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_was_modelled_and_what_took_no_time_is_not_taken_for_measured() {
        let mut record = record();
        let sent = Traffic { bytes: 5, messages: 1 };
        let layer = |kind| match kind {
            Kind::Collective => SparseMatrix::from_entries(4, &[(0, 1, sent)]),
            _ => record.matrix.layer(kind).clone(),
        };
        record.matrix = crate::matrix::CommMatrix::from_layers(Kind::ALL.map(layer)).unwrap();
        record.launch.wall_seconds = 0.002;
        record.baseline = Some(Launch { wall_seconds: 0.001, ..Launch::default() });
        let text = Summary::new(&record, &Kind::ALL).text();
        assert!(
            text.contains("  collective*          5 B") && text.contains("* modelled"),
            "{text}"
        );
        assert!(text.contains("2.00 ms (1.00 ms in the launcher's order)"), "{text}");
        // Both launches ran in the launcher's order.
        record.launch.process_of_task.clear();
        let text = Summary::new(&record, &Kind::ALL).text();
        assert!(text.contains("2.00 ms\n"), "{text}");
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
            compared: None,
        };
        let summary = Summary::new(&record, &Kind::ALL).with_checks(&[verdict]);
        let text = summary.text();
        for part in [
            "measured time 10.1 s → 7.05 s (-30.2 %, medians of 2 and 2 launches: faster)",
            "predicted   hop-bytes -75.0 %",
            "differs with 4 ranks, 2023-11-14",
            ": line 3",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(summary.past_seconds_reordered, [7.0, 7.1]);
    }

    #[test]
    fn early_ends_and_newer_launches_are_told() {
        use crate::store::Unfinished;
        let mut record = record();
        let how = "the program ended with exit code 3".to_string();
        record.unfinished = Some(Unfinished { how: how.clone(), ..Unfinished::default() });
        let standing = Standing {
            kind: Standing::of(&record).kind,
            completeness: Completeness::Whole,
            bytes: 40,
            pairs: 1,
            recorded_at: 1_700_000_001,
        };
        let newer = |standing| {
            let run = Run { path: "run.rkw".into(), standing };
            Summary::new(&record, &Kind::ALL).with_newer(Some(("app@1".into(), run)), &record)
        };
        let summary = newer(standing);
        assert_eq!(
            (summary.ended.as_str(), summary.newer.as_ref().unwrap().total_bytes),
            (how.as_str(), 40)
        );
        let text = summary.text();
        assert!(text.contains("ended       early: the program ended with exit code 3"), "{text}");
        let line = "22:13 UTC, 40 B sent; its record is not in use: rankweave show app@1";
        assert!(text.contains(line), "{text}");
        let other = newer(Standing {
            kind: standing.kind + 1,
            completeness: Completeness::Interrupted,
            ..standing
        });
        let line = "UTC, with other arguments or another MPI, ended early, 40 B sent;";
        assert!(other.text().contains(line), "{}", other.text());
        // The decision of a recovered record says how it ended.
        record.launch.decision = format!("recovered: {how}");
        let text = Summary::new(&record, &Kind::ALL).text();
        assert!(!text.contains("  ended ") && !text.contains("  newer "), "{text}");
    }

    #[test]
    fn kinds_are_chosen() {
        let s = Summary::new(&record(), &[Kind::Collective]);
        assert_eq!((s.total.bytes, s.kinds.len(), s.top_pairs.len()), (0, 1, 0));
        s.text();
    }
}
