//! The parts of a node: the places of a package, of a cache, of a core, down to single places.
//!
//! They follow from the distances alone: places that are nearer to each other than the farthest ones of a part make a
//! smaller part. So every topology has them. In a tree they are its groups.

use super::rail_node::RailNode;

/// Places that may be exchanged together with those of another part.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The places, neighbours next to each other.
    pub places: Vec<u32>,
    /// The rail of all of them.
    pub rail: usize,
}

/// All parts of a node. All places of a part have the same rail, and none has a task that stays.
pub(super) struct Parts {
    /// Parts of several places, the largest ones first: one list for each depth.
    pub several: Vec<Vec<Part>>,
    /// Parts of one place.
    pub single: Vec<Part>,
    /// All places of the node, neighbours next to each other.
    pub order: Vec<u32>,
}

impl Parts {
    /// The parts of a node.
    pub fn of(node: &RailNode) -> Parts {
        let (mut depths, mut order) = (Vec::new(), Vec::new());
        divide(node, (0..node.places() as u32).collect(), 0, &mut depths, &mut order);
        let part = |places: Vec<u32>| {
            let rail = node.movable(*places.first()?)?;
            let alike = places.iter().all(|&place| node.movable(place) == Some(rail));
            alike.then_some(Part { places, rail })
        };
        let several =
            depths.into_iter().map(|groups| groups.into_iter().filter_map(part).collect());
        Parts {
            several: several.filter(|parts: &Vec<Part>| parts.len() > 1).collect(),
            single: order.iter().filter_map(|&place| part(vec![place])).collect(),
            order,
        }
    }
}

/// Divides a group of places. Adds its parts of several places to `depths`, and all its places to `order`.
fn divide(
    node: &RailNode,
    places: Vec<u32>,
    depth: usize,
    depths: &mut Vec<Vec<Vec<u32>>>,
    order: &mut Vec<u32>,
) {
    let Some(&first) = places.first() else { return };
    let width = places.iter().map(|&place| node.distance(first, place)).max().unwrap_or(0);
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for place in places {
        let near = |group: &&mut Vec<u32>| node.distance(group[0], place) < width;
        match groups.iter_mut().find(near) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    for group in groups {
        if group.len() < 2 {
            order.extend(group);
            continue;
        }
        if depths.len() <= depth {
            depths.push(Vec::new());
        }
        depths[depth].push(group.clone());
        divide(node, group, depth + 1, depths, order);
    }
}
