//! The time limit and the number of threads of a mapping run.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit and threads of a mapping run.
///
/// The preset sets how much an algorithm tries, as a number of steps, so the answer does not depend on the
/// speed of the machine. If the time limit is reached before, the algorithm stops early and answers with the
/// best mapping so far.
#[derive(Clone)]
pub struct Budget {
    deadline: Option<Instant>,
    threads: usize,
    uses_all: bool,
    progress: Option<Arc<Progress>>,
}

/// The function that progress is reported to: the stage, the steps that are done, and the steps in all. It
/// may be called from any thread.
pub type Progress = dyn Fn(&'static str, u64, u64) + Send + Sync;

impl Budget {
    /// No time limit, one thread.
    pub fn unlimited() -> Self {
        Budget { deadline: None, threads: 1, uses_all: false, progress: None }
    }

    /// A time limit of `limit` from now, and one thread.
    pub fn within(limit: Duration) -> Self {
        Budget { deadline: Instant::now().checked_add(limit), ..Budget::unlimited() }
    }

    /// Sets the number of threads; 0 counts as 1.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Sets the function that progress is reported to. Long work reports some hundred times, and at most
    /// once in a few milliseconds.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Reports progress.
    #[inline]
    pub fn report(&self, stage: &'static str, done: u64, of: u64) {
        if let Some(progress) = &self.progress {
            progress(stage, done, of);
        }
    }

    /// Number of threads to use; the answer does not depend on it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The default algorithm uses all of the time with the preset `strong`. The answer then depends on the speed of the
    /// machine.
    #[must_use]
    pub fn using_all(mut self) -> Self {
        self.uses_all = true;
        self
    }

    /// The same, but the default algorithm ends when it has made its answers: other steps need time after it.
    pub(crate) fn as_needed(&self) -> Budget {
        Budget { uses_all: false, ..self.clone() }
    }

    /// The same, with an earlier time limit, for work that is followed by work that takes so long. At least two
    /// thirds of the time that is left stay.
    pub(crate) fn reserving(&self, time: Duration) -> Budget {
        let earlier = |limit: Instant| {
            let left = limit.saturating_duration_since(Instant::now());
            limit.checked_sub(time.min(left / 3)).unwrap_or(limit)
        };
        Budget { deadline: self.deadline.map(earlier), ..self.clone() }
    }

    /// True if there is a time limit, and all of the time is to be used.
    pub(crate) fn uses_all(&self) -> bool {
        self.uses_all && self.deadline.is_some()
    }

    /// True when the time limit is reached.
    pub fn expired(&self) -> bool {
        self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expires_only_with_a_limit() {
        assert!(!Budget::unlimited().expired() && !Budget::unlimited().using_all().uses_all());
        assert!(Budget::within(Duration::ZERO).using_all().uses_all());
        assert!(Budget::within(Duration::ZERO).expired());
        assert!(!Budget::within(Duration::from_secs(3600)).expired());
        let hour = Duration::from_secs(3600);
        let left =
            |budget: &Budget| budget.deadline.map(|limit| limit.duration_since(Instant::now()));
        let minutes = |budget: &Budget| left(budget).map(|time| time.as_secs().div_ceil(60));
        assert_eq!(minutes(&Budget::within(hour).reserving(hour / 6)), Some(50));
        assert_eq!(minutes(&Budget::within(hour).reserving(hour)), Some(40));
        assert!(Budget::within(Duration::ZERO).reserving(hour).expired());
        assert!(!Budget::unlimited().reserving(hour).expired());
        assert_eq!(Budget::unlimited().with_threads(0).threads(), 1);
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let into = heard.clone();
        let budget = Budget::unlimited().with_progress(Arc::new(move |stage, done, of| {
            into.lock().unwrap().push((stage, done, of));
        }));
        budget.clone().report("split", 1, 2);
        assert_eq!(*heard.lock().unwrap(), [("split", 1, 2)]);
    }
}
