//! Whether a program was built with AddressSanitizer, and what that means for preloading.

use super::facts::Diagnosed;
use super::finding::{Finding, Severity};
use crate::cli::inspect::Image;
use crate::cli::inspect::sanitizer::{OPTIONS, needs_address_sanitizer, needs_option, with_option};

/// The finding about such a program; `None` for other programs.
pub(in crate::cli) fn finding(program: &Diagnosed, image: &Image) -> Option<Finding> {
    if !needs_address_sanitizer(image) {
        return None;
    }
    let built =
        "the program was built with AddressSanitizer, whose runtime wants to be the first library";
    let found = |level: Severity, rest: String| {
        Some(level.finding("address-sanitizer", format!("{built}; {rest}")))
    };
    if !needs_option(image) {
        let rest = "the preloaded library switches the check for this off";
        return found(Severity::Note, rest.into());
    }
    let on_line = program.part.variables.iter().rev().find(|v| v.0 == OPTIONS);
    let inherited = std::env::var(OPTIONS).ok();
    let given = on_line.and_then(|v| v.1.clone()).or(inherited);
    let Some(wanted) = with_option(given.as_deref()) else {
        return found(
            Severity::Note,
            format!("{OPTIONS} already sets this check and is not changed"),
        );
    };
    let own = "the program has options of its own,";
    let wanted = format!("{OPTIONS}={wanted}");
    let (found, where_needed) = match on_line {
        None => (
            found(Severity::Note, format!("{own} so 'rankweave run' sets {wanted}")),
            "if the library is preloaded without 'rankweave run'",
        ),
        Some(_) => {
            let what = format!(
                "and the command line sets {OPTIONS}: the runtime ends the program at its start"
            );
            (found(Severity::Problem, format!("{own} {what}")), "on the command line")
        }
    };
    found.map(|found| found.advise(format!("set {wanted} {where_needed}")))
}

#[cfg(test)]
mod tests {
    use super::super::bindings::Bindings;
    use super::*;
    use crate::cli::inspect::{Part, start};

    #[test]
    fn each_case_says_what_happens() {
        let said = |needed: &str, own: bool, variables: &[(&str, &str)]| {
            let part = Part {
                variables: variables
                    .iter()
                    .map(|v| (v.0.to_string(), Some(v.1.to_string())))
                    .collect(),
                ..Part::default()
            };
            let started = start(&part);
            let program = Diagnosed {
                part,
                started,
                mpi: None,
                bindings: Bindings::default(),
                seen: 0,
                findings: Vec::new(),
            };
            let offered = own.then(|| "__asan_default_options".to_string());
            let image = Image {
                needed: vec![needed.into()],
                offered: offered.into_iter().collect(),
                ..Image::default()
            };
            finding(&program, &image).map(|f| (f.level.name(), f.advice.unwrap_or_default()))
        };
        assert_eq!(said("libtsan.so.2", false, &[]), None);
        assert_eq!(said("libasan.so.8", false, &[]), Some(("note", String::new())));
        let (level, advice) = said("libasan.so.8", true, &[]).unwrap();
        assert!(level == "note" && advice.contains("verify_asan_link_order=0"), "{advice}");
        let (level, advice) = said("libasan.so.8", true, &[(OPTIONS, "a=1")]).unwrap();
        assert!(level == "problem" && advice.contains("a=1:verify_asan_link_order=0"), "{advice}");
        let set = [(OPTIONS, "verify_asan_link_order=0")];
        assert_eq!(said("libasan.so.8", true, &set), Some(("note", String::new())));
    }
}
