//! Generates the first part of `wrappers.rs`: the wrapper of each entry point, generic over the ABI.

use crate::HEAD;
use crate::table::{Action, Call};
use crate::{c_wrappers, fortran_names, fortran_wrappers};

/// This part of the file.
pub fn file(calls: &[Call]) -> String {
    let mut text = String::from(HEAD);
    let generated = |call: &Call| !matches!(call.action, Action::Hand { .. } | Action::Nothing);
    for (number, call) in calls.iter().enumerate().filter(|(_, call)| generated(call)) {
        c_wrappers::wrapper(&mut text, number, call);
    }
    let in_fortran = fortran_names::calls(calls).into_iter().chain(fortran_names::large(calls));
    for call in in_fortran.filter(|call| generated(call)) {
        fortran_wrappers::wrapper(&mut text, call);
    }
    text
}
