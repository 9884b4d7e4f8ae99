//! Measures the steps of the start of a job, for the line that `RANKWEAVE_VERBOSE=2` prints.

use std::time::{Duration, Instant};

/// A timer with the steps that ended since it was started.
#[derive(Debug)]
pub struct StepTimer {
    started: Instant,
    last: Instant,
    steps: Vec<(&'static str, Duration)>,
}

impl StepTimer {
    /// Starts the timer.
    pub fn new() -> Self {
        let now = Instant::now();
        StepTimer { started: now, last: now, steps: Vec::new() }
    }

    /// Ends a step: it took the time since the step before, or since the start.
    pub fn step(&mut self, name: &'static str) {
        let now = Instant::now();
        self.steps.push((name, now - self.last));
        self.last = now;
    }

    /// All steps in milliseconds.
    pub fn words(&self) -> String {
        let milliseconds = |time: Duration| format!("{:.2}", 1000.0 * time.as_secs_f64());
        let steps: Vec<String> = self
            .steps
            .iter()
            .map(|(name, time)| format!("{name} {}", milliseconds(*time)))
            .collect();
        format!("start took {} ms: {}", milliseconds(self.last - self.started), steps.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_add_up() {
        let mut clock = StepTimer::new();
        clock.step("a");
        std::thread::sleep(Duration::from_millis(2));
        clock.step("b");
        let words = clock.words();
        assert!(
            words.starts_with("start took ") && words.contains(": a ") && words.contains(", b ")
        );
        assert!(clock.steps[1].1 >= Duration::from_millis(2));
    }
}
