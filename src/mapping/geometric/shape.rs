//! A grid that was recognised in a graph.

/// A grid recognised in a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GridShape {
    /// Points in each dimension.
    pub(crate) dims: Vec<usize>,
    /// Whether each dimension is a ring.
    pub(crate) wrap: Vec<bool>,
    /// `coordinates[k][v]`: position of vertex v in dimension k.
    pub(crate) coordinates: Vec<Vec<u32>>,
}

impl GridShape {
    /// Index of a vertex's point, the last dimension fastest.
    pub(crate) fn index(&self, v: usize) -> usize {
        self.dims.iter().zip(&self.coordinates).fold(0, |i, (&d, c)| i * d + c[v] as usize)
    }

    /// The dimension along which two vertices differ; `None` if there is none, or more than one.
    pub(crate) fn line(&self, u: usize, v: usize) -> Option<usize> {
        let mut along = (0..).zip(&self.coordinates).filter(|(_, at)| at[u] != at[v]);
        match (along.next(), along.next()) {
            (Some((k, _)), None) => Some(k),
            _ => None,
        }
    }

    /// Steps between two vertices along dimension `k`.
    pub(crate) fn step(&self, k: usize, u: usize, v: usize) -> usize {
        let d = self.coordinates[k][u].abs_diff(self.coordinates[k][v]) as usize;
        if self.wrap[k] { d.min(self.dims[k] - d) } else { d }
    }
}
