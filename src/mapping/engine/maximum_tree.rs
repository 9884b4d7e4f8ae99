//! The largest of many values that change one at a time: a tree of maxima.

/// A binary tree over the values: each inner entry is the larger of the two below it.
pub(crate) struct Maxima {
    values: usize,
    /// The values, filled up with zeros to a power of two.
    leaves: usize,
    tree: Vec<f64>,
}

impl Maxima {
    /// `count` values, all 0.
    pub(crate) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two().max(1);
        Maxima { values: count, leaves, tree: vec![0.0; 2 * leaves] }
    }

    pub(crate) fn set(&mut self, index: usize, value: f64) {
        let mut k = self.leaves + index;
        self.tree[k] = value;
        while k > 1 {
            k /= 2;
            let larger = self.tree[2 * k].max(self.tree[2 * k + 1]);
            if self.tree[k] == larger {
                break;
            }
            self.tree[k] = larger;
        }
    }

    /// The largest value.
    pub(crate) fn top(&self) -> f64 {
        self.tree[1]
    }

    /// Where the largest value is; of several, the first.
    pub(crate) fn index_of_top(&self) -> usize {
        let mut k = 1;
        while k < self.leaves {
            k = if self.tree[2 * k] >= self.tree[2 * k + 1] { 2 * k } else { 2 * k + 1 };
        }
        k - self.leaves
    }

    /// All indices whose value is at least `least`, ascending.
    pub(crate) fn at_least(&self, least: f64, out: &mut Vec<u32>) {
        out.clear();
        self.collect(1, least, out);
    }

    fn collect(&self, k: usize, least: f64, out: &mut Vec<u32>) {
        if self.tree[k] < least {
            return;
        }
        if k >= self.leaves {
            if k - self.leaves < self.values {
                out.push((k - self.leaves) as u32);
            }
        } else {
            self.collect(2 * k, least, out);
            self.collect(2 * k + 1, least, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maxima_follow_changes() {
        let mut maxima = Maxima::new(5);
        for (k, value) in [3.0, 1.0, 7.0, 7.0, 2.0].into_iter().enumerate() {
            maxima.set(k, value);
        }
        let mut high = Vec::new();
        maxima.at_least(3.0, &mut high);
        assert_eq!(high, [0, 2, 3]);
        assert_eq!((maxima.top(), maxima.index_of_top()), (7.0, 2));
        maxima.set(2, 0.0);
        assert_eq!((maxima.top(), maxima.index_of_top()), (7.0, 3));
        maxima.set(3, 0.5);
        assert_eq!((maxima.top(), maxima.index_of_top()), (3.0, 0));
        maxima.at_least(0.0, &mut high);
        assert_eq!(high, [0, 1, 2, 3, 4], "the zeros behind the values are none of them");
    }
}
