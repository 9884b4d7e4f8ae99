//! The box of a given volume that cuts the least of a stencil.

/// Sides of the box of `size` points that cuts the least: in proportion to what crosses each dimension, at least 1 and
/// at most those of the grid. `crossing` is the weight that a plane across each dimension cuts for each of its points,
/// in any unit.
pub(crate) fn best_sides(dims: &[usize], crossing: &[f64], size: f64) -> Vec<f64> {
    let mut sides: Vec<Option<f64>> = vec![None; dims.len()];
    loop {
        let open: Vec<usize> = (0..dims.len()).filter(|&k| sides[k].is_none()).collect();
        let taken: f64 = sides.iter().flatten().product();
        let weight = |k: usize| crossing[k].max(1e-9);
        let product: f64 = open.iter().map(|&k| weight(k)).product();
        let share = 1.0 / open.len().max(1) as f64;
        let unit = libm::pow((size / taken / product).max(0.0), share);
        let wanted = |k: usize| unit * weight(k);
        // Clip the one that is farthest out of its limits, then share what is left again.
        let beyond = |k: usize| (wanted(k) / dims[k] as f64).max(1.0 / wanted(k));
        let worst = open.iter().copied().max_by(|&a, &b| beyond(a).total_cmp(&beyond(b)));
        let Some(k) = worst else { break };
        if beyond(k) <= 1.0 {
            for k in open {
                sides[k] = Some(wanted(k));
            }
            break;
        }
        sides[k] = Some(wanted(k).clamp(1.0, dims[k] as f64));
    }
    sides.into_iter().map(|side| side.unwrap_or(1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_a_cube_where_the_grid_has_room_for_it() {
        let near = |found: Vec<f64>, wanted: &[f64]| {
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        };
        near(best_sides(&[8, 8, 8], &[1.0; 3], 27.0), &[3.0, 3.0, 3.0]);
        // A short dimension is taken as a whole, and the others get more.
        near(best_sides(&[2, 20, 20], &[1.0; 3], 50.0), &[2.0, 5.0, 5.0]);
        // Twice the weight, twice the side.
        near(best_sides(&[20, 20], &[2.0, 1.0], 18.0), &[6.0, 3.0]);
    }
}
