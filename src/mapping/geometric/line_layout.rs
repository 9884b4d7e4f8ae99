//! Lays small grids out along one dimension of a machine.
//!
//! A folding ([`super::folding`]) gives a dimension of the machine one digit of each dimension of the tasks. The
//! combinations of these digits are points of a small grid, which has to be laid out along the dimension, a line
//! or a ring. The layouts that are compared are nested orders of the digits, each with the inner digits running
//! the same way in all blocks or turning around in every second one. The best is improved by exchanges of two
//! points. Limits: with more than [`EXCHANGED`] points, only points that are close are exchanged; with more than
//! [`IMPROVED`], none.

/// The largest number of points of which any two are exchanged.
const EXCHANGED: usize = 64;

/// The largest number of points for which exchanges are tried.
const IMPROVED: usize = 1024;

/// Positions between the points that are exchanged, if there are many points.
const NEAR: usize = 8;

/// A digit of one dimension of the tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Digit {
    /// Values that the digit takes.
    pub(super) size: usize,
    /// Traffic between the points of two neighbouring values.
    pub(super) step: f64,
    /// Traffic between the points of the last value and the first.
    pub(super) wrap: f64,
}

/// A dimension of the machine and the digits that lie along it.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) length: usize,
    pub(super) ring: bool,
    pub(super) digits: Vec<Digit>,
}

/// The position of every point along the line, and the traffic times the distance. The point with the values
/// v0, v1, … of the digits has number v0 + size0 (v1 + size1 (…)).
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) cost: f64,
    pub(super) positions: Vec<u32>,
}

impl Line {
    fn points(&self) -> usize {
        self.digits.iter().map(|d| d.size).product()
    }

    /// The best of the nested layouts.
    pub(super) fn nested(&self) -> Layout {
        let count = self.digits.len();
        let mut best = Layout { cost: f64::INFINITY, positions: Vec::new() };
        let mut order: Vec<usize> = (0..count).collect();
        // Two digits or fewer: all orders and both directions. More: rotations of the order.
        for turn in 0..count.max(1) {
            if turn > 0 {
                order.rotate_left(1);
            }
            for turning in [true, false] {
                let positions = self.positions(&order, turning);
                let cost = self.cost(&positions);
                if cost < best.cost {
                    best = Layout { cost, positions };
                }
                if count < 2 {
                    return best;
                }
            }
        }
        best
    }

    /// The best nested layout, improved by exchanges of two points.
    pub(super) fn best(&self) -> Layout {
        let mut layout = self.nested();
        let points = self.points();
        let simple = self.digits.len() < 2 && !self.digits.iter().any(|d| d.wrap > 0.0);
        if points > IMPROVED || simple {
            return layout;
        }
        self.exchange(&mut layout);
        layout
    }

    /// Exchanges points as long as this lowers the cost.
    fn exchange(&self, layout: &mut Layout) {
        let points = self.points();
        let edges = self.edges();
        let mut point_at = vec![0; points];
        for (point, &position) in layout.positions.iter().enumerate() {
            point_at[position as usize] = point;
        }
        let reach = if points <= EXCHANGED { points } else { NEAR };
        let mut improved = true;
        while improved {
            improved = false;
            for x in 0..points {
                for y in x + 1..points.min(x + 1 + reach) {
                    let (a, b) = (point_at[x], point_at[y]);
                    let before = self.around(&edges, a, b, &layout.positions);
                    layout.positions.swap(a, b);
                    let after = self.around(&edges, a, b, &layout.positions);
                    if after < before - 1e-9 * before.abs() {
                        point_at.swap(x, y);
                        improved = true;
                    } else {
                        layout.positions.swap(a, b);
                    }
                }
            }
        }
        layout.cost = self.cost(&layout.positions);
    }

    /// Positions in nested order: the first digit of `order` runs fastest. With `turning`, a digit runs backwards
    /// in every second block.
    fn positions(&self, order: &[usize], turning: bool) -> Vec<u32> {
        let mut stride = vec![1; self.digits.len()];
        for k in 1..stride.len() {
            stride[k] = stride[k - 1] * self.digits[k - 1].size;
        }
        let value = |point: usize, k: usize| point / stride[k] % self.digits[k].size;
        let at = |point: usize| {
            order.iter().rev().fold(0, |outer, &k| {
                let (size, v) = (self.digits[k].size, value(point, k));
                outer * size + if turning && outer % 2 == 1 { size - 1 - v } else { v }
            })
        };
        (0..self.points()).map(|point| at(point) as u32).collect()
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        let d = a.abs_diff(b) as usize;
        (if self.ring { d.min(self.length - d) } else { d }) as f64
    }

    fn cost(&self, positions: &[u32]) -> f64 {
        let mut sum = 0.0;
        self.each_edge(|a, b, weight| sum += weight * self.distance(positions[a], positions[b]));
        sum
    }

    /// Calls `f` with the two points and the traffic of every edge of the small grid.
    fn each_edge(&self, mut f: impl FnMut(usize, usize, f64)) {
        let points = self.points();
        let mut stride = 1;
        for digit in &self.digits {
            for point in 0..points {
                let v = point / stride % digit.size;
                if v + 1 < digit.size {
                    f(point, point + stride, digit.step);
                } else if digit.wrap > 0.0 && v > 0 {
                    f(point, point - v * stride, digit.wrap);
                }
            }
            stride *= digit.size;
        }
    }

    /// The edges of every point.
    fn edges(&self) -> Vec<Vec<(usize, f64)>> {
        let mut edges = vec![Vec::new(); self.points()];
        self.each_edge(|a, b, weight| {
            edges[a].push((b, weight));
            edges[b].push((a, weight));
        });
        edges
    }

    /// The cost of the edges of two points.
    fn around(&self, edges: &[Vec<(usize, f64)>], a: usize, b: usize, positions: &[u32]) -> f64 {
        let of = |point: usize| -> f64 {
            let far = |&(other, weight): &(usize, f64)| {
                weight * self.distance(positions[point], positions[other])
            };
            edges[point].iter().map(far).sum()
        };
        of(a) + of(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(length: usize, ring: bool, digits: &[(usize, f64, f64)]) -> Line {
        let digits = digits.iter().map(|&(size, step, wrap)| Digit { size, step, wrap }).collect();
        Line { length, ring, digits }
    }

    #[test]
    fn one_digit_runs_along_the_line() {
        let layout = line(8, false, &[(8, 2.0, 0.0)]).best();
        assert_eq!((layout.cost, layout.positions), (14.0, (0..8).collect()));
    }

    #[test]
    fn a_ring_on_a_line_is_flattened() {
        // There and back again: two ends at distance 1, all other steps have distance 2.
        assert_eq!(line(8, false, &[(8, 1.0, 1.0)]).best().cost, 14.0);
        assert_eq!(line(8, true, &[(8, 1.0, 1.0)]).best().cost, 8.0);
    }

    #[test]
    fn a_heavy_digit_runs_inside() {
        // Four values with heavy traffic, and two with little: the line turns around in the middle.
        let layout = line(8, true, &[(4, 10.0, 0.0), (2, 1.0, 0.0)]).best();
        assert_eq!(layout.cost, 60.0 + 1.0 + 3.0 + 3.0 + 1.0);
        // With much traffic between the two values, these are neighbours.
        let layout = line(8, true, &[(4, 1.0, 0.0), (2, 10.0, 0.0)]).best();
        assert!(layout.cost <= 40.0 + 12.0, "{layout:?}");
    }
}
