//! What the library would do in a launch, and why it would do nothing.
//!
//! Nothing of the launch is started: programs and libraries are read as files ([`inspect`](crate::cli::inspect)).
//! `rankweave doctor` shows all of it. `rankweave run` examines only the programs, and says one line if nothing
//! will be recorded ([`forecast()`]).

mod alone;
mod apptainer_setuid;
mod bindings;
mod checks;
mod container;
mod container_mounts;
mod container_options;
mod container_variables;
mod examination;
mod facts;
mod finding;
mod forecast;
mod leftovers;
mod network;
mod numbers;
mod probe;
mod program;
mod sanitizer;
mod unrecorded;

pub(in crate::cli) use facts::{Diagnosed, Diagnosis};
pub(in crate::cli) use finding::Finding;
pub(in crate::cli) use forecast::forecast;
pub(in crate::cli) use leftovers::leftovers;
pub(in crate::cli) use network::{NetworkKnown, is_not_asked, not_asked};
pub(in crate::cli) use numbers::wrong_numbers;
pub(in crate::cli) use unrecorded::{leave_note, unrecorded};
