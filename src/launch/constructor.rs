//! The ranks that a constructor of a topology gives to the processes of a communicator. One process computes
//! them from the reports of all processes.

use super::machine::LaunchMachine;
use super::{AskedSources, NewRanks, SaidOfNodes, Unasked, UserTopology, random_permutation};
use crate::base::error::Result;
use crate::decide;
use crate::mapping::TaskGrid;
use crate::matrix::{CommMatrix, SparseMatrix, Traffic};
use crate::options::Settings;
use crate::store::{Constructed, Placement, Record, Signature, Store};
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Where the weights of the edges come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// From the program: bytes, or numbers in proportion to them.
    Given,
    /// The program gives only the edges. Their weights are measured traffic, if there is any.
    Unknown,
}

/// The report of one process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Launcher rank.
    pub process: u32,
    /// Rank in the world as the program sees it.
    pub task: u32,
    /// The vertices to which the vertex of this rank sends, by rank in the communicator, with weights.
    pub edges: Vec<(u32, u64)>,
    /// Bytes that this process sent so far, by rank in the communicator.
    pub sent: Vec<(u32, u64)>,
}

/// The request of a constructor.
#[derive(Debug)]
pub struct RankRequest<'a> {
    /// Which ranks the policy allows.
    pub new_ranks: NewRanks,
    /// Number of processes of the job.
    pub processes: usize,
    /// Directory of the store; empty if there is none.
    pub store: &'a str,
    /// The reports of the communicator's processes, by rank.
    pub reports: &'a [Report],
    /// Where the weights of their edges come from.
    pub weights: Weights,
    /// Number of vertices. The first processes in the new order have one.
    pub vertices: usize,
    /// The grid whose points are the vertices, if the program described one.
    pub grid: Option<TaskGrid>,
    /// What the sources of the network said to this process.
    pub said: &'a SaidOfNodes,
}

/// The answer to a constructor.
#[derive(Debug, PartialEq, Eq)]
pub struct RankAnswer {
    /// Entry i is the old rank of the process that becomes rank i. `None`: the ranks stay.
    pub permutation: Option<Vec<u32>>,
    /// The reason, in one sentence.
    pub reason: String,
}

/// Bytes from one rank of the communicator to another.
type Entry = (u32, u32, u64);

impl RankRequest<'_> {
    /// A hash of the tasks of the communicator and of the edges. It identifies the question.
    pub fn question(&self) -> u64 {
        let words = self.reports.iter().flat_map(|report| {
            let edges = report.edges.iter().flat_map(|&(to, weight)| [u64::from(to), weight]);
            [u64::from(report.task), report.edges.len() as u64].into_iter().chain(edges)
        });
        Signature::new().word(self.vertices as u64).words(words).value()
    }

    /// The record in the store whose traffic can weigh the edges, for a launch that does this
    /// `kind` of run: in the own store, or else in those that are also read (`--also-read`). `None` if no store has such
    /// a record, or if the edges need no weights from a record.
    pub fn stored(&self, settings: &Settings, key: &str, kind: u32) -> Option<Record> {
        let helps = self.weights == Weights::Unknown && self.new_ranks == NewRanks::Map;
        if !helps || key.is_empty() {
            return None;
        }
        let own =
            self.own_store().and_then(|store| store.fitting(key, self.processes, kind).ok()?);
        let also_read = || Store::fitting_of(&settings.also_read, key, self.processes, kind);
        Some(own.or_else(also_read)?.record)
    }

    fn own_store(&self) -> Option<Store> {
        (!self.store.is_empty()).then(|| Store::open(self.store))
    }

    /// The answer: with the places of the processes, what is stored about the program
    /// ([`RankRequest::stored`]), and the latest answer to the same question in this launch.
    ///
    /// Errors: the topology of the machine is not known, or the given description is not a valid topology.
    pub fn answer(
        &self,
        settings: &Settings,
        placement: Option<&Placement>,
        stored: Option<Record>,
        before: Option<Constructed>,
    ) -> Result<RankAnswer> {
        let fixed: Vec<u32> = (0u32..)
            .zip(self.reports)
            .filter(|(_, report)| settings.fix.contains(&report.task))
            .map(|(rank, _)| rank)
            .filter(|&rank| (rank as usize) < self.vertices)
            .collect();
        if self.new_ranks == NewRanks::Shuffle {
            // This seed gives another random sequence than that of the world.
            let seed = settings.seed.wrapping_add(0x5bd1_e995);
            let permutation = Some(random_permutation(self.reports.len(), seed, &fixed));
            return Ok(RankAnswer { permutation, reason: format!("shuffled with seed {seed}") });
        }
        let (topology, slots) = self.machine(settings, placement)?;
        let entries = self.weighted_edges(stored, before);
        let entries: Vec<(u32, u32, Traffic)> = entries
            .into_iter()
            .map(|(from, to, bytes)| (from, to, Traffic { bytes, messages: 1 }))
            .collect();
        let matrix = SparseMatrix::from_entries(self.reports.len(), &entries);
        let matrix = CommMatrix::from_point_to_point(matrix);
        let options =
            decide::Options { fixed, grid: self.grid.clone(), ..decide::Options::of(settings) };
        let decision = decide::decide(&matrix, topology.as_ref(), &slots, &options)?;
        let permutation = decision.changed.then_some(decision.process_of_task);
        Ok(RankAnswer { permutation, reason: decision.reason })
    }

    /// The task of each vertex in an answer, for [`ConstructedOrders::keep`](super::constructed_orders::ConstructedOrders::keep).
    pub fn task_of_vertex(&self, permutation: Option<&[u32]>) -> Option<Vec<u32>> {
        let task = |&rank: &u32| self.reports.get(rank as usize).map(|report| report.task);
        permutation.and_then(|permutation| permutation.iter().map(task).collect())
    }

    /// The machine, and the slot of every process in it.
    fn machine(
        &self,
        settings: &Settings,
        placement: Option<&Placement>,
    ) -> Result<(Box<dyn Topology>, Vec<usize>)> {
        let unknown = LaunchMachine::unknown_places;
        let by_host_name = UserTopology::by_host_name(settings, placement).is_some();
        if !by_host_name && let Some(given) = UserTopology::read(settings, self.processes) {
            let given = given?;
            let slot = |report: &Report| given.slots.get(report.process as usize).copied();
            let slots: Option<Vec<usize>> = self.reports.iter().map(slot).collect();
            return Ok((given.topology, slots.ok_or_else(unknown)?));
        }
        let processes = self.reports.len();
        let unasked = || Unasked::new(settings, self.own_store());
        let sources = match placement.filter(|_| !by_host_name) {
            Some(placement) => self.said.asked(settings, placement, unasked),
            None => AskedSources::NotYet(unasked()),
        };
        let machine = LaunchMachine::of(settings, placement, sources, processes)?;
        Ok((machine.topology, machine.slots))
    }

    /// The edges with the best weights that are known: the weights of the program, or else traffic of an
    /// earlier launch or of this one, by vertex or by task. Traffic is used only if it [covers] the
    /// edges.
    fn weighted_edges(&self, stored: Option<Record>, before: Option<Constructed>) -> Vec<Entry> {
        let declared = self.entries(|report| &report.edges);
        if self.weights == Weights::Given {
            return declared;
        }
        let question = self.question();
        let (stored, then) = self.stored_traffic(stored, question);
        let sent = self.entries(|report| &report.sent);
        let by_vertex = |of: &[Entry], order: Option<Constructed>| {
            order.map(|order| self.by_vertex(of, &order.task_of_vertex)).unwrap_or_default()
        };
        [by_vertex(&stored, then), stored, by_vertex(&sent, before), sent]
            .into_iter()
            .find(|measured| covers(measured, &declared))
            .unwrap_or(declared)
    }

    fn entries(&self, of: impl Fn(&Report) -> &Vec<(u32, u64)>) -> Vec<Entry> {
        let all = (0u32..).zip(self.reports).flat_map(|(from, report)| {
            of(report).iter().map(move |&(to, bytes)| (from, to, bytes))
        });
        all.filter(|&(_, to, bytes)| (to as usize) < self.reports.len() && bytes > 0).collect()
    }

    /// Turns traffic between ranks into traffic between the vertices that the tasks of these ranks had during
    /// the measurement.
    fn by_vertex(&self, measured: &[Entry], task_of_vertex: &[u32]) -> Vec<Entry> {
        let vertex_of_task: HashMap<u32, u32> = task_of_vertex.iter().copied().zip(0..).collect();
        let vertex = |rank: u32| {
            let task = self.reports.get(rank as usize)?.task;
            let vertex = vertex_of_task.get(&task).copied();
            vertex.filter(|&vertex| (vertex as usize) < self.reports.len())
        };
        let moved = |&(from, to, bytes): &Entry| Some((vertex(from)?, vertex(to)?, bytes));
        measured.iter().filter_map(moved).collect()
    }

    /// The traffic of a record between these processes, which is empty without a record, and the permutation
    /// that a topology gave them in the launch of the record.
    fn stored_traffic(
        &self,
        record: Option<Record>,
        question: u64,
    ) -> (Vec<Entry>, Option<Constructed>) {
        let Some(mut record) = record else { return (Vec::new(), None) };
        let mut rank_of_task = vec![None; self.processes];
        for (rank, report) in (0u32..).zip(self.reports) {
            if let Some(place) = rank_of_task.get_mut(report.task as usize) {
                *place = Some(rank);
            }
        }
        let rank = |task: u32| rank_of_task.get(task as usize).copied().flatten();
        let traffic = record.matrix.sum();
        let sent = traffic.entries().filter(|(_, _, traffic)| traffic.bytes > 0);
        let entries = sent.filter_map(|(i, j, t)| Some((rank(i)?, rank(j)?, t.bytes))).collect();
        record.constructed.retain(|constructed| constructed.question == question);
        (entries, record.constructed.pop())
    }
}

/// Whether measured traffic belongs to the declared edges: most of its bytes are sent along them, and most of
/// the edges have traffic. Traffic of another phase of the program, or of a communicator whose order is not
/// known, gives no weights for them.
fn covers(measured: &[Entry], declared: &[Entry]) -> bool {
    let pair = |&(i, j, _): &Entry| (i.min(j), i.max(j));
    let edges: HashSet<(u32, u32)> = declared.iter().filter(|e| e.0 != e.1).map(pair).collect();
    let (mut along, mut all) = (0u128, 0u128);
    let mut used = HashSet::new();
    for entry in measured.iter().filter(|e| e.0 != e.1) {
        all += u128::from(entry.2);
        if edges.contains(&pair(entry)) {
            along += u128::from(entry.2);
            used.insert(pair(entry));
        }
    }
    all > 0 && 2 * along >= all && 2 * used.len() >= edges.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    static SAID: SaidOfNodes = SaidOfNodes::new();

    /// A request of all the processes of a job.
    fn request(reports: &[Report], weights: Weights) -> RankRequest<'_> {
        RankRequest {
            new_ranks: NewRanks::Map,
            processes: reports.len(),
            store: "",
            reports,
            weights,
            vertices: reports.len(),
            grid: None,
            said: &SAID,
        }
    }

    fn answer(request: &RankRequest<'_>, settings: &Settings) -> Result<RankAnswer> {
        request.answer(settings, None, None, None)
    }

    /// Processes that exchange messages in pairs (r, r + 4). The processes 0..4 are on one node.
    fn pairs() -> (Vec<Report>, Settings) {
        let report = |rank: u32| Report {
            process: rank,
            task: rank,
            edges: vec![((rank + 4) % 8, 100)],
            sent: Vec::new(),
        };
        let settings = Settings { topology: Some("tree:4:2@1:10".into()), ..Settings::default() };
        ((0..8).map(report).collect(), settings)
    }

    fn node(process: u32) -> u32 {
        process / 4
    }

    #[test]
    fn edges_come_together_and_fixed_tasks_stay() {
        let (reports, settings) = pairs();
        let answer = answer(&request(&reports, Weights::Given), &settings);
        let order = answer.unwrap().permutation.unwrap();
        assert_eq!(order[0], 0);
        for i in 0..4 {
            assert_eq!(node(order[i]), node(order[i + 4]), "{order:?}");
        }
    }

    /// Nothing is measured, so that all neighbours of the grid have the same weight. The launcher placed the
    /// processes in turn on nodes of eight and four.
    #[test]
    fn a_grid_with_nothing_measured_is_cut_where_it_is_narrow() {
        let shape = crate::launch::DeclaredTopology::cartesian(vec![2, 6], vec![0, 0], 12).unwrap();
        let reports: Vec<Report> = (0..12u32)
            .map(|rank| Report {
                process: rank,
                task: rank,
                edges: shape.edges(rank as usize),
                sent: Vec::new(),
            })
            .collect();
        let slots = [0, 8, 1, 9, 2, 10, 3, 11, 4, 5, 6, 7];
        let settings = Settings {
            topology: Some("tree:8:2@1:10".into()),
            slots: Some(crate::options::Slots::List(slots.to_vec())),
            ..Settings::default()
        };
        let request = RankRequest { grid: shape.grid(), ..request(&reports, Weights::Unknown) };
        let order = answer(&request, &settings).unwrap().permutation.unwrap();
        let node = |rank: u32| slots[order[rank as usize] as usize] / 8;
        let across =
            (0..12u32).flat_map(|r| shape.edges(r as usize).into_iter().map(move |e| (r, e.0)));
        assert_eq!(across.filter(|&(a, b)| node(a) != node(b)).count(), 4, "{order:?}");
        assert_eq!(order[0], 0, "fixed");
    }

    #[test]
    fn a_small_gain_changes_nothing() {
        let (reports, mut settings) = pairs();
        settings.min_gain = 99.0;
        let answer = answer(&request(&reports, Weights::Given), &settings).unwrap();
        assert_eq!(answer.permutation, None);
        assert!(answer.reason.contains("the threshold (--min-gain) is 99 %"), "{}", answer.reason);
    }

    #[test]
    fn fewer_vertices_than_processes_take_the_best_ones() {
        // Four processes of the second node are left over: a ring of four fits into the first.
        let (mut reports, mut settings) = pairs();
        for (i, report) in reports.iter_mut().enumerate() {
            report.edges = if i < 4 { vec![((i as u32 + 1) % 4, 1)] } else { Vec::new() };
        }
        settings.slots = Some(crate::options::Slots::List(vec![0, 4, 1, 5, 2, 6, 3, 7]));
        let request = RankRequest { vertices: 4, ..request(&reports, Weights::Unknown) };
        let mut first = answer(&request, &settings).unwrap().permutation.unwrap();
        first.truncate(4);
        first.sort_unstable();
        assert_eq!(first, [0, 2, 4, 6]);
    }

    #[test]
    fn measured_traffic_weighs_edges_only_where_it_is_theirs() {
        let declared = [(0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 3, 1)];
        assert!(covers(&[(0, 1, 10), (2, 1, 10)], &declared));
        assert!(!covers(&[(0, 1, 10)], &declared), "one of three edges");
        assert!(!covers(&[(0, 1, 10), (2, 1, 10), (0, 3, 30)], &declared), "other traffic");
        assert!(!covers(&[], &declared));
        assert!(!covers(&[(2, 2, 5)], &[(1, 1, 1)]), "a process with itself");
    }

    /// A ring whose vertices were other tasks in the recorded launch, and exchanged messages in pairs. Its next
    /// constructor finds the weights of its edges by vertex.
    #[test]
    fn traffic_of_an_earlier_order_weighs_the_edges_of_its_vertices() {
        let ring = |heavy: bool| -> Vec<Entry> {
            let weight = |v: u32| if heavy && v.is_multiple_of(2) { 1000 } else { 1 };
            (0..8).map(|v| (v, (v + 1) % 8, weight(v))).collect()
        };
        let reports: Vec<Report> = (0..8u32)
            .map(|rank| Report {
                process: rank,
                task: rank,
                edges: vec![((rank + 1) % 8, 1)],
                sent: Vec::new(),
            })
            .collect();
        let task_of_vertex = vec![0, 4, 1, 5, 2, 6, 3, 7];
        let sent: Vec<(u32, u32, Traffic)> = ring(true)
            .into_iter()
            .map(|(from, to, bytes)| {
                let task = |v: u32| task_of_vertex[v as usize];
                (task(from), task(to), Traffic { bytes, messages: 1 })
            })
            .collect();
        let request = request(&reports, Weights::Unknown);
        let question = request.question();
        let directory = tempfile::tempdir().unwrap();
        let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(8, &sent));
        let constructed = vec![Constructed { question, task_of_vertex }];
        let record = Record { constructed, ..Record::of_matrix("a", matrix) };
        Store::open(directory.path()).save(&record).unwrap();
        let store = directory.path().to_string_lossy();
        let nothing_else = Settings::default();
        assert!(request.stored(&nothing_else, "a", 0).is_none(), "no store");
        let also_read = vec![directory.path().to_path_buf()];
        let settings = Settings { also_read, ..Settings::default() };
        assert!(request.stored(&settings, "a", 0).is_some(), "the store of somebody else");
        let request = RankRequest { store: &store, ..request };
        let record = request.stored(&nothing_else, "a", 0);
        assert!(request.stored(&nothing_else, "b", 0).is_none());
        let (stored, then) = request.stored_traffic(record.clone(), question);
        assert!(!covers(&stored, &ring(false)), "by task it is not that of the ring");
        let mut found = request.by_vertex(&stored, &then.unwrap().task_of_vertex);
        found.sort_unstable();
        assert_eq!(found, ring(true));
        let settings = Settings {
            topology: Some("tree:2:2:2@1:10:100".into()),
            slots: Some(crate::options::Slots::List(vec![0, 2, 4, 6, 1, 3, 5, 7])),
            ..Settings::default()
        };
        let answer = request.answer(&settings, None, record, None);
        let order = answer.unwrap().permutation.unwrap();
        for vertex in (0..8).step_by(2) {
            assert_eq!(order[vertex] % 4, order[vertex + 1] % 4, "{order:?}");
        }
    }

    #[test]
    fn random_orders_keep_what_is_fixed() {
        let (reports, mut settings) = pairs();
        settings.fix = vec![3];
        let request =
            RankRequest { new_ranks: NewRanks::Shuffle, ..request(&reports, Weights::Given) };
        let order = answer(&request, &settings).unwrap().permutation.unwrap();
        assert_eq!(order[3], 3);
        assert_ne!(order, (0..8).collect::<Vec<u32>>());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<u32>>());
    }

    #[test]
    fn unknown_places_are_an_error() {
        let (reports, mut settings) = pairs();
        settings.topology = None;
        assert!(answer(&request(&reports, Weights::Given), &settings).is_err());
        settings.topology = Some("tree:2".into());
        assert!(answer(&request(&reports, Weights::Given), &settings).is_err());
    }
}
