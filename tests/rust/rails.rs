//! The rails of nodes, from the description of a machine to what `rankweave show` says about a launch.

use crate::support::{Place, repository};
use rankweave::decide;
use rankweave::launch::{AskedSources, MappingProblem};
use rankweave::matrix::{CommMatrix, SparseMatrix, Traffic};
use rankweave::metrics::{self, RailLoads};
use rankweave::options::Settings;
use rankweave::store::{Devices, Launch, LaunchMode, Placement, Record, Store};
use rankweave::topology::{CpuSet, Machine, costs};
use std::collections::BTreeSet;
use std::path::PathBuf;

const NODES: usize = 4;

/// Nodes of this machine with one process on each core, as the preloaded library describes them.
fn placement(file: &str) -> Placement {
    let path = repository("tests/machines").join(file);
    let text = std::fs::read_to_string(path).expect("a file of the repository");
    let machine = match file.ends_with(".sys") {
        true => Machine::from_sys_listing(&text),
        false => Machine::from_hwloc_xml(&text),
    };
    let machine = machine.expect("a machine");
    let core = machine.level_names().iter().position(|name| name == "core");
    let mut seen = BTreeSet::new();
    let places: Vec<CpuSet> = (machine.pus().iter().enumerate())
        .filter(|(k, pu)| seen.insert(core.map_or(**pu, |core| machine.groups(core)[*k] as usize)))
        .map(|(_, &pu)| [pu].into_iter().collect())
        .collect();
    let attached = machine.attachments(&places);
    let names: Vec<String> = machine.rails().iter().map(|rail| rail.name.clone()).collect();
    let of_process = (0..NODES).flat_map(|_| &attached).map(|a| a.rail.expect("a rail") as u32);
    let node = |process: usize| (process / places.len()) as u32;
    let mut placement = Placement::of_nodes(
        (0..NODES * places.len()).map(node).collect(),
        (0..NODES).map(|node| format!("n{node}")).collect(),
    );
    let paths = places.iter().map(|place| machine.path_of(place));
    placement.place_of_process = (0..NODES).flat_map(|_| paths.clone()).collect();
    placement.level_names = [vec!["node".to_string()], machine.level_names().to_vec()].concat();
    placement.level_costs = costs::of_levels(&placement.level_names);
    placement.devices = Devices {
        rails_of_node: vec![names; NODES],
        rail_of_process: of_process.collect(),
        ..Devices::default()
    };
    placement
}

/// The tasks near the first rail of each node send to the same tasks of the next nodes; all others talk to nobody
/// outside. All tasks of a node exchange as much with each other, so that they stay on one node.
fn talkers_near_one_rail(placement: &Placement) -> CommMatrix {
    let tasks = placement.node_of_process.len();
    let size = tasks / NODES;
    let rail = &placement.devices.rail_of_process;
    let sends = |bytes| Traffic { bytes, messages: 1 };
    let far = (0..tasks).filter(|&t| rail[t] == rail[0]);
    let mut entries: Vec<(u32, u32, Traffic)> =
        far.map(|t| (t as u32, ((t + size) % tasks) as u32, sends(1 << 20))).collect();
    let of_node = |a: usize| (a + 1..(a / size + 1) * size).map(move |b| (a as u32, b as u32));
    entries.extend((0..tasks).flat_map(of_node).map(|(a, b)| (a, b, sends(1 << 20))));
    CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks, &entries))
}

fn settings() -> Settings {
    Settings { site: Some(PathBuf::new()), ..Settings::default() }
}

fn problem(matrix: &CommMatrix, placement: &Placement) -> MappingProblem {
    let sources = AskedSources::NotYet(rankweave::launch::Unasked::default());
    MappingProblem::new(matrix.clone(), &settings(), Some(placement), sources, (None, "k"))
        .expect("a problem")
}

/// The rank order of a launch, with the load of the rails before and after.
fn launched(placement: &Placement, matrix: &CommMatrix) -> (decide::Decision, [RailLoads; 2]) {
    let problem = problem(matrix, placement);
    let topology = problem.topology.as_ref();
    let decision = decide::decide(matrix, topology, &problem.slots, &problem.options);
    let decision = decision.expect("a decision");
    let given: Vec<usize> = (0..matrix.tasks()).collect();
    let used: Vec<usize> = decision.process_of_task.iter().map(|&p| p as usize).collect();
    let loads =
        |slots: &[usize]| metrics::rail_loads(&matrix.sum(), topology, slots).expect("rails");
    (decision, [loads(&given), loads(&used)])
}

#[test]
fn talkers_near_one_rail_are_spread_over_all() {
    for file in [
        "omni-path-2.xml",
        "ethernet-3.xml",
        "dgx-h100.xml",
        "mi250x-4nic.xml",
        "grace-hopper-4.xml",
        "sys-mi250x-4nic.sys",
        "sys-mi300a-4apu.sys",
        "sys-efa-4gpu.sys",
    ] {
        let placement = placement(file);
        let rails = placement.devices.rail_of_process.iter().collect::<BTreeSet<_>>().len();
        let matrix = talkers_near_one_rail(&placement);
        let (decision, [before, after]) = launched(&placement, &matrix);
        assert!(decision.changed, "{file}: {}", decision.reason);
        assert!(
            decision.reason.contains("bytes of the busiest rail"),
            "{file}: {}",
            decision.reason
        );
        assert_eq!(decision.process_of_task[0], 0, "{file}: rank 0 stays");
        // What one rail had is now on all, up to one task.
        let share = before.busiest.div_ceil(rails as u64).next_multiple_of(1 << 20);
        assert!(
            after.busiest <= share,
            "{file}: {} to {}, {rails} rails",
            before.busiest,
            after.busiest
        );
        assert!(after.uneven_cost < before.uneven_cost, "{file}");
        let nodes = &placement.node_of_process;
        let node = |task: usize| nodes[decision.process_of_task[task] as usize];
        let between = matrix.bytes_between(node);
        assert_eq!(between, matrix.bytes_between(|task| nodes[task]), "{file}");
        // The same question has the same answer.
        assert_eq!(launched(&placement, &matrix).0, decision, "{file}");
    }
}

#[test]
fn a_single_rail_changes_nothing() {
    let mut placement = placement("omni-path-2.xml");
    let matrix = talkers_near_one_rail(&placement);
    placement.devices.rail_of_process.iter_mut().for_each(|rail| *rail = 0);
    let of = |placement: &Placement| {
        let problem = problem(&matrix, placement);
        assert!(problem.topology.rails().is_none());
        decide::decide(&matrix, problem.topology.as_ref(), &problem.slots, &problem.options)
            .expect("a decision")
    };
    let with_rail = of(&placement);
    placement.devices = Devices::default();
    assert_eq!(with_rail, of(&placement));
}

#[test]
fn the_record_says_what_the_rails_carried_before_and_after() {
    let place = Place::new();
    let placement = placement("omni-path-2.xml");
    let matrix = talkers_near_one_rail(&placement);
    let (decision, [before, after]) = launched(&placement, &matrix);
    let record = Record {
        launch: Launch {
            mode: LaunchMode::Reorder,
            process_of_task: decision.process_of_task.clone(),
            placement,
            predicted: (decision.cost_before, decision.cost_after),
            decision: decision.reason,
            ..Launch::default()
        },
        ..Record::of_matrix("talkers", matrix)
    };
    let store = Store::open(place.path("store"));
    store.save(&record).expect("stored");
    let shown = place.ok(&["show", "talkers", "--store", "store", "--color", "never"]);
    assert!(shown.contains("bytes of the busiest rail 4.00 MiB → 2.00 MiB (-50.0 %)"), "{shown}");
    assert!(
        shown.contains("imbalance 1.00 (2.00 in the launcher's order, 4.00 MiB at most)"),
        "{shown}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["show", "talkers", "--store", "store", "--json"]))
            .unwrap();
    assert_eq!(json["rail_balance"]["busiest"], after.busiest);
    assert_eq!(json["rail_balance"]["busiest_given_order"], before.busiest);
    assert_eq!(json["rails"][1]["sent_given_order"], 0);
    assert_eq!(json["rails"][1]["sent"], 2 << 20);
    place.ok(&["report", "talkers", "--store", "store", "--html", "report.html"]);
    let report = std::fs::read_to_string(place.path("report.html")).unwrap();
    assert!(report.contains("sent in the launcher's order"), "the report has both orders");
}

#[test]
fn eval_has_the_load_of_each_rail() {
    let place = Place::new();
    place.file("m.csv", "src,dst,bytes,messages\n0,8,4096,4\n1,9,4096,4\n2,3,100,1\n15,0,7,1\n");
    let machine = repository("tests/machines/omni-path-2.xml");
    let topology = format!("nodes:2:{}", machine.display());
    let text = place.ok(&["eval", "--matrix", "m.csv", "--topology", &topology]);
    assert!(text.contains("rail_busiest                  8192"), "{text}");
    assert!(
        text.contains("node0 hfi1_0                  8192  bytes out, 7 in, 4 tasks"),
        "{text}"
    );
    let json = place.ok(&["eval", "--matrix", "m.csv", "--topology", &topology, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rails"]["busiest"], 8192);
    assert_eq!(json["rails"]["loads"][3]["sent"], 7);
    let plain = place.ok(&["eval", "--matrix", "m.csv", "--topology", "tree:8:2", "--json"]);
    assert!(!plain.contains("rail"), "{plain}");
}
