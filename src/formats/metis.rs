//! METIS graph files (`.graph`), which METIS, KaHIP, KaMinPar, VieM and mt-kahypar read.
//!
//! The graph is undirected. The header is `vertices edges [format [constraints]]`. After it, line i
//! lists the neighbours of vertex i. Vertices count from 1. Each edge is listed at both its ends.
//! The weight of an edge is the traffic of the pair in both directions. A reader gives half
//! of it to each direction (`Source::undirected`). Vertex weights and sizes are skipped. Files are written with
//! edge weights; a pair that exchanged only empty messages has no edge.

use super::cursor::Cursor;
use super::pieces;
use super::source::{MAX_TASKS, Source, Weighted, counted_once};
use super::{Export, Format, write_lines};
use crate::base::error::Result;
use crate::base::nouns::counted;
use crate::matrix::{CommMatrix, Graph, SparseMatrix};
use std::io::Write;

/// The format.
pub const FORMAT: Format =
    Format::new("metis", "undirected METIS graph for KaHIP, VieM, KaMinPar, METIS")
        .read_by(detects, read)
        .written_by(write);

const HEADER: &str = "'vertices edges [format [constraints]]', such as '4 5 1'";
const ROW: &str = "pairs 'neighbour weight' (or neighbours alone), neighbours from 1";

/// The content of a header: the number of vertices, the number of edges, whether edges have weights, and
/// how many numbers at the beginning of each row are skipped (the size and the weights of the vertex).
/// `None` if the text is not a header.
fn header(text: &str) -> Option<(u64, u64, bool, usize)> {
    let mut fields = text.split_whitespace();
    let vertices = fields.next()?.parse().ok()?;
    let edges = fields.next()?.parse().ok()?;
    let format = fields.next().unwrap_or("0");
    let constraints = match fields.next() {
        None => None,
        Some(number) => Some(number.parse::<usize>().ok()?),
    };
    if fields.next().is_some()
        || format.len() > 3
        || !format.bytes().all(|b| b == b'0' || b == b'1')
    {
        return None;
    }
    let flag = |from_end: usize| format.bytes().rev().nth(from_end) == Some(b'1');
    let weights = if flag(1) { constraints.unwrap_or(1) } else { 0 };
    Some((vertices, edges, flag(0), usize::from(flag(2)).saturating_add(weights)))
}

fn detects(source: &Source<'_>) -> bool {
    source.content_lines("%").next().is_some_and(|line| header(line.text).is_some())
}

fn read(source: &Source<'_>) -> Result<CommMatrix> {
    // Blank lines count: an isolated vertex has one.
    let mut lines = source.lines().filter(|line| !line.text.trim_start().starts_with('%'));
    let Some(first) = lines.by_ref().find(|line| !line.text.trim().is_empty()) else {
        return Err(source.error("the file is empty", HEADER));
    };
    let Some((vertices, edges, weighted, skipped)) = header(first.text) else {
        return Err(first.error("this is not the header of a METIS graph", HEADER));
    };
    if vertices > MAX_TASKS as u64 {
        let what = format!("{vertices} vertices are more than {MAX_TASKS} tasks");
        return Err(first.error(what, HEADER));
    }
    let tasks = vertices as usize;
    if let Some(matrix) = plain(first.rest(), (tasks, edges, weighted, skipped)) {
        return Ok(matrix);
    }
    let mut arcs: Vec<Weighted> = Vec::new();
    for vertex in 0..tasks {
        let Some(line) = lines.next() else {
            let what = format!("the file ends after {vertex} of {}", counted(tasks, "vertex"));
            return Err(source.error(what, ROW));
        };
        let mut fields = line.text.split_whitespace();
        if skipped > 0 && fields.by_ref().take(skipped).count() < skipped {
            return Err(line.error("the weights of the vertex are missing", ROW));
        }
        while let Some(field) = fields.next() {
            let neighbour: usize = line.number(field, "a neighbour", ROW)?;
            if neighbour == 0 || neighbour > tasks {
                let what = format!("neighbour {neighbour} is not within 1 to {tasks}");
                return Err(line.error(what, ROW));
            }
            let weight = match weighted {
                false => 1,
                true => match fields.next() {
                    Some(weight) => line.weight(weight, ROW)?,
                    None => return Err(line.error("the last edge has no weight", ROW)),
                },
            };
            if neighbour == vertex + 1 {
                return Err(line.error("an edge from a vertex to itself", ROW));
            }
            arcs.push((vertex as u32, neighbour as u32 - 1, weight));
        }
    }
    if let Some(line) = lines.find(|line| !line.text.trim().is_empty()) {
        return Err(line.error(format!("a line after the last vertex ({tasks})"), HEADER));
    }
    if arcs.len() as u64 != edges.saturating_mul(2) {
        let what = format!(
            "{} for {}; every edge belongs into two lines",
            counted(arcs.len(), "entry"),
            counted(edges, "edge")
        );
        return Err(source.error(what, HEADER));
    }
    source.undirected(tasks, arcs, ROW)
}

/// Vertices, edges, whether edges have weights, and how many numbers of each row are skipped.
type Sizes = (usize, u64, bool, usize);

/// The rows in a piece of a file.
#[derive(Default)]
struct PieceOfRows {
    /// The number of neighbours in each row.
    lengths: Vec<u32>,
    /// Neighbours from 0, row after row.
    neighbours: Vec<u32>,
    weights: Vec<u64>,
}

/// The matrix of a graph whose lines are all plain and list every edge at both its ends; `None` if the careful
/// reader is needed, for a mistake or for anything unusual.
fn plain(text: &[u8], sizes: Sizes) -> Option<CommMatrix> {
    let (tasks, edges, ..) = sizes;
    let pieces = pieces::parsed(text, |piece| plain_rows(piece, sizes))?;
    let count: usize = pieces.iter().map(|piece| piece.neighbours.len()).sum();
    // A header can claim more rows than the file has: nothing is allocated for those.
    let rows: usize = pieces.iter().map(|piece| piece.lengths.len()).sum();
    if count as u64 != edges.saturating_mul(2) || rows < tasks {
        return None;
    }
    let mut lengths = pieces.iter().flat_map(|piece| &piece.lengths);
    let mut offsets = Vec::with_capacity(tasks + 1);
    let mut end = 0usize;
    offsets.push(0);
    for _ in 0..tasks {
        end += *lengths.next()? as usize;
        offsets.push(end);
    }
    if lengths.any(|&length| length > 0) {
        return None;
    }
    let halves = pieces.iter().flat_map(|piece| &piece.weights).any(|w| w % 2 == 1);
    let mut columns = Vec::with_capacity(count);
    let mut cells = Vec::with_capacity(count);
    for piece in pieces {
        columns.extend(piece.neighbours);
        let one_way = |w| counted_once(if halves { w } else { w / 2 });
        cells.extend(piece.weights.into_iter().map(one_way));
    }
    let layer = SparseMatrix::from_rows(offsets, columns, cells)?;
    let sound = layer.is_symmetric() && !layer.has_diagonal();
    let layer = if halves { layer.counted_in_halves() } else { layer };
    sound.then(|| CommMatrix::from_point_to_point(layer))
}

/// The rows in a piece of a file.
fn plain_rows(piece: &[u8], (tasks, _, weighted, skipped): Sizes) -> Option<PieceOfRows> {
    let mut rows = PieceOfRows::default();
    let mut cursor = Cursor::new(piece);
    while !cursor.is_done() {
        if cursor.meets(b'%') {
            cursor.skip_line()?;
            continue;
        }
        for _ in 0..skipped {
            cursor.number()?;
        }
        let before = rows.neighbours.len();
        while !cursor.line_end() {
            let neighbour = cursor.number()?;
            let weight = if weighted { cursor.amount()?.rounded() } else { 1 };
            if neighbour == 0 || neighbour > tasks as u64 || weight == 0 {
                return None;
            }
            rows.neighbours.push(neighbour as u32 - 1);
            rows.weights.push(weight);
        }
        rows.lengths.push(u32::try_from(rows.neighbours.len() - before).ok()?);
    }
    Some(rows)
}

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<()> {
    let graph = Graph::from_traffic(&export.matrix);
    let head = format!("{} {} 1", graph.vertices(), graph.edges());
    let row = |vertex| {
        let arcs = graph.arcs(vertex).map(|(u, w)| format!("{} {w}", u + 1));
        arcs.collect::<Vec<_>>().join(" ")
    };
    write_lines(out, std::iter::once(head).chain((0..graph.vertices()).map(row)))
}
