//! Files of matrices.

use rankweave::formats::{Export, FORMATS, Source, by_name, read};
use rankweave::matrix::Kind;
use rankweave::store::Record;

/// The reader of a format survives any bytes. What it reads is a valid matrix.
pub fn reader(format: &str, bytes: &[u8]) {
    let format = by_name(format).expect("a known format");
    let source = Source::new("fuzz", bytes);
    let _ = format.detects(&source);
    if let Ok(matrix) = format.read(&source) {
        super::limits::describes_tasks(matrix.tasks());
        assert!(matrix.is_valid());
    }
}

/// Whatever the bytes are taken for, reading them ends in a valid matrix or an error, and what was read can be written
/// in every format of matrices and read again.
pub fn detection(bytes: &[u8]) {
    let Ok(matrix) = read("fuzz", bytes) else { return };
    super::limits::describes_tasks(matrix.tasks());
    assert!(matrix.is_valid());
    // Dense formats of many tasks only cost time here.
    if matrix.tasks() > 64 {
        return;
    }
    let record = Record::of_matrix("fuzz", matrix);
    let export = Export::new(&record, &Kind::ALL);
    for format in FORMATS.iter().filter(|f| f.writes() && f.reads()) {
        let mut out = Vec::new();
        format.write(&export, &mut out).expect("a valid matrix is written");
        let source = Source::new("again", &out);
        let again = format.read(&source).expect("what was written reads back");
        // CSV knows of tasks only from those that talk.
        let silent = format.name == "csv" && again.tasks() < record.matrix.tasks();
        assert!(silent || again.tasks() == record.matrix.tasks(), "{}", format.name);
    }
}
