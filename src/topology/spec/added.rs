//! What follows a description after a comma: the routing of the network, and what messages cost there.
//!
//! `torus:8x8x8,routing=adaptive,message=2000` has two such options. Only the last words of the form `name=value` with
//! a name that is known here are options, so a name of a file may contain commas.

use super::usage;
use crate::Result;
use crate::topology::network::{BANDWIDTHS, is_bandwidth};
use crate::topology::{Charges, Routed, RoutingKind, Topology};

/// The numbers that a message or a hop can cost, in words for errors.
const CHARGES: &str = "a number from 0 to 1e30";

const NAMES: [&str; 4] = ["routing", "message", "hop", "injection"];

/// The description without its options, and the options.
pub(super) fn split(spec: &str, is_shape: bool) -> (&str, &str) {
    let mut end = spec.len();
    while let Some(comma) = spec[..end].rfind(',') {
        let Some((name, value)) = spec[comma + 1..end].split_once('=') else { break };
        let known = NAMES.contains(&name.trim());
        if !(known || is_shape) || value.contains('/') {
            break;
        }
        end = comma;
    }
    spec.split_at(end)
}

/// The topology with its options, which begin with a comma.
pub(super) fn add(topology: Box<dyn Topology>, options: &str) -> Result<Box<dyn Topology>> {
    let (mut kind, mut charges) = (RoutingKind::default(), Charges::default());
    for option in options.split(',').skip(1) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = value.trim();
        let number = |what: &str, allowed: fn(f64) -> bool| match value.parse::<f64>() {
            Ok(number) if allowed(number) => Ok(number),
            _ => {
                let name = name.trim();
                Err(usage(format!("'{value}' is not {what}, as {name}= needs")))
            }
        };
        let charge = || number(CHARGES, |charge| (0.0..=1e30).contains(&charge));
        match name.trim() {
            "routing" => kind = value.parse()?,
            "message" => charges.message = charge()?,
            "hop" => charges.hop = charge()?,
            "injection" => charges.injection = Some(number(BANDWIDTHS, is_bandwidth)?),
            other => {
                let what = format!("'{other}=' is no option of a topology");
                return Err(usage(what).advise("use routing=, message=, hop= or injection="));
            }
        }
    }
    Ok(Box::new(Routed::on(topology, kind, charges, options)?))
}
