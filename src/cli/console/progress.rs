//! Shows the progress of long work on standard error.
//!
//! On a terminal this is a bar. It appears after the first second, and it is removed when the work is done.
//! Elsewhere it is a line every two seconds, and only if the user asks for it.

use crate::mapping::Budget;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// On a terminal, work that takes less time is not shown.
const AFTER: Duration = Duration::from_secs(1);
/// Time between two lines if standard error is not a terminal.
const EVERY: Duration = Duration::from_secs(2);

/// Shows progress until it is dropped.
pub(in crate::cli) struct Meter(Option<ProgressBar>);

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// `budget` with a meter. With `asked`, progress is shown even if standard error is not a terminal.
pub(in crate::cli) fn metered(budget: Budget, asked: bool) -> (Budget, Option<Meter>) {
    if std::io::stderr().is_terminal() {
        let bar = bar();
        let meter = Meter(Some(bar.clone()));
        return (budget.with_progress(Arc::new(on_terminal(bar))), Some(meter));
    }
    match asked {
        true => (budget.with_progress(Arc::new(in_lines())), Some(Meter(None))),
        false => (budget, None),
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
    // The template is a constant that is known to be valid. Without it, the bar would only look different.
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:24} {percent:>3} %, {elapsed}") {
        bar.set_style(style);
    }
    bar
}

fn on_terminal(bar: ProgressBar) -> impl Fn(&'static str, u64, u64) + Send + Sync {
    let start = Instant::now();
    move |stage: &'static str, done: u64, of: u64| {
        if start.elapsed() < AFTER {
            return;
        }
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_message(stage);
        bar.set_length(of.max(1));
        bar.set_position(done);
    }
}

fn in_lines() -> impl Fn(&'static str, u64, u64) + Send + Sync {
    let start = Instant::now();
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    move |stage: &'static str, done: u64, of: u64| {
        // If another thread is just writing a line, this line would say the same.
        let Ok(mut last) = last.try_lock() else { return };
        if last.is_some_and(|last| last.elapsed() < EVERY) {
            return;
        }
        *last = Some(Instant::now());
        let percent = 100.0 * done as f64 / of.max(1) as f64;
        eprintln!("{stage} {percent:3.0} %, {:.0} s", start.elapsed().as_secs_f64());
    }
}
