//! Tables that choose an algorithm by the number of tasks and the bytes of a call.
//!
//! A table is a list of rows by number of tasks, and a row is a list of algorithms by bytes. A row or
//! an algorithm holds for numbers below its bound.

/// An algorithm by the name that Open MPI gives it (`ompi_info --param coll tuned`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Algorithm {
    Linear,
    LinearSync,
    Nonoverlapping,
    RecursiveDoubling,
    RecursiveHalving,
    Ring,
    SegmentedRing,
    Rabenseifner,
    Bruck,
    Chain,
    Pipeline,
    SplitBinary,
    Binary,
    InOrderBinary,
    Binomial,
    Knomial,
    ScatterAllgather,
    Neighbor,
    TwoTasks,
    Butterfly,
    Tree,
}

/// Algorithms by bytes.
pub(super) type Row = &'static [(u64, Algorithm)];
/// Rows by number of tasks.
pub(super) type Table = &'static [(u32, Row)];

/// As the bound of the last row: any number of tasks.
pub(super) const ANY: u32 = u32::MAX;
/// As the bound of the last algorithm: any number of bytes.
pub(super) const MORE: u64 = u64::MAX;

/// The entry for `size` tasks and `bytes`; linear if the table has none.
pub(super) fn choose(table: Table, size: u32, bytes: u64) -> Algorithm {
    table
        .iter()
        .find(|&&(below, _)| size < below || below == ANY)
        .and_then(|(_, row)| row.iter().find(|&&(below, _)| bytes < below || below == MORE))
        .map_or(Algorithm::Linear, |&(_, algorithm)| algorithm)
}
