//! How fast matrices are read.
//!
//!     cargo bench --bench reading [-- PATTERN [TOPOLOGY]]
//!
//! Writes the pattern in each format to a temporary folder, and reads each file three times: from the file to the
//! matrix. Prints the size of the file, the megabytes per second of the fastest reading (by CPU seconds of all
//! threads, and by wall time), then the seconds to make the affinity graph and to evaluate the given order.

use rankweave::base::file;
use rankweave::formats::{self, Export};
use rankweave::matrix::synthetic::pattern;
use rankweave::matrix::{CommMatrix, Graph, Kind, SparseMatrix, Traffic};
use rankweave::store::{self, Record};
use rankweave::{metrics, topology};
use std::path::Path;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

const FORMATS: [&str; 4] = ["metis", "mtx", "csv", "record"];

/// Seconds of processor time that this process has used.
fn cpu_seconds() -> f64 {
    rankweave::base::clock::cpu_time().as_secs_f64()
}

/// What a call returns, its CPU seconds and its wall time.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64, f64) {
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let answer = call();
    (answer, cpu_seconds() - cpu, wall.elapsed().as_secs_f64())
}

fn write(format: &str, record: &Record, path: &Path) -> Result<(), Failure> {
    if format == "record" {
        std::fs::write(path, store::encode(record)?)?;
        return Ok(());
    }
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    formats::by_name(format)?.write(&Export::new(record, &Kind::ALL), &mut out)?;
    Ok(())
}

fn read(path: &Path) -> Result<CommMatrix, Failure> {
    if store::is_record(path) {
        return Ok(store::read_file(path)?.matrix);
    }
    let bytes = file::read_given(path, u64::MAX, |_| true)?;
    Ok(formats::read("file", &bytes)?)
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let text = words.first().map_or("rgg:262144,shuffle=1", String::as_str);
    let graph = pattern(text)?;
    let machine = words
        .get(1)
        .cloned()
        .unwrap_or_else(|| format!("tree:{}:16@1:10", graph.vertices().div_ceil(16)));
    let topology = topology::parse(&machine)?;
    let cell = |w: u64| Traffic { bytes: w, messages: 1 };
    let arcs = |v: usize| graph.arcs(v).map(move |(t, w)| (v as u32, t, cell(w)));
    let entries: Vec<_> = (0..graph.vertices()).flat_map(arcs).collect();
    let matrix = SparseMatrix::from_entries(graph.vertices(), &entries);
    drop((entries, graph));
    let record = Record::of_matrix("reading", CommMatrix::from_point_to_point(matrix));
    let folder = tempfile::tempdir()?;
    println!("{text} on {machine}\n");
    println!(
        "| format | MB | CPU s | MB per CPU s | MB per s | graph, CPU s | evaluation, CPU s |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for format in FORMATS {
        let path = folder.path().join(format);
        write(format, &record, &path)?;
        let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;
        let (mut cpu, mut wall) = (f64::INFINITY, f64::INFINITY);
        let mut last = None;
        for _ in 0..3 {
            drop(last.take());
            let (matrix, cpu_now, wall_now) = timed(|| read(&path));
            (cpu, wall) = (cpu.min(cpu_now), wall.min(wall_now));
            last = Some(matrix?);
        }
        let Some(matrix) = last.map(|matrix| matrix.into_sum_of(&Kind::ALL)) else { continue };
        let (_, graph_seconds, _) = timed(|| Graph::from_traffic(&matrix));
        let order: Vec<usize> = (0..matrix.tasks()).collect();
        let (evaluation, evaluation_seconds, _) =
            timed(|| metrics::evaluate(&matrix, topology.as_ref(), &order));
        evaluation?;
        println!(
            "| {format} | {megabytes:.0} | {cpu:.2} | {:.0} | {:.0} | {graph_seconds:.2} | {evaluation_seconds:.2} |",
            megabytes / cpu,
            megabytes / wall
        );
        std::fs::remove_file(&path)?;
    }
    Ok(())
}
