//! Whatever the bytes are taken for, reading them ends in a valid matrix or an error, and what was
//! read can be written in every format of matrices and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankweave::formats::{Export, FORMATS, read};
use rankweave::matrix::Kind;
use rankweave::store::{Launch, Record};

fuzz_target!(|bytes: &[u8]| {
    let Ok(matrix) = read("fuzz", bytes) else { return };
    assert!(matrix.is_valid());
    // Dense formats of many tasks only cost time here.
    if matrix.tasks() > 64 {
        return;
    }
    let record = Record {
        key: "fuzz".into(),
        program: String::new(),
        command: Vec::new(),
        mpi: String::new(),
        recorded_at: 0,
        matrix,
        launch: Launch::default(),
        baseline: None,
        unfinished: None,
        identity: String::new(),
        history: Vec::new(),
        constructed: Vec::new(),
    };
    let export = Export::new(&record, &Kind::ALL);
    for format in FORMATS.iter().filter(|f| f.writes() && f.reads()) {
        let mut out = Vec::new();
        format.write(&export, &mut out).expect("a valid matrix is written");
        let source = rankweave::formats::Source::new("again", &out);
        let again = format.read(&source).expect("what was written reads back");
        // CSV knows of tasks only from those that talk.
        let silent = format.name == "csv" && again.tasks() < record.matrix.tasks();
        assert!(silent || again.tasks() == record.matrix.tasks(), "{}", format.name);
    }
});
