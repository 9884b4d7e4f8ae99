//! Recognises several grids in one graph: programs that run side by side and exchange little, for every numbering of the
//! vertices.
//!
//! An edge is as strong as its weight is in proportion to the heaviest edge of either end, whichever gives less. Grids that
//! exchange little are joined by weak edges alone. The edges are joined from the strongest class to the weakest. After each
//! class, the joined vertices are parts, and the parts of the weakest class after which there are several are looked at
//! first. Their grids are recognised one by one, as [`super::recognise()`] does it.
//!
//! Limits: the exchange between two grids has less than half of the weight of their own edges, and there are at most
//! [`MOST_PARTS`] parts. Tasks without a grid, such as those that collect data, may be a quarter of all.

use super::joined::Joined;
use super::recognise::{Recognised, recognise};
use crate::base::sorting::Arrange;
use crate::mapping::engine::Csr;

/// Most parts that are looked at.
const MOST_PARTS: usize = 64;

/// Classes of strength. Class k has the edges with a proportion of more than 1 / 2^(k + 1), the last class all others.
const CLASSES: usize = 24;

/// Divisions into parts that are looked at.
const DIVISIONS: usize = 4;

/// More vertices are not looked at where seven eighths of them are one part. Most of these are no grids with a few other
/// tasks, but irregular, and to find that out takes a tenth of the time of a short search.
const LARGE: usize = 65_536;

/// The least number of vertices in a grid.
const LEAST: usize = 8;

/// Tasks that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The vertices, ascending.
    pub(crate) vertices: Vec<u32>,
    /// The edges between them. Vertex k of it is `vertices[k]`.
    pub(crate) graph: Csr,
    /// The grid that they form, if they form one.
    pub(crate) grid: Option<Recognised>,
}

/// The parts of a graph most of whose vertices belong to grids, the largest part first. `None` if there are no such parts, or
/// only one.
pub(crate) fn several_grids(graph: &Csr) -> Option<Vec<Part>> {
    if graph.len() < 2 * LEAST {
        return None;
    }
    let strength = Strength::new(graph);
    let divisions = strength.divisions();
    divisions.iter().rev().take(DIVISIONS).find_map(|division| parts(graph, division))
}

/// The parts of a division, `of_vertex` by vertex. `None` if too few of the vertices are on grids.
fn parts(graph: &Csr, of_vertex: &[u32]) -> Option<Vec<Part>> {
    let count = of_vertex.iter().max().map_or(0, |&most| most as usize + 1);
    let mut members = vec![Vec::new(); count];
    for (v, &part) in of_vertex.iter().enumerate() {
        members[part as usize].push(v as u32);
    }
    // A grid that is too small to be recognised is no reason to look on.
    let without = |members: &[Vec<u32>]| -> usize {
        members.iter().map(Vec::len).filter(|&count| count < LEAST).sum()
    };
    let largest = members.iter().map(Vec::len).max().unwrap_or(0);
    let is_one = graph.len() > LARGE && 8 * largest > 7 * graph.len();
    if is_one || 4 * without(&members) > graph.len() {
        return None;
    }
    let mut local = vec![u32::MAX; graph.len()];
    let (mut parts, mut irregular) = (Vec::new(), Vec::new());
    for vertices in members {
        let inner = graph.subgraph(&vertices, &mut local);
        let grid = if vertices.len() < LEAST { None } else { recognise(&inner) };
        match grid {
            Some(_) => parts.push(Part { vertices, graph: inner, grid }),
            None => irregular.extend(vertices),
        }
        if 4 * irregular.len() > graph.len() {
            return None;
        }
    }
    if !irregular.is_empty() {
        irregular.arrange();
        let inner = graph.subgraph(&irregular, &mut local);
        parts.push(Part { vertices: irregular, graph: inner, grid: None });
    }
    parts.arrange_by_key(|part: &Part| std::cmp::Reverse(part.vertices.len()));
    (parts.len() > 1).then_some(parts)
}

/// How strong the edges of a graph are.
struct Strength<'a> {
    graph: &'a Csr,
    /// By vertex: the weight of its heaviest edge.
    heaviest: Vec<i64>,
}

impl<'a> Strength<'a> {
    fn new(graph: &'a Csr) -> Self {
        let heaviest = |v| graph.arcs(v).map(|(_, w)| w).max().unwrap_or(0);
        Strength { graph, heaviest: (0..graph.len()).map(heaviest).collect() }
    }

    /// The class of an edge.
    fn class(&self, u: usize, v: usize, weight: i64) -> usize {
        let most = self.heaviest[u].max(self.heaviest[v]);
        let times = (most / weight.max(1)).max(1);
        (times.ilog2() as usize).min(CLASSES - 1)
    }

    /// The parts of every vertex after each class, where these are several and not too many. The strongest class is first.
    fn divisions(&self) -> Vec<Vec<u32>> {
        let n = self.graph.len();
        let mut groups = Joined::new(n);
        // Tasks that exchange nothing are one part.
        let mut idle = (0..n as u32).filter(|&v| self.heaviest[v as usize] == 0);
        if let Some(first) = idle.next() {
            idle.for_each(|v| groups.join(first, v));
        }
        let mut divisions = Vec::new();
        let mut by_class: [Vec<(u32, u32)>; CLASSES] = Default::default();
        for class in 0..CLASSES {
            if class == 0 {
                // Most graphs hang together by strong edges, and are done after this.
                for v in 0..n {
                    for (t, w) in self.graph.arcs(v).filter(|&(t, _)| t < v) {
                        if self.class(v, t, w) == 0 {
                            groups.join(v as u32, t as u32);
                        }
                    }
                }
                if groups.count > 1 {
                    self.sort_others(&mut groups, &mut by_class);
                }
            }
            let before = groups.count;
            for &(a, b) in &by_class[class] {
                groups.join(a, b);
            }
            let changed = class == 0 || groups.count < before;
            if changed && (2..=MOST_PARTS).contains(&groups.count) {
                divisions.push(groups.numbered());
            }
            if groups.count == 1 {
                break;
            }
        }
        divisions
    }

    /// Sorts the edges between different groups by their class.
    fn sort_others(&self, groups: &mut Joined, by_class: &mut [Vec<(u32, u32)>; CLASSES]) {
        for v in 0..self.graph.len() {
            for (t, w) in self.graph.arcs(v).filter(|&(t, _)| t < v) {
                if groups.root(v as u32) != groups.root(t as u32) {
                    by_class[self.class(v, t, w)].push((v as u32, t as u32));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::synthetic::pattern;

    /// The number of vertices of each part, and the dimensions of its grid.
    fn found(text: &str) -> Option<Vec<(usize, Vec<usize>)>> {
        let graph = Csr::from_graph(&pattern(text).unwrap(), Scale::new(1, 1));
        let dims = |part: &Part| {
            let mut dims = part.grid.as_ref().map_or(vec![], |grid| grid.shape.dims.clone());
            dims.sort_unstable();
            (part.vertices.len(), dims)
        };
        several_grids(&graph).map(|parts| parts.iter().map(dims).collect())
    }

    #[test]
    fn coupled_grids_are_told_apart() {
        let coupled =
            "stencil:8x9,along=20:20+torus:5x6,along=90:90+stencil:4x4x4,couple=7,shuffle=2";
        let parts = vec![(72, vec![8, 9]), (64, vec![4, 4, 4]), (30, vec![5, 6])];
        assert_eq!(found(coupled), Some(parts));
        let alone = "moore:6x6+moore:6x6,shuffle=2";
        assert_eq!(found(alone), Some(vec![(36, vec![6, 6]), (36, vec![6, 6])]));
    }

    /// The weakest edges are those between the grids, although the grids have weak edges of their own.
    #[test]
    fn weights_by_direction_do_not_split_a_grid() {
        let text = "stencil:8x6,along=100:9+stencil:6x5,along=40:8,couple=1,shuffle=4";
        assert_eq!(found(text), Some(vec![(48, vec![6, 8]), (30, vec![5, 6])]));
    }

    #[test]
    fn tasks_without_a_grid_are_one_part() {
        let text = "stencil:8x8,along=30:30+powerlaw:9+stencil:3x3,along=20:20,couple=1,shuffle=1";
        let parts = found(text).unwrap();
        assert_eq!(parts.iter().map(|part| part.0).sum::<usize>(), 82);
        assert!(parts.contains(&(64, vec![8, 8])) && parts.contains(&(9, vec![3, 3])), "{parts:?}");
    }

    #[test]
    fn other_graphs_have_no_parts() {
        for text in ["rgg:300", "stencil:8x8", "powerlaw:100+powerlaw:90,couple=1", "cg:64"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
