//! Folds a grid of tasks onto a mesh or torus of slots whose dimensions do not fit it.
//!
//! Every dimension of the tasks is written as a number of several digits, of which each dimension of the machine
//! holds one. A digit runs backwards in every second block (reflected code), so that one step along a dimension of
//! the tasks changes one digit by 1. The digits that one dimension of the machine holds are laid out along it by
//! [`super::line_layout`]. A 4×8×16 grid so fits an 8×8×8 torus: 16 = 8 · 2, and the digit with 2 values
//! shares a dimension of the machine with the dimension of 4 tasks. The cost of a choice of digits is a sum over the
//! dimensions of the machine, so very many choices are compared without placing a task.
//! Foldings that keep all neighbours adjacent are a special case ([`super::embed`] finds them faster).
//! Limits: at most [`CHOICES`] choices are compared; the tasks may be fewer than the slots.

use super::GridShape;
use super::line_layout::{Digit, Layout, Line};
use crate::mapping::engine::Csr;
use crate::topology::{Grid, Topology};

/// Choices of digits that are compared.
const CHOICES: usize = 4000;

/// Steps of the search for choices.
const STEPS: usize = 400_000;

/// Choices that are improved and evaluated exactly.
const FINALISTS: usize = 8;

/// The slot of every vertex with the least total distance of all foldings that were compared; `None` if the
/// machine is too small for every folding.
pub(crate) fn fold_on_grid(graph: &Csr, shape: &GridShape, machine: &Grid) -> Option<Vec<u32>> {
    let folds = Folds::new(graph, shape, machine);
    let mut choices = Choices::new(&folds);
    choices.extend(0, 0, *shape.dims.first()?);
    let finalists = choices.best.into_iter().map(|(_, sizes)| folds.improved(sizes));
    let placed = finalists.filter_map(|folding| folds.slots(&folding));
    placed.min_by_key(|slots| distance(graph, machine, slots))
}

/// The weights of all edges times the distances of their ends.
pub(crate) fn distance(graph: &Csr, machine: &Grid, slots: &[u32]) -> i128 {
    let of = |v: usize| -> i128 {
        let arcs = graph.arcs(v).filter(|&(t, _)| t < v);
        let far = |(t, w)| {
            i128::from(w) * i128::from(machine.distance(slots[v] as usize, slots[t] as usize))
        };
        arcs.map(far).sum()
    };
    (0..graph.len()).map(of).sum()
}

/// The grid, the machine, and the traffic along each dimension of the grid.
struct Folds<'a> {
    shape: &'a GridShape,
    machine: &'a Grid,
    /// Traffic of one step along each dimension of the tasks, as a mean.
    traffic: Vec<f64>,
}

/// Digits for all dimensions, and their layout.
struct Folding {
    /// `sizes[i][j]`: values of the digit of dimension i of the tasks that dimension j of the machine holds.
    sizes: Vec<Vec<usize>>,
    /// `orders[i]`: the dimensions of the machine that hold a digit of dimension i, the fastest digit first.
    orders: Vec<Vec<usize>>,
}

impl<'a> Folds<'a> {
    fn new(graph: &Csr, shape: &'a GridShape, machine: &'a Grid) -> Self {
        let dimensions = shape.dims.len();
        let mut sums = vec![0.0; dimensions];
        for v in 0..graph.len() {
            for (t, w) in graph.arcs(v) {
                for (k, sum) in sums.iter_mut().enumerate() {
                    let (a, b) =
                        (shape.coordinates[k][v] as usize, shape.coordinates[k][t] as usize);
                    let d = a.abs_diff(b);
                    let d = if shape.wrap[k] { d.min(shape.dims[k] - d) } else { d };
                    *sum += w as f64 * d as f64;
                }
            }
        }
        let traffic = (0..dimensions).map(|k| {
            let length = shape.dims[k] as f64;
            let steps = if shape.wrap[k] { length } else { length - 1.0 };
            sums[k] / (2.0 * steps.max(1.0) * graph.len() as f64 / length)
        });
        Folds { shape, machine, traffic: traffic.collect() }
    }

    /// Digits in the order that is usually best: those that are alone in their dimension of the machine run
    /// fastest, because their steps are the most frequent.
    fn in_usual_order(&self, sizes: Vec<Vec<usize>>) -> Folding {
        let sharing = |j: usize| sizes.iter().filter(|row| row[j] > 1).count();
        let order = |row: &Vec<usize>| {
            let mut order: Vec<usize> = (0..row.len()).filter(|&j| row[j] > 1).collect();
            order.sort_by_key(|&j| (sharing(j), std::cmp::Reverse(row[j])));
            order
        };
        let orders = sizes.iter().map(order).collect();
        Folding { sizes, orders }
    }

    /// The dimension `j` of the machine with the digits that it holds.
    fn line(&self, folding: &Folding, j: usize) -> Line {
        let all: usize = folding.sizes.iter().map(|row| row[j]).product();
        let digits = (0..self.shape.dims.len()).filter(|&i| folding.sizes[i][j] > 1).map(|i| {
            let (size, extent) = (folding.sizes[i][j], self.shape.dims[i]);
            let faster = folding.orders[i].iter().take_while(|&&k| k != j);
            let inner: usize = faster.map(|&k| folding.sizes[i][k]).product();
            // Steps along one line of tasks in which this digit changes, and no slower one.
            let steps = (extent - 1) / inner - (extent - 1) / (inner * size);
            let lines: f64 = self.shape.dims.iter().product::<usize>() as f64 / extent as f64;
            // Every value of the other digits of this dimension of the machine gets the same share.
            let share = self.traffic[i] * lines / (all / size) as f64;
            let last = reflected((extent - 1) / inner, size);
            Digit {
                size,
                step: share * steps as f64 / (size - 1) as f64,
                wrap: if self.shape.wrap[i] && last > 0 { share } else { 0.0 },
            }
        });
        Line {
            length: self.machine.dims()[j],
            ring: self.machine.wrap()[j],
            digits: digits.collect(),
        }
    }

    fn cost(&self, folding: &Folding) -> f64 {
        (0..self.machine.dims().len()).map(|j| self.line(folding, j).nested().cost).sum()
    }

    /// The digits in the best order that exchanges of neighbours find.
    fn improved(&self, sizes: Vec<Vec<usize>>) -> Folding {
        let mut folding = self.in_usual_order(sizes);
        let mut cost = self.cost(&folding);
        let mut improved = true;
        while improved {
            improved = false;
            for i in 0..folding.orders.len() {
                for k in 1..folding.orders[i].len() {
                    folding.orders[i].swap(k - 1, k);
                    let other = self.cost(&folding);
                    match other < cost - 1e-9 * cost {
                        true => (cost, improved) = (other, true),
                        false => folding.orders[i].swap(k - 1, k),
                    }
                }
            }
        }
        folding
    }

    /// The slot of every vertex.
    fn slots(&self, folding: &Folding) -> Option<Vec<u32>> {
        let count = self.machine.dims().len();
        let layouts: Vec<Layout> = (0..count).map(|j| self.line(folding, j).best()).collect();
        let mut point = vec![0u32; count];
        let mut number = vec![0usize; count];
        let vertices = self.shape.coordinates.first()?.len();
        (0..vertices)
            .map(|v| {
                let mut stride = vec![1; count];
                number.fill(0);
                for (i, order) in folding.orders.iter().enumerate() {
                    let mut index = self.shape.coordinates[i][v] as usize;
                    for &j in order {
                        let size = folding.sizes[i][j];
                        number[j] += stride[j] * reflected(index, size);
                        stride[j] *= size;
                        index /= size;
                    }
                }
                for j in 0..count {
                    point[j] = *layouts[j].positions.get(number[j]).unwrap_or(&0);
                }
                self.machine.slot_at(&point).map(|slot| slot as u32)
            })
            .collect()
    }
}

/// The fastest digit of `index` in the reflected code: it runs backwards in every second block.
fn reflected(index: usize, size: usize) -> usize {
    let digit = index % size;
    if index / size % 2 == 1 { size - 1 - digit } else { digit }
}

/// The search for the sizes of the digits.
struct Choices<'a> {
    folds: &'a Folds<'a>,
    sizes: Vec<Vec<usize>>,
    /// Slots of each dimension of the machine divided by the sizes of the digits that it holds already.
    room: Vec<usize>,
    /// The cheapest choices with their costs, the cheapest first.
    best: Vec<(f64, Vec<Vec<usize>>)>,
    steps: usize,
    found: usize,
}

impl<'a> Choices<'a> {
    fn new(folds: &'a Folds<'a>) -> Self {
        let machine = folds.machine.dims();
        Choices {
            folds,
            sizes: vec![vec![1; machine.len()]; folds.shape.dims.len()],
            room: machine.to_vec(),
            best: Vec::new(),
            steps: 0,
            found: 0,
        }
    }

    /// Chooses the digit of dimension `i` of the tasks in dimension `j` of the machine, and all digits after
    /// it. `rest` is the number of values that the digits from `j` on must have together.
    fn extend(&mut self, i: usize, j: usize, rest: usize) {
        self.steps += 1;
        if self.steps > STEPS || self.found >= CHOICES {
            return;
        }
        let dims = &self.folds.shape.dims;
        if rest == 1 {
            return match dims.get(i + 1) {
                Some(&next) => self.extend(i + 1, 0, next),
                None => self.complete(),
            };
        }
        let room: u128 = self.room.iter().map(|&r| r as u128).product();
        let wanted: u128 =
            dims[i + 1..].iter().map(|&d| d as u128).product::<u128>() * rest as u128;
        if j == self.room.len() || room < wanted {
            return;
        }
        let whole = self.room[j];
        // The largest digits first: they leave the fewest steps between dimensions of the machine.
        for size in (1..=whole.min(rest)).rev() {
            // A smaller digit that leaves the same rest serves as well.
            if size > 1 && rest.div_ceil(size) == rest.div_ceil(size - 1) {
                continue;
            }
            self.sizes[i][j] = size;
            self.room[j] = whole / size;
            self.extend(i, j + 1, rest.div_ceil(size));
        }
        self.sizes[i][j] = 1;
        self.room[j] = whole;
    }

    fn complete(&mut self) {
        self.found += 1;
        let folding = self.folds.in_usual_order(self.sizes.clone());
        let cost = self.folds.cost(&folding);
        let at = self.best.partition_point(|(other, _)| *other <= cost);
        if at < FINALISTS {
            self.best.insert(at, (cost, folding.sizes));
            self.best.truncate(FINALISTS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::mapping::geometric::detect;
    use crate::matrix::synthetic::pattern;

    /// The total distance of the best folding, and whether every vertex has a slot of its own.
    fn folded(text: &str, machine: &Grid) -> i128 {
        let graph = pattern(&format!("{text},shuffle=2")).unwrap();
        let csr = Csr::from_graph(&graph, Scale::new(graph.total_weight(), 1));
        let slots = fold_on_grid(&csr, &detect(&csr).unwrap(), machine).unwrap();
        let mut sorted = slots.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), graph.vertices(), "{text} on {}", machine.name());
        let weight = i128::from(csr.arcs.weight(0));
        distance(&csr, machine, &slots) / weight
    }

    #[test]
    fn boxes_are_folded_onto_cubes() {
        for (text, machine, most) in [
            // Found by independent searches of hours: 1344, 1024, 12608, 22928 and 2500.
            ("stencil:4x8x16", vec![8, 8, 8], 1344),
            ("stencil:16x32", vec![8, 8, 8], 1008),
            ("stencil:8x16x32", vec![16, 16, 16], 11_776),
            ("stencil:8x8x8x8", vec![16, 16, 16], 22_528),
            ("torus:32x32", vec![8, 8, 16], 2176),
        ] {
            let found = folded(text, &Grid::torus(&machine).unwrap());
            assert!(found <= most, "{text}: {found}");
        }
    }

    #[test]
    fn machines_may_be_larger_than_the_grid() {
        assert_eq!(folded("stencil:5x5", &Grid::mesh(&[6, 7]).unwrap()), 40);
        assert!(folded("stencil:7x8", &Grid::torus(&[4, 4, 4]).unwrap()) <= 97 + 30);
        assert!(folded("stencil:3x3x3x3", &Grid::mesh(&[10, 9]).unwrap()) <= 3 * 216);
    }

    #[test]
    fn a_machine_without_room_is_refused() {
        let graph = pattern("stencil:5x5").unwrap();
        let csr = Csr::from_graph(&graph, Scale::new(graph.total_weight(), 1));
        let shape = detect(&csr).unwrap();
        assert!(fold_on_grid(&csr, &shape, &Grid::mesh(&[4, 6]).unwrap()).is_none());
        assert!(fold_on_grid(&csr, &shape, &Grid::mesh(&[2, 2, 2, 3]).unwrap()).is_none());
    }
}
