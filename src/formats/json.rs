//! JSON: the matrix of a record with its kinds of traffic, for scripts and the web.
//!
//! ```json
//! {"schema": 1, "tasks": 2, "rows": "senders", "columns": "receivers",
//!  "traffic": {"p2p": [[0, 1, 4096, 2]], "collective": [], "onesided": []}}
//! ```
//!
//! Each entry is `[sender, receiver, bytes, messages]`, in whole bytes. A file may leave out kinds of traffic.

use super::source::{MAX_TASKS, Source};
use super::{Export, Format, matrix_by_kind, write_error};
use crate::base::error::Result;
use crate::matrix::{CommMatrix, Kind, Traffic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;

/// The format.
pub const FORMAT: Format = Format::new(
    "json",
    "every kind of traffic as [sender, receiver, bytes, messages], for scripts",
)
.read_by(detects, read)
.written_by(write);

const EXPECTED: &str = r#"{"schema": 1, "tasks": 2, "traffic": {"p2p": [[0, 1, 4096, 2]]}}"#;

#[derive(Serialize, Deserialize)]
struct File {
    schema: u32,
    tasks: usize,
    #[serde(default)]
    rows: String,
    #[serde(default)]
    columns: String,
    #[serde(default)]
    key: String,
    #[serde(default)]
    program: String,
    #[serde(default)]
    mpi: String,
    #[serde(default)]
    recorded_at: u64,
    traffic: BTreeMap<String, Vec<(u32, u32, u64, u64)>>,
}

fn detects(source: &Source<'_>) -> bool {
    source.bytes().iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let file: File = serde_json::from_slice(source.bytes()).map_err(|e| {
        let place = format!("{}:{}:{}", source.name(), e.line(), e.column());
        source.error(format!("cannot read the JSON: {e}"), EXPECTED).at(place)
    })?;
    if file.schema != 1 {
        let what = format!("schema {} is not known to this version", file.schema);
        return Err(source.error(what, EXPECTED));
    }
    if file.tasks > MAX_TASKS {
        let what = format!("{} tasks are more than {MAX_TASKS}", file.tasks);
        return Err(source.error(what, EXPECTED));
    }
    let mut entries: [Vec<_>; 3] = Default::default();
    for (name, list) in file.traffic {
        let Some(kind) = Kind::ALL.into_iter().find(|k| k.name() == name) else {
            return Err(source.error(format!("unknown kind of traffic '{name}'"), EXPECTED));
        };
        for (i, j, bytes, messages) in list {
            if i.max(j) as usize >= file.tasks {
                let what = format!("the pair {i}, {j} is not within {} tasks", file.tasks);
                return Err(source.error(what, EXPECTED));
            }
            entries[kind as usize].push((i, j, Traffic { bytes, messages }));
        }
    }
    Ok(matrix_by_kind(file.tasks, entries))
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let record = export.record;
    let matrix = record.matrix.clone().in_whole_bytes();
    let list =
        |kind: &Kind| matrix.layer(*kind).entries().map(|(i, j, t)| (i, j, t.bytes, t.messages));
    let file = File {
        schema: 1,
        tasks: record.matrix.tasks(),
        rows: "senders".into(),
        columns: "receivers".into(),
        key: record.key.clone(),
        program: record.program.clone(),
        mpi: record.mpi.clone(),
        recorded_at: record.recorded_at,
        traffic: export.kinds.iter().map(|k| (k.name().to_string(), list(k).collect())).collect(),
    };
    serde_json::to_writer(&mut *out, &file).map_err(|e| write_error(e.into()))?;
    writeln!(out).map_err(write_error)
}
