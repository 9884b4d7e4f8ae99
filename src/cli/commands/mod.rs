//! The commands. Each has its options, whose comments are the help and the manual page, and a function that
//! executes the command. No command imports another.

pub(in crate::cli) mod check;
pub(in crate::cli) mod compare;
mod daily_collection;
pub(in crate::cli) mod doctor;
pub(in crate::cli) mod documents;
pub(in crate::cli) mod environment;
pub(in crate::cli) mod eval;
pub(in crate::cli) mod exchange;
pub(in crate::cli) mod gc;
mod kept_networks;
mod launch_network;
pub(in crate::cli) mod list;
pub(in crate::cli) mod map;
pub(in crate::cli) mod recover;
pub(in crate::cli) mod report;
pub(in crate::cli) mod run;
mod settings_check;
pub(in crate::cli) mod show;
pub(in crate::cli) mod stored;
pub(in crate::cli) mod topo;
pub(in crate::cli) mod verify;
