//! All metrics of a mapping at once.

use super::byte_sum::ByteSum;
use super::congestion;
use super::rails::{RailLoads, rail_loads};
use super::time::predicted_time;
use super::tree_sums::TreeSums;
use crate::base::error::{Error, ErrorKind, Result};
use crate::matrix::SparseMatrix;
use crate::topology::{Topology, Tree};
use serde::Serialize;

/// The metrics of a mapping; field names are those of `rankweave eval --json`.
///
/// A *pair* is an ordered pair of different tasks with traffic, an edge of the task graph in the
/// UMPA paper. Metrics of pairs count each pair once, for any number of messages. Symbols: C is the
/// bytes, σ the mapping, d the distance. Metrics of links are missing if the topology has no links.
///
/// In a matrix that counts halves of bytes, the bytes of all pairs add up to whole bytes, because such a matrix is
/// symmetric. If it is not, half a byte that remains in a sum over all pairs is rounded up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evaluation {
    /// WH, hop-bytes: Σ C(i,j)·d(σ(i),σ(j)) (UMPA paper, section II; TopoMatch paper, 3.5).
    pub hop_bytes: u128,
    /// TH: Σ d(σ(i),σ(j)) over the pairs (UMPA paper, section II).
    pub total_hops: u128,
    /// Mean distance of a pair (GSearch paper: average hops).
    pub avg_hops: f64,
    /// Mean distance of a byte (TopoLB paper, section 4: hops per byte).
    pub hops_per_byte: f64,
    /// Largest distance of a pair.
    pub max_dilation: u64,
    /// SumCom: Σ B(σ(i),σ(j))·C(i,j) (TopoMatch paper, 3.5). The cost B of a byte is the distance:
    /// hops, unless the topology gives other costs.
    pub sum_com: u128,
    /// MaxCom: the largest B(σ(i),σ(j))·C(i,j) of a pair (TopoMatch paper, 3.5).
    pub max_com: ByteSum,
    /// MC: largest volume congestion of a link, bytes over bandwidth (UMPA paper, section II).
    pub mc: Option<f64>,
    /// MMC: most pairs that share a link (UMPA paper, section II).
    pub mmc: Option<u64>,
    /// AC: mean volume congestion of the links in use (UMPA paper, section II).
    pub ac: Option<f64>,
    /// AMC: mean number of pairs of the links in use (UMPA paper, section II).
    pub amc: Option<f64>,
    /// ICV: bytes between different nodes (UMPA paper, IV-E).
    pub icv: u64,
    /// ICM: pairs between different nodes (UMPA paper, IV-E).
    pub icm: u64,
    /// MNRV: most bytes that a node receives from others (UMPA paper, IV-E).
    pub mnrv: ByteSum,
    /// MNRM: most pairs in which a node receives from others (UMPA paper, IV-E).
    pub mnrm: u64,
    /// Time for all traffic at once under the routing of the network, in units of the time of a byte on a link of
    /// bandwidth 1: that of the slowest link, slot or node ([`super::PredictedTime`]).
    pub predicted_time: Option<f64>,
    /// The load of the rails, if the topology has rails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rails: Option<RailLoads>,
}

/// Evaluates a mapping of the tasks of `matrix`; several tasks may share a slot.
///
/// Errors: a mapping with too few or too many entries or with a slot that does not exist; traffic of
/// 2^64 bytes or more in all.
pub fn evaluate(
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> Result<Evaluation> {
    evaluate_by(1, matrix, topology, slot_of_task)
}

/// Which metrics are computed. Off trees, all others are 0 or `None`. On trees, all come from the same sums, and are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Those of the distances of pairs. Off trees, they take a small part of the time.
    Pairs,
    /// These, and the loads of links on fixed routes.
    Loads,
    /// The predicted time. Off trees, all others take as long again.
    Time,
    /// All.
    All,
}

/// [`evaluate`] by several threads, which share large matrices on trees. The result does not depend on their number.
pub fn evaluate_by(
    threads: usize,
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> Result<Evaluation> {
    evaluate_parts(Parts::All, threads, matrix, topology, slot_of_task)
}

/// Errors: those of [`evaluate`].
fn check(matrix: &SparseMatrix, topology: &dyn Topology, slot_of_task: &[usize]) -> Result<()> {
    super::check_mapping(matrix.tasks(), topology, slot_of_task, u32::MAX)?;
    let bytes: u128 = matrix.entries().map(|(_, _, traffic)| u128::from(traffic.bytes)).sum();
    if bytes > u128::from(u64::MAX) {
        return Err(Error::new(
            ErrorKind::Infeasible,
            format!("the matrix holds {bytes} bytes, more than 64 bits can count"),
        )
        .advise("scale the matrix down, since only ratios matter to a mapping"));
    }
    Ok(())
}

/// [`evaluate_by`] for some of the metrics.
///
/// Errors: those of [`evaluate`].
pub fn evaluate_parts(
    parts: Parts,
    threads: usize,
    matrix: &SparseMatrix,
    topology: &dyn Topology,
    slot_of_task: &[usize],
) -> Result<Evaluation> {
    check(matrix, topology, slot_of_task)?;
    let mut e = Evaluation::default();
    let unit = if matrix.counts_halves() { 2 } else { 1 };
    let tree = topology.as_tree().zip(TreeSums::new(threads, matrix, topology, slot_of_task));
    let has = |part| parts == part || parts == Parts::All;
    let (mut loads, mut time) = (None, None);
    match (&tree, topology.network()) {
        (Some((tree, sums)), network) => {
            PairSums::of_tree(tree, sums).write(&mut e, unit);
            if network.is_some() {
                loads = Some(sums.congestion(tree));
                time = Some(sums.time(tree) / unit as f64);
            }
        }
        (None, network) => {
            if parts != Parts::Time {
                PairSums::new(matrix, topology, slot_of_task).write(&mut e, unit);
            }
            loads = network
                .filter(|_| has(Parts::Loads))
                .map(|network| congestion::of_links(matrix, network, slot_of_task));
            if has(Parts::Time) {
                time = predicted_time(matrix, topology, slot_of_task).map(|time| time.slowest);
            }
        }
    }
    if parts != Parts::Time {
        e.rails = rail_loads(matrix, topology, slot_of_task);
    }
    e.predicted_time = time;
    if let Some(loads) = loads {
        (e.mc, e.mmc) = (Some(loads.mc / unit as f64), Some(loads.mmc));
        (e.ac, e.amc) = (Some(loads.ac / unit as f64), Some(loads.amc));
    }
    Ok(e)
}

/// Sums over all pairs, in the unit of the matrix.
#[derive(Default)]
struct PairSums {
    pairs: u64,
    bytes: u64,
    hop_bytes: u128,
    total_hops: u128,
    max_dilation: u64,
    max_com: u128,
    /// Bytes and pairs between nodes.
    between: (u64, u64),
    /// The most bytes and pairs that a node receives from others.
    received: (u64, u64),
}

impl PairSums {
    /// Pair by pair.
    fn new(matrix: &SparseMatrix, topology: &dyn Topology, slot_of_task: &[usize]) -> PairSums {
        let mut sums = PairSums::default();
        let node_of_task: Vec<usize> =
            slot_of_task.iter().map(|&slot| topology.node_of(slot)).collect();
        let nodes = node_of_task.iter().max().map_or(0, |n| n + 1);
        let mut received = vec![(0u64, 0u64); nodes];
        // Row by row, so that the processor can load the slots of all partners at the same time.
        let (mut slots, mut distances) = (Vec::new(), Vec::new());
        for (i, (&slot, &from)) in slot_of_task.iter().zip(&node_of_task).enumerate() {
            let row = || matrix.row(i).filter(|&(j, _)| j as usize != i);
            slots.clear();
            slots.extend(row().map(|(j, _)| slot_of_task[j as usize]));
            distances.resize(slots.len(), 0);
            topology.distances(slot, &slots, &mut distances);
            for ((j, traffic), &d) in row().zip(&distances) {
                sums.count(traffic.bytes, 1, traffic.bytes, d);
                let to = node_of_task[j as usize];
                if from != to {
                    sums.between = (sums.between.0 + traffic.bytes, sums.between.1 + 1);
                    received[to] = (received[to].0 + traffic.bytes, received[to].1 + 1);
                }
            }
        }
        let most = |part: fn(&(u64, u64)) -> u64| received.iter().map(part).max().unwrap_or(0);
        sums.received = (most(|r| r.0), most(|r| r.1));
        sums
    }

    /// From the sums of a tree.
    fn of_tree(tree: &Tree, of_tree: &TreeSums) -> PairSums {
        let mut sums = PairSums::default();
        for (level, at) in of_tree.levels.iter().enumerate().filter(|(_, at)| at.all.pairs > 0) {
            let distance = if level < tree.levels() { tree.cost(level) } else { 0 };
            sums.count(at.all.bytes, at.all.pairs, at.largest, distance);
        }
        for (sent, received) in of_tree.of_nodes(tree) {
            sums.between = (sums.between.0 + sent.bytes, sums.between.1 + sent.pairs);
            let (bytes, pairs) = sums.received;
            sums.received = (bytes.max(received.bytes), pairs.max(received.pairs));
        }
        sums
    }

    /// Pairs with so many bytes in all, the largest of them with `largest`, at one distance.
    fn count(&mut self, bytes: u64, pairs: u64, largest: u64, distance: u64) {
        self.pairs += pairs;
        self.bytes += bytes;
        self.hop_bytes += u128::from(bytes) * u128::from(distance);
        self.total_hops += u128::from(pairs) * u128::from(distance);
        self.max_dilation = self.max_dilation.max(distance);
        self.max_com = self.max_com.max(u128::from(largest) * u128::from(distance));
    }

    /// Writes what follows from the sums; `unit` units of bytes make a byte.
    fn write(&self, e: &mut Evaluation, unit: u128) {
        (e.total_hops, e.max_dilation) = (self.total_hops, self.max_dilation);
        if self.pairs > 0 {
            e.avg_hops = self.total_hops as f64 / self.pairs as f64;
        }
        if self.bytes > 0 {
            e.hops_per_byte = self.hop_bytes as f64 / self.bytes as f64;
        }
        e.hop_bytes = self.hop_bytes.div_ceil(unit);
        e.sum_com = e.hop_bytes;
        e.max_com = ByteSum::new(self.max_com, unit);
        (e.icv, e.icm) = (self.between.0.div_ceil(unit as u64), self.between.1);
        e.mnrv = ByteSum::new(u128::from(self.received.0), unit);
        e.mnrm = self.received.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;
    use crate::topology::{DistanceMatrix, Grid, Tree, parse};
    use proptest::prelude::*;

    fn matrix(tasks: usize, entries: &[(u32, u32, u64)]) -> SparseMatrix {
        let entries: Vec<_> =
            entries.iter().map(|&(i, j, bytes)| (i, j, Traffic { bytes, messages: 2 })).collect();
        SparseMatrix::from_entries(tasks, &entries)
    }

    /// Ring of four, tasks on slots 0, 1, 3, by hand: 0→1 takes link 0+ (10 bytes), 1→2 goes from
    /// slot 1 to slot 3 upwards over 1+ and 2+ (6 bytes), 2→0 from 3 to 0 over 3+ (4 bytes), 0→2
    /// back over 0- (1 byte).
    #[test]
    fn a_ring_by_hand() {
        let m = matrix(3, &[(0, 1, 10), (1, 2, 6), (2, 0, 4), (0, 2, 1), (1, 1, 99)]);
        let ring = Grid::torus(&[4]).unwrap();
        let e = evaluate(&m, &ring, &[0, 1, 3]).unwrap();
        assert_eq!(e.hop_bytes, 10 + 2 * 6 + 4 + 1);
        assert_eq!((e.total_hops, e.max_dilation), (5, 2));
        assert_eq!((e.avg_hops, e.hops_per_byte), (1.25, 27.0 / 21.0));
        assert_eq!((e.sum_com, e.max_com.whole()), (27, Some(12)));
        assert_eq!((e.mc, e.mmc), (Some(10.0), Some(1)));
        assert_eq!((e.ac, e.amc), (Some(27.0 / 5.0), Some(1.0)));
        assert_eq!((e.icv, e.icm, e.mnrv.whole(), e.mnrm), (21, 4, Some(10), 2));
        // Slot 0 sends 10 bytes up and 1 down, over two links at once.
        assert_eq!(e.predicted_time, Some(10.0));
    }

    /// Two nodes of two slots; bandwidth 2 above the nodes. Slots: task 0 and 1 on node 0, 2 and 3
    /// on node 1.
    #[test]
    fn a_tree_by_hand() {
        let m = matrix(4, &[(0, 1, 8), (0, 2, 6), (1, 2, 2), (3, 0, 5)]);
        let tree = Tree::regular(&[2, 2], &[10, 1]).unwrap().with_bandwidths(&[2.0, 1.0]).unwrap();
        let e = evaluate(&m, &tree, &[0, 1, 2, 3]).unwrap();
        assert_eq!(e.hop_bytes, 8 + 60 + 20 + 50);
        assert_eq!((e.total_hops, e.max_dilation, e.max_com.whole()), (31, 10, Some(60)));
        // Loads: up 0: 14, up 1: 2, up 3: 5, down 0: 5, down 1: 8, down 2: 8; node 0 up 8/2,
        // node 1 down 8/2, node 1 up 5/2, node 0 down 5/2.
        assert_eq!((e.mc, e.mmc), (Some(14.0), Some(2)));
        let loads = [14.0, 2.0, 5.0, 5.0, 8.0, 8.0, 4.0, 4.0, 2.5, 2.5];
        assert_eq!(e.ac, Some(loads.iter().sum::<f64>() / 10.0));
        assert_eq!(e.amc, Some((2 + 1 + 1 + 1 + 1 + 2 + 2 + 2 + 1 + 1) as f64 / 10.0));
        assert_eq!((e.icv, e.icm, e.mnrv.whole(), e.mnrm), (13, 3, Some(8), 2));
    }

    /// What is left out does not change the rest.
    #[test]
    fn parts_are_those_of_the_whole() {
        let m = matrix(3, &[(0, 1, 10), (1, 2, 6), (2, 0, 4), (0, 2, 1)]);
        for machine in ["torus:4", "torus:2x2,routing=adaptive", "tree:2:2", "dragonfly:2x2x1"] {
            let topology = parse(machine).unwrap();
            let of = |parts| evaluate_parts(parts, 1, &m, topology.as_ref(), &[0, 1, 3]).unwrap();
            let all = of(Parts::All);
            for parts in [Parts::Pairs, Parts::Loads] {
                let some = of(parts);
                assert_eq!((some.hop_bytes, some.max_com), (all.hop_bytes, all.max_com));
                assert_eq!((some.total_hops, some.mnrm), (all.total_hops, all.mnrm));
            }
            let loads = of(Parts::Loads);
            assert_eq!((loads.mc, loads.mmc, loads.ac), (all.mc, all.mmc, all.ac));
            assert!(all.predicted_time.is_some());
            assert_eq!(of(Parts::Time).predicted_time, all.predicted_time);
            let is_tree = topology.as_tree().is_some();
            assert_eq!(of(Parts::Pairs).mc.is_some(), is_tree, "{machine}");
            assert_eq!(loads.predicted_time.is_some(), is_tree, "{machine}");
        }
    }

    #[test]
    fn without_links_there_is_no_congestion() {
        let table = DistanceMatrix::parse("0 3\n3 0").unwrap();
        let e = evaluate(&matrix(2, &[(0, 1, 7)]), &table, &[1, 0]).unwrap();
        assert_eq!((e.hop_bytes, e.mc, e.predicted_time), (21, None, None));
    }

    #[test]
    fn sharing_a_slot_costs_nothing_and_silence_is_zero() {
        let ring = Grid::torus(&[4]).unwrap();
        let e = evaluate(&matrix(2, &[(0, 1, 7)]), &ring, &[2, 2]).unwrap();
        assert_eq!((e.hop_bytes, e.icm, e.mc, e.amc), (0, 0, Some(0.0), Some(0.0)));
        let e = evaluate(&matrix(2, &[]), &ring, &[0, 1]).unwrap();
        assert_eq!((e.avg_hops, e.hops_per_byte, e.mmc), (0.0, 0.0, Some(0)));
    }

    #[test]
    fn wrong_input_is_refused() {
        let ring = Grid::torus(&[4]).unwrap();
        assert!(evaluate(&matrix(2, &[]), &ring, &[0]).is_err());
        assert!(evaluate(&matrix(2, &[]), &ring, &[0, 4]).is_err());
        let huge = matrix(3, &[(0, 1, u64::MAX), (1, 2, 1)]);
        let error = evaluate(&huge, &ring, &[0, 1, 2]).unwrap_err();
        assert!(error.to_string().contains("64 bits"), "{error}");
        let large = matrix(2, &[(0, 1, u64::MAX)]);
        let e = evaluate(&large, &ring, &[0, 2]).unwrap();
        assert_eq!(e.hop_bytes, 2 * u128::from(u64::MAX));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn json_names_are_those_of_the_command_line() {
        let ring = Grid::torus(&[3]).unwrap();
        let e = evaluate(&matrix(2, &[(0, 1, 1)]), &ring, &[0, 1]).unwrap();
        let json = serde_json::to_value(&e).unwrap();
        for name in [
            "hop_bytes",
            "total_hops",
            "avg_hops",
            "max_dilation",
            "sum_com",
            "max_com",
            "mc",
            "mmc",
            "ac",
            "amc",
            "icv",
            "icm",
            "mnrv",
            "mnrm",
        ] {
            assert_eq!(json[name].as_f64(), Some(1.0), "{name}");
        }
    }

    /// All sums once more over dense tables, link by link and node by node.
    fn naive(dense: &[Vec<u64>], topology: &dyn Topology, mapping: &[usize]) -> [f64; 11] {
        let n = dense.len();
        let network = topology.network().unwrap();
        let mut talks = Vec::new();
        for i in 0..n {
            for j in 0..n {
                if i != j && dense[i][j] > 0 {
                    talks.push((mapping[i], mapping[j], dense[i][j] as f64));
                }
            }
        }
        let d = |a, b| topology.distance(a, b) as f64;
        let mut loads = Vec::new();
        for link in 0..network.links() {
            let (mut volume, mut count) = (0.0, 0.0);
            for &(a, b, bytes) in &talks {
                let mut on = false;
                network.route(a, b, &mut |l| on |= l == link);
                volume += if on { bytes } else { 0.0 };
                count += f64::from(u8::from(on));
            }
            if count > 0.0 {
                loads.push((volume / network.bandwidth(link), count));
            }
        }
        let used = (loads.len() as f64).max(1.0);
        let max = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
        let node = |s| topology.node_of(s);
        let into = |k: usize, weigh: fn(f64) -> f64| -> f64 {
            talks
                .iter()
                .filter(|t| node(t.0) != node(t.1) && node(t.1) == k)
                .map(|t| weigh(t.2))
                .sum()
        };
        let nodes = 0..64;
        [
            talks.iter().map(|t| t.2 * d(t.0, t.1)).sum(),
            talks.iter().map(|t| d(t.0, t.1)).sum(),
            max(talks.iter().map(|t| d(t.0, t.1)).collect()),
            max(talks.iter().map(|t| t.2 * d(t.0, t.1)).collect()),
            max(loads.iter().map(|l| l.0).collect()),
            max(loads.iter().map(|l| l.1).collect()),
            loads.iter().map(|l| l.0).sum::<f64>() / used,
            loads.iter().map(|l| l.1).sum::<f64>() / used,
            nodes.clone().map(|k| into(k, |bytes| bytes)).sum(),
            max(nodes.clone().map(|k| into(k, |bytes| bytes)).collect()),
            max(nodes.map(|k| into(k, |_| 1.0)).collect()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_dense_tables(
            dense in prop::collection::vec(prop::collection::vec(0u64..5, 9), 9),
            mapping in prop::collection::vec(0usize..12, 9),
            kind in 0usize..4,
        ) {
            let spec = ["torus:4x3", "tree:3:4@1:10", "dragonfly:3x2x2@1:2:3", "fattree:2:3:2@2:1"];
            let topology = parse(spec[kind]).unwrap();
            let entries: Vec<(u32, u32, u64)> = (0..81u32)
                .map(|k| (k / 9, k % 9, dense[k as usize / 9][k as usize % 9]))
                .collect();
            let entries: Vec<_> = entries
                .into_iter()
                .filter(|e| e.2 > 0)
                .map(|(i, j, bytes)| (i, j, Traffic { bytes, messages: 1 }))
                .collect();
            let m = SparseMatrix::from_entries(9, &entries);
            let e = evaluate(&m, topology.as_ref(), &mapping).unwrap();
            let got = [
                e.hop_bytes as f64, e.total_hops as f64, e.max_dilation as f64, e.max_com.real(),
                e.mc.unwrap(), e.mmc.unwrap() as f64, e.ac.unwrap(), e.amc.unwrap(),
                e.icv as f64, e.mnrv.real(), e.mnrm as f64,
            ];
            for (got, want) in got.iter().zip(naive(&dense, topology.as_ref(), &mapping)) {
                prop_assert!((got - want).abs() <= 1e-9 * want.abs().max(1.0), "{got} {want}");
            }
        }
    }
}
