//! One path for each pair of slots: the template of a routing.

use super::{Network, Routing};

/// Static routing: all bytes take [`Network::route`].
pub struct SinglePath<'a>(pub &'a dyn Network);

impl Routing for SinglePath<'_> {
    fn name(&self) -> &'static str {
        "single"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        self.0.route(from, to, &mut |link| visit(link, 1.0));
    }
}
