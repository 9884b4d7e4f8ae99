//! The same tests over all formats.

use super::*;
use crate::matrix::{Graph, Traffic};
use proptest::prelude::*;

fn record(matrix: CommMatrix) -> Record {
    Record {
        key: "k".into(),
        program: "/opt/app".into(),
        command: vec![],
        mpi: String::new(),
        recorded_at: 0,
        matrix,
        launch: Default::default(),
        baseline: None,
        unfinished: None,
        identity: String::new(),
        history: Vec::new(),
        constructed: Vec::new(),
    }
}

fn written(format: &Format, matrix: &CommMatrix) -> Vec<u8> {
    let record = record(matrix.clone());
    let mut out = Vec::new();
    format.write(&Export::new(&record, &Kind::ALL), &mut out).unwrap();
    out
}

/// What a format keeps of a matrix.
fn kept(format: &Format, matrix: &CommMatrix) -> CommMatrix {
    let sum = matrix.sum();
    let entries: Vec<(u32, u32, Traffic)> = match format.name {
        "json" => return matrix.clone(),
        "csv" => sum.entries().collect(),
        "metis" | "scotch" | "eagermap" => return undirected(matrix),
        _ => sum.entries().map(|(i, j, t)| (i, j, source::counted_once(t.bytes))).collect(),
    };
    // A list of pairs cannot say that there are silent tasks after the last that talks.
    let tasks = match format.name {
        "csv" => sum.entries().map(|(i, j, _)| i.max(j) as usize + 1).max().unwrap_or(0),
        _ => matrix.tasks(),
    };
    CommMatrix::from_point_to_point(SparseMatrix::from_entries(tasks, &entries))
}

/// The matrix with half of the traffic of each pair in each direction.
fn undirected(matrix: &CommMatrix) -> CommMatrix {
    let graph = matrix.affinity();
    let arcs = |i: usize| graph.arcs(i).map(move |(j, w)| (i as u32, j, w)).collect::<Vec<_>>();
    let arcs: Vec<(u32, u32, u64)> = (0..graph.vertices()).flat_map(arcs).collect();
    let halves = arcs.iter().any(|arc| arc.2 % 2 == 1);
    let unit = if halves { 1 } else { 2 };
    let entries: Vec<_> =
        arcs.into_iter().map(|(i, j, w)| (i, j, source::counted_once(w / unit))).collect();
    let layer = SparseMatrix::from_entries(matrix.tasks(), &entries);
    CommMatrix::from_point_to_point(if halves { layer.counted_in_halves() } else { layer })
}

fn matrices() -> impl Strategy<Value = CommMatrix> {
    let layer = || prop::collection::vec((0u32..9, 0u32..9, 0u64..1 << 40, 1u64..9), 0..30);
    // A matrix of one task reads the same in several formats.
    (2usize..10, layer(), layer(), layer()).prop_map(|(tasks, a, b, c)| {
        let layer = |raw: Vec<(u32, u32, u64, u64)>| {
            let entries: Vec<_> = raw
                .into_iter()
                .map(|(i, j, bytes, messages)| (i, j, Traffic { bytes, messages }))
                .collect();
            SparseMatrix::from_entries(tasks, &entries)
        };
        CommMatrix::from_layers([layer(a), layer(b), layer(c)]).unwrap()
    })
}

/// Random traffic with equal bytes in both directions, in halves of bytes: at most 9 tasks.
fn symmetric() -> impl Strategy<Value = CommMatrix> {
    (2usize..10, prop::collection::vec((0u32..9, 0u32..9, 1u64..100), 1..30), any::<bool>())
        .prop_map(|(tasks, raw, only_odd)| {
            let weigh = |w: u64| if only_odd { w | 1 } else { w };
            let graph: Vec<_> = raw.into_iter().map(|(i, j, w)| (i, j, weigh(w))).collect();
            let graph = Graph::from_edges(tasks, &graph);
            let entries: Vec<_> = (0..tasks)
                .flat_map(|i| {
                    graph.arcs(i).map(move |(j, w)| (i as u32, j, source::counted_once(w)))
                })
                .collect();
            let layer = SparseMatrix::from_entries(tasks, &entries).counted_in_halves();
            CommMatrix::from_point_to_point(layer)
        })
}

proptest! {
    /// Formats with and without directions give the same figures for the same traffic, in every metric.
    #[test]
    fn symmetric_traffic_costs_the_same_in_every_format(
        matrix in symmetric(),
        seed in any::<u64>(),
        spec in prop::sample::select(vec![
            "torus:3x3", "mesh:9", "tree:3:3@1:10", "tree:2:3:2@1:3:7", "dragonfly:3x2x2@1:2:3",
            "fattree:2:3:2@2:1", "hypercube:4",
        ]),
    ) {
        let topology = crate::topology::parse(spec).unwrap();
        let mut slots: Vec<usize> = (0..topology.slots()).collect();
        slots.rotate_left(seed as usize % topology.slots());
        let figures = |matrix: &CommMatrix| {
            let sum = matrix.sum();
            crate::metrics::evaluate(&sum, topology.as_ref(), &slots[..sum.tasks()]).unwrap()
        };
        let expected = figures(&matrix);
        let pairs = matrix.sum().pairs() as u64;
        prop_assert!(expected.amc.is_none() || pairs == 0 || expected.mmc > Some(0));
        for name in ["csv", "mtx", "treematch", "metis", "scotch", "eagermap"] {
            let bytes = written(by_name(name).unwrap(), &matrix);
            let read = read("file", &bytes).unwrap();
            prop_assert_eq!(&figures(&read), &expected, "{}", name);
            prop_assert_eq!(read.sum().pairs() as u64, pairs, "{}", name);
            prop_assert_eq!(read.affinity().total_weight(), matrix.affinity().total_weight(), "{}", name);
        }
        // Formats of whole bytes keep the pairs and the total.
        let bytes = written(by_name("json").unwrap(), &matrix);
        let read = read("file", &bytes).unwrap();
        let (got, want) = (figures(&read), &expected);
        prop_assert_eq!((got.hop_bytes, got.total_hops, got.mmc), (want.hop_bytes, want.total_hops, want.mmc));
    }

    #[test]
    fn what_is_written_is_detected_and_reads_back(matrix in matrices()) {
        for format in FORMATS.iter().filter(|f| f.reads() && f.writes()) {
            let bytes = written(format, &matrix);
            let source = Source::new("file", &bytes);
            prop_assert_eq!(detect(&source).map(|f| f.name), Ok(format.name));
            prop_assert_eq!(format.read(&source).unwrap(), kept(format, &matrix), "{}", format.name);
        }
    }

    #[test]
    fn any_text_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in FORMATS {
            let source = Source::new("file", &bytes);
            let _ = format.detects(&source);
            if format.reads() {
                let _ = format.read(&source);
            }
        }
    }

    #[test]
    fn any_numbers_are_survived(text in "[%#]?[ -~]{0,12}\n([0-9]{1,12}[ ,\t]){0,30}[\n0-9 .,EISRC\t]{0,60}") {
        for format in FORMATS.iter().filter(|f| f.reads()) {
            let _ = format.read(&Source::new("file", text.as_bytes()));
        }
    }

    #[test]
    fn damaged_files_are_survived(matrix in matrices(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for format in FORMATS.iter().filter(|f| f.reads() && f.writes()) {
            let mut bytes = written(format, &matrix);
            let at = cut.index(bytes.len());
            bytes[at] = byte;
            let _ = format.read(&Source::new("file", &bytes));
            bytes.truncate(at);
            let _ = format.read(&Source::new("file", &bytes));
        }
    }
}

proptest! {
    /// The quick readers give what the careful ones give. White space that only the careful ones know, in a
    /// comment or at the end, makes the same content go through the careful ones.
    #[test]
    fn quick_and_careful_readers_agree(
        matrix in prop_oneof![matrices(), symmetric()],
        cut in any::<prop::sample::Index>(),
        with in "[0-9 .%#\n\r+x]{0,2}",
    ) {
        for (name, odd) in [("metis", "% \u{e4}\n"), ("mtx", "% \u{e4}\n"), ("csv", "# \u{e4}\n")] {
            let format = by_name(name).unwrap();
            let mut bytes = written(format, &matrix);
            let behind_header = bytes.iter().position(|&b| b == b'\n').unwrap_or(0) + 1;
            let at = behind_header + cut.index(bytes.len() - behind_header + 1);
            bytes.splice(at..at, with.bytes());
            let gap = if bytes.ends_with(b"\n") { "" } else { "\n" };
            let careful = [&bytes[..], gap.as_bytes(), odd.as_bytes()].concat();
            let read = |bytes: &[u8]| {
                format.read(&Source::new("f", bytes)).map_err(|e| e.to_string())
            };
            prop_assert_eq!(read(&bytes), read(&careful), "{} {:?}", name, String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn every_format_is_found_by_its_name_and_does_something() {
    for format in FORMATS {
        assert_eq!(by_name(format.name).unwrap().name, format.name);
        assert!(format.reads() || format.writes());
        assert!(format.about.len() < 80);
    }
    assert!(by_name("xls").err().unwrap().to_string().contains("csv"));
}

#[test]
fn headers_that_promise_too_much_are_refused_at_once() {
    for text in [
        "%%MatrixMarket matrix coordinate integer general\n1000000000000 1000000000000 1\n1 1 1\n",
        "1000000000000 0 1\n",
        "src,dst,bytes\n4000000000,1,1\n",
        "# tasks: 1000000000000\nsrc,dst,bytes\n",
        r#"{"schema": 1, "tasks": 1000000000000, "traffic": {}}"#,
    ] {
        let error = read("big", text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format, "{text}");
        assert!(error.to_string().contains("big"), "{error}");
    }
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    for (text, place, expected) in [
        ("src,dst,bytes,messages\n0,1,5,1\n0,x,5,1\n", "f:3", "lines such as"),
        ("src,dst,bytes,messages\n0,1,5\n", "f:2", "lines such as"),
        ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 3 1\n", "f:3", "from 1"),
        ("%%MatrixMarket matrix coordinate complex general\n", "f:1", "integer general"),
        ("2 1 1\n2 5\n", "f", "neighbour"),
        ("2 1 1\n2 5\n1 6\n", "f", "neighbours from 1"),
        ("{\n\"schema\": 1,\n\"tasks\": x}", "f:3", "schema"),
    ] {
        let error = read("f", text.as_bytes()).unwrap_err();
        assert_eq!(error.place().unwrap().split(':').take(2).collect::<Vec<_>>().join(":"), place);
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(read("f", b"hello world\n").unwrap_err().to_string().contains("mtx"));
}

#[test]
fn a_metis_edge_counts_once_per_pair() {
    let matrix = read("f", b"% ring\n3 2 11\n7 2 10\n7 1 10 3 5\n\n7 2 5\n");
    assert!(matrix.is_err(), "a blank line is a vertex");
    let matrix = read("f", b"% ring\n3 2 11\n7 2 10\n7 1 10 3 5\n7 2 5\n").unwrap();
    assert_eq!(matrix.affinity().weight_between(0, 1), 10);
    assert_eq!(matrix.affinity().total_weight(), 15);
}

/// Both files hold half a byte in each direction; no metric is zero because of the half.
#[test]
fn an_edge_of_weight_one_counts_in_both_directions() {
    let ring = crate::topology::parse("torus:4").unwrap();
    for text in [
        "2 1 1\n2 1\n1 1\n",
        "src,dst,bytes,messages\n0,1,0.5,1\n1,0,0.5,1\n",
        "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 0.5\n",
    ] {
        let matrix = read("f", text.as_bytes()).unwrap().sum();
        let e = crate::metrics::evaluate(&matrix, ring.as_ref(), &[0, 2]).unwrap();
        assert_eq!((e.hop_bytes, e.total_hops, e.mc, e.mmc), (2, 4, Some(0.5), Some(1)), "{text}");
        assert_eq!((e.max_com.real(), e.icv, e.mnrv.real()), (1.0, 1, 0.5), "{text}");
        assert_eq!((e.predicted_time, e.hops_per_byte), (Some(0.5), 2.0), "{text}");
    }
}

#[test]
fn csv_in_other_dialects() {
    for text in [
        "dst;src;bytes\n1;0;7\n",
        "\u{feff}from,to,weight\r\n0,1,7\r\n",
        "Source,Target,Volume\n0,1,7\n",
        "\"src\",\"dst\",\"bytes\",\"note\"\n\"0\",\"1\",\"7\",\"x\"\n",
    ] {
        assert_eq!(read("f", text.as_bytes()).unwrap().sum().get(0, 1), source::counted_once(7));
    }
}

#[test]
fn a_csv_file_with_an_unknown_column_says_which_one_is_missing() {
    let problem = |text: &str| read("f", text.as_bytes()).err().unwrap().to_string();
    let unknown = problem("src,nach,bytes\n0,1,7\n");
    assert!(unknown.contains("no column for the receiver (dst): 'src,nach,bytes'"), "{unknown}");
    assert!(unknown.contains("src,dst,bytes,messages"), "{unknown}");
    assert!(problem("from,to,msgs\n0,1,7\n").contains("no column for the bytes"));
    assert!(problem("from,nach,kilo\n0,1,7\n").contains("none of the known matrix formats"));
}

#[test]
fn a_compressed_file_is_named_so() {
    let problem = |bytes: &[u8]| read("m.gz", bytes).err().unwrap().to_string();
    let gzip = problem(b"\x1f\x8b\x08\0\0");
    assert!(gzip.contains("compressed by gzip (in m.gz); try: unpack it: zcat m.gz | "), "{gzip}");
    assert!(problem(b"\xfd7zXZ\0\0").contains("xzcat"));
    assert!(problem(b"\x28\xb5\x2f\xfd\0").contains("zstdcat"));
    assert!(problem(b"BZh91AY").contains("bzcat"));
}

#[test]
fn mtx_of_every_kind() {
    for (text, cells) in [
        ("%%MatrixMarket matrix coordinate real symmetric\n% c\n2 2 1\n2 1 3.4\n", [0, 3, 3, 0]),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", [0, 1, 0, 0]),
        ("%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n", [1, 3, 2, 4]),
        ("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n", [1, 2, 2, 3]),
    ] {
        let sum = read("f", text.as_bytes()).unwrap().sum();
        let got = [sum.get(0, 0), sum.get(0, 1), sum.get(1, 0), sum.get(1, 1)].map(|t| t.bytes);
        assert_eq!(got, cells, "{text}");
    }
}

#[test]
fn numbers_alone_are_told_apart() {
    for (text, name) in [
        ("0 5 \n7 0 \n", "treematch"),
        ("0 10\n10 0\n", "treematch"),
        ("2 1 1\n2 5\n1 5\n", "metis"),
        ("3 2\n2\n1 3\n2\n", "metis"),
        ("0,5\n5,0\n", "eagermap"),
        ("0\n4 8\n0 010\n2 100 1 1 3\n", "scotch"),
        ("# POINT TO POINT\n", "prof"),
        ("I\t0\t1\t4 bytes\t1 msgs sent\n", "prof"),
    ] {
        assert_eq!(detect(&Source::new("f", text.as_bytes())).unwrap().name, name, "{text}");
    }
}

#[test]
fn the_first_task_of_eagermap_is_on_the_last_line() {
    // Lines from the top: tasks 2, 1, 0.
    let matrix = read("f", b"0,3,0\n5,0,3\n0,5,0\n").unwrap();
    assert_eq!(matrix.affinity().weight_between(0, 1), 5);
    assert_eq!(matrix.affinity().weight_between(2, 1), 3);
    // Three half bytes in each direction.
    assert!(matrix.counts_halves());
    assert_eq!(matrix.sum().get(1, 2), source::counted_once(3));
    assert!(read("f", b"0,5,0\n5,0,3\n0,3,0\n").is_err(), "lines in the wrong order");
}

#[test]
fn profiles_go_to_their_layers() {
    let text = b"# POINT TO POINT\n\
        E\t0\t1\t300 bytes\t3 msgs sent\t0,0,3\n\
        I\t0\t1\t4 bytes\t1 msgs sent\n\
        # OSC\nS\t1\t2\t10 bytes\t1 msgs sent\nR\t1\t0\t20 bytes\t1 msgs sent\n\
        # COLLECTIVES\nC\t0\t2\t4 bytes\t1 msgs sent\n\
        D\tMPI_COMM_WORLD\tprocs: 0,1,2,3\nO2A\t0\t12 bytes\t1 msgs sent\n";
    let m = read("f", text).unwrap();
    let bytes = |kind: Kind, i: usize, j: usize| m.layer(kind).get(i, j).bytes;
    assert_eq!(bytes(Kind::PointToPoint, 0, 1), 300);
    assert_eq!((bytes(Kind::Collective, 0, 1), bytes(Kind::Collective, 0, 2)), (4, 0));
    assert_eq!((bytes(Kind::OneSided, 1, 2), bytes(Kind::OneSided, 0, 1)), (10, 20));
    let calls = read("f", b"C\t0\t2\t4 bytes\t1 msgs sent\n").unwrap();
    assert_eq!(calls.layer(Kind::Collective).get(0, 2).bytes, 4);
    let error = read("f", b"E\t0\t1\t300 bytes\t3 msgs sent\nE\t0\t1\t300\n").unwrap_err();
    assert!(error.to_string().contains("f:2"), "{error}");
}

#[test]
fn scotch_graphs_with_labels_and_weights() {
    let text = b"0\n3 4\n1 111\n10 7 1 5 20\n20 7 2 5 10 6 30\n30 7 1 6 20\n";
    let m = read("f", text).unwrap();
    assert_eq!(m.affinity().weight_between(0, 1), 5);
    assert_eq!(m.affinity().weight_between(1, 2), 6);
    let text = b"0\n2 2\n1 000\n1 2\n1 1\n";
    assert_eq!(read("f", text).unwrap().affinity().weight_between(0, 1), 1);
    for bad in
        ["0\n2 2\n0 010\n1 5 1\n1 6 0\n", "0\n2 2\n0 010\n1 5 7\n1 5 0\n", "0\n2 2\n0 010\n1 5\n"]
    {
        assert!(read("f", bad.as_bytes()).is_err(), "{bad}");
    }
}

/// Six processes on three nodes, filled round robin, ranks 0 and 5 exchanged.
fn launched() -> Record {
    let mut record = record(CommMatrix::empty(6));
    record.launch = crate::store::Launch {
        process_of_task: vec![5, 1, 2, 3, 4, 0],
        placement: crate::store::Placement {
            node_of_process: vec![0, 1, 2, 0, 1, 2],
            node_names: vec!["a".into(), "b-1.site".into(), "c".into()],
            place_of_process: [0, 4, 2, 1, 5, 3].map(|core| vec![0, core]).to_vec(),
            level_names: vec!["node".into(), "package".into(), "core".into()],
            level_costs: vec![100, 10, 2, 1],
            ..Default::default()
        },
        ..Default::default()
    };
    record
}

#[test]
fn orders_for_launchers() {
    let record = launched();
    let text = |name: &str| {
        let mut out = Vec::new();
        by_name(name).unwrap().write(&Export::new(&record, &Kind::ALL), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("|")
    };
    let ranks = "rank 0=c slot=3|rank 1=b-1.site slot=4|rank 2=c slot=2|rank 3=a slot=1|\
                 rank 4=b-1.site slot=5|rank 5=a slot=0";
    assert_eq!(text("rankfile"), ranks);
    assert_eq!(text("prrte"), ranks);
    assert_eq!(text("mpich-rankmap"), "-hosts a,b-1.site,c -rankmap 2,1,2,0,1,0");
    assert_eq!(text("hydra"), "c:1|b-1.site:1|c:1|a:1|b-1.site:1|a:1");
    assert_eq!(text("slurm"), "c|b-1.site|c|a|b-1.site|a");
    assert_eq!(text("cray"), "5,3,1,4,2,0");
    assert_eq!(text("scotch-map").lines().next(), Some("6|0\t5|1\t1|2\t2|3\t3|4\t4|5\t0"));
}

#[test]
fn orders_need_a_launch() {
    let record = record(CommMatrix::empty(2));
    for format in FORMATS.iter().filter(|f| f.places_ranks && f.name != "scotch-map") {
        let error = format.write(&Export::new(&record, &Kind::ALL), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("where its processes"), "{}: {error}", format.name);
    }
    let mut hostile = launched();
    hostile.launch.placement.node_names[0] = "a\nrank 0=b".into();
    let export = Export::new(&hostile, &Kind::ALL);
    assert!(by_name("slurm").unwrap().write(&export, &mut Vec::new()).is_err());
}

#[test]
fn unbound_processes_are_numbered_on_their_nodes() {
    let mut record = launched();
    record.launch.placement.place_of_process.clear();
    let mut out = Vec::new();
    by_name("rankfile").unwrap().write(&Export::new(&record, &Kind::ALL), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("numbered from 0") && text.contains("rank 0=c slot=1\n"), "{text}");
}

#[test]
fn targets_of_regular_launches() {
    let mut record = launched();
    record.launch.placement.place_of_process.clear();
    record.launch.placement.node_of_process = vec![0, 0, 1, 1, 2, 2];
    record.launch.placement.level_costs = vec![100];
    record.launch.placement.level_names.truncate(1);
    let mut out = Vec::new();
    by_name("scotch-tgt").unwrap().write(&Export::new(&record, &Kind::ALL), &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "tleaf 2 3 100 2 1\n");
}
