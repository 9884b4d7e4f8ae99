//! The order of a communicator's processes, from what all of them said: pure computation on the
//! process that maps.

use crate::job::constructed;
use crate::job::facts::{Facts, How};
use crate::job::given;
use crate::job::plan;
use rw::decide;
use rw::mapping::TaskGrid;
use rw::matrix::{CommMatrix, SparseMatrix, Traffic};
use rw::options::Settings;
use rw::store::{Constructed, Placement, Signature, Store};
use rw::topology::{self, Topology};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// What the weights of the edges are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// Bytes, or numbers in proportion to them, of the program itself.
    Given,
    /// Only the edges are known: measured traffic weighs them where there is some.
    Unknown,
}

/// What one process says.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Launcher rank.
    pub process: u32,
    /// Rank in the world as the program sees it.
    pub task: u32,
    /// To whom the vertex of this rank sends, by rank in the communicator.
    pub edges: Vec<(u32, u64)>,
    /// What this process sent so far.
    pub sent: Vec<(u32, u64)>,
}

/// Bytes from one rank of the communicator to another.
type Entry = (u32, u32, u64);

/// The order by what the processes reported, by rank: entry i is the process to be rank i. Only the
/// first `vertices` of them will have one. `grid`: what these vertices are points of, if the program
/// said so. `None`: leave them.
pub fn order(
    facts: &Facts,
    settings: &Settings,
    reports: &[Report],
    weights: Weights,
    vertices: usize,
    places: Option<&Placement>,
    grid: Option<TaskGrid>,
) -> rw::Result<(Option<Vec<u32>>, String)> {
    let fixed: Vec<u32> = (0u32..)
        .zip(reports)
        .filter(|(rank, report)| settings.fix.contains(&report.task) && (*rank as usize) < vertices)
        .map(|(rank, _)| rank)
        .collect();
    if facts.how == How::Shuffle {
        // Another sequence than that of the world.
        let seed = settings.seed.wrapping_add(0x5bd1_e995);
        let settings = Settings { seed, fix: fixed, ..settings.clone() };
        let order = plan::shuffled(reports.len(), &settings);
        return Ok((Some(order), format!("shuffled with seed {}", settings.seed)));
    }
    let (topology, slots) = places_of(facts, settings, reports, places)?;
    let declared = entries(reports, |report| &report.edges);
    let entries = match weights {
        Weights::Given => declared,
        Weights::Unknown => {
            let question = question(reports, vertices);
            let (stored, then) = stored(facts, reports, question);
            let sent = entries(reports, |report| &report.sent);
            let now = constructed::answer(question);
            let by_vertex = |of: &[Entry], order: Option<Constructed>| {
                order.map(|order| by_vertex(of, reports, &order.task_of_vertex)).unwrap_or_default()
            };
            [by_vertex(&stored, then), stored, by_vertex(&sent, now), sent]
                .into_iter()
                .find(|m| covers(m, &declared))
                .unwrap_or(declared)
        }
    };
    let entries: Vec<(u32, u32, Traffic)> = entries
        .into_iter()
        .map(|(from, to, bytes)| (from, to, Traffic { bytes, messages: 1 }))
        .collect();
    let matrix =
        CommMatrix::from_point_to_point(SparseMatrix::from_entries(reports.len(), &entries));
    let options = decide::Options { fixed, grid, ..decide::Options::of(settings) };
    let decision = decide::decide(&matrix, topology.as_ref(), &slots, &options)?;
    Ok((decision.changed.then_some(decision.process_of_task), decision.reason))
}

/// The machine, and the slot of every process in it.
fn places_of(
    facts: &Facts,
    settings: &Settings,
    reports: &[Report],
    places: Option<&Placement>,
) -> rw::Result<(Box<dyn Topology>, Vec<usize>)> {
    let unknown =
        || rw::Error::new(rw::ErrorKind::Infeasible, "the places of the processes are unknown");
    if let Some(spec) = &settings.topology {
        let topology = topology::parse(spec)?;
        let all = given::given_slots(settings, facts.size, topology.as_ref())?;
        let slots: Option<Vec<usize>> =
            reports.iter().map(|report| all.get(report.process as usize).copied()).collect();
        return Ok((topology, slots.ok_or_else(unknown)?));
    }
    let places = places.ok_or_else(unknown)?;
    let tree = topology::from_launch(
        &places.node_of_process,
        &places.place_of_process,
        &places.level_costs,
    )?;
    Ok((Box::new(tree), (0..reports.len()).collect()))
}

fn entries(reports: &[Report], of: impl Fn(&Report) -> &Vec<(u32, u64)>) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(reports.iter().map(|r| of(r).len()).sum());
    for (from, report) in (0u32..).zip(reports) {
        entries.extend(
            of(report)
                .iter()
                .filter(|(to, bytes)| (*to as usize) < reports.len() && *bytes > 0)
                .map(|&(to, bytes)| (from, to, bytes)),
        );
    }
    entries
}

/// What is asked: by which tasks, and for which edges.
fn question(reports: &[Report], vertices: usize) -> u64 {
    let words = reports.iter().flat_map(|report| {
        let edges = report.edges.iter().flat_map(|&(to, weight)| [u64::from(to), weight]);
        [u64::from(report.task), report.edges.len() as u64].into_iter().chain(edges)
    });
    Signature::new().word(vertices as u64).words(words).value()
}

/// Keeps the order that was found, for the next topology that asks for the same.
pub fn remember(reports: &[Report], vertices: usize, order: Option<&[u32]>) {
    let task = |&rank: &u32| reports.get(rank as usize).map(|report| report.task);
    let tasks = order.and_then(|order| order.iter().map(task).collect());
    constructed::keep(question(reports, vertices), tasks);
}

/// Traffic between ranks as that between the vertices that the tasks behind them had then.
fn by_vertex(measured: &[Entry], reports: &[Report], task_of_vertex: &[u32]) -> Vec<Entry> {
    let vertex_of_task: HashMap<u32, u32> = task_of_vertex.iter().copied().zip(0..).collect();
    let vertex = |rank: u32| {
        let task = reports.get(rank as usize)?.task;
        vertex_of_task.get(&task).copied().filter(|&vertex| (vertex as usize) < reports.len())
    };
    let moved = |&(from, to, bytes): &Entry| Some((vertex(from)?, vertex(to)?, bytes));
    measured.iter().filter_map(moved).collect()
}

/// What the store has of the traffic between these processes, empty if nothing; and the order in which a
/// topology had them then.
fn stored(facts: &Facts, reports: &[Report], question: u64) -> (Vec<Entry>, Option<Constructed>) {
    let mut entries = Vec::new();
    if facts.store.is_empty() || facts.key.is_empty() {
        return (entries, None);
    }
    let record = Store::open(&facts.store).load(&facts.key);
    let Ok(Some(mut record)) = record else { return (entries, None) };
    if record.matrix.tasks() != facts.size || !record.has_all_tasks() {
        return (entries, None);
    }
    let mut rank_of_task = vec![u32::MAX; facts.size];
    for (rank, report) in (0u32..).zip(reports) {
        if let Some(place) = rank_of_task.get_mut(report.task as usize) {
            *place = rank;
        }
    }
    for (i, j, traffic) in record.matrix.sum().entries() {
        let pair = (rank_of_task.get(i as usize), rank_of_task.get(j as usize));
        if let (Some(&from), Some(&to)) = pair
            && from != u32::MAX
            && to != u32::MAX
            && traffic.bytes > 0
        {
            entries.push((from, to, traffic.bytes));
        }
    }
    record.constructed.retain(|constructed| constructed.question == question);
    (entries, record.constructed.pop())
}

/// Whether measured traffic is that of the declared edges: most of its bytes run along them, and
/// most of them have some. Traffic of another phase of the program, or of a communicator whose order is
/// not known, says nothing about them.
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

    fn facts(how: How) -> Facts {
        Facts { how, process: 0, size: 8, store: String::new(), key: String::new() }
    }

    /// Processes that talk in pairs (r, r + 4), of which the processes of one node are 0..4.
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
        let answer = order(&facts(How::Map), &settings, &reports, Weights::Given, 8, None, None);
        let order = answer.unwrap().0.unwrap();
        assert_eq!(order[0], 0);
        for i in 0..4 {
            assert_eq!(node(order[i]), node(order[i + 4]), "{order:?}");
        }
    }

    /// Nothing is measured: the neighbours of the grid count alike, on nodes of eight and four that
    /// the launcher dealt out in turn.
    #[test]
    fn a_grid_with_nothing_measured_is_cut_where_it_is_narrow() {
        use crate::reorder::shape::Shape;
        let shape = Shape::cartesian(vec![2, 6], vec![0, 0], 12).unwrap();
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
            slots: Some(rw::options::Slots::List(slots.to_vec())),
            ..Settings::default()
        };
        let facts = Facts { size: 12, ..facts(How::Map) };
        let weights = Weights::Unknown;
        let answer = order(&facts, &settings, &reports, weights, 12, None, shape.grid());
        let order = answer.unwrap().0.unwrap();
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
        let answer =
            order(&facts(How::Map), &settings, &reports, Weights::Given, 8, None, None).unwrap();
        assert_eq!(answer.0, None);
        assert!(answer.1.contains("threshold 99 %"), "{}", answer.1);
    }

    #[test]
    fn fewer_vertices_than_processes_take_the_best_ones() {
        // Four processes of the second node are left over: a ring of four fits into the first.
        let (mut reports, mut settings) = pairs();
        for (i, report) in reports.iter_mut().enumerate() {
            report.edges = if i < 4 { vec![((i as u32 + 1) % 4, 1)] } else { Vec::new() };
        }
        settings.slots = Some(rw::options::Slots::List(vec![0, 4, 1, 5, 2, 6, 3, 7]));
        let answer = order(&facts(How::Map), &settings, &reports, Weights::Unknown, 4, None, None);
        let mut first = answer.unwrap().0.unwrap();
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

    /// A ring whose vertices were other tasks in the launch that was recorded, and talked in pairs: its next
    /// constructor finds the weights of its edges by vertex.
    #[test]
    fn traffic_of_an_earlier_order_weighs_the_edges_of_its_vertices() {
        use rw::store::Record;
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
        let place = std::env::temp_dir().join(format!("rankweave-earlier-{}", std::process::id()));
        let question = question(&reports, 8);
        let record = Record {
            key: "a".into(),
            program: String::new(),
            command: Vec::new(),
            mpi: String::new(),
            recorded_at: 1,
            matrix: CommMatrix::from_point_to_point(SparseMatrix::from_entries(8, &sent)),
            launch: rw::store::Launch::default(),
            baseline: None,
            unfinished: None,
            identity: String::new(),
            history: Vec::new(),
            constructed: vec![Constructed { question, task_of_vertex }],
        };
        Store::open(&place).save(&record).unwrap();
        let facts = Facts {
            store: place.to_string_lossy().into_owned(),
            key: "a".into(),
            ..facts(How::Map)
        };
        let (stored, then) = stored(&facts, &reports, question);
        assert!(!covers(&stored, &ring(false)), "by task it is not that of the ring");
        let mut found = by_vertex(&stored, &reports, &then.unwrap().task_of_vertex);
        found.sort_unstable();
        assert_eq!(found, ring(true));
        let settings = Settings {
            topology: Some("tree:2:2:2@1:10:100".into()),
            slots: Some(rw::options::Slots::List(vec![0, 2, 4, 6, 1, 3, 5, 7])),
            ..Settings::default()
        };
        let answer = order(&facts, &settings, &reports, Weights::Unknown, 8, None, None);
        let order = answer.unwrap().0.unwrap();
        for vertex in (0..8).step_by(2) {
            assert_eq!(order[vertex] % 4, order[vertex + 1] % 4, "{order:?}");
        }
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn random_orders_keep_what_is_fixed() {
        let (reports, mut settings) = pairs();
        settings.fix = vec![3];
        let answer =
            order(&facts(How::Shuffle), &settings, &reports, Weights::Given, 8, None, None);
        let order = answer.unwrap().0.unwrap();
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
        assert!(
            order(&facts(How::Map), &settings, &reports, Weights::Given, 8, None, None).is_err()
        );
        settings.topology = Some("tree:2".into());
        assert!(
            order(&facts(How::Map), &settings, &reports, Weights::Given, 8, None, None).is_err()
        );
    }
}
