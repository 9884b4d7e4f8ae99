//! The process and its node: environment, signals, threads of the library, memory, mapped ELF objects, messages
//! to the user, and the node's name and processors.

pub mod elf;
pub mod environment;
pub mod exit_code;
pub mod floating_point;
mod glibc;
pub mod hook;
pub mod hwloc;
pub mod injection;
pub mod lasting;
pub mod memory;
pub mod message;
pub mod node;
pub mod node_rank;
pub mod panic_barrier;
pub mod signal;
pub mod step_timer;
pub mod sync;
pub mod thread_key;
pub mod unwinder;
pub mod worker_thread;
