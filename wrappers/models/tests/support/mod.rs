//! Runs a model, and says how many orders were tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Runs `model` in all orders with at most two switches from a thread that could go on; with `RANKWEAVE_TEST_FULL`
/// at most four, for two minutes.
pub fn check(name: &str, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let full = std::env::var_os("RANKWEAVE_TEST_FULL").is_some();
    builder.preemption_bound = Some(if full { 4 } else { 2 });
    builder.max_duration = full.then_some(Duration::from_secs(120));
    builder.max_branches = 10_000;
    let (orders, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let tried = orders.clone();
    builder.check(move || {
        tried.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!(
        "{name}: {} orders in {:.1} s",
        orders.load(Ordering::Relaxed),
        began.elapsed().as_secs_f64()
    );
}
