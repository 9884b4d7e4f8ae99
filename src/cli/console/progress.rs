//! Shows how far long work is, on standard error.
//!
//! On a terminal one line that changes, after the first second; elsewhere only if asked for, as a
//! line every two seconds. Gone when the work is done.

use crate::mapping::Budget;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

struct Shown {
    start: Instant,
    last: Option<Instant>,
    width: usize,
}

/// Shows progress while it lives.
pub(in crate::cli) struct Meter {
    shown: Arc<Mutex<Shown>>,
    terminal: bool,
}

/// `budget` with a meter; `asked`: even if standard error is no terminal.
pub(in crate::cli) fn metered(budget: Budget, asked: bool) -> (Budget, Option<Meter>) {
    let terminal = std::io::stderr().is_terminal();
    if !terminal && !asked {
        return (budget, None);
    }
    let shown = Arc::new(Mutex::new(Shown { start: Instant::now(), last: None, width: 0 }));
    let (after, every) = match (terminal, asked) {
        (true, _) => (Duration::from_secs(1), Duration::from_millis(200)),
        (false, _) => (Duration::ZERO, Duration::from_secs(2)),
    };
    let state = shown.clone();
    let progress = move |stage: &'static str, done: u64, of: u64| {
        let Ok(mut shown) = state.try_lock() else { return };
        let now = Instant::now();
        let since = |then: Instant| now.saturating_duration_since(then);
        if since(shown.start) < after || shown.last.is_some_and(|last| since(last) < every) {
            return;
        }
        shown.last = Some(now);
        let percent = 100.0 * done as f64 / of.max(1) as f64;
        let text = format!("{stage} {percent:3.0} %, {:.0} s", since(shown.start).as_secs_f64());
        let mut err = std::io::stderr().lock();
        // Progress that cannot be written is not worth an error.
        let _ = match terminal {
            true => write!(err, "\r{text:<width$}", width = shown.width),
            false => writeln!(err, "{text}"),
        };
        let _ = err.flush();
        shown.width = shown.width.max(text.len());
    };
    (budget.with_progress(Arc::new(progress)), Some(Meter { shown, terminal }))
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let (true, Ok(shown)) = (self.terminal, self.shown.lock())
            && shown.last.is_some()
        {
            eprint!("\r{:width$}\r", "", width = shown.width);
        }
    }
}
