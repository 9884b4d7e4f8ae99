//! The parts of a fabric that no link connects, and the one of them that is used.
//!
//! A fabric file may have a switch that is not connected yet, or a management network beside the fabric. How such parts
//! are connected is not known, so that one of them is used: the one with most of the hosts that the caller looks for,
//! else the one with most hosts, else the first one. Parts without a host are left out silently.

use crate::topology::HostIndex;

/// The part that is used.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Whether a vertex is in it.
    pub is_in: Vec<bool>,
    /// What is not, in words; `None` if all hosts with a link are.
    pub left_out: Option<String>,
}

/// Names of hosts in a message; more are counted.
const LISTED: usize = 4;

/// The part to use of a fabric. `names` are those of the hosts by vertex, `None` for switches.
pub(super) fn choose(
    names: &[Option<String>],
    links: impl Iterator<Item = (usize, usize)>,
    wanted: &[String],
) -> Chosen {
    let mut parent: Vec<usize> = (0..names.len()).collect();
    let mut linked = vec![false; names.len()];
    for (a, b) in links {
        (linked[a], linked[b]) = (true, true);
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        parent[a.max(b)] = a.min(b);
    }
    let part: Vec<usize> = (0..names.len()).map(|v| root(&mut parent, v)).collect();
    // The hosts of each part, by its first vertex.
    let mut hosts: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    for v in (0..names.len()).filter(|&v| linked[v] && names[v].is_some()) {
        hosts[part[v]].push(v);
    }
    let parts: Vec<usize> = (0..names.len()).filter(|&v| !hosts[v].is_empty()).collect();
    let mut sought = vec![0usize; names.len()];
    if parts.len() > 1 && !wanted.is_empty() {
        let named = (0..names.len()).filter(|&v| linked[v]);
        let index = HostIndex::of_names(named.filter_map(|v| Some((names[v].as_deref()?, v))));
        wanted.iter().filter_map(|name| index.find(name)).for_each(|v| sought[part[v]] += 1);
    }
    let best = parts.iter().copied().rev().max_by_key(|&p| (sought[p], hosts[p].len()));
    let is_in = part.iter().map(|&p| Some(p) == best).collect();
    let others: Vec<usize> = parts.iter().copied().filter(|&p| Some(p) != best).collect();
    let lost: Vec<&str> =
        (others.iter().flat_map(|&p| &hosts[p])).filter_map(|&v| names[v].as_deref()).collect();
    let why =
        if best.is_some_and(|p| sought[p] > 0) { "most nodes of the launch" } else { "most hosts" };
    let left_out = best.filter(|_| !lost.is_empty()).map(|p| {
        let more = lost.len().saturating_sub(LISTED);
        let list = lost[..lost.len() - more].join(", ");
        let list = if more > 0 { format!("{list} and {more} more") } else { list };
        format!(
            "the links of the file form {} separate networks; the one with {why} is used ({}), and the rest is left out \
             ({}: {list})",
            others.len() + 1,
            counted(hosts[p].len()),
            counted(lost.len())
        )
    });
    Chosen { is_in, left_out }
}

fn counted(hosts: usize) -> String {
    format!("{hosts} {}", if hosts == 1 { "host" } else { "hosts" })
}

/// The first vertex of the part of a vertex.
fn root(parent: &mut [usize], mut v: usize) -> usize {
    while parent[v] != v {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    v
}
