//! The MPI library of this process: where it is, its handle family, and its functions.

pub mod abi;
pub mod attribute;
pub mod backoff;
pub mod config;
pub mod library;
pub mod pmpi;
pub mod ucx;
pub mod version;
