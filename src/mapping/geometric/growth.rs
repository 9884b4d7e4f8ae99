//! The points of a grid with a few irregular edges, by growth from one vertex.
//!
//! A vertex with two neighbours that have points belongs on the free point beside both. Such vertices come first. If there
//! are none, a line of the grid is continued: of two neighbours of a vertex, those across from each other have no other
//! common neighbour, and all others have one. An edge that is missing or irregular only takes away one of several hints.
//!
//! In a ring, the growth from both sides meets somewhere. The points are therefore those of a grid without rings, and the
//! ends of some edges have points that are a whole ring apart.

use super::axis_edges::{AxisEdges, common};
use super::point::{DIMENSIONS, Point, steps};
use super::skeleton::Lists;
use fnv::FnvHashMap;
use std::collections::VecDeque;

/// The point of every vertex, by growth from `first`; `None` for vertices that no hint leads to.
pub(super) fn grown(edges: &AxisEdges, first: u32) -> Vec<Option<Point>> {
    let n = edges.lists.len();
    let mut growth = Growth {
        lists: &edges.lists,
        dimensions: edges.dimensions,
        points: vec![None; n],
        vertex_at: FnvHashMap::default(),
        ready: VecDeque::new(),
        changed: Vec::new(),
        is_changed: vec![false; n],
        by_fit: std::array::from_fn(|_| VecDeque::new()),
    };
    growth.begin(first);
    let mut looks = 0;
    // In a grid, each vertex is looked at a few times. Elsewhere the same ones may change again and again.
    while looks <= LOOKS * n {
        growth.place_ready();
        looks += 1 + growth.look_at_changed();
        // A wrong point at the end of a line displaces all that grows from there, so the best known lines come first.
        let Some(fit) = (1..FITS).rev().find(|&fit| !growth.by_fit[fit].is_empty()) else { break };
        let Some(v) = growth.by_fit[fit].pop_front() else { break };
        match growth.by_surroundings(v) {
            Some((now, point)) if now >= fit => growth.place(v, point),
            Some((now, _)) => growth.by_fit[now].push_back(v),
            None => {}
        }
    }
    growth.points
}

/// Looks at all vertices together, for each vertex.
const LOOKS: usize = 32;

/// Values of how well a point fits that are told apart, with 0 for not at all.
const FITS: usize = 16;

struct Growth<'a> {
    lists: &'a Lists,
    dimensions: usize,
    points: Vec<Option<Point>>,
    vertex_at: FnvHashMap<Point, u32>,
    /// Vertices with a neighbour that got its point since they were looked at.
    ready: VecDeque<u32>,
    /// Vertices without a point whose surroundings changed since they were looked at.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    /// Vertices without a point, by how well their best point fitted when they were looked at.
    by_fit: [VecDeque<u32>; FITS],
}

impl Growth<'_> {
    fn place(&mut self, v: u32, point: Point) {
        self.points[v as usize] = Some(point);
        self.vertex_at.insert(point, v);
        let lists = self.lists;
        for &t in lists.of(v as usize) {
            if self.points[t as usize].is_none() {
                self.ready.push_back(t);
                self.note_change(t);
            } else {
                lists.of(t as usize).iter().for_each(|&u| self.note_change(u));
            }
        }
    }

    fn note_change(&mut self, v: u32) {
        if self.points[v as usize].is_none()
            && !std::mem::replace(&mut self.is_changed[v as usize], true)
        {
            self.changed.push(v);
        }
    }

    /// Finds out how well the best points fit of vertices whose surroundings changed. Returns the number of these vertices.
    fn look_at_changed(&mut self) -> usize {
        let changed = std::mem::take(&mut self.changed);
        let count = changed.len();
        for v in changed {
            self.is_changed[v as usize] = false;
            if let Some((fit, _)) = self.by_surroundings(v) {
                self.by_fit[fit].push_back(v);
            }
        }
        count
    }

    /// Places vertices beside several others, as long as there are some.
    fn place_ready(&mut self) {
        while let Some(v) = self.ready.pop_front() {
            if self.points[v as usize].is_none()
                && let Some(point) = self.beside_several(v)
            {
                self.place(v, point);
            }
        }
    }

    /// Places the first vertex and its neighbours.
    fn begin(&mut self, first: u32) {
        self.place(first, [0; DIMENSIONS]);
        let row = self.lists.of(first as usize).to_vec();
        let mut dimensions = 0;
        for (i, &t) in row.iter().enumerate() {
            let across = |&&s: &&u32| self.shared(s, t, first) == 0;
            let mut point = [0; DIMENSIONS];
            match row[..i].iter().find(across).and_then(|&s| self.points[s as usize]) {
                Some(opposite) => point = opposite.map(|x| -x),
                None if dimensions < self.dimensions => {
                    point[dimensions] = 1;
                    dimensions += 1;
                }
                None => continue,
            }
            if !self.vertex_at.contains_key(&point) {
                self.place(t, point);
            }
        }
    }

    /// Common neighbours of two vertices other than `v`.
    fn shared(&self, s: u32, t: u32, v: u32) -> usize {
        common(self.lists.of(s as usize), self.lists.of(t as usize), v)
    }

    /// The points beside `p`.
    fn around(&self, p: Point) -> impl Iterator<Item = Point> + use<> {
        (0..2 * self.dimensions).filter_map(move |side| {
            let mut point = p;
            let x = &mut point[side / 2];
            *x = x.checked_add(if side % 2 == 0 { 1 } else { -1 })?;
            Some(point)
        })
    }

    /// The free points beside neighbours of a vertex, each with the number of these neighbours.
    fn free_points(&self, v: u32) -> Vec<(Point, usize)> {
        let mut free: Vec<(Point, usize)> = Vec::new();
        let placed = self.lists.of(v as usize).iter().filter_map(|&t| self.points[t as usize]);
        for point in placed.flat_map(|p| self.around(p)) {
            if let Some((_, count)) = free.iter_mut().find(|(q, _)| *q == point) {
                *count += 1;
            } else if !self.vertex_at.contains_key(&point) {
                free.push((point, 1));
            }
        }
        free
    }

    /// The one free point that lies beside the most neighbours, at least two.
    fn beside_several(&self, v: u32) -> Option<Point> {
        let free = self.free_points(v);
        let most = free.iter().map(|&(_, count)| count).max().filter(|&most| most > 1)?;
        let mut best = free.iter().filter(|&&(_, count)| count == most);
        match (best.next(), best.next()) {
            (Some(&(point, _)), None) => Some(point),
            _ => None,
        }
    }

    /// The free point beside a neighbour that fits best to what is around this neighbour, and how well. `None` if the vertex
    /// has a point, if none fits, or if another one fits as well.
    fn by_surroundings(&self, v: u32) -> Option<(usize, Point)> {
        if self.points[v as usize].is_some() {
            return None;
        }
        let free = self.free_points(v);
        let most = free.iter().map(|&(_, count)| count).max()?;
        let best = free.iter().filter(|&&(_, count)| count == most);
        let fits: Vec<(i32, Point)> = best.map(|&(point, _)| (self.fit(v, point), point)).collect();
        let highest = fits.iter().map(|&(fit, _)| fit).max().filter(|&fit| fit > 0)?;
        let mut equal = fits.iter().filter(|&&(fit, _)| fit == highest).map(|&(_, point)| point);
        let point = equal.next()?;
        // Where a ring is about to close, both of its ends are right.
        let is_sure = equal.all(|other| steps(point, other) > 2);
        is_sure.then_some(((highest as usize).min(FITS - 1), point))
    }

    /// How well a point fits to what is around the neighbours of a vertex.
    fn fit(&self, v: u32, point: Point) -> i32 {
        let mut fit = 0;
        for &t in self.lists.of(v as usize) {
            let Some(p) = self.points[t as usize].filter(|&p| steps(p, point) == 1) else {
                continue;
            };
            for q in self.around(p) {
                let Some(&s) = self.vertex_at.get(&q) else { continue };
                if !self.lists.of(t as usize).contains(&s) {
                    continue;
                }
                let is_across = (0..DIMENSIONS).all(|k| p[k] - q[k] == point[k] - p[k]);
                fit += match (is_across, self.shared(v, s, t)) {
                    (true, 0) => 1,
                    (true, _) => -2,
                    (false, 0) => -1,
                    (false, _) => 1,
                };
            }
        }
        fit
    }
}
