//! In which steps a grid of tasks and a grid of slots are cut into ever smaller blocks.
//!
//! A block of tasks belongs on a block with as many slots. So in each step, both are cut by the same prime number: the
//! blocks of tasks along one dimension of the tasks, the blocks of slots along one dimension of the machine. There are
//! as many tasks as slots, so such a pair of dimensions is there for each prime factor. The steps are chosen from the
//! smallest blocks up, and each keeps the blocks as compact as it can: little traffic leaves a block of tasks, and the
//! slots of a block are close together.

/// Every block is cut into `factor` equal ones: those of tasks along dimension `tasks` of the tasks, and those of slots
/// along dimension `slots` of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) factor: usize,
    pub(super) tasks: usize,
    pub(super) slots: usize,
}

/// The divisions that lead from at most `most` blocks to single tasks and slots. The last division comes first.
/// `traffic` is the mean weight of an edge along each dimension of the tasks, as a share of all.
pub(super) fn divisions(
    tasks: &[usize],
    slots: &[usize],
    traffic: &[f64],
    most: usize,
) -> Vec<Division> {
    let (mut block, mut place) = (vec![1; tasks.len()], vec![1; slots.len()]);
    let mut blocks: usize = tasks.iter().product();
    let mut answer = Vec::new();
    while blocks > most {
        let mut best: Option<((u64, usize, usize), Division)> = None;
        for factor in prime_factors(blocks) {
            let of_tasks = |i: &usize| (tasks[*i] / block[*i]).is_multiple_of(factor);
            let of_slots = |j: &usize| (slots[*j] / place[*j]).is_multiple_of(factor);
            for i in (0..tasks.len()).filter(of_tasks) {
                let surface = surface(&grown(&block, i, factor), tasks, traffic);
                for j in (0..slots.len()).filter(of_slots) {
                    // Of equally compact ones, that along the shortest dimensions: a short dimension of the machine
                    // then takes a short one of the tasks as a whole.
                    let size = surface * extent(&grown(&place, j, factor));
                    // Equal sums of real numbers may differ by a last bit.
                    let rank = (libm::round(size * 1e6) as u64, slots[j], tasks[i]);
                    if best.is_none_or(|(other, _)| rank < other) {
                        best = Some((rank, Division { factor, tasks: i, slots: j }));
                    }
                }
            }
        }
        let Some((_, division)) = best else { break };
        block[division.tasks] *= division.factor;
        place[division.slots] *= division.factor;
        blocks /= division.factor;
        answer.push(division);
    }
    answer
}

/// A block that is `factor` times as long along `dimension`.
fn grown(block: &[usize], dimension: usize, factor: usize) -> Vec<usize> {
    let mut block = block.to_vec();
    block[dimension] *= factor;
    block
}

/// The traffic that leaves a block of tasks for each task, over that of a cube of the same size. A dimension that the
/// block fills has no traffic outside.
fn surface(block: &[usize], tasks: &[usize], traffic: &[f64]) -> f64 {
    let open = (0..block.len()).filter(|&i| block[i] < tasks[i]);
    let leaving: f64 = open.map(|i| traffic[i] / block[i] as f64).sum();
    leaving * side(block)
}

/// The extent of a block of slots, over that of a cube of the same size.
fn extent(place: &[usize]) -> f64 {
    place.iter().sum::<usize>() as f64 / side(place)
}

/// The side of a cube with as many points as a block.
fn side(block: &[usize]) -> f64 {
    let volume = block.iter().product::<usize>() as f64;
    // The crate's own power: the system's may differ between machines by a last bit.
    libm::pow(volume, 1.0 / block.len() as f64)
}

/// The different prime factors of a number, the smallest first.
fn prime_factors(mut number: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut candidate = 2;
    while number > 1 {
        if candidate * candidate > number {
            candidate = number;
        }
        if number.is_multiple_of(candidate) {
            factors.push(candidate);
            while number.is_multiple_of(candidate) {
                number /= candidate;
            }
        }
        candidate += 1;
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_prime() {
        assert!(prime_factors(1).is_empty());
        assert_eq!(prime_factors(360), [2, 3, 5]);
        assert_eq!(prime_factors(2 * 49 * 101), [2, 7, 101]);
    }

    #[test]
    fn all_blocks_are_divided_down_to_single_tasks() {
        for (tasks, slots) in [
            (vec![60, 84], vec![2520, 2]),
            (vec![21, 12, 5, 12], vec![63, 240]),
            (vec![101, 4], vec![2, 202]),
            (vec![16, 32], vec![8, 8, 8]),
        ] {
            let (mut i, mut j) = (tasks.clone(), slots.clone());
            for division in divisions(&tasks, &slots, &[0.25; 4], 1) {
                assert!(i[division.tasks].is_multiple_of(division.factor), "{tasks:?}");
                assert!(j[division.slots].is_multiple_of(division.factor), "{tasks:?}");
                i[division.tasks] /= division.factor;
                j[division.slots] /= division.factor;
            }
            assert!(i.iter().chain(&j).all(|&length| length == 1), "{tasks:?} {slots:?}");
        }
    }

    #[test]
    fn blocks_are_compact() {
        // Whole columns of 7 are smaller blocks than 4 tasks of a row.
        let steps = divisions(&[1200, 7], &[2, 4200], &[0.5, 0.5], 1);
        assert_eq!(steps[0], Division { factor: 2, tasks: 0, slots: 0 });
        assert_eq!(steps[1], Division { factor: 7, tasks: 1, slots: 1 });
        // Heavy traffic stays inside the blocks.
        let steps = divisions(&[8, 8], &[64], &[0.1, 0.9], 1);
        assert!(steps[..2].iter().all(|step| step.tasks == 1), "{steps:?}");
    }
}
