//! Topologies whose description is one line: trees, grids, dragonflies, fat trees.

use super::{MAX_SLOTS, bounded, halves, usage};
use crate::Result;
use crate::base::nouns::counted;
use crate::topology::network::{BANDWIDTHS, is_bandwidth};
use crate::topology::{Dragonfly, Grid, Topology, Tree};

/// Whole numbers from 1 separated by `separator`.
pub(super) fn numbers(text: &str, separator: char) -> Result<Vec<usize>> {
    let numbers = text
        .split(separator)
        .map(|word| match word.trim().parse::<usize>() {
            Ok(0) | Err(_) => Err(usage(format!("'{}' is not a whole number from 1", word.trim()))),
            Ok(number) => Ok(number),
        })
        .collect::<Result<Vec<usize>>>()?;
    if bounded(&numbers).is_none() {
        return Err(usage(format!("'{text}' asks for more than {MAX_SLOTS} slots")));
    }
    Ok(numbers)
}

/// Positive numbers separated by `:`.
fn bandwidths(text: &str) -> Result<Vec<f64>> {
    text.split(':')
        .map(|word| match word.trim().parse::<f64>() {
            Ok(number) if is_bandwidth(number) => Ok(number),
            _ => Err(usage(format!("'{}' is not {BANDWIDTHS}", word.trim()))),
        })
        .collect()
}

/// `2:16:32`, `2:16:32@1:10:100` or `4:8:8/1:10:100`: from the leaves up.
pub(super) fn tree(text: &str) -> Result<Box<dyn Topology>> {
    let (arity, costs) = halves(text, ['@', '/']);
    let mut arity = numbers(arity, ':')?;
    let mut costs = match costs {
        None => (1..=arity.len() as u64).map(|l| 2 * l).collect(),
        Some(costs) => costs
            .split(':')
            .map(|word| match word.trim().parse::<u64>() {
                Ok(0) => Err(usage("distance 0: two slots are never at the same place")),
                Ok(cost) if cost <= u64::from(u32::MAX) => Ok(cost),
                _ => {
                    let (word, most) = (word.trim(), u32::MAX);
                    Err(usage(format!("'{word}' is not a distance (a whole number up to {most})")))
                }
            })
            .collect::<Result<Vec<u64>>>()?,
    };
    if costs.len() != arity.len() {
        return Err(usage(format!(
            "{} for {}",
            counted(costs.len(), "distance"),
            counted(arity.len(), "level")
        )));
    }
    if costs.windows(2).any(|w| w[0] > w[1]) {
        return Err(usage("distances must not decrease from the leaves up"));
    }
    arity.reverse();
    costs.reverse();
    let tree = Tree::regular(&arity, &costs).ok_or_else(|| usage("not a tree"))?;
    Ok(Box::new(tree))
}

/// Why there is no grid of so many dimensions, with as many slots as were asked for.
pub(super) fn too_large(dimensions: usize) -> String {
    let most = Grid::MAX_COORDINATES / dimensions;
    format!("a grid of {dimensions} dimensions has at most {most} slots")
}

/// `AxBxC` and after `@` the bandwidth of each dimension.
fn grid(text: &str, make: fn(&[usize]) -> Option<Grid>) -> Result<Box<dyn Topology>> {
    let (dims, bandwidth) = halves(text, ['@'; 2]);
    let dims = numbers(dims, 'x')?;
    if dims.len() > 32 {
        return Err(usage(format!("{} dimensions, more than 32", dims.len())));
    }
    let mut grid = make(&dims).ok_or_else(|| usage(too_large(dims.len())))?;
    if let Some(bandwidth) = bandwidth {
        let bandwidth = bandwidths(bandwidth)?;
        let (given, wanted) = (bandwidth.len(), dims.len());
        grid = grid.with_bandwidths(&bandwidth).ok_or_else(|| {
            let (given, wanted) = (counted(given, "bandwidth"), counted(wanted, "dimension"));
            usage(format!("{given} for {wanted}"))
        })?;
    }
    Ok(Box::new(grid))
}

pub(super) fn torus(text: &str) -> Result<Box<dyn Topology>> {
    grid(text, |dims| {
        let shape: Vec<String> = dims.iter().map(usize::to_string).collect();
        Some(Grid::torus(dims)?.with_label(format!("torus:{}", shape.join("x"))))
    })
}

pub(super) fn mesh(text: &str) -> Result<Box<dyn Topology>> {
    grid(text, Grid::mesh)
}

pub(super) fn hypercube(text: &str) -> Result<Box<dyn Topology>> {
    let most = MAX_SLOTS.ilog2();
    match numbers(text, ':')?[..] {
        [n] if n <= most as usize => {
            Ok(Box::new(Grid::hypercube(n).ok_or_else(|| usage(too_large(n)))?))
        }
        _ => Err(usage(format!("'{text}' is not one number of dimensions up to {most}"))),
    }
}

/// `GROUPSxROUTERSxHOSTS` and after `@` the bandwidth of host, local and global links.
pub(super) fn dragonfly(text: &str) -> Result<Box<dyn Topology>> {
    let (shape, bandwidth) = halves(text, ['@'; 2]);
    let bandwidth = bandwidth.map_or(Ok(vec![1.0; 3]), bandwidths)?;
    let shape = numbers(shape, 'x')?;
    let ([groups, routers, hosts], [host, local, global]) = (&shape[..], &bandwidth[..]) else {
        return Err(usage(
            "a dragonfly has three numbers: groups, routers in a group, hosts at a router; three \
             bandwidths can follow after '@': those of host, local and global links",
        ));
    };
    let dragonfly = Dragonfly::new(*groups, *routers, *hosts)
        .and_then(|d| d.with_bandwidths([*host, *local, *global]))
        .ok_or_else(|| usage("not a dragonfly"))?;
    Ok(Box::new(dragonfly))
}

/// `HOSTS:LEAVES:PODS…` from the leaves up, after `@` the oversubscription at each switch level
/// from the leaf switches up; or `k=PORTS`, the three-level fat tree of switches with that many
/// ports (Al-Fares, Loukissas and Vahdat 2008: k pods of k/2 leaf switches with k/2 hosts).
pub(super) fn fat_tree(text: &str) -> Result<Box<dyn Topology>> {
    let (shape, taper) = halves(text, ['@'; 2]);
    let mut arity = match shape.trim().strip_prefix("k=") {
        Some(ports) => match numbers(ports, ':')?[..] {
            [k] if k % 2 == 0 && k <= 812 => vec![k / 2, k / 2, k],
            _ => return Err(usage("the number of ports of a switch is even, up to 812")),
        },
        None => numbers(shape, ':')?,
    };
    let uplinks = arity.len() - 1;
    let taper = taper.map_or(Ok(vec![1.0; uplinks]), bandwidths)?;
    if taper.len() != uplinks {
        let given = counted(taper.len(), "oversubscription");
        let uplinks = counted(uplinks, "level");
        return Err(usage(format!("{given} for {uplinks} of uplinks")));
    }
    // A host has one link of bandwidth 1; the uplinks of a switch carry what its hosts can send,
    // divided by the oversubscription of all levels up to it.
    let mut bandwidth = vec![1.0];
    for (&hosts, &over) in arity.iter().zip(&taper) {
        bandwidth.push(bandwidth[bandwidth.len() - 1] * hosts as f64 / over);
    }
    let mut costs: Vec<u64> = (1..=arity.len() as u64).map(|l| 2 * l).collect();
    arity.reverse();
    costs.reverse();
    bandwidth.reverse();
    let tree = Tree::regular(&arity, &costs)
        .and_then(|tree| tree.with_bandwidths(&bandwidth))
        .ok_or_else(|| usage("not a fat tree"))?;
    Ok(Box::new(tree.with_node_level(Some(uplinks)).with_label(format!("fattree:{text}"))))
}

#[cfg(test)]
mod tests {
    use crate::topology::parse;

    fn distances(spec: &str, pairs: &[(usize, usize)]) -> Vec<u64> {
        let topology = parse(spec).unwrap();
        pairs.iter().map(|&(a, b)| topology.distance(a, b)).collect()
    }

    #[test]
    fn trees_count_from_the_leaves() {
        let pairs = [(0, 1), (0, 2), (0, 31), (0, 32)];
        assert_eq!(distances("tree:2:16:32@1:10:100", &pairs), [1, 10, 10, 100]);
        assert_eq!(distances("2:16:32/1:10:100", &pairs), [1, 10, 10, 100]);
        assert_eq!(distances("2:16:32@1:10:100", &pairs), [1, 10, 10, 100]);
        assert_eq!(distances("tree:2:16:32", &pairs), [2, 4, 4, 6]);
        assert_eq!(parse("tree:2:16:32").unwrap().slots(), 1024);
        assert_eq!(parse("tree:2:16:32").unwrap().name(), "tree:2:16:32@2:4:6");
    }

    #[test]
    fn names_read_back() {
        for spec in [
            "tree:4:3@1:9",
            "torus:2x2",
            "torus:4x6",
            "mesh:3x3x3",
            "hypercube:4",
            "dragonfly:5x2x2",
        ] {
            assert_eq!(parse(spec).unwrap().name(), spec);
            assert_eq!(
                parse(&parse(spec).unwrap().name()).unwrap().slots(),
                parse(spec).unwrap().slots()
            );
        }
    }

    #[test]
    fn fat_trees_taper() {
        let tree = parse("fattree:4:3:2@2:1").unwrap();
        assert_eq!(tree.slots(), 24);
        let network = tree.network().unwrap();
        let mut seen = Vec::new();
        network.route(0, 23, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [1.0, 2.0, 6.0, 6.0, 2.0, 1.0]);
        assert_eq!((tree.node_of(5), tree.distance(0, 23)), (5, 6));
        assert_eq!(parse("fattree:k=4").unwrap().slots(), 16);
    }

    #[test]
    fn wrong_numbers_are_named() {
        for (spec, what) in [
            ("tree:2:x", "'x'"),
            ("tree:2:3@1", "1 distance for 2 levels"),
            ("tree:2:3@5:1", "must not decrease"),
            ("tree:2@0", "distance 0"),
            ("tree:9999:9999:9999", "more than"),
            ("torus:4x", "''"),
            ("torus:4x4@1", "1 bandwidth for 2 dimensions"),
            ("torus:4x4@1:-2", "'-2'"),
            ("hypercube:40", "'40'"),
            ("dragonfly:3x3", "three numbers"),
            ("fattree:k=5", "even"),
            ("fattree:4:4@1:1", "2 oversubscriptions for 1 level of uplinks"),
        ] {
            let error = parse(spec).err().unwrap().to_string();
            assert!(error.contains(what) && error.contains(spec), "{spec}: {error}");
        }
    }
}
