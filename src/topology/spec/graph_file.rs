//! A network in METIS' graph format: any network, hop distances.
//!
//! A header `vertices edges [fmt [ncon]]` is followed by one line for each vertex: `[size] [weights…]
//! neighbour [bandwidth] …`. Neighbours count from 1. Lines that start with `%` are comments. With
//! vertex weights, the vertices of weight 0 are switches and the others are slots; without them, all are
//! slots. Slots are numbered in the order of the file. Edge weights are bandwidths.

use super::{MAX_SLOTS, bad, in_file, in_line, read_text};
use crate::Result;
use crate::base::nouns::{are, counted};
use crate::topology::{NetworkGraph, Topology};

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path)
}

pub(super) fn of_text(text: &str, path: &str) -> Result<Box<dyn Topology>> {
    let network = parse(text, format!("graph:{path}"));
    Ok(Box::new(network.map_err(|e| in_file(e, path))?))
}

pub(super) fn parse(text: &str, label: String) -> Result<NetworkGraph> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(k, line)| (k + 1, line.trim()))
        .filter(|(_, line)| !line.starts_with('%'));
    let (at, header) =
        lines.find(|(_, line)| !line.is_empty()).ok_or_else(|| in_line(1, "the graph is empty"))?;
    let header: Vec<&str> = header.split_whitespace().collect();
    let field = |k: usize| header.get(k).and_then(|word| word.parse::<usize>().ok());
    let (Some(vertices), Some(edges)) = (field(0), field(1)) else {
        return Err(in_line(at, "the header is not `vertices edges [format [weights]]`"));
    };
    if vertices == 0 || vertices > MAX_SLOTS {
        return Err(in_line(at, format!("{vertices} vertices, not 1 to {MAX_SLOTS}")));
    }
    let format = header.get(2).copied().unwrap_or("0");
    let flag = |place: usize| format.chars().rev().nth(place).is_some_and(|c| c == '1');
    if format.len() > 3 || !format.chars().all(|c| c == '0' || c == '1') {
        return Err(in_line(at, format!("the format '{format}' is not three digits 0 or 1")));
    }
    let (edge_weights, vertex_weights, sizes) = (flag(0), flag(1), flag(2));
    let weights = if vertex_weights { field(3).unwrap_or(1) } else { 0 };
    let skipped = usize::from(sizes) + weights;

    let mut links = Vec::new();
    let mut is_slot = Vec::with_capacity(vertices.min(1 << 20));
    let mut arcs = 0usize;
    for (at, line) in lines.by_ref() {
        if is_slot.len() == vertices {
            match line.is_empty() {
                true => continue,
                false => {
                    return Err(in_line(at, format!("more than {}", counted(vertices, "vertex"))));
                }
            }
        }
        let vertex = is_slot.len() as u32;
        let mut words = line.split_whitespace().map(|word| {
            let number = word.parse::<f64>().ok().filter(|x| *x >= 0.0 && x.is_finite());
            number.ok_or_else(|| in_line(at, format!("'{word}' is not a number from 0")))
        });
        let mut heaviest = if weights == 0 { 1.0 } else { 0.0f64 };
        for k in 0..skipped {
            let number =
                words.next().ok_or_else(|| in_line(at, "vertex weights are missing"))??;
            if k >= usize::from(sizes) {
                heaviest = heaviest.max(number);
            }
        }
        is_slot.push(heaviest > 0.0);
        while let Some(other) = words.next() {
            let other = other?;
            if other < 1.0 || other > vertices as f64 || other.fract() != 0.0 {
                return Err(in_line(at, format!("the neighbour {other} is not 1 to {vertices}")));
            }
            let bandwidth = match edge_weights {
                true => words.next().ok_or_else(|| in_line(at, "an edge weight is missing"))??,
                false => 1.0,
            };
            arcs += 1;
            links.push((vertex, other as u32 - 1, bandwidth));
        }
    }
    if is_slot.len() != vertices {
        return Err(bad(format!(
            "the graph ends after {} of {}",
            is_slot.len(),
            counted(vertices, "vertex")
        )));
    }
    if arcs != 2 * edges {
        let (listed, are) = (counted(arcs, "neighbour"), are(arcs));
        let wanted = format!("twice the {} of the header", counted(edges, "edge"));
        return Err(bad(format!("{listed} {are} listed, not {wanted}")));
    }
    build(&is_slot, &links, label)
}

/// Renumbers vertices so that slots come first, and keeps each link once.
fn build(is_slot: &[bool], links: &[(u32, u32, f64)], label: String) -> Result<NetworkGraph> {
    let slots = is_slot.iter().filter(|&&s| s).count();
    let (mut slot, mut switch) = (0.., slots as u32..);
    let next = |&is_slot: &bool| if is_slot { slot.next() } else { switch.next() };
    let number: Vec<u32> = is_slot.iter().filter_map(next).collect();
    let mut once: Vec<(u32, u32, f64)> = Vec::with_capacity(links.len() / 2);
    let mut directions = 0i64;
    for &(a, b, bandwidth) in links {
        if a < b {
            once.push((number[a as usize], number[b as usize], bandwidth));
        }
        directions += i64::from(a < b) - i64::from(a > b);
    }
    if directions != 0 {
        return Err(bad("not every edge is listed at both of its vertices"));
    }
    NetworkGraph::new(slots, is_slot.len(), &once, label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_graphs_have_a_slot_at_every_vertex() {
        let ring = parse("% a ring\n4 4\n2 4\n1 3\n2 4\n3 1\n", String::new()).unwrap();
        assert_eq!((ring.slots(), ring.distance(0, 2), ring.distance(0, 3)), (4, 2, 1));
    }

    #[test]
    fn weight_zero_is_a_switch_and_edges_have_bandwidth() {
        let star = parse("3 2 011\n1 2 4\n0 1 4 3 8\n1 2 8\n", String::new()).unwrap();
        assert_eq!((star.slots(), star.distance(0, 1)), (2, 2));
        let network = star.network().unwrap();
        let mut seen = Vec::new();
        network.route(0, 1, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [4.0, 8.0]);
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("", "empty"),
            ("x y", "header"),
            ("0 0", "0 vertices"),
            ("2 1\n2\n", "ends after 1"),
            ("2 1\n2\n1\n1\n", "more than 2"),
            ("2 1\n3\n1\n", "neighbour 3"),
            ("2 1\n2 2\n\n", "listed at both"),
            ("2 2\n2\n1\n", "twice the 2"),
            ("2 1 001\n2\n1 1\n", "edge weight is missing"),
            ("2 1 7\n2\n1\n", "format '7'"),
            ("2 0\n\n\n", "cannot be reached"),
        ] {
            let error = parse(text, String::new()).unwrap_err().to_string();
            assert!(error.contains(what), "{text:?}: {error}");
        }
    }
}
