//! A hook: a function that a lower layer calls without naming the upper layer that registered it.

use std::sync::OnceLock;

/// A function, or a struct of functions, that an upper layer registers once. Until then the lower layer
/// calls nothing.
#[derive(Debug)]
pub struct Hook<F>(OnceLock<F>);

impl<F: Copy> Hook<F> {
    /// Nothing is registered.
    pub const fn new() -> Self {
        Hook(OnceLock::new())
    }

    /// Registers a function. If one is registered already, that one stays.
    pub fn set(&self, function: F) {
        let _ = self.0.set(function);
    }

    /// What was registered.
    #[inline]
    pub fn get(&self) -> Option<F> {
        self.0.get().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_registration_stays() {
        let hook: Hook<fn() -> u8> = Hook::new();
        assert!(hook.get().is_none());
        hook.set(|| 1);
        hook.set(|| 2);
        assert_eq!(hook.get().map(|function| function()), Some(1));
    }
}
