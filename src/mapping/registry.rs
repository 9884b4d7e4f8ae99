//! The one list of mapping algorithms.

use super::{Auto, Identity, Mapper, papers, stencil};
use crate::base::error::{Error, ErrorKind, Result};
use std::sync::LazyLock;

static REGISTRY: LazyLock<Vec<&'static dyn Mapper>> = LazyLock::new(|| {
    let own: [&'static dyn Mapper; 2] = [&Auto, &Identity];
    [own.as_slice(), papers::ALL, stencil::ALL].concat()
});

/// All algorithms, the default first.
pub fn registry() -> &'static [&'static dyn Mapper] {
    &REGISTRY
}

/// The algorithm of that name.
///
/// Errors: [`ErrorKind::Usage`] with the names there are.
pub fn by_name(name: &str) -> Result<&'static dyn Mapper> {
    registry().iter().copied().find(|m| m.name() == name).ok_or_else(|| {
        let names: Vec<&str> = registry().iter().map(|m| m.name()).collect();
        Error::new(ErrorKind::Usage, format!("unknown algorithm '{name}'"))
            .advise(format!("one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for mapper in registry() {
            assert!(by_name(mapper.name()).is_ok());
            assert_eq!(registry().iter().filter(|m| m.name() == mapper.name()).count(), 1);
            assert!(!mapper.source().is_empty());
        }
        assert_eq!(by_name("best").err().map(|e| e.kind()), Some(ErrorKind::Usage));
    }
}
