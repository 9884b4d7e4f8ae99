//! Entry points: the exported functions, the slot table behind them, and the wrappers.
//!
//! README.md shows the steps of a call.

// The MPI standard says which arguments a wrapper gets.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod api;
pub mod attributes;
pub mod communicators;
pub mod constructors;
pub mod datatypes;
mod direct_calls;
pub mod error_handlers;
pub mod fast_send;
pub mod fortran;
pub mod fortran_arguments;
// The table of slots is one generated function; generated wrappers bind the result of every recorder, also where it is ().
#[allow(missing_docs, clippy::let_unit_value, clippy::too_many_lines)]
pub mod generated;
pub mod hooks;
pub mod internal_calls;
pub mod levels;
pub mod library_symbols;
pub mod lifecycle;
pub mod names;
pub mod nesting;
pub mod next;
pub mod noting_thunk;
pub mod operations;
pub mod pcontrol;
pub mod real_functions;
pub mod requests;
pub mod resolver;
pub mod sanitizer;
pub mod sessions;
pub mod slots;
pub mod thunk;
pub mod timed;
pub mod tools;
pub mod visibility;
pub mod weak_references;
