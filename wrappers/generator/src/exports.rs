//! The names of all entry points: the list that is committed and reviewed.

use crate::fortran::{self, Binding};
use crate::table::Call;
use std::collections::BTreeSet;

/// The exported names of the entry points in C and in every Fortran binding, sorted, one on a line.
pub fn list(calls: &[Call]) -> String {
    let mut names: BTreeSet<String> = calls.iter().map(|c| c.prototype.name.clone()).collect();
    for (bindings, calls) in
        [(&Binding::SMALL[..], fortran::calls(calls)), (&Binding::LARGE[..], fortran::large(calls))]
    {
        for call in calls {
            names.extend(bindings.iter().flat_map(|b| b.names(&call.prototype.name)));
        }
    }
    names.into_iter().map(|name| name + "\n").collect()
}
