//! Permutations of 0 … n − 1 as lists: entry i is where i goes.

/// Whether every number below the length of the list stands in it exactly once.
pub fn is_permutation(list: &[u32]) -> bool {
    list.iter().all(|&to| (to as usize) < list.len()) && is_injective(list, list.len())
}

/// Whether all numbers of the list are below `bound` and each occurs at most once. A list of the slots of
/// tasks has this property, also when there are more slots than tasks.
pub fn is_injective(list: &[u32], bound: usize) -> bool {
    let mut seen = vec![false; bound];
    list.iter().all(|&to| seen.get_mut(to as usize).is_some_and(|s| !std::mem::replace(s, true)))
}

/// The permutation that changes nothing.
pub fn identity(length: usize) -> Vec<u32> {
    (0..length as u32).collect()
}

/// The permutation that undoes another one.
pub fn inverse(list: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; list.len()];
    (0..).zip(list).for_each(|(from, &to)| inverse[to as usize] = from);
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_once() {
        assert!(is_permutation(&[]));
        assert!(is_permutation(&[2, 0, 1]));
        assert!(is_permutation(&identity(9)));
        assert!(!is_permutation(&[0, 0]), "twice");
        assert!(!is_permutation(&[0, 2]), "beyond the end");
        assert_eq!(inverse(&[2, 0, 1]), [1, 2, 0]);
    }

    #[test]
    fn more_slots_than_tasks() {
        assert!(is_injective(&[5, 0], 6));
        assert!(!is_injective(&[5, 5], 6));
        assert!(!is_injective(&[6], 6));
    }
}
