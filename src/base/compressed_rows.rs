//! Lists of entries, row after row, with the place at which each row begins.

/// Where each row begins, and the end of the last one, if row `r` has as many entries as `rows` has
/// numbers `r`. All of them are below `count`.
pub fn offsets(count: usize, rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut offsets = vec![0; count + 1];
    rows.into_iter().for_each(|row| offsets[row + 1] += 1);
    for row in 0..count {
        offsets[row + 1] += offsets[row];
    }
    offsets
}

/// Whether these are square rows: `offsets` ascend from 0 to the number of columns, and the columns of
/// each row ascend strictly and are less than there are rows.
pub fn are_valid(offsets: &[usize], columns: &[u32]) -> bool {
    let rows = offsets.len().saturating_sub(1);
    offsets.first() == Some(&0)
        && offsets.last() == Some(&columns.len())
        && offsets.windows(2).all(|w| w[0] <= w[1] && w[1] <= columns.len())
        && offsets.windows(2).all(|w| {
            let row = &columns[w[0]..w[1]];
            row.windows(2).all(|w| w[0] < w[1]) && row.iter().all(|&c| (c as usize) < rows)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_begin_where_the_ones_before_end() {
        assert_eq!(offsets(3, [2, 0, 2]), [0, 1, 1, 3]);
        assert_eq!(offsets(0, []), [0]);
        assert!(are_valid(&[0, 1, 1, 3], &[2, 0, 1]));
        assert!(!are_valid(&[0, 1, 1, 3], &[2, 1, 1]), "twice");
        assert!(!are_valid(&[0, 1, 1, 3], &[3, 0, 1]), "no such column");
        assert!(!are_valid(&[0, 4, 1, 3], &[2, 0, 1]), "not ascending");
        assert!(!are_valid(&[], &[]));
    }
}
