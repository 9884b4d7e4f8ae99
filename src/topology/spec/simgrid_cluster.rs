//! The clusters of SimGrid's platform files: a star, a torus, a fat tree or a dragonfly of numbered hosts.
//!
//! Sources: `FatTreeZone.cpp`, `DragonflyZone.cpp` and `TorusZone.cpp` of SimGrid 3, and its reference of the XML tags.

use super::bad;
use super::wiring::Wiring;
use crate::Result;
use crate::base::nouns::counted;

/// More hosts in one platform are refused: a few bytes can ask for them.
pub(super) const MAX_HOSTS: usize = 1 << 15;

/// Numbers of hosts in `radical`: `0-29,58,59`.
///
/// Errors: a text that is no such list, or more than `most` numbers.
pub(super) fn radical(text: &str, most: usize) -> Result<Vec<u32>> {
    let wrong = || bad(format!("'{text}' is not a list of host numbers such as 0-29,58"));
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |word: &str| word.trim().parse::<u32>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        if numbers.len() + (last - first) as usize >= most {
            return Err(bad(format!("the platform has more than {MAX_HOSTS} hosts")));
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

/// Whole numbers from 1 with commas between them.
pub(super) fn numbers(text: &str) -> Result<Vec<usize>> {
    text.split(',')
        .map(|word| {
            let number = word.trim().parse::<usize>().ok().filter(|n| (1..=MAX_HOSTS).contains(n));
            number.ok_or_else(|| {
                bad(format!("'{text}' in topo_parameters is not a list of numbers from 1"))
            })
        })
        .collect()
}

/// The product of numbers, `None` above the number of hosts that a platform may have.
fn product(numbers: &[usize]) -> Option<usize> {
    numbers.iter().try_fold(1usize, |all, &n| all.checked_mul(n).filter(|&n| n <= MAX_HOSTS))
}

fn as_many(hosts: usize, wanted: Option<usize>) -> Result<()> {
    match wanted {
        Some(wanted) if wanted == hosts => Ok(()),
        Some(wanted) => Err(bad(format!(
            "the cluster has {}, and its topology needs {wanted}",
            counted(hosts, "host")
        ))),
        None => Err(bad(format!("the topology of the cluster needs more than {MAX_HOSTS} hosts"))),
    }
}

/// Refuses clusters with many more links between switches than hosts.
fn few_links(links: Option<usize>, hosts: usize) -> Result<()> {
    let most = (1 << 17) + 4 * hosts;
    match links.filter(|&links| links <= most) {
        Some(_) => Ok(()),
        None => Err(bad(format!("the cluster has more than {most} links between switches"))),
    }
}

/// The dimensions of a torus of so many hosts. The first one varies fastest.
pub(super) fn torus_dims(parameters: &str, hosts: usize) -> Result<Vec<usize>> {
    let dims = numbers(parameters)?;
    if dims.len() > 16 {
        return Err(bad(format!("the torus has {} dimensions, more than 16", dims.len())));
    }
    as_many(hosts, product(&dims))?;
    Ok(dims)
}

/// A torus beside other parts of a platform. Every host has a router, so that no message passes through a host.
pub(super) fn torus(
    wiring: &mut Wiring,
    hosts: &[usize],
    parameters: &str,
    bandwidth: Option<f64>,
) -> Result<()> {
    let dims = torus_dims(parameters, hosts.len())?;
    let routers: Vec<usize> = hosts.iter().map(|_| wiring.switch()).collect();
    for (k, (&host, &router)) in hosts.iter().zip(&routers).enumerate() {
        wiring.link(host, router, bandwidth);
        let mut stride = 1;
        for &side in &dims {
            let x = k / stride % side;
            // The link around the edge is the second one between the points of a dimension of two.
            if x + 1 < side {
                wiring.link(router, routers[k + stride], bandwidth);
            } else if side > 2 {
                wiring.link(router, routers[k - x * stride], bandwidth);
            }
            stride *= side;
        }
    }
    Ok(())
}

/// `LEVELS;CHILDREN,…;PARENTS,…;CABLES,…` from the hosts up: the generalised fat tree of Zahavi's D-Mod-K paper (2010).
/// A switch is told by its level and a label with a digit for each level. Digit j counts parents below the level of the
/// switch and children above it; a switch and one below it differ in one digit only.
pub(super) fn fat_tree(
    wiring: &mut Wiring,
    hosts: &[usize],
    parameters: &str,
    bandwidth: Option<f64>,
) -> Result<()> {
    let parts: Vec<&str> = parameters.split(';').collect();
    let [levels, down, up, cables] = parts[..] else {
        return Err(bad("topo_parameters of a fat tree are not `LEVELS;CHILDREN;PARENTS;CABLES`"));
    };
    let (levels, down, up, cables) =
        (numbers(levels)?, numbers(down)?, numbers(up)?, numbers(cables)?);
    if levels.len() != 1
        || [&down, &up, &cables].iter().any(|list| list.len() != levels[0])
        || levels[0] > 16
    {
        return Err(bad(
            "topo_parameters of a fat tree do not have a number for each of up to 16 levels",
        ));
    }
    as_many(hosts.len(), product(&down))?;
    // The radix of each digit of the labels of a level.
    let radix = |level: usize| -> Vec<usize> {
        (0..down.len()).map(|j| if j < level { up[j] } else { down[j] }).collect()
    };
    let mut total = 0usize;
    for (level, &parents) in up.iter().enumerate() {
        let links = product(&radix(level)).and_then(|nodes| nodes.checked_mul(parents));
        total = total.saturating_add(links.unwrap_or(usize::MAX));
    }
    few_links(
        Some(total).filter(|&n| n < usize::MAX).map(|n| n - hosts.len().min(n)),
        hosts.len(),
    )?;
    let mut below: Vec<usize> = hosts.to_vec();
    for level in 0..down.len() {
        let (own, above) = (radix(level), radix(level + 1));
        let count = above.iter().product::<usize>();
        let switches: Vec<usize> = (0..count).map(|_| wiring.switch()).collect();
        let capacity = bandwidth.map(|b| b * cables[level] as f64);
        for (index, &node) in below.iter().enumerate() {
            for parent in 0..up[level] {
                let (mut rest, mut at, mut stride) = (index, 0, 1);
                for j in 0..own.len() {
                    at += stride * if j == level { parent } else { rest % own[j] };
                    rest /= own[j];
                    stride *= above[j];
                }
                wiring.link(node, switches[at], capacity);
            }
        }
        below = switches;
    }
    Ok(())
}

/// `GROUPS,LINKS;CHASSIS,LINKS;BLADES,LINKS;HOSTS`: the dragonfly of Cray's Cascade. The routers (blades) of a chassis
/// are all connected, those of the same number in all chassis of a group too, and router j of group i leads to group j.
pub(super) fn dragonfly(
    wiring: &mut Wiring,
    hosts: &[usize],
    parameters: &str,
    bandwidth: Option<f64>,
) -> Result<()> {
    let parts = parameters.split(';').map(numbers).collect::<Result<Vec<_>>>()?;
    let parts: Vec<&[usize]> = parts.iter().map(Vec::as_slice).collect();
    let [&[groups, blue], &[chassis, black], &[blades, green], &[nodes]] = parts[..] else {
        return Err(bad(
            "topo_parameters of a dragonfly are not `GROUPS,LINKS;CHASSIS,LINKS;BLADES,LINKS;HOSTS`",
        ));
    };
    as_many(hosts.len(), product(&[groups, chassis, blades, nodes]))?;
    let of_group = chassis * blades;
    if groups > of_group && groups > 1 {
        return Err(bad(format!(
            "the dragonfly has {groups} groups, more than routers in a group"
        )));
    }
    let per_group = of_group.checked_mul(blades + chassis).and_then(|n| n.checked_mul(groups));
    few_links(per_group.and_then(|n| n.checked_add(groups * groups)).map(|n| n / 2), hosts.len())?;
    let routers: Vec<usize> = (0..groups * of_group).map(|_| wiring.switch()).collect();
    for (k, &host) in hosts.iter().enumerate() {
        wiring.link(host, routers[k / nodes], bandwidth);
    }
    let times = |links: usize| bandwidth.map(|b| b * links as f64);
    for group in 0..groups {
        let router =
            |chassis: usize, blade: usize| routers[group * of_group + chassis * blades + blade];
        for c in 0..chassis {
            for b in 0..blades {
                (b + 1..blades)
                    .for_each(|other| wiring.link(router(c, b), router(c, other), times(green)));
                (c + 1..chassis)
                    .for_each(|other| wiring.link(router(c, b), router(other, b), times(black)));
            }
        }
        for other in group + 1..groups {
            wiring.link(
                routers[group * of_group + other],
                routers[other * of_group + group],
                times(blue),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{NetworkGraph, Topology};

    type Build = fn(&mut Wiring, &[usize], &str, Option<f64>) -> Result<()>;

    fn cluster(hosts: usize, build: Build, parameters: &str) -> Result<NetworkGraph> {
        let mut wiring = Wiring::default();
        let hosts: Vec<usize> = (0..hosts).map(|k| wiring.host(&format!("h{k}"))).collect();
        build(&mut wiring, &hosts, parameters, Some(1.0))?;
        wiring.build(String::new(), &[])
    }

    #[test]
    fn radicals_are_ranges() {
        assert_eq!(radical("1-3,8, 10-11", 9).unwrap(), [1, 2, 3, 8, 10, 11]);
        for text in ["", "a", "3-1", "1-", "0-4000000000", "0-9"] {
            assert!(radical(text, 9).is_err(), "{text}");
        }
    }

    #[test]
    fn fat_trees_are_trees() {
        // Four leaf switches with four hosts each, two core switches, two cables to each of them.
        let net = cluster(16, fat_tree, "2;4,4;1,2;1,2").unwrap();
        assert_eq!((net.distance(0, 3), net.distance(0, 4), net.distance(0, 15)), (2, 4, 4));
        let network = net.network().unwrap();
        assert_eq!((network.vertices(), network.links()), (16 + 4 + 2, 2 * (16 + 8)));
        let mut seen = Vec::new();
        network.route(0, 15, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [1.0, 2.0, 2.0, 1.0]);
        assert!(net.as_tree().is_some());
        let net = cluster(8, fat_tree, "3;2,2,2;1,2,2;1,1,1").unwrap();
        assert_eq!([net.distance(0, 1), net.distance(0, 2), net.distance(0, 4)], [2, 4, 6]);
    }

    #[test]
    fn dragonflies_have_three_networks() {
        let net = cluster(3 * 4 * 5 * 2, dragonfly, "3,4;4,3;5,1;2").unwrap();
        // Same router, same chassis, same blade number of the group, neither.
        assert_eq!(
            [net.distance(0, 1), net.distance(0, 2), net.distance(0, 10), net.distance(0, 12)],
            [2, 3, 3, 4]
        );
        assert_eq!(net.network().unwrap().vertices(), 120 + 60);
        let mut seen = Vec::new();
        // Host 2 is on router 1 of group 0, which leads to router 0 of group 1.
        net.network()
            .unwrap()
            .route(2, 40, &mut |link| seen.push(net.network().unwrap().bandwidth(link)));
        assert_eq!(seen, [1.0, 4.0, 1.0]);
    }

    #[test]
    fn tori_have_a_router_for_each_host() {
        let net = cluster(12, torus, "3,2,2").unwrap();
        assert_eq!(
            [net.distance(0, 1), net.distance(0, 2), net.distance(0, 3), net.distance(0, 11)],
            [3, 3, 3, 5]
        );
    }

    #[test]
    fn parameters_that_do_not_fit_are_named() {
        for (hosts, build, parameters, what) in [
            (16, fat_tree as Build, "2;4,4;1,2", "LEVELS"),
            (16, fat_tree, "2;4;1,2;1,2", "each of"),
            (15, fat_tree, "2;4,4;1,2;1,2", "needs 16"),
            (1, fat_tree, "2;1,1;400,400;1,1", "links"),
            (4, fat_tree, "0;4;1;1", "numbers from 1"),
            (4, dragonfly, "3;4", "GROUPS"),
            (4, dragonfly, "4,1;1,1;1,1;1", "more than routers"),
            (2000, dragonfly, "1,1;1,1;2000,1;1", "links"),
            (4, torus, "3,2", "needs 6"),
            (4, torus, "30000,30000", "more than"),
        ] {
            let error = cluster(hosts, build, parameters).err().unwrap().to_string();
            assert!(error.contains(what), "{parameters}: {error}");
        }
    }
}
