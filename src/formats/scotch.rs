//! Files of Scotch. Source graphs (`.grf`) are read and written; mappings (`.map`) and target architectures
//! (`.tgt`) are written.
//!
//! A graph is undirected. The weight of an edge is the traffic of the pair in both directions. A
//! reader gives half of it to each direction (`Source::undirected`). Vertex weights are skipped. Weights are
//! not scaled, so builds of Scotch with 32-bit numbers refuse weights that are too large for them.

use super::source::{Line, MAX_TASKS, Source, short};
use super::{Export, Format, rank_orders, write_lines};
use crate::base::error::Result;
use crate::base::nouns::counted;
use crate::matrix::{CommMatrix, Graph};
use std::collections::HashMap;
use std::io::Write;

/// Source graphs.
pub const GRAPH: Format = Format::new("scotch", "undirected Scotch source graph (.grf)")
    .read_by(detects, read)
    .written_by(write);
/// Mappings.
pub const MAPPING: Format =
    Format::new("scotch-map", "Scotch mapping (.map): the process of each task")
        .placing_ranks(mapping);
/// Target architectures.
pub const TARGET: Format = Format::new(
    "scotch-tgt",
    "Scotch target architecture (.tgt) of the recorded launch, if it is regular",
)
.written_by(target);

const HEADER: &str = "'0', then 'vertices arcs', then 'base flags' such as '0 010'";
const VERTEX: &str = "[label] [weight] degree, then ([weight] neighbour) for each arc";

/// The words of a file, each with its line.
struct Words<'a> {
    source: Source<'a>,
    words: Box<dyn Iterator<Item = (Line<'a>, &'a str)> + 'a>,
}

impl<'a> Words<'a> {
    fn new(source: &Source<'a>) -> Self {
        let lines = source.content_lines("#");
        let words =
            lines.flat_map(|line| line.text.split_ascii_whitespace().map(move |w| (line, w)));
        Words { source: *source, words: Box::new(words) }
    }

    fn word(&mut self, what: &str, expected: &str) -> Result<(Line<'a>, &'a str)> {
        self.words
            .next()
            .ok_or_else(|| self.source.error(format!("the file ends before {what}"), expected))
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str, expected: &str) -> Result<T> {
        let (line, word) = self.word(what, expected)?;
        line.number(word, what, expected)
    }
}

fn detects(source: &Source<'_>) -> bool {
    let mut lines = source.content_lines("#");
    let mut fields = || -> Vec<&str> {
        lines.next().map_or(Vec::new(), |l| l.text.split_ascii_whitespace().take(4).collect())
    };
    let (version, sizes, flags) = (fields(), fields(), fields());
    version == ["0"]
        && sizes.len() == 2
        && matches!(flags.as_slice(), [_, f] if f.len() == 3 && f.bytes().all(|b| b == b'0' || b == b'1'))
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    let mut words = Words::new(source);
    let version: u64 = words.number("the version", HEADER)?;
    if version != 0 {
        return Err(source.error(format!("version {version} of the format"), HEADER));
    }
    let tasks: usize = words.number("the number of vertices", HEADER)?;
    let arcs: u64 = words.number("the number of arcs", HEADER)?;
    if tasks > MAX_TASKS {
        let what = format!("{tasks} vertices are more than {MAX_TASKS} tasks");
        return Err(source.error(what, HEADER));
    }
    let base: u64 = words.number("the base", HEADER)?;
    let (line, flags) = words.word("the flags", HEADER)?;
    let [labels, edge_weights, vertex_weights] = match flags.as_bytes() {
        [a, b, c] if flags.bytes().all(|f| f == b'0' || f == b'1') => {
            [*a == b'1', *b == b'1', *c == b'1']
        }
        _ => return Err(line.error(format!("odd flags '{}'", short(flags)), HEADER)),
    };
    let mut label_of: HashMap<u64, u32> = HashMap::new();
    // An arc may name a label that comes later in the file, so the labels are looked up after reading.
    let mut ends = Vec::new();
    for vertex in 0..tasks as u32 {
        if labels {
            label_of.insert(words.number("a label", VERTEX)?, vertex);
        }
        if vertex_weights {
            words.number::<f64>("the weight of a vertex", VERTEX)?;
        }
        let degree: u64 = words.number("the degree of a vertex", VERTEX)?;
        for _ in 0..degree {
            let weight = match edge_weights {
                true => {
                    let (line, word) = words.word("the weight of an arc", VERTEX)?;
                    line.weight(word, VERTEX)?
                }
                false => 1,
            };
            let (line, word) = words.word("the end of an arc", VERTEX)?;
            let end: u64 = line.number(word, "the end of an arc", VERTEX)?;
            ends.push((vertex, end, weight, line));
        }
    }
    if let Some((line, word)) = words.words.next() {
        return Err(line.error(format!("'{}' after the last vertex", short(word)), HEADER));
    }
    if ends.len() as u64 != arcs {
        let what =
            format!("the file has {}, but its header says {arcs}", counted(ends.len(), "arc"));
        return Err(source.error(what, HEADER));
    }
    let mut entries = Vec::with_capacity(ends.len());
    for (i, end, weight, line) in ends {
        let j = match labels {
            true => label_of.get(&end).copied(),
            false => end.checked_sub(base).filter(|&j| j < tasks as u64).map(|j| j as u32),
        };
        let Some(j) = j.filter(|&j| j != i) else {
            let what = format!("an arc ends at {end}, which is not another vertex of the graph");
            return Err(line.error(what, VERTEX));
        };
        entries.push((i, j, weight));
    }
    source.undirected(tasks, entries, VERTEX)
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let graph = Graph::from_traffic(&export.matrix);
    let head = format!("0\n{} {}\n0 010", graph.vertices(), 2 * graph.edges());
    let row = |vertex| {
        let arcs: String = graph.arcs(vertex).map(|(u, w)| format!(" {w} {u}")).collect();
        format!("{}{arcs}", graph.degree(vertex))
    };
    write_lines(out, std::iter::once(head).chain((0..graph.vertices()).map(row)))
}

fn mapping(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let processes = &export.process_of_task;
    let rows = processes.iter().enumerate().map(|(task, process)| format!("{task}\t{process}"));
    write_lines(out, std::iter::once(processes.len().to_string()).chain(rows))
}

fn target(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let tree = rank_orders::tree(export.record)?;
    let arity = tree.arity().ok_or_else(|| {
        let what = "the processes of the launch do not form a regular tree";
        rank_orders::infeasible(export.record, what)
            .advise("make a launch with as many processes on every node, or write 'deco 0' by hand")
    })?;
    // A level without branches does not add to any distance.
    let levels: Vec<String> = (0..arity.len())
        .filter(|&l| arity[l] > 1)
        .map(|l| format!("{} {}", arity[l], tree.cost(l)))
        .collect();
    write_lines(out, [format!("tleaf {} {}", levels.len(), levels.join(" "))])
}
