//! What a mapping may cost: wall time and threads.

use std::time::{Duration, Instant};

/// Time limit and threads of a mapping run.
///
/// The limit is a guard, not a target: how much an algorithm tries is set by the preset and counted
/// in steps, so that the answer does not depend on the speed of the machine. Only when the limit
/// strikes first does an algorithm stop early and answer with the best it has.
#[derive(Debug, Clone)]
pub struct Budget {
    deadline: Option<Instant>,
    threads: usize,
}

impl Budget {
    /// No time limit, one thread.
    pub fn unlimited() -> Self {
        Budget { deadline: None, threads: 1 }
    }

    /// Stops `limit` from now; one thread.
    pub fn within(limit: Duration) -> Self {
        Budget { deadline: Instant::now().checked_add(limit), threads: 1 }
    }

    /// Sets the number of threads; 0 counts as 1.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Number of threads to use; the answer does not depend on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// True once the time limit has struck.
    pub fn expired(&self) -> bool {
        self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strikes_only_with_a_limit() {
        assert!(!Budget::unlimited().expired());
        assert!(Budget::within(Duration::ZERO).expired());
        assert!(!Budget::within(Duration::from_secs(3600)).expired());
        assert_eq!(Budget::unlimited().with_threads(0).threads(), 1);
    }
}
