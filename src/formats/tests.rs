//! The same tests over all formats.

use super::*;
use crate::matrix::Traffic;
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
    }
}

fn written(format: &dyn Format, matrix: &CommMatrix) -> Vec<u8> {
    let record = record(matrix.clone());
    let mut out = Vec::new();
    format.write(&Export::new(&record, &Kind::ALL), &mut out).unwrap();
    out
}

/// What a format keeps of a matrix.
fn kept(format: &dyn Format, matrix: &CommMatrix) -> CommMatrix {
    let sum = matrix.sum();
    let entries: Vec<(u32, u32, Traffic)> = match format.name() {
        "json" => return matrix.clone(),
        "csv" => sum.entries().collect(),
        "metis" | "scotch" => Graph2::halves(matrix),
        _ => sum.entries().map(|(i, j, t)| (i, j, source::counted_once(t.bytes))).collect(),
    };
    CommMatrix::from_point_to_point(SparseMatrix::from_entries(matrix.tasks(), &entries))
}

struct Graph2;

impl Graph2 {
    fn halves(matrix: &CommMatrix) -> Vec<(u32, u32, Traffic)> {
        let graph = matrix.affinity();
        let arcs = (0..graph.vertices())
            .flat_map(|i| graph.arcs(i).map(move |(j, w)| (i as u32, j, w)).collect::<Vec<_>>());
        arcs.map(|(i, j, w)| (i, j, source::counted_once(if i < j { w - w / 2 } else { w / 2 })))
            .collect()
    }
}

fn matrices() -> impl Strategy<Value = CommMatrix> {
    let layer = || prop::collection::vec((0u32..9, 0u32..9, 0u64..1 << 40, 1u64..9), 0..30);
    (1usize..10, layer(), layer(), layer()).prop_map(|(tasks, a, b, c)| {
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

proptest! {
    #[test]
    fn what_is_written_is_detected_and_reads_back(matrix in matrices()) {
        for &format in FORMATS.iter().filter(|f| f.reads() && f.writes()) {
            let bytes = written(format, &matrix);
            let source = Source::new("file", &bytes);
            prop_assert_eq!(detect(&source).map(|f| f.name()), Ok(format.name()));
            prop_assert_eq!(format.read(&source).unwrap(), kept(format, &matrix), "{}", format.name());
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
        for &format in FORMATS.iter().filter(|f| f.reads() && f.writes()) {
            let mut bytes = written(format, &matrix);
            let at = cut.index(bytes.len());
            bytes[at] = byte;
            let _ = format.read(&Source::new("file", &bytes));
            bytes.truncate(at);
            let _ = format.read(&Source::new("file", &bytes));
        }
    }
}

#[test]
fn every_format_is_found_by_its_name_and_does_something() {
    for format in FORMATS {
        assert_eq!(by_name(format.name()).unwrap().name(), format.name());
        assert!(format.reads() || format.writes());
        assert!(format.about().len() < 80);
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

#[test]
fn csv_in_other_dialects() {
    for text in [
        "dst;src;bytes\n1;0;7\n",
        "\u{feff}from,to,weight\r\n0,1,7\r\n",
        "\"src\",\"dst\",\"bytes\",\"note\"\n\"0\",\"1\",\"7\",\"x\"\n",
    ] {
        assert_eq!(read("f", text.as_bytes()).unwrap().sum().get(0, 1), source::counted_once(7));
    }
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
