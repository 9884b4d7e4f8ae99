//! Entry points: the exported functions, the slot table behind them, and the wrappers.

pub mod api;
#[allow(clippy::missing_safety_doc)]
pub mod constructors;
pub mod fast_send;
pub mod fortran;
#[rustfmt::skip]
#[allow(
    clippy::missing_safety_doc,
    clippy::type_complexity,
    clippy::let_unit_value,
    missing_docs
)]
pub mod generated;
#[allow(clippy::missing_safety_doc)]
pub mod handwritten;
pub mod hooks;
pub mod internal_calls;
pub mod pcontrol;
pub mod references;
#[allow(clippy::missing_safety_doc)]
pub mod sessions;
pub mod slots;
pub mod thunk;
pub mod tools;
pub mod visible;
