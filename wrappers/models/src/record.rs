//! The sources of the tables, and what they hold here.

#[path = "../../src/record/cell.rs"]
pub mod cell;
#[path = "../../src/record/digest.rs"]
pub mod digest;
#[path = "../../src/record/epoch_sums.rs"]
pub mod epoch_sums;
#[path = "../../src/record/given_digests.rs"]
pub mod given_digests;
#[path = "../../src/record/node.rs"]
pub mod node;
#[path = "../../src/record/pool.rs"]
pub mod pool;
#[path = "../../src/record/registry.rs"]
pub mod registry;
#[path = "../../src/record/slot.rs"]
pub mod slot;
#[path = "../../src/record/windows.rs"]
pub mod windows;

/// What is true of an entry until it is dropped.
#[derive(Debug)]
struct Alive(loom::cell::UnsafeCell<u64>);

impl Alive {
    fn get(&self) -> u64 {
        self.0.with(|value| unsafe { *value })
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.with_mut(|value| unsafe { *value = u64::MAX });
    }
}

pub mod communicator {
    use crate::sys::sync::AtomicU32;

    pub const UNKNOWN: u32 = u32::MAX;

    #[derive(Debug)]
    pub struct Communicator {
        pub number: u64,
        effective: super::Alive,
        tasks: [AtomicU32; 1],
    }

    impl Communicator {
        pub fn new(number: u64, task: u32) -> Self {
            let effective = super::Alive(loom::cell::UnsafeCell::new(100 + number));
            Communicator { number, effective, tasks: [AtomicU32::new(task)] }
        }

        pub fn effective(&self) -> u64 {
            self.effective.get()
        }

        pub fn tasks(&self) -> &[AtomicU32] {
            &self.tasks
        }

        pub fn size(&self) -> u32 {
            1
        }

        pub fn has_collectives(&self) -> bool {
            self.effective() > 0
        }
    }
}

pub mod window {
    #[derive(Debug)]
    pub struct Window(super::Alive);

    impl Window {
        pub fn new(number: u64) -> Self {
            Window(super::Alive(loom::cell::UnsafeCell::new(number)))
        }

        pub fn number(&self) -> u64 {
            self.0.get()
        }
    }
}
