//! All generators of candidates, and when they are asked.

use super::Effort;
use super::candidate::{Candidate, Origin};
use super::generator::{Generator, Offers};
use super::grid_on_grid::{clusters_in_blocks, folded, in_blocks, lines_in_digits, on_grid};
use super::refine::refined;
use super::regular_patterns::{by_cycles, is_regular};
use super::several_grids::Several;
use crate::mapping::engine::{Csr, Prepared, places_on_tree, with_distance};
use crate::mapping::geometric::{
    GridShape, are_even, detect_lines, place_in_slabs, place_on_tree, several_grids,
};
use crate::mapping::multisection::{Bisector, Halves, dual_bisect, multisect};
use crate::mapping::papers::geom;
use crate::mapping::{Budget, Preset, Problem, stencil};

/// Generators that place the tasks by the shape of their grid. Their placements may be optimal.
const BY_SHAPE: [Generator; 3] = [GRID_IN_BOXES, GRID_IN_SLABS, GRID_ON_GRID];

/// Generators that place the tasks by the stencil alone.
const BY_STENCIL: [Generator; 1] = [STENCIL];

/// Generators that place the tasks by the shape of a grid that does not fit the machine.
const BY_OTHER_SHAPE: [Generator; 2] = [GRID_WITH_GAPS, GRID_FOLDED];

/// All other generators, which search.
const BY_SEARCH: [Generator; 9] = [
    BLOCKS_BY_CYCLES,
    SEVERAL_GRIDS,
    GRID_BY_BLOCKS,
    CLUSTERS_IN_BLOCKS,
    MULTISECTION,
    LINES_IN_SLABS,
    LINES_ON_GRID,
    DUAL_BISECTION,
    GIVEN_ORDER,
];

/// The candidates for a problem, for one preset after the other. What does not depend on the preset is made once.
pub(super) struct Candidates<'a, 'p, 'q> {
    offers: Offers<'a, 'p, 'q>,
    /// A candidate by the shape cannot be beaten.
    reached: bool,
    /// The candidates by the shape of a grid that does not fit, where they were asked for.
    by_other_shape: Option<Vec<Candidate>>,
}

impl<'a, 'p, 'q> Candidates<'a, 'p, 'q> {
    pub(super) fn new(prepared: &'a Prepared<'p, 'q>, budget: &'a Budget) -> Self {
        let mut offers = Offers::new(prepared, budget);
        offers.ask(&BY_SHAPE);
        let reached = offers.reach_the_least();
        if !reached {
            offers.ask(&BY_STENCIL);
        }
        Candidates { offers, reached, by_other_shape: None }
    }

    /// The candidates of a preset, and the effort to spend on them.
    pub(super) fn of(&mut self, preset: Preset) -> (Vec<Candidate>, Effort) {
        let offers = &mut self.offers;
        offers.set_preset(preset);
        // Where the placement by the stencil beats the boxes, a search may beat them too.
        let many = offers.prepared.graph.len() > 4096;
        let fast = many || (preset == Preset::Fast && !offers.are_worth_a_search());
        let by_shape = offers.list.len();
        let by_shape_alone = by_shape > 0 && offers.are_exact();
        if self.reached || (by_shape_alone && fast && !offers.are_beaten_by_stencil()) {
            return (offers.list.clone(), offers.effort);
        }
        match &self.by_other_shape {
            Some(known) => offers.list.extend(known.iter().cloned()),
            None => {
                offers.ask(&BY_OTHER_SHAPE);
                self.by_other_shape = Some(offers.list[by_shape..].to_vec());
            }
        }
        offers.ask(&BY_SEARCH);
        let mut list = offers.list.clone();
        offers.list.truncate(by_shape);
        list.extend(offers.by_stencil.clone());
        (list, offers.effort)
    }
}

/// A grid of tasks cut into boxes for the groups of a tree.
const GRID_IN_BOXES: Generator = Generator {
    name: "grid in boxes",
    applies: |offers| offers.detected.is_some() && offers.prepared.tree.is_some(),
    candidate: |name, offers| {
        let prepared = offers.prepared;
        let (grid, tree) = (offers.detected.as_ref()?, prepared.tree.as_ref()?);
        let boxed = place_on_tree(grid.pattern(&prepared.graph), &grid.shape, tree)?;
        offers.has_good_boxes = boxed.good;
        Some(Candidate::new(name, places_on_tree(prepared, tree, boxed.position_of)))
    },
};

/// A grid of tasks cut into slabs for the groups of a tree, which may have any size.
const GRID_IN_SLABS: Generator = Generator {
    name: "grid in slabs",
    applies: |offers| (GRID_IN_BOXES.applies)(offers) && !offers.has_good_boxes,
    candidate: |name, offers| {
        let prepared = offers.prepared;
        let (grid, tree) = (offers.detected.as_ref()?, prepared.tree.as_ref()?);
        let pattern = grid.pattern(&prepared.graph);
        let sorted = place_in_slabs(pattern, &grid.shape, tree, offers.budget, true)?;
        Some(Candidate::new(name, places_on_tree(prepared, tree, sorted)))
    },
};

/// A grid of tasks on a machine that is a grid, neighbours on neighbours.
const GRID_ON_GRID: Generator = Generator {
    name: "grid on grid",
    applies: |offers| {
        let full = offers.prepared.problem.places().len() == offers.prepared.graph.len();
        offers.detected.is_some() && full
    },
    candidate: |name, offers| {
        let place_of = on_grid(offers.prepared, &offers.detected.as_ref()?.shape)?;
        Some(Candidate::new(name, place_of))
    },
};

/// The best placement that is made from the stencil alone. The candidate has the name of its decomposition.
const STENCIL: Generator = Generator {
    name: "stencil",
    applies: |_| true,
    candidate: |_, offers| {
        let boxes = !offers.list.is_empty();
        let shape = offers.detected.as_ref().map(|grid| &grid.shape);
        let best = stencil::best(offers.prepared, shape, boxes, offers.budget);
        best.map(|(name, place_of)| Candidate {
            origin: Origin::Stencil,
            ..Candidate::new(name, place_of)
        })
    },
};

/// A grid of tasks on an allocation with gaps: the grid keeps its order along every dimension.
const GRID_WITH_GAPS: Generator = Generator {
    name: "geom, refined",
    applies: |offers| {
        let on_grid = || offers.prepared.problem.grid().is_some();
        offers.detected.is_some() && offers.list.is_empty() && on_grid()
    },
    candidate: |name, offers| {
        let prepared = offers.prepared;
        let outcome = geom::map(prepared.problem, offers.budget).ok()?;
        Some(Candidate::new(name, prepared.by_vertex(outcome.place_of_task)))
    },
};

/// A grid of tasks folded onto a machine that is a grid of other dimensions.
const GRID_FOLDED: Generator = Generator {
    name: "grid folded",
    applies: |offers| {
        let exact = offers.list.iter().any(|c| c.name == GRID_ON_GRID.name);
        offers.detected.is_some() && offers.prepared.tree.is_none() && !exact
    },
    candidate: |name, offers| {
        let place_of = folded(offers.prepared, offers.detected.as_ref()?)?;
        Some(Candidate { origin: Origin::Folding, ..Candidate::new(name, place_of) })
    },
};

/// A grid of tasks on a machine that is a grid of other dimensions, block by block, where the shapes differ so much that
/// a folding takes neighbours far apart. With little effort, the search does not find more in other cases.
const GRID_BY_BLOCKS: Generator = Generator {
    name: "grid by blocks",
    applies: |offers| {
        let prepared = offers.prepared;
        let least = prepared.least();
        let enough = match offers.preset {
            Preset::Fast => 2 * least + least / 2,
            _ => least + least / 4,
        };
        let good = |c: &Candidate| prepared.cost(&c.place_of) <= enough;
        offers.detected.is_some() && prepared.tree.is_none() && !offers.list.iter().any(good)
    },
    candidate: |name, offers| {
        let Offers { prepared, effort, budget, .. } = offers;
        let place_of = in_blocks(prepared, offers.detected.as_ref()?, effort.blocks, budget)?;
        Some(Candidate { origin: Origin::Blocks, ..Candidate::new(name, place_of) })
    },
};

/// A regular pattern that is no grid, split along its blocks.
const BLOCKS_BY_CYCLES: Generator = Generator {
    name: "blocks by cycles",
    applies: |offers| offers.list.is_empty() && is_regular(&offers.prepared.graph),
    candidate: |name, offers| {
        if let Some(graph) = by_cycles(&offers.prepared.graph) {
            return Some(Candidate::new(name, split(offers, &graph)));
        }
        // A pattern without blocks has many mappings with the same cut, and single moves rarely lead from
        // these to a better one: on a tree it gets more annealing.
        if offers.prepared.tree.is_some() {
            offers.effort.anneal_steps *= 16;
        }
        None
    },
};

/// The tasks split among the groups of a tree, from the root down.
const MULTISECTION: Generator = Generator {
    name: "multisection",
    applies: |offers| offers.prepared.tree.is_some(),
    candidate: |name, offers| Some(Candidate::new(name, split(offers, &offers.prepared.graph))),
};

/// A grid whose tasks talk to all others on their lines, cut into slabs for the groups of a tree.
const LINES_IN_SLABS: Generator = Generator {
    name: "lines in slabs",
    applies: |offers| offers.detected.is_none() && offers.prepared.tree.is_some(),
    candidate: |name, offers| {
        let (prepared, budget) = (offers.prepared, offers.budget);
        by_lines(name, offers, Origin::Search, |shape| {
            let tree = prepared.tree.as_ref()?;
            let sorted = place_in_slabs(&prepared.graph, shape, tree, budget, false)?;
            Some(places_on_tree(prepared, tree, sorted))
        })
    },
};

/// A grid whose tasks talk to all others on their lines, on a machine that is a grid.
const LINES_ON_GRID: Generator = Generator {
    name: "lines on grid",
    applies: |offers| {
        let on_grid = || offers.prepared.problem.grid().is_some();
        offers.detected.is_none() && offers.prepared.tree.is_none() && on_grid()
    },
    candidate: |name, offers| {
        let prepared = offers.prepared;
        by_lines(name, offers, Origin::EvenLines, |shape| lines_in_digits(prepared, shape))
    },
};

/// The placement of a grid of lines, if the graph is one, with the origin `even` where the lines tell all. It is made
/// once for all presets.
fn by_lines(
    name: &'static str,
    offers: &mut Offers<'_, '_, '_>,
    even: Origin,
    placed: impl FnOnce(&GridShape) -> Option<Vec<u32>>,
) -> Option<Candidate> {
    let graph = &offers.prepared.graph;
    let made = || {
        let shape = detect_lines(graph)?;
        let origin = if are_even(graph, &shape) { even } else { Origin::UnevenLines };
        Some(Candidate { origin, ..Candidate::new(name, placed(&shape)?) })
    };
    offers.by_lines.get_or_insert_with(made).clone()
}

/// Tasks up to which clusters on blocks are no better than tasks and machine halved together.
const FEW: usize = 128;

/// Tasks above which they take too long. With little effort, they are no better than halves there, either.
const fn many(preset: Preset) -> usize {
    match preset {
        Preset::Fast => 65_536,
        Preset::Default | Preset::Strong => 400_000,
    }
}

/// Clusters of tasks on a full machine that is a grid, where the tasks form no grid.
const CLUSTERS_IN_BLOCKS: Generator = Generator {
    name: "clusters in blocks",
    applies: |offers| {
        let prepared = offers.prepared;
        let tasks = FEW + 1..=many(offers.preset);
        prepared.tree.is_none()
            && offers.detected.is_none()
            && tasks.contains(&prepared.graph.len())
            && !offers.have_good_parts()
    },
    candidate: |name, offers| {
        let Offers { prepared, effort, budget, .. } = offers;
        let place_of = clusters_in_blocks(prepared, effort.bisect, effort.clusters, budget)?;
        Some(Candidate { origin: Origin::Clusters, ..Candidate::new(name, place_of) })
    },
};

/// The tasks and a machine that is no tree, halved together. This is never the best where clusters are placed, and with
/// little effort neither where a grid is folded.
const DUAL_BISECTION: Generator = Generator {
    name: "dual recursive bisection",
    applies: |offers| {
        let folded = offers.list.iter().any(|c| c.origin == Origin::Folding);
        let clusters = offers.list.iter().any(|c| c.origin == Origin::Clusters);
        let is_beaten = clusters || (folded && offers.preset == Preset::Fast);
        offers.prepared.tree.is_none() && !is_beaten && !offers.have_good_parts()
    },
    candidate: MULTISECTION.candidate,
};

/// The order of the launcher, where no other generator has offered a candidate.
pub(super) const GIVEN_ORDER: Generator = Generator {
    name: "given order, refined",
    applies: |offers| offers.list.is_empty(),
    candidate: |name, offers| {
        let prepared = offers.prepared;
        let place_of = prepared.by_vertex(prepared.problem.identity_places());
        Some(Candidate::new(name, place_of))
    },
};

/// The place of every vertex by recursive splitting of `graph`.
fn split(offers: &Offers<'_, '_, '_>, graph: &Csr) -> Vec<u32> {
    let prepared = offers.prepared;
    let mut bisector = Bisector::new(offers.effort.bisect, offers.budget);
    let rng = &prepared.rng;
    if let Some(tree) = &prepared.tree {
        return places_on_tree(prepared, tree, multisect(graph, tree, &mut bisector, rng));
    }
    let grid = prepared.problem.grid();
    let halves = match &grid {
        Some((grid, points)) => Halves::Grid(grid, points),
        None => Halves::Distances,
    };
    with_distance!(&prepared.lookup, d => {
        dual_bisect(graph, &prepared.chosen, d, &halves, &mut bisector, rng)
    })
}

/// The place of every task of a part of the tasks, as if there were no others.
pub(super) fn alone(problem: &Problem<'_>, budget: &Budget) -> Option<Vec<u32>> {
    let prepared = Prepared::new(problem);
    let (candidates, effort) = Candidates::new(&prepared, budget).of(problem.preset());
    let (best, _) = refined(&prepared, candidates, &effort, budget)?;
    Some(prepared.by_task(best.place_of))
}

/// Several grids that exchange little, each on places of its own.
const SEVERAL_GRIDS: Generator = Generator {
    name: "several grids",
    applies: |_| true,
    candidate: |name, offers| {
        /// Grids that are also one grid with another dimension are few. Otherwise, one dimension of this grid is weak.
        const MOST: usize = 4;
        let (prepared, preset, budget) = (offers.prepared, offers.preset, offers.budget);
        let found = offers.several.get_or_insert_with(|| {
            several_grids(&prepared.graph).map(|parts| Several::new(prepared, parts, budget))
        });
        let several = found.as_ref()?;
        if offers.detected.is_some() && several.parts.len() > MOST {
            return None;
        }
        Some(Candidate::new(name, several.place(prepared, preset, budget, alone)?))
    },
};

/// The names of all generators that a problem can need.
#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    let all = BY_SHAPE.iter().chain(&BY_STENCIL).chain(&BY_OTHER_SHAPE).chain(&BY_SEARCH);
    all.map(|generator| generator.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::permutation::is_injective;
    use crate::matrix::synthetic::pattern;
    use crate::topology::parse;
    use std::collections::BTreeSet;

    /// Every candidate of every generator puts each task on a place of its own, and every generator
    /// has one for some problem.
    #[test]
    fn all_generators_make_placements() {
        let mut asked = BTreeSet::new();
        for (machine, text, slots) in [
            ("tree:4:4@1:10", "stencil:4x4,shuffle=1", 16),
            ("tree:4:5@1:10", "rgg:15", 20),
            ("tree:4:16@1:10", "cg:64", 64),
            ("torus:4x4", "torus:4x4,shuffle=1", 16),
            ("mesh:2x8", "stencil:4x4,shuffle=1", 16),
            ("mesh:6x6", "stencil:4x3", 15),
            ("torus:4x4", "powerlaw:16", 16),
            ("torus:2x54", "stencil:9x2x6,shuffle=1", 108),
            ("torus:12x12", "powerlaw:144", 144),
            ("tree:5:6@1:10", "stencil:6x5", 30),
            ("tree:5:6@1:10", "lines:6x5", 30),
            ("torus:5x6", "lines:15x2,shuffle=1", 30),
            ("torus:4x8", "stencil:4x4+stencil:4x4,shuffle=1", 32),
        ] {
            let (topology, graph) = (parse(machine).unwrap(), pattern(text).unwrap());
            let slots: Vec<usize> = (0..slots).map(|k| k * 7 % topology.slots()).collect();
            let slots: Vec<usize> = match graph.vertices() == topology.slots() {
                true => (0..topology.slots()).collect(),
                false => slots,
            };
            let builder = Problem::builder(&graph, topology.as_ref()).slots(&slots);
            let problem = builder.fix(1, slots[0]).preset(Preset::Fast).build().unwrap();
            let prepared = Prepared::new(&problem);
            let budget = Budget::unlimited();
            let all = BY_SHAPE.iter().chain(&BY_STENCIL).chain(&BY_OTHER_SHAPE).chain(&BY_SEARCH);
            for generator in all {
                let mut offers = Offers::new(&prepared, &budget);
                if !(generator.applies)(&offers) {
                    continue;
                }
                if let Some(mut candidate) = (generator.candidate)(generator.name, &mut offers) {
                    asked.insert(generator.name);
                    assert!(is_injective(&candidate.place_of, problem.places().len()), "{text}");
                    prepared.honour_fixed(&mut candidate.place_of);
                    assert_eq!(prepared.by_task(candidate.place_of)[1], 0, "{text}");
                }
            }
        }
        assert_eq!(asked, names().into_iter().collect());
    }
}
