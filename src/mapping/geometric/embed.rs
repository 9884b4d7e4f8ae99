//! Embeds a grid of tasks in a mesh or torus of slots so that neighbours stay neighbours.
//!
//! A dimension of the tasks may follow one dimension of the slots with the same length. It may also wind
//! through several dimensions whose lengths multiply to its own length, one line forwards and the next one
//! backwards. A ring of four is a square, and so counts as two dimensions of two. An 8×8 mesh therefore fits
//! into a 4×4×4 torus with all neighbours adjacent. A ring of tasks may also run through lines of slots if one of
//! them has an even length: it leaves the first column free, and comes back along it. Through several odd rings, a ring of
//! tasks winds: it goes around all but one step of one ring, one step along the others, and so on. Limit: rings of tasks
//! through several odd dimensions are not embedded if one of these is no ring.

use super::GridShape;
use crate::base::sorting::Arrange;
use crate::topology::Grid;

/// A slot dimension, or half of a ring of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    length: usize,
    wrap: bool,
    /// Dimension of the machine.
    dimension: usize,
    /// 0 for a whole dimension; 1 and 2 for the two halves of a ring of four.
    half: u8,
}

/// The slot of every vertex, or `None` if there is no embedding with all steps 1.
pub(crate) fn place_on_grid(shape: &GridShape, machine: &Grid) -> Option<Vec<u32>> {
    let mut axes = Vec::new();
    for (k, (&length, &wrap)) in machine.dims().iter().zip(machine.wrap()).enumerate() {
        match length {
            0 | 1 => {}
            4 if wrap => {
                axes.push(Axis { length: 2, wrap: false, dimension: k, half: 1 });
                axes.push(Axis { length: 2, wrap: false, dimension: k, half: 2 });
            }
            _ => axes.push(Axis { length, wrap, dimension: k, half: 0 }),
        }
    }
    axes.arrange_by_key(|a| std::cmp::Reverse((a.length, a.wrap)));
    // Rings before lines, and then long dimensions before short ones: they have the fewest choices.
    let mut order: Vec<usize> = (0..shape.dims.len()).collect();
    order.arrange_by_key(|&k| std::cmp::Reverse((shape.wrap[k], shape.dims[k])));
    let mut assignment = Assignment {
        shape,
        axes: &axes,
        used: vec![false; axes.len()],
        chosen: vec![Vec::new(); shape.dims.len()],
        tries: 100_000,
    };
    if !assignment.assign(&order) {
        return None;
    }
    let chosen = assignment.chosen;
    let n = shape.coordinates.first()?.len();
    let mut point = vec![0u32; machine.dims().len()];
    (0..n)
        .map(|v| {
            let mut bits = vec![0u8; point.len()];
            point.fill(0);
            for (k, snake) in chosen.iter().enumerate() {
                let mut index = shape.coordinates[k][v] as usize;
                if shape.wrap[k] && winds(snake) {
                    wind(index, snake, &mut point);
                    continue;
                }
                if shape.wrap[k] {
                    index = on_cycle(index, snake);
                }
                let mut below: usize = snake.iter().map(|a| a.length).product();
                for axis in snake {
                    // The direction changes with every step of the axes outside (reflected code).
                    let backwards = index / below % 2 == 1;
                    below /= axis.length;
                    let digit = index / below % axis.length;
                    let x = if backwards { axis.length - 1 - digit } else { digit };
                    match axis.half {
                        0 => point[axis.dimension] = x as u32,
                        half => bits[axis.dimension] |= (x as u8) << (half - 1),
                    }
                }
            }
            for (dimension, &b) in bits.iter().enumerate() {
                if b != 0 {
                    point[dimension] = [0u32, 1, 3, 2][usize::from(b)];
                }
            }
            machine.slot_at(&point).map(|s| s as u32)
        })
        .collect()
}

/// A search for axes of the machine for every dimension of the tasks.
struct Assignment<'a> {
    shape: &'a GridShape,
    axes: &'a [Axis],
    used: Vec<bool>,
    /// The axes of every dimension of the tasks.
    chosen: Vec<Vec<Axis>>,
    /// Steps that are left before the search gives up.
    tries: u32,
}

impl Assignment<'_> {
    /// Gives every task dimension of `order` a list of unused axes whose lengths multiply to its own.
    fn assign(&mut self, order: &[usize]) -> bool {
        let Some((&k, rest)) = order.split_first() else {
            return self.used.iter().all(|&u| u);
        };
        self.extend((k, rest), self.shape.dims[k], 0, &mut Vec::new())
    }

    /// Goes on with the axes from number `from` on for dimension `k`, of whose extent the factor
    /// `missing` is left; then with the dimensions of `rest`.
    fn extend(
        &mut self,
        (k, rest): (usize, &[usize]),
        missing: usize,
        from: usize,
        picked: &mut Vec<usize>,
    ) -> bool {
        if self.tries == 0 {
            return false;
        }
        self.tries -= 1;
        let axes = self.axes;
        if missing == 1 {
            let snake: Vec<Axis> = picked.iter().map(|&i| axes[i]).collect();
            let Some(snake) = closes(snake, self.shape.wrap[k]) else { return false };
            self.chosen[k] = snake;
            return self.assign(rest);
        }
        for i in from..axes.len() {
            // Equal axes are interchangeable: take the first free one only.
            let twin = (from..i).any(|j| !self.used[j] && same(axes[i], axes[j]));
            if self.used[i] || twin || !missing.is_multiple_of(axes[i].length) {
                continue;
            }
            self.used[i] = true;
            picked.push(i);
            if self.extend((k, rest), missing / axes[i].length, i + 1, picked) {
                return true;
            }
            picked.pop();
            self.used[i] = false;
        }
        false
    }
}

fn same(a: Axis, b: Axis) -> bool {
    (a.length, a.wrap) == (b.length, b.wrap)
}

/// A line runs through any axes. A ring needs one axis that is a ring, or several axes of which the outermost is
/// even, or several odd rings, the longest first. Outermost axes that are rings or of length two come first: there a snake
/// comes back by itself.
fn closes(mut snake: Vec<Axis>, ring: bool) -> Option<Vec<Axis>> {
    if !ring {
        return Some(snake);
    }
    if let [only] = snake.as_slice() {
        return only.wrap.then_some(snake);
    }
    let even = |a: &Axis| a.length.is_multiple_of(2);
    let outer = snake.iter().position(|a| even(a) && comes_back(*a));
    if let Some(outer) = outer.or_else(|| snake.iter().position(even)) {
        snake.swap(0, outer);
        return Some(snake);
    }
    snake.arrange_by_key(|a| std::cmp::Reverse(a.length));
    winds(&snake).then_some(snake)
}

/// True for several axes that are odd rings.
fn winds(axes: &[Axis]) -> bool {
    axes.len() > 1 && axes.iter().all(|a| a.wrap && a.length % 2 == 1)
}

/// Sets the coordinates of the task number `index` of a ring that winds through odd rings, none of which is longer than the
/// first one.
///
/// The rings before the last one are a ring of rows already. The task goes around the last ring in each row, forwards in the
/// first rows and backwards in all others, and stops one step before the column in which it began. After all rows it must be in
/// the first column again, which tells how many rows are forwards: as there are at least as many rows as columns, and the number
/// of columns is odd, there always is such a number.
fn wind(mut index: usize, rings: &[Axis], point: &mut [u32]) {
    for (k, ring) in rings.iter().enumerate().skip(1).rev() {
        let (rows, columns) = (rings[..k].iter().map(|a| a.length).product::<usize>(), ring.length);
        let (row, step) = (index / columns, index % columns);
        let closes =
            |&forwards: &usize| (columns * rows + 2 * forwards - rows).is_multiple_of(columns);
        let forwards = (0..=rows).find(closes).unwrap_or(0);
        // Each row forwards begins one column before the last one, and each row backwards one column after it.
        let before = row.min(forwards);
        let begin = columns * rows + (row - before) - before;
        let column = if row < forwards { begin + step } else { begin + columns - step };
        point[ring.dimension] = (column % columns) as u32;
        index = row;
    }
    if let Some(first) = rings.first() {
        point[first.dimension] = index as u32;
    }
}

/// True if the ends of an even axis are neighbours.
fn comes_back(axis: Axis) -> bool {
    axis.wrap || axis.length == 2
}

/// The position along the snake of the task number `index` of a ring. Where the ends of the outermost axis are not
/// neighbours, the snake turns around before the first column, and the ring returns along this column.
fn on_cycle(index: usize, snake: &[Axis]) -> usize {
    let Some((&outer, inner)) = snake.split_first() else { return index };
    if inner.is_empty() || comes_back(outer) {
        return index;
    }
    let columns: usize = inner.iter().map(|a| a.length).product();
    let turned = outer.length * (columns - 1);
    let (row, column) = match index.checked_sub(turned) {
        Some(back) => (outer.length - 1 - back, 0),
        None => {
            let (row, step) = (index / (columns - 1), index % (columns - 1));
            (row, if row % 2 == 0 { step + 1 } else { columns - 1 - step })
        }
    };
    // The snake runs through every second row backwards.
    row * columns + if row % 2 == 0 { column } else { columns - 1 - column }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use crate::mapping::engine::{Csr, Scale};
    use crate::mapping::geometric::detect;
    use crate::matrix::synthetic::pattern;
    use crate::topology::Topology;

    #[test]
    fn neighbours_stay_neighbours() {
        for (text, machine) in [
            ("stencil:8x8", Grid::torus(&[4, 4, 4])),
            ("stencil:8x8", Grid::mesh(&[8, 8])),
            ("stencil:6x5x4", Grid::mesh(&[4, 5, 6])),
            ("torus:8x8x8", Grid::torus(&[8, 8, 8])),
            ("torus:4x4x4", Grid::torus(&[4, 4, 4])),
            ("torus:5x3x7", Grid::torus(&[3, 7, 5])),
            ("stencil:64x8", Grid::torus(&[8, 8, 8])),
            ("stencil:512", Grid::mesh(&[8, 8, 8])),
            ("torus:64x5", Grid::torus(&[8, 8, 5])),
            ("torus:12x5", Grid::torus(&[2, 6, 5])),
            ("fft:64", Grid::hypercube(6)),
            ("stencil:8x8", Grid::hypercube(6)),
            ("fft:64", Grid::torus(&[4, 4, 4])),
            ("torus:24x5", Grid::new(&[4, 6, 5], &[false, false, true])),
            ("torus:64x3", Grid::new(&[8, 8, 3], &[false, false, true])),
            ("torus:20x7", Grid::new(&[5, 4, 7], &[false, false, true])),
            ("torus:72x5", Grid::new(&[6, 4, 3, 5], &[false, false, false, true])),
            ("torus:15x15", Grid::torus(&[3, 5, 3, 5])),
            ("torus:105x5", Grid::torus(&[3, 7, 5, 5])),
            ("torus:27x25", Grid::torus(&[3, 5, 3, 3, 5])),
        ] {
            let (graph, machine) =
                (pattern(&format!("{text},shuffle=2")).unwrap(), machine.unwrap());
            let csr = Csr::from_graph(&graph, Scale::new(graph.total_weight(), 1));
            let slots = place_on_grid(&detect(&csr).unwrap(), &machine).unwrap();
            let mut sorted = slots.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), graph.vertices(), "{text} on {}", machine.name());
            for v in 0..graph.vertices() {
                for &t in graph.neighbours(v) {
                    let d = machine.distance(slots[v] as usize, slots[t as usize] as usize);
                    assert_eq!(d, 1, "{text} on {}", machine.name());
                }
            }
        }
    }

    #[test]
    fn grids_that_do_not_fit_are_refused() {
        let graph = pattern("torus:6x6").unwrap();
        let csr = Csr::from_graph(&graph, Scale::new(graph.total_weight(), 1));
        let shape = detect(&csr).unwrap();
        assert!(place_on_grid(&shape, &Grid::mesh(&[6, 6]).unwrap()).is_none());
        assert!(place_on_grid(&shape, &Grid::torus(&[4, 9]).unwrap()).is_none());
    }

    /// Boxes whose dimensions are products of axes of the machine, in all ways to group two to four axes.
    #[test]
    fn products_of_foldings_are_found() {
        let mut random = SplitMix64::new(5);
        for _ in 0..60 {
            let axes: Vec<usize> = (0..2 + random.below(3)).map(|_| 2 + random.below(4)).collect();
            let mut dims = vec![1; 1 + random.below(axes.len())];
            for &length in &axes {
                let k = random.below(dims.len());
                dims[k] *= length;
            }
            dims.retain(|&d| d > 1);
            let wrap: Vec<bool> = axes.iter().map(|_| random.below(2) == 1).collect();
            let machine = Grid::new(&axes, &wrap).unwrap();
            let text = dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            let graph = pattern(&format!("stencil:{text}")).unwrap();
            let count = graph.vertices();
            let shape = GridShape {
                coordinates: numbered(&dims, count),
                wrap: vec![false; dims.len()],
                dims,
            };
            let slots = place_on_grid(&shape, &machine).unwrap();
            for v in 0..count {
                for &t in graph.neighbours(v) {
                    let d = machine.distance(slots[v] as usize, slots[t as usize] as usize);
                    assert_eq!(d, 1, "{text} on {}", machine.name());
                }
            }
        }
    }

    /// The coordinates of tasks that are numbered row by row.
    fn numbered(dims: &[usize], count: usize) -> Vec<Vec<u32>> {
        let of = |k: usize| {
            let below: usize = dims[k + 1..].iter().product();
            (0..count).map(|v| (v / below % dims[k]) as u32).collect()
        };
        (0..dims.len()).map(of).collect()
    }
}
