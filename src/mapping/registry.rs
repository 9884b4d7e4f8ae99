//! The one list of mapping algorithms.

use super::{Auto, Identity, Mapper, papers, stencil};
use crate::base::error::Result;
use crate::base::named_enum::unknown;
use std::sync::LazyLock;

static REGISTRY: LazyLock<Vec<&'static dyn Mapper>> = LazyLock::new(|| {
    let own: [&'static dyn Mapper; 2] = [&Auto, &Identity];
    let stencil = stencil::ALL.map(|decomposition| decomposition as &dyn Mapper);
    [&own, papers::ALL, &stencil].concat()
});

/// All algorithms, the default first.
pub fn registry() -> &'static [&'static dyn Mapper] {
    &REGISTRY
}

/// The algorithm of that name.
///
/// Errors: [`crate::ErrorKind::Usage`] with the names that exist.
pub fn by_name(name: &str) -> Result<&'static dyn Mapper> {
    let found = registry().iter().copied().find(|m| m.name() == name);
    let names = || registry().iter().map(|m| m.name()).collect::<Vec<&str>>();
    found.ok_or_else(|| unknown("algorithm", name, &names()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;

    #[test]
    fn names_are_unique_and_found() {
        for mapper in registry() {
            assert!(by_name(mapper.name()).is_ok());
            assert_eq!(registry().iter().filter(|m| m.name() == mapper.name()).count(), 1);
            assert!(!mapper.source().is_empty());
        }
        assert_eq!(by_name("best").err().map(|e| e.kind()), Some(ErrorKind::Usage));
        let misspelt = by_name("topomach").err().and_then(|e| e.advice().map(str::to_string));
        assert!(
            misspelt.is_some_and(|advice| advice.starts_with("write 'topomatch', or use one of"))
        );
    }
}
