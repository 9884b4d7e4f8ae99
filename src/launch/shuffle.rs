//! Random permutations, for safety tests.

use crate::base::random::SplitMix64;

/// A permutation of `0..size` that depends on the seed only; entry t is the process of task t. The
/// tasks in `fixed` keep their process. Some task moves if two are not fixed.
pub fn random_permutation(size: usize, seed: u64, fixed: &[u32]) -> Vec<u32> {
    let movable: Vec<u32> = (0..size as u32).filter(|task| !fixed.contains(task)).collect();
    let mut processes = movable.clone();
    let mut random = SplitMix64::new(seed ^ 0x9e37_79b9_7f4a_7c15);
    for i in (1..processes.len()).rev() {
        // The remainder of the division is used, so that a seed gives the same ranks in all versions.
        processes.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    // A shuffle that moves nothing tests nothing.
    if processes == movable && processes.len() > 1 {
        processes.rotate_left(1);
    }
    let mut permutation: Vec<u32> = (0..size as u32).collect();
    for (&task, &process) in movable.iter().zip(&processes) {
        permutation[task as usize] = process;
    }
    permutation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_are_permutations_that_keep_fixed_tasks() {
        for size in [1, 2, 7, 64] {
            for seed in 0..5 {
                let shuffled = random_permutation(size, seed, &[0, 3]);
                assert!(crate::base::permutation::is_permutation(&shuffled));
                assert_eq!(shuffled[0], 0);
                assert!(size <= 3 || shuffled[3] == 3);
                assert_eq!(shuffled, random_permutation(size, seed, &[0, 3]), "not deterministic");
                assert!(
                    size <= 3 || shuffled.iter().zip(0..).any(|(&process, task)| process != task)
                );
            }
        }
        for seed in 0..20 {
            assert_eq!(random_permutation(3, seed, &[0]), [0, 2, 1], "seed {seed}");
        }
        assert_ne!(random_permutation(64, 1, &[]), random_permutation(64, 2, &[]));
    }

    #[test]
    fn a_seed_gives_the_same_permutation_in_every_version() {
        assert_eq!(random_permutation(8, 1, &[0]), [0, 1, 4, 6, 5, 3, 7, 2]);
    }
}
