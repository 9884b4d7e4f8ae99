//! The parts of a fabric that no link connects, and the one of them that is used.
//!
//! A fabric file may have a switch that is not connected yet, or a management network beside the fabric. How such parts
//! are connected is not known, so that one of them is used: the one with most of the hosts that the caller looks for,
//! else the one with most hosts, else the first one. Parts without a host are left out silently.

use crate::base::nouns::counted;
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
            counted(hosts[p].len(), "host"),
            counted(lost.len(), "host")
        )
    });
    Chosen { is_in, left_out }
}

/// The first vertex of the part of a vertex.
fn root(parent: &mut [usize], mut v: usize) -> usize {
    while parent[v] != v {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts `n0` to `n9`, one switch for each of them, and links between switches.
    fn fabric(cables: &[(usize, usize)]) -> (Vec<Option<String>>, Vec<(usize, usize)>) {
        let names = (0..20).map(|v| (v < 10).then(|| format!("n{v}"))).collect();
        let links = (0..10).map(|v| (v, v + 10));
        (names, links.chain(cables.iter().map(|&(a, b)| (a + 10, b + 10))).collect())
    }

    proptest::proptest! {
        /// The part that is used is connected to no other vertex, and no part has more of the wanted hosts.
        #[test]
        fn one_whole_part_with_most_wanted_hosts_is_used(
            cables in proptest::collection::vec((0usize..10, 0usize..10), 0..12),
            wanted in proptest::collection::vec(0usize..12, 0..6),
        ) {
            let (names, links) = fabric(&cables);
            let wanted: Vec<String> = wanted.iter().map(|k| format!("n{k}.site.org")).collect();
            let chosen = choose(&names, links.iter().copied(), &wanted);
            proptest::prop_assert!(links.iter().all(|&(a, b)| chosen.is_in[a] == chosen.is_in[b]));
            let used = (0..10).filter(|&v| chosen.is_in[v]).count();
            proptest::prop_assert!(used > 0);
            proptest::prop_assert_eq!(chosen.left_out.is_some(), used < 10);
            let sought = |inside: &dyn Fn(usize) -> bool| {
                let is_there = |v: usize| inside(v) && v < 10;
                let found = |name: &&String| (0..10).any(|v| is_there(v) && **name == format!("n{v}.site.org"));
                wanted.iter().filter(found).count()
            };
            let own = sought(&|v| chosen.is_in[v]);
            // Any other part, found by another search: all that one of its hosts reaches.
            for begin in (0..10).filter(|&v| !chosen.is_in[v]) {
                let mut reached = [false; 20];
                reached[begin] = true;
                for _ in 0..20 {
                    for &(a, b) in &links {
                        let either = reached[a] || reached[b];
                        (reached[a], reached[b]) = (either, either);
                    }
                }
                let other = sought(&|v| reached[v]);
                let hosts = (0..10).filter(|&v| reached[v]).count();
                proptest::prop_assert!((other, hosts) <= (own, used));
            }
        }
    }
}
